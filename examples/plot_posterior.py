"""Probabilities put back
======================

Removing rows of one class moves probabilities towards the other. The correction undoes that,
exactly for random removal and in part for cleaning. Reliability curves show both.
"""

# %%
# The paper's lemma says how far probabilities move where a fraction ``r0`` of class 0 and ``r1`` of
# class 1 go, *uniformly*. :func:`~rectifold.posterior.posterior_shift` is that, and
# :func:`~rectifold.posterior.undo_posterior_shift` the way back.

from rectifold.posterior import posterior_shift, undo_posterior_shift

moved = posterior_shift(0.10, r0=0.75, r1=0)
print(f"0.10 becomes {moved:.2f}, and is put back to {undo_posterior_shift(moved, 0.75, 0):.2f}")

# %%
# Does that hold on rows that a model has not seen? Two tables: one with classes that overlap by
# construction, and the embedded wines, a few of which are poor.

from sklearn.datasets import make_classification

from rectifold.datasets import load_wine_quality

wines = load_wine_quality()
tables = {
    "made up": make_classification(
        8000, n_features=6, n_informative=4, weights=[0.9], class_sep=0.7, random_state=0
    ),
    "wines": (wines.data, (wines.target == "poor").astype(int)),
}

# %%
# One way of removing rows is uniform, the others are :class:`rectifold.GMR`, which removes rows
# where classes meet and none elsewhere.

from imblearn.under_sampling import RandomUnderSampler

from rectifold import GMR

samplers = {
    "none": None,
    "random under-sampling to 1:2": RandomUnderSampler(sampling_strategy=0.5, random_state=0),
    "GMR()": GMR(),
    "GMR(alpha=0.9, gamma=0)": GMR(alpha=0.9, gamma=0),
    "GMR(class_weight='balanced', gamma=0)": GMR(class_weight="balanced", gamma=0),
}

# %%
# Fit logistic regression after each, on training rows; score its probabilities on test rows, as
# they are and put back. A lower Brier score is better. The table is written in Markdown.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# sphinx_gallery_alt = "Reliability curves for made-up rows and for the wines. Random"
# sphinx_gallery_alt = "under-sampling gives probabilities that are far too high; put back, drawn"
# sphinx_gallery_alt = "dashed, they are near the diagonal. Those after cleaning are a little too"
# sphinx_gallery_alt = "high."
# sphinx_gallery_start_ignore
plt.style.use("rectifold.figures")
# sphinx_gallery_end_ignore
figure, panels = plt.subplots(2, 1, figsize=(6.4, 9), layout="constrained")
drawn = {
    "none": ("k", "o"),
    "random under-sampling to 1:2": ("C1", "s"),
    "GMR(class_weight='balanced', gamma=0)": ("C0", "^"),
}
print("| data | rows removed by | r0 | r1 | Brier as it is | Brier put back |")
print("|---|---|---|---|---|---|")
for axes, (table, (X, y)) in zip(panels, tables.items(), strict=True):
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    for name, sampler in samplers.items():
        rows = (X_train, y_train) if sampler is None else sampler.fit_resample(X_train, y_train)
        p = LogisticRegression(max_iter=1000).fit(*rows).predict_proba(X_test)[:, 1]
        r0, r1 = 1 - np.bincount(rows[1]) / np.bincount(y_train)
        back = undo_posterior_shift(p, r0, r1)
        as_it_is, put_back = brier_score_loss(y_test, p), brier_score_loss(y_test, back)
        print(f"| {table} | {name} | {r0:.3f} | {r1:.3f} | {as_it_is:.4f} | {put_back:.4f} |")
        if name in drawn:
            colour, marker = drawn[name]
            for values, style in ((p, "-"), (back, "--")):
                found, given = calibration_curve(y_test, values, n_bins=8, strategy="quantile")
                label = name if style == "-" else None
                axes.plot(given, found, style, color=colour, marker=marker, label=label)
    axes.plot([0, 1], [0, 1], color="0.7", zorder=0)
    axes.set(
        title=table, xlabel="probability given (dashed: put back)", ylabel="share of positives"
    )
panels[0].set(xlim=(0, 0.65), ylim=(0, 0.35))
panels[1].set(xlim=(0, 0.8), ylim=(0, 0.2))
_ = figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center")

# sphinx_gallery_start_ignore
# python examples/plot_posterior.py docs/images/reliability.png draws the picture of the guide.
import sys

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], metadata={"Software": None})
# sphinx_gallery_end_ignore

# %%
# A curve on the grey line is right: of the rows that were given 0.2, a fifth is positive. Random
# under-sampling makes probabilities far too high, and the correction puts them back. After GMR at
# its defaults, which takes next to nothing from the large class, there is nothing to put back.
# After stronger cleaning they are a little too high where classes meet, and are put back in part,
# because removal was not uniform.
#
# ``RectifiedClassifier(..., correct_posterior=True)`` does this for you
# (:class:`rectifold.RectifiedClassifier`). Where probabilities matter more than ranks, a
# calibrator such as :class:`~sklearn.calibration.CalibratedClassifierCV` around the classifier is
# the better tool, as it learns the local shift from data; and not removing rows needs no tool at
# all.
