"""First steps
===========

Clean a table, see which samples were removed and why, and plot them.
"""

# %%
# The embedded wine data have 4,898 samples with 11 features each; 183 wines are of class "poor".

from rectifold.datasets import load_wine_quality

X, y = load_wine_quality(return_X_y=True, as_frame=True)
y.value_counts()

# %%
# Clean
# -----
#
# :class:`rectifold.GMR` is a sampler with the interface of imbalanced-learn: ``fit_resample``
# returns the samples that are kept. Neighbours are found by distance, so features must be on one
# scale. ``space=`` scales a copy: the samples returned are those of ``X``, unchanged, with their
# index.

from sklearn.preprocessing import StandardScaler

from rectifold import GMR

gmr = GMR(space=StandardScaler())
X_clean, y_clean = gmr.fit_resample(X, y)
X_clean.tail(3)

# %%
# Read the record
# ---------------
#
# ``rectification_`` is the record of the run (:class:`rectifold.Rectification`). Printed, it shows
# counts by class and reason.

record = gmr.rectification_
print(record)

# %%
# The majority class, *ordinary*, is strict: two of its wines were removed, because their neighbours
# predict that they are poor. The minority class, *poor*, is protected: 136 of its wines are
# candidates deep among ordinary ones, but at most a tenth of the class, 18, is removed. The other
# 118 are *spared*. So these features hardly separate poor wines, which is worth knowing before you
# fit a model.
#
# As a dataframe, the record has a row for each sample, with the reason:

why = record.to_frame()
why[why.reason == "intrusion"].round(3)

# %%
# Other thresholds need no new search. ``redecide`` applies them to the same votes:

for gamma in (0, 0.1, 0.3):
    other = record.redecide(gamma=gamma)
    print(f"gamma={gamma}: {other.removed.sum()} removed, {other.spared.sum()} spared")

# %%
# Plot it
# -------
#
# Histograms of confidence: removed samples are black, spared ones hatched. Counts are on a
# logarithmic scale, since most ordinary wines have only ordinary neighbours.

from rectifold.plot import plot_confidence, plot_rectification

# sphinx_gallery_alt = "Histograms of confidence for ordinary and for poor wines. Most ordinary"
# sphinx_gallery_alt = "wines have a confidence near 1; most poor ones are near 0, where some are"
# sphinx_gallery_alt = "removed and more are spared."
_ = plot_confidence(gmr)

# %%
# Where are these samples? Distances use all eleven features, but a figure has two dimensions: here
# the first two principal components. The second panel shows the vote on one of the two ordinary
# wines that were removed.

import matplotlib.pyplot as plt

# sphinx_gallery_alt = "Three panels: the wines in two components, with removed and spared ones"
# sphinx_gallery_alt = "marked; the vote of the neighbours on one removed sample; and the cleaned"
# sphinx_gallery_alt = "samples with the decision boundary before and after."
_, panels = plt.subplots(3, 1, figsize=(6, 17), layout="constrained")
_ = plot_rectification(gmr, axes=panels)

# %%
# Next steps
# ----------
#
# So far there is no model. To fit one, put the sampler into a pipeline, so that only training data
# are cleaned: :doc:`plot_pipeline`. Whether cleaning improves the model must be measured; for these
# wines it does not: :doc:`plot_compare_samplers`.
