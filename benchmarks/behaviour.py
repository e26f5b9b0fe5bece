"""Print digests of what the library returns on small tables: equal digests, equal behaviour.

    python benchmarks/behaviour.py

`results_status.py` calls this with the present code and with that of earlier commits, to see
whether published results still hold. Each kind of behaviour is one entry of a JSON object: a digest
of rounded numbers, or the error of a version that has no such thing.
"""

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from imblearn.pipeline import make_pipeline
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rectifold import GMR
from rectifold.datasets import load_wine_quality

#: Settings of GMR beside the defaults.
SETTINGS = (
    {},
    {"n_neighbors": 5, "alpha": 0.6, "beta": 0.5, "gamma": 0.3},
    {"class_weight": "balanced"},
    {"sampling_strategy": "all", "alpha": 0.5},
    {"metric": "cosine"},
)
_KINDS: dict[str, Callable[[], Iterator[np.ndarray]]] = {}


def kind(function: Callable[[], Iterator[np.ndarray]]) -> Callable[[], Iterator[np.ndarray]]:
    """Register a function that yields the arrays of a kind of behaviour."""
    _KINDS[function.__name__] = function
    return function


def wines(n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised wines, all or the first n, and whether they are poor."""
    X, y = load_wine_quality(return_X_y=True)
    return StandardScaler().fit_transform(X)[:n], (y == "poor").astype(int)[:n]


def tables() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield wines, a table of ties and duplicates, and one of three classes."""
    yield wines()
    rng = np.random.default_rng(0)
    y = (rng.random(900) < 0.1).astype(int)
    yield np.round(rng.normal(size=(900, 4)) + y[:, None]), y
    y = rng.choice(3, size=900, p=[0.7, 0.2, 0.1])
    yield rng.normal(size=(900, 6)) + y[:, None], y


@kind
def cleaning() -> Iterator[np.ndarray]:
    """Yield the decisions and the confidence of GMR."""
    for X, y in tables():
        for settings in SETTINGS:
            yield from _cleaned(X, y, **settings)


@kind
def approximate() -> Iterator[np.ndarray]:
    """Yield those with approximate neighbours."""
    yield from _cleaned(*wines(), engine="approximate", random_state=0)


def _cleaned(X: np.ndarray, y: np.ndarray, **settings: object) -> Iterator[np.ndarray]:
    gmr = GMR(**settings)
    gmr.fit_resample(X, y)
    yield gmr.sample_indices_
    yield gmr.rectification_.to_frame()["confidence"].to_numpy()


@kind
def voting() -> Iterator[np.ndarray]:
    """Yield the probabilities of the vote for new samples."""
    from rectifold import NeighborVoteClassifier

    X, y = wines(3000)
    yield NeighborVoteClassifier(random_state=0).fit(X[::2], y[::2]).predict_proba(X[1::2])


@kind
def choosing() -> Iterator[np.ndarray]:
    """Yield the probabilities of RectifiedClassifier, one fit and an ensemble."""
    from rectifold import RectifiedClassifier

    X, y = wines(2000)
    for classifier in (
        LogisticRegression(max_iter=1000),
        DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    ):
        for ensemble in (None, 3):
            model = RectifiedClassifier(classifier, ensemble=ensemble, random_state=0)
            yield model.fit(X[::2], y[::2]).predict_proba(X[1::2])


@kind
def correcting() -> Iterator[np.ndarray]:
    """Yield probabilities that are corrected for cleaning."""
    from rectifold import CorrectedPosterior

    X, y = wines(2000)
    model = CorrectedPosterior(make_pipeline(GMR(), LogisticRegression(max_iter=1000)))
    yield model.fit(X[::2], y[::2]).predict_proba(X[1::2])


@kind
def splitting() -> Iterator[np.ndarray]:
    """Yield the splits of the protocols of experiments."""
    from rectifold.bench._data import Data
    from rectifold.bench._protocols import PROTOCOLS, prepare

    X, y = wines(600)
    for protocol in sorted(PROTOCOLS):
        split = prepare(Data(X, y, ""), GMR(), 42, protocol)
        yield from (split.X_train, split.y_train, split.X_test, split.y_test)


def digest(arrays: Iterator[np.ndarray]) -> str:
    """Return a hash of arrays, rounded so that neither machines nor libraries matter."""
    found = hashlib.sha256()
    for array in arrays:
        rounded = np.round(np.asarray(array, dtype=np.float64), 6) + 0.0
        found.update(repr(rounded.shape).encode() + rounded.tobytes())
    return found.hexdigest()[:16]


def main() -> None:
    """Print all digests."""
    warnings.simplefilter("ignore")
    found = {}
    for name, arrays in _KINDS.items():
        try:
            found[name] = digest(arrays())
        except Exception as problem:  # A version that has no such thing is not equal to ours.
            found[name] = f"{type(problem).__name__}: {problem}"
    print(json.dumps(found))


if __name__ == "__main__":
    main()
