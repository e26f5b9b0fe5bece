"""The embedded data set is the one of the paper, with its attribution."""

import numpy as np
import pandas as pd

from rectifold.datasets import load_wine_quality


def test_it_is_the_set_of_the_paper(paper_data):
    X, y = load_wine_quality(return_X_y=True)
    published, labels = paper_data("wine_quality")
    np.testing.assert_array_equal(X, published)
    np.testing.assert_array_equal(y == "poor", labels == 1)


def test_it_comes_as_a_frame_with_names_and_attribution():
    wine = load_wine_quality(as_frame=True)
    assert isinstance(wine.frame, pd.DataFrame)
    assert wine.frame.shape == (4898, 12)
    assert wine.data.columns.tolist() == wine.feature_names
    assert wine.target.name == "quality"
    assert (wine.target == "poor").sum() == 183
    assert "CC BY 4.0" in wine.DESCR
    assert "Cortez" in wine.DESCR
