"""Compare prediction by NeighborVoteClassifier with scikit-learn's KNeighborsClassifier.

    python benchmarks/prediction.py [NAME] [--data-home FOLDER]

On a fifth of NAME (creditcard), standardised, with the other four fifths as training samples, 15
neighbours, and a vote weighted by 1 / (d + 1e-8). Ours has the view "standardized"; scikit-learn's
classifier gets the same points, and as many threads. Times are of prediction, and of fitting with
the prediction, in which ours builds its index; only their ratio matters: above 1 ours is faster.
That of processor time depends least on other work on the machine.

scikit-learn computes distances of points with more than 15 features from expanded products, which
is inexact for near neighbours. Votes that differ by more than 1e-9 are counted again, by direct
subtraction in float64, and compared with both.

Results go to results/speed/prediction.json.
"""

import argparse
import os
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from cases import DATA, load
from recording import Peak, write
from rectifold import NeighborVoteClassifier

K, EPSILON = 15, 1e-8
#: Runs of more than this number of seconds are not repeated; and repetitions of shorter ones.
SHORT, TURNS = 5.0, 5
#: Predictions of a single sample that are timed.
SINGLE = 200
#: Votes that differ by more are counted again, up to a number of samples.
DIFFERENT, RECOUNTED = 1e-9, 1000


def inverse(distances: np.ndarray) -> np.ndarray:
    """Return the weights of neighbours; scikit-learn normalises them."""
    return 1 / (distances + EPSILON)


class Run(NamedTuple):
    """The result of a call, and what it took."""

    result: Any
    seconds: float
    #: Of all threads.
    processor_seconds: float
    #: Peak above that before.
    megabytes: int


def timed(call: Callable[[], Any]) -> Run:
    """Call a function, and measure that."""
    # OpenMP threads spin for a while after their work, which would slow the next run.
    sleep(0.5)
    with Peak() as peak:
        start, used = perf_counter(), process_time()
        result = call()
        seconds, processor = perf_counter() - start, process_time() - used
    return Run(result, seconds, processor, peak.megabytes)


def repeated(call: Callable[[], Any]) -> Run:
    """Return the first run with the median times of several, if it is short."""
    first = timed(call)
    if first.seconds > SHORT:
        return first
    runs = [timed(call) for _ in range(TURNS)]
    return first._replace(
        seconds=median(run.seconds for run in runs),
        processor_seconds=median(run.processor_seconds for run in runs),
    )


def milliseconds_of_one(model: Any, X: np.ndarray) -> float:
    """Return the median milliseconds of the prediction of a single sample."""
    times = []
    for row in range(SINGLE):
        start = perf_counter()
        model.predict_proba(X[row : row + 1])
        times.append(perf_counter() - start)
    return round(1000 * median(times), 2)


def measure(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray
) -> tuple[dict[str, Any], np.ndarray]:
    """Return times and memory of a classifier, and its votes."""
    steps = {
        "fit": timed(lambda: model.fit(train, y)),
        "first_sample": timed(lambda: model.predict_proba(test[:1])),
        "predict": repeated(lambda: model.predict_proba(test)),
    }
    figures: dict[str, Any] = {
        step: {
            "seconds": round(run.seconds, 3),
            "processor_seconds": round(run.processor_seconds, 3),
            "mb": run.megabytes,
        }
        for step, run in steps.items()
    }
    figures["one_sample_milliseconds"] = milliseconds_of_one(model, test)
    figures["pickle_to_float32_data"] = round(len(pickle.dumps(model)) / (4 * train.size), 3)
    return figures, steps["predict"].result


def ratios(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, float]:
    """Return how many times as long theirs takes, without and with fitting."""
    found = {}
    for unit in ("seconds", "processor_seconds"):
        for name, steps in (("predict", ["predict"]), ("all", ["fit", "first_sample", "predict"])):
            taken = (sum(run[step][unit] for step in steps) for run in (theirs, ours))
            found[f"{name}_{unit}"] = round(next(taken) / next(taken), 1)
    return found


def recount(train: np.ndarray, y: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Return votes from all distances, by direct subtraction, for two classes."""
    votes = np.empty((len(queries), 2))
    columns = np.ascontiguousarray(train.T)
    for place, query in enumerate(queries):
        squares = np.zeros(len(y))
        for column, value in zip(columns, query, strict=True):
            squares += (column - value) ** 2
        distances = np.sqrt(squares)
        near = np.flatnonzero(distances <= np.partition(distances, K - 1)[K - 1])
        nearest = near[np.lexsort((near, distances[near]))][:K]
        weights = 1 / (distances[nearest] + EPSILON)
        votes[place] = np.bincount(y[nearest], weights, minlength=2) / weights.sum()
    return votes


def compared(
    ours: np.ndarray, theirs: np.ndarray, points: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> dict[str, Any]:
    """Return how the votes of both differ, and which of them a recount confirms."""
    train, y, test = points
    difference = np.abs(ours - theirs).max(axis=1)
    otherwise = np.flatnonzero(difference > DIFFERENT)
    # Those with the largest difference first.
    some = otherwise[np.argsort(-difference[otherwise], kind="stable")][:RECOUNTED]
    truth = recount(train, y, test[some])
    return {
        "largest_difference": float(difference.max()),
        "different_votes": len(otherwise),
        "different_labels": int((ours.argmax(axis=1) != theirs.argmax(axis=1)).sum()),
        "recounted": len(some),
        "recount_to_ours": float(np.abs(truth - ours[some]).max(initial=0)),
        "recount_to_scikit_learn": float(np.abs(truth - theirs[some]).max(initial=0)),
    }


def commit() -> str:
    """Return the commit of this repository."""
    git = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    root = Path(__file__).parents[1]
    return subprocess.run(git, cwd=root, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Run the comparison and record it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", default="creditcard")
    parser.add_argument("--data-home", type=Path, default=DATA)
    options = parser.parse_args()
    X, y = load(options.name, options.data_home)
    threads = os.cpu_count() or 1
    train, test, y, _ = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    # Ours standardises again, in the same way, and keeps the points in single precision.
    scaler = StandardScaler().fit(train)
    points, queries = (
        scaler.transform(some).astype(np.float32).astype(np.float64) for some in (train, test)
    )
    one_view = NeighborVoteClassifier(K, views=["standardized"], epsilon=EPSILON, n_jobs=threads)
    every_view = NeighborVoteClassifier(n_jobs=threads)
    peer = KNeighborsClassifier(K, weights=inverse, n_jobs=threads)
    ours, votes = measure(one_view, train, y, test)
    default, _ = measure(every_view, train, y, test)
    theirs, their_votes = measure(peer, points, y, queries)
    results = {
        "ratios": ratios(theirs, ours),
        "ratios_of_the_default": ratios(theirs, default),
        **compared(votes, their_votes, (points, y, queries)),
    }
    write(
        "prediction",
        commit=commit(),
        data=options.name,
        training_samples=len(train),
        queries=len(test),
        columns=train.shape[1],
        threads=threads,
        summary=results,
        runs={"one_view": ours, "default": default, "scikit_learn": theirs},
    )
    print(results)


if __name__ == "__main__":
    main()
