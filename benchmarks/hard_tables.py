"""Clean tables that are hard to search, beside a plain table of their size.

    python benchmarks/hard_tables.py

- Eleven tables of 40,000 samples and ten features whose distances single precision can't resolve:
  clouds far apart, outliers, features of different scale, heavy tails.
- Six tables of 9,000 samples and 1,500 features under the cosine distance with few entries per
  sample, so that most distances are equal; sparse and dense.

The ratio of the seconds of `GMR().fit_resample` to those on a table without such difficulties
counts. Results go to results/speed/hard_tables.json.
"""

from statistics import median
from time import perf_counter

import numpy as np
from scipy import sparse

from recording import write
from rectifold import GMR

TURNS = 3
SAMPLES, FEATURES = 40_000, 10
WIDE_SAMPLES, WIDE_FEATURES = 9_000, 1_500


def far_apart(n: int = SAMPLES) -> dict[str, np.ndarray]:
    """Return the plain table, and the others by name."""
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(n, FEATURES))
    half = (rng.random(n) < 0.5)[:, None]
    between = (rng.random(n) < 0.01)[:, None]
    first = np.eye(FEATURES)[0]
    outlier, outliers = plain.copy(), plain.copy()
    outlier[0] = 1e12
    outliers[:50] *= 1e9
    return {
        "plain": plain,
        "two clouds": plain + 1e8 * half,
        "two clouds and points between": plain + 1e8 * np.where(between, rng.random((n, 1)), half),
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


def ties(entries: int, *, skewed: bool = False) -> sparse.csr_array:
    """Return samples with some entries that are 1, or one less if two fall together."""
    rng, n = np.random.default_rng(0), WIDE_SAMPLES * entries
    if skewed:
        columns = np.minimum(10 * rng.pareto(1, n), WIDE_FEATURES - 1).astype(int)
    else:
        columns = rng.integers(0, WIDE_FEATURES, n)
    X = sparse.csr_array(
        (np.ones(n), columns, np.arange(0, n + 1, entries)), shape=(WIDE_SAMPLES, WIDE_FEATURES)
    )
    X.sum_duplicates()
    X.data[:] = 1
    return X


def seconds(X: np.ndarray | sparse.csr_array, y: np.ndarray) -> float:
    """Return the median seconds of a whole call with one thread."""
    taken = []
    for _ in range(TURNS):
        start = perf_counter()
        GMR(n_jobs=1).fit_resample(X, y)
        taken.append(perf_counter() - start)
    return median(taken)


def compare(tables: dict, plain: np.ndarray | sparse.csr_array, y: np.ndarray) -> dict[str, float]:
    """Return the ratios of the seconds on some tables to those on a plain one, in turns."""
    ratios = {}
    for name, X in tables.items():
        ratios[name] = round(seconds(X, y) / seconds(plain, y), 2)
        print(f"{name}: {ratios[name]}", flush=True)
    return ratios


def main() -> None:
    """Measure all tables, and record the ratios."""
    rng = np.random.default_rng(1)
    tables = far_apart()
    plain = tables.pop("plain")
    y = (plain[:, 0] + rng.normal(size=SAMPLES) > 1.8).astype(int)
    ratios = compare(tables, plain, y)
    shape = WIDE_SAMPLES, WIDE_FEATURES
    few = {f"{entries} of {WIDE_FEATURES} features": ties(entries) for entries in (1, 2, 5)}
    few["2 features, some of them frequent"] = ties(2, skewed=True)
    y = (rng.random(WIDE_SAMPLES) < 0.05).astype(int)
    plain = sparse.random_array(shape, density=0.01, rng=rng, format="csr")
    ratios |= compare({f"sparse, {name}": X for name, X in few.items()}, plain, y)
    dense = {f"dense, {name}": X.toarray() for name, X in [*few.items()][:2]}
    ratios |= compare(dense, rng.normal(size=shape), y)
    write("hard_tables", seconds_to_those_of_a_plain_table=ratios)


if __name__ == "__main__":
    main()
