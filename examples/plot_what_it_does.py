"""What it does
============

GMR lets every row be judged by its nearest neighbours. It is strict with the large class and
protective of the small one. This is the picture of the README: two overlapping classes in two
columns, so that all of it can be seen.
"""

# %%
# A crescent of rare rows lies in a cloud of common ones. Most common rows keep clear of it, but not
# all; and some rare rows are scattered far from the crescent.

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
# :class:`rectifold.GMR` cleans, and its record says what happened.

from rectifold import GMR

gmr = GMR()
X_clean, y_clean = gmr.fit_resample(X, y)
print(gmr.rectification_)

# %%
# Three reasons are possible, and each has its own mark in the picture:
#
# - **intrusion**: a common row whose neighbours say that it is rare goes;
# - **ambiguity**: so does one whose own class has a vote below ``alpha``. With two classes that
#   adds nothing up to 0.5, and there are none here;
# - **deep noise**: a rare row goes only if the vote for the common class is above ``beta``, and at
#   most a share ``gamma`` of all rare rows. Candidates beyond that share are *spared*.
#
# The second panel shows one of the votes, where the first has a dashed box: an arrow is as thick as
# the weight of the neighbour from which it comes, and near neighbours weigh more. The third shows
# how the decision boundary of a classifier moves.

import matplotlib.pyplot as plt

from rectifold.plot import plot_rectification

# sphinx_gallery_alt = "Three panels: a cloud of common rows and a crescent of rare ones, with"
# sphinx_gallery_alt = "removed and spared rows marked; the vote of fifteen neighbours on one"
# sphinx_gallery_alt = "removed row; and the cleaned rows with the decision boundary before and"
# sphinx_gallery_alt = "after."
_, panels = plt.subplots(3, 1, figsize=(6, 17), layout="constrained")
plot_rectification(gmr, axes=panels)
_ = panels[0].set(xlabel="", ylabel="")  # the two columns stand for nothing

# sphinx_gallery_start_ignore
# sphinx_gallery_thumbnail_path = 'docs/images/what_it_does.png'
# Side by side for the README: python examples/plot_what_it_does.py docs/images/what_it_does.png
import sys

if __name__ == "__main__" and len(sys.argv) > 1:
    original, _, _ = plot_rectification(gmr)
    original.set(xlabel="", ylabel="")
    original.figure.savefig(sys.argv[1], dpi=110, metadata={"Software": None})
# sphinx_gallery_end_ignore

# %%
# That the boundary is smoother does not say that it is better. Whether cleaning helps a classifier
# is a question to rows that were not cleaned: see :doc:`plot_compare_samplers`.
