"""Records of many settings of GMR on the same data, from as few neighbour searches as possible."""

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone

from rectifold._core import pipeline
from rectifold._core.pipeline import Settings
from rectifold._core.rectification import Rectification
from rectifold._core.utils import timed
from rectifold._engines.options import engine_name
from rectifold.sampler import GMR, settings_of

#: Parameters of GMR that move points or change how neighbours are found.
_GEOMETRY = ("metric", "metric_threshold", "space", "engine", "random_state")


def rectify_all(
    sampler: GMR, settings: Sequence[Mapping[str, Any]], X: Any, y: Any
) -> list[Rectification]:
    """Return the records of several settings of GMR, sharing neighbour searches.

    Settings that differ in `n_neighbors` share the search for the largest number of
    neighbours, unless it is approximate; only settings that differ in `metric`,
    `metric_threshold`, `space`, `engine` or `random_state` are searched separately.

    Parameters
    ----------
    sampler : GMR
        The parameters that the settings have in common. It is not changed.
    settings : sequence of mapping
        For each setting, the parameters of `GMR` in which it differs from `sampler`.
    X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
        Data array.
    y : array-like of shape (n_samples,)
        Target array.

    Returns
    -------
    list of Rectification
        For each setting the record that `GMR` would have made.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import GMR
    >>> from rectifold.model_selection import rectify_all
    >>> X, y = make_classification(n_samples=1000, n_features=4, weights=[0.85],
    ...                            flip_y=0.05, random_state=0)
    >>> records = rectify_all(GMR(gamma=0), [{}, {"alpha": 0.7}, {"n_neighbors": 5}], X, y)
    >>> [int(record.removed.sum()) for record in records]
    [3, 11, 9]
    """
    groups: dict[tuple[Any, ...], list[tuple[int, Settings]]] = {}
    for position, setting in enumerate(settings):
        changed = clone(sampler).set_params(**setting)
        changed._validate_params()
        key = _search_key(setting, changed)
        groups.setdefault(key, []).append((position, settings_of(changed)))
    records: dict[int, Rectification] = {}
    for group in groups.values():
        widest = max((one for _, one in group), key=_n_neighbors)
        target = pipeline.check_input(X, y, widest)
        seconds: dict[str, float] = {}
        with timed(seconds, "space"):
            prepared = pipeline.prepare(X, target, widest)
        with timed(seconds, "search"):
            found = pipeline.find_neighbours(prepared, target, widest)
        for position, one in group:
            nearest = found.nearest(min(_n_neighbors(one), prepared.k))
            records[position] = pipeline.decide(X, target, prepared, nearest, one, dict(seconds))
    return [records[position] for position in range(len(settings))]


def _search_key(setting: Mapping[str, Any], sampler: GMR) -> tuple[Any, ...]:
    """Return a key that is equal for settings that can share a search."""
    values = {name: setting[name] for name in _GEOMETRY if name in setting}
    # A search for more neighbours contains that for fewer, unless it is tuned to a recall.
    approximate = engine_name(sampler.engine) == "approximate"
    if approximate or not isinstance(sampler.n_neighbors, numbers.Integral):
        values["n_neighbors"] = setting.get("n_neighbors")
    # By identity: transformers and search objects have no equality of their own.
    return tuple(
        (name, value if isinstance(value, str | int | float | None) else id(value))
        for name, value in sorted(values.items())
    )


def _n_neighbors(settings: Settings) -> int:
    """Return the number of neighbours that vote; of a search object an upper bound."""
    return 1 << 62 if settings.searches_itself else int(settings.n_neighbors)
