"""Explain predictions: the classifier's part, the vote's part, and the neighbours that voted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rectifold._core.errors import Param, ParameterError
from rectifold._core.summary import plain
from rectifold._core.utils import Floats, Ints
from rectifold.model_selection._fusion import fuse
from rectifold.model_selection._predictions import predicted_labels
from rectifold.model_selection._voters import Neighbours, joined, voters_of
from rectifold.neighbors import NeighborVoteClassifier

#: Samples in tables and on pages, unless others are named.
MAX_SAMPLES = 1_000
#: Samples of the page in a notebook, and neighbours of each.
_NOTEBOOK = 50, 10


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why samples have their predicted probabilities: parts of the sum, and neighbours.

    The probability of a class is ``(1 - vote_weight) * classifier + vote_weight * vote``. The vote
    is a sum over training samples, which are listed with their label, distance and weight.

    It is made by ``RectifiedClassifier.explain``, or by `explain`. Neighbours are computed when a
    method needs them, and for a limited number of samples.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The class labels.
    positive : label
        The smallest class of the training data, whose probability samples are sorted by. If
        the vote has no weight, the class with the smallest mean probability.
    predicted : ndarray of shape (n_samples,)
        The predicted labels.
    probabilities : ndarray of shape (n_samples, n_classes)
        The predicted probabilities.
    classifier : ndarray of shape (n_samples, n_classes)
        The probabilities of the classifier alone.
    vote : ndarray of shape (n_samples, n_classes) or None
        The vote of the neighbours alone; None if it has no weight.
    vote_weight : float
        The weight of the vote.
    order : ndarray of shape (n_samples,)
        Positions of the samples by the probability of `positive`, the highest first.

    See Also
    --------
    rectifold.RectifiedClassifier : The classifier that is explained.
    rectifold.NeighborVoteClassifier : The vote.

    Notes
    -----
    A training sample can vote in several views and for several numbers of neighbours; its weight is
    the average, and the weights of all that voted for a sample sum to 1. In the view "leaves" it
    votes in every tree in which it shares a leaf with the sample. Distances are those in the
    features on one scale, whichever view a training sample voted in.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from rectifold import RectifiedClassifier
    >>> from rectifold.model_selection import explain
    >>> X, y = make_classification(n_samples=600, n_features=4, weights=[0.9], flip_y=0.1,
    ...                            class_sep=0.8, random_state=0)
    >>> model = RectifiedClassifier(DecisionTreeClassifier(max_depth=4, random_state=0),
    ...                             vote_weight=0.5)
    >>> model.fit(X[:500], y[:500])
    RectifiedClassifier(...)
    >>> explanation = explain(model, X[500:], X_train=X[:500])
    >>> explanation.vote_weight
    0.5
    >>> frame = explanation.to_frame(n_neighbors=2)
    >>> list(frame.columns)
    ['sample', 'predicted', 'probability', 'neighbor', 'label', 'weight', 'distance']
    >>> explanation.to_html()[:15]
    '<!doctype html>'
    """

    classes: Any
    positive: Any
    predicted: Any
    probabilities: Floats
    classifier: Floats
    vote: Floats | None
    vote_weight: float
    _voter: NeighborVoteClassifier | None = field(default=None)
    _X: Any = field(default=None)
    _X_train: Any = field(default=None)

    @cached_property
    def order(self) -> Ints:
        """Positions of all samples by the probability of `positive`, the highest first."""
        return np.argsort(-self._of_positive, kind="stable")

    @property
    def _of_positive(self) -> Floats:
        (column,) = np.flatnonzero(self.classes == self.positive)
        return np.asarray(self.probabilities[:, column])

    def to_frame(self, samples: Sequence[int] | None = None, n_neighbors: int | None = 100) -> Any:
        """Return the neighbours that voted as a DataFrame of pandas.

        Parameters
        ----------
        samples : sequence of int, default=None
            Positions of samples. None means the 1,000 with the highest probability of `positive`.

        n_neighbors : int, default=100
            Maximum number of neighbours of a sample, the most influential. None means all; with the
            view "leaves" these can be most of the training samples.

        Returns
        -------
        DataFrame
            One row per sample and neighbour: the position of the sample, its predicted label and
            its probability of `positive`; the position of the training sample, its label, its
            weight and its distance. It is empty if the vote has no weight.
        """
        import pandas as pd

        every = joined(self._neighbours(self._chosen(samples), n_neighbors))
        return pd.DataFrame(
            {
                "sample": every.samples,
                "predicted": self.predicted[every.samples],
                "probability": self._of_positive[every.samples],
                "neighbor": every.indices,
                "label": self.classes[every.codes],
                "weight": every.weights,
                "distance": every.distances,
            }
        )

    def to_dict(
        self, samples: Sequence[int] | None = None, n_neighbors: int | None = 100
    ) -> dict[str, Any]:
        """Return the predictions and the neighbours that voted, ready for JSON.

        Parameters
        ----------
        samples : sequence of int, default=None
            Positions of samples. None means the 1,000 with the highest probability of `positive`.

        n_neighbors : int, default=100
            Maximum number of neighbours of a sample, the most influential. None means all; with the
            view "leaves" these can be most of the training samples.

        Returns
        -------
        dict
            Plain numbers, strings, lists and dicts. Probabilities are in the order of "classes".
        """
        chosen = self._chosen(samples)
        neighbors: dict[int, list[dict[str, Any]]] = {int(sample): [] for sample in chosen}
        labels = plain(self.classes)
        for part in self._neighbours(chosen, n_neighbors):
            for sample, index, code, weight, distance in zip(
                *(values.tolist() for values in part), strict=True
            ):
                one = {"index": index, "label": labels[code], "weight": weight}
                neighbors[sample].append({**one, "distance": _finite(distance)})
        return {
            "classes": labels,
            "positive": plain(self.positive),
            "vote_weight": self.vote_weight,
            "n_samples": len(self.probabilities),
            "samples": [
                {
                    "sample": sample,
                    "predicted": plain(self.predicted[sample]),
                    "probabilities": self.probabilities[sample].tolist(),
                    "classifier": self.classifier[sample].tolist(),
                    "vote": None if self.vote is None else self.vote[sample].tolist(),
                    "neighbors": neighbors[sample],
                }
                for sample in chosen.tolist()
            ],
        }

    def to_html(
        self,
        *,
        X: Any = None,
        X_train: Any = None,
        title: str | None = None,
        n_samples: int = 200,
        n_neighbors: int = 15,
    ) -> str:
        """Return a page that shows for each sample which training samples it resembles.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_columns), default=None
            The samples to show, such as the table with its identifiers. None takes the input.

        X_train : {array-like, dataframe, sparse matrix}, default=None
            The training samples to show; columns are matched by name. None takes those that were
            passed to `explain`.

        title : str, default=None
            The heading.

        n_samples : int, default=200
            Maximum number of samples: those with the highest probability of `positive`.

        n_neighbors : int, default=15
            Maximum number of neighbours of a sample, the most influential.

        Returns
        -------
        str
            A single HTML document that works offline. If it would exceed 4 MB, it holds fewer
            samples. Needs ``rectifold[report]``.
        """
        for name, number in {"n_samples": n_samples, "n_neighbors": n_neighbors}.items():
            _check_positive(name, number)
        from rectifold.report._explanation_page import page_of

        return page_of(
            self,
            self._X if X is None else X,
            self._X_train if X_train is None else X_train,
            title=title,
            n_samples=n_samples,
            n_neighbors=n_neighbors,
        )

    def report(self, path: str | Path | None = None, **options: Any) -> str:
        """Return the page, and write it to a file.

        Parameters
        ----------
        path : str or Path, default=None
            Output file: ``.html`` for the page, or ``.json`` for `to_dict`. None writes nothing.

        **options : dict
            Options of `to_html`, or for JSON of `to_dict`.

        Returns
        -------
        str
            The page; the content of the file if that is JSON.
        """
        from rectifold._io import write_whole
        from rectifold.report import check_path

        checked = None if path is None else check_path(path)
        if checked is not None and checked.suffix.lower() == ".json":
            content = json.dumps(self.to_dict(**options), ensure_ascii=False, allow_nan=False)
        else:
            content = self.to_html(**options)
        if checked is not None:
            write_whole(checked, content.encode("utf-8", "backslashreplace"))
        return content

    def _neighbours(self, samples: Ints, n_neighbors: int | None = None) -> Iterator[Neighbours]:
        """Yield the training samples that voted, for some samples at a time."""
        if n_neighbors is not None:
            _check_positive("n_neighbors", n_neighbors)
        if self._voter is None:
            return
        yield from voters_of(self._voter, self._X, samples, n_neighbors)

    def _chosen(self, samples: Sequence[int] | None) -> Ints:
        """Return positions of samples, checked."""
        if samples is None:
            return self.order[:MAX_SAMPLES]
        chosen = np.asarray([*dict.fromkeys(samples)])
        if chosen.size and (chosen.ndim != 1 or chosen.dtype.kind not in "iu"):
            raise ParameterError("{} must be positions of samples, as integers.", Param("samples"))
        n = len(self.probabilities)
        wrong = chosen[(chosen < 0) | (chosen >= n)]
        if wrong.size:
            raise ParameterError(
                "{} has the position {}, and there are {} samples, counted from 0.",
                Param("samples"),
                str(wrong[0]),
                str(n),
            )
        return chosen.astype(np.intp)

    def __repr__(self) -> str:
        """Return the samples with the highest probability of `positive` as a small table."""
        n, name = len(self.probabilities), str(plain(self.positive))
        noun = "sample" if n == 1 else "samples"
        lines = [
            f"{n:,} {noun}: {1 - self.vote_weight:.3g} of the classifier and "
            f"{self.vote_weight:.3g} of the vote",
            "sample  probability  classifier   vote   of " + name,
        ]
        (column,) = np.flatnonzero(self.classes == self.positive)
        for sample in self.order[:5].tolist():
            vote = "-" if self.vote is None else f"{self.vote[sample, column]:.3f}"
            lines.append(
                f"{sample:>6}  {self.probabilities[sample, column]:>11.3f}  "
                f"{self.classifier[sample, column]:>10.3f}  {vote:>5}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str | None:
        """Return the page in a frame, for a notebook; without Jinja2 it shows text instead."""
        from importlib.util import find_spec

        if find_spec("jinja2") is None:
            return None
        from rectifold.report._explanation_page import framed

        n_samples, n_neighbors = _NOTEBOOK
        return framed(self.to_html(n_samples=n_samples, n_neighbors=n_neighbors))


def explain(model: Any, X: Any, X_train: Any = None) -> Explanation:
    """Explain the predictions of a RectifiedClassifier.

    Parameters
    ----------
    model : RectifiedClassifier
        The fitted model, whose classifier has `predict_proba`.

    X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
        The samples to predict.

    X_train : {array-like, dataframe, sparse matrix} of shape (n_training_samples, n_features), \
default=None
        The training data, whose values the page shows beside those of the samples. The model keeps
        no copy of them.

    Returns
    -------
    Explanation
        The predictions and their parts. See its ``to_frame``, ``to_dict``, ``to_html`` and
        ``report``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from rectifold import RectifiedClassifier
    >>> from rectifold.model_selection import explain
    >>> X, y = make_classification(n_samples=600, n_features=4, weights=[0.9], random_state=0)
    >>> model = RectifiedClassifier(DecisionTreeClassifier(max_depth=4, random_state=0),
    ...                             vote_weight=0.5).fit(X[:500], y[:500])
    >>> explanation = explain(model, X[500:])
    >>> frame = explanation.to_frame(samples=[3], n_neighbors=None)
    >>> float(frame["weight"].sum().round(6))
    1.0
    """
    check_is_fitted(model, "vote_weight_")
    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            "{} has no predict_proba: only probabilities can be explained.", Param("estimator")
        )
    _check_train(model.vote_, X_train)
    classifier, vote = np.asarray(model._classifier_proba(X)), None
    probabilities = classifier
    if model.vote_ is None:
        predicted = np.asarray(model.predict(X))
    else:
        vote = model.vote_.predict_proba(X)
        probabilities = fuse(classifier, vote, model.vote_weight_)
        predicted = np.asarray(predicted_labels({"predict_proba": probabilities}, model.classes_))
    voter: NeighborVoteClassifier | None = model.vote_
    sizes = probabilities.mean(axis=0) if voter is None else voter._sizes
    return Explanation(
        classes=np.asarray(model.classes_),
        positive=model.classes_[int(np.argmin(sizes))],
        predicted=predicted,
        probabilities=probabilities,
        classifier=classifier,
        vote=vote,
        vote_weight=float(model.vote_weight_),
        _voter=voter,
        _X=X,
        _X_train=X_train,
    )


def _check_train(voter: NeighborVoteClassifier | None, X_train: Any) -> None:
    if voter is None or X_train is None:
        return
    n = X_train.shape[0] if hasattr(X_train, "shape") else len(X_train)
    if n != len(voter._codes):
        raise ParameterError(
            "{} has {} samples, and the model was fitted on {}: pass the training data of the "
            "model.",
            Param("X_train"),
            str(n),
            str(len(voter._codes)),
        )


def _check_positive(name: str, number: Any) -> None:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
        raise ParameterError("{} must be a positive integer.", Param(name, number))


def _finite(distance: float) -> float | None:
    # The distance of a sample far outside the range of floats; JSON has no infinity.
    return distance if np.isfinite(distance) else None
