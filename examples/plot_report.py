"""An interactive report
=====================

An HTML page that shows why each sample was removed, lets you try other thresholds, and exports the
removed samples. It is a single file that works offline.
"""

# %%
# Create a report
# ---------------
#
# Every run has a report. ``space="auto"`` scales the features of a copy. ``alpha=0.6`` is stricter
# than the default: samples of the majority class with less than 0.6 of the vote are removed.

from rectifold import GMR
from rectifold.datasets import load_wine_quality

X, y = load_wine_quality(return_X_y=True, as_frame=True)
gmr = GMR(space="auto", alpha=0.6)
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
#   cap that was reached.
# - **Map**: samples in the first two principal components of the space. Removed and spared samples
#   are marked by reason.
# - **Thresholds**: sliders for ``alpha``, ``beta`` and ``gamma``. The browser applies them exactly
#   as the library does, and shows the call that gives the same result.
# - **Confidence**: a histogram for each class.
# - **Samples**: each removed sample with its neighbours, their labels, distances and weights.
# - **Columns** in which removed samples differ most from kept ones.
#
# This is the page with one removed wine selected:
#
# .. image:: /docs/images/report.png
#    :alt: The report of the wines: sliders with the counts that follow them, a map of all samples
#          with removed and spared ones marked, and beside it one removed sample with its fifteen
#          neighbours, their labels, distances and weights.
#
# The page contains samples of your data: share it only with people who may see the table.
# :doc:`/docs/guide/report` describes it in full, up to a million samples.

# sphinx_gallery_start_ignore
# sphinx_gallery_thumbnail_path = 'docs/images/report.png'
# sphinx_gallery_end_ignore
