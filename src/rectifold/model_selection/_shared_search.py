"""One search, many settings: the records that several settings of GMR make of the same rows."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone

from rectifold._core.rectification import Rectification
from rectifold._core.utils import timed
from rectifold._engines import search
from rectifold.sampler import GMR

#: Parameters of GMR that move points or change how neighbours are found.
_GEOMETRY = (
    *("metric", "metric_threshold", "space", "engine", "device"),
    *("target_recall", "time_budget", "random_state"),
)


def rectify_all(
    sampler: GMR, settings: Sequence[Mapping[str, Any]], X: Any, y: Any
) -> list[Rectification]:
    """Decide on the same rows by several settings, with one neighbour search for all of them.

    Settings that differ in `n_neighbors` share the search for the most neighbours, unless it is
    approximate; only those that differ in `metric`, `metric_threshold`, `space`, `engine`,
    `device`, `target_recall`, `time_budget` or `random_state` are searched for apart.

    Parameters
    ----------
    sampler : GMR
        What the settings have in common. It is left as it is.
    settings : sequence of mapping
        Parameters of `GMR`, those in which a setting differs from `sampler`.
    X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        Their labels.

    Returns
    -------
    list of Rectification
        One for every setting: what `GMR` with that setting would have recorded.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import GMR
    >>> from rectifold.model_selection.import rectify_all
    >>> X, y = make_classification(n_samples=1000, n_features=4, weights=[0.85],
    ...                            flip_y=0.05, random_state=0)
    >>> path = rectify_all(GMR(gamma=0), [{}, {"alpha": 0.7}, {"n_neighbors": 5}], X, y)
    >>> [int(record.removed.sum()) for record in path]
    [3, 11, 9]
    """
    groups: dict[tuple[Any, ...], list[tuple[int, GMR]]] = {}
    for place, setting in enumerate(settings):
        one = clone(sampler).set_params(**setting)
        one._validate_params()
        groups.setdefault(_geometry(setting, one), []).append((place, one))
    records: dict[int, Rectification] = {}
    for group in groups.values():
        lead = max((one for _, one in group), key=_reach)
        labels, *_ = [one._check(X, y, {}) for _, one in group]
        seconds: dict[str, float] = {}
        with timed(seconds, "space"):
            points = lead._points(X, labels)
            engine, name, k = lead._engine(points)
        with timed(seconds, "search"):
            found = search(engine, points, labels.codes, k, n_jobs=lead.n_jobs)
        for place, one in group:
            nearest = found.nearest(min(_reach(one), k))
            records[place] = one._record(X, labels, points, name, nearest, dict(seconds))
    return [records[place] for place in range(len(settings))]


def _geometry(setting: Mapping[str, Any], sampler: GMR) -> tuple[Any, ...]:
    """Tell settings apart that can't share a search."""
    apart = {name: setting[name] for name in _GEOMETRY if name in setting}
    # A search for more neighbours holds that for fewer, but not one that is tuned to a recall.
    tuned = sampler.engine == "approximate" or sampler.time_budget is not None
    if tuned or not isinstance(sampler.n_neighbors, numbers.Integral):
        apart["n_neighbors"] = setting.get("n_neighbors")
    # By identity: transformers and search objects have no equality of their own.
    return tuple(
        (name, value if isinstance(value, str | int | float | None) else id(value))
        for name, value in sorted(apart.items())
    )


def _reach(sampler: GMR) -> int:
    """Count the neighbours that vote; a search object tells when it is asked."""
    own = sampler.n_neighbors
    return int(own) if isinstance(own, numbers.Integral) else 1 << 62
