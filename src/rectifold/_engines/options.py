"""The engine objects that a caller can pass instead of a name, with their options."""

import numbers
from dataclasses import dataclass, fields
from typing import Any

from rectifold._core.errors import Param, ParameterError


class _Options:
    """Base class whose repr shows only the options that differ from their defaults."""

    def __repr__(self) -> str:
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)  # type: ignore[arg-type]
            if getattr(self, field.name) != field.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


@dataclass(frozen=True, repr=False)
class Approximate(_Options):
    """Options of the approximate neighbour search.

    It may miss a neighbour, and measures how many it misses on a random sample
    (``rectification_.accuracy``). Where classes overlap in many dimensions it takes seconds
    instead of minutes.

    Parameters
    ----------
    recall : float, default=0.99
        Fraction of the true neighbours to find. A warning is issued if the search falls short.

    budget : float, default=None
        Time in seconds. A search that is estimated to take longer examines fewer candidates,
        whatever `recall` asks for. It is an estimate, not a limit, and makes the result depend on
        the speed of the machine.

    prefer_exact : bool, default=False
        Search exactly if that is estimated to take no longer than `budget`.

    See Also
    --------
    rectifold.GMR : Takes it as `engine`.

    Examples
    --------
    >>> from rectifold import GMR, Approximate
    >>> GMR(engine=Approximate(recall=0.95))
    GMR(engine=Approximate(recall=0.95))
    """

    recall: float = 0.99
    budget: float | None = None
    prefer_exact: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.recall, numbers.Real) or not 0 < self.recall <= 1:
            raise ParameterError(
                "{} is out of range: it must be in (0, 1].", Param("recall", self.recall)
            )
        if self.budget is not None and not (
            isinstance(self.budget, numbers.Real) and 0 < self.budget < float("inf")
        ):
            raise ParameterError(
                "{} is out of range: it must be a number of seconds above 0, or None.",
                Param("budget", self.budget),
            )
        if self.prefer_exact and self.budget is None:
            raise ParameterError(
                "{} compares the exact search with a time: pass {}, in seconds.",
                Param("prefer_exact", True),
                Param("budget"),
            )


@dataclass(frozen=True, repr=False)
class GPU(_Options):
    """Options of the exact search on a GPU, with PyTorch.

    Parameters
    ----------
    device : str or int, default=None
        The device as PyTorch names it: "cuda:1", "mps", "cpu". None takes the one that `X` is on,
        or else the GPU that PyTorch finds.

    See Also
    --------
    rectifold.GMR : Takes it as `engine`.

    Examples
    --------
    >>> from rectifold import GMR, GPU
    >>> GMR(engine=GPU(device="cuda:1"))
    GMR(engine=GPU(device='cuda:1'))
    """

    device: Any = None


#: What `engine` can be.
EngineLike = str | Approximate | GPU


def engine_name(engine: EngineLike) -> str:
    """Return the name of the engine that a name or an engine object stands for."""
    if isinstance(engine, str):
        return engine
    return "approximate" if isinstance(engine, Approximate) else "gpu"
