"""An interactive report
=====================

An HTML page that shows why each sample was removed, lets you try other thresholds, and exports the
removed samples. It is a single file that works offline.
"""

# %%
# Create a report
# ---------------
#
# Every run has a report. ``space="auto"`` scales the features of a copy.

from rectifold import GMR
from rectifold.datasets import load_wine_quality

X, y = load_wine_quality(return_X_y=True, as_frame=True)
gmr = GMR(space="auto")
X_clean, y_clean = gmr.fit_resample(X, y)

report = gmr.rectification_.report(title="White wines")
print(f"a page of {len(report.html()) / 1e6:.1f} MB")

# %%
# ``report.save("report.html")`` writes the page, and ``report.open()`` shows it in a browser. In a
# notebook, a record in the last line of a cell is displayed with its counts, its warnings and,
# under *Map, thresholds and samples*, the page. It is interactive here too: open it, move a slider,
# click on a sample.

gmr.rectification_

# %%
# Contents
# --------
#
# - **Summary**: samples before and after cleaning, by class and by reason, and warnings, such as a
#   cap that was reached or a class that loses more than 30 % of its samples.
# - **Map**: samples in the first two principal components of the space. Removed and spared samples
#   are marked by reason.
# - **Thresholds**: sliders for ``gamma``, ``beta`` and ``alpha``. The browser applies them exactly
#   as the library does, and shows the call that gives the same result.
# - **Confidence**: a histogram for each class.
# - **Duplicates**, whose votes count most: they are neighbours at distance zero.
# - **Samples**: each removed sample with its neighbours, their labels, distances and weights, and
#   beside them, column by column, with the share of each column in the distance.
# - **Columns** in which removed samples differ most from kept ones.
#
# These are two parts of the page, the map and one removed wine:
#
# .. image:: /docs/images/report.png
#    :alt: The report of the wines: a map of all samples with removed and spared ones marked, and
#          below it one removed sample beside its neighbours, column by column, with the share of
#          each column in the squared distance.
#
# The page contains samples of your data: share it only with people who may see the table.
# :doc:`/docs/guide/report` describes it in full, up to a million samples.

# sphinx_gallery_start_ignore
# sphinx_gallery_thumbnail_path = 'docs/images/report.png'
# sphinx_gallery_end_ignore
