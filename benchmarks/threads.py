"""Clean tables in eight threads at once, beside the same work in plain NumPy.

    python benchmarks/threads.py

Fits of `GMR` with one job each, in one thread and in eight, on tables of two sizes; and searches
for the nearest neighbours of all samples by one product and one partition in NumPy. What counts is
by how much eight threads shorten or lengthen each. Results go to results/speed/threads.json.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from time import perf_counter

import numpy as np
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info, threadpool_limits

from recording import write
from rectifold import GMR

#: Sizes of the tables, and the number of fits.
SIZES = {"1,500 x 6": (1_500, 6, 200), "5,000 x 20": (5_000, 20, 40)}
THREADS, TURNS, K = 8, 3, 15


def tables(n: int, d: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return ten tables."""
    return [
        make_classification(n, d, n_informative=4, weights=[0.9], flip_y=0.1, random_state=seed)
        for seed in range(10)
    ]


def clean(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the samples that are kept."""
    sampler = GMR(n_jobs=1)
    sampler.fit_resample(X, y)
    return sampler.sample_indices_


def plain(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the share of own labels among the nearest samples."""
    squares = (X * X).sum(axis=1)
    distances = squares[:, None] + squares - 2 * (X @ X.T)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argpartition(distances, K, axis=1)[:, :K]
    return (y[nearest] == y[:, None]).mean(axis=1)


def speed_up(
    work: Callable[[np.ndarray, np.ndarray], np.ndarray], n: int, d: int, fits: int
) -> float:
    """Return the seconds of all work in one thread, relative to those in eight, in turns."""
    found = tables(n, d)
    every = [found[number % len(found)] for number in range(fits)]
    expected = [work(*one).tobytes() for one in found]

    def seconds(threads: int) -> float:
        start = perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            results = list(pool.map(lambda one: work(*one), every))
        taken = perf_counter() - start
        assert all(one.tobytes() == expected[i % len(found)] for i, one in enumerate(results))
        return taken

    return round(median(seconds(1) / seconds(THREADS) for _ in range(TURNS)), 2)


def main() -> None:
    """Measure both, and record the ratios."""
    before = [one["num_threads"] for one in threadpool_info()]
    ratios = {f"GMR, {name}": speed_up(clean, *size) for name, size in SIZES.items()}
    after = [one["num_threads"] for one in threadpool_info()]
    with threadpool_limits(limits=1):
        ratios |= {f"NumPy, {name}": speed_up(plain, *size) for name, size in SIZES.items()}
    print(ratios)
    write("threads", threads=THREADS, blas_as_before=before == after, speed_up=ratios)


if __name__ == "__main__":
    main()
