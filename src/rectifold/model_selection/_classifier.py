"""RectifiedClassifier: fitted on cleaned data, by a setting chosen from the data, or by none."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    _fit_context,
    clone,
    is_classifier,
)
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils import Bunch, check_random_state, get_tags, indexable
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _is_arraylike,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from rectifold._core.target import Target, encode, named
from rectifold.model_selection._candidates import ALONE, Candidate, candidates
from rectifold.model_selection._folds import Fold, deal, whole_tests
from rectifold.model_selection._scorers import SOFT, check_ensemble, scorer_for
from rectifold.model_selection._selection import (
    Evidence,
    Searched,
    averaging_hurts,
    choose,
    decided,
    mixed,
    race,
    share_out,
)
from rectifold.model_selection._trials import Fitted, Task, Trial, counts, fit_whole, try_folds
from rectifold.posterior import reweighted
from rectifold.progress import muted, report
from rectifold.sampler import GMR


def _has(name: str) -> Any:
    def check(self: RectifiedClassifier) -> bool:
        if name == "decision_function" and self.correct_posterior:
            return False  # It would contradict the labels, which follow corrected probabilities.
        fitted = getattr(self, "members_", None)
        return hasattr(fitted[0].model if fitted else self.estimator, name)

    return available_if(check)


class RectifiedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that is fitted on cleaned data, where cleaning helps it.

    Which setting of :class:`rectifold.GMR` to clean by, or none, is chosen for this classifier and
    this data by cross-validation inside the training data. No cleaning is left only for a gain
    that exceeds `guard` standard errors.

    Parameters
    ----------
    estimator : classifier
        What to fit. It is cloned.

    sampler : GMR, default=None
        What all settings have in common, such as ``GMR(space="auto")`` for a messy table or
        ``GMR(space=StandardScaler())`` for columns of different scales. None means ``GMR()``.

    search : "auto", dict, list or callable, default="auto"
        The settings to choose from; no cleaning is always among them.

        - "auto": a few that experiments have shown to be worth trying (see Notes);
        - a dict of parameters of GMR with lists of values: all combinations;
        - a list of dicts of parameters of GMR. The key ``"then"`` may name an over-sampler for
          the cleaned rows: ``{"gamma": 0, "then": SMOTE()}``;
        - a function of `X` and `y` that gives one of these.

    cv : int, splitter or iterable, default=5
        Folds inside the training data. With an int they are stratified, by groups if `fit` gets
        ``groups``, and where the smallest class has fewer than 500 rows they are dealt twice, or
        as often as `ensemble` needs.

    scoring : str or callable, default="average_precision"
        What to choose by, as in scikit-learn. Where a metric given by its name needs a positive
        class, that is the smallest class. A function of (estimator, X, y) is averaged over folds;
        an ensemble needs a scorer made by `sklearn.metrics.make_scorer`.

    guard : float, default=1.0
        How many standard errors a gain over no cleaning must exceed; 0 takes the best.

    ensemble : int, default=None
        None makes one fit, on all rows, by the setting that was chosen. A number m averages m
        fits: those of the folds, by the settings that do best together. Each was fitted on the
        training part of a fold. Labels are those of the highest average. Where averaging itself
        costs this estimator more than `guard` standard errors, there is one fit all the same.

    correct_posterior : bool, default=False
        Put probabilities back on the scale of the uncleaned data
        (:func:`rectifold.posterior.undo_posterior_shift`), as far as removal was uniform; what an
        estimator does by itself, such as ``class_weight``, stays. Predicted labels follow them,
        and there is no `decision_function`.

    n_jobs : int, default=None
        Processes for the folds: None means 1, -1 all cores. It never changes the answer.

    random_state : int, RandomState instance or None, default=None
        For dealing the folds, for over-sampling, and for the members of an ensemble. A single fit
        keeps the estimator's own.

    verbose : int, default=0
        1 tells what was chosen, 2 also what every candidate gained.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.

    sampler_ : GMR or None
        The chosen setting, fitted on all training rows; None where nothing was cleaned. With an
        ensemble, the setting that cleaned most members.

    estimator_ : classifier
        The fitted classifier; with an ensemble its first member.

    members_ : list
        All fitted classifiers as ``.model``, one without an ensemble, and the share of the rows of
        every class that each was fitted on as ``.shares``.

    best_params_ : dict or None
        The parameters of GMR that `sampler_` has beyond `sampler`, with ``"then"`` where an
        over-sampler followed; None where nothing was cleaned.

    search_results_ : pandas.DataFrame
        A row for every candidate: setting, params, score of every fold, gain over no cleaning,
        its standard error, whether it was chosen, how many members of an ensemble it has.

    rectification_ : Rectification or None
        The record of `sampler_`: what happened to every training row, and why.

    n_fits_ : int
        How many classifiers were fitted in all; candidates that leave the same rows share one.

    n_features_in_ : int
        Number of features seen during `fit`, where the estimator tells it.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where `X` has names that are all strings.

    See Also
    --------
    GMR : The sampler alone.

    Notes
    -----
    Within a fold neighbours are searched for once, for all settings. The gain of a candidate is
    that of its out-of-fold answers, scored together for each dealing of the folds: with a handful
    of rare rows in each fold, averages of fold scores say less. Candidates that are behind no
    cleaning after the first dealing are not tried again.

    The settings of ``search="auto"``, besides none: ``GMR(gamma=0)``, ``GMR()``,
    ``GMR(alpha=0.7, gamma=0)``, ``GMR(beta=0.5, gamma=0.3)``, the same with ``alpha=0.7``,
    ``GMR(class_weight="balanced", gamma=0)``, and ``GMR(gamma=0)`` with random over-sampling
    after it. None of them gains if it is always taken; why each is there is told in
    :doc:`the guide </docs/guide/choosing>`.

    An ensemble shares its members out among candidates by greedy forward selection on the
    out-of-fold answers, beginning with a quarter of members that are not cleaned at all.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from rectifold import RectifiedClassifier
    >>> X, y = make_classification(n_samples=600, n_features=4, weights=[0.9], flip_y=0.1,
    ...                            class_sep=0.8, random_state=0)
    >>> model = RectifiedClassifier(DecisionTreeClassifier(random_state=0), random_state=0)
    >>> model.fit(X, y).best_params_
    {...}
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit"])],
        "sampler": [HasMethods(["fit_resample"]), None],
        "search": [str, dict, list, tuple, callable],
        "cv": ["cv_object"],
        "scoring": [str, callable],
        "guard": [Interval(numbers.Real, 0, None, closed="left")],
        "ensemble": [Interval(numbers.Integral, 2, None, closed="left"), None],
        "correct_posterior": ["boolean"],
        "n_jobs": [numbers.Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        sampler: Any = None,
        search: Any = "auto",
        cv: Any = 5,
        scoring: Any = "average_precision",
        guard: float = 1.0,
        ensemble: int | None = None,
        correct_posterior: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.sampler = sampler
        self.search = search
        self.cv = cv
        self.scoring = scoring
        self.guard = guard
        self.ensemble = ensemble
        self.correct_posterior = correct_posterior
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, **params: Any) -> RectifiedClassifier:
        """Choose a setting, clean, and fit.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_features)
            The training rows.

        y : array-like of shape (n_rows,)
            Their labels.

        **params : dict
            ``groups`` goes to the folds, everything else to the estimator's `fit`, entries of
            rows that are removed left out. With metadata routing enabled, what was requested goes
            to the estimator, the splitter and the scorer.

        Returns
        -------
        self : RectifiedClassifier
            The instance itself.
        """
        self._settle(self._explore(X, y, params))
        return self

    def _explore(self, X: Any, y: Any, params: Mapping[str, Any]) -> Searched:
        """Check the data, and try all candidates on it."""
        if y is None:
            raise ValueError(
                "RectifiedClassifier requires y to be passed, but the target y is None."
            )
        if not is_classifier(self.estimator):
            raise ValueError(
                f"estimator is a {type(self.estimator).__name__}, which is no classifier."
            )
        if self.correct_posterior and not hasattr(type(self.estimator), "predict_proba"):
            raise ValueError(
                f"correct_posterior=True corrects probabilities, and "
                f"{type(self.estimator).__name__} gives none: leave correct_posterior=False."
            )
        validate_data(self, X, skip_check_array=True)
        if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        labels = encode(y)
        check_consistent_length(X, labels.values)
        (X,) = indexable(X)
        sampler = self._sampler()
        task, groups = self._task(X, labels, sampler, params)
        folds = deal(
            self.cv, X, labels, groups, ensemble=self.ensemble, random_state=self.random_state
        )
        options = self._candidates(task, labels, folds)
        return self._search(task, labels, options, folds)

    def _sampler(self) -> GMR:
        if self.sampler is None:
            return GMR()
        if not isinstance(self.sampler, GMR):
            raise TypeError(
                f"sampler is a {type(self.sampler).__name__}: it must be a GMR, whose settings are "
                "chosen; to fit after another sampler, use a pipeline of imbalanced-learn."
            )
        return self.sampler

    def _task(
        self, X: Any, labels: Target, sampler: GMR, params: Mapping[str, Any]
    ) -> tuple[Task, Any]:
        scorer = scorer_for(self.estimator, self.scoring, labels)
        if self.ensemble is not None:
            check_ensemble(self.estimator, scorer, self.ensemble, len(labels.classes))
        if _routing_enabled():
            routed = process_routing(self, "fit", **params)
            groups = routed.splitter.split.get("groups")
        else:
            groups = params.get("groups")
            routed = Bunch(
                estimator=Bunch(
                    fit={
                        name: value
                        for name, value in params.items()
                        if name != "groups" and value is not None
                    }
                ),
                scorer=Bunch(score={}),
            )
        seed = None
        if self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        task = Task(
            estimator=self.estimator,
            sampler=sampler,
            X=X,
            y=labels.values,
            classes=labels.classes,
            fit_params=routed.estimator.fit,
            scorer=scorer,
            score_params=routed.scorer.score,
            seed=seed,
            correct=self.correct_posterior,
        )
        return task, groups

    def _candidates(self, task: Task, labels: Target, folds: list[Fold]) -> list[Candidate]:
        """Read the candidates, and leave out those that this data has no room for."""
        options = candidates(self.search, task.sampler, task.X, task.y)
        explicit = not isinstance(self.search, str)
        by_row = [name for name, value in task.fit_params.items() if _of_rows(value, task.y)]
        if by_row:
            # Rows that an over-sampler makes have no weight of their own.
            over = [one.name for one in options if one.then is not None]
            if over and explicit:
                raise ValueError(
                    f"search has {over[0]}, and rows that are made anew have no entry in "
                    f"{', '.join(sorted(by_row))}: leave one of them out."
                )
            options = [one for one in options if one.then is None]
        rows = min(len(fold.train) for fold in folds)
        rare = min(int(np.bincount(labels.codes[fold.train]).min()) for fold in folds)
        tried = []
        for one in options:
            if one.params is None:
                tried.append(one)
                continue
            sampler = clone(task.sampler).set_params(**one.params)
            if sampler.metric == "precomputed":
                raise ValueError(
                    "metric='precomputed' has distances between all rows, and folds have part of "
                    "them: give rows, and the metric by its name."
                )
            k = sampler.n_neighbors
            if isinstance(k, numbers.Integral) and int(k) >= rows:
                if explicit:
                    raise ValueError(
                        f"search has {one.name}, and a fold trains on {rows} rows: n_neighbors "
                        "must be smaller."
                    )
            elif len(labels.classes) > 2 or rare >= sampler.min_minority:
                tried.append(one)
        if len(tried) == 1 < len(options) and rare < task.sampler.min_minority:
            warnings.warn(
                f"class {named(labels.classes[labels.sizes.argmin()])} has {rare} rows to train on "
                f"in a fold, fewer than min_minority={task.sampler.min_minority}: nothing is "
                "cleaned.",
                UserWarning,
                stacklevel=4,
            )
        if len(tried) > 1 and self.guard > 0 and sum(whole_tests(folds, labels.codes)) < 2:
            raise ValueError(
                "fewer than two folds of cv score on rows of every class, so that no gain can be "
                "told from chance: take stratified folds, or guard=0."
            )
        return tried

    def _search(
        self, task: Task, labels: Target, options: list[Candidate], folds: list[Fold]
    ) -> Searched:
        """Try candidates round by round; those that are behind sit out the next."""
        found = Searched(task, labels, options, [], [])
        if len(options) == 1 and self.ensemble is None:
            return found
        running = np.ones(len(options), dtype=bool)
        for turn in sorted({fold.round for fold in folds}):
            now = [fold for fold in folds if fold.round == turn]
            answers = try_folds(
                task,
                [one for one, runs in zip(options, running, strict=True) if runs],
                now,
                keep=self.ensemble is not None,
                n_jobs=self.n_jobs,
                done=len(found.folds),
                total=len(folds),
            )
            for row in answers:
                each = iter(row)
                found.trials.append([next(each) if runs else None for runs in running])
            found.folds.extend(now)
            if len(found.folds) == len(folds):
                break
            _, running, _ = race(found, self._slack)
            # Whoever sits out the next round can't become a member.
            found.trials[:] = [
                [_without_model(trial, runs) for trial, runs in zip(row, running, strict=True)]
                for row in found.trials
            ]
            if self.ensemble is None and running.sum() == 1:
                break
        if len(found.folds) < len(folds):
            report(len(folds), len(folds))
        return found

    @property
    def _slack(self) -> float:
        """By how many standard errors a candidate may be behind and still run on."""
        # What loses by itself may still add to an average.
        return 0.0 if self.ensemble is None else 1.0

    def _settle(self, found: Searched) -> None:
        """Decide by what a search found, fit what was chosen, and set the attributes."""
        if not found.folds:
            self._keep(found, None, [0])
            return
        found, _, evidence = race(found, self._slack)
        if self.ensemble is None or averaging_hurts(found, self.guard):
            chosen = [choose(evidence, self.guard)]
        else:
            chosen = share_out(found, self.ensemble).tolist()
        self._keep(found, evidence, chosen)

    def _keep(self, found: Searched, evidence: Evidence | None, chosen: list[int]) -> None:
        task, labels, options = found.task, found.labels, found.options
        fits = sum(trial.distinct for row in found.trials for trial in row if trial is not None)
        cleaning = [place for place in chosen if options[place].params is not None]
        place = max(cleaning, key=cleaning.count) if cleaning else 0
        best = options[place]
        self.classes_ = labels.classes
        self.best_params_ = best.setting
        self.sampler_: GMR | None = None
        kept = np.arange(len(labels.codes))
        if best.params is not None:
            self.sampler_ = clone(task.sampler).set_params(**best.params)
            with muted():
                self.sampler_.fit_resample(task.X, task.y)
            kept = self.sampler_.sample_indices_
            if len(chosen) == 1 and not counts(task.y[kept], labels.classes).all():
                warnings.warn(
                    f"{best.name} leaves no row of a class when all training rows are cleaned: "
                    "nothing is cleaned.",
                    UserWarning,
                    stacklevel=4,
                )
                chosen, best, kept = [0], ALONE, np.arange(len(labels.codes))
                self.best_params_ = self.sampler_ = None
        self.rectification_ = None if self.sampler_ is None else self.sampler_.rectification_
        if len(chosen) == 1:
            self.members_ = [fit_whole(task, best, kept)]
            fits += 1
        else:
            pairs = zip(found.trials, chosen, strict=False)
            self.members_ = [_fitted(row[one]) for row, one in pairs]
        self.n_fits_ = fits
        self.estimator_ = self.members_[0].model
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name) and not hasattr(self, name):
                setattr(self, name, getattr(self.estimator_, name))
        self._searched = options, evidence, chosen
        self._tell()

    @property
    def search_results_(self) -> Any:
        """What every candidate showed, as a frame of pandas."""
        check_is_fitted(self, "members_")
        import pandas as pd

        options, evidence, chosen = self._searched
        table: dict[str, Any] = {
            "setting": [one.name for one in options],
            "params": [one.setting for one in options],
            "gain": np.zeros(len(options)),
            "standard_error": np.zeros(len(options)),
            "chosen": [place in chosen for place in range(len(options))],
            "members": [chosen.count(place) for place in range(len(options))],
        }
        if evidence is not None:
            table["gain"], table["standard_error"] = evidence.gain, evidence.error
            for fold, scores in enumerate(evidence.fold_scores.T):
                table[f"fold_{fold}"] = scores
        return pd.DataFrame(table)

    def _tell(self) -> None:
        if not self.verbose:
            return
        options, evidence, chosen = self._searched
        if self.verbose > 1 and evidence is not None:
            for one, gain, error in zip(options, evidence.gain, evidence.error, strict=True):
                print(f"[rectifold] {one.name}: gain {gain:+.4f} (standard error {error:.4f})")
        names = [options[place].name for place in chosen]
        told = ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))
        print(f"[rectifold] chosen: {names[0] if len(chosen) == 1 else told}")

    def predict(self, X: Any) -> Any:
        """Predict labels.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Their labels.
        """
        check_is_fitted(self, "members_")
        corrected = self.correct_posterior and hasattr(self.estimator_, "predict_proba")
        if len(self.members_) == 1 and not corrected:
            return self.estimator_.predict(X)
        soft = next(name for name in SOFT if hasattr(self.estimator_, name))
        return decided({soft: getattr(self, soft)(X)}, self.classes_)

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        """Predict probabilities; those of members are averaged.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self, "members_")
        found = []
        for one in self.members_:
            probabilities = one.model.predict_proba(X)
            if self.correct_posterior:
                probabilities = reweighted(probabilities, 1 / one.shares)
            found.append({"p": probabilities})
        if len(found) == 1:
            return np.asarray(found[0]["p"])
        return np.asarray(mixed(found, np.ones(len(found)))["p"])

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Give the values of the decision function; those of members are averaged.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            As the estimator gives them.
        """
        check_is_fitted(self, "members_")
        found = [{"d": one.model.decision_function(X)} for one in self.members_]
        if len(found) == 1:
            return np.asarray(found[0]["d"])
        return np.asarray(mixed(found, np.ones(len(found)))["d"])

    def get_metadata_routing(self) -> Any:
        """Tell what metadata goes where.

        Returns
        -------
        MetadataRouter
            From `fit` to the estimator's `fit`, the splitter and the scorer.
        """
        scorer = scorer_for(self.estimator, self.scoring)
        # What is no splitter takes groups as ours do; an iterator must not be used up here.
        splitter = self.cv if hasattr(self.cv, "split") else StratifiedGroupKFold(2)
        return (
            MetadataRouter(owner=self)
            .add(
                estimator=self.estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
            .add(
                splitter=splitter,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
            .add(
                scorer=scorer,
                method_mapping=MethodMapping().add(caller="fit", callee="score"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_estimator, of_sampler = get_tags(self.estimator), get_tags(self._sampler())
        tags.input_tags.sparse = of_estimator.input_tags.sparse and of_sampler.input_tags.sparse
        tags.input_tags.allow_nan = (
            of_estimator.input_tags.allow_nan and of_sampler.input_tags.allow_nan
        )
        if of_estimator.classifier_tags is not None:
            tags.classifier_tags.multi_class = of_estimator.classifier_tags.multi_class
        return tags


def _of_rows(value: Any, y: Any) -> bool:
    """Tell whether a parameter of fit has an entry for every row."""
    return bool(_is_arraylike(value) and _num_samples(value) == len(y))


def _without_model(trial: Trial | None, runs: Any) -> Trial | None:
    return trial if trial is None or runs else replace(trial, fitted=None)


def _fitted(trial: Trial | None) -> Fitted:
    assert trial is not None
    assert trial.fitted is not None
    return trial.fitted
