"""Self-Paced Ensemble (Liu et al., ICDE 2020), written from the paper."""

import numbers
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import _fit_context, clone
from sklearn.ensemble._base import _set_random_states
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval

from rectifold._core.utils import Floats, Ints
from rectifold.bench.controls._averages import Averaged, ranking


class SelfPacedEnsemble(Averaged):
    """Ensemble of classifiers, each fitted on a balanced subset chosen by hardness.

    Every member is fitted on all samples of the minority class and as many of the majority class.
    Those of the first member are random. For each following member the majority samples are
    divided into bins by their hardness, the absolute error of the ensemble so far, and a bin is
    drawn from in proportion to 1 / (mean hardness + factor). The factor grows from member to
    member: the first ones see the bins with equal contributions to the error, the last one sees as
    many samples of hard bins as of easy ones.

    Parameters
    ----------
    estimator : classifier
        The classifier of the members. It is cloned.

    n_estimators : int, default=10
        Number of members.

    k_bins : int, default=20
        Number of bins, of equal width from the least to the greatest hardness.

    random_state : int, RandomState instance or None, default=None
        Controls the subsets, and the members that have a `random_state`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels.

    estimators_ : list of classifier
        The members.

    estimators_samples_ : list of ndarray of shape (2 * n_minority,)
        For every member the indices of the samples that it was fitted on.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only if `X` has feature names that are all
        strings.

    Notes
    -----
    The paper leaves some questions open. As in the authors' implementation, the random first member
    belongs to the ensemble, so that with n members the factor of member i = 1, ..., n - 1 is
    tan(i pi / (2 (n - 1))), and empty bins have no weight. A bin with fewer samples than its share
    is used up, and the other bins fill its place in proportion to their weights; so every subset is
    balanced, as the paper asks for. The implementation leaves such places empty, and draws up to
    one sample more of every bin.

    Without probabilities, the hardness is the logistic function of the average decision function,
    and decision functions are averaged.

    References
    ----------
    Z. Liu, W. Cao, Z. Gao, J. Bian, H. Chen, Y. Chang, T.-Y. Liu, "Self-paced ensemble for highly
    imbalanced massive data classification", IEEE 36th International Conference on Data Engineering
    (ICDE), 2020.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from rectifold.bench.controls import SelfPacedEnsemble
    >>> X, y = make_classification(n_samples=600, weights=[0.9], random_state=0)
    >>> model = SelfPacedEnsemble(DecisionTreeClassifier(), random_state=0).fit(X, y)
    >>> len(model.estimators_)
    10
    >>> [int(y[samples].sum()) * 2 == len(samples) for samples in model.estimators_samples_[:3]]
    [True, True, True]
    """

    _binary = True
    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit"])],
        "n_estimators": [Interval(numbers.Integral, 1, None, closed="left")],
        "k_bins": [Interval(numbers.Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, estimator: Any, *, n_estimators: int = 10, k_bins: int = 20, random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.k_bins = k_bins
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> "SelfPacedEnsemble":
        """Fit the members one after another.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            Training data.

        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        self : SelfPacedEnsemble
            Fitted estimator.
        """
        X, target = self._check_input(X, y)
        random = check_random_state(self.random_state)
        smaller = int(target.sizes.argmin())
        minority = np.flatnonzero(target.codes == smaller)
        majority = np.flatnonzero(target.codes != smaller)
        X_majority = _safe_indexing(X, majority)
        estimators: list[Any] = []
        self.estimators_samples_ = []
        total = np.zeros(len(majority))
        for i in range(self.n_estimators):
            hardness = total
            if i:
                hardness = total / i
                # Majority samples are 0, so the probability of the minority is the absolute error.
                hardness = hardness if hasattr(estimators[0], "predict_proba") else expit(hardness)
            factor = np.tan(np.pi / 2 * i / max(1, self.n_estimators - 1))
            drawn = draw_by_hardness(hardness, len(minority), factor, self.k_bins, random)
            samples = np.sort(np.concatenate([minority, majority[drawn]]))
            model = clone(self.estimator)
            _set_random_states(model, random)
            model.fit(_safe_indexing(X, samples), target.values[samples])
            total += ranking(model, X_majority, smaller)
            estimators.append(model)
            self.estimators_samples_.append(samples)
        self.estimators_ = estimators
        return self


def draw_by_hardness(
    hardness: Floats, n: int, factor: float, k_bins: int, random: np.random.RandomState
) -> Ints:
    """Return the positions of `n` samples, drawn from bins of equal width in hardness.

    A bin has the weight 1 / (mean hardness + factor). If all samples are equally hard, `n` of them
    are drawn at random.
    """
    low, high = hardness.min(), hardness.max()
    if low == high:
        return random.choice(len(hardness), n, replace=False)
    bins = np.digitize(hardness, np.linspace(low, high, k_bins + 1)[1:-1])
    sizes = np.bincount(bins, minlength=k_bins)
    means = np.bincount(bins, hardness, k_bins) / np.maximum(sizes, 1)
    counts = share(n, 1 / (means + factor), sizes)
    return np.concatenate(
        [
            random.choice(np.flatnonzero(bins == number), count, replace=False)
            for number, count in enumerate(counts)
            if count
        ]
    )


def share(n: int, weights: Floats, sizes: Ints) -> Ints:
    """Divide `n` among bins in proportion to their weights, at most `sizes` to each."""
    shares = np.zeros(len(sizes))
    unfilled = sizes > 0
    while unfilled.any():
        left = n - sizes[~unfilled].sum()
        shares[unfilled] = left * weights[unfilled] / weights[unfilled].sum()
        too_small = unfilled & (shares > sizes)
        if not too_small.any():
            break
        shares[too_small] = sizes[too_small]
        unfilled &= ~too_small
    counts = np.floor(shares).astype(np.intp)
    # The rest goes to the largest remainders.
    order = np.argsort(counts - shares, kind="stable")
    counts[order[: n - counts.sum()]] += 1
    return counts
