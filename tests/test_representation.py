"""Estimators in a notebook: links to their pages, and parameters with their descriptions."""

import inspect
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

import rectifold

API = Path(__file__).parents[1] / "docs" / "api"
PUBLIC = [getattr(rectifold, name) for name in rectifold.__all__]
ESTIMATORS = [one for one in PUBLIC if inspect.isclass(one) and issubclass(one, BaseEstimator)]


def link(kind):
    needed = "estimator" in inspect.signature(kind).parameters
    return (kind(LogisticRegression()) if needed else kind())._get_doc_link()


def listed():
    return {line.strip() for page in API.glob("*.rst") for line in page.read_text().splitlines()}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_estimator_links_to_its_page(kind):
    page = link(kind).rpartition("/")[2].removesuffix(".html")
    assert page == f"rectifold.{kind.__name__}"
    assert page in listed()


def test_the_sampler_for_dask_links_to_its_own_page():
    pytest.importorskip("dask")
    assert link(rectifold.dask.GMR).endswith("/rectifold.dask.GMR.html")
    assert "rectifold.dask.GMR" in listed()


def test_parameters_are_shown_with_their_descriptions():
    model = rectifold.RectifiedClassifier(LogisticRegression(), sampler=rectifold.GMR())
    html = model._repr_html_()
    assert model._get_doc_link() in html
    assert model.sampler._get_doc_link() in html
