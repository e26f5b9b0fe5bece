"""Clean tables whose distances single precision can't resolve, beside a plain table of their size.

    python benchmarks/far_apart.py [SAMPLES]

Ten tables of 40,000 samples and ten features: clouds far apart, outliers, features of different
scale, heavy tails. The ratio of the seconds of `GMR().fit_resample` to those on standard normal
features counts. Results go to results/speed/far_apart.json.
"""

import sys
from statistics import median
from time import perf_counter

import numpy as np

from recording import write
from rectifold import GMR

FEATURES, TURNS = 10, 3


def tables(n: int) -> dict[str, np.ndarray]:
    """Return the plain table, and the others by name."""
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(n, FEATURES))
    half = (rng.random(n) < 0.5)[:, None]
    first = np.eye(FEATURES)[0]
    outlier, outliers = plain.copy(), plain.copy()
    outlier[0] = 1e12
    outliers[:50] *= 1e9
    return {
        "plain": plain,
        "two clouds": plain + 1e8 * half,
        "two clouds in one feature": plain + 1e8 * half * first,
        "twenty clouds": plain + 1e7 * rng.integers(0, 20, n)[:, None],
        "one outlier": outlier,
        "fifty outliers": outliers,
        "far from the origin": plain + 1e9,
        "one wide feature": plain * np.where(first, 1e8, 1),
        "heavy tails": np.sinh(3 * plain),
        "very heavy tails": rng.standard_cauchy((n, FEATURES)),
        "time stamps": np.column_stack([1.6e9 + rng.integers(0, 10**8, n), plain[:, 1:]]),
    }


def seconds(X: np.ndarray, y: np.ndarray) -> float:
    """Return the median seconds of a whole call with one thread."""
    taken = []
    for _ in range(TURNS):
        start = perf_counter()
        GMR(n_jobs=1).fit_resample(X, y)
        taken.append(perf_counter() - start)
    return median(taken)


def main(n: int = 40_000) -> None:
    """Measure all tables in turn, and record the ratios."""
    found = tables(n)
    plain = found.pop("plain")
    y = (plain[:, 0] + np.random.default_rng(1).normal(size=n) > 1.8).astype(int)
    ratios = {}
    for name, X in found.items():
        ratios[name] = round(seconds(X, y) / seconds(plain, y), 2)
        print(f"{name}: {ratios[name]}", flush=True)
    write("far_apart", samples=n, features=FEATURES, seconds_to_those_of_a_plain_table=ratios)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
