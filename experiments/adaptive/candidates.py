"""Compare sets of settings that RectifiedClassifier could choose from.

    python -m experiments.adaptive.candidates run [DATA_HOME]     # goes on where it was stopped
    python -m experiments.adaptive.candidates report

`run` tries every setting of a pool on the paper's data sets under 5,000 samples, split as in the
paper's experiment. It records the gain that the search inside the training part shows, and the
AUPRC of a fit on the test part. Every setting is compared with no cleaning alone, so these figures
determine the choice from any subset of the pool. `report` compares the settings of
``param_grid="auto"`` with the whole pool, and with sets of settings chosen greedily on all data
sets but one and evaluated on that one.
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

from experiments.adaptive.grid import SETS
from rectifold import GMR, RectifiedClassifier
from rectifold.bench._data import load, paper_sources
from rectifold.bench._protocols import prepare
from rectifold.model_selection._candidates import read_candidates
from rectifold.model_selection._registry import CLASSIFIERS
from rectifold.model_selection._scores import score

RESULTS = Path(__file__).parents[2] / "results" / "adaptive" / "candidates.jsonl"
#: The paper's classifiers that are fast enough for a pool of settings.
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


def run_cell(source, model: str, seed: int) -> dict:
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
    """Return the classifier fitted as RectifiedClassifier would with this setting."""
    if setting is not None:
        params = dict(setting)
        resampler = params.pop("resampler", None)
        X, y = GMR(**params).fit_resample(X, y)
        if resampler is not None:
            X, y = clone(resampler).set_params(random_state=seed).fit_resample(X, y)
    return clone(estimator).fit(X, y)


def run(home: str | None = None) -> None:
    """Run the cells that have no result yet."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    done = {(r["dataset"], r["classifier"], r["seed"]) for r in read()}
    sources = {source.name: source for source in paper_sources(SETS, home)}
    wanted = [one for one in product(MODELS, SEEDS, SETS) if (one[2], *one[:2]) not in done]
    work = Parallel(n_jobs=-1, return_as="generator_unordered")(
        delayed(run_cell)(sources[name], model, seed) for model, seed, name in wanted
    )
    with RESULTS.open("a") as file:
        for row in work:
            print(json.dumps(row), file=file, flush=True)
            print(row["dataset"], row["classifier"], row["seed"], flush=True)


def read() -> list[dict]:
    """Return the recorded cells."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def chosen(row: dict, part: frozenset[str], min_gain_se: float = 1.0) -> float:
    """Return the test AUPRC of the setting that the search would choose from a part of the pool."""
    best, chosen_auprc = 0.0, row["auprc"][0]
    for name, gain, error, auprc in zip(
        row["settings"], row["gains"], row["errors"], row["auprc"], strict=True
    ):
        if name in part and gain is not None and gain > max(best, min_gain_se * error):
            best, chosen_auprc = gain, auprc
    return chosen_auprc


def mean_gain(rows: list[dict], part: frozenset[str]) -> float:
    """Return the mean gain in test AUPRC, with equal weight for every classifier."""
    table = pd.DataFrame(
        [(row["classifier"], chosen(row, part) - row["auprc"][0]) for row in rows],
        columns=["classifier", "gain"],
    )
    return float(table.groupby("classifier")["gain"].mean().mean())


def grow(rows: list[dict], pool: list[str], most: int = 7) -> frozenset[str]:
    """Return settings chosen greedily, until no other setting helps."""
    part: frozenset[str] = frozenset()
    value = 0.0
    while len(part) < most:
        more = {one: mean_gain(rows, part | {one}) for one in pool if one not in part}
        best = max(more, key=more.__getitem__)
        if more[best] <= value:
            break
        part, value = part | {best}, more[best]
    return part


def report() -> None:
    """Print gains on the data sets used for the choice, and on those left out."""
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
        ("grown on all data sets, judged on the same", grow(rows, pool)),
    ):
        print(f"| {name} ({len(part & set(pool))}) | {mean_gain(rows, part):+.4f} |")
    left_out = {}
    for one in sets:
        part = grow([row for row in rows if row["dataset"] != one], pool)
        left_out[one] = mean_gain([row for row in rows if row["dataset"] == one], part)
    print(f"| grown on all but one, judged on that one | {np.mean(list(left_out.values())):+.4f} |")
    print("\nWithout one of them, and that setting alone, whatever the data:\n")
    print('| setting | "auto" without it, or with it besides | always this one |\n|---|---|---|')
    for name in pool:
        place = rows[0]["settings"].index(name)
        fixed = np.mean([row["auprc"][place] - row["auprc"][0] for row in rows])
        sign = "without" if name in auto else "with"
        print(f"| `{name}` | {sign} {mean_gain(rows, auto ^ {name}):+.4f} | {fixed:+.4f} |")


if __name__ == "__main__":
    {"run": run, "report": report}[sys.argv[1]](*sys.argv[2:3])
