"""Pipeline and grid search
========================

In a pipeline the sampler cleans training data only, so there is no data leakage. A grid search can
tune its hyperparameters, with no cleaning among the candidates.
"""

# %%
# In a pipeline of imbalanced-learn (that of scikit-learn does not support samplers) a sampler is
# applied in ``fit``, and skipped in ``predict``.

from imblearn.pipeline import Pipeline
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from rectifold import GMR
from rectifold.datasets import load_wine_quality

X, y = load_wine_quality(return_X_y=True, as_frame=True)
y = y == "poor"
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

model = Pipeline(
    [
        ("scale", StandardScaler()),
        ("clean", GMR()),
        ("classify", KNeighborsClassifier(25)),
    ]
)
model.fit(X_train, y_train)

print(len(X_train), "training samples,", len(model["clean"].sample_indices_), "after cleaning")
print(len(X_test), "test samples,", len(model.predict(X_test)), "predictions")

# %%
# So cross-validation cleans the training data of each fold, and scores all samples of its test
# data.

from sklearn.model_selection import cross_val_score

scores = cross_val_score(model, X_train, y_train, scoring="average_precision")
print(f"average precision {scores.mean():.3f}, from {scores.min():.3f} to {scores.max():.3f}")

# %%
# Grid search
# -----------
#
# A step can be a parameter of the grid. ``"passthrough"`` skips it: that is no cleaning, the
# baseline. The second grid has hyperparameters of :class:`rectifold.GMR`.

from sklearn.model_selection import GridSearchCV

grid = [
    {"clean": ["passthrough"]},
    {"clean": [GMR()], "clean__alpha": [0.3, 0.7, 0.9], "clean__gamma": [0, 0.1]},
]
search = GridSearchCV(model, grid, scoring="average_precision")
search.fit(X_train, y_train)
print(search.best_params_)

# %%
# The best of seven scores is biased upwards, since it was selected. So look at all of them. The
# grey band is the baseline without cleaning, plus and minus one standard error.

import matplotlib.pyplot as plt
import pandas as pd

results = pd.DataFrame(search.cv_results_)
is_baseline = results.param_clean == "passthrough"
baseline, cleaned = results[is_baseline], results[~is_baseline]
score, error = baseline.mean_test_score.item(), baseline.std_test_score.item() / 5**0.5

# sphinx_gallery_alt = "Average precision over alpha for two settings of gamma, beside a dashed"
# sphinx_gallery_alt = "line for no cleaning with a grey band of its error. All points lie within"
# sphinx_gallery_alt = "the band."
_, axes = plt.subplots(layout="constrained")
axes.axhline(score, color="0.4", linestyle="--", label="no cleaning")
axes.axhspan(score - error, score + error, color="0.9")
for (gamma, some), marker in zip(cleaned.groupby("param_clean__gamma"), "os", strict=True):
    axes.plot(
        some.param_clean__alpha, some.mean_test_score, marker=marker, label=f"GMR(gamma={gamma:g})"
    )
axes.set(xlabel="alpha", ylabel="average precision, mean of 5 folds")
_ = axes.legend(loc="center right")

# %%
# Nested cross-validation
# -----------------------
#
# To estimate the score of the whole procedure, search included, cross-validate the search: each
# outer fold repeats it on its own training data. For comparison, the pipeline without cleaning.

searched = cross_val_score(search, X_train, y_train, scoring="average_precision", cv=3)
plain = cross_val_score(
    model.set_params(clean="passthrough"), X_train, y_train, scoring="average_precision", cv=3
)
print("searched   ", searched.round(3), "mean", searched.mean().round(3))
print("no cleaning", plain.round(3), "mean", plain.mean().round(3))

# %%
# The difference is smaller than that between folds: here tuning does not improve the score, and the
# step can remain "passthrough". :class:`rectifold.RectifiedClassifier` makes this choice with a
# safeguard against chance, and searches for neighbours once for all settings instead of once for
# each: :doc:`plot_choose_settings`.
