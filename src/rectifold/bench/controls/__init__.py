"""Controls and peers that wrap a classifier; stores record their import paths, so they are public.

`Bagging` is the control of ensembles, `Chooser` of choosing by search, and `Fused` of fusion. The
others are published methods that a user might pick instead.
"""

from typing import Any

from rectifold.bench.controls._bagging import Bagging, BalancedBagging
from rectifold.bench.controls._choosing import Chooser, ClassWeights
from rectifold.bench.controls._fusion import Fused
from rectifold.bench.controls._self_paced import SelfPacedEnsemble
from rectifold.model_selection._registry import find

__all__ = [
    "Bagging",
    "BalancedBagging",
    "Chooser",
    "ClassWeights",
    "Fused",
    "SelfPacedEnsemble",
    "replaced",
]


def replaced(estimator: Any, path: str, **options: Any) -> Any:
    """Return the classifier that `path` names, whatever `estimator` is.

    For methods with trees of their own, such as a balanced random forest: they have the same
    results beside every classifier of an experiment.

    Parameters
    ----------
    estimator : classifier
        Ignored.

    path : str
        ``module:callable`` of the classifier.

    **options : dict
        Its parameters.

    Returns
    -------
    classifier
        The classifier, not fitted.

    Examples
    --------
    >>> from rectifold.bench.controls import replaced
    >>> replaced(None, "imblearn.ensemble:BalancedRandomForestClassifier", n_estimators=5)
    BalancedRandomForestClassifier(n_estimators=5)
    """
    return find(path)(**options)
