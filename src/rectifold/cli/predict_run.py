"""Fit a classifier on a table, score another one, and write the scores and the report."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectifold._core.errors import ParameterWarning
from rectifold._core.utils import timed
from rectifold.cli.errors import UsageError, sentence_of
from rectifold.cli.predict_input import (
    PREDICTION,
    PROBABILITY,
    check_added,
    check_columns,
    read_new,
)
from rectifold.cli.table_input import LabelledSamples, feature_columns, read_samples

if TYPE_CHECKING:
    import pandas as pd

    from rectifold._io import Table
    from rectifold.model_selection import Explanation

#: The classifier, unless another is named, and its name.
_DEFAULT = "gradient boosting"
#: Neighbours of a row in the report.
_N_NEIGHBORS = 15


@dataclass(frozen=True)
class Request:
    """Inputs, outputs and settings of a run; where the outputs are None, nothing is written."""

    train: Path
    new: Path
    target: str
    output: Path | None = None
    report: Path | None = None
    classifier: str | None = None
    #: Columns that are no features.
    drop: list[str] = field(default_factory=list)
    #: What to do with training rows without a label: "error" or "drop".
    missing_target: str = "error"
    #: Labels, as text, that stand for a missing one.
    missing_labels: list[str] = field(default_factory=list)
    #: Arguments of `rectifold.RectifiedClassifier`.
    settings: dict[str, Any] = field(default_factory=dict)
    encoding: str = "utf-8"
    delimiter: str | None = None


def score_file(request: Request) -> tuple[dict[str, Any], pd.DataFrame]:
    """Fit, score and write; return the result, ready for JSON, and the scored features."""
    from rectifold.cli.predict_result import describe_model, highest_rows

    _check_outputs(request)
    name, estimator = _classifier(request)
    seconds: dict[str, float] = {}
    with timed(seconds, "read"):
        train, new = (_open(path, request) for path in (request.train, request.new))
        features = feature_columns(train, request.target, {"--drop": request.drop})
        notes = check_columns(new, request.new, features, request.target, request.drop)
        if request.output is not None:
            from rectifold._io import format_of

            new.check(format_of(request.output))
        samples = read_samples(
            train,
            request.train,
            request.target,
            features,
            missing_target=request.missing_target,
            missing_labels=request.missing_labels,
            exclude_with="--drop",
        )
        sizes = _check_classes(samples, new, request)
        frame, found = read_new(new, request.new, samples.features)
        notes = [*samples.notes, *notes, *found, *_same_table(request)]
        shown = _shown(train, new, samples, frame, request)
    with timed(seconds, "fit"):
        model, messages = _fit(estimator, samples, request)
    if request.report is not None and model.vote_weight_ == 0:
        messages.append(
            "the vote of the neighbours has the weight 0, so the report shows no past rows; "
            "--vote-weight sets another"
        )
    with timed(seconds, "predict"):
        explanation = _explain(model, frame, sizes)
    with timed(seconds, "write"):
        page = None if request.report is None else _page(explanation, shown, request)
        _write(explanation, new, page, request)
    counts = dict(zip(*_unique(explanation.predicted), strict=True))
    described = describe_model(model, name, sizes)
    for one in described["classes"]:
        one["predicted"] = counts.get(one["label"], 0)
    result = {
        "train": str(request.train),
        "input": str(request.new),
        "output": None if request.output is None else str(request.output),
        "report": None if request.report is None else str(request.report),
        "target": request.target,
        "dropped_columns": list(request.drop),
        "features": len(features),
        "rows_train": len(samples.labels),
        "missing_target": {
            "rows": int(samples.missing.sum()),
            "action": request.missing_target,
        },
        "rows": len(frame),
        **described,
        "positive": str(explanation.positive),
        "highest": highest_rows(explanation),
        "seconds": seconds,
        "notes": list(dict.fromkeys([*notes, *messages])),
    }
    return result, frame


def _check_outputs(request: Request) -> None:
    from rectifold._io import check_outputs

    named = {"output": request.output, "report": request.report}
    outputs = {name: path for name, path in named.items() if path is not None}
    if request.report is not None:
        from rectifold.report import check_path

        check_path(request.report, "report")
    for source in (request.train, request.new):
        if request.output is not None:
            check_outputs([("output", request.output)], source)
        check_outputs(outputs.items(), source, tables=False)


def _same_table(request: Request) -> list[str]:
    if not os.path.samefile(request.train, request.new):
        return []
    return [
        "the scored table is the training table: scores of rows that were trained on are too good"
    ]


def _classifier(request: Request) -> tuple[str, Any]:
    """Return the name of the classifier, and the classifier with the seed."""
    from rectifold.model_selection._registry import BenchError, classifier, seeded

    seed = request.settings["random_state"]
    if request.classifier is None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return _DEFAULT, HistGradientBoostingClassifier(random_state=seed)
    try:
        entry = classifier(request.classifier)
        estimator = seeded(entry.make(seed), seed)
    except (BenchError, ImportError) as problem:
        raise UsageError(f"--classifier: {sentence_of(problem)}") from problem
    if not hasattr(estimator, "predict_proba"):
        raise UsageError(f"--classifier {request.classifier} has no probabilities: choose another")
    return entry.name, estimator


def _open(path: Path, request: Request) -> Table:
    from rectifold._io import format_of, open_table

    # A delimiter is for text; if there is no text at all, it is an error.
    forms = [format_of(one).kind for one in (request.train, request.new)]
    is_text = format_of(path).kind == "text" or "text" not in forms
    return open_table(
        path, encoding=request.encoding, delimiter=request.delimiter if is_text else None
    )


def _check_classes(samples: LabelledSamples, new: Table, request: Request) -> dict[str, int]:
    """Return the sizes of the classes, or raise an error about the labels or the columns added."""
    from rectifold._core.target import encode

    try:
        target = encode(samples.labels)
    except (ValueError, TypeError) as problem:
        raise UsageError(sentence_of(problem)) from problem
    labels = [str(label) for label in target.classes.tolist()]
    check_added(new, request.new, labels)
    return dict(zip(labels, target.sizes.tolist(), strict=True))


def _fit(estimator: Any, samples: LabelledSamples, request: Request) -> tuple[Any, list[str]]:
    """Return the fitted model, and what was warned of."""
    from sklearn.pipeline import make_pipeline

    from rectifold import GMR, RectifiedClassifier, TableSpace
    from rectifold._core.rectification import RecordedWarning

    model = RectifiedClassifier(
        make_pipeline(TableSpace(), estimator), sampler=GMR(space="auto"), **request.settings
    )
    with warnings.catch_warnings(record=True) as caught, _silent_workers():
        warnings.simplefilter("always")
        try:
            model.fit(samples.features, samples.labels.to_numpy())
        except (ValueError, TypeError) as problem:
            raise UsageError(sentence_of(problem)) from problem
    kinds = (UserWarning, ParameterWarning, RecordedWarning)
    return model, [sentence_of(one.message) for one in caught if one.category in kinds]


@contextmanager
def _silent_workers() -> Iterator[None]:
    """Let processes that are started show no warnings, which would repeat those of this one."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def _explain(model: Any, frame: pd.DataFrame, sizes: dict[str, int]) -> Explanation:
    """Return the predictions, sorted by the class that is smallest in training."""
    try:
        explanation: Explanation = model.explain(frame)
    except (ValueError, TypeError) as problem:
        raise UsageError(sentence_of(problem)) from problem
    smallest = min(range(len(sizes)), key=[*sizes.values()].__getitem__)
    return replace(explanation, positive=model.classes_[smallest])


def _shown(
    train: Table, new: Table, samples: LabelledSamples, frame: pd.DataFrame, request: Request
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the scored and the training rows for the report, with columns that are no features."""
    import pandas as pd

    shown = frame, samples.features
    # Identifiers are no features, but show which row is meant.
    dropped = [name for name in request.drop if name in new.columns]
    if request.report is not None and dropped:
        labelled = train.frame(dropped, verbatim=dropped).loc[~samples.missing]
        shown = (
            pd.concat([new.frame(dropped, verbatim=dropped), frame], axis=1),
            pd.concat([labelled, samples.features], axis=1),
        )
    return shown


def _page(
    explanation: Explanation, shown: tuple[pd.DataFrame, pd.DataFrame], request: Request
) -> bytes:
    """Return the content of the report."""
    assert request.report is not None
    if request.report.suffix.lower() == ".json":
        return json.dumps(explanation.to_dict(n_neighbors=_N_NEIGHBORS), allow_nan=False).encode()
    title = f"Why rows of {request.new.name} were predicted so"
    return explanation.to_html(
        X=shown[0], X_train=shown[1], title=title, n_neighbors=_N_NEIGHBORS
    ).encode()


def _write(explanation: Explanation, new: Table, page: bytes | None, request: Request) -> None:
    import numpy as np

    from rectifold._io import format_of, whole_files

    outputs = [path for path in (request.output, request.report) if path is not None]
    with whole_files(outputs) as files:
        if request.output is not None:
            added: dict[str, list[Any]] = {PREDICTION: explanation.predicted.tolist()}
            for label, column in zip(
                explanation.classes.tolist(), explanation.probabilities.T, strict=True
            ):
                added[f"{PROBABILITY}{label}"] = column.tolist()
            new.write(
                files[0],
                format_of(request.output),
                np.ones(len(explanation.predicted), dtype=bool),
                added=added,
                verbatim=[request.target] if request.target in new.columns else [],
            )
        if page is not None:
            files[-1].write(page)


def _unique(labels: Any) -> tuple[list[str], list[int]]:
    import numpy as np

    values, counts = np.unique(labels, return_counts=True)
    return [str(label) for label in values.tolist()], counts.tolist()
