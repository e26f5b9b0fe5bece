"""Measure the cost of choosing: RectifiedClassifier and plain cross-validation.

    python benchmarks/choosing.py [DATASET ...]

For each data set and classifier: seconds of `RectifiedClassifier.fit` with its defaults, and with
cleaning alone (`vote_weight=0`), each relative to scikit-learn's `cross_val_score` over as many
fits, measured in turns. The ratio is the overhead of neighbour search, votes and bookkeeping.
Writes results/adaptive/choosing.json.
"""

import json
import sys
import warnings
from pathlib import Path
from time import perf_counter

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from rectifold import RectifiedClassifier
from rectifold._core.utils import versions
from rectifold._io import write_whole
from rectifold.bench._data import load, paper_sources

RESULTS = Path(__file__).parents[1] / "results" / "adaptive" / "choosing.json"
SETS = ("yeast_me2", "us_crime", "abalone", "letter_img")
CLASSIFIERS = {
    "decision tree": DecisionTreeClassifier(random_state=0),
    "logistic regression": LogisticRegression(max_iter=1000),
    "gradient boosting": HistGradientBoostingClassifier(random_state=0),
    "random forest": RandomForestClassifier(random_state=0),
}


def measure(X, y, estimator) -> dict[str, float]:
    """Time all; the peer before and after, so that a change of load affects all."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)

    def peer() -> float:
        start = perf_counter()
        cross_val_score(estimator, X, y, cv=folds, scoring="average_precision")
        return (perf_counter() - start) / 5

    def ours(**settings) -> tuple[RectifiedClassifier, float]:
        start = perf_counter()
        model = RectifiedClassifier(estimator, **settings).fit(X, y)
        return model, perf_counter() - start

    before = peer()
    model, seconds = ours()
    cleaning, seconds_cleaning = ours(vote_weight=0)
    one_fit = (before + peer()) / 2
    return {
        "fits": model.n_fits_,
        "chosen": f"{model.best_params_}, vote {model.vote_weight_}",
        "seconds": round(seconds, 2),
        "peer_seconds": round(one_fit * model.n_fits_, 2),
        "ratio": round(seconds / (one_fit * model.n_fits_), 3),
        "cleaning_fits": cleaning.n_fits_,
        "cleaning_seconds": round(seconds_cleaning, 2),
        "to_cleaning": round(seconds / seconds_cleaning, 3),
    }


def main(*names: str) -> None:
    """Measure, print, and store the results."""
    warnings.simplefilter("ignore")
    runs = []
    for source in paper_sources(names or SETS):
        data = load(source)
        X = StandardScaler().fit_transform(data.X)
        for classifier, estimator in CLASSIFIERS.items():
            with threadpool_limits(limits=1):
                line = {"dataset": source.name, "classifier": classifier}
                line |= measure(X, data.y, estimator)
            print(json.dumps(line), flush=True)
            runs.append(line)
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            report = {"versions": versions("rectifold", "scikit-learn", "numpy"), "runs": runs}
            write_whole(RESULTS, json.dumps(report, indent=1).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
