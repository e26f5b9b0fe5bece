"""Fit the constants of the cost model, `rectifold._engines.exact.costs`.

    python benchmarks/costs.py [--data-home FOLDER]

Times searches for the same samples through leaves and through a k-d tree, on one core, on clouds
of 1 to 20 dimensions, planes in more dimensions, and real data; counts the visits of each; and
fits nanoseconds per leaf, pair, column and visit by least squares of relative errors. Prints the
fit, and how often the model chose the faster method. Results go to results/speed/costs.json.
"""

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.optimize import nnls
from scipy.spatial import cKDTree

from cases import DATA, load
from recording import write
from rectifold._core.space import Points
from rectifold._core.threads import Workers
from rectifold._engines.exact import costs, leaf_search
from rectifold._engines.exact.index import build_index
from rectifold._engines.exact.leaves import EMPTY

K = 15
QUERIES = 1000
#: The constants in use, by the names of the record.
CONSTANTS = {
    "leaf": "_LEAF",
    "pair": "_PAIR",
    "pair and column": "_PAIR_COLUMN",
    "build": "_BUILD",
    "build and column": "_BUILD_COLUMN",
    "query": "_QUERY",
    "visit": "_VISIT",
    "miss": "_MISS",
    "miss and column": "_MISS_COLUMN",
    "certificate and leaf": "_CERTIFICATE_LEAF",
    "cells, point": "_CELL_POINT",
    "cells, query": "_CELL_QUERY",
    "cells, hit": "_HIT",
}
REAL = ("pen_digits", "letter_img", "mammography", "coil_2000", "creditcard", "cidds001_attacker")


def tables(home: Path):
    """Yield clouds, planes and real data, by name."""
    rng = np.random.default_rng(0)
    for n in (10_000, 100_000):
        for d in (1, 2, 3, 4, 6, 8, 10, 14, 20):
            yield f"cloud of {d}", rng.normal(size=(n, d))
        for m, d in ((2, 10), (2, 30), (4, 10), (4, 30)):
            yield f"{m} dimensions in {d}", rng.normal(size=(n, m)) @ rng.normal(size=(m, d))
    for name in REAL:
        yield name, load(name, home)[0]


def measure(name: str, X: np.ndarray) -> dict[str, object]:
    """Search for some samples by both methods."""
    with Workers(1) as workers:
        one_class = np.zeros(len(X), dtype=np.intp)
        index = build_index(Points(X, "euclidean"), one_class, K, workers, ceiling=np.inf)
        groups, frame, order = index.groups, index.frame, index.frame.leaves.order
        n, d = groups.values.shape
        real = np.flatnonzero(order != EMPTY)
        places = np.sort(np.random.default_rng(1).choice(real, min(QUERIES, len(real)), False))
        unknown = np.full(len(places), np.inf)
        start = perf_counter()
        candidates = list(leaf_search.search(index, K, places, unknown, workers))
        products = (perf_counter() - start) / len(places) * 1e9
        trial = places[:: len(places) // 32]
        squares, pairs = leaf_search.estimate(index, K, trial, unknown[: len(trial)])
    start = perf_counter()
    tree = cKDTree(groups.values)
    built = (perf_counter() - start) / n * 1e9
    start = perf_counter()
    tree.query(groups.values[order[places]], k=np.arange(1, K + 10))
    query = (perf_counter() - start) / len(places) * 1e9
    factor = frame.coordinates.factor
    visited = costs.visited(tree, groups.values[order[trial]], squares / factor**2, np.inf)
    compared = sum(some.pairs for some in candidates) / len(places)
    row = {
        "data": name,
        "points": n,
        "columns": d,
        "leaves": frame.leaves.n,
        "pairs": round(compared),
        "pairs_estimated": round(pairs),
        "visited_estimated": round(visited),
        "products_ns": round(products),
        "build_ns": round(built),
        "tree_ns": round(query),
    }
    # For as many queries as points, so that building a tree is a small part.
    expected = costs.by_products(n, frame.leaves.n, pairs, d)
    affordable = costs.affordable_visits(n, n, d, expected)
    row["model_takes"] = "tree" if visited <= affordable else "products"
    row["sooner"] = "tree" if built + query < products else "products"
    return row


def fitted(terms: list[list[float]], times: list[float]) -> list[float]:
    """Return the constants, none negative, that minimise the relative errors."""
    times = np.array(times)
    return nnls(np.array(terms) / times[:, None], np.ones(len(times)))[0].round(2).tolist()


def main() -> None:
    """Measure, fit, print and record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-home", type=Path, default=DATA)
    rows = []
    for name, X in tables(parser.parse_args().data_home):
        rows.append(measure(name, X))
        print(rows[-1], flush=True)
    fit = {
        "leaf, pair, pair and column": fitted(
            [[r["leaves"], r["pairs"], r["pairs"] * r["columns"]] for r in rows],
            [r["products_ns"] for r in rows],
        ),
        "build, build and column": fitted(
            [[1, r["columns"]] for r in rows], [r["build_ns"] for r in rows]
        ),
        "query, visit, miss, miss and column": fitted(
            [
                [
                    1,
                    r["visited_estimated"],
                    r["visited_estimated"] * (8 * r["points"] * r["columns"] > costs.CACHE),
                    r["visited_estimated"]
                    * r["columns"]
                    * (8 * r["points"] * r["columns"] > costs.CACHE),
                ]
                for r in rows
            ],
            [r["tree_ns"] for r in rows],
        ),
    }
    wrong = [r["data"] for r in rows if r["model_takes"] != r["sooner"]]
    print(fit, f"{len(rows) - len(wrong)} of {len(rows)} chosen correctly; not: {wrong}", sep="\n")
    in_use = {name: getattr(costs, constant) for name, constant in CONSTANTS.items()}
    write("costs", fit=fit, in_use=in_use, wrongly_chosen=wrong, rows=rows)


if __name__ == "__main__":
    main()
