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

#: The paper's four methods and the control of the last, each with the loss of its network.
METHODS: Mapping[str, str] = MappingProxyType(
    {"CE": "CE", "CB": "CB", "LDAM": "LDAM", "CE-Linear": "CE", "GMR-Feature": "CE"}
)
#: More training images make a class a many-shot one, fewer than the second number a few-shot one.
MANY, FEW = 100, 20


def method(name: str) -> str:
    """Find a method, whatever the case of its letters.

    Parameters
    ----------
    name : str
        As in `METHODS`.

    Returns
    -------
    str
        As it stands there.

    Examples
    --------
    >>> method("gmr-feature")
    'GMR-Feature'
    """
    for known in METHODS:
        if str(name).lower() == known.lower():
            return known
    raise BenchError(
        f"there is no method {name!r}{did_you_mean(str(name), list(METHODS), list_all=True)}"
    )


def check_strategy(strategy: Any, data: LongTailed) -> None:
    """Refuse strict classes that GMR would refuse after the training.

    Parameters
    ----------
    strategy : str or list
        The strict classes.
    data : LongTailed
        Has the classes.
    """
    GMR(sampling_strategy=strategy)._validate_params()
    if isinstance(strategy, list):
        for code in strategy:
            if code not in range(len(data.names)):
                raise BenchError(
                    f"strategy={strategy!r}: {code!r} is no class; they are numbered from 0 to "
                    f"{len(data.names) - 1}"
                )


def scores(predicted: Ints, data: LongTailed) -> dict[str, Any]:
    """Score predictions on the test part.

    Parameters
    ----------
    predicted : ndarray of int
        A class for each test image.
    data : LongTailed
        Has the labels, and says which classes are many-, medium- and few-shot.

    Returns
    -------
    dict
        "balanced_accuracy", "per_class" (accuracies in the order of classes), and the mean
        accuracy over classes with more than 100, with 20 to 100, and with fewer than 20 training
        images: "many", "medium", "few", NaN where there are none.
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
    """Images as features of a trained network: training and test part.

    Attributes
    ----------
    train, test : ndarray of shape (n_images, n_features)
        In the order of the images.
    """

    train: Floats
    test: Floats


def clean(features: Floats, labels: Ints, strategy: Any) -> tuple[Bools, str]:
    """Clean the training part in the space of features.

    The features are taken as the last layer sees them, in one scale; their 64 columns are under
    the 100 at which the metric would become the cosine distance.

    Parameters
    ----------
    features : ndarray of shape (n_images, n_features)
        Of the training part.
    labels : ndarray of int
        Its classes.
    strategy : str or list
        The strict classes, as `sampling_strategy` of `rectifold.GMR`; all else is the default.

    Returns
    -------
    kept : ndarray of bool
        Which rows stay.
    metric : str
        The metric that was used.
    """
    gmr = GMR(sampling_strategy=strategy)
    # What is reported outside is epochs.
    with progress.muted():
        gmr.fit_resample(features, labels)
    kept: Bools = np.zeros(len(labels), dtype=np.bool_)
    kept[gmr.sample_indices_] = True
    return kept, str(gmr.metric_)


def linear(features: Floats, labels: Ints, test: Floats) -> Ints:
    """Train a linear classifier anew, and let it predict.

    It is multinomial logistic regression on standardised features, by scikit-learn: its optimum is
    unique, so that two of them differ by the rows that they saw and by nothing else; a layer
    trained by gradient steps would add a schedule and a seed.

    Parameters
    ----------
    features : ndarray of shape (n_images, n_features)
        To train on.
    labels : ndarray of int
        Their classes.
    test : ndarray of shape (n_test, n_features)
        To predict.

    Returns
    -------
    ndarray of int
        A class for each row of `test`.
    """
    if (labels == labels[0]).all():
        # Of two classes, cleaning may leave one.
        return np.full(len(test), labels[0])
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    predicted: Ints = classifier.fit(features, labels).predict(test)
    return predicted


def retrained(
    name: str, embedded: Embedded, data: LongTailed, strategy: Any = "majority"
) -> dict[str, Any]:
    """Have one of the methods that put a new classifier on features.

    Parameters
    ----------
    name : {"CE-Linear", "GMR-Feature"}
        The second cleans the features that it trains on, the first does not.
    embedded : Embedded
        The features.
    data : LongTailed
        What they are of.
    strategy : str or list, default="majority"
        The strict classes of "GMR-Feature".

    Returns
    -------
    dict
        Scores; what cleaning removed of each class, and by which metric; seconds.
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
