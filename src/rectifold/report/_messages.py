"""What a report says in words: what to beware of, and how to do the same again."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rectifold._core.accuracy import in_words
from rectifold._core.rules import can_lose, cap, guarded
from rectifold._core.target import named
from rectifold.report._thresholds import alpha_is_idle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rectifold._core.accuracy import Accuracy
    from rectifold._core.rectification import Rectification
    from rectifold._core.rules import Thresholds
    from rectifold._core.summary import Setting

#: Parameters of GMR that are options of the command line, under the same names.
_OPTIONS = (
    *("n_neighbors", "metric", "metric_threshold", "epsilon", "min_minority"),
    *("class_weight", "space", "engine", "device"),
    *("target_recall", "time_budget", "random_state"),
)


class Recorded(Protocol):
    """What the record of a run tells, wherever it was made."""

    @property
    def classes(self) -> NDArray[Any]:
        """The labels."""
        ...

    @property
    def _thresholds(self) -> Thresholds:
        """What votes were compared with."""
        ...

    @property
    def _setting(self) -> Setting:
        """How the run was made."""
        ...

    @property
    def accuracy(self) -> Accuracy | None:
        """How good approximate neighbours are."""
        ...

    def summary(self) -> dict[str, Any]:
        """Count what happened."""
        ...


def warnings_of(record: Recorded) -> list[str]:
    """Say what whoever reads a record should beware of.

    Parameters
    ----------
    record : Rectification
        The record of a run, on one machine or on a cluster.

    Returns
    -------
    list of str
        One or two sentences each, the most important first.
    """
    facts = record.summary()
    classes, thresholds = record.classes, record._thresholds
    sizes = np.array([one["before"] for one in facts["classes"]])
    if guarded(sizes, thresholds.min_minority):
        least = int(sizes.argmin())
        return [
            f"The guard was triggered: class {named(classes[least])} has {sizes[least]:,} rows, "
            f"fewer than min_minority = {thresholds.min_minority}, so nothing was cleaned."
        ]
    said = []
    accuracy = record.accuracy
    if accuracy is not None:
        own = record._setting.engine == "approximate"
        whose = "approximate" if own else f"those that {record._setting.engine} found"
        missed = ""
        if accuracy.met is False:
            missed = f"target_recall = {accuracy.target:g} was not met. "
        # A search of the caller's own is nothing to beware of if it is exact.
        if own or accuracy.recall.value < 1:
            said.append(f"{missed}Neighbours are {whose}: {in_words(accuracy.to_dict())}.")
    if not facts["removed"]:
        said.append("Nothing was removed: no row met the thresholds.")
    for code, label in enumerate(classes):
        large = can_lose(code, sizes, thresholds.min_minority)
        if not large and record._setting.role(code) != "untouched":
            said.append(
                f"Class {named(label)} has {sizes[code]:,} rows, fewer than min_minority = "
                f"{thresholds.min_minority}, and loses nothing."
            )
            continue
        spared, removed = (facts["classes"][code][what] for what in ("spared", "removed"))
        if not spared:
            continue
        if record._setting.role(code) == "protected":
            most = cap(thresholds.gamma, int(sizes[code]))
            said.append(
                f"The cap of class {named(label)} was reached: {_spared(spared)}. "
                f"gamma = {thresholds.gamma:g} lets {_rows(most)} of {sizes[code]:,} go, and "
                f"{spared + removed:,} met the threshold."
            )
        else:
            said.append(
                f"Class {named(label)} reached its floor: {_spared(spared)}, so that it "
                "does not fall below the largest class that is not strict."
            )
    left = np.array([one["after"] for one in facts["classes"]])
    emptied = [named(label) for label in classes[left == 0]]
    if emptied:
        said.append(f"No row is left of class {', '.join(emptied)}.")
    if alpha_is_idle(sizes, record._setting.strict) and thresholds.alpha <= 0.5:
        said.append(
            f"alpha = {thresholds.alpha:g} has no effect: with two classes, a row whose own vote "
            "is below a half is predicted to be of the other class, and goes for that already. "
            "Only above 0.5 does alpha remove more."
        )
    return said


def _spared(count: int) -> str:
    return "1 candidate was spared" if count == 1 else f"{count:,} candidates were spared"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def python_call(record: Rectification) -> list[list[str]]:
    """Give the arguments of the sampler that a page writes beside those of its levers.

    Parameters
    ----------
    record : Rectification
        The record of a run.

    Returns
    -------
    list of [str, str]
        Names and values, as one would write them.
    """
    own = ("alpha", "beta", "gamma")
    return [[name, text] for name, text in record._setting.arguments.items() if name not in own]


def command_line(record: Rectification, given: Sequence[str] | None) -> dict[str, Any]:
    """Give the command line that a page writes before the options of its levers.

    Parameters
    ----------
    record : Rectification
        The record of a run.
    given : sequence of str or None
        The arguments of the command that made the record, if one did, without those thresholds.

    Returns
    -------
    dict
        "text", and "without": arguments of the sampler that no option can express.
    """
    if given is not None:
        return {"text": shlex.join(["rectifold", *given]), "without": []}
    words = ["rectifold", "clean", "TABLE.csv", "--target", "LABEL", "-o", "CLEANED.csv"]
    without = []
    arguments = dict(record._setting.arguments)
    # The command line makes sense of messy tables by default, the sampler takes numbers.
    space = arguments.pop("space", "None").strip("'")
    if space == "None":
        words += ["--space", "none"]
    elif space == "heom":
        words += ["--space", "heom"]
    elif space != "auto":
        without.append(f"space={space}")
        words += ["--space", "none"]
    only = arguments.pop("sampling_strategy", "")
    try:
        labels = ast.literal_eval(only) if only.startswith("[") else []
    except (SyntaxError, ValueError):  # labels such as dates
        labels = []
    words += [word for label in labels for word in ("--only", str(label))]
    if only and not labels:
        without.append(f"sampling_strategy={only}")
    for name, text in arguments.items():
        value = text.strip("'")
        if name in ("alpha", "beta", "gamma", "n_jobs"):
            continue
        if (
            name in _OPTIONS
            and value != "None"
            and re.fullmatch(r"[\w.:+-]+", value)
            and value != "precomputed"
        ):
            words += [f"--{name.replace('_', '-')}", value]
        else:
            without.append(f"{name}={text}")
    return {"text": shlex.join(words), "without": without}
