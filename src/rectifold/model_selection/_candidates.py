"""The candidates that RectifiedClassifier chooses from: settings of GMR, and no cleaning."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from imblearn.over_sampling import RandomOverSampler
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from rectifold._core.errors import Param, ParameterError
from rectifold._core.utils import did_you_mean
from rectifold.sampler import GMR

#: The key of a setting that holds the over-sampler applied after cleaning.
RESAMPLER = "resampler"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A setting of GMR, or no cleaning."""

    #: Parameters in which GMR differs from the common sampler; None for no cleaning.
    params: Mapping[str, Any] | None = None
    #: Over-sampler applied to the cleaned samples.
    resampler: Any = None

    @property
    def name(self) -> str:
        """The candidate as written in Python."""
        if self.params is None:
            return "None"
        params = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        name = f"GMR({params})"
        return name if self.resampler is None else f"{name} + {self.resampler!r}"

    @property
    def setting(self) -> dict[str, Any] | None:
        """The entry of `param_grid` that stands for this candidate."""
        if self.params is None:
            return None
        if self.resampler is None:
            return dict(self.params)
        return {**self.params, RESAMPLER: self.resampler}


#: Always the first candidate, with which the others are compared.
NO_CLEANING = Candidate()


def read_candidates(
    param_grid: Any, sampler: GMR, X: Any, y: Any, *, fused: bool = False
) -> list[Candidate]:
    """Return the candidates of a `param_grid` without repeats, no cleaning first.

    `fused` is whether they are fused with the vote.
    """
    if isinstance(param_grid, str):
        if param_grid != "auto":
            raise ParameterError(
                "{} is not known: it must be 'auto', a dict of lists, a list of settings, or a "
                "function of X and y that returns one of these.",
                Param("param_grid", param_grid),
            )
        return _fused_auto() if fused else _auto()
    if callable(param_grid):
        param_grid = param_grid(X, y)
    if isinstance(param_grid, Mapping):
        settings: Iterable[Any] = ParameterGrid(
            {name: _as_list(values) for name, values in param_grid.items()}
        )
    elif isinstance(param_grid, Iterable):
        settings = param_grid
    else:
        raise TypeError(
            f"param_grid returned a {type(param_grid).__name__}: it must be a list of settings, "
            "each a dict of parameters of GMR."
        )
    distinct = {NO_CLEANING.name: NO_CLEANING}
    for setting in settings:
        candidate = _read(setting, sampler)
        distinct.setdefault(candidate.name, candidate)
    return list(distinct.values())


def _auto() -> list[Candidate]:
    return [
        NO_CLEANING,
        Candidate({"gamma": 0}),
        Candidate({}),
        Candidate({"beta": 0.5, "gamma": 0.3}),
        Candidate({"alpha": 0.7, "beta": 0.5, "gamma": 0.3}),
        Candidate({"alpha": 0.7, "gamma": 0}),
        Candidate({"class_weight": "balanced", "gamma": 0}),
        Candidate({"gamma": 0}, resampler=RandomOverSampler()),
    ]


def _fused_auto() -> list[Candidate]:
    # Beside the vote the others added nothing in experiments.
    return [
        NO_CLEANING,
        Candidate({"beta": 0.5, "gamma": 0.3}),
        Candidate({"alpha": 0.7, "gamma": 0}),
        Candidate({"class_weight": "balanced", "gamma": 0}),
    ]


def _as_list(values: Any) -> list[Any]:
    several = isinstance(values, Iterable) and not isinstance(values, str)
    return list(values) if several else [values]


def _read(setting: Any, sampler: GMR) -> Candidate:
    if setting is None:
        return NO_CLEANING
    if not isinstance(setting, Mapping):
        raise TypeError(
            f"param_grid has a setting {setting!r}: it must be a dict of parameters of GMR, or "
            "None for no cleaning."
        )
    params = {name: value for name, value in setting.items() if name != RESAMPLER}
    known = sorted(sampler.get_params(deep=False))
    for name in params:
        if name not in known:
            raise ParameterError(
                "{} sets {}, which GMR does not have{}",
                Param("param_grid"),
                repr(name),
                did_you_mean(str(name), known),
            )
    resampler = setting.get(RESAMPLER)
    if resampler is not None and not hasattr(resampler, "fit_resample"):
        raise TypeError(
            f"param_grid has {RESAMPLER}={resampler!r}: it must be a sampler, with fit_resample."
        )
    # Check the values before the first fold.
    clone(sampler).set_params(**params)._validate_params()
    return Candidate(params, resampler)
