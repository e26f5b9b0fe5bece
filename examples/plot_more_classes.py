"""Three classes
=============

Multi-class data: the largest class is cleaned strictly, and each smaller class is protected by its
own cap. You can choose which classes are strict.
"""

# %%
# Birds of three species with two features. Some labels are wrong.

import numpy as np

rng = np.random.default_rng(0)
kinds = np.repeat(["gull", "tern", "skua"], [800, 200, 60])
centre = {"gull": (0, 0), "tern": (2.6, 0.6), "skua": (0.6, 2.8)}
X = np.array([centre[kind] for kind in kinds]) + rng.normal(0, 0.9, (len(kinds), 2))
y = kinds.copy()
wrong = rng.random(len(y)) < 0.04
y[wrong] = rng.choice(["gull", "tern", "skua"], wrong.sum(), p=[0.6, 0.3, 0.1])

# %%
# Gulls, the largest class, are *strict* by default: a gull is removed if its neighbours predict a
# smaller class, or if the vote for gulls is below ``alpha``. With three classes the highest vote
# can be below a half, so values of ``alpha`` below 0.5 have an effect. Terns and skuas are
# *protected*: a sample is a candidate only if its neighbours predict a larger class and all larger
# classes together have a vote above ``beta``, and at most a fraction ``gamma`` of the class is
# removed.

from rectifold import GMR

gmr = GMR()
X_clean, y_clean = gmr.fit_resample(X, y)
print(gmr.rectification_)

# %%
# The third panel shows the boundaries between the regions in which a classifier predicts each
# class, before cleaning and after.

import matplotlib.pyplot as plt

from rectifold.plot import plot_rectification

# sphinx_gallery_alt = "Three panels: three classes in a plane, with removed and spared samples"
# sphinx_gallery_alt = "marked; the vote of the neighbours on one removed sample; and the cleaned"
# sphinx_gallery_alt = "samples with the decision boundaries before and after."
_, panels = plt.subplots(3, 1, figsize=(6, 17), layout="constrained")
_ = plot_rectification(gmr, axes=panels)

# %%
# Which classes are strict
# ------------------------
#
# ``sampling_strategy`` chooses the strict classes, with the values of imbalanced-learn.
# "not minority" cleans terns strictly too. A list names *all* classes that may lose samples.

for strategy in ("majority", "not minority", ["tern"]):
    gmr.set_params(sampling_strategy=strategy).fit_resample(X, y)
    print(f"sampling_strategy={strategy!r}")
    for line in gmr.rectification_.summary()["classes"]:
        print("   {label:5} {role:10} {before:4} -> {after}".format(**line))

# %%
# Does it improve a classifier?
# -----------------------------
#
# Balanced accuracy is a mean over classes, so that skuas count as much as gulls. The sampler is in
# the pipeline: test folds are not cleaned, and keep their wrong labels.

from imblearn.pipeline import make_pipeline
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0)
trees = {
    "default tree": DecisionTreeClassifier(random_state=0),
    "min_samples_leaf=10": DecisionTreeClassifier(min_samples_leaf=10, random_state=0),
}
samplers = {
    "no cleaning": "passthrough",
    "GMR()": GMR(),
    "GMR(sampling_strategy=\n'not minority')": GMR(sampling_strategy="not minority"),
}
# sphinx_gallery_alt = "Balanced accuracy of two trees for three settings. The default tree gains"
# sphinx_gallery_alt = "from cleaning, most if all classes but the smallest are strict; the tree"
# sphinx_gallery_alt = "with at least 10 samples per leaf does not change."
_, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for (name, tree), marker in zip(trees.items(), "os", strict=True):
    means = []
    for sampler in samplers.values():
        model = make_pipeline(sampler, tree)
        means.append(cross_val_score(model, X, y, scoring="balanced_accuracy", cv=folds).mean())
    print(f"{name}: {np.round(means, 3)}")
    axes.plot(means, list(samplers), marker, markersize=9, label=name)
axes.set_xlabel("balanced accuracy, mean of 20 folds")
axes.margins(y=0.3)
axes.invert_yaxis()
_ = axes.legend(loc="center left")

# %%
# A fully grown tree overfits wrong labels, and gains from cleaning. A tree with at least ten
# samples per leaf is robust to label noise: it is as good without cleaning, which adds nothing. If
# a classifier is regularised against label noise, cleaning may not be needed.

# sphinx_gallery_start_ignore
# sphinx_gallery_thumbnail_number = 1
# sphinx_gallery_end_ignore
