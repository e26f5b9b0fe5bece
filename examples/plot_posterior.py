"""Probabilities put back
======================

Removing rows of one class moves probabilities towards the other. The correction undoes that, exactly
for random removal and in part for cleaning. Reliability curves show both.
"""

# %%
# The paper's lemma says how far probabilities move where a fraction ``r0`` of class 0 and ``r1`` of
# class 1 go, *uniformly*. :func:`rectifold.posterior.posterior_shift` is that, and
# :func:`rectifold.posterior.undo_posterior_shift` the way back.

from rectifold.posterior import posterior_shift, undo_posterior_shift

moved = posterior_shift(0.10, r0=0.75, r1=0)
print(f"0.10 becomes {moved:.2f}, and is put back to {undo_posterior_shift(moved, 0.75, 0):.2f}")

# %%
# Does that hold on rows that a model has not seen? Two tables: one with classes that overlap by
# construction, and the embedded wines, a few of which are poor.

from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from rectifold.datasets import load_wine_quality

wines = load_wine_quality()
tables = {
    "made up": make_classification(
        8000, n_features=6, n_informative=4, weights=[0.9], class_sep=0.7, random_state=0
    ),
    "wines": (StandardScaler().fit_transform(wines.data), (wines.target == "poor").astype(int)),
}

# %%
# One way of removing rows is uniform, the others are :class:`rectifold.GMR`, which removes rows where
# classes meet and none elsewhere.

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
# Fit logistic regression after each, on training rows; score its probabilities on test rows, as they
# are and put back. A lower Brier score is better. The table is written in Markdown.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split

figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
print("| data | rows removed by | r0 | r1 | Brier as it is | Brier put back |")
print("|---|---|---|---|---|---|")
for axes, (table, (X, y)) in zip(panels, tables.items(), strict=True):
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    for (name, sampler), colour in zip(samplers.items(), "krgbm", strict=True):
        rows = (X_train, y_train) if sampler is None else sampler.fit_resample(X_train, y_train)
        p = LogisticRegression(max_iter=1000).fit(*rows).predict_proba(X_test)[:, 1]
        r0, r1 = 1 - np.bincount(rows[1]) / np.bincount(y_train)
        back = undo_posterior_shift(p, r0, r1)
        as_it_is, put_back = brier_score_loss(y_test, p), brier_score_loss(y_test, back)
        print(f"| {table} | {name} | {r0:.3f} | {r1:.3f} | {as_it_is:.4f} | {put_back:.4f} |")
        for values, style in ((p, "-"), (back, "--")):
            found, given = calibration_curve(y_test, values, n_bins=8, strategy="quantile")
            label = name if style == "-" else None
            axes.plot(given, found, style, color=colour, label=label, marker=".", markersize=4)
    axes.set(title=table, xlabel="probability given (dashed: put back)", ylabel="share of positives")
