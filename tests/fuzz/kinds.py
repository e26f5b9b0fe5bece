"""Small random tables of many kinds, on which a careless search or a careless sum fails."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

Random = np.random.Generator
KINDS: dict[str, Callable[[Random], Any]] = {}


def kind(name):
    def register(make):
        KINDS[name] = make
        return make

    return register


def shape(rng: Random, n=(30, 250), d=(1, 12)) -> tuple[int, int]:
    return int(rng.integers(*n)), int(rng.integers(*d))


def cloud(rng: Random, **limits: Any) -> np.ndarray:
    return rng.normal(size=shape(rng, **limits))


def scaled(low: float, high: float) -> Callable[[Random], np.ndarray]:
    """Return a maker of clouds whose scale is drawn from powers of ten."""
    return lambda rng: cloud(rng) * 10.0 ** rng.uniform(low, high)


def stored(make: Callable[[np.ndarray], Any]) -> Callable[[Random], Any]:
    """Return a maker of clouds that are stored in another way."""
    return lambda rng: make(cloud(rng).round(int(rng.integers(0, 4))))


def some_zeros(X: np.ndarray) -> np.ndarray:
    return np.where(abs(X) > 0.8, X, 0)


KINDS |= {
    "a cloud": cloud,
    "one feature": lambda rng: cloud(rng, d=(1, 2)),
    "many features": lambda rng: cloud(rng, n=(30, 120), d=(20, 99)),
    "more than a hundred features": lambda rng: cloud(rng, n=(30, 100), d=(101, 140)),
    "a lattice": lambda rng: rng.integers(-2, 3, shape(rng)).astype(float),
    "a coarse lattice of thirds": lambda rng: rng.integers(-4, 5, shape(rng)) / 3,
    "two values": lambda rng: rng.integers(0, 2, shape(rng)).astype(float),
    "indicators": lambda rng: np.eye(6)[rng.integers(0, 6, (shape(rng)[0], 2))].reshape(-1, 12),
    "near-ties": lambda rng: cloud(rng).round() + 1e-14 * rng.normal(),
    "near-ties of single precision": lambda rng: (
        (X := cloud(rng)).round() + 1e-7 * rng.normal(size=X.shape)
    ),
    "duplicates": lambda rng: (X := cloud(rng))[rng.integers(0, max(2, len(X) // 4), len(X))],
    "one point, and few others": lambda rng: np.where(
        rng.random((X := cloud(rng)).shape[0])[:, None] < 0.8, 0.0, X
    ),
    "large": scaled(5, 15),
    "huge": scaled(100, 150),
    "beyond squares": scaled(150, 300),
    "small": scaled(-15, -5),
    "tiny": scaled(-150, -100),
    "squares underflow": scaled(-300, -150),
    "denormal": scaled(-323, -308),
    "far from the origin": lambda rng: cloud(rng) + 10.0 ** rng.uniform(3, 15),
    "two clouds far apart": lambda rng: (
        (X := cloud(rng)) + 10.0 ** rng.uniform(2, 9) * rng.integers(0, 2, (len(X), 1))
    ),
    "features of different scale": lambda rng: (
        (X := cloud(rng)) * 10.0 ** rng.uniform(-9, 9, X.shape[1])
    ),
    "one outlier": lambda rng: np.vstack([X := cloud(rng), np.full(X.shape[1], 1e12)]),
    "huge integers": lambda rng: rng.integers(-(2**62), 2**62, shape(rng)),
    "small integers": lambda rng: rng.integers(0, 100, shape(rng)).astype(
        rng.choice([np.int8, np.uint8, np.int16, np.uint32])
    ),
    "booleans": lambda rng: rng.random(shape(rng)) < 0.5,
    "float16": stored(lambda X: X.astype(np.float16)),
    "float32": stored(lambda X: X.astype(np.float32)),
    "long double": stored(lambda X: X.astype(np.longdouble)),
    "columns first": stored(np.asfortranarray),
    "every second sample of a view": stored(lambda X: np.repeat(X, 2, axis=0)[::2]),
    "reversed features": stored(lambda X: X[:, ::-1]),
    "read-only": stored(lambda X: (X.setflags(write=False), X)[1]),
    "lists": stored(np.ndarray.tolist),
    "constant features": lambda rng: np.hstack([X := cloud(rng), np.ones((len(X), 2))]),
    "signed zeros": stored(lambda X: np.copysign(some_zeros(X), -1) * np.sign(X + 1e-9)),
    **{
        f"sparse, {name}": stored(
            lambda X, name=name: sparse.csr_array(some_zeros(X)).asformat(name)
        )
        for name in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
    },
    "sparse, with stored zeros": stored(
        lambda X: (S := sparse.csr_array(some_zeros(X) + 7), setattr(S, "data", S.data - 7))[0]
    ),
    "sparse and wide": lambda rng: sparse.random(
        60, 150, density=0.1, format="csr", random_state=rng
    ),
}


@kind("a file in memory")
def memory_map(rng: Random) -> np.ndarray:
    X = cloud(rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        # The pages stay while the array refers to them.
        return np.load(path, mmap_mode="r")


def labels(X: Any, rng: Random) -> np.ndarray:
    """Return labels of two to four classes that overlap, the first the largest."""
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    signal = np.nan_to_num(dense[:, 0])
    order = np.argsort(np.argsort(signal, kind="stable"), kind="stable") / len(signal)
    n_classes = int(rng.choice([2, 2, 2, 3, 4]))
    bounds = np.sort(rng.uniform(0.5, 1, n_classes - 1))
    y = np.searchsorted(bounds, order)
    noisy = rng.random(len(y)) < rng.uniform(0, 0.4)
    y[noisy] = rng.integers(0, n_classes, noisy.sum())
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    return y


def draw(seed: int, number: int) -> tuple[str, Any, np.ndarray, Random]:
    """Return the kind, the samples and the labels of a case, and its generator."""
    rng = np.random.default_rng([seed, number])
    name = list(KINDS)[number % len(KINDS)]
    X = KINDS[name](rng)
    return name, X, labels(X, rng), rng
