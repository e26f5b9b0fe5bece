"""The methods by name: losses to train by, and GMR on the features of a trained network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.deep.longtail.data import LongTailed
from rectifold import GMR, progress
from rectifold._core.utils import Bools, Floats, Ints, did_you_mean, timed
from rectifold.model_selection._registry import BenchError

#: The paper's four methods and a control (CE-Linear), each with the loss of its network.
METHODS: Mapping[str, str] = MappingProxyType(
    {"CE": "CE", "CB": "CB", "LDAM": "LDAM", "CE-Linear": "CE", "GMR-Feature": "CE"}
)
#: Classes with more training images are many-shot, with fewer than the second number few-shot.
MANY, FEW = 100, 20


def find_method(name: str) -> str:
    """Return the name of a method as in `METHODS`, whatever the case of `name`.

    >>> find_method("gmr-feature")
    'GMR-Feature'
    """
    for known in METHODS:
        if str(name).lower() == known.lower():
            return known
    raise BenchError(
        f"there is no method {name!r}{did_you_mean(str(name), list(METHODS), list_all=True)}"
    )


def check_strategy(strategy: Any, data: LongTailed) -> None:
    """Raise an error for strict classes that GMR would refuse after the training."""
    GMR(sampling_strategy=strategy)._validate_params()
    if isinstance(strategy, list):
        for code in strategy:
            if code not in range(len(data.names)):
                raise BenchError(
                    f"strategy={strategy!r}: {code!r} is not a class; classes are numbered from 0 "
                    f"to {len(data.names) - 1}"
                )


def scores(predicted: Ints, data: LongTailed) -> dict[str, Any]:
    """Score predictions on the test part.

    The result has "balanced_accuracy", "per_class" (accuracies in the order of classes), and the
    mean accuracies over classes with more than 100, with 20 to 100 and with fewer than 20 training
    images: "many", "medium" and "few", NaN if there are none.
    """
    sizes = np.bincount(data.test_labels, minlength=len(data.names))
    right = data.test_labels[predicted == data.test_labels]
    accuracy = np.bincount(right, minlength=len(data.names)) / sizes
    counts = data.counts
    groups = {
        "many": counts > MANY,
        "medium": (counts >= FEW) & (counts <= MANY),
        "few": counts < FEW,
    }
    return {
        "balanced_accuracy": float(accuracy.mean()),
        **{
            name: float(accuracy[group].mean()) if group.any() else float("nan")
            for name, group in groups.items()
        },
        "per_class": accuracy.tolist(),
    }


@dataclass(frozen=True)
class Embedded:
    """Features of the training and the test images, (n_images, n_features) each."""

    train: Floats
    test: Floats


def clean(features: Floats, labels: Ints, strategy: Any) -> tuple[Bools, str]:
    """Clean the training part in the space of features; `strategy` names the strict classes.

    The features are those of the last layer, unscaled; their 64 columns are under the 100 at which
    the metric would become the cosine distance. Returns a mask of the kept samples, and the metric.
    """
    gmr = GMR(sampling_strategy=strategy)
    # Progress counts epochs.
    with progress.muted():
        gmr.fit_resample(features, labels)
    kept: Bools = np.zeros(len(labels), dtype=np.bool_)
    kept[gmr.sample_indices_] = True
    return kept, str(gmr.metric_)


def linear(features: Floats, labels: Ints, test: Floats) -> Ints:
    """Train a linear classifier on features, and return its predictions for `test`.

    It is multinomial logistic regression on standardised features: its optimum is unique, so two of
    them differ only by their training samples; a layer trained by gradient steps would add a
    schedule and a seed.
    """
    if (labels == labels[0]).all():
        # Cleaning may leave one of two classes.
        return np.full(len(test), labels[0])
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    predicted: Ints = classifier.fit(features, labels).predict(test)
    return predicted


def retrained(
    name: str, embedded: Embedded, data: LongTailed, strategy: Any = "majority"
) -> dict[str, Any]:
    """Return the scores of a new classifier on features, and what cleaning removed.

    "GMR-Feature" cleans the features first, with the strict classes `strategy`; "CE-Linear" does
    not.
    """
    seconds = {"cleaning": 0.0}
    kept, metric, removed = np.ones(len(data.train_labels), dtype=bool), None, None
    if name == "GMR-Feature":
        with timed(seconds, "cleaning"):
            kept, metric = clean(embedded.train, data.train_labels, strategy)
        removed = np.bincount(data.train_labels[~kept], minlength=len(data.names)).tolist()
    with timed(seconds, "linear"):
        predicted = linear(embedded.train[kept], data.train_labels[kept], embedded.test)
    return {
        **scores(predicted, data),
        "removed": removed,
        "metric": metric,
        "strategy": None if removed is None else strategy,
        "seconds_cleaning": seconds["cleaning"],
        "seconds_linear": seconds["linear"],
    }
