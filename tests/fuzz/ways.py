"""Ways to clean a table that must all remove the same samples as a plain reading of the rules."""

from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse

from rectifold import GMR, GPU, Approximate
from rectifold._core.errors import ParameterError
from reference import algorithm_1, many_classes, neighbours, votes
from test_exact_engine import METHODS, force

DASK, TORCH = (find_spec(name) is not None for name in ("dask", "torch"))


def removed(X, y, **settings):
    sampler = GMR(**settings)
    sampler.fit_resample(X, y)
    return set(np.flatnonzero(sampler.rectification_.removed).tolist())


def on_dask(X, y, n_partitions, **settings):
    import dask
    import dask.array as da

    from rectifold import dask as on_cluster

    rows = -(-len(y) // n_partitions)
    arrays = da.from_array(np.array(X), chunks=(rows, -1)), da.from_array(y, chunks=rows)
    with dask.config.set(scheduler="synchronous"):
        sampler = on_cluster.GMR(**settings)
        sampler.fit_resample(*arrays)
        return set(np.flatnonzero(np.asarray(sampler.rectification_.removed)).tolist())


def forced(method):
    """Return the cleaning with one of the exact engine's methods, whatever it would choose."""

    def clean(X, y, **settings):
        with pytest.MonkeyPatch.context() as patch:
            force(method, patch)
            return removed(X, y, **settings)

    return clean


def expected(X, y, n_neighbors, alpha, beta, gamma):
    """Return the samples that a plain reading removes."""
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        counted = votes(*neighbours(dense, n_neighbors), y)
    rules = algorithm_1 if len(np.unique(y)) == 2 else many_classes
    return rules(counted, y, alpha=alpha, beta=beta, gamma=gamma)


def check(X, y, rng):
    """Return the number of fits, and for each way that differs its name and a sentence."""
    settings = {
        "n_neighbors": int(rng.integers(1, min(25, len(y) - 1))),
        "alpha": round(rng.uniform(0, 0.9), 2),
        "beta": round(rng.uniform(0.3, 1), 2),
        "gamma": round(rng.uniform(0, 0.5), 2),
    }
    method = str(rng.choice(METHODS))
    plain = isinstance(X, np.ndarray) and X.dtype.kind == "f"
    ways = {"exact": removed, "two jobs": partial(removed, n_jobs=2), method: forced(method)}
    if plain:
        ways["approximate"] = partial(removed, engine=Approximate(recall=1.0))
    if TORCH and plain and rng.random() < 0.2:
        ways["gpu code"] = partial(removed, engine=GPU(device="cpu"))
    if DASK and plain and rng.random() < 0.1:
        ways["dask"] = partial(on_dask, n_partitions=int(rng.integers(1, 4)))
    found = {name: outcome(clean, X, y, settings) for name, clean in ways.items()}
    right = found["exact"]
    if not isinstance(right, str):
        right = expected(X, y, **settings)
        if not isinstance(X, list):
            order = rng.permutation(len(y))
            shuffled = (X.tocsr() if sparse.issparse(X) else X)[order]
            answer = outcome(removed, shuffled, y[order], settings)
            same = answer == expected(shuffled, y[order], **settings)
            found["permuted"] = right if same else answer
    wrong = {name: answer for name, answer in found.items() if answer != right}
    return len(found), [(name, f"{answer} with {settings}") for name, answer in wrong.items()]


def outcome(clean, X, y, settings):
    """Return the samples removed, or the sentence with which the table is refused."""
    try:
        return clean(X, y, **settings)
    except ParameterError as error:
        return str(error)
