"""Compare what may vote beside the nearest samples: forests, and a linear model.

    python -m experiments.adaptive.leaves record [FOLDER] [DATA_HOME]    # resumes
    python -m experiments.adaptive.leaves score [FOLDER]
    python -m experiments.adaptive.leaves report

`record` fits voters and classifiers on folds, on the paper's sets under 5,000 samples and on other
families of KEEL (`experiments.adaptive.development`), none of them in the unseen collection.
`score` fuses them as `RectifiedClassifier` does, and writes the AUPRC on test samples to
results/adaptive/leaves.csv. `report` prints Markdown from that file.
"""

import os
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from experiments.adaptive.development import development_sources
from experiments.adaptive.grid import LOSS, RESULTS, SETS
from experiments.adaptive.views import ingredients
from rectifold import NeighborVoteClassifier
from rectifold._core.target import encode
from rectifold.bench._data import paper_sources
from rectifold.bench.controls._averages import ranking
from rectifold.model_selection._folds import make_folds
from rectifold.model_selection._fusion import WEIGHTS, as_probabilities, decision_scale, fuse
from rectifold.model_selection._registry import CLASSIFIERS, EXTRA_CLASSIFIERS
from rectifold.neighbors._leaves import LeafVote
from rectifold.report._wording import number

KEYS = ("collection", "dataset", "seed", "classifier")
RECORD = RESULTS / "adaptive" / "leaves.csv"
FOLDER = "build/leaves"
FITTED = (*CLASSIFIERS, "LightGBM")
SEEDS = {"other": (42, 0, 1), "paper": (42, 0)}


class Leaves:
    """The vote of the leaves of a forest, as a classifier."""

    def __init__(self, forest):
        self.forest = forest

    def fit(self, X, y):
        self.votes = LeafVote(self.forest).fit(X, y, 2, random_state=0, n_jobs=None)
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        return self.votes.predict_proba(np.float32(X), n_jobs=None)


def forest(n=100, leaf=2):
    return RandomForestClassifier(n, min_samples_leaf=leaf, random_state=0)


NEAREST, DEFAULT = "the nearest samples", "leaves of 50 trees"
#: What may vote beside the nearest samples.
PARTNERS = {
    DEFAULT: lambda: Leaves(forest(50)),
    "leaves of 100 trees": lambda: Leaves(forest()),
    "leaves of 100 trees, of 1 sample or more": lambda: Leaves(forest(leaf=1)),
    "leaves of 100 trees, of 5 samples or more": lambda: Leaves(forest(leaf=5)),
    "the probabilities of the forest of 100 trees": forest,
    "extremely randomised trees": lambda: ExtraTreesClassifier(
        100, min_samples_leaf=2, random_state=0
    ),
    "logistic regression": lambda: LogisticRegression(max_iter=1000),
}
VOTERS = {NEAREST: lambda: NeighborVoteClassifier(leaf_share=0), **PARTNERS}
#: The shares of a partner in the vote to choose from.
SHARES = {
    "half": (0.5,),
    "chosen from 0.25, 0.5, 0.75": (0.5, 0.25, 0.75),
    "chosen from 0 to 1": (0.5, 0.25, 0.75, 0, 1),
    "alone": (1,),
}


def record_one(source, seed, path):
    warnings.simplefilter("ignore")
    X, y, X_test, y_test, folds = ingredients(source, seed)
    found = {"y": y, "y_test": y_test}
    known = {**CLASSIFIERS, **EXTRA_CLASSIFIERS}
    with threadpool_limits(limits=1):
        for name in (*VOTERS, *FITTED):
            held = np.full((max(fold.repeat for fold in folds) + 1, len(y)), np.nan)
            for fold in folds:
                seed_of_fold = seed + fold.number
                model = VOTERS[name]() if name in VOTERS else known[name].make(seed_of_fold)
                model.fit(X[fold.train], y[fold.train])
                held[fold.repeat, fold.test] = ranking(model, X[fold.test], 1)
            model = VOTERS[name]() if name in VOTERS else known[name].make(seed)
            found[f"held:{name}"] = held
            found[f"test:{name}"] = ranking(model.fit(X, y), X_test, 1)
    part = path.with_suffix(".part.npz")
    np.savez_compressed(part, **found)
    os.replace(part, path)


def record(folder=FOLDER, home=None):
    """Record what is missing."""
    folder = Path(folder)
    collections = {
        "other": development_sources(folder / "tables"),
        "paper": paper_sources(SETS, home),
    }
    jobs = []
    for collection, sources in collections.items():
        for seed, source in product(SEEDS[collection], sources):
            path = folder / f"{collection}-{source.name}-{seed}.npz"
            if not path.exists():
                jobs.append(delayed(record_one)(source, seed, path))
    for done, _ in enumerate(Parallel(n_jobs=-1, return_as="generator_unordered")(jobs), 1):
        print(done, "of", len(jobs), flush=True)


class Case:
    """The outputs of a classifier on a data set, fused with votes."""

    def __init__(self, found, folds, name):
        self.y, self.y_test, self.folds = found["y"], found["y_test"], folds
        self.held, self.tested = found[f"held:{name}"], found[f"test:{name}"]
        if name == "SVM":
            held = {"decision_function": self.held.ravel()}
            scale = decision_scale(held, np.tile(self.y, len(self.held)))
            self.held, self.tested = (
                as_probabilities({"decision_function": values.ravel()}, scale)[:, 1].reshape(
                    values.shape
                )
                for values in (self.held, self.tested)
            )
        self.known = {}

    def score(self, held):
        return np.mean([average_precision_score(self.y, one) for one in held])

    def fold_scores(self, held):
        return np.array(
            [
                average_precision_score(self.y[fold.test], held[fold.repeat, fold.test])
                for fold in self.folds
            ]
        )

    def scores(self, key, vote):
        """Return the scores with every weight of a vote."""
        if key not in self.known:
            fused = [fuse(self.held, vote[0], weight) for weight in WEIGHTS]
            self.known[key] = [self.score(one) for one in fused]
        return self.known[key]

    def test_score(self, votes):
        """Return the AUPRC on test samples with the best of some votes."""
        best = max(votes, key=lambda key: max(self.scores(key, votes[key])))
        scores = self.scores(best, votes[best])
        weight, vote = WEIGHTS[int(np.argmax(scores))], votes[best]
        differences = self.fold_scores(fuse(self.held, vote[0], weight)) - self.fold_scores(
            self.held
        )
        if max(scores) - scores[0] <= differences.std(ddof=1) / np.sqrt(len(differences)):
            weight = 0.0
        return average_precision_score(self.y_test, fuse(self.tested, vote[1], weight))


def score_one(path):
    """Return rows of collection, data set, seed and classifier, and the AUPRC of every way."""
    found = dict(np.load(path))
    collection, *name, seed = path.stem.split("-")
    y = found["y"]
    folds = make_folds(5, y[:, None], encode(y), None, random_state=int(seed))
    votes = {name: (found[f"held:{name}"], found[f"test:{name}"]) for name in VOTERS}
    rows = []
    for classifier in FITTED:
        case = Case(found, folds, classifier)
        scores = {
            "None": average_precision_score(case.y_test, case.tested),
            NEAREST: case.test_score({NEAREST: votes[NEAREST]}),
        }
        for partner in PARTNERS:
            for label, shares in SHARES.items():
                mixed = {
                    (partner, share): [
                        (1 - share) * a + share * b
                        for a, b in zip(votes[NEAREST], votes[partner], strict=True)
                    ]
                    for share in shares
                }
                scores[f"{partner}: {label}"] = case.test_score(mixed)
        key = collection, "-".join(name), int(seed), classifier
        rows.append(dict(zip(KEYS, key, strict=True)) | scores)
    return rows


def score(folder=FOLDER):
    """Score all recorded cases."""
    jobs = [delayed(score_one)(path) for path in sorted(Path(folder).glob("*.npz"))]
    rows = [row for rows in Parallel(n_jobs=-1)(jobs) for row in rows]
    pd.DataFrame(rows).round(6).to_csv(RECORD, index=False, lineterminator="\n")


def report():
    """Print the comparison."""
    frame = pd.read_csv(RECORD)
    counts = frame.groupby("collection")["dataset"].nunique()
    print("# What votes beside the nearest samples\n")
    print(
        f"{len(FITTED)} classifiers ({', '.join(FITTED)}); {counts['other']} data sets of KEEL "
        f"with {len(SEEDS['other'])} seeds, and {counts['paper']} of the paper with "
        f"{len(SEEDS['paper'])}. None is in the unseen collection. Mean gain in AUPRC over the "
        f"classifier alone; share of pairs of data set and classifier that lose more than {LOSS}. "
        "The weight of the vote, and the share of the partner in it, are chosen out of fold, with "
        "the guard of one standard error. The table was made to choose the default, "
        f'"{DEFAULT}: chosen from 0.25, 0.5, 0.75"; a forest of 50 trees costs half of one of 100.'
        "\n"
    )
    print("| partner and its share | KEEL | loses | the paper's | loses | mean of both |")
    print("|---|---|---|---|---|---|")
    table = frame.drop(columns="seed").groupby(["collection", "dataset", "classifier"]).mean()
    gains = table.drop(columns="None").sub(table["None"], axis=0)
    means = gains.groupby("collection").mean().T
    losses = (gains < -LOSS).groupby("collection").mean().T
    for way in means.mean(axis=1).sort_values(ascending=False).index:
        cells = [
            cell
            for collection in ("other", "paper")
            for cell in (
                number(means.loc[way, collection], 4, sign=True),
                f"{100 * losses.loc[way, collection]:.1f} %",
            )
        ]
        print(f"| {way} | {' | '.join(cells)} | {number(means.loc[way].mean(), 4, sign=True)} |")


if __name__ == "__main__":
    {"record": record, "score": score, "report": report}[sys.argv[1]](*sys.argv[2:])
