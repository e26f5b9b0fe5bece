"""The methods and classifiers that experiments know by name, and how to create them."""

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

#: The kind of a method that wraps the classifier instead of resampling its training data.
WRAPPER = "wrapper"


class BenchError(ValueError):
    """Error about an experiment: unknown names, wrong settings, unreadable results.

    Examples
    --------
    >>> from rectifold.bench import BenchError, method
    >>> try:
    ...     method("SMOT")
    ... except BenchError as error:
    ...     print(error)
    there is no method 'SMOT'; did you mean 'SMOTE'? There are 'None', 'GMR', ...
    """


def check_distinct(kind: str, names: Sequence[str | int]) -> None:
    """Raise an error if a name, under which results are stored, occurs twice."""
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise BenchError(f"{kind} {repeated!r} is named twice")


@dataclass(frozen=True)
class Entry:
    """A sampler or a classifier, described by plain data that can be sent to other processes.

    Attributes
    ----------
    name : str
        Name in tables and in the store.
    short : str
        Abbreviation in the table of ranks.
    path : str
        ``module:callable``; the callable returns the estimator. Empty for no sampling.
    kind : str
        For samplers "oversampling", "undersampling", "cleaning" or "none"; "wrapper" for a method
        that wraps the classifier; for classifiers "classifier".
    options : dict
        Arguments of the callable.
    revision : str or None
        Version of a method of rectifold, raised when its results change. None means the version of
        the library behind `path` and the options.
    version : str
        Distinguishes results of this method from those of an older or newer version.
    options_text : str
        Distinguishes results of this classifier from those with other options.

    See Also
    --------
    method : Find a sampler by its name or its import path.
    classifier : Find a classifier by its name or its import path.

    Examples
    --------
    Create an entry for a method with arguments. They are part of its version: results with other
    arguments under the same name count as outdated. So do results of a classifier with other
    arguments; for a comparison with these, give it another name.

    >>> from rectifold.bench import Entry
    >>> gentle = Entry("GMR-gentle", "gentle", "rectifold:GMR", options={"gamma": 0.0})
    >>> gentle.make(seed=42)
    GMR(gamma=0.0, random_state=42)
    >>> gentle.version
    '..., gamma=0.0'

    A method that wraps the classifier is of the kind "wrapper":

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
        """Distinguishes results of this method from those of an older or newer version."""
        if self.revision is not None or not self.path:
            return self.revision or "1"
        module = self.path.partition(":")[0]
        names = _distributions().get(module.partition(".")[0])
        library = f"{names[0]} {version(names[0])}" if names else f"source {_source(module)}"
        return ", ".join(filter(None, [library, self.options_text]))

    @property
    def options_text(self) -> str:
        """Distinguishes results of this classifier from those with other options."""
        # Memory addresses differ between processes.
        return ", ".join(
            f"{name}={re.sub(' at 0x[0-9a-f]+', '', repr(value))}"
            for name, value in sorted(self.options.items())
        )

    def make(self, seed: int) -> Any:
        """Create the estimator.

        Parameters
        ----------
        seed : int
            Its `random_state`, if it has one.

        Returns
        -------
        estimator or None
            The estimator, not fitted; None for no sampling.
        """
        return seeded(find(self.path)(**self.options), seed) if self.path else None

    def wrap(self, classifier: Any, seed: int) -> Any:
        """Wrap a classifier; only if `kind` is "wrapper".

        Parameters
        ----------
        classifier : classifier
            The classifier, not fitted.
        seed : int
            The `random_state` of the wrapper, if it has one.

        Returns
        -------
        classifier
            The wrapper, to be fitted instead.
        """
        return seeded(find(self.path)(classifier, **self.options), seed)


def seeded(estimator: Any, seed: int) -> Any:
    """Set the `random_state` of an estimator in place, if it has one, and return it."""
    if "random_state" in getattr(estimator, "get_params", dict)():
        estimator.set_params(random_state=seed)
    return estimator


@cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


def _source(module: str) -> str:
    # A hash of the file, since a changed file is another method.
    origin = getattr(importlib.util.find_spec(module), "origin", None)
    if origin is None or not Path(origin).is_file():
        return "unknown"
    return hashlib.blake2b(Path(origin).read_bytes(), digest_size=6).hexdigest()


def find(path: str) -> Any:
    """Import the class or function that ``package.module:name`` names."""
    module, colon, name = path.partition(":")
    if not colon or not module or not name:
        raise BenchError(f"{path!r} is not an import path; write it as package.module:Name")
    try:
        value: Any = importlib.import_module(module)
    except Exception as error:
        # A module of the user can raise anything.
        raise BenchError(f"{path!r} can't be imported: {error}") from error
    for part in name.split("."):
        if not hasattr(value, part):
            raise BenchError(f"{path!r} can't be imported: {module!r} has no {part!r}")
        value = getattr(value, part)
    if not callable(value):
        raise BenchError(f"{path!r} is not a class or a function that returns an estimator")
    return value


def _table(*entries: Entry) -> dict[str, Entry]:
    return {entry.name: entry for entry in entries}


_OVER, _UNDER = "imblearn.over_sampling", "imblearn.under_sampling"

#: No sampling, GMR, and the paper's 18 baselines, in the order of the paper.
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

_CONTROLS = "rectifold.bench.controls"


def _replacement(name: str, short: str, **options: Any) -> Entry:
    """Return the entry of an ensemble of imbalanced-learn, fitted in place of the classifier."""
    options["path"] = f"imblearn.ensemble:{name}Classifier"
    return Entry(name, short, f"{_CONTROLS}:replaced", WRAPPER, options, revision="1")


#: Methods that are not in the paper: settings chosen from the data, controls for them,
#: and ensembles and weights for imbalanced data.
EXTRA_METHODS = _table(
    Entry("GMR-adaptive", "GMR-ad", "rectifold:RectifiedClassifier", WRAPPER, revision="3"),
    Entry(
        *("GMR-ensemble", "GMR-en", "rectifold:RectifiedClassifier", WRAPPER),
        {"ensemble": 10},
        revision="4",
    ),
    # The vote without cleaning, and cleaning without the vote, to measure what each adds.
    Entry(
        *("Vote", "Vote", "rectifold:RectifiedClassifier", WRAPPER),
        {"param_grid": ()},
        revision="3",
    ),
    Entry(
        *("Cleaning", "Clean", "rectifold:RectifiedClassifier", WRAPPER),
        {"vote_weight": 0},
        revision="2",
    ),
    # The control of the ensemble.
    Entry(
        *("Bagging", "Bag", f"{_CONTROLS}:Bagging", WRAPPER),
        {"n_estimators": 10},
        revision="1",
    ),
    # The same guard as GMR-adaptive, and nothing of the paper to choose from.
    Entry("Chooser", "Choose", f"{_CONTROLS}:Chooser", WRAPPER, revision="1"),
    # Fusion with another classifier instead of the neighbour vote.
    Entry("Fused-RF", "F-RF", f"{_CONTROLS}:Fused", WRAPPER, {"partner": "forest"}, revision="1"),
    Entry("Fused-LR", "F-LR", f"{_CONTROLS}:Fused", WRAPPER, {"partner": "logistic"}, revision="1"),
    # What a user might pick instead.
    Entry("ClassWeights", "CW", f"{_CONTROLS}:ClassWeights", WRAPPER, revision="1"),
    Entry(
        *("BalancedBagging", "BalBag", f"{_CONTROLS}:BalancedBagging", WRAPPER),
        {"n_estimators": 10, "n_jobs": 1},
        revision="1",
    ),
    Entry(
        *("SelfPacedEnsemble", "SPE", f"{_CONTROLS}:SelfPacedEnsemble", WRAPPER),
        {"n_estimators": 10},
        revision="1",
    ),
    # These have trees of their own, and the same results beside every classifier.
    _replacement("BalancedRandomForest", "BRF", n_jobs=1),
    _replacement("EasyEnsemble", "EasyEns", n_jobs=1),
    _replacement("RUSBoost", "RUSBoo"),
)

#: The paper's seven classifiers, with one thread each: experiments run many of them in parallel.
CLASSIFIERS = _table(
    Entry("DT", "DT", "sklearn.tree:DecisionTreeClassifier", "classifier"),
    Entry("RF", "RF", "sklearn.ensemble:RandomForestClassifier", "classifier"),
    Entry("SVM", "SVM", "sklearn.svm:SVC", "classifier"),
    Entry("KNN", "KNN", "sklearn.neighbors:KNeighborsClassifier", "classifier"),
    Entry("LR", "LR", "sklearn.linear_model:LogisticRegression", "classifier"),
    Entry("XGB", "XGB", "xgboost:XGBClassifier", "classifier", {"n_jobs": 1}),
    Entry("GBM", "GBM", "sklearn.ensemble:GradientBoostingClassifier", "classifier"),
)

#: Classifiers of other packages that the paper does not have: with one thread, and silent.
EXTRA_CLASSIFIERS = _table(
    Entry(
        *("LightGBM", "LGBM", "lightgbm:LGBMClassifier", "classifier"),
        {"n_jobs": 1, "verbose": -1},
    ),
    # CatBoost lists only the parameters that it is passed, so the seed needs a place.
    Entry(
        *("CatBoost", "Cat", "catboost:CatBoostClassifier", "classifier"),
        {"thread_count": 1, "verbose": 0, "allow_writing_files": False, "random_state": 0},
    ),
)


def method(name: str) -> Entry:
    """Find a sampler by its name, its abbreviation or its import path.

    Parameters
    ----------
    name : str
        A known name or abbreviation in any case, ``package.module:Sampler``, or
        ``name=package.module:Sampler``.

    Returns
    -------
    Entry
        The entry, for `Grid`.

    Examples
    --------
    >>> from rectifold.bench import method
    >>> method("ENN").name
    'EditedNearestNeighbours'
    >>> method("clusters=imblearn.under_sampling:ClusterCentroids").make(seed=42)
    ClusterCentroids(random_state=42)
    """
    return _find_entry(name, {**METHODS, **EXTRA_METHODS}, "method", "cleaning", "fit_resample")


def classifier(name: str) -> Entry:
    """Find a classifier by its name or its import path.

    Parameters
    ----------
    name : str
        A known name in any case, ``package.module:Classifier``, or
        ``name=package.module:Classifier``.

    Returns
    -------
    Entry
        The entry, for `Grid`.

    Examples
    --------
    >>> from rectifold.bench import classifier
    >>> classifier("lr").path
    'sklearn.linear_model:LogisticRegression'
    >>> trees = classifier("ET=sklearn.ensemble:ExtraTreesClassifier")
    >>> trees.name, trees.make(seed=42)
    ('ET', ExtraTreesClassifier(random_state=42))
    """
    known = {**CLASSIFIERS, **EXTRA_CLASSIFIERS}
    entry = _find_entry(name, known, "classifier", "classifier", "predict")
    package = entry.path.partition(":")[0]
    if entry.name in EXTRA_CLASSIFIERS and importlib.util.find_spec(package) is None:
        raise BenchError(
            f"{entry.name} needs {package}, which is not installed: pip install {package}"
        )
    return entry


def _find_entry(
    name: str, known: Mapping[str, Entry], title: str, kind: str, required: str
) -> Entry:
    """Return a known entry, or a new one whose estimator has the `required` method."""
    for entry in known.values():
        if name.lower() in (entry.name.lower(), entry.short.lower()):
            return entry
    label, equals, path = name.rpartition("=")
    if ":" not in path or (equals and not re.fullmatch(r"[\w.+-]+", label)):
        raise BenchError(
            f"there is no {title} {name!r}{did_you_mean(name, list(known), list_all=True)}"
        )
    label = label or path.partition(":")[2]
    for entry in known.values():
        if label.lower() in (entry.name.lower(), entry.short.lower()):
            raise BenchError(
                f"{name!r}: the name {label!r} is taken by {entry.path or 'no sampling'}; choose "
                f"another with name={path}"
            )
    if label.lower() == "avg":
        raise BenchError(f"{name!r}: {label!r} is the name of averages in tables; choose another")
    entry = Entry(label, label, path, kind)
    try:
        estimator = entry.make(0)
    except BenchError:
        raise
    except Exception as error:
        raise BenchError(f"{path!r} can't be called without arguments: {error}") from error
    if not hasattr(estimator, required):
        raise BenchError(f"{path!r} is not a {title}: its result has no {required}")
    return entry
