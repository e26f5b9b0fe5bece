"""The array types that all stages share."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.intp]
Bools: TypeAlias = npt.NDArray[np.bool_]
Codes: TypeAlias = npt.NDArray[np.int8]
#: Dense rows, or a SciPy sparse matrix or array in CSR form (SciPy ships no types).
Matrix: TypeAlias = Any
#: A tensor of torch, which is not there for everyone.
Tensor: TypeAlias = Any
