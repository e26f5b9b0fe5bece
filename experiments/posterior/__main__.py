"""Compare probabilities after samplers with and without `CorrectedPosterior`.

    python -m experiments.posterior run [DATA_HOME]
    python -m experiments.posterior report

On ten of the paper's data sets, split 80/20 with five seeds: Brier score and log loss on the test
split of two classifiers without a sampler, after each sampler, and corrected. `run` writes
results/posterior/scores.csv, `report` prints Markdown from it.
"""

import sys
import warnings
from itertools import product
from pathlib import Path

import pandas as pd
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline
from imblearn.under_sampling import EditedNearestNeighbours, RandomUnderSampler
from joblib import Parallel, delayed
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from threadpoolctl import threadpool_limits

from rectifold import GMR, CorrectedPosterior
from rectifold.bench import SEEDS
from rectifold.bench._data import load, paper_sources
from rectifold.bench._protocols import prepare
from rectifold.report._wording import number

RECORD = Path(__file__).parents[2] / "results" / "posterior" / "scores.csv"
SETS = (
    *("ecoli", "satimage", "abalone", "sick_euthyroid", "spectrometer"),
    *("us_crime", "yeast_ml8", "thyroid_sick", "wine_quality", "yeast_me2"),
)
CLASSIFIERS = {
    "logistic regression": lambda seed: LogisticRegression(max_iter=1000),
    "random forest": lambda seed: RandomForestClassifier(min_samples_leaf=5, random_state=seed),
}
SAMPLERS = {
    "random under-sampling": lambda seed: RandomUnderSampler(random_state=seed),
    "SMOTE": lambda seed: SMOTE(random_state=seed),
    "edited nearest neighbours": lambda seed: EditedNearestNeighbours(),
    "GMR": lambda seed: GMR(),
    'GMR(class_weight="balanced", gamma=0)': lambda seed: GMR(class_weight="balanced", gamma=0),
}
LOSSES = {"Brier score": brier_score_loss, "log loss": log_loss}


def score_one(source, seed):
    """Return rows of data set, seed, classifier, sampler, whether corrected, and both losses."""
    warnings.simplefilter("ignore")
    split, rows = prepare(load(source), None, seed, "train-only"), []

    def note(model, *names):
        p = model.fit(split.X_train, split.y_train).predict_proba(split.X_test)[:, 1]
        losses = [round(float(loss(split.y_test, p)), 6) for loss in LOSSES.values()]
        rows.append((source.name, seed, *names, *losses))

    with threadpool_limits(limits=1):
        for classifier, make in CLASSIFIERS.items():
            note(make(seed), classifier, "none", False)
            for name, sampler in SAMPLERS.items():
                model = make_pipeline(sampler(seed), make(seed))
                note(model, classifier, name, False)
                note(CorrectedPosterior(model), classifier, name, True)
    return rows


def run(home=None):
    jobs = product(paper_sources(SETS, home), SEEDS)
    found = Parallel(n_jobs=-1)(delayed(score_one)(source, seed) for source, seed in jobs)
    names = ["dataset", "seed", "classifier", "sampler", "corrected", *LOSSES]
    frame = pd.DataFrame([row for rows in found for row in rows], columns=names)
    RECORD.parent.mkdir(exist_ok=True)
    frame.to_csv(RECORD, index=False, lineterminator="\n")


def report():
    frame = pd.read_csv(RECORD, keep_default_na=False)
    means = frame.groupby(["classifier", "sampler", "corrected"], sort=False)[[*LOSSES]].mean()
    by_set = frame.groupby(["classifier", "sampler", "dataset", "corrected"])[[*LOSSES]].mean()
    wins = by_set.unstack("corrected")
    print("# Probabilities after samplers, corrected\n")
    print(
        f"{frame['dataset'].nunique()} of the paper's data sets ({', '.join(SETS)}), "
        f"{frame['seed'].nunique()} seeds: mean losses on the test split without correction and "
        "with `CorrectedPosterior`, lower is better; and the number of data sets on which the "
        "corrected probabilities are better or equal (to 0.0001).\n"
    )
    head = ["classifier", "sampler"]
    for loss in LOSSES:
        head += [loss, f"{loss}, corrected", f"better by {loss}"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for classifier, sampler in means.index.droplevel("corrected").unique():
        cells, one = [classifier, sampler], means.loc[classifier, sampler]
        for loss in LOSSES:
            cells.append(number(one.loc[False, loss], 4))
            if sampler == "none":
                cells += ["", ""]
                continue
            both = wins.loc[(classifier, sampler), loss]
            better = int((both[True] <= both[False] + 1e-4).sum())
            cells += [number(one.loc[True, loss], 4), f"{better} of {len(both)}"]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    {"run": run, "report": report}[sys.argv[1]](*sys.argv[2:])
