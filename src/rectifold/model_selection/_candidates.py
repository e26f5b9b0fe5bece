"""The settings that RectifiedClassifier chooses from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from imblearn.over_sampling import RandomOverSampler
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from rectifold._core.utils import did_you_mean
from rectifold.sampler import GMR

#: The key of a setting that names what comes after cleaning.
THEN = "then"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to prepare the training rows.

    Attributes
    ----------
    params : mapping or None
        Parameters of `GMR` in which it differs from the common sampler; None leaves the rows
        alone.
    then : sampler or None
        An over-sampler that is applied to the cleaned rows.
    """

    params: Mapping[str, Any] | None = None
    then: Any = None

    @property
    def name(self) -> str:
        """How it is written in tables: as one would write it in Python."""
        if self.params is None:
            return "None"
        given = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        name = f"GMR({given})"
        return name if self.then is None else f"{name} + {self.then!r}"

    @property
    def setting(self) -> dict[str, Any] | None:
        """What to pass as a candidate of one's own to get this one."""
        if self.params is None:
            return None
        return dict(self.params) if self.then is None else {**self.params, THEN: self.then}


#: No cleaning at all: always among the candidates, and the one to beat.
ALONE = Candidate()


def _auto() -> list[Candidate]:
    return [
        ALONE,
        Candidate({"gamma": 0}),
        Candidate({}),
        Candidate({"beta": 0.5, "gamma": 0.3}),
        Candidate({"alpha": 0.7, "beta": 0.5, "gamma": 0.3}),
        Candidate({"alpha": 0.7, "gamma": 0}),
        Candidate({"class_weight": "balanced", "gamma": 0}),
        Candidate({"gamma": 0}, then=RandomOverSampler()),
    ]


def candidates(search: Any, sampler: GMR, X: Any, y: Any) -> list[Candidate]:
    """Read what `search` asks for.

    Parameters
    ----------
    search : "auto", dict, list or callable
        As for `RectifiedClassifier`.
    sampler : GMR
        What settings are set on.
    X, y : array-like
        For a callable: the training rows and their labels.

    Returns
    -------
    list of Candidate
        No cleaning first, then the others, without repeats.
    """
    if isinstance(search, str):
        if search != "auto":
            raise ValueError(
                f"search={search!r} is not known: it must be 'auto', a dict of lists, a list of "
                "settings, or a function of X and y that gives such a list."
            )
        return _auto()
    if callable(search):
        search = search(X, y)
    if isinstance(search, Mapping):
        settings: Iterable[Any] = ParameterGrid(
            {name: _listed(values) for name, values in search.items()}
        )
    elif isinstance(search, Iterable):
        settings = search
    else:
        raise TypeError(
            f"search gave a {type(search).__name__}: it must be a list of settings, each a dict "
            "of parameters of GMR."
        )
    found = [_read(setting, sampler) for setting in settings]
    distinct = {ALONE.name: ALONE}
    for one in found:
        distinct.setdefault(one.name, one)
    return list(distinct.values())


def _listed(values: Any) -> list[Any]:
    return (
        list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    )


def _read(setting: Any, sampler: GMR) -> Candidate:
    if setting is None:
        return ALONE
    if not isinstance(setting, Mapping):
        raise TypeError(
            f"search has a candidate {setting!r}: it must be a dict of parameters of GMR, or None "
            "for no cleaning."
        )
    params = {name: value for name, value in setting.items() if name != THEN}
    known = sorted(sampler.get_params(deep=False))
    for name in params:
        if name not in known:
            raise ValueError(
                f"search sets {name!r}, which GMR does not have{did_you_mean(str(name), known)}"
            )
    then = setting.get(THEN)
    if then is not None and not hasattr(then, "fit_resample"):
        raise TypeError(f"search has {THEN}={then!r}: it must be a sampler, with fit_resample.")
    # Wrong values are refused now, not in the first fold.
    clone(sampler).set_params(**params)._validate_params()
    return Candidate(params, then)
