"""On the large data sets, neighbours and certificates are those of the reference."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from conftest import DATA
from rectifold.engines import ENGINES, search
from reference import neighbours
from tables import points_of

LARGE = {
    "creditcard.npz": 1,
    "covtype.npz": 4,
    "cidds001_1p1M_numeric.npz": "attacker",
}


@pytest.mark.slow
@pytest.mark.parametrize("file", LARGE)
def test_a_sample_of_rows_agrees_with_the_reference(file):
    if not (DATA / "large" / file).is_file():
        pytest.skip(f"{file} is not at {DATA / 'large'} (set RECTIFOLD_DATA to its parent)")
    with np.load(DATA / "large" / file, allow_pickle=False) as data:
        X = StandardScaler().fit_transform(data["X"].astype(np.float64))
        y = (data["y"] == LARGE[file]).astype(np.intp)
    found = search(ENGINES["exact"], points_of(X), y, 15, n_jobs=2)
    rng = np.random.default_rng(0)
    proved = np.sort(rng.choice(np.flatnonzero(found.certified), 60, replace=False))
    indices, _ = neighbours(X, 15, rows=proved, metric="euclidean")
    assert (y[indices] == y[proved][:, None]).all()
    some = np.sort(rng.choice(len(found.rows), 60, replace=False))
    indices, distances = neighbours(X, 15, rows=found.rows[some], metric="euclidean")
    np.testing.assert_array_equal(found.indices[some], indices)
    np.testing.assert_array_equal(found.distances[some], distances)
