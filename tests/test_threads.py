"""Fits in many threads and processes at once: the same bits, and BLAS as it was."""

import multiprocessing
import os
import signal
import sys
import threading
import tracemalloc
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from imblearn.pipeline import make_pipeline
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from threadpoolctl import threadpool_info

from rectifold import GMR, NeighborVoteClassifier, RectifiedClassifier
from rectifold._core import threads
from rectifold.progress import listening


def table(seed, n=1_500, d=6):
    return make_classification(n, d, n_informative=4, weights=[0.9], flip_y=0.1, random_state=seed)


def kept(seed, n_jobs=1):
    sampler = GMR(n_jobs=n_jobs)
    sampler.fit_resample(*table(seed))
    return sampler.sample_indices_.tobytes()


def blas_threads():
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_concurrent_fits_give_the_same_bits_and_leave_blas_as_it_was():
    before, seeds = blas_threads(), list(range(10))
    alone = [kept(seed) for seed in seeds]
    jobs = [(seed, 1 + number % 3) for number in range(20) for seed in seeds]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda job: kept(*job), jobs))
    assert len(answers) == 200
    assert answers == [alone[seed] for seed, _ in jobs]
    assert blas_threads() == before
    assert threads._in_use == 0
    assert len(threads._released) <= threads._MAX_RELEASED


def test_a_search_that_waits_in_vain_for_others_to_end_starts_all_the_same(monkeypatch):
    expected = kept(0)
    slots = threading.BoundedSemaphore(1)
    monkeypatch.setattr(threads, "_slots", slots)
    monkeypatch.setattr(threads, "_PATIENCE", 0.01)
    with slots:
        assert kept(0) == expected
    assert kept(0, n_jobs=2) == expected
    assert slots.acquire(blocking=False)


@pytest.mark.skipif(all(n == 1 for n in blas_threads()), reason="BLAS has one thread anyway")
def test_blas_has_one_thread_during_work_in_any_thread_and_all_of_them_after():
    before = blas_threads()
    kept(0)
    entered, leave = threading.Event(), threading.Event()

    def work():
        with threads.Workers(1):
            entered.set()
            leave.wait()

    first = threading.Thread(target=work)
    first.start()
    entered.wait()
    assert set(blas_threads()) == {1}
    with threads.Workers(1):
        leave.set()
        first.join()
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_a_fitted_model_predicts_in_many_threads():
    X, y = table(0)
    model = NeighborVoteClassifier().fit(X, y)
    new, _ = table(1)
    alone = NeighborVoteClassifier().fit(X, y).predict_proba(new)
    with ThreadPoolExecutor(8) as pool:
        for votes in pool.map(lambda _: model.predict_proba(new), range(24)):
            np.testing.assert_array_equal(votes, alone)


def test_fits_in_new_threads_keep_no_memory():
    def fit_in_thread():
        thread = threading.Thread(target=kept, args=(0, 2))
        thread.start()
        thread.join()

    fit_in_thread()
    tracemalloc.start()
    for _ in range(5):
        fit_in_thread()
    first, _ = tracemalloc.get_traced_memory()
    for _ in range(20):
        fit_in_thread()
    last, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert last - first < 1_000_000


@pytest.mark.parametrize("method", [m for m in ("fork", "spawn") if sys.platform == "linux"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_processes_started_during_a_search_can_search(method):
    expected, stop = kept(0), threading.Event()

    def search():
        while not stop.is_set():
            kept(1, n_jobs=2)

    busy = [threading.Thread(target=search) for _ in range(3)]
    for thread in busy:
        thread.start()
    try:
        context = multiprocessing.get_context(method)
        for _ in range(3 if method == "fork" else 1):
            with ProcessPoolExecutor(2, mp_context=context) as pool:
                assert list(pool.map(kept, [0, 0], [1, 2], timeout=60)) == [expected] * 2
    finally:
        stop.set()
        for thread in busy:
            thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_process_forked_while_another_thread_holds_the_lock_can_search():
    expected, before = kept(0), blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def work():
        with threads.Workers(1), threads._lock:
            entered.set()
            leave.wait()

    other = threading.Thread(target=work)
    other.start()
    entered.wait()
    process = os.fork()
    if not process:
        signal.alarm(60)
        try:
            same = kept(0, 2) == expected and blas_threads() == before
        finally:
            os._exit(0 if same else 1)
    leave.set()
    other.join()
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_process_forked_by_a_search_ends_that_search_and_starts_others():
    expected, before, process = [kept(0), kept(1)], blas_threads(), []

    def fork(*_):
        if not process:
            process.append(os.fork())

    with listening(fork):
        same = kept(0) == expected[0]
    if not process[0]:
        try:
            with threads.Workers(1):
                same &= set(blas_threads()) == {1}
            same &= kept(1, 2) == expected[1] and blas_threads() == before
        finally:
            os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(process[0], 0)[1]) == 0
    assert same
    assert blas_threads() == before


def test_nested_parallel_fits_end_with_the_same_results():
    X, y = table(0, n=600)
    model = make_pipeline(GMR(n_jobs=2), LogisticRegression())
    grid = {"gmr__alpha": [0.3, 0.7]}
    scores = [
        GridSearchCV(model, grid, cv=2, n_jobs=n_jobs).fit(X, y).cv_results_["mean_test_score"]
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*scores)
    inner = RectifiedClassifier(LogisticRegression(), cv=2, param_grid=(), n_jobs=2)
    scores = [cross_val_score(inner, X, y, cv=2, n_jobs=n_jobs) for n_jobs in (1, 2)]
    np.testing.assert_array_equal(*scores)
