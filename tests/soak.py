"""Fit and predict in threads for some time, and check that memory stays flat.

    python tests/soak.py [SECONDS]

Tables of several kinds are cleaned and predicted by random settings in four threads. All results
are compared with those of a first, single-threaded run. Prints the resident memory, and ends with
an error if it has grown by 5 MB since a warm-up of a quarter of the time.
"""

import gc
import itertools
import random
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from rectifold import GMR, NeighborVoteClassifier, RectifiedClassifier

#: Megabytes.
LARGEST_GROWTH = 5


def tables():
    """Return tables of several kinds by name."""
    found = {}
    for n, d in ((300, 20), (900, 8), (2_000, 20), (500, 40)):
        found[f"{n} x {d}"] = make_classification(n, d, weights=[0.9], flip_y=0.1, random_state=n)
    X, y = found["900 x 8"]
    found["ties"] = X.round(), y
    found["sparse"] = sparse.csr_array(np.where(abs(X) > 1.2, X, 0)), y
    found["three classes"] = make_classification(
        600, 8, n_informative=5, n_classes=3, weights=[0.7, 0.2], random_state=0
    )
    return found


def clean(X, y, n_jobs):
    sampler = GMR(n_jobs=n_jobs)
    sampler.fit_resample(X, y)
    return sampler.sample_indices_.tobytes()


def vote(X, y, n_jobs):
    return NeighborVoteClassifier(n_jobs=n_jobs).fit(X, y).predict_proba(X[:50]).tobytes()


def fuse(X, y, n_jobs):
    scoring = "roc_auc_ovr"
    model = RectifiedClassifier(LogisticRegression(), cv=2, scoring=scoring, n_jobs=1)
    return model.fit(X[:300], y[:300]).predict_proba(X[:50]).tobytes()


def resident():
    """Return the resident memory in megabytes."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def main(seconds=3600.0):
    """Return the growth in megabytes."""
    warnings.simplefilter("ignore")
    kinds = list(itertools.product(tables().items(), (clean, clean, vote, fuse)))
    expected = {(name, work): work(X, y, 1) for (name, (X, y)), work in kinds}

    def one(_):
        (name, (X, y)), work = random.choice(kinds)
        assert work(X, y, random.choice([1, 2])) == expected[name, work], (name, work.__name__)

    start, n_fits, before = monotonic(), 0, None
    with ThreadPoolExecutor(4) as pool:
        while monotonic() - start < seconds:
            n_fits += len(list(pool.map(one, range(40))))
            if before is None and monotonic() - start > seconds / 4:
                before = resident()
            print(f"{monotonic() - start:6.0f} s {n_fits:8,} fits {resident():8.1f} MB", flush=True)
    return resident() - (before or resident())


if __name__ == "__main__":
    growth = main(*map(float, sys.argv[1:]))
    print(f"growth {growth:.1f} MB")
    sys.exit(growth > LARGEST_GROWTH)
