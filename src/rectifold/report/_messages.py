"""Warnings about a run, and the Python call and command that repeat it."""

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
from rectifold.report._thresholds import dead_zone_of_alpha

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rectifold._core.accuracy import Accuracy
    from rectifold._core.rectification import Rectification
    from rectifold._core.rules import Thresholds
    from rectifold._core.summary import Setting

#: Parameters of GMR that are options of the command line under the same names.
_OPTIONS = (
    *("n_neighbors", "metric", "metric_threshold", "epsilon", "min_minority"),
    *("class_weight", "engine", "random_state"),
)
#: Parameters that have sliders on the page.
_THRESHOLDS = ("alpha", "beta", "gamma")

#: A class that loses a larger share of its samples gets a warning.
_MUCH = 0.3


class Record(Protocol):
    """What `Rectification` and `rectifold.dask.Rectification` have in common."""

    @property
    def classes(self) -> NDArray[Any]: ...
    @property
    def _thresholds(self) -> Thresholds: ...
    @property
    def _setting(self) -> Setting: ...
    @property
    def accuracy(self) -> Accuracy | None: ...
    def summary(self) -> dict[str, Any]: ...


def warnings_of(record: Record) -> list[str]:
    """Return what a reader of the record should know, the most important first."""
    facts = record.summary()
    classes, thresholds, setting = record.classes, record._thresholds, record._setting
    sizes = np.array([one["before"] for one in facts["classes"]])
    if guarded(sizes, thresholds.min_minority):
        smallest = int(sizes.argmin())
        return [
            f"Class {named(classes[smallest])} has {sizes[smallest]:,} samples, fewer than "
            f"min_minority = {thresholds.min_minority}, so nothing was cleaned."
        ]
    messages = [*_on_accuracy(record)]
    if not facts["removed"]:
        messages.append("Nothing was removed: no sample met the thresholds.")
    for code, (label, size) in enumerate(zip(map(named, classes), sizes, strict=True)):
        role, one = setting.role(code), facts["classes"][code]
        spared = f"{_count(one['spared'], 'candidate')} {_was(one['spared'])} spared"
        if role != "untouched" and not can_lose(code, sizes, thresholds.min_minority):
            messages.append(
                f"Class {label} has {size:,} samples, fewer than min_minority = "
                f"{thresholds.min_minority}, so none of them can be removed."
            )
        elif one["spared"] and role == "protected":
            messages.append(
                f"The cap of class {label} was reached: {spared}. gamma = {thresholds.gamma:g} "
                f"allows {_count(cap(thresholds.gamma, int(size)), 'removal')} out of {size:,} "
                f"samples, and there were {_count(one['spared'] + one['removed'], 'candidate')}."
            )
        elif one["spared"]:
            messages.append(
                f"The floor of class {label} was reached: {spared}, so that the class does not "
                "become smaller than the largest class that is not strict."
            )
    messages += [
        f"Class {named(label)} loses {one['removed'] / one['before']:.0%} of its samples. Look at "
        "them before you use the cleaned data: so many are rarely all noise."
        for label, one in zip(classes, facts["classes"], strict=True)
        if one["after"] and one["removed"] > _MUCH * one["before"]
    ]
    emptied = [
        named(label)
        for label, one in zip(classes, facts["classes"], strict=True)
        if not one["after"]
    ]
    if emptied:
        messages.append(f"All samples of class {', '.join(emptied)} were removed.")
    dead = dead_zone_of_alpha(sizes, setting.strict)
    if thresholds.alpha <= dead:
        messages.append(
            f"alpha = {thresholds.alpha:g} has no effect: with {len(sizes)} classes, a sample "
            f"whose own vote is below {_fraction(len(sizes))} is predicted to be of another class, "
            "so it is removed as an intrusion for any alpha. Only values above "
            f"{_fraction(len(sizes))} remove more samples."
        )
    return messages


def _fraction(n_classes: int) -> str:
    return "0.5" if n_classes == 2 else f"1/{n_classes}"


def _on_accuracy(record: Record) -> list[str]:
    """Return a message on approximate neighbours, unless they come from an exact search object."""
    accuracy, engine = record.accuracy, record._setting.engine
    if accuracy is None or (engine != "approximate" and accuracy.recall.value == 1):
        return []
    source = "approximate" if engine == "approximate" else f"those found by {engine}"
    missed = ""
    if accuracy.met is False:
        missed = f"recall = {accuracy.target:g} was not reached. "
    return [f"{missed}Neighbours are {source}: {in_words(accuracy.to_dict())}."]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _was(n: int) -> str:
    return "was" if n == 1 else "were"


def python_arguments(record: Rectification) -> list[list[str]]:
    """Return names and values of the sampler's arguments, besides the thresholds, as in Python."""
    arguments = record._setting.arguments
    return [[name, text] for name, text in arguments.items() if name not in _THRESHOLDS]


def command_line(record: Rectification, command: Sequence[str] | None) -> dict[str, Any]:
    """Return "text", the command without thresholds, and "unsupported", what it can't express.

    `command` holds the arguments of the command that made the record, or is None.
    """
    if command is not None:
        return {"text": shlex.join(["rectifold", *command]), "unsupported": []}
    words = ["rectifold", "clean", "TABLE.csv", "--target", "LABEL", "-o", "CLEANED.csv"]
    unsupported = []
    arguments = dict(record._setting.arguments)
    # The defaults differ: "auto" on the command line, None in Python.
    space = arguments.pop("space", "None").strip("'")
    if space == "heom":
        words += ["--space", "heom"]
    elif space != "auto":
        words += ["--space", "none"]
        unsupported += [f"space={space}"] if space != "None" else []
    strategy = arguments.pop("sampling_strategy", "")
    try:
        labels = ast.literal_eval(strategy) if strategy.startswith("[") else []
    except (SyntaxError, ValueError):  # labels such as dates
        labels = []
    words += [word for label in labels for word in ("--only", str(label))]
    if strategy and not labels:
        unsupported.append(f"sampling_strategy={strategy}")
    for name, text in arguments.items():
        value = text.strip("'")
        if name in (*_THRESHOLDS, "n_jobs"):
            continue
        if name == "engine" and "(" in text:
            words += _engine_options(text)
        elif (
            name in _OPTIONS
            and value not in ("None", "precomputed")
            and re.fullmatch(r"[\w.:+-]+", value)
        ):
            words += [f"--{name.replace('_', '-')}", value]
        else:
            unsupported.append(f"{name}={text}")
    return {"text": shlex.join(words), "unsupported": unsupported}


def _engine_options(text: str) -> list[str]:
    """Return the options for an engine written as `Approximate(...)` or `GPU(...)`."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    words = ["--engine", call.func.id.lower()]
    for keyword in call.keywords:
        value = ast.literal_eval(keyword.value)
        words.append(f"--{str(keyword.arg).replace('_', '-')}")
        words += [] if value is True else [str(value)]
    return words
