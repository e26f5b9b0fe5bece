"""The page of an `Explanation`: predictions, and the training samples they rest on."""

from __future__ import annotations

import json
from datetime import date
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from rectifold._core.errors import Param, ParameterError
from rectifold._core.utils import Bools, Ints, versions
from rectifold._core.votes import size_order
from rectifold.model_selection._voters import joined as join_parts
from rectifold.report._assets import compressed, joined, page_style, render_with_scripts
from rectifold.report._beside import (
    Pairs,
    choose_columns,
    describe_columns,
    mark_cells,
    pair_columns,
)
from rectifold.report._points import index_labels
from rectifold.report._table import Columns, shown, shown_label

if TYPE_CHECKING:
    from rectifold.model_selection import Explanation

_TITLE = "Why samples were predicted so"
#: The scripts of the page, in the order in which they run, all in one scope.
_SCRIPTS = ("unpack.js", "text.js", "theme.js", "explanation.js")
#: Maximum size of a page in bytes, and a number of samples that is not reduced for it.
_MAX_BYTES, _MIN_SAMPLES = 4_000_000, 10
#: Maximum number of classes of a sample, the most probable.
_MAX_CLASSES = 8


def page_of(
    explanation: Explanation,
    X: Any,
    X_train: Any,
    *,
    title: str | None,
    n_samples: int,
    n_neighbors: int,
) -> str:
    """Return the page; parameters are those of `Explanation.to_html`."""
    contents = _Contents(explanation, X, X_train, title or _TITLE)
    while True:
        page = _render(contents.of(n_samples, n_neighbors))
        n_samples = min(n_samples, len(explanation.probabilities))
        if len(page) <= _MAX_BYTES or n_samples <= _MIN_SAMPLES:
            return page
        n_samples = max(_MIN_SAMPLES, n_samples // 2)


def framed(page: str) -> str:
    """Return a page in a frame, for a notebook."""
    return (
        '<iframe title="Explanation" sandbox="allow-scripts" '
        'style="width: 100%; height: 46rem; border: 1px solid #8885; border-radius: 6px" '
        f'srcdoc="{escape(page)}"></iframe>'
    )


class _Contents:
    """The contents of pages with any number of samples and neighbours."""

    def __init__(self, explanation: Explanation, X: Any, X_train: Any, title: str) -> None:
        self._explanation = explanation
        self._table = Columns(X)
        self._train = None if X_train is None else Columns(X_train)
        # Other columns, such as identifiers, are shown and not compared.
        of_model = Columns(explanation._X)
        self._features = of_model.names if of_model.has_names and self._table.has_names else []
        self._indexes = _index_of(X), _index_of(X_train)
        voter = explanation._voter
        _check_rows("X", X, len(explanation.probabilities))
        if voter is not None and X_train is not None:
            _check_rows("X_train", X_train, len(voter._codes))
        self._pairs = pair_columns(self._table, self._train)
        code = int(np.flatnonzero(explanation.classes == explanation.positive)[0])
        positive: Bools | None = None if voter is None else voter._codes == code
        self._columns = choose_columns(self._pairs, self._train, positive)
        if voter is None:
            largest_first = np.argsort(-explanation.probabilities.mean(axis=0), kind="stable")
        else:
            largest_first = size_order(voter._sizes)
        self._facts = {
            "title": shown(title),
            "version": versions("rectifold").get("rectifold", ""),
            "labels": [shown_label(label) for label in explanation.classes],
            "largest_first": largest_first.tolist(),
            "positive": code,
            "weight": explanation.vote_weight,
            "n_samples": len(explanation.probabilities),
            "n_columns": len(self._table.names),
            "n_train": None if voter is None else len(voter._codes),
            "has_train": self._train is not None,
        }

    def of(self, n_samples: int, n_neighbors: int) -> dict[str, Any]:
        """Return the contents with up to so many samples, and neighbours of each."""
        explanation = self._explanation
        samples = explanation.order[:n_samples]
        position = np.full(len(explanation.probabilities), -1)
        position[samples] = np.arange(len(samples))
        parts = explanation._neighbours(samples, n_neighbors)
        owners, indices, codes, weights, distances = join_parts(parts)
        used, places = np.unique(indices, return_inverse=True)
        pairs = Pairs(position[owners], places)
        columns = describe_columns(
            self._table, self._train, self._columns, self._pairs, self._features, samples, used
        )
        marks = [""] * len(owners)
        if self._train is not None:
            shared = (self._columns, self._pairs, columns, samples, used, pairs)
            marks = mark_cells(self._table, self._train, *shared)
        near: list[list[Any]] = [[] for _ in samples]
        for at, place, weight, distance, mark in zip(
            pairs.samples.tolist(),
            places.tolist(),
            weights.tolist(),
            distances.tolist(),
            marks,
            strict=True,
        ):
            near[at].append([place, _short(weight), _short(distance), mark])
        code_of = {int(index): int(code) for index, code in zip(indices, codes, strict=True)}
        index, train_index = self._indexes
        return {
            **self._facts,
            "samples": {
                "row": samples.tolist(),
                "index": index_labels(index, samples, None),
                "predicted": self._predicted(samples),
                "classes": self._classes(samples),
                "near": near,
            },
            "train": {
                "row": used.tolist(),
                "index": index_labels(train_index, used, None),
                "class": [code_of[row] for row in used.tolist()],
            },
            "columns": columns,
        }

    def _predicted(self, samples: Ints) -> list[int]:
        codes = {label: code for code, label in enumerate(self._explanation.classes.tolist())}
        return [codes[label] for label in self._explanation.predicted[samples].tolist()]

    def _classes(self, samples: Ints) -> list[list[list[Any]]]:
        """Return for every sample its most probable classes: code and the three probabilities."""
        explanation, positive = self._explanation, self._facts["positive"]
        found = []
        for sample in samples.tolist():
            order = np.argsort(-explanation.probabilities[sample], kind="stable").tolist()
            # The positive class is first, whatever its rank.
            order = [positive, *(code for code in order if code != positive)][:_MAX_CLASSES]
            parts = (explanation.probabilities, explanation.classifier, explanation.vote)
            found.append(
                [
                    [code, *(None if p is None else _short(p[sample, code]) for p in parts)]
                    for code in order
                ]
            )
        return found


def _render(data: dict[str, Any]) -> str:
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return render_with_scripts(
        "explanation.html.jinja",
        [joined(_SCRIPTS)],
        data=data,
        style=page_style("explanation.css"),
        facts=compressed(text.encode()),
        made=date.today().isoformat(),
    )


def _index_of(X: Any) -> Any:
    """Return the index of a pandas frame; other containers have none."""
    return X.index if hasattr(X, "iloc") else None


def _check_rows(name: str, X: Any, expected: int) -> None:
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n != expected:
        raise ParameterError(
            "{} has {} samples, and {} were explained: pass the same samples.",
            Param(name),
            str(n),
            str(expected),
        )


def _short(number: float) -> float | None:
    """Return a number with six digits, which is enough for the page; JSON has no infinity."""
    return float(f"{number:.6g}") if np.isfinite(number) else None
