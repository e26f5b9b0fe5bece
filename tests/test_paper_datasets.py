"""On the paper's 27 data sets GMR makes the decisions of a plain reading of Algorithm 1."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from conftest import NAMES
from rectifold import GMR
from reference import algorithm_1, neighbours, votes

#: Too large for the default run; `make test-slow` compares all rows of all sets.
LARGE = ("webpage", "protein_homo")


def compare(X, y, rows, *, n_jobs):
    gmr = GMR(n_jobs=n_jobs)
    gmr.fit_resample(X, y)
    record = gmr.rectification_
    counted = votes(*neighbours(X, 15, rows=rows), y)
    expected = algorithm_1(counted, y, rows)
    found = set(np.flatnonzero(record.removed).tolist()) & set(rows.tolist())
    assert found == expected
    own = [vote[y[row].item()] for row, (vote, _) in zip(rows, counted, strict=True)]
    np.testing.assert_allclose(record.confidence[rows], own, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scaled", [False, True], ids=["raw", "standardised"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in LARGE])
def test_decisions_are_those_of_algorithm_1(paper_data, name, scaled):
    X, y = paper_data(name)
    X = StandardScaler().fit_transform(X) if scaled else X
    # The whole minority, on which the cap depends, and as much of the majority as a
    # second or two of the reference allow.
    affordable = int(8e8 / X.size)
    majority = np.flatnonzero(y == -1)
    sample = np.random.default_rng(0).permutation(majority)[:affordable]
    rows = np.sort(np.concatenate((np.flatnonzero(y == 1), sample)))
    compare(X, y, rows, n_jobs=1)


@pytest.mark.slow
@pytest.mark.parametrize("scaled", [False, True], ids=["raw", "standardised"])
@pytest.mark.parametrize("name", NAMES)
def test_decisions_on_all_rows_are_those_of_algorithm_1(paper_data, name, scaled):
    X, y = paper_data(name)
    X = StandardScaler().fit_transform(X) if scaled else X
    compare(X, y, np.arange(len(y)), n_jobs=1)
