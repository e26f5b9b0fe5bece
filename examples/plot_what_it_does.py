"""What it does
============

GMR removes samples that disagree with a weighted vote of their nearest neighbours. It cleans the
majority class strictly and protects the minority class. This is the figure of the README: two
overlapping classes with two features, so that everything can be shown in the plane.
"""

# %%
# The samples of the rare class form a crescent in a cloud of common samples. Most common samples
# are outside of the crescent, but not all; and some rare samples are label noise, far from the
# crescent.

import numpy as np

rng = np.random.default_rng(4)
angle = rng.uniform(0.15, np.pi - 0.15, 78)
crescent = np.column_stack((2.1 * np.cos(angle), 1.7 * np.sin(angle)))
rare = np.concatenate((crescent + rng.normal(0, 0.13, (78, 2)), rng.normal(0, 1.2, (12, 2))))
common = rng.normal(0, 1.15, (1400, 2))
near = np.abs(np.hypot(common[:, 0] / 2.1, common[:, 1] / 1.7) - 1) < 0.16
common = common[~(near & (common[:, 1] > 0)) | (rng.random(1400) < 0.2)][:700]

X = np.concatenate((common, rare))
y = np.repeat(["common", "rare"], [len(common), len(rare)])

# %%
# :class:`rectifold.GMR` cleans the data, and its record holds all decisions.

from rectifold import GMR

gmr = GMR()
X_clean, y_clean = gmr.fit_resample(X, y)
print(gmr.rectification_)

# %%
# Samples are removed for three reasons, each with its own mark in the figure:
#
# - **intrusion**: a common sample whose neighbours predict the rare class;
# - **ambiguity**: a common sample whose own class has a vote below ``alpha``. With two classes,
#   values up to 0.5 have no effect, so there is none here;
# - **deep noise**: a rare sample with a vote above ``beta`` for the common class, up to a fraction
#   ``gamma`` of all rare samples. Candidates beyond that fraction are *spared*.
#
# The second panel shows one of the votes, in the dashed box of the first panel: arrows are as wide
# as the weights of the neighbours, and nearer neighbours have more weight. The third panel shows
# how the decision boundary of a classifier changes.

import matplotlib.pyplot as plt

from rectifold.plot import plot_rectification

# sphinx_gallery_alt = "Three panels: a cloud of common samples and a crescent of rare ones, with"
# sphinx_gallery_alt = "removed and spared samples marked; the vote of fifteen neighbours on one"
# sphinx_gallery_alt = "removed sample; and the cleaned samples with the decision boundary before"
# sphinx_gallery_alt = "and after."
_, panels = plt.subplots(3, 1, figsize=(6, 17), layout="constrained")
plot_rectification(gmr, axes=panels)
_ = panels[0].set(xlabel="", ylabel="")  # the two features have no meaning

# sphinx_gallery_start_ignore
# sphinx_gallery_thumbnail_path = 'docs/images/what_it_does.png'
# Side by side for the README: python examples/plot_what_it_does.py docs/images/what_it_does.png
import sys

if __name__ == "__main__" and len(sys.argv) > 1:
    with plt.style.context("rectifold.figures"):
        # Before and after; the vote would be too small beside them.
        figure, (before, after) = plt.subplots(1, 2, figsize=(8, 5.6))
        plot_rectification(gmr, axes=[before, plt.figure().add_subplot(), after])
        before.patches[-1].remove()
        before.set(xlabel="", ylabel="")
        for axes, when, labels in ((before, "before", y), (after, "after", y_clean)):
            n_rare = (labels == "rare").sum()
            axes.set_title(f"{when}: {len(labels) - n_rare} common, {n_rare} rare")
        legends = [axes.get_legend() for axes in (before, after)]
        handles = [handle for legend in legends for handle in legend.legend_handles]
        names = [text.get_text() for legend in legends for text in legend.get_texts()]
        for legend in legends:
            legend.remove()
        figure.legend(handles, names, loc="outside lower center", ncols=2, fontsize="medium")
        figure.savefig(sys.argv[1], metadata={"Software": None})
# sphinx_gallery_end_ignore

# %%
# A smoother boundary is not necessarily a better one. Whether cleaning improves a classifier must
# be measured on test data that were not cleaned: see :doc:`plot_compare_samplers`.
