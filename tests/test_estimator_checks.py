"""GMR keeps the contracts of scikit-learn's estimators and imbalanced-learn's samplers."""

import inspect

import pytest
from imblearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
)
from imblearn.utils.estimator_checks import parametrize_with_checks as imblearn_checks
from numpydoc.docscrape import ClassDoc, FunctionDoc
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks as sklearn_checks

from rectifold import (
    GMR,
    Evaluation,
    HEOMSpace,
    Rectification,
    RectifiedClassifier,
    TableSpace,
)
from rectifold.report import Report

SAMPLERS = [
    GMR(),
    GMR(space="auto"),
    GMR(space="heom"),
    GMR(class_weight="balanced", n_neighbors=5),
    GMR(metric="manhattan"),
]


@sklearn_checks(SAMPLERS)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@imblearn_checks(SAMPLERS)
def test_imbalanced_learn_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", SAMPLERS)
def test_parameters_are_validated(estimator):
    check_param_validation("GMR", estimator)


def test_column_names_are_kept_and_compared():
    check_dataframe_column_names_consistency("GMR", GMR())


def public_objects():
    """Every public class, and every public method that the package itself defines."""
    for cls in (GMR, RectifiedClassifier, Rectification, Report, Evaluation, TableSpace, HEOMSpace):
        yield pytest.param(cls, ClassDoc, id=cls.__name__)
        for name, member in vars(cls).items():
            if not name.startswith("_") and inspect.isfunction(member):
                yield pytest.param(member, FunctionDoc, id=f"{cls.__name__}.{name}")


@pytest.mark.parametrize(("documented", "reader"), list(public_objects()))
def test_documentation_names_the_parameters_of_the_signature(documented, reader):
    doc = reader(documented)
    assert doc["Summary"]
    parameters = [name for name in inspect.signature(documented).parameters if name != "self"]
    if documented in (Rectification, Evaluation):
        return  # users are given one, and read its attributes
    documented_names = [n.strip(" *") for p in doc["Parameters"] for n in p.name.split(",")]
    assert documented_names == parameters


@pytest.mark.parametrize("estimator", [GMR, RectifiedClassifier, TableSpace, HEOMSpace])
def test_documentation_names_all_fitted_attributes(estimator, overlapping):
    X, y = overlapping
    if estimator is RectifiedClassifier:
        fitted = RectifiedClassifier(LogisticRegression(), param_grid=[{}], cv=2).fit(X, y)
    else:
        fitted = estimator()
        fitted.fit_resample(X, y) if estimator is GMR else fitted.fit(X)
    documented = {attribute.name for attribute in ClassDoc(estimator)["Attributes"]}
    found = {name for name in dir(fitted) if name.endswith("_") and not name.startswith("_")}
    assert found - {"feature_names_in_"} == documented - {"feature_names_in_"}
