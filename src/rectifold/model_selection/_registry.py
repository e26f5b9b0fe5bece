"""The methods and classifiers that an experiment can name, and how each is made."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

from rectifold._core.utils import did_you_mean

#: The kind of method that takes the classifier itself.
WRAPPER = "wrapper"


class BenchError(ValueError):
    """What was asked of an experiment can't be done; the message is one sentence.

    Examples
    --------
    >>> from rectifold.bench import BenchError, method
    >>> try:
    ...     method("SMOT")
    ... except BenchError as problem:
    ...     print(problem)
    there is no method 'SMOT'; did you mean 'SMOTE'? There are 'None', 'GMR', ...
    """


def refuse_twice(what: str, names: Sequence[str | int]) -> None:
    """Refuse names that results would share."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BenchError(f"{what} {twice!r} is named twice")


@dataclass(frozen=True)
class Entry:
    """A sampler or a classifier: plain data, so that it travels to other processes.

    Attributes
    ----------
    name : str
        As in the paper's tables and in the store.
    short : str
        As in the paper's table of ranks.
    path : str
        ``module:callable``; the callable makes the estimator. Empty for no sampling.
    kind : str
        For samplers, what becomes of the number of rows: "oversampling", "undersampling",
        "cleaning" or "none"; "wrapper" for what takes the classifier itself, and does with the
        training rows what it likes; for classifiers "classifier".
    options : dict
        Arguments for the callable, where the library's default would not do.
    revision : str or None
        Goes up when the answers of a method of our own change; by default the version of the
        library behind `path`, and the options, stand for that.
    version : str
        What tells results of this method from those of an older or newer one.

    See Also
    --------
    method : Finds a sampler that is known, or by its import path.
    classifier : Finds a classifier.

    Examples
    --------
    One is made by hand where a method needs arguments. They are part of its version: under the same
    name, results of other arguments count as older ones. A classifier has no version, and takes
    another name for other arguments.

    >>> from rectifold.bench import Entry
    >>> gentle = Entry("GMR-gentle", "gentle", "rectifold:GMR", options={"gamma": 0.0})
    >>> gentle.make(seed=42)
    GMR(gamma=0.0, random_state=42)
    >>> gentle.version
    '..., gamma=0.0'

    One that takes the classifier itself is of the kind "wrapper":

    >>> from sklearn.linear_model import LogisticRegression
    >>> bagged = Entry(
    ...     "Bagged", "Bagged", "rectifold.bench.controls:Bagging", "wrapper", {"n_estimators": 3}
    ... )
    >>> type(bagged.wrap(LogisticRegression(), seed=42)).__name__
    'Bagging'
    """

    name: str
    short: str
    path: str
    kind: str = "cleaning"
    options: Mapping[str, Any] = field(default_factory=dict)
    revision: str | None = None

    @property
    def version(self) -> str:
        """What tells results of this method from those of an older or newer one."""
        if self.revision is not None or not self.path:
            return self.revision or "1"
        module = self.path.partition(":")[0]
        names = _distributions().get(module.partition(".")[0])
        library = f"{names[0]} {version(names[0])}" if names else f"source {_source(module)}"
        # Where an object is in memory is another thing in every process.
        options = [
            f"{name}={re.sub(' at 0x[0-9a-f]+', '', repr(value))}"
            for name, value in sorted(self.options.items())
        ]
        return ", ".join([library, *options])

    def make(self, seed: int) -> Any:
        """Make the estimator; the seed goes to whatever takes one.

        Parameters
        ----------
        seed : int
            For `random_state`.

        Returns
        -------
        estimator or None
            None for no sampling.
        """
        return seeded(find(self.path)(**self.options), seed) if self.path else None

    def wrap(self, classifier: Any, seed: int) -> Any:
        """Make a classifier of another one; only where `kind` is "wrapper".

        Parameters
        ----------
        classifier : classifier
            Not fitted.
        seed : int
            For `random_state`.

        Returns
        -------
        classifier
            What to fit instead.
        """
        return seeded(find(self.path)(classifier, **self.options), seed)


def seeded(estimator: Any, seed: int) -> Any:
    """Give the seed to an estimator, if it takes one.

    Parameters
    ----------
    estimator : estimator
        It is changed.
    seed : int
        For `random_state`.

    Returns
    -------
    estimator
        The same.
    """
    if "random_state" in getattr(estimator, "get_params", dict)():
        estimator.set_params(random_state=seed)
    return estimator


@cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


def _source(module: str) -> str:
    # A file that has changed is another method, whatever its name.
    origin = getattr(importlib.util.find_spec(module), "origin", None)
    if origin is None or not Path(origin).is_file():
        return "unknown"
    return hashlib.blake2b(Path(origin).read_bytes(), digest_size=6).hexdigest()


def find(path: str) -> Any:
    """Import what an import path names.

    Parameters
    ----------
    path : str
        ``package.module:name``.

    Returns
    -------
    object
        A class or another callable.
    """
    module, colon, name = path.partition(":")
    if not colon or not module or not name:
        raise BenchError(f"{path!r} is no import path; write it as package.module:Name")
    try:
        found: Any = importlib.import_module(module)
    except Exception as problem:
        # The module is the user's: whatever it raises, they should read it.
        raise BenchError(f"{path!r} can't be imported: {problem}") from problem
    for part in name.split("."):
        if not hasattr(found, part):
            raise BenchError(f"{path!r} can't be imported: {module!r} has no {part!r}")
        found = getattr(found, part)
    if not callable(found):
        raise BenchError(f"{path!r} is no class and no function that makes an estimator")
    return found


def _table(*entries: Entry) -> dict[str, Entry]:
    return {entry.name: entry for entry in entries}


_OVER, _UNDER = "imblearn.over_sampling", "imblearn.under_sampling"

#: No sampling, GMR, and the paper's 18 baselines, in the order of its list.
METHODS = _table(
    Entry("None", "None", "", "none"),
    Entry("GMR", "GMR", "rectifold:GMR", "cleaning", revision="1"),
    Entry("SMOTE", "SMOTE", f"{_OVER}:SMOTE", "oversampling"),
    Entry("ADASYN", "ADASYN", f"{_OVER}:ADASYN", "oversampling"),
    Entry("BorderlineSMOTE", "BorSM", f"{_OVER}:BorderlineSMOTE", "oversampling"),
    Entry("SVMSMOTE", "SVMSM", f"{_OVER}:SVMSMOTE", "oversampling"),
    Entry("SMOTEN", "SMOTEN", f"{_OVER}:SMOTEN", "oversampling"),
    Entry("RandomOverSampler", "ROS", f"{_OVER}:RandomOverSampler", "oversampling"),
    Entry("RandomUnderSampler", "RUS", f"{_UNDER}:RandomUnderSampler", "undersampling"),
    Entry("EditedNearestNeighbours", "ENN", f"{_UNDER}:EditedNearestNeighbours"),
    Entry("CondensedNearestNeighbour", "CNN", f"{_UNDER}:CondensedNearestNeighbour"),
    Entry("TomekLinks", "Tomek", f"{_UNDER}:TomekLinks"),
    Entry("OneSidedSelection", "OSS", f"{_UNDER}:OneSidedSelection"),
    Entry("NeighbourhoodCleaningRule", "NCR", f"{_UNDER}:NeighbourhoodCleaningRule"),
    Entry("InstanceHardnessThreshold", "IHT", f"{_UNDER}:InstanceHardnessThreshold"),
    Entry("NearMiss", "NM", f"{_UNDER}:NearMiss", "undersampling"),
    Entry("RepeatedEditedNearestNeighbours", "RepENN", f"{_UNDER}:RepeatedEditedNearestNeighbours"),
    Entry("AllKNN", "AllKNN", f"{_UNDER}:AllKNN"),
    Entry("SMOTEENN", "SMOTEENN", "imblearn.combine:SMOTEENN", "oversampling"),
    Entry("SMOTETomek", "SMTomek", "imblearn.combine:SMOTETomek", "oversampling"),
)

#: What goes beyond the paper: settings chosen from the data, and the controls for that.
WRAPPERS = _table(
    Entry("GMR-adaptive", "GMR-ad", "rectifold:RectifiedClassifier", WRAPPER, revision="1"),
    Entry(
        *("GMR-ensemble", "GMR-en", "rectifold:RectifiedClassifier", WRAPPER),
        {"ensemble": 10},
        revision="1",
    ),
    # The same ensemble without any cleaning: what averaging alone does.
    Entry(
        *("Subsampling", "Sub", "rectifold:RectifiedClassifier", WRAPPER),
        {"ensemble": 10, "param_grid": ()},
        revision="1",
    ),
    Entry(
        *("Bagging", "Bag", "rectifold.bench.controls:Bagging", WRAPPER),
        {"n_estimators": 10},
        revision="1",
    ),
)

#: The paper's seven classifiers. One thread each: an experiment runs many of them side by side.
CLASSIFIERS = _table(
    Entry("DT", "DT", "sklearn.tree:DecisionTreeClassifier", "classifier"),
    Entry("RF", "RF", "sklearn.ensemble:RandomForestClassifier", "classifier"),
    Entry("SVM", "SVM", "sklearn.svm:SVC", "classifier"),
    Entry("KNN", "KNN", "sklearn.neighbors:KNeighborsClassifier", "classifier"),
    Entry("LR", "LR", "sklearn.linear_model:LogisticRegression", "classifier"),
    Entry("XGB", "XGB", "xgboost:XGBClassifier", "classifier", {"n_jobs": 1}),
    Entry("GBM", "GBM", "sklearn.ensemble:GradientBoostingClassifier", "classifier"),
)


def method(name: str) -> Entry:
    """Find a sampler by its name, its abbreviation or its import path.

    Parameters
    ----------
    name : str
        As in `METHODS` or `WRAPPERS`, or ``package.module:Sampler``, or
        ``name=package.module:Sampler``.

    Returns
    -------
    Entry
        What `Grid` takes.

    Examples
    --------
    >>> from rectifold.bench import method
    >>> method("ENN").name
    'EditedNearestNeighbours'
    >>> method("clusters=imblearn.under_sampling:ClusterCentroids").make(seed=42)
    ClusterCentroids(random_state=42)
    """
    return _named(name, {**METHODS, **WRAPPERS}, "method", "cleaning", "fit_resample")


def classifier(name: str) -> Entry:
    """Find a classifier by its name or its import path.

    Parameters
    ----------
    name : str
        As in `CLASSIFIERS`, or ``package.module:Classifier``, or
        ``name=package.module:Classifier``.

    Returns
    -------
    Entry
        What `Grid` takes.

    Examples
    --------
    >>> from rectifold.bench import classifier
    >>> classifier("lr").path
    'sklearn.linear_model:LogisticRegression'
    >>> trees = classifier("ET=sklearn.ensemble:ExtraTreesClassifier")
    >>> trees.name, trees.make(seed=42)
    ('ET', ExtraTreesClassifier(random_state=42))
    """
    return _named(name, CLASSIFIERS, "classifier", "classifier", "predict")


def _named(name: str, known: Mapping[str, Entry], what: str, kind: str, needs: str) -> Entry:
    for entry in known.values():
        if name.lower() in (entry.name.lower(), entry.short.lower()):
            return entry
    label, equals, path = name.rpartition("=")
    if ":" not in path or (equals and not re.fullmatch(r"[\w.+-]+", label)):
        raise BenchError(
            f"there is no {what} {name!r}{did_you_mean(name, list(known), list_all=True)}"
        )
    label = label or path.partition(":")[2]
    for entry in known.values():
        if label.lower() in (entry.name.lower(), entry.short.lower()):
            raise BenchError(
                f"{name!r}: the name {label!r} is taken by {entry.path or 'no sampling'}; give "
                f"yours another with name={path}"
            )
    if label.lower() == "avg":
        raise BenchError(f"{name!r}: {label!r} is what tables call averages; choose another name")
    entry = Entry(label, label, path, kind)
    try:
        estimator = entry.make(0)
    except BenchError:
        raise
    except Exception as problem:
        raise BenchError(f"{path!r} makes no estimator without arguments: {problem}") from problem
    if not hasattr(estimator, needs):
        raise BenchError(f"{path!r} is no {what}: what it makes has no {needs}")
    return entry
