"""GMR on a Dask cluster: the same result, for tables larger than the memory of one machine."""

try:
    import dask.array
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"rectifold.dask needs Dask, and {error.name or 'a part of it'} is missing: install "
        "rectifold[dask]."
    ) from error

from rectifold.dask._prediction import predict_proba
from rectifold.dask._rectification import Rectification
from rectifold.dask._sampler import GMR

__all__ = ["GMR", "Rectification", "predict_proba"]
