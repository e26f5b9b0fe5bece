"""On the large data sets, neighbours and certificates are those of the reference."""

import numpy as np
import pytest

from cases import LARGE, load
from conftest import DATA
from rectifold._engines import exact, search
from reference import neighbours
from tables import points_of


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_sample_of_rows_agrees_with_the_reference(name):
    file = DATA / "large" / LARGE[name][0]
    if not file.is_file():
        pytest.skip(f"there is no {file} (set RECTIFOLD_DATA to the folder of the data)")
    X, y = load(name, DATA)
    found = search(exact.propose, points_of(X), y, 15, n_jobs=2)
    rng = np.random.default_rng(0)
    proved = np.sort(rng.choice(np.flatnonzero(found.certified), 60, replace=False))
    indices, _ = neighbours(X, 15, rows=proved, metric="euclidean")
    assert (y[indices] == y[proved][:, None]).all()
    some = np.sort(rng.choice(len(found.rows), 60, replace=False))
    indices, distances = neighbours(X, 15, rows=found.rows[some], metric="euclidean")
    np.testing.assert_array_equal(found.indices[some], indices)
    np.testing.assert_array_equal(found.distances[some], distances)
