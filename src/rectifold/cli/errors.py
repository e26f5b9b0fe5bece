"""What is said when something does not fit, in words of the command line."""

from __future__ import annotations

import ast
import re

#: Names of the caller's inside a sentence: what `repr` puts in quotes, and a class in a warning.
_NAMES = re.compile(
    r"""
    (?<=^class\ ).+(?=\ has\ \d+\ rows,\ fewer\ than\ )
    | (?:(?<!\w)|(?<=\bb))                              # no apostrophe as in can't; bytes have a b
      (?: '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    """,
    re.VERBOSE | re.DOTALL,
)
#: A name that is put aside while the words around it are translated.
_ASIDE = "\x00([0-9]+)\x00"

_OPTIONS = "|".join(
    (
        *("n_neighbors", "alpha", "beta", "gamma", "metric", "metric_threshold", "epsilon"),
        *("min_minority", "class_weight", "space", "engine", "device", "n_jobs", "cv", "repeats"),
        *("target_recall", "time_budget", "random_state", "block_size"),
    )
)
_TRANSLATIONS = (
    (r"^(--[\w-]+) must be (.*)\. Got (.*) instead\.$", r"\1 must be \2, not \3"),
    (r"a str among \{(.*?)\}", r"one of \1"),
    (
        rf"^Metric ({_ASIDE}) not valid\..*",
        r"--metric must be auto or one that scikit-learn knows, not \1",
    ),
    (
        rf"^--metric ({_ASIDE}) needs parameters of its own.*",
        r"--metric \1 needs parameters of its own, which the command line cannot pass on: choose "
        "another metric, or clean with rectifold.GMR in Python",
    ),
    (
        r"^Unknown label type: continuous.*",
        "the target holds numbers with fractions, as a regression target does, and cleaning needs "
        "a class label",
    ),
    (
        r"^space comes with a metric of its own, and (.*) would be ignored.*",
        r"--space heom comes with a metric of its own, and \1 would be ignored: choose one of them",
    ),
    (r": drop it, or turn it into .*", "; leave it out of the geometry with --ignore"),
    (r"\bspace must be None\b", "--space must be none"),
    (r"\blower cv\b", "lower --cv"),
    (r"\bwith positive=", "with --positive"),
    (r"\by\b(?!=)", "the target"),
    (r" of X\b", ""),
    (r"\bX has (\d+) samples", r"there are \1"),
    (r"\bX\b(?!=)", "the table"),
    (r"(?<!-)\bsampling_strategy\b", "--only"),
)


class UsageError(ValueError):
    """What the caller asked for does not fit the table; the message is one sentence."""


def in_words_of_the_command_line(sentence: str) -> str:
    """Translate a sentence of the sampler, whose parameters are options here.

    Parameters
    ----------
    sentence : str
        The message of an error or a warning.

    Returns
    -------
    str
        The same with options for parameters; names of the caller's, which stand in quotes, are
        left as they are.

    Examples
    --------
    >>> in_words_of_the_command_line("column 'x y z' of X holds text: pass space='auto'.")
    "column 'x y z' holds text: pass --space auto"
    """
    names: list[str] = []

    def put_aside(found: re.Match[str]) -> str:
        names.append(found[0])
        return f"\x00{len(names) - 1}\x00"

    def as_option(found: re.Match[str]) -> str:
        option = f"--{found[1].replace('_', '-')}"
        if not found[2]:
            return option
        if found[3] is None:
            return f"{option} "
        value = str(ast.literal_eval(names[int(found[3])]))
        if re.fullmatch(r"[\w-]+", value):
            names[int(found[3])] = value
        return f"{option} \x00{found[3]}\x00"

    def as_subject(found: re.Match[str]) -> str:
        return f"--{ast.literal_eval(names[int(found[1])]).replace('_', '-')} must"

    sentence = _NAMES.sub(put_aside, sentence.replace("\x00", ""))
    sentence = re.sub(rf"^The {_ASIDE} parameter of GMR must", as_subject, sentence)
    # A word such as space or metric is a parameter only where a value follows.
    sentence = re.sub(rf"(?<!-)\b({_OPTIONS})(=)(?:{_ASIDE})?", as_option, sentence)
    alone = "min_minority|n_neighbors|class_weight|target_recall|time_budget|block_size"
    sentence = re.sub(rf"(?<!-)\b({alone})\b()()", as_option, sentence)
    for pattern, words in _TRANSLATIONS:
        sentence = re.sub(pattern, words, sentence)
    return re.sub(_ASIDE, lambda found: names[int(found[1])], sentence).rstrip(".")
