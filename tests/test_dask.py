"""GMR on Dask returns the samples, votes and decisions of one machine, for all partitions."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from scipy import sparse
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.manifold import TSNE
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import billion
import cases
import rectifold
from rectifold import Approximate
from rectifold._core.errors import ParameterError
from rectifold.dask import GMR
from rectifold.dask._cluster import Cluster
from rectifold.dask._exact_sums import exact_sum, moments
from rectifold.dask._partitions import split
from rectifold.dask._plan import Slice, make_batches, make_blocks, make_chains, make_rounds
from rectifold.dask._sources import Source
from rectifold.datasets import PAPER_DATASETS
from rectifold.progress import listening


@pytest.fixture(scope="module")
def client():
    """A cluster of two worker processes."""
    with (
        # A cluster checks for this long whether a worker that died is back; if it is not, because
        # it has just died again, the cluster does not restart it.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def at_home():
    """The scheduler of this thread, which is fast, instead of a cluster."""
    with dask.config.set(scheduler="synchronous"):
        yield


def table(n=600, d=4, classes=2, seed=0, decimals=None):
    """Return overlapping classes, the first by far the largest."""
    rng = np.random.default_rng(seed)
    share = np.array([1.0, *[0.12] * (classes - 1)])
    y = rng.choice(classes, n, p=share / share.sum())
    X = rng.normal(size=(n, d)) + 1.2 * y[:, None]
    return (X if decimals is None else np.round(X, decimals)), y


def in_parts(X, y, cuts):
    """Return dask arrays whose chunks have these sizes."""
    return da.from_array(X, chunks=(cuts, X.shape[1])), da.from_array(y, chunks=(cuts,))


def cuts_of(n, parts):
    return tuple(len(part) for part in np.array_split(np.arange(n), parts))


def compare(X, y, cuts, seed=0, **settings):
    """Check that votes, decisions and samples equal those of one machine, bit for bit."""
    shared = {name: value for name, value in settings.items() if name != "block_size"}
    one = rectifold.GMR(**shared)
    kept = one.fit_resample(X, y)
    gmr = GMR(**settings)
    found = gmr.fit_resample(*in_parts(X, y, cuts))
    same(gmr.rectification_, one.rectification_)
    for mine, theirs in zip(found, kept, strict=True):
        np.testing.assert_array_equal(mine.compute(), theirs)
    np.testing.assert_array_equal(gmr.sample_indices_.compute(), one.sample_indices_)
    return gmr


def same(record, one):
    """Check that the record of a cluster equals that of one machine."""
    mine = record.compute()
    for name in ("predicted", "confidence", "majority_confidence", "larger", "depth"):
        np.testing.assert_array_equal(getattr(mine._votes, name), getattr(one._votes, name), name)
    np.testing.assert_array_equal(mine.decision, one.decision)
    np.testing.assert_array_equal(mine.reason, one.reason)
    counted, other = record.summary(), one.summary()
    for facts in (counted, other):
        for name in ("engine", "seconds", "certified"):
            del facts[name]
    assert counted == other


@pytest.mark.usefixtures("at_home")
class TestSameAnswer:
    """The result is the same for all partitions and block sizes."""

    @pytest.mark.parametrize("parts", [1, 2, 7, 32])
    @pytest.mark.parametrize("block_size", ["64 MiB", "12 KiB"])
    def test_votes_and_decisions_equal_those_of_one_machine(self, parts, block_size):
        X, y = table(decimals=1)
        compare(X, y, cuts_of(len(y), parts), block_size=block_size)
        order = np.argsort(y, kind="stable")
        compare(X[order], y[order], cuts_of(len(y), parts), block_size=block_size)

    def test_too_large_small_classes_issue_a_warning_and_do_not_change_the_result(self):
        X, y = table()
        with pytest.warns(UserWarning, match="nothing can be proved"):
            gmr = compare(X, y, cuts_of(len(y), 5), block_size=1500, n_neighbors=3)
        assert gmr.rectification_.summary()["certified"] == 0

    @pytest.mark.parametrize(
        "settings",
        [
            {"sampling_strategy": "not minority"},
            {"sampling_strategy": "all", "class_weight": "balanced"},
            {"sampling_strategy": [1], "gamma": 0.5},
            {"alpha": 0.9, "beta": 0.2, "gamma": 0.03, "n_neighbors": 3},
            {"metric": "sqeuclidean"},
        ],
    )
    def test_more_classes_and_other_settings(self, settings):
        X, y = table(500, classes=4, seed=3, decimals=1)
        compare(X, y, (100, 0, 250, 1, 149), **settings)

    def test_cosine_with_zero_samples(self):
        X, y = table(400, seed=5, decimals=0)
        X[::17] = 0
        X[:20] = 0
        for parts in (1, 3, 20):
            compare(X, y, cuts_of(400, parts), metric="cosine", block_size="16 KiB")

    def test_equal_samples_are_sorted_by_index(self):
        rng = np.random.default_rng(1)
        X = rng.integers(0, 3, size=(300, 2)).astype(float)
        y = (rng.random(300) < 0.15).astype(int)
        for parts in (2, 9):
            compare(X, y, cuts_of(300, parts), block_size="4 KiB", n_neighbors=5)

    def test_samples_of_other_blocks_yield_more_certificates(self, monkeypatch):
        rng = np.random.default_rng(3)
        y = (rng.random(2000) < 0.02).astype(int)
        X = rng.normal(size=(2000, 3)) + 1.5 * y[:, None]
        cuts, size = cuts_of(2000, 16), "5 KiB"
        with_others = compare(X, y, cuts, block_size=size, n_neighbors=5)
        monkeypatch.setattr("rectifold.dask._search.FIRST", 99)
        alone = GMR(block_size=size, n_neighbors=5)
        alone.fit_resample(*in_parts(X, y, cuts))
        proved = [one.rectification_.summary()["certified"] for one in (with_others, alone)]
        assert proved[0] > proved[1] + 200

    def test_too_small_a_minority_is_not_cleaned(self):
        X, y = table(200)
        y = (np.arange(200) < 5).astype(int)
        with pytest.warns(UserWarning, match="nothing is cleaned"):
            gmr = compare(X, y, (100, 100))
        assert gmr.rectification_.summary()["removed"] == 0

    def test_a_class_in_one_partition_and_empty_partitions(self):
        X, y = table(300)
        order = np.argsort(y, kind="stable")
        compare(X[order], y[order], (0, 120, 0, 170, 10, 0))

    def test_sparse_blocks(self):
        X, y = table(400, d=6, decimals=0)
        X[np.abs(X) < 1] = 0
        one = rectifold.GMR()
        kept, _ = one.fit_resample(sparse.csr_array(X), y)
        rows = da.from_array(X, chunks=(100, 6)).map_blocks(sparse.csr_matrix)
        gmr = GMR()
        found, _ = gmr.fit_resample(rows, da.from_array(y, chunks=100))
        same(gmr.rectification_, one.rectification_)
        parts = [part.compute() for part in np.ravel(found.to_delayed())]
        assert (sparse.vstack(parts) != sparse.csr_matrix(kept)).nnz == 0


@pytest.mark.usefixtures("at_home")
class TestCollections:
    """The output has the type and the partitions of the input."""

    def frame(self, n=300):
        X, y = table(n)
        frame = pd.DataFrame(
            X, columns=list("abcd"), index=pd.RangeIndex(1000, 1000 + n, name="id")
        )
        return frame.assign(y=np.where(y, "rare", "usual"))

    def test_a_dataframe_keeps_its_partitions_index_and_divisions(self):
        frame = self.frame()
        parts = dd.from_pandas(frame, npartitions=4)
        gmr = GMR()
        X, y = gmr.fit_resample(parts[list("abcd")], parts["y"])
        one = rectifold.GMR()
        kept, labels = one.fit_resample(frame[list("abcd")], frame["y"])
        assert X.divisions == parts.divisions
        pd.testing.assert_frame_equal(X.compute(), kept)
        pd.testing.assert_series_equal(y.compute(), labels, check_dtype=False)
        assert list(gmr.feature_names_in_) == list("abcd")
        frame_of_record = gmr.rectification_.to_frame()
        pd.testing.assert_frame_equal(
            frame_of_record.compute(), one.rectification_.to_frame(), check_dtype=False
        )
        assert frame_of_record.divisions == parts.divisions
        pd.testing.assert_frame_equal(
            gmr.rectification_.compute().to_frame(),
            one.rectification_.to_frame(),
            check_dtype=False,
        )

    def test_unknown_divisions_are_accepted_if_partitions_match(self):
        frame = self.frame()
        parts = dd.from_pandas(frame, npartitions=3).clear_divisions()
        X, _ = GMR().fit_resample(parts[list("abcd")], parts[["y"]])
        assert not X.known_divisions
        one = rectifold.GMR().fit_resample(frame[list("abcd")], frame["y"])[0]
        pd.testing.assert_frame_equal(X.compute(), one)

    def test_arrays_with_unknown_chunks_are_returned_with_known_ones(self):
        X, y = table(300)
        rows, labels = in_parts(X, y, (150, 150))
        some = rows[:, 0] > -10
        gmr = GMR()
        found, _ = gmr.fit_resample(rows[some], labels[some])
        assert found.shape[0] == 300 - gmr.rectification_.summary()["removed"]

    def test_a_column_of_labels_is_returned_as_a_column(self):
        X, y = table(300)
        rows = da.from_array(X, chunks=(150, 4))
        _, labels = GMR().fit_resample(rows, da.from_array(y[:, None], chunks=(150, 1)))
        assert labels.shape[1] == 1
        _, kept = rectifold.GMR().fit_resample(X, y)
        np.testing.assert_array_equal(labels.compute()[:, 0], kept)

    def test_the_frame_of_a_record_of_arrays_has_a_range_index(self):
        gmr = GMR()
        gmr.fit_resample(*in_parts(*table(300), (100, 200)))
        frame = gmr.rectification_.to_frame()
        assert frame.divisions == (0, 100, 299)
        assert frame.compute().index.equals(pd.RangeIndex(300))

    def test_the_result_is_read_only_when_it_is_computed(self):
        seen = []
        X, y = table(300)

        def read(block):
            seen.append(1)
            return block

        rows, labels = in_parts(X, y, (100, 100, 100))
        found, _ = GMR().fit_resample(rows.map_blocks(read, meta=X[:0]), labels)
        before = len(seen)
        assert found.sum().compute() != 0
        assert len(seen) == before + 3

    def test_the_record_is_lazy_and_can_be_decided_again(self):
        X, y = table(600, seed=2)
        gmr = GMR()
        gmr.fit_resample(*in_parts(X, y, (200, 200, 200)))
        one = rectifold.GMR()
        one.fit_resample(X, y)
        record = gmr.rectification_
        for name in ("label", "predicted", "removed", "spared", "decision", "reason", "confidence"):
            values = getattr(record, name)
            assert values.chunks == ((200, 200, 200),)
            np.testing.assert_array_equal(values.compute(), getattr(one.rectification_, name))
        assert int(record.certified.sum()) == record.summary()["certified"]
        assert record.accuracy is None
        for thresholds in ({"gamma": 0.0}, {"beta": 0.4, "gamma": 0.3}, {"alpha": 1.0}):
            same(record.redecide(**thresholds), one.rectification_.redecide(**thresholds))
        assert repr(record).startswith("Rectification: ")
        with pytest.raises(ValueError, match="gamma=2 is out of range"):
            record.redecide(gamma=2)

    def test_progress_ends_with_all_samples(self):
        X, y = table(300)
        seen = []
        with listening(lambda done, total: seen.append((done, total))):
            GMR().fit_resample(*in_parts(X, y, (150, 150)))
        assert seen[-1] == (300, 300)
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.usefixtures("at_home")
class TestSpaces:
    """A space is fitted once, on the documented samples."""

    def test_scaling_is_exact_whatever_the_partitions(self):
        X, y = table(500)
        X = X * [1, 1e6, 1e-6, 1] + [0, 1e7, 3, 0]
        X[:, 3] = 0.1
        scalers = []
        for cuts in ((500,), (1, 99, 400), cuts_of(500, 16)):
            gmr = GMR(space=StandardScaler())
            gmr.fit_resample(*in_parts(X, y, cuts))
            scalers.append(gmr.space_)
            one = rectifold.GMR()
            one.fit_resample(gmr.space_.transform(X), y)
            same(gmr.rectification_, one.rectification_)
            assert gmr.space_n_samples_ == 500
        for name in ("mean_", "var_", "scale_"):
            values = [getattr(one, name) for one in scalers]
            assert all((values[0] == other).all() for other in values)
            np.testing.assert_allclose(
                values[0], getattr(StandardScaler().fit(X), name), rtol=1e-9, atol=1e-20
            )
        exact = [sum(map(Fraction, column)) / 500 for column in X.T.tolist()]
        assert scalers[0].mean_.tolist() == [float(one) for one in exact]

    def test_sums_have_no_rounding(self):
        rng = np.random.default_rng(0)
        numbers = rng.normal(size=500) * 10.0 ** rng.integers(-300, 150, 500)
        numbers[:4] = [5e-324, -0.0, 0.1, 1e149]
        assert Fraction(exact_sum(numbers), 1 << 1074) == sum(map(Fraction, numbers.tolist()))
        some = np.clip(numbers, -1e30, 1e30)[:, None]
        some = some[np.abs(some[:, 0]) > 1e-100]
        found = moments(some[:200]) + moments(some[200:])
        squares = sum(Fraction(one) ** 2 for one in some[:, 0].tolist())
        assert Fraction(found.squares[0], 1 << 1074) == squares
        assert moments(sparse.csr_array(some)).sums == found.sums

    def test_partial_fit_sees_every_partition(self):
        X, y = table(400)
        gmr = compare(X, y, (150, 0, 250), space=MinMaxScaler())
        assert gmr.space_n_samples_ == 400
        gmr = GMR(space=IncrementalPCA(2)).fit(*in_parts(X, y, (200, 200)))
        assert gmr.space_.components_.shape == (2, 4)

    def test_other_spaces_are_fitted_on_a_sample_or_on_all_of_a_small_table(self):
        X, y = table(400)
        compare(X, y, (100, 300), space=RobustScaler())
        samples = []
        for cuts in ((400,), (100, 300)):
            gmr = GMR(space=PCA(2), space_sample=50).fit(*in_parts(X, y, cuts))
            assert gmr.space_n_samples_ == 50
            samples.append(gmr.space_.mean_)
        np.testing.assert_array_equal(*samples)

    def test_a_messy_table(self):
        X, y = table(400)
        frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y"), "c": X[:, 2]})
        frame.loc[::9, "c"] = np.nan
        parts = dd.from_pandas(frame, npartitions=3)
        labels = dd.from_pandas(pd.Series(y), npartitions=3)
        gmr, one = GMR(space="auto"), rectifold.GMR(space="auto")
        gmr.fit_resample(parts, labels)
        one.fit_resample(frame, y)
        same(gmr.rectification_, one.rectification_)


@pytest.mark.usefixtures("at_home")
class TestBadInput:
    """Errors are one sentence, before any long work."""

    def check(self, sentence, X, y, error=ValueError, **settings):
        with pytest.raises(error, match=sentence):
            GMR(**settings).fit_resample(X, y)

    def test_collections(self):
        X, y = table(90)
        rows, labels = in_parts(X, y, (30, 60))
        self.check("use rectifold.GMR", X, labels, TypeError)
        self.check("y must be a collection of Dask", rows, y, TypeError)
        self.check("target y is None", rows, None)
        self.check("X has 90 samples and y has 80 labels", rows, labels[:80])
        self.check("two dimensions", labels, labels)
        self.check("one label per sample", rows, rows)
        with pytest.raises(TypeError, match="does not support sample_weight"):
            GMR().fit_resample(rows, labels, sample_weight=y)
        frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
        other = dd.from_pandas(pd.Series(y), npartitions=2)
        self.check("X has 3 partitions and y has 2: samples", frame, other)
        self.check("divisions are unknown", frame.clear_divisions(), other.clear_divisions())
        self.check(
            "partition 1 of X has 60 samples, and that of y has 20",
            rows,
            dd.from_map(lambda part: pd.Series(y[:part]), [30, 20], meta=pd.Series(y[:0])),
        )

    def test_partitions_that_differ(self):
        X, y = table(90)
        good = pd.DataFrame(X[:45], columns=list("abcd"))
        labels = dd.from_map(lambda i: pd.Series(y[45 * i : 45 * i + 45]), [0, 1])

        def frame(second):
            parts = [good, second]
            return dd.from_map(lambda i: parts[i], [0, 1], meta=good[:0], enforce_metadata=False)

        self.check("partition 1 of X lacks the column 'b'", frame(good.drop(columns="b")), labels)
        self.check("partition 1 of X has other columns", frame(good.assign(e=1)), labels)
        odd = good.astype({"c": str})
        self.check(
            "column 'c' of X is (str|string|object) in partition 1 and float64", frame(odd), labels
        )
        twice = dd.from_pandas(pd.DataFrame(X, columns=list("abca")), npartitions=2)
        self.check("more than one column named 'a'", twice, labels)

    def test_labels_and_numbers(self):
        X, y = table(90)
        rows, labels = in_parts(X, y, (30, 60))
        gaps = y.astype(float)
        gaps[40] = np.nan
        self.check("first in row 10 of partition 1", rows, in_parts(X, gaps, (30, 60))[1])
        self.check("only one class", rows, da.zeros(90, chunks=((30, 60),), dtype=int))
        self.check("looks like a regression", rows, in_parts(X, np.arange(90), (30, 60))[1])
        self.check("Unknown label type", rows, in_parts(X, y + 0.5, (30, 60))[1])
        mixed = dd.from_map(lambda n: pd.Series(["a"] * 30 if n == 30 else y[30:]), [30, 60])
        self.check("mixes labels", rows, mixed)
        holes = X.copy()
        holes[50, 2] = np.nan
        self.check("column 2 of X holds missing values", *in_parts(holes, y, (30, 60)))
        self.check("holds missing values", *in_parts(holes, y, (30, 60)), space=StandardScaler())
        self.check("every column of X is constant", *in_parts(X * 0, y, (30, 60)))
        self.check("beyond 1e\\+150", *in_parts(X * 1e160, y, (30, 60)))
        lists = dd.from_map(lambda n: pd.DataFrame({"a": [[1]] * n}), [30, 60])
        self.check("column 'a' of X", lists, labels)
        self.check("n_neighbors=90 needs at least 91 samples", rows, labels, n_neighbors=90)
        empty = da.zeros((0, 2), chunks=((0,), (2,)))
        self.check("nothing to clean", empty, da.zeros(0, chunks=0))

    def test_settings(self):
        rows, labels = in_parts(*table(90), (30, 60))
        self.check("block_size='lots' is not a number of bytes", rows, labels, block_size="lots")
        self.check("space='heom' compares all pairs", rows, labels, space="heom")
        self.check("has no method transform", rows, labels, space=TSNE())
        for engine in ("approximate", Approximate(recall=0.9), "guess"):
            self.check("engine=.* is not offered on a cluster", rows, labels, engine=engine)
        self.check(
            "metric='manhattan' is not offered on a cluster", rows, labels, metric="manhattan"
        )
        for name in ("n_neighbors", "block_size", "space_sample"):
            self.check(f"'{name}' parameter", rows, labels, **{name: 0})
        self.check("names no class", rows, labels, sampling_strategy=[])


def other_values(name):
    """Expect the sentence on a collection that changes."""
    sentence = (
        rf"^{name} gives different values each time it is computed, as partition \d shows: call "
        r"persist\(\) on the collection, or write it to Parquet and read that\.$"
    )
    return pytest.raises(ParameterError, match=sentence)


def random_samples(y):
    """Return samples that differ in every call."""
    return np.random.default_rng().normal(size=(len(y), 4)) + y[:, None]


def random_frame(n):
    """Return a partition that differs in every call."""
    y = np.random.default_rng(n).random(n) < 0.2
    return pd.DataFrame(random_samples(y), columns=list("abcd")).assign(y=y.astype(int))


@pytest.mark.usefixtures("at_home")
class TestChangingCollections:
    """A collection that differs each time it is computed raises an error."""

    @pytest.mark.parametrize("parts", [1, 4])
    def test_random_arrays(self, parts):
        X, y = table(400)
        rows, labels = in_parts(X, y, cuts_of(400, parts))
        chunks = (labels.chunks[0], (4,))
        changing = labels.map_blocks(random_samples, new_axis=1, chunks=chunks, meta=X[:0])
        gmr = GMR(block_size="8 KiB")
        with other_values("X"):
            gmr.fit_resample(changing, labels)
        flipped = labels.map_blocks(
            lambda part: part ^ (np.random.default_rng().random(len(part)) < 0.2), dtype=y.dtype
        )
        with other_values("y"):
            gmr.fit_resample(rows, flipped)
        gmr.fit_resample(changing.persist(), flipped.persist())

    @pytest.mark.parametrize("sizes", [[300], [100, 101, 102]])
    @pytest.mark.parametrize("space", [None, StandardScaler(), MinMaxScaler(), RobustScaler()])
    def test_random_frames(self, sizes, space):
        frame = dd.from_map(random_frame, sizes, meta=random_frame(5)[:0])
        with other_values("X"):
            GMR(space=space).fit_resample(frame[list("abcd")], frame["y"])
        frame = frame.persist()
        GMR(space=space).fit_resample(frame[list("abcd")], frame["y"])

    def test_what_changes_after_cleaning_is_seen_when_the_result_is_computed(self):
        changed = []

        def read(block):
            return block[::-1] if changed else block

        X, y = table(300)
        rows, labels = (
            part.map_blocks(read, meta=part._meta) for part in in_parts(X, y, cuts_of(300, 3))
        )
        gmr = GMR()
        found, kept = gmr.fit_resample(rows, labels)
        record = gmr.rectification_
        changed.append(True)
        for name, lazy in (("X", found), ("y", kept), ("y", record.label), ("y", record)):
            with other_values(name):
                lazy.compute()
        gmr.fit_resample(rows, labels)
        labels_of_frame = dd.from_pandas(pd.Series(y), npartitions=1)
        frame = dd.from_map(lambda n: pd.DataFrame(X[:: 1 if changed else -1]), [0])
        gmr.fit_resample(frame, labels_of_frame)
        changed.clear()
        with other_values("X"):
            gmr.rectification_.to_frame().compute()

    def test_equal_values_may_have_another_order_in_memory_and_be_other_objects(self):
        reads = itertools.count()

        def read(block):
            return np.asfortranarray(block) if next(reads) % 2 else np.ascontiguousarray(block)

        X, y = table(300)
        rows, labels = in_parts(X, y, cuts_of(300, 3))
        gmr, one = GMR(block_size="8 KiB"), rectifold.GMR()
        gmr.fit_resample(rows.map_blocks(read, meta=X[:0]), labels)
        one.fit_resample(X, y)
        same(gmr.rectification_, one.rectification_)

        def messy(part):
            some = pd.DataFrame({"a": X[100 * part : 100 * part + 100, 0]})
            texts = [None if value > 1 else f"row {value:.0f}" for value in some["a"]]
            some["text"] = pd.Series(texts, dtype=object)
            some["kind"] = pd.Categorical(texts)
            some["whole"] = pd.Series(some["a"].round(), dtype="Int64").where(some["a"] < 1)
            some["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(some["a"].round(), "D")
            return some

        with dask.config.set({"dataframe.convert-string": False}):
            frame = dd.from_map(messy, [0, 1, 2], enforce_metadata=False)
            names = labels.map_blocks(lambda part: np.array([f"class {one}" for one in part], "O"))
            gmr = GMR(space="auto", block_size="8 KiB")
            found, _ = gmr.fit_resample(frame, names)
        assert len(found.compute()) == 300 - gmr.rectification_.summary()["removed"]


WITHOUT_GRAPHS = """
import dask.array as da
import dask.dataframe, distributed
import dask._task_spec
nodes = dask._task_spec.GraphNode
del dask._task_spec.GraphNode
import rectifold.dask
dask._task_spec.GraphNode = nodes
import numpy as np
import rectifold
rng = np.random.default_rng(0)
y = (rng.random(300) < 0.2).astype(int)
X = rng.normal(size=(300, 3)) + y[:, None]
found, _ = rectifold.dask.GMR().fit_resample(da.from_array(X, (50, 3)), da.from_array(y, 50))
np.testing.assert_array_equal(found.compute(), rectifold.GMR().fit_resample(X, y)[0])
"""


def test_a_version_of_dask_whose_graphs_cannot_be_read_gives_the_same_result():
    subprocess.run([sys.executable, "-c", WITHOUT_GRAPHS], check=True, timeout=120)


class TestPlan:
    """Division of the work into blocks, batches and chains."""

    def test_blocks_hold_all_samples_once_and_respect_the_block_size(self):
        for counts in ([5], [0, 3, 0, 4, 9, 0], [1] * 40, [30, 1, 1, 30]):
            for threads in (1, 4):
                for size in (24, 240, 24_000):
                    found = make_blocks(counts, 1, size, threads)
                    held = [number for block in found for number in block.partitions]
                    assert held == [number for number, count in enumerate(counts) if count]
                    assert sum(block.n_samples for block in found) == sum(counts)
                    for block in found:
                        assert block.first == sum(counts[: block.partitions[0]])
                        assert len(block.partitions) == 1 or 24 * block.n_samples <= size

    def test_batches_hold_all_undecided_samples_in_order(self):
        found = make_batches([5, 0, 7, 1], 2, 1, 4 * 48)
        assert [[(s.block, s.begin, s.end) for s in batch] for batch in found] == [
            [(0, 0, 3)],
            [(0, 3, 5), (2, 0, 1)],
            [(2, 1, 4)],
            [(2, 4, 7), (3, 0, 1)],
        ]
        assert make_batches([0, 0], 2, 1, 100) == []

    def test_a_hundred_thousand_partitions_are_joined_in_seconds(self):
        # Of this process alone: other work on the machine does not count.
        begin = time.process_time()
        assert len(make_blocks([51] * 100_000, 1, 2400, 8)) == 100_000
        assert time.process_time() - begin < 10

    def test_every_block_is_visited_once_and_the_nearest_first(self):
        found = make_chains(9, 2, [Slice(4, 0, 9)])
        assert sorted(block for chain in found for block in chain) == list(range(9))
        assert found[0][0] == 4

    def test_all_threads_have_work_and_chains_are_long_if_there_are_enough_batches(self):
        for n, visits, threads in (
            *((1, 8, 2), (5, 40, 2), (5, 4, 2), (1, 400, 400), (25, 400, 400), (200, 4, 400)),
            *((200, 64, 7), (183, 4, 7), (111, 100, 64), (0, 8, 2)),
        ):
            cut = [[Slice(number, 0, 1)] for number in range(n)]
            found = make_rounds(cut, visits, threads)
            assert [batch for some, _ in found for batch in some] == cut
            for some, each in found:
                assert len(some) * min(each, visits) >= min(2 * threads, len(some) * visits)
            if n >= 4 * threads:
                assert all(visits / each >= min(visits, 8) / 2 for _, each in found)


def test_a_record_of_a_closed_cluster_raises_an_error():
    X, y = table(200)
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster),
    ):
        gmr = GMR()
        gmr.fit_resample(*in_parts(X, y, (100, 100)))
    assert gmr.rectification_.summary()["n_samples"] == 200
    with pytest.raises(RuntimeError, match="a cluster of Dask that was closed"):
        gmr.rectification_.redecide(gamma=0)
    with pytest.raises(RuntimeError, match="a cluster of Dask that was closed"):
        gmr.rectification_.compute()


#: The names of the tasks of all stages.
STAGES = (
    *("summarise", "pick", "gather", "_undecided", "_add_counts", "vote"),
    *("find_suspects", "apply_decisions", "_kept"),
)


class TestCluster:
    """With worker processes, some of which are killed."""

    @pytest.mark.slow
    @pytest.mark.parametrize("name", [*PAPER_DATASETS, "creditcard"])
    def test_all_sets_in_many_partitions_shuffled_or_sorted(self, client, name):
        X, y = cases.load(name)
        shuffled = np.random.default_rng(0).permutation(len(y))
        for order in (shuffled, np.argsort(y, kind="stable")):
            one = rectifold.GMR(n_jobs=2)
            one.fit_resample(X[order], y[order])
            for parts in (1, 2, 7, 32):
                # One partition per block, if the small class fits into a block.
                small = 8 * X.shape[1] * max(np.count_nonzero(y), len(y) // parts)
                gmr = GMR(block_size=max(small + 1, 1 << 16))
                gmr.fit_resample(*in_parts(X[order], y[order], cuts_of(len(y), parts)))
                same(gmr.rectification_, one.rectification_)

    def test_a_real_table_in_many_partitions(self, client, paper_data):
        for name in ("abalone", "yeast_ml8"):
            X, y = paper_data(name)
            compare(X, y, cuts_of(len(y), 7), block_size=np.int64(1 << 26))

    def test_partitions_are_read_by_the_tasks_that_need_them(self, client):
        X, y = table(800)
        one = rectifold.GMR()
        one.fit_resample(X, y)
        cuts = cuts_of(800, 4)
        arrays = in_parts(X, y, cuts)
        frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
        frames = dd.from_map(read_some, [frame[at : at + 200] for at in range(0, 800, 200)])
        shuffled = dd.from_pandas(frame, npartitions=3).shuffle("y").partitions[:3]
        half = client.submit(np.split, X, 2)
        both = [
            dd.from_pandas(frame.assign(y=frame["y"][::sign].to_numpy()), npartitions=3)
            for sign in (1, -1)
        ]
        apart = dd.concat([one.shuffle("a").partitions[:1] for one in both])
        lazily = [da.from_array(Lazy(one), chunks=(200, *one.shape[1:])) for one in (X, y)]
        halves = [
            da.from_delayed(dask.delayed(select)(half, at), (400, 4), dtype=X.dtype)
            for at in (0, 1)
        ]
        for name, (rows, labels), by_itself in (
            ("arrays", arrays, True),
            ("files", (frames[list("abcd")], frames.y), True),
            ("on the cluster already", tuple(part.persist() for part in arrays), False),
            ("made of what is", (arrays[0].persist() * 1, arrays[1]), False),
            ("made of a future", (da.concatenate(halves), arrays[1].rechunk(400)), False),
            ("work in common", (shuffled[list("abcd")], shuffled.y), False),
            ("a file in common", lazily, True),
        ):
            made = split(rows, labels).sample_sources
            assert all(isinstance(part, Source) == by_itself for part in made), name
            gmr = GMR(block_size="64 KiB")
            kept, _ = gmr.fit_resample(rows, labels)
            gone = gmr.rectification_.summary()["removed"]
            assert gone == one.rectification_.summary()["removed"], name
            assert len(kept.compute()) == 800 - gone, name
        made = split(apart[list("abcd")], apart.y).sample_sources
        assert not any(isinstance(part, Source) for part in made)

    def test_workers_report_progress(self, client):
        X, y = table(4000, seed=9)
        seen = []
        with listening(lambda done, total: seen.append(done)):
            GMR().fit_resample(*in_parts(X, y, cuts_of(4000, 8)))
        assert seen[-1] == 4000
        assert seen == sorted(seen)

    def test_an_error_on_a_worker_has_the_same_text(self, client):
        X, y = table(90)
        X[70, 1] = np.inf
        with pytest.raises(ValueError, match="column 1 of X holds infinite values"):
            GMR().fit_resample(*in_parts(X, y, (30, 60)))

    def test_a_collection_that_changes_raises_an_error_on_a_worker(self, client):
        frame = dd.from_map(random_frame, [100, 101, 102], meta=random_frame(5)[:0])
        with other_values("X"):
            GMR().fit_resample(frame[list("abcd")], frame["y"])
        frame = frame.persist()
        GMR().fit_resample(frame[list("abcd")], frame["y"])

    def test_a_result_can_be_computed_after_the_sampler_is_deleted(self, client):
        X, y = table(300)
        gmr = GMR()
        found, labels = gmr.fit_resample(*in_parts(X, y, (150, 150)))
        one = rectifold.GMR()
        kept, _ = one.fit_resample(X, y)
        del gmr
        time.sleep(0.3)
        np.testing.assert_array_equal(found.compute(), kept)
        assert labels.shape == (len(kept),)

    @pytest.mark.parametrize(
        "stages",
        [
            pytest.param(("_undecided", "find_suspects"), id="two"),
            pytest.param(STAGES, id="all", marks=pytest.mark.slow),
        ],
    )
    def test_a_worker_that_dies_in_any_stage_does_not_change_the_result(
        self, stages, client, monkeypatch
    ):
        X, y = table(3000, seed=4)
        one = rectifold.GMR(n_neighbors=5)
        kept, _ = one.fit_resample(X, y)
        killed = []
        persist = Cluster.persist

        def dying(self, tasks, *, n_samples=0):
            """Kill a worker while it computes the tasks of a stage."""
            stage = tasks[0].key.split("-")[0]
            if stage in killed or stage not in stages:
                return persist(self, tasks, n_samples=n_samples)
            killed.append(stage)
            client.wait_for_workers(2, timeout=60)
            pid = sorted(client.run(os.getpid).values())[0]
            first = dask.delayed(die, pure=False)(pid)
            return persist(self, [dask.delayed(after, pure=False)(first, task) for task in tasks])

        monkeypatch.setattr(Cluster, "persist", dying)
        gmr = GMR(n_neighbors=5, block_size="18 KiB")
        found, _ = gmr.fit_resample(*in_parts(X, y, cuts_of(3000, 9)))
        assert killed == list(stages)
        monkeypatch.undo()
        same(gmr.rectification_, one.rectification_)
        np.testing.assert_array_equal(found.compute(), kept)
        client.wait_for_workers(2, timeout=60)


class Lazy:
    """An array that looks to Dask like one in a file."""

    def __init__(self, values):
        self.values, self.shape, self.dtype, self.ndim = (
            values,
            values.shape,
            values.dtype,
            values.ndim,
        )

    def __getitem__(self, where):
        return self.values[where]

    def __sizeof__(self):
        return 100


def read_some(frame):
    """Return a partition."""
    return frame.copy()


def select(parts, which):
    """Return one of some parts."""
    return parts[which]


def after(_, result):
    """Return the result of a task that is computed beside another."""
    return result


def die(pid):
    """Kill this process if it has the given id; on the next worker do nothing."""
    if os.getpid() == pid:
        os.kill(pid, signal.SIGKILL)
    return True


LOCAL_CLUSTER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, dashboard_address="127.0.0.1:0") as cluster:
        print(cluster.scheduler_address, flush=True)
        for _ in range(600):
            time.sleep(0.1)
"""


def test_a_lost_scheduler_is_reported_and_nothing_is_written_in_part(tmp_path, monkeypatch):
    from rectifold.cli import run

    script = tmp_path / "cluster.py"
    script.write_text(LOCAL_CLUSTER)
    source, out = tmp_path / "table.parquet", tmp_path / "out"
    X, y = table(500)
    pd.DataFrame(X, columns=list("abcd")).assign(y=y).to_parquet(source)
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as cluster:
        address = cluster.stdout.readline().strip()
        persist = Cluster.persist

        def lose(self, tasks, *, n_samples=0):
            if tasks[0].key.startswith("_write_piece"):
                os.killpg(cluster.pid, signal.SIGKILL)
            return persist(self, tasks, n_samples=n_samples)

        monkeypatch.setattr(Cluster, "persist", lose)
        arguments = ["clean", str(source), "--engine", "dask", "--target", "y", "-o", str(out)]
        messages = []
        monkeypatch.setattr(
            "rectifold.cli.entry._fail", lambda text, code=2: messages.append(text) or code
        )
        assert run([*arguments, "--scheduler", address]) == 2
    assert "connection to the scheduler of Dask" in messages[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cluster.py", "table.parquet"]


def test_the_published_figures_equal_the_stored_results():
    root = Path(__file__).parents[1]
    results = {
        name: json.loads((root / "results" / "dask" / f"{name}.json").read_text())
        for name in ("out_of_core", "overhead", "billion")
    }
    text = (root / "docs" / "guide" / "dask.md").read_text()
    assert billion.table(results["billion"]["stages"]) in text
    assert f"That is {results['billion']['seconds'] / 3600:.1f} hours" in text
    run = results["out_of_core"]
    one, other = run["megabytes_at_most"]
    assert f"{one:,} and {other:,} MB at most" in text
    assert (run["rows"], run["memory_limit"], run["restarts"]) == (20_000_000, "1.5GB", 0)
    gone = [part["removed"] for part in run["classes"]]
    assert f"{gone[0]:,} rows of the majority and {gone[1]:,} of the minority" in text.replace(
        "\n", " "
    )
    beside = results["overhead"]["results"]["creditcard"]
    for name in ("one core", "two cores"):
        assert f"{beside[f'cluster over one machine, {name}']:.2f} times" in text
    assert f"{beside['one worker over two']:.2f} times" in text
