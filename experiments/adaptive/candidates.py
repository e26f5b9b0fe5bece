"""Which settings RectifiedClassifier should choose from: a pool tried, and left-out sets to judge.

    python -m experiments.adaptive.candidates run [DATA_HOME]     # goes on where it was stopped
    python -m experiments.adaptive.candidates report

`run` tries every setting of a pool on the paper's sets under 5,000 rows, split as in the paper's
experiment: what the search inside the training part shows of it, and the AUPRC on the test part of
a fit by it. Since every setting is compared with no cleaning alone, the choice from any part of the
pool follows from that. `report` compares the settings of ``param_grid="auto"`` with the whole pool
and with sets of settings chosen greedily on all data sets but one and judged on that one.
"""

import json
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from imblearn.over_sampling import SMOTE, SVMSMOTE, RandomOverSampler
from joblib import Parallel, delayed
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from experiments.adaptive.adaptive import SETS
from rectifold import GMR, RectifiedClassifier
from rectifold.bench._data import load, paper_sources
from rectifold.bench._protocols import prepare
from rectifold.model_selection._candidates import read_candidates
from rectifold.model_selection._registry import CLASSIFIERS
from rectifold.model_selection._scores import score

RESULTS = Path(__file__).parents[2] / "results" / "adaptive" / "candidates.jsonl"
#: Those of the paper's classifiers that a pool of settings can be tried with in minutes.
MODELS = ("KNN", "LR", "SVM", "DT", "XGB")
SEEDS = (42, 0, 1)
STRICT = {"gamma": 0}
NOISE = {"beta": 0.5, "gamma": 0.3}
POOL = [
    STRICT,
    {},
    NOISE,
    {"beta": 0.5, "gamma": 0.6},
    {"alpha": 0.7, **NOISE},
    {"alpha": 0.7, **STRICT},
    {"alpha": 0.9, **STRICT},
    {"n_neighbors": 5, **STRICT},
    {"n_neighbors": 3, **STRICT},
    {"n_neighbors": 5, **NOISE},
    {"n_neighbors": 30, "alpha": 0.8, **STRICT},
    *({"n_neighbors": k, "class_weight": "balanced", **STRICT} for k in (5, 30)),
    {"class_weight": "balanced", **STRICT},
    *({**STRICT, "resampler": one} for one in (RandomOverSampler(), SMOTE(), SVMSMOTE())),
    {"resampler": SMOTE()},
]


def cell(source, model: str, seed: int) -> dict:
    """Try the pool on one split with one classifier."""
    warnings.simplefilter("ignore")
    prepared = prepare(load(source), None, seed, "train-only")
    X, y = prepared.X_train, prepared.y_train
    with threadpool_limits(limits=1):
        estimator = CLASSIFIERS[model].make(seed)
        search = RectifiedClassifier(estimator, param_grid=POOL, random_state=seed).fit(X, y)
        table = search.cv_results_
        tested = [
            score(_fitted(estimator, one, seed, X, y), prepared.X_test, prepared.y_test)["auprc"]
            for one in table["params"]
        ]
    return {
        "dataset": source.name,
        "classifier": model,
        "seed": seed,
        "settings": table["setting"].tolist(),
        "gains": [None if np.isnan(g) else g for g in table["gain"]],
        "errors": [None if np.isnan(e) else e for e in table["gain_se"]],
        "auprc": tested,
    }


def _fitted(estimator, setting: dict | None, seed: int, X, y):
    """Fit as RectifiedClassifier does by the setting it has chosen, whatever that gains."""
    if setting is not None:
        params = dict(setting)
        resampler = params.pop("resampler", None)
        X, y = GMR(**params).fit_resample(X, y)
        if resampler is not None:
            X, y = clone(resampler).set_params(random_state=seed).fit_resample(X, y)
    return clone(estimator).fit(X, y)


def run(home: str = "../shared/data") -> None:
    """Try what is not there yet."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    done = {(r["dataset"], r["classifier"], r["seed"]) for r in read()}
    sources = {source.name: source for source in paper_sources(SETS, home)}
    wanted = [one for one in product(MODELS, SEEDS, SETS) if (one[2], *one[:2]) not in done]
    work = Parallel(n_jobs=-1, return_as="generator_unordered")(
        delayed(cell)(sources[name], model, seed) for model, seed, name in wanted
    )
    with RESULTS.open("a") as file:
        for row in work:
            print(json.dumps(row), file=file, flush=True)
            print(row["dataset"], row["classifier"], row["seed"], flush=True)


def read() -> list[dict]:
    """Read the cells that are there."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def chosen(row: dict, part: frozenset[str], min_gain_se: float = 1.0) -> float:
    """Give the test AUPRC of what the search would choose from a part of the pool."""
    best, found = 0.0, row["auprc"][0]
    for name, gain, error, auprc in zip(
        row["settings"], row["gains"], row["errors"], row["auprc"], strict=True
    ):
        if name in part and gain is not None and gain > max(best, min_gain_se * error):
            best, found = gain, auprc
    return found


def worth(rows: list[dict], part: frozenset[str]) -> float:
    """Give the mean gain in test AUPRC, every classifier counting the same."""
    table = pd.DataFrame(
        [(row["classifier"], chosen(row, part) - row["auprc"][0]) for row in rows],
        columns=["classifier", "gain"],
    )
    return float(table.groupby("classifier")["gain"].mean().mean())


def grown(rows: list[dict], pool: list[str], most: int = 7) -> frozenset[str]:
    """Choose settings greedily, as long as one more helps."""
    part: frozenset[str] = frozenset()
    value = 0.0
    while len(part) < most:
        more = {one: worth(rows, part | {one}) for one in pool if one not in part}
        best = max(more, key=more.__getitem__)
        if more[best] <= value:
            break
        part, value = part | {best}, more[best]
    return part


def report() -> None:
    """Print in-sample and left-out figures."""
    rows = read()
    pool = [name for name in rows[0]["settings"] if name != "None"]
    auto = frozenset(one.name for one in read_candidates("auto", GMR(), None, None))
    sets = sorted({row["dataset"] for row in rows})
    print("# Settings to choose from\n")
    print(f"{len(rows)} cells, {len(sets)} data sets.\n")
    print("| settings to choose from | mean gain in AUPRC |\n|---|---|")
    for name, part in (
        ('param_grid="auto"', auto),
        ("the whole pool", frozenset(pool)),
        ("grown on all data sets, judged on the same", grown(rows, pool)),
    ):
        print(f"| {name} ({len(part & set(pool))}) | {worth(rows, part):+.4f} |")
    left_out = {}
    for one in sets:
        part = grown([row for row in rows if row["dataset"] != one], pool)
        left_out[one] = worth([row for row in rows if row["dataset"] == one], part)
    print(f"| grown on all but one, judged on that one | {np.mean(list(left_out.values())):+.4f} |")
    print("\nWithout one of them, and that setting alone, whatever the data:\n")
    print('| setting | "auto" without it, or with it besides | always this one |\n|---|---|---|')
    for name in pool:
        place = rows[0]["settings"].index(name)
        fixed = np.mean([row["auprc"][place] - row["auprc"][0] for row in rows])
        sign = "without" if name in auto else "with"
        print(f"| `{name}` | {sign} {worth(rows, auto ^ {name}):+.4f} | {fixed:+.4f} |")


if __name__ == "__main__":
    {"run": run, "report": report}[sys.argv[1]](*sys.argv[2:3])
