"""The embedded data set, and those of the paper."""

import numpy as np
import pandas as pd
import pytest

from rectifold.datasets import PAPER_DATASETS, fetch_paper_datasets, load_wine_quality


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


def test_the_data_sets_of_the_paper_have_the_published_values(paper_data, recwarn):
    found = fetch_paper_datasets(download_if_missing=False)
    assert tuple(found) == PAPER_DATASETS
    assert found["oil"].data.shape == (937, 49)
    assert sorted(np.unique(found["oil"].target)) == [-1, 1]
    assert not recwarn.list


def test_other_values_are_a_warning(paper_data, tmp_path, monkeypatch):
    X, y = paper_data("ecoli")
    (tmp_path / "zenodo").mkdir()
    np.savez(tmp_path / "zenodo" / "x1data.npz", data=X + 1, label=y)
    monkeypatch.setenv("RECTIFOLD_DATA", str(tmp_path))
    with pytest.warns(UserWarning, match="'ecoli' does not have the published values"):
        fetch_paper_datasets(names=["ecoli"])


def test_nothing_is_downloaded_unless_asked(tmp_path):
    with pytest.raises(OSError, match="ecoli, oil; pass download_if_missing=True, or their folder"):
        fetch_paper_datasets(tmp_path, names=["ecoli", "oil"], download_if_missing=False)
    assert not list(tmp_path.iterdir())


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(ValueError, match=r"'ecolli', .*; did you mean 'ecoli'\?"):
        fetch_paper_datasets(names=["ecolli"])
