"""A report, live
==============

A page on which a person sees why each row went, tries other thresholds, and takes the rows along.
It is one file, opens from disk and asks no server for anything.
"""

# %%
# Make it
# -------
#
# Any run can give one. ``space="auto"`` scales columns, on a copy. With ``alpha=0.6``, stricter
# than the default, a wine of the large class needs six tenths of the vote to stay.

from rectifold import GMR
from rectifold.datasets import load_wine_quality

X, y = load_wine_quality(return_X_y=True, as_frame=True)
gmr = GMR(space="auto", alpha=0.6)
X_clean, y_clean = gmr.fit_resample(X, y)

report = gmr.rectification_.report(title="White wines")
print(f"a page of {len(report.html()) / 1e6:.1f} MB")

# %%
# ``report.save("report.html")`` writes the page, and ``report.open()`` shows it in a browser. In a
# notebook nothing need be called: a record that stands last in a cell shows itself, with counts,
# warnings and, under *Map, levers and rows*, the page. It is live here, too: open it, move a lever,
# click on a row.

gmr.rectification_

# %%
# What is on it
# -------------
#
# - **What happened**: rows before and after, by class and by reason; and in words what to beware
#   of, such as a cap that was reached.
# - **The map**: rows in two principal components of the space in which they were compared. Removed
#   and spared ones are marked by reason.
# - **Levers** for ``alpha``, ``beta`` and ``gamma``: the browser decides again exactly as the
#   library would, and says which call makes that choice.
# - **Confidence**: how sure the votes were, class by class.
# - **Rows**: each removed one with the neighbours that voted on it, their labels, distances and
#   weights.
# - **Columns** in which removed rows differ from those that stayed.
#
# This is how it looks with one removed wine chosen:
#
# .. image:: /docs/images/report.png
#    :alt: The report of the wines: levers with the counts that follow them, a map of all rows with
#          removed and spared ones marked, and beside it one removed row with its fifteen
#          neighbours, their labels, distances and weights.
#
# The page holds rows of your data: send it only to whom you would send the table.
# :doc:`/docs/guide/report` has all that it promises, up to a million rows.

# sphinx_gallery_start_ignore
# sphinx_gallery_thumbnail_path = 'docs/images/report.png'
# sphinx_gallery_end_ignore
