"""Predict the probabilities of a Dask collection, partition by partition."""

from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from sklearn.utils.validation import check_is_fitted

from rectifold._core.errors import Param, ParameterError
from rectifold._core.utils import Floats


def predict_proba(model: Any, X: Any) -> Any:
    """Predict class probabilities for a Dask collection with a model fitted in memory.

    Nothing is computed before the result is. Every partition is predicted on its own, so that the
    probabilities are those in memory, bit for bit, if the model predicts a sample in the same way
    whatever other samples are in the batch, as trees and the vote of neighbours do. In linear
    models the last bit can differ.

    Parameters
    ----------
    model : classifier
        A fitted classifier with `predict_proba`, such as :class:`rectifold.RectifiedClassifier`.

    X : dask DataFrame or Array of shape (n_samples, n_features)
        The samples.

    Returns
    -------
    dask DataFrame or Array of shape (n_samples, n_classes)
        The probabilities: of a DataFrame a DataFrame with the same index, whose columns are the
        class labels; of an Array an Array, in the order of `classes_`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from rectifold.dask import predict_proba
    >>> X, y = make_classification(n_samples=600, weights=[0.9], random_state=0)
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> lazy = predict_proba(model, da.from_array(X, chunks=(100, -1)))
    >>> lazy.shape, lazy.numblocks
    ((600, 2), (6, 1))
    >>> bool(np.array_equal(lazy.compute(scheduler="threads"), model.predict_proba(X)))
    True
    """
    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            "{} has no predict_proba: pass a fitted classifier with probabilities.", Param("model")
        )
    check_is_fitted(model)
    if isinstance(X, dd.DataFrame):
        return _of_frame(model, X)
    if isinstance(X, da.Array):
        return _of_array(model, X)
    raise ParameterError(
        "{} is a {}: pass a DataFrame or an Array of Dask; {} takes data in memory.",
        Param("X"),
        type(X).__name__,
        "model.predict_proba",
    )


def _of_frame(model: Any, X: Any) -> Any:
    _check_width(model, len(X.columns))
    names = getattr(model, "feature_names_in_", None)
    if names is not None and [*X.columns] != [*names]:
        missing = [name for name in names if name not in X.columns]
        if missing:
            raise ParameterError(
                "{} lacks the column {}, which the model was fitted with.",
                Param("X"),
                repr(missing[0]),
            )
        raise ParameterError(
            "{} has its columns in another order than in fit: pass X[model.feature_names_in_].",
            Param("X"),
        )
    meta = _as_frame(np.empty((0, len(model.classes_))), X._meta, model.classes_)
    return X.map_partitions(
        _predict_frame, dask.delayed(model, traverse=False), model.classes_, meta=meta
    )


def _of_array(model: Any, X: Any) -> Any:
    if X.ndim != 2:
        raise ParameterError(
            "{} has {} dimensions: it must have two, samples and features.",
            Param("X"),
            str(X.ndim),
        )
    _check_width(model, X.shape[1])
    n_classes = len(model.classes_)
    # A task needs all features of its samples.
    return X.rechunk({1: -1}).map_blocks(
        _predict_array,
        dask.delayed(model, traverse=False),
        n_classes,
        dtype=np.float64,
        chunks=(X.chunks[0], (n_classes,)),
        meta=np.empty((0, 0)),
    )


def _check_width(model: Any, n_columns: Any) -> None:
    expected = getattr(model, "n_features_in_", None)
    # The number of columns of an array can be unknown.
    if expected is not None and n_columns == n_columns and n_columns != expected:
        raise ParameterError(
            "{} has {} columns, and the model was fitted with {}.",
            Param("X"),
            str(n_columns),
            str(expected),
        )


def _predict_frame(part: Any, model: Any, classes: Any) -> Any:
    if len(part) == 0:
        return _as_frame(np.empty((0, len(classes))), part, classes)
    return _as_frame(model.predict_proba(part), part, classes)


def _predict_array(block: Any, model: Any, n_classes: int) -> Floats:
    if block.shape[0] == 0:
        return np.empty((0, n_classes))
    return np.asarray(model.predict_proba(block), dtype=np.float64)


def _as_frame(probabilities: Any, part: Any, classes: Any) -> Any:
    import pandas as pd

    columns = pd.Index(classes.tolist())
    return pd.DataFrame(np.asarray(probabilities, dtype=np.float64), part.index, columns)
