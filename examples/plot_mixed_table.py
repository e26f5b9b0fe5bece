"""A messy table
=============

Categorical features, dates, missing values and outliers: ``space="auto"`` computes distances on an
encoded copy, and returns the samples unchanged.
"""

# %%
# An export of loans: an identifier, incomes as text with some "n/a", amounts of which six are in
# cents, missing values, dates as text, and a constant column.

import numpy as np
import pandas as pd

rng = np.random.default_rng(7)
n = 2000
defaulted = rng.random(n) < 0.08
income = rng.lognormal(np.where(defaulted, 10.1, 10.6), 0.35)
amount = rng.lognormal(np.where(defaulted, 9.4, 9.0), 0.5)
amount[rng.choice(n, 6, replace=False)] *= 100  # in cents
late = rng.poisson(np.where(defaulted, 2.5, 0.3)).astype(float)
late[rng.random(n) < 0.15] = np.nan
purpose = np.where(
    rng.random(n) < np.where(defaulted, 0.5, 0.15),
    "consolidation",
    rng.choice(["car", "house", "wedding", None], n),
)
day = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
loans = pd.DataFrame(
    {
        "loan": [f"L-{i:05}" for i in range(n)],
        "income": np.where(rng.random(n) < 0.05, "n/a", income.round().astype(int).astype(str)),
        "amount": amount.round(2),
        "late payments": late,
        "purpose": purpose,
        "opened": day.strftime("%Y-%m-%d"),
        "currency": "EUR",
    }
)
target = pd.Series(np.where(defaulted, "defaulted", "repaid"), name="outcome")
loans.head()

# %%
# By default distances need numeric features, and the error message suggests what to do:

import textwrap

from rectifold import GMR

try:
    GMR().fit_resample(loans, target)
except ValueError as error:
    print(textwrap.fill(str(error), 70))

# %%
# ``space="auto"`` warns of columns that it can't use as they are. The warnings are printed here: a
# column with a different value in every row is an identifier, and "n/a" is a missing value.

import warnings

gmr = GMR(space="auto")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kept, kept_target = gmr.fit_resample(loans, target)
for warning in caught:
    print("-", textwrap.fill(str(warning.message), 70))

# %%
# The fitted space (:class:`rectifold.TableSpace`) lists how each column is encoded.

print(pd.Series(gmr.space_.columns_).to_string())

# %%
# Numbers are scaled robustly by their quartiles, and outliers are pulled in, so that six amounts in
# cents do not dominate. With standardisation they would: nearly all amounts would be at almost the
# same distance. Categories are one-hot encoded, dates become numbers, and missing values are
# imputed and marked.

import matplotlib.pyplot as plt
from sklearn.preprocessing import StandardScaler

from rectifold import TableSpace

amounts = loans[["amount"]]
# sphinx_gallery_alt = "Two histograms of amounts. Standardised, nearly all loans are in one bin"
# sphinx_gallery_alt = "and a few are far away; with space='auto' they are spread over the whole"
# sphinx_gallery_alt = "range."
_, (above, below) = plt.subplots(2, 1, figsize=(6.4, 5), layout="constrained")
above.hist(StandardScaler().fit_transform(amounts), bins=60, log=True)
above.set(title="amounts, standardised", ylabel="loans (log scale)")
below.hist(TableSpace().fit_transform(amounts), bins=60, log=True)
_ = below.set(title='amounts in space="auto"', ylabel="loans (log scale)")

# %%
# Removed samples
# ---------------
#
# The samples returned are unchanged: text is text, missing values are missing, and the index is
# that of the table.

print(gmr.rectification_)
why = gmr.rectification_.to_frame()
intrusions = why[why.reason == "intrusion"]
loans.loc[intrusions.index].assign(outcome=intrusions.label, predicted=intrusions.predicted).head()

# %%
# Another distance
# ----------------
#
# ``space="heom"`` is the heterogeneous Euclidean-overlap metric of the literature
# (:class:`rectifold.HEOMSpace`): numbers are scaled by the range of the column, and the distance of
# different categories or missing values is 1. It is sensitive to outliers and does not detect
# identifiers, so drop those first.

table = loans.drop(columns=["loan", "currency"])
table["income"] = pd.to_numeric(table.income, errors="coerce")
other = GMR(space="heom")
other.fit_resample(table, target)
print(other.rectification_)

both = other.rectification_.removed & gmr.rectification_.removed
print(both.sum(), "samples are removed by both.")

# %%
# Two sensible metrics have few removed samples in common: the result of cleaning depends on the
# choice of the metric. So look at the samples before you remove them (:doc:`plot_report`), and
# measure whether your model improves (:doc:`plot_compare_samplers`, which accepts such a table).
