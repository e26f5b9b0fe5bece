"""Compare probabilities after samplers with and without `CorrectedPosterior`.

    python -m experiments.posterior run [DATA_HOME]
    python -m experiments.posterior report

On ten of the paper's data sets, split 80/20 with five seeds: Brier score and log loss on the test
split of two classifiers without a sampler, after each sampler, corrected in full by the class sizes
(cv=None), and with the strength that cross-validation chooses (the default). `run` writes
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
CORRECTIONS = ("no", "full", "chosen")
LOSSES = {"Brier score": brier_score_loss, "log loss": log_loss}


def score_one(source, seed):
    """Return rows of data set, seed, classifier, sampler, correction, strength and both losses."""
    warnings.simplefilter("ignore")
    split, rows = prepare(load(source), None, seed, "train-only"), []

    def note(model, *names):
        p = model.predict_proba(split.X_test)[:, 1]
        losses = [round(float(loss(split.y_test, p)), 6) for loss in LOSSES.values()]
        rows.append((source.name, seed, *names, *losses))

    with threadpool_limits(limits=1):
        for classifier, make in CLASSIFIERS.items():
            note(make(seed).fit(split.X_train, split.y_train), classifier, "none", "no", 0)
            for name, sampler in SAMPLERS.items():
                model = CorrectedPosterior(make_pipeline(sampler(seed), make(seed)))
                strength = round(model.fit(split.X_train, split.y_train).strength_, 4)
                for correction, model.strength_ in zip(CORRECTIONS, (0, 1, strength), strict=True):
                    note(model, classifier, name, correction, model.strength_)
    return rows


def run(home=None):
    jobs = product(paper_sources(SETS, home), SEEDS)
    found = Parallel(n_jobs=-1)(delayed(score_one)(source, seed) for source, seed in jobs)
    names = ["dataset", "seed", "classifier", "sampler", "correction", "strength", *LOSSES]
    frame = pd.DataFrame([row for rows in found for row in rows], columns=names)
    RECORD.parent.mkdir(exist_ok=True)
    frame.to_csv(RECORD, index=False, lineterminator="\n")


def report():
    frame = pd.read_csv(RECORD, keep_default_na=False)
    keys = ["classifier", "sampler", "correction"]
    means = frame.groupby(keys, sort=False)[["strength", *LOSSES]].mean()
    by_set = frame.groupby([*keys[:2], "dataset", "correction"])[[*LOSSES]].mean()
    wins = by_set.unstack("correction")
    print("# Probabilities after samplers, corrected\n")
    print(
        f"{frame['dataset'].nunique()} of the paper's data sets ({', '.join(SETS)}), "
        f"{frame['seed'].nunique()} seeds: mean losses on the test split, lower is better. "
        "Probabilities are as they are, corrected in full by the class sizes "
        "(`CorrectedPosterior(cv=None)`), and with the strength chosen by cross-validation "
        "(`CorrectedPosterior()`); for both the number of data sets on which they are better than "
        "as they are, or equal (to 0.0001)."
    )
    for loss in LOSSES:
        head = ["classifier", "sampler", "as it is", "in full", "in full: better or equal"]
        head += ["chosen", "chosen: better or equal", "mean strength"]
        print(f"\n## {loss.capitalize()}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
        for classifier, sampler in means.index.droplevel("correction").unique():
            one, both = means.loc[classifier, sampler], wins.loc[(classifier, sampler), loss]
            cells = [classifier, sampler, number(one.loc["no", loss], 4)]
            for correction in CORRECTIONS[1:] if sampler != "none" else ():
                better = int((both[correction] <= both["no"] + 1e-4).sum())
                cells += [number(one.loc[correction, loss], 4), f"{better} of {len(both)}"]
            if sampler != "none":
                cells.append(number(one.loc["chosen", "strength"], 2))
            print(f"| {' | '.join(cells + [''] * (len(head) - len(cells)))} |")


if __name__ == "__main__":
    {"run": run, "report": report}[sys.argv[1]](*sys.argv[2:])
