"""Which votes are worth fusing with a classifier: compare ways of choosing them.

    python -m experiments.adaptive.views_report score [FOLDER] [DATA_HOME]
    python -m experiments.adaptive.views_report report

`score` chooses the weight of every vote out of fold, as `RectifiedClassifier` does, on the
recordings of `experiments.adaptive.views`, and writes the AUPRC on test samples to
results/adaptive/views.csv. `report` prints Markdown from that file.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.metrics import average_precision_score

from experiments.adaptive.grid import LOSS, RESULTS, SETS
from experiments.adaptive.views import CHEAP, FOLDER, KS, SEEDS, VIEWS, ingredients
from rectifold.bench._data import paper_sources
from rectifold.model_selection._fusion import WEIGHTS, as_probabilities, decision_scale, fuse
from rectifold.model_selection._registry import CLASSIFIERS
from rectifold.report._wording import number

RECORD = RESULTS / "adaptive" / "views.csv"
#: Numbers of neighbours, and views, of the package; "quantiles" is weighted there.
DEFAULT_KS = (5, 15, 45)
DEFAULT = ("standardized", "weighted", "quantiles-weighted")
#: Votes by the views and numbers of neighbours that are averaged.
VOTES = {
    "default: standardized, weighted, quantiles": (DEFAULT, DEFAULT_KS),
    "without standardized": (DEFAULT[1:], DEFAULT_KS),
    "without weighted": (DEFAULT[::2], DEFAULT_KS),
    "without quantiles": (DEFAULT[:2], DEFAULT_KS),
    **{
        f"default + {name}": ((*DEFAULT, name), DEFAULT_KS) for name in VIEWS if name not in DEFAULT
    },
    "standardized, square root of weights, whitened, quantiles": (
        ("standardized", "weighted-sqrt", "whitened", "quantiles"),
        DEFAULT_KS,
    ),
    **{f"{name} alone": ((name,), DEFAULT_KS) for name in VIEWS},
    "default, 15 neighbours": (DEFAULT, (15,)),
    "default, 5 and 15 neighbours": (DEFAULT, (5, 15)),
    "default, 5, 15, 45 and 135 neighbours": (DEFAULT, KS),
}
FIRST = next(iter(VOTES))
#: On test samples without a copy in the training split.
NEW = ", new samples"


class Case:
    """The recordings of a data set, a seed and a classifier; decision values are mapped."""

    def __init__(self, folder, name, seed, classifier, home):
        (source,) = paper_sources([name], home)
        X, _, X_test, _, self.folds = ingredients(source, seed)
        known = {row.tobytes() for row in np.ascontiguousarray(X)}
        self.new = np.array([row.tobytes() not in known for row in np.ascontiguousarray(X_test)])
        votes = np.load(Path(folder) / f"{name}-{seed}-votes.npz")
        outputs = np.load(Path(folder) / f"{name}-{seed}-{classifier}.npz")
        self.votes = {key: votes[key] for key in votes.files}
        self.y, self.y_test = self.votes["y"], self.votes["y_test"]
        self.name, self.seed, self.classifier = name, seed, classifier
        for key in outputs.files:
            setattr(self, key, outputs[key])
        if not hasattr(CLASSIFIERS[classifier].make(0), "predict_proba"):
            scale = decision_scale(
                {"decision_function": self.held[0].ravel()}, np.tile(self.y, len(self.held[0]))
            )
            for key in ("held", "tested", "members", "bag_held", "bag_tested"):
                values = getattr(self, key)
                p = as_probabilities({"decision_function": values.ravel()}, scale)[:, 1]
                setattr(self, key, p.reshape(values.shape))

    def vote(self, kind, views, ks):
        """Return the mean of votes; `kind` is "held", "test" or "own"."""
        places = [KS.index(k) for k in ks]
        return np.mean(
            [self.votes[f"{kind}:{view}"][..., places, :].mean(axis=-2) for view in views], axis=0
        )

    def choose(self, candidates):
        """Return the position of the best of (held-out, test) outputs, 0 if within one error."""
        first = candidates[0][0]
        best, most, base = 0, 0.0, np.mean([self.score(one) for one in first])
        for position, (held, _) in enumerate(candidates[1:], 1):
            gain = np.mean([self.score(one) for one in held]) - base
            if gain > most:
                differences = self.fold_scores(held) - self.fold_scores(first)
                if gain > differences.std(ddof=1) / np.sqrt(len(differences)):
                    best, most = position, gain
        return best

    def score(self, values):
        return average_precision_score(self.y, values)

    def fold_scores(self, held):
        return np.array(
            [
                average_precision_score(self.y[fold.test], held[fold.repeat][fold.test])
                for fold in self.folds
            ]
        )

    def fused(self, held_vote, test_vote, setting=0):
        """Return the outputs with every weight of a vote."""
        held, tested = self.held[setting], self.tested[setting]
        return [(fuse(held, held_vote, w), fuse(tested, test_vote, w)) for w in WEIGHTS]


def score_case(*arguments):
    """Return rows of way, AUPRC and weight of a case."""
    case = Case(*arguments)
    rows = []

    def note(way, values, weight=np.nan, some=slice(None)):
        auprc = average_precision_score(case.y_test[some], values[some])
        rows.append((case.name, case.seed, case.classifier, way, round(auprc, 6), weight))

    def chosen(way, candidates, weights=WEIGHTS):
        best = case.choose(candidates)
        note(way, candidates[best][1], weights[best] if weights else np.nan)

    note("None", case.tested[0])
    for way, vote in VOTES.items():
        chosen(way, case.fused(case.vote("held", *vote), case.vote("test", *vote)))
    if case.y_test[case.new].any():
        first = case.fused(*(case.vote(kind, *VOTES[FIRST]) for kind in ("held", "test")))
        note(f"None{NEW}", case.tested[0], some=case.new)
        note(f"{FIRST}{NEW}", first[case.choose(first)][1], some=case.new)
    held, test, own = (case.vote(kind, *VOTES[FIRST]) for kind in ("held", "test", "own"))
    chosen("default, leave-one-out votes of all training samples", case.fused(own[None], test))
    several = case.fused(held, test)
    for view in DEFAULT:
        one = case.vote("held", (view,), DEFAULT_KS), case.vote("test", (view,), DEFAULT_KS)
        several += case.fused(*one)[1:]
    chosen("chosen among default and its views", several, None)
    if case.seed == SEEDS[0] and case.classifier in CHEAP:
        usable = [s for s in range(len(case.held)) if np.isfinite(case.held[s]).all()]
        usable = [s for s in usable if np.isfinite(case.tested[s]).all()]
        settings = [(case.held[s], case.tested[s]) for s in usable]
        chosen("cleaning without vote", settings, None)
        both = [one for s in usable for one in case.fused(held, test, s)]
        chosen("default with cleaning, chosen together", both, None)
        chosen("default without cleaning, the same cases", case.fused(held, test))
    average, members = case.held[0].mean(axis=0), case.members[0].mean(axis=0)
    note("mean of the folds' models", members)
    note("bagging", case.bag_tested)
    scores = [np.mean([case.score(fuse(average, one, w)) for one in held]) for w in WEIGHTS]
    weight = WEIGHTS[int(np.argmax(scores))]
    note("mean of the folds' models + default", fuse(members, test, weight), weight)
    out = case.bag_counts > 0
    scores = [
        average_precision_score(case.y[out], fuse(case.bag_held, own, w)[out]) for w in WEIGHTS
    ]
    weight = WEIGHTS[int(np.argmax(scores))]
    note("bagging + default", fuse(case.bag_tested, test, weight), weight)
    return rows


def score(folder=FOLDER, home=None):
    """Score all recorded cases."""
    jobs = [
        delayed(score_case)(folder, name, seed, classifier, home)
        for seed in SEEDS
        for name in SETS
        for classifier in CLASSIFIERS
        if (Path(folder) / f"{name}-{seed}-{classifier}.npz").exists()
    ]
    rows = [row for rows in Parallel(n_jobs=-1)(jobs) for row in rows]
    names = ["dataset", "seed", "classifier", "way", "auprc", "weight"]
    pd.DataFrame(rows, columns=names).to_csv(RECORD, index=False, lineterminator="\n")


def report():
    """Print the comparison."""
    frame = pd.read_csv(RECORD, keep_default_na=False, na_values=[""])
    table = frame.pivot_table(
        index=["dataset", "seed", "classifier"], columns="way", values="auprc", sort=False
    )
    weights = frame.groupby("way")["weight"].mean()
    without = table[f"{FIRST}{NEW}"] - table[f"None{NEW}"]
    table = table.drop(columns=[f"{FIRST}{NEW}", f"None{NEW}"])
    gains = table.drop(columns="None").sub(table["None"], axis=0)
    classifiers = list(frame["classifier"].unique())
    print("# Which votes are worth fusing\n")
    print(
        f"{frame['dataset'].nunique()} data sets, {len(classifiers)} classifiers, "
        f"{frame['seed'].nunique()} seeds: mean gain in AUPRC over the classifier alone. The "
        "weight of a vote is chosen out of fold, with the guard of one standard error. Votes were "
        "compared on these data sets; the last table has what a choice made on other data sets is "
        "worth.\n"
    )
    head = ["vote", *classifiers, "all", f"loses > {LOSS}", "mean weight"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for way in gains:
        values = gains[way].dropna()
        each = values.groupby("classifier").mean()
        cells = [number(each[c], 4, sign=True) if c in each else "" for c in classifiers]
        cells += [number(values.mean(), 4, sign=True), f"{100 * (values < -LOSS).mean():.0f} %"]
        weight = weights[way]
        print(f"| {way} | {' | '.join(cells)} | {'' if np.isnan(weight) else f'{weight:.2f}'} |")
    print(
        f"\nCleaning was recorded for {', '.join(CHEAP)} and one seed. Ensembles have ten "
        "members.\n"
    )
    print(
        "On test samples without a copy in the training split the default gains "
        f"{number(without.mean(), 4, sign=True)}, on all test samples of the same cases "
        f"{number(gains.loc[without.dropna().index, FIRST].mean(), 4, sign=True)}.\n"
    )
    by_set = gains[list(VOTES)].groupby("dataset", sort=False).mean()
    best = by_set.mean().idxmax()
    honest = [by_set.loc[one, by_set.drop(index=one).mean().idxmax()] for one in by_set.index]
    print("| which vote | mean gain |\n|---|---|")
    for name, gain in {
        f"best on all data sets, judged on the same: {best}": by_set[best].mean(),
        "best on all but one, judged on that one": np.mean(honest),
        FIRST: by_set[FIRST].mean(),
    }.items():
        print(f"| {name} | {number(gain, 4, sign=True)} |")


if __name__ == "__main__":
    {"score": score, "report": report}[sys.argv[1]](*sys.argv[2:])
