"""The GPU engine gives the results of the CPU bit for bit, on torch's CPU device and on a GPU."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from rectifold import GMR, GPU, RectifiedClassifier
from rectifold._core.space import Points, comparable
from rectifold._core.votes import count_votes
from rectifold._engines import choose, exact, partial_search, search
from rectifold._engines.contract import PairCount, Proposal
from rectifold._engines.rounding import Rounding, rounding
from rectifold._engines.settle import settle
from rectifold.datasets import load_wine_quality
from rectifold.model_selection import rectify_all
from reference import neighbours
from tables import HARD, check, cloud, points_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed: rectifold[gpu]")

from rectifold._core import device_arrays  # noqa: E402
from rectifold._engines import gpu  # noqa: E402
from rectifold._engines.gpu import certificates, devices, leaf_search, products, reductions  # noqa: E402

#: Tests run on the CPU device, and with the marker `gpu` on a GPU.
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
MODES = ("default", "small leaves", "float64", "small pieces", "points on the host")
#: Tables with ties, duplicates, values too close for single precision, and many columns.
DIFFICULT = (
    "a grid",
    "every sample three times",
    "many features",
    "one outlier beyond single precision",
    "near-ties of single precision",
)


pytestmark = pytest.mark.usefixtures("one_thread")


def on(device):
    return partial(gpu.propose, device=device)


def set_mode(mode, monkeypatch):
    """Make the engine take one of its code paths, for tables of any size."""
    if mode != "default":
        monkeypatch.setattr(gpu, "LEAF", 32)
        monkeypatch.setattr(certificates, "_SMALL", 0)
    if mode == "float64":
        monkeypatch.setattr(Rounding, "usable", False)
    if mode == "small pieces":
        little = {"numbers": 1 << 16}
        monkeypatch.setattr(
            devices.Budget, "__init__", lambda self, where: vars(self).update(little, device=where)
        )
        monkeypatch.setattr(leaf_search, "_FEW", 1)
        monkeypatch.setattr(leaf_search, "_CROWD", 1)
    if mode == "points on the host":
        monkeypatch.setattr(devices, "free_bytes", lambda device: 0)


@pytest.fixture(params=MODES)
def mode(request, monkeypatch):
    set_mode(request.param, monkeypatch)
    return request.param


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("k", [1, 15, 40])
@pytest.mark.parametrize("name", HARD)
def test_neighbours_are_canonical_and_certificates_true(name, k, device, monkeypatch):
    set_mode("small leaves", monkeypatch)
    check(HARD[name], k, engine=on(device))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", DIFFICULT)
def test_neighbours_are_canonical_in_all_modes(name, device, mode):
    check(HARD[name], 15, engine=on(device))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", HARD)
def test_certificates_are_true_where_classes_are_apart(name, device, monkeypatch):
    set_mode("small leaves", monkeypatch)
    X = HARD[name]
    labels = (X[:, 0] > np.median(X[:, 0])).astype(np.intp)
    check(X, 5, engine=on(device), labels=labels)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("k", [1, 15, 200])
@pytest.mark.parametrize("d", [2, 150])
def test_cosine_neighbours_are_canonical_with_zero_samples(d, k, device):
    X = cloud(d=d)
    X[::7] = 0
    X[::5] *= 3
    check(X, k, "cosine", engine=on(device))


@pytest.mark.parametrize("device", DEVICES)
def test_fewer_nonzero_samples_than_neighbours(device):
    X = np.zeros((60, 4))
    X[:10] = cloud(10, 4)
    check(X, 15, "cosine", engine=on(device))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
def test_sparse_and_dense_matrices_give_the_same_neighbours(metric, device):
    X = cloud(400, 200)
    X[np.abs(X) < 1] = 0
    dense, thin = (
        search(on(device), points_of(one, metric), np.arange(400) % 3, 15)
        for one in (X, sparse.csr_array(X))
    )
    np.testing.assert_array_equal(dense.indices, thin.indices)
    np.testing.assert_array_equal(dense.distances, thin.distances)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["a grid", "every sample three times", "many features"])
def test_k_can_be_the_number_of_all_other_samples(name, device, mode):
    check(HARD[name][:50], 49, engine=on(device))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("classes", [2, 6])
def test_votes_are_exact_for_many_samples_most_of_them_certified(classes, device):
    rng = np.random.default_rng(3)
    centres = rng.normal(scale=6, size=(classes, 8))
    labels = rng.choice(
        classes, 20000, p=np.append(np.full(classes - 1, 0.05), 1 - 0.05 * (classes - 1))
    )
    X = np.round(centres[labels] + rng.normal(size=(20000, 8)), 1)
    theirs = search(exact.propose, points_of(X), labels, 15)
    found = search(on(device), points_of(X), labels, 15)
    assert found.certified.mean() > 0.8
    sizes = np.bincount(labels)
    mine, other = (count_votes(one, labels, sizes) for one in (found, theirs))
    for name in ("predicted", "confidence", "majority_confidence", "larger", "depth"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(other, name))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("scaled", [False, True], ids=["raw", "standardised"])
@pytest.mark.parametrize(
    "name", ["car_eval_34", "solar_flare_m0", "ecoli", "abalone", "scene", "letter_img"]
)
def test_the_record_equals_that_of_the_exact_engine_on_real_data(paper_data, name, scaled, device):
    X, y = paper_data(name)
    X = StandardScaler().fit_transform(X) if scaled else X
    records = []
    for setting in ({"engine": "exact"}, {"engine": GPU(device)}):
        gmr = GMR(**setting)
        gmr.fit_resample(X, y)
        records.append(gmr.rectification_)
    mine, theirs = records
    assert (mine._setting.engine, theirs._setting.engine) == ("exact", "gpu")
    np.testing.assert_array_equal(mine.decision, theirs.decision)
    np.testing.assert_array_equal(mine.reason, theirs.reason)
    for votes in ("predicted", "confidence", "majority_confidence", "larger", "depth"):
        np.testing.assert_array_equal(getattr(mine._votes, votes), getattr(theirs._votes, votes))


def test_the_bounds_would_fail_without_their_margin(monkeypatch):
    monkeypatch.setattr(Rounding, "margin", lambda self, squares: 0.0 * squares)
    monkeypatch.setattr(
        products, "rounding", lambda *given: replace(rounding(*given), relative=0.0)
    )

    def check_all():
        for seed in range(30):
            X = np.round(cloud(n=400, d=20, seed=seed)) + cloud(400, 20, seed + 1) * 1e-7
            check(X, 15, engine=on("cpu"))

    with pytest.raises((AssertionError, ValueError, IndexError)):
        check_all()


def in_one_piece(self, total, each, work):
    if total:
        yield slice(0, total), work(slice(0, total))


def fill_once(where, name, number, monkeypatch):
    """Let the given call of a function run out of memory; return the list of calls."""
    whole, calls = getattr(where, name), []

    def full(*given):
        calls.append(given)
        if len(calls) == number:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return whole(*given)

    monkeypatch.setattr(where, name, full)
    monkeypatch.setattr(devices.Budget, "pieces", in_one_piece)
    # Another name of the CPU, so that points are not stored on the host.
    monkeypatch.setattr(devices, "storage_device", lambda *_: torch.device("cpu:0"))
    return calls


class TestMemory:
    def test_work_that_does_not_fit_in_memory_is_split(self, monkeypatch):
        X, labels = cloud(3000, 10), np.arange(3000) % 2
        expected = search(on("cpu"), points_of(X), labels, 15)
        sizes, whole = [], products.product

        def scarce(left, right):
            sizes.append(left.numel())
            if left.numel() > 1 << 15:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return whole(left, right)

        for module in (products, reductions):
            monkeypatch.setattr(module, "product", scarce)
        found = search(on("cpu"), points_of(X), labels, 15)
        assert max(sizes) > 1 << 15
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.distances, expected.distances)

    def test_the_error_names_a_device_without_memory(self, monkeypatch):
        def never(left, right):
            raise torch.OutOfMemoryError("CUDA out of memory.")

        monkeypatch.setattr(products, "product", never)
        with pytest.raises(MemoryError, match=r"cpu has too little free memory .* engine='exact'"):
            search(on("cpu"), points_of(cloud()), np.arange(300) % 2, 15)

    @pytest.mark.parametrize(
        ("where", "name"),
        [(gpu, "_prepare"), (certificates.Certifier, "_mark"), (leaf_search, "roots")],
    )
    def test_points_are_stored_on_the_host_when_the_device_is_full(self, where, name, monkeypatch):
        X, labels = cloud(2000, 5), np.arange(2000) // 1000
        X[:1000] += 2
        calls = fill_once(where, name, 2 - (where is gpu), monkeypatch)
        check(X, 15, labels=labels, engine=on("cpu"))
        calls.clear()
        answers = list(on("cpu")(points_of(X), labels, 15))
        rows = [answer.rows for answer in answers if not isinstance(answer, PairCount)]
        np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(2000))

    @pytest.mark.parametrize(
        ("where", "name", "number"),
        [(gpu, "_prepare", 1), (leaf_search, "roots", 2), (gpu, "ordered", 2)],
    )
    def test_a_search_among_some_falls_back_to_the_host(self, where, name, number, monkeypatch):
        # Some neighbours are found in double precision, before the others.
        X = np.concatenate((HARD["tight clusters far apart"], cloud(300, 8) * 1e5))
        points, rows = points_of(X), np.arange(150, 600)
        expected = partial_search.nearest(points, 400, rows, 15, engine="exact")
        calls = fill_once(where, name, number, monkeypatch)
        found = partial_search.nearest(points, 400, rows, 15, engine="gpu", device="cpu")
        assert len(calls) > number
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        calls.clear()
        proposals = list(gpu.propose_among(points, 400, rows, 15, device="cpu"))
        asked = np.concatenate([proposal.rows for proposal in proposals])
        np.testing.assert_array_equal(np.sort(asked), rows)

    @pytest.mark.gpu
    def test_data_larger_than_the_device_streams_from_the_host(self):
        rng = np.random.default_rng(0)
        X, labels = rng.normal(size=(200_000, 20)), (rng.random(200_000) < 0.05).astype(np.intp)
        X[labels == 1] += 2
        expected = search(on("cuda"), points_of(X), labels, 15)
        torch.cuda.empty_cache()
        share = 60e6 / torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(share)
        try:
            torch.cuda.reset_peak_memory_stats()
            found = search(on("cuda"), points_of(X), labels, 15)
            assert torch.cuda.max_memory_allocated() < 60e6
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.distances, expected.distances)


class TestPrecision:
    @pytest.mark.parametrize("device", DEVICES)
    def test_products_ignore_the_precision_setting_of_the_program(self, device):
        torch.set_float32_matmul_precision("medium")
        try:
            check(HARD["near-ties of single precision"], 15, engine=on(device))
            assert torch.get_float32_matmul_precision() == "medium"
            # Also if the search is abandoned.
            answers = on(device)(points_of(cloud()), np.arange(300) % 2, 15, n_jobs=None)
            next(answers)
            assert torch.get_float32_matmul_precision() == "medium"
            answers.close()
        finally:
            torch.set_float32_matmul_precision("highest")

    @pytest.mark.parametrize("device", DEVICES)
    def test_autocast_does_not_apply(self, device):
        with torch.autocast(device, dtype=torch.bfloat16):
            check(HARD["near-ties of single precision"], 15, engine=on(device))
            assert torch.is_autocast_enabled(device)

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("precision", ["tf32", "ieee"])
    def test_an_inherited_precision_setting_is_inherited_again_afterwards(self, precision, device):
        backend, whole = torch.backends.cuda.matmul, torch.backends
        before = whole.fp32_precision, backend.fp32_precision
        backend.fp32_precision = "none"
        try:
            whole.fp32_precision = precision
            check(HARD["near-ties of single precision"], 15, engine=on(device))
            assert backend.fp32_precision == precision
            whole.fp32_precision = "ieee"
            assert backend.fp32_precision == "ieee"
        finally:
            whole.fp32_precision, backend.fp32_precision = before

    @pytest.mark.parametrize("device", DEVICES)
    def test_results_do_not_depend_on_other_defaults_of_torch(self, device):
        X = HARD["near-ties of single precision"]
        torch.set_default_dtype(torch.float64)
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            check(X, 15, engine=on(device))
            assert torch.is_deterministic_algorithms_warn_only_enabled()
        finally:
            torch.set_default_dtype(torch.float32)
            torch.use_deterministic_algorithms(False)

    @pytest.mark.parametrize("device", DEVICES)
    def test_concurrent_searches_keep_full_precision(self, device):
        torch.set_float32_matmul_precision("medium")
        X = HARD["near-ties of single precision"]
        try:
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda _: check(X, 15, engine=on(device)), range(8)))
            assert torch.get_float32_matmul_precision() == "medium"
        finally:
            torch.set_float32_matmul_precision("highest")

    @pytest.mark.gpu
    def test_square_roots_and_quotients_equal_those_of_the_cpu(self):
        squares = np.random.default_rng(0).random((1_000_000, 3)) ** 4
        tensor = torch.from_numpy(squares).cuda()
        np.testing.assert_array_equal(tensor.sqrt().cpu().numpy(), np.sqrt(squares))
        quotients = (tensor[:, 0] / tensor[:, 1]).cpu().numpy()
        np.testing.assert_array_equal(quotients, squares[:, 0] / squares[:, 1])

    @pytest.mark.gpu
    @pytest.mark.parametrize("d", [1, 13, 32, 54, 300])
    def test_fused_kernels_and_torch_give_the_same_result(self, d, monkeypatch):
        pytest.importorskip("triton")
        X = np.round(cloud(4000, d) * 4) / 4
        labels = (X[:, 0] > 1).astype(np.intp)
        fused = search(on("cuda"), points_of(X), labels, 15)
        monkeypatch.setattr(reductions, "_has_triton", lambda: False)
        plain = search(on("cuda"), points_of(X), labels, 15)
        np.testing.assert_array_equal(fused.certified, plain.certified)
        np.testing.assert_array_equal(fused.indices, plain.indices)
        np.testing.assert_array_equal(fused.distances, plain.distances)


class TestChoice:
    def test_an_error_is_raised_if_there_is_no_gpu(self, monkeypatch):
        monkeypatch.setattr(devices, "find_accelerator", lambda: None)
        with pytest.raises(ValueError, match="engine='gpu' found no GPU that torch can use"):
            GMR(engine="gpu").fit_resample(*load_wine_quality(return_X_y=True))

    @pytest.mark.parametrize("name", ["cuda:99", "nonsense", 99, np.int64(99), "meta"])
    def test_the_error_names_a_device_that_does_not_exist(self, name):
        with pytest.raises(ValueError, match="is not a device that torch can use here: it sees"):
            GMR(engine=GPU(name)).fit_resample(*load_wine_quality(return_X_y=True))

    def test_other_metrics_are_rejected(self):
        with pytest.raises(ValueError, match="can't search with metric='manhattan'"):
            GMR(engine=GPU("cpu"), metric="manhattan").fit_resample(
                *load_wine_quality(return_X_y=True)
            )

    def test_without_torch_the_error_says_what_to_install(self, monkeypatch):
        for name in [name for name in sys.modules if name.startswith("rectifold._engines.gpu")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr("rectifold._engines.gpu")
        monkeypatch.setitem(sys.modules, "torch", None)
        with pytest.raises(ValueError, match=r"needs PyTorch: install rectifold\[gpu\]"):
            GMR(engine="gpu").fit_resample(*load_wine_quality(return_X_y=True))

    @pytest.mark.parametrize(
        ("n_samples", "has_gpu", "expected"),
        [(1000, True, "exact"), (200_000, True, "gpu"), (200_000, False, "exact")],
    )
    def test_auto_chooses_a_gpu_if_it_is_faster(self, n_samples, has_gpu, expected, monkeypatch):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
        monkeypatch.setattr(devices, "find", lambda name: torch.device("cpu"))
        points = Points(np.zeros((n_samples, 20)), "euclidean")
        assert choose("auto", points)[1] == expected
        assert choose("auto", Points(sparse.csr_array((n_samples, 20)), "euclidean"))[1] == "exact"
        assert choose("auto", Points(points.values, "manhattan"))[1] == "scikit-learn"

    def test_many_settings_share_a_search_on_the_device(self):
        X, y = load_wine_quality(return_X_y=True)
        settings = [{}, {"n_neighbors": 5}, {"class_weight": "balanced"}]
        mine = rectify_all(GMR(engine=GPU("cpu")), settings, X, y)
        theirs = rectify_all(GMR(engine="exact"), settings, X, y)
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(one.decision, other.decision)

    def test_a_classifier_cleans_on_the_device(self):
        X, y = load_wine_quality(return_X_y=True)
        X, y = X[::4], y[::4]
        scores = []
        for sampler in (GMR(), GMR(engine=GPU("cpu"))):
            model = RectifiedClassifier(LogisticRegression(), sampler=sampler, cv=2, random_state=0)
            scores.append(model.fit(StandardScaler().fit_transform(X), y).cv_results_["gain"])
        np.testing.assert_array_equal(*scores)


def with_zero_samples(X, every):
    X = X.copy()
    X[::every] = 0
    return X


#: Tables for searches among some samples, and their metrics.
IN_PARTS = {
    "a cloud": (cloud(), "euclidean"),
    "ties and duplicates": (np.round(cloud(400, 3)), "euclidean"),
    "ties and duplicates, squared": (np.round(cloud(400, 3)), "sqeuclidean"),
    "many samples": (np.round(cloud(5000, 4), 1), "euclidean"),
    "many features": (cloud(200, 150), "sqeuclidean"),
    "one sample": (cloud(1, 2), "euclidean"),
    "few samples": (cloud(6, 2), "euclidean"),
    "equal samples": (np.ones((50, 3)), "euclidean"),
    "directions": (np.round(cloud(400, 3)) + 0.5, "cosine"),
    "zero samples": (with_zero_samples(np.round(cloud(400, 3)), 5), "cosine"),
    "few nonzero samples": (np.eye(40)[:, :5], "cosine"),
    "only zero samples": (np.zeros((20, 3)), "cosine"),
    "sparse": (sparse.csr_array(np.round(cloud(200, 8) / 2)), "euclidean"),
} | {
    name: (HARD[name], "euclidean")
    for name in (
        "denormal squares",
        "denormal",
        "huge",
        "near-ties of single precision",
        "one outlier beyond single precision",
        "tight clusters far apart",
    )
}


def compare_nearest(points, targets, rows, k, device):
    """Compare neighbours among some samples with those of the exact engine, within a distance."""
    here = {"engine": "gpu", "device": device}
    indices, distances = partial_search.nearest(points, targets, rows, k, engine="exact")
    found = partial_search.nearest(points, targets, rows, k, **here)
    np.testing.assert_array_equal(found[0], indices)
    np.testing.assert_array_equal(found[1], distances)
    rng = np.random.default_rng(targets)
    # The distance of one of the neighbours, less, and zero.
    within = distances[np.arange(len(rows)), rng.integers(0, k, len(rows))]
    finite = np.isfinite(within)
    within[finite] *= rng.choice([1, 0.3, 0], finite.sum(), p=[0.8, 0.1, 0.1])
    found = partial_search.nearest(points, targets, rows, k, within=within, **here)
    useful = distances <= within[:, None]
    np.testing.assert_array_equal(found[0][useful], indices[useful])
    np.testing.assert_array_equal(found[1][useful], distances[useful])
    # All other results are farther.
    beyond = np.broadcast_to(within[:, None], useful.shape)[~useful]
    assert (found[1][~useful] > beyond).all()


class TestSearchAmongSome:
    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("name", IN_PARTS)
    def test_neighbours_equal_those_of_the_exact_engine(self, name, device, monkeypatch):
        set_mode("small leaves", monkeypatch)
        X, metric = IN_PARTS[name]
        points = comparable(X, metric)
        rng = np.random.default_rng(0)
        for targets in {0, 1, points.n // 2, points.n}:
            for k in (1, 15):
                rows = np.flatnonzero(rng.random(points.n) < rng.choice([0.1, 0.9]))
                compare_nearest(points, targets, rows, k, device)

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize(
        "name",
        ["ties and duplicates", "zero samples", "near-ties of single precision"],
    )
    def test_neighbours_among_some_samples_are_exact_in_all_modes(self, name, device, mode):
        X, metric = IN_PARTS[name]
        points = comparable(X, metric)
        compare_nearest(points, points.n // 2, np.arange(points.n // 3, points.n), 15, device)

    @pytest.mark.parametrize("device", DEVICES)
    def test_every_sample_is_answered_once_with_targets_only(self, device, monkeypatch):
        set_mode("small pieces", monkeypatch)
        X = with_zero_samples(np.round(cloud(400, 3)), 5)
        rows, within = np.arange(50, 400, 2), np.resize([0, 0.1, np.inf], 175)
        proposals = list(
            gpu.propose_among(comparable(X, "cosine"), 100, rows, 5, within=within, device=device)
        )
        asked = np.concatenate([proposal.rows for proposal in proposals])
        np.testing.assert_array_equal(np.sort(asked), rows)
        assert max(proposal.candidates.max(initial=0) for proposal in proposals) < 100

    @pytest.mark.parametrize("device", DEVICES)
    def test_distances_come_sorted_from_the_device(self, device):
        points, rows, k = points_of(np.round(cloud(400, 3))), np.arange(100, 400), 5
        indices, distances = partial_search.nearest(points, 200, rows, k, engine="exact")
        for within in (None, distances[:, 2], distances[:, 2] / 4):
            proposals = gpu.propose_among(points, 200, rows, k, within=within, device=device)
            counts = np.zeros(300, dtype=np.intp)
            for proposal in proposals:
                counts[proposal.rows - 100] = np.diff(proposal.offsets)
                owner = np.repeat(proposal.rows - 100, np.diff(proposal.offsets))
                place = np.concatenate([np.arange(count) for count in np.diff(proposal.offsets)])
                np.testing.assert_array_equal(proposal.candidates, indices[owner, place])
                np.testing.assert_array_equal(proposal.distances, distances[owner, place])
            assert counts.max() == k
            assert (counts.min() < k) == (within is not None)

    @pytest.mark.parametrize("device", DEVICES)
    def test_precision_settings_are_restored_between_answers(self, device):
        points = points_of(HARD["near-ties of single precision"])
        rows = np.arange(100, 300)
        expected = partial_search.nearest(points, 200, rows, 15, engine="exact")
        torch.set_float32_matmul_precision("medium")
        try:
            with torch.autocast(device, dtype=torch.bfloat16):
                found = partial_search.nearest(points, 200, rows, 15, engine="gpu", device=device)
            for answers in (
                gpu.propose_among(points, 200, rows, 15, device=device),
                gpu.certify_only(points, np.zeros(300, dtype=np.intp), 15, device=device),
            ):
                next(answers)
                assert torch.get_float32_matmul_precision() == "medium"
                answers.close()
        finally:
            torch.set_float32_matmul_precision("highest")
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize(
        "name", [name for name in IN_PARTS if name not in ("one sample", "many samples")]
    )
    def test_certificates_are_true_and_only_for_the_class(self, name, device, monkeypatch):
        set_mode("small leaves", monkeypatch)
        X, metric = IN_PARTS[name]
        points = comparable(X, metric)
        X = X.toarray() if sparse.issparse(X) else X
        for k in (1, 15):
            nearest, _ = neighbours(X, min(k, points.n - 1), metric=metric)
            for share in (0.05, 0.5, 0.9):
                friends = np.quantile(X[:, 0], share) <= X[:, 0]
                held = partial_search.certified(points, friends, k, engine="gpu", device=device)
                assert not held[~friends].any()
                assert friends[nearest[held]].all()
                assert points.n > k or not held.any()

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("friends", [200, 3000])
    def test_separated_samples_hold_certificates(self, friends, device):
        X = cloud(6000, 3)
        X[:friends] += 100
        held = partial_search.certified(
            points_of(X), np.arange(6000) < friends, 5, engine="gpu", device=device
        )
        np.testing.assert_array_equal(held, np.arange(6000) < friends)


def with_value(X, value):
    X = X.clone()
    X[3, 2] = value
    return X


class TestDeviceArrays:
    @pytest.fixture
    def wines(self):
        X, y = load_wine_quality(return_X_y=True)
        return np.asarray(X, dtype=np.float64), np.asarray(y)

    @pytest.fixture(params=DEVICES)
    def device(self, request, monkeypatch):
        """Treat tensors of the CPU as those of a device if there is no GPU."""
        if request.param == "cpu":

            def is_tensor(X):
                return isinstance(X, torch.Tensor)

            monkeypatch.setattr("rectifold.sampler.is_on_device", is_tensor)
            monkeypatch.setattr("rectifold._core.pipeline.is_on_device", is_tensor)
            monkeypatch.setattr(device_arrays, "is_on_device", is_tensor)
        return request.param

    @pytest.mark.parametrize("metric", ["euclidean", "cosine"])
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    def test_a_tensor_is_returned_as_a_tensor_of_kept_samples(self, wines, device, metric, dtype):
        X, y = wines
        tensor = torch.from_numpy(X).to(device, dtype)
        labels = torch.from_numpy((y == y[0]).astype(np.int64)).to(device)
        expected = GMR(metric=metric, engine="exact")
        expected.fit_resample(tensor.cpu().numpy(), labels.cpu().numpy())
        gmr = GMR(metric=metric, engine=GPU(device))
        rows, kept = gmr.fit_resample(tensor, labels)
        np.testing.assert_array_equal(gmr.sample_indices_, expected.sample_indices_)
        np.testing.assert_array_equal(
            gmr.rectification_.confidence, expected.rectification_.confidence
        )
        for output in (rows, kept):
            assert isinstance(output, torch.Tensor)
            assert output.device.type == device
        assert rows.dtype == dtype
        assert torch.equal(rows, tensor[gmr.sample_indices_])
        assert torch.equal(kept, labels[gmr.sample_indices_])

    @pytest.mark.parametrize(
        "made",
        [
            lambda X: X.clone().requires_grad_(),
            lambda X: X.T.contiguous().T,
            lambda X: (X * 100).to(torch.int32),
            lambda X: X.to(torch.float16),
        ],
        ids=["with gradients", "by columns", "integers", "half precision"],
    )
    def test_tensors_of_all_types_are_cleaned_like_arrays(self, wines, device, made):
        X, y = wines
        tensor = made(torch.from_numpy(X).to(device))
        expected = GMR(engine="exact").fit(X, y)
        expected.fit_resample(tensor.detach().cpu().double().numpy(), y)
        gmr = GMR(engine=GPU(device))
        rows, _ = gmr.fit_resample(tensor, y)
        np.testing.assert_array_equal(gmr.sample_indices_, expected.sample_indices_)
        assert rows.dtype == tensor.dtype

    def test_points_stay_on_the_host_if_the_device_can_not_hold_a_copy(
        self, wines, device, monkeypatch
    ):
        X, y = wines
        whole, calls = device_arrays._numbers, []

        def full(values):
            calls.append(values)
            if len(calls) == 1:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return whole(values)

        monkeypatch.setattr(device_arrays, "_numbers", full)
        expected = GMR(engine="exact")
        expected.fit_resample(X, y)
        gmr = GMR(engine=GPU(device))
        gmr.fit_resample(torch.from_numpy(X).to(device), y)
        np.testing.assert_array_equal(gmr.sample_indices_, expected.sample_indices_)

    def test_zero_samples_are_settled_on_the_host(self, wines, device):
        X, y = wines
        X = X.copy()
        X[::50] = 0
        expected = GMR(metric="cosine", engine="exact")
        expected.fit_resample(X, y)
        gmr = GMR(metric="cosine", engine=GPU(device))
        gmr.fit_resample(torch.from_numpy(X).to(device), y)
        np.testing.assert_array_equal(gmr.sample_indices_, expected.sample_indices_)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda X: with_value(X, np.nan), "column 2 of X holds missing or inf"),
            (lambda X: with_value(X, np.inf), "column 2 of X holds missing or inf"),
            (lambda X: X[:, 0], "X must have two dimensions, and has 1"),
            (lambda X: X[:, :0], "it needs samples and features"),
            (lambda X: X.to(torch.complex128), "complex numbers"),
            (lambda X: X.to_sparse(), "X is a sparse tensor"),
            (lambda X: X * 0, "every column of X is constant"),
            (lambda X: X * 1e160, "values beyond 1e"),
        ],
    )
    def test_invalid_tensors_are_rejected(self, wines, device, change, message):
        X, y = wines
        with pytest.raises(ValueError, match=message):
            GMR(engine=GPU(device)).fit_resample(change(torch.from_numpy(X).to(device)), y)

    @pytest.mark.parametrize(
        "setting", [{"engine": "exact"}, {"space": StandardScaler()}, {"metric": "manhattan"}]
    )
    def test_options_that_need_the_host_reject_a_tensor(self, wines, device, setting):
        X, y = wines
        with pytest.raises(ValueError, match="X is on a GPU"):
            GMR(**setting).fit_resample(torch.from_numpy(X).to(device), y)

    def test_without_torch_an_array_on_a_gpu_is_rejected(self, wines, monkeypatch):
        class Array:
            shape = (4898, 11)
            __cuda_array_interface__: ClassVar[dict] = {}

        monkeypatch.setitem(sys.modules, "torch", None)
        monkeypatch.delitem(sys.modules, "rectifold._engines.gpu.devices")
        with pytest.raises(ValueError, match=r"X is on a GPU, .* install rectifold\[gpu\]"):
            GMR().fit_resample(Array(), wines[1])

    @pytest.mark.parametrize("standard", [False, True])
    @pytest.mark.parametrize("imports", [False, True])
    def test_arrays_of_other_libraries_are_returned_as_such(
        self, wines, standard, imports, monkeypatch
    ):
        class Array:
            """An array on a device that supports DLPack."""

            def __init__(self, values):
                self.values = values
                self.shape = tuple(values.shape)

            def __dlpack__(self, **options):
                return self.values.__dlpack__(**options)

            def __dlpack_device__(self):
                return (2, 0)

            if standard:

                def __array_namespace__(self):
                    return module

        module = type(sys)("elsewhere")
        if imports:
            module.from_dlpack = lambda tensor: Array(tensor)
        monkeypatch.setitem(sys.modules, "elsewhere", type(sys)("empty") if standard else module)
        Array.__module__ = "elsewhere.arrays"
        monkeypatch.setattr(torch, "from_dlpack", lambda array: array.values)
        X, y = wines
        gmr = GMR(engine=GPU("cpu"))
        rows, _ = gmr.fit_resample(Array(torch.from_numpy(X)), y)
        assert isinstance(rows, Array if imports else torch.Tensor)
        values = rows.values if imports else rows
        np.testing.assert_array_equal(values.numpy(), X[gmr.sample_indices_])


def test_unsorted_neighbours_are_sorted():
    points = points_of(cloud(20, 2))
    rows, k = np.arange(5), 3
    right = search(exact.propose, points, np.arange(20) % 2, k)
    indices, distances = right.indices[:5], right.distances[:5]
    offsets = np.arange(6) * k
    given = Proposal(rows, offsets, indices[:, ::-1].ravel(), distances[:, ::-1].ravel())
    for proposal in (given, Proposal(rows, offsets, indices.ravel(), distances.ravel())):
        found = settle(points, proposal, k)
        np.testing.assert_array_equal(found[0], indices)
        np.testing.assert_array_equal(found[1], distances)
