"""GMR keeps the contracts of scikit-learn's estimators and imbalanced-learn's samplers."""

import inspect

import pytest
from imblearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
)
from imblearn.utils.estimator_checks import parametrize_with_checks as imblearn_checks
from numpydoc.docscrape import ClassDoc, FunctionDoc
from sklearn.utils.estimator_checks import parametrize_with_checks as sklearn_checks

from rectifold import GMR, Rectification, TableSpace

SAMPLERS = [GMR(), GMR(space="auto"), GMR(class_weight="balanced", n_neighbors=5)]


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
