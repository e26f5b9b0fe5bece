"""Record what is needed to compare votes that may be fused with a classifier.

    python -m experiments.adaptive.views [FOLDER] [DATA_HOME]    # resumes

For every data set and seed: the votes of the neighbours in many views of the features, for samples
that a fold holds out and for test samples. For every classifier: its outputs for the same samples,
with cleaning settings for some. `experiments.adaptive.views_report` compares them.
"""

import os
import sys
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import NearestNeighbors, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import QuantileTransformer, normalize
from sklearn.utils import resample
from threadpoolctl import threadpool_limits

from experiments.adaptive.grid import SETS
from rectifold import GMR
from rectifold._core.target import encode
from rectifold.bench._data import load, paper_sources
from rectifold.bench._protocols import prepare
from rectifold.bench.controls._averages import ranking
from rectifold.model_selection._candidates import read_candidates
from rectifold.model_selection._folds import make_folds
from rectifold.model_selection._registry import CLASSIFIERS
from rectifold.model_selection._trials import _kept_samples
from rectifold.neighbors._views import FeatureViews, mutual_information

FOLDER = "build/views"
SEEDS = (42, 0)
#: Numbers of neighbours whose votes are recorded.
KS = (5, 15, 45, 135)
#: Classifiers that are fitted with every cleaning setting, on one seed.
CHEAP = ("DT", "LR", "KNN", "XGB")
#: Members of a bagging.
MEMBERS = 10


class Same:
    def fit(self, X, y):
        return self

    def transform(self, X):
        return X


class View:
    """A view of the package."""

    def __init__(self, name):
        self.name = name

    def fit(self, X, y):
        self.views = FeatureViews((self.name,)).fit(X, y)
        return self

    def transform(self, X):
        return self.views.transform(X, self.name)


class Weighted:
    """Features multiplied by a power of their mutual information with the label."""

    def __init__(self, power):
        self.power = power

    def fit(self, X, y):
        information = mutual_information(X, y)
        mean = information.mean() or 1.0
        self.scale = (information / mean + 0.05) ** self.power
        return self

    def transform(self, X):
        return X * self.scale


class Whitened:
    """Whitened within classes, with the covariance of Ledoit and Wolf."""

    def fit(self, X, y):
        centred = X - np.array([X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)])[y]
        values, vectors = np.linalg.eigh(LedoitWolf(assume_centered=True).fit(centred).covariance_)
        self.matrix = vectors / np.sqrt(np.maximum(values, 1e-12))
        return self

    def transform(self, X):
        return X @ self.matrix


class Quantiles:
    def fit(self, X, y):
        self.model = QuantileTransformer(n_quantiles=min(1000, len(X)), random_state=0).fit(X)
        return self

    def transform(self, X):
        return self.model.transform(X)


class Components:
    """A learned metric: neighbourhood components of at most 600 samples."""

    def fit(self, X, y):
        if len(X) > 600:
            X, y = resample(X, y, replace=False, n_samples=600, stratify=y, random_state=0)
        self.model = NeighborhoodComponentsAnalysis(
            min(X.shape[1], 10), init="pca", max_iter=30, random_state=0
        ).fit(X, y)
        return self

    def transform(self, X):
        return self.model.transform(X)


class Leaves:
    """The leaves of a random forest."""

    def fit(self, X, y):
        self.model = RandomForestClassifier(100, min_samples_leaf=2, random_state=0).fit(X, y)
        return self

    def transform(self, X):
        return self.model.apply(X)


VIEWS = {
    "standardized": (Same, "euclidean"),
    "weighted-sqrt": (lambda: Weighted(0.5), "euclidean"),
    "weighted": (lambda: View("weighted"), "euclidean"),
    "whitened": (Whitened, "euclidean"),
    "quantiles": (Quantiles, "euclidean"),
    "quantiles-weighted": (lambda: View("quantiles"), "euclidean"),
    "components": (Components, "euclidean"),
    "leaves": (Leaves, "hamming"),
    "cosine": (Same, "cosine"),
}


def votes_of(points, y, queries, metric, itself=False):
    """Return the votes for class 1, of shape (len(KS), n_queries)."""
    if metric == "cosine":
        points, queries, metric = normalize(points), normalize(queries), "euclidean"
    k = min(max(KS), len(points) - 1)
    search = NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute").fit(points)
    distances, indices = search.kneighbors(None if itself else queries)
    weights = 1 / (distances + 1e-8)
    labels = y[indices]
    return np.array(
        [(weights * labels)[:, :k].sum(axis=1) / weights[:, :k].sum(axis=1) for k in KS]
    )


def ingredients(source, seed):
    prepared = prepare(load(source), None, seed, "train-only")
    X, y = prepared.X_train, prepared.y_train
    folds = make_folds(5, X, encode(y), None, random_state=seed)
    return X, y, prepared.X_test, prepared.y_test, folds


def record_votes(source, seed, path):
    warnings.simplefilter("ignore")
    X, y, X_test, y_test, folds = ingredients(source, seed)
    n_repeats = max(fold.repeat for fold in folds) + 1
    found: dict[str, Any] = {"y": y, "y_test": y_test}
    with threadpool_limits(limits=1):
        for name, (make, metric) in VIEWS.items():
            held = np.full((n_repeats, len(KS), len(y)), np.nan)
            for fold in folds:
                view = make().fit(X[fold.train], y[fold.train])
                points, queries = view.transform(X[fold.train]), view.transform(X[fold.test])
                held[fold.repeat][:, fold.test] = votes_of(points, y[fold.train], queries, metric)
            view = make().fit(X, y)
            points = view.transform(X)
            found[f"held:{name}"] = held
            found[f"test:{name}"] = votes_of(points, y, view.transform(X_test), metric)
            if name != "leaves":
                found[f"own:{name}"] = votes_of(points, y, points, metric, itself=True)
    save(path, found)


def record_outputs(source, seed, classifier, path):
    warnings.simplefilter("ignore")
    X, y, X_test, y_test, folds = ingredients(source, seed)
    entry = CLASSIFIERS[classifier]
    candidates = read_candidates("auto" if seed == 42 and classifier in CHEAP else (), GMR(), X, y)
    n_repeats = max(fold.repeat for fold in folds) + 1
    held = np.full((len(candidates), n_repeats, len(y)), np.nan)
    tested = np.full((len(candidates), len(y_test)), np.nan)
    members = np.full((len(candidates), len(folds), len(y_test)), np.nan)

    def fits(X, y, number):
        known: dict[Any, Any] = {}
        each = _kept_samples(GMR(), candidates, X, y)
        for candidate, kept in zip(candidates, each, strict=True):
            key = kept.tobytes(), id(candidate.resampler)
            if key not in known:
                some, labels = X[kept], y[kept]
                if candidate.resampler is not None:
                    sampler = clone(candidate.resampler).set_params(random_state=number)
                    some, labels = sampler.fit_resample(some, labels)
                if len(np.unique(labels)) < 2:
                    known[key] = None
                else:
                    known[key] = entry.make(number).fit(some, labels)
            yield known[key]

    with threadpool_limits(limits=1):
        for fold in folds:
            models = fits(X[fold.train], y[fold.train], seed + fold.number)
            for position, model in enumerate(models):
                if model is not None:
                    held[position, fold.repeat, fold.test] = ranking(model, X[fold.test], 1)
                    members[position, fold.number] = ranking(model, X_test, 1)
        for position, model in enumerate(fits(X, y, seed)):
            if model is not None:
                tested[position] = ranking(model, X_test, 1)
        random = np.random.RandomState(seed)
        sums, counts, bagged = np.zeros(len(y)), np.zeros(len(y)), np.zeros(len(y_test))
        for number in range(MEMBERS):
            drawn = random.randint(len(y), size=len(y))
            out = np.setdiff1d(np.arange(len(y)), drawn)
            model = entry.make(seed + number).fit(X[drawn], y[drawn])
            sums[out] += ranking(model, X[out], 1)
            counts[out] += 1
            bagged += ranking(model, X_test, 1) / MEMBERS
    save(
        path,
        {
            "held": held,
            "tested": tested,
            "members": members,
            "bag_held": sums / np.maximum(counts, 1),
            "bag_counts": counts,
            "bag_tested": bagged,
        },
    )


def save(path, found):
    part = path.with_suffix(".part.npz")
    np.savez_compressed(part, **found)
    os.replace(part, path)


def run(folder=FOLDER, home=None):
    """Record what is missing."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    sources = {source.name: source for source in paper_sources(SETS, home)}
    jobs = []
    for seed, name in product(SEEDS, SETS):
        path = folder / f"{name}-{seed}-votes.npz"
        if not path.exists():
            jobs.append(delayed(record_votes)(sources[name], seed, path))
        for classifier in CLASSIFIERS:
            path = folder / f"{name}-{seed}-{classifier}.npz"
            if not path.exists():
                jobs.append(delayed(record_outputs)(sources[name], seed, classifier, path))
    results = Parallel(n_jobs=-1, return_as="generator_unordered")(jobs)
    for done, _ in enumerate(results, 1):
        print(done, "of", len(jobs), flush=True)


if __name__ == "__main__":
    run(*sys.argv[1:])
