"""First steps
===========

Clean a table, read the record of what went and why, and look at the picture.
"""

# %%
# The embedded table has 4,898 white wines with 11 measurements each. Tasters found 183 of them
# poor.

from rectifold.datasets import load_wine_quality

X, y = load_wine_quality(return_X_y=True, as_frame=True)
y.value_counts()

# %%
# Clean
# -----
#
# :class:`rectifold.GMR` is a sampler of imbalanced-learn: ``fit_resample`` gives back the rows
# that stay. Neighbours are found by distance, so columns must be on one scale. ``space=`` sees to
# that on a copy: the rows that come back are yours, untouched, with their index.

from sklearn.preprocessing import StandardScaler

from rectifold import GMR

gmr = GMR(space=StandardScaler())
X_clean, y_clean = gmr.fit_resample(X, y)
X_clean.tail(3)

# %%
# Read the record
# ---------------
#
# ``rectification_`` is the record (:class:`rectifold.Rectification`). Printed, it counts.

record = gmr.rectification_
print(record)

# %%
# The large class, *ordinary*, is strict: two of its wines went, because their neighbours predict
# that they are poor. The small class, *poor*, is protected: 136 of its wines lie deep among
# ordinary ones, but only a tenth of the class, 18, may go. The other 118 were *spared*. So poor
# wines are hard to tell by these measurements, which is worth knowing before any model is fitted.
#
# As a table the record has a line for every row, with the reason:

why = record.to_frame()
why[why.reason == "intrusion"].round(3)

# %%
# Other thresholds need no new search. ``redecide`` tells what would have happened:

for gamma in (0, 0.1, 0.3):
    other = record.redecide(gamma=gamma)
    print(f"gamma={gamma}: {other.removed.sum()} removed, {other.spared.sum()} spared")

# %%
# See the picture
# ---------------
#
# How sure were the votes? Removed rows are black, spared ones hatched. Counts are logarithmic: most
# ordinary wines have ordinary neighbours only.

from rectifold.plot import plot_confidence, plot_rectification

# sphinx_gallery_alt = "Histograms of confidence for ordinary and for poor wines. Most ordinary"
# sphinx_gallery_alt = "wines have a confidence near 1; most poor ones are near 0, where some are"
# sphinx_gallery_alt = "removed and more are spared."
_ = plot_confidence(gmr)

# %%
# Where do these rows lie? All eleven columns count in the votes, but a picture has two
# directions: here the first two principal components. The second panel shows the vote on one of
# the two ordinary wines that went.

import matplotlib.pyplot as plt

# sphinx_gallery_alt = "Three panels: the wines in two components, with removed and spared ones"
# sphinx_gallery_alt = "marked; the vote of the neighbours on one removed row; and the cleaned"
# sphinx_gallery_alt = "rows with the decision boundary before and after."
_, panels = plt.subplots(3, 1, figsize=(6, 17), layout="constrained")
_ = plot_rectification(gmr, axes=panels)

# %%
# What now?
# ---------
#
# This was a look at a table, not yet a model. To fit one, put the sampler into a pipeline, so that
# only training rows are cleaned: :doc:`plot_pipeline`. Whether that helps is another question, and
# for these wines the answer is to leave them alone: :doc:`plot_compare_samplers`.
