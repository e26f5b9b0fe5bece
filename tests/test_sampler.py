"""GMR returns the containers of its input, and works in pipelines and grid searches."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from imblearn.pipeline import make_pipeline
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler

from rectifold import GMR
from rectifold.progress import listening


@pytest.fixture
def kept(overlapping):
    gmr = GMR()
    gmr.fit_resample(*overlapping)
    assert 0 < len(gmr.sample_indices_) < len(overlapping[1])
    return gmr.sample_indices_


def test_arrays_keep_their_dtype(overlapping, kept):
    X, y = overlapping
    X_clean, y_clean = GMR().fit_resample(X.astype(np.float32), y.astype(np.int8))
    assert (X_clean.dtype, y_clean.dtype) == (np.float32, np.int8)
    np.testing.assert_array_equal(X_clean, X[kept].astype(np.float32))
    np.testing.assert_array_equal(y_clean, y[kept])


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_sparse_matrices_keep_their_format(overlapping, kept, form):
    X, y = overlapping
    X_clean, _ = GMR().fit_resample(form(X), y)
    assert X_clean.format == form(X).format
    np.testing.assert_array_equal(X_clean.toarray(), X[kept])


def test_other_sparse_formats_become_csr(overlapping, kept):
    X, y = overlapping
    X_clean, _ = GMR().fit_resample(sparse.coo_matrix(X), y)
    assert X_clean.format == "csr"
    np.testing.assert_array_equal(X_clean.toarray(), X[kept])


def test_a_sparse_matrix_is_not_changed(overlapping):
    X, y = overlapping
    entries = sparse.csr_matrix(X)
    entries.data[::3] = 0
    before = entries.data.copy()
    GMR(metric="cosine").fit_resample(entries, y)
    np.testing.assert_array_equal(entries.data, before)


def test_pandas_keeps_index_dtypes_and_names(overlapping, kept):
    X, y = overlapping
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"row{i}" for i in range(len(X))])
    frame["a"] = (frame["a"] * 100).astype("int16")
    labels = pd.Series(y, index=frame.index, name="label").map({0: "no", 1: "yes"})
    gmr = GMR()
    X_clean, y_clean = gmr.fit_resample(frame, labels)
    pd.testing.assert_frame_equal(X_clean, frame.iloc[gmr.sample_indices_])
    pd.testing.assert_series_equal(y_clean, labels.iloc[gmr.sample_indices_])
    assert gmr.feature_names_in_.tolist() == ["a", "b", "c"]
    record = gmr.rectification_.to_frame()
    assert record.index.equals(frame.index)


def test_polars_stays_polars(overlapping, kept):
    X, y = overlapping
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    X_clean, y_clean = GMR().fit_resample(frame, pl.Series("label", y))
    assert X_clean.equals(frame[kept])
    assert y_clean.equals(pl.Series("label", y[kept]))


def test_lists_stay_lists(overlapping, kept):
    X, y = overlapping
    X_clean, y_clean = GMR().fit_resample(X.tolist(), y.tolist())
    assert X_clean == X[kept].tolist()
    assert y_clean == y[kept].tolist()


@pytest.mark.parametrize(
    "labels",
    [
        lambda y: y.astype(bool),
        lambda y: np.where(y == 1, "yes", "no"),
        lambda y: np.where(y == 1, "yes", "no").astype(object),
        lambda y: np.where(y == 1, "yes", "no").tolist(),
        lambda y: y.astype(float),
        lambda y: y.reshape(-1, 1),
        lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.Series(np.where(y == 1, "yes", "no"), dtype="category"),
        lambda y: pd.Series(pd.Categorical(np.where(y == 1, "b", "c"), categories=list("abc"))),
        lambda y: pd.Series(y, dtype="Int64"),
        lambda y: pd.Series(y.astype(bool), dtype="boolean"),
        lambda y: pd.Series(np.where(y == 1, "yes", "no"), dtype="string"),
        lambda y: pd.DataFrame({"label": y}),
        lambda y: pl.Series(np.where(y == 1, "yes", "no")),
        lambda y: pl.Series(np.where(y == 1, "yes", "no"), dtype=pl.Categorical),
        lambda y: pl.Series(y.astype(bool)),
        lambda y: pl.DataFrame({"label": y}),
    ],
)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_labels_of_any_type_have_the_same_result_and_keep_their_type(overlapping, kept, labels):
    X, y = overlapping
    given = labels(y)
    gmr = GMR()
    _, y_clean = gmr.fit_resample(X, given)
    np.testing.assert_array_equal(gmr.sample_indices_, kept)
    assert type(y_clean) is type(given)
    assert len(y_clean) == len(kept)
    assert getattr(y_clean, "dtype", None) == getattr(given, "dtype", None)
    assert len(gmr.sampling_strategy_) == 1


def test_an_indicator_matrix_holds_classes(overlapping, kept):
    X, y = overlapping
    gmr = GMR()
    _, y_clean = gmr.fit_resample(X, np.eye(2, dtype=int)[y])
    np.testing.assert_array_equal(y_clean.argmax(axis=1), y[kept])


def test_the_metric_switches_above_the_threshold(overlapping):
    X, y = overlapping
    gmr = GMR(metric_threshold=2)
    gmr.fit_resample(X, y)
    assert gmr.metric_ == "cosine"
    for name in ("auto", "l2", "minkowski", "euclidean"):
        gmr = GMR(metric=name)
        gmr.fit_resample(X, y)
        assert gmr.metric_ == "euclidean"


def test_missing_values_are_allowed_by_nan_euclidean(overlapping):
    X, y = overlapping
    X = X.copy()
    X[::10, 0] = np.nan
    X_clean, _ = GMR(metric="nan_euclidean").fit_resample(X, y)
    assert np.isnan(X_clean).any()


def test_a_space_changes_distances_but_not_the_samples(overlapping):
    X, y = overlapping
    X = X * [1, 100, 1e4]
    scaled, by_hand = GMR(space=StandardScaler()), GMR()
    X_clean, _ = scaled.fit_resample(X, y)
    by_hand.fit_resample(StandardScaler().fit_transform(X), y)
    np.testing.assert_array_equal(scaled.sample_indices_, by_hand.sample_indices_)
    np.testing.assert_array_equal(X_clean, X[scaled.sample_indices_])
    np.testing.assert_allclose(scaled.space_.scale_, X.std(axis=0))
    assert by_hand.space_ is None


@pytest.mark.parametrize("space", ["auto", "heom"])
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_messy_table_is_returned_unchanged(overlapping, space, library):
    X, y = overlapping
    rng = np.random.default_rng(0)
    messy = library(
        {
            "amount": X[:, 0] * 1e4,
            "colour": np.where(X[:, 1] > 0, "red", "blue").tolist(),
            "day": [f"2024-01-{int(v):02d}" for v in rng.integers(1, 28, len(X))],
            "sometimes": [None if v < 0 else v for v in X[:, 2].tolist()],
        }
    )
    gmr = GMR(space=space)
    X_clean, _ = gmr.fit_resample(messy, y)
    if library is pd.DataFrame:
        pd.testing.assert_frame_equal(X_clean, messy.iloc[gmr.sample_indices_])
    else:
        assert X_clean.equals(messy[gmr.sample_indices_])
    assert 0 < gmr.rectification_.removed.sum() < len(y)


def _dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("container", [np.array, pd.DataFrame, sparse.csr_matrix])
def test_a_space_that_works_in_place_does_not_change_the_input(overlapping, container):
    X, y = overlapping
    given = container(X.copy())
    gmr = GMR(space=MaxAbsScaler(copy=False))
    X_clean, _ = gmr.fit_resample(given, y)
    assert not np.any(_dense(given) != X)
    assert not np.any(_dense(X_clean) != X[gmr.sample_indices_])


def test_a_space_must_return_a_point_per_sample(overlapping):
    with pytest.raises(ValueError, match="one point per sample: it returned 10 for 460"):
        GMR(space=FunctionTransformer(lambda X: X[:10])).fit_resample(*overlapping)


def test_it_works_in_a_pipeline_and_a_grid_search(overlapping):
    X, y = overlapping
    pipeline = make_pipeline(StandardScaler(), GMR(), LogisticRegression())
    search = GridSearchCV(pipeline, {"gmr__gamma": [0, 0.1], "gmr__n_neighbors": [5, 15]})
    search.fit(X, y)
    assert search.best_score_ > 0.8
    assert "GMR" in pipeline._repr_html_()


def test_cloning_and_setting_parameters_work(overlapping):
    gmr = GMR(alpha=0.4, space=StandardScaler())
    copy = clone(gmr).set_params(beta=0.6, space__with_mean=False)
    assert (copy.alpha, copy.beta, copy.space.with_mean) == (0.4, 0.6, False)
    assert gmr.space.with_mean


@pytest.mark.parametrize("container", [list, np.asarray, pd.Series])
def test_sample_weights_come_back_for_the_samples_that_are_kept(container, overlapping):
    X, y = overlapping
    gmr, weight = GMR(), np.arange(len(y)) / 7
    X_clean, y_clean, left = gmr.fit_resample(X, y, sample_weight=container(weight))
    assert isinstance(left, type(container(weight)))
    np.testing.assert_array_equal(np.asarray(left), weight[gmr.sample_indices_])
    for one, other in zip((X_clean, y_clean), GMR().fit_resample(X, y), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        gmr.fit_resample(X, y, sample_weight=weight[1:])
    with pytest.raises(TypeError, match="does not support sample_weight"):
        gmr.fit(X, y, sample_weight=weight)


def test_a_pipeline_passes_no_sample_weights_unless_told_so(overlapping):
    X, y = overlapping
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(GMR(), LogisticRegression().set_fit_request(sample_weight=True))
        with pytest.raises(ValueError):  # noqa: PT011
            pipeline.fit(X, y, sample_weight=np.ones(len(y)))


def test_a_class_that_loses_all_of_its_samples_is_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.choice(list("abcd"), 300, p=[0.4, 0.3, 0.2, 0.1])
    with pytest.warns(UserWarning, match="class 'd' has lost all of its samples"):
        _, left = GMR(sampling_strategy="all", alpha=0.6).fit_resample(X, y)
    assert "d" not in left


def test_a_tiny_minority_is_not_cleaned_with_a_warning(overlapping):
    X, y = overlapping
    rows = np.flatnonzero((y == 0) | (np.cumsum(y) <= 9))
    gmr = GMR()
    with pytest.warns(UserWarning, match="class 1 has 9 samples, fewer than min_minority=10"):
        X_clean, _ = gmr.fit_resample(X[rows], y[rows])
    assert len(X_clean) == len(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GMR(min_minority=9).fit_resample(X[rows], y[rows])


def test_a_small_class_among_several_loses_nothing(overlapping):
    X, y = overlapping
    y = np.where((y == 1) & (np.cumsum(y) <= 9), 2, y)
    gmr = GMR(gamma=1.0, beta=0.0)
    gmr.fit_resample(X, y)
    removed = gmr.rectification_.removed
    assert not removed[y == 2].any()
    assert removed[y == 1].any()
    assert removed[y == 0].any()


@pytest.mark.parametrize("strategy", [[0], "majority"])
def test_a_strategy_names_all_classes_that_may_change(overlapping, strategy):
    X, y = overlapping
    named, paper = GMR(sampling_strategy=strategy), GMR()
    named.fit_resample(X, y)
    paper.fit_resample(X, y)
    assert not named.rectification_.removed[y == 1].any()
    np.testing.assert_array_equal(
        named.rectification_.removed[y == 0], paper.rectification_.removed[y == 0]
    )
    roles = [one["role"] for one in named.rectification_.summary()["classes"]]
    assert roles == ["strict", "untouched"]


@pytest.mark.parametrize(
    ("strategy", "roles"),
    [
        ("auto", ["strict", "protected", "protected"]),
        ("majority", ["strict", "untouched", "untouched"]),
        ("not minority", ["strict", "strict", "untouched"]),
        ("not majority", ["untouched", "strict", "strict"]),
        ("all", ["strict", "strict", "strict"]),
    ],
)
def test_strategies_name_the_strict_classes(overlapping, strategy, roles):
    X, y = overlapping
    y = np.where((y == 1) & (np.cumsum(y) <= 20), 2, y)
    gmr = GMR(sampling_strategy=strategy, alpha=1.0)
    _, kept = gmr.fit_resample(X, y)
    assert [one["role"] for one in gmr.rectification_.summary()["classes"]] == roles
    # Every class keeps enough samples to learn from.
    assert np.bincount(kept).min() >= 10


@pytest.mark.parametrize("strategy", ["majority", "auto", "not minority"])
def test_equal_sizes_make_the_first_class_the_majority(overlapping, strategy):
    X, y = overlapping
    rows = np.concatenate((np.flatnonzero(y == 0)[:60], np.flatnonzero(y == 1)))
    gmr = GMR(sampling_strategy=strategy)
    gmr.fit_resample(X[rows], y[rows])
    assert list(gmr.sampling_strategy_) == [0]
    assert (gmr.rectification_.reason[gmr.rectification_.removed] == "intrusion").any()


def test_progress_is_reported_to_the_listener(overlapping):
    X, y = overlapping
    calls = []
    with listening(lambda done, total: calls.append((done, total))):
        GMR().fit_resample(X, y)
    assert calls[-1] == (len(y), len(y))
    assert calls == sorted(calls)
    count = len(calls)
    GMR().fit_resample(X, y)
    assert len(calls) == count


def test_a_listener_can_cancel_the_work(overlapping):
    def stop(done, total):
        raise KeyboardInterrupt

    with listening(stop), pytest.raises(KeyboardInterrupt):
        GMR().fit_resample(*overlapping)


def test_fit_only_checks(overlapping):
    X, y = overlapping
    gmr = GMR().fit(X, y)
    assert gmr.n_features_in_ == 3
    assert not hasattr(gmr, "rectification_")
