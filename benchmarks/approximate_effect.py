"""The effect of approximate neighbours on classifiers, and their reproducibility.

    python benchmarks/approximate_effect.py

Measures the AUPRC of two classifiers on the test splits of two data sets, trained on samples that
were cleaned exactly, approximately and not at all. On one data set, compares five runs with one
core and with two, and checks whether libraries find the same neighbours twice, and with one thread.
Writes results/approximate/effect.json.
"""

from hashlib import sha256

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

import libraries
from approximate import RESULTS
from cases import load
from recording import write
from rectifold import GMR

SEEDS = {"ecg_mitbih": range(3), "covtype_1": range(1)}
RUNS = 5
#: Number of samples for the comparison of libraries.
PART = 20_000


def main() -> None:
    """Measure, and write every result as soon as it is known."""
    found = {"auprc": [], "repeated": repeated(), "libraries": libraries_repeated()}
    write("effect", RESULTS, **found)
    for name, seeds in SEEDS.items():
        X, y = load(name)
        for seed in seeds:
            found["auprc"].append({"data": name, "seed": seed, **effect(X, y, seed)})
            print(found["auprc"][-1], flush=True)
            write("effect", RESULTS, **found)


def effect(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, dict[str, float]]:
    """Return the AUPRC on a test split for each way of cleaning the training split."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    kept = {"none": train}
    for engine in ("exact", "approximate"):
        gmr = GMR(engine=engine, n_jobs=2)
        gmr.fit_resample(X[train], y[train])
        kept[engine] = train[gmr.sample_indices_]
    shared = np.isin(kept["exact"], kept["approximate"]).mean()
    scores = {}
    for cleaning, rows in kept.items():
        for model in (HistGradientBoostingClassifier(random_state=seed), LogisticRegression()):
            predicted = model.fit(X[rows], y[rows]).predict_proba(X[test])[:, 1]
            scores.setdefault(type(model).__name__, {})[cleaning] = average_precision_score(
                y[test], predicted
            )
    return {"kept_alike": float(shared), **scores}


def repeated() -> dict[str, object]:
    """Count the different results of several runs."""
    X, y = load("ecg_mitbih")
    answers = set()
    for jobs in (1, 2):
        for _ in range(RUNS):
            gmr = GMR(engine="approximate", n_jobs=jobs)
            gmr.fit_resample(X, y)
            record = gmr.rectification_
            answers.add(sha256(record.confidence.tobytes() + record.removed.tobytes()).hexdigest())
    return {"data": "ecg_mitbih", "runs": RUNS, "n_jobs": [1, 2], "answers": len(answers)}


def libraries_repeated() -> dict[str, dict[str, bool]]:
    """Return which libraries find the same neighbours again, and with another number of threads."""
    X = load("ecg_mitbih")[0][:PART].astype(np.float32)
    same = {}
    for name, library in libraries.LIBRARIES.items():
        answers = []
        for threads in (2, 2, 1):
            libraries.THREADS = threads
            index = library()
            index.build(X)
            graph = isinstance(index, libraries.Pynndescent)
            answers.append(index.graph() if graph else index.ask(X, 16, index.efforts[1]))
        again, alone = (bool((answers[0] == other).all()) for other in answers[1:])
        same[name] = {"again": again, "with one thread": alone}
    return same


if __name__ == "__main__":
    main()
