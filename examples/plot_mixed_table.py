"""A mixed table, as tables are
============================

Categories, dates, missing values and outliers: ``space="auto"`` computes distances on an encoded
copy, and gives back your rows as they were.
"""

# %%
# Loans, as an export has them: a number for every loan, incomes as text with "n/a" among them,
# amounts of which six are in cents, gaps, days as text, and a column that never changes.

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
# Without help, distances need numbers, and the error says what to do:

import textwrap

from rectifold import GMR

try:
    GMR().fit_resample(loans, target)
except ValueError as problem:
    print(textwrap.fill(str(problem), 70))

# %%
# So do it. What it makes of odd columns it says in warnings, which are shown here as text: a
# column in which every row has its own value can't tell which rows are alike, and "n/a" is no
# income.

import warnings

gmr = GMR(space="auto")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    kept, kept_target = gmr.fit_resample(loans, target)
for one in said:
    print("-", textwrap.fill(str(one.message), 70))

# %%
# What became of each column is in the fitted space (:class:`rectifold.TableSpace`).

print(pd.Series(gmr.space_.columns_).to_string())

# %%
# Numbers are scaled by their quartiles and drawn in beyond three widths of them, so that six
# amounts in cents do not flatten all others. Standardised, they would: nearly all amounts would
# be the same to a distance. Categories are the same or not, dates are numbers, and gaps are
# filled and marked.

import matplotlib.pyplot as plt
from sklearn.preprocessing import StandardScaler

from rectifold import TableSpace

amounts = loans[["amount"]]
# sphinx_gallery_alt = "Two histograms of amounts. Standardised, nearly all loans are in one bar"
# sphinx_gallery_alt = "and a few lie far away; in the space that GMR uses, they are spread over"
# sphinx_gallery_alt = "the whole width."
_, (above, below) = plt.subplots(2, 1, figsize=(6.4, 5), layout="constrained")
above.hist(StandardScaler().fit_transform(amounts), bins=60, log=True)
above.set(title="amounts, standardised", ylabel="loans (log scale)")
below.hist(TableSpace().fit_transform(amounts), bins=60, log=True)
_ = below.set(title='amounts in space="auto"', ylabel="loans (log scale)")

# %%
# What went
# ---------
#
# The rows that come back are yours: text is text, gaps are gaps, and the index is that of the
# table.

print(gmr.rectification_)
why = gmr.rectification_.to_frame()
gone = why[why.reason == "intrusion"]
loans.loc[gone.index].assign(outcome=gone.label, predicted=gone.predicted).head()

# %%
# Another distance
# ----------------
#
# ``space="heom"`` is a metric of the literature for mixed tables (:class:`rectifold.HEOMSpace`):
# numbers count by their share of the column's range, different categories and gaps as 1. It has no
# defence against outliers, and takes identifiers at their word, so leave those out yourself.

table = loans.drop(columns=["loan", "currency"])
table["income"] = pd.to_numeric(table.income, errors="coerce")
other = GMR(space="heom")
other.fit_resample(table, target)
print(other.rectification_)

both = other.rectification_.removed & gmr.rectification_.removed
print(both.sum(), "rows are removed by both.")

# %%
# Two honest distances, and few removed rows in common: what counts as near is a choice, and
# cleaning follows it. So look at the rows before you let them go (:doc:`plot_report`), and
# measure whether your model gains (:doc:`plot_compare_samplers`, which takes such a table as it
# is).
