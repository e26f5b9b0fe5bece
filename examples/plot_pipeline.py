"""Pipeline and grid search
========================

Put the sampler into a pipeline, and it cleans training rows only. A grid search can then choose its
settings, with no cleaning at all among them.
"""

# %%
# In a pipeline of imbalanced-learn (scikit-learn's own has no place for samplers) a sampler acts
# when the pipeline is fitted, and never when it predicts.

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

print(len(X_train), "training rows,", len(model["clean"].sample_indices_), "after cleaning")
print(len(X_test), "test rows,", len(model.predict(X_test)), "predictions")

# %%
# So every fold of a cross-validation is cleaned on its own, in its training part, and scored on all
# rows of its test part.

from sklearn.model_selection import cross_val_score

scores = cross_val_score(model, X_train, y_train, scoring="average_precision")
print(f"average precision {scores.mean():.3f}, from {scores.min():.3f} to {scores.max():.3f}")

# %%
# Search
# ------
#
# A whole step can be a parameter. ``"passthrough"`` leaves it out: that is no cleaning, the setting
# which all others have to beat. The other grid has settings of :class:`rectifold.GMR`.

from sklearn.model_selection import GridSearchCV

grid = [
    {"clean": ["passthrough"]},
    {"clean": [GMR()], "clean__alpha": [0.3, 0.7, 0.9], "clean__gamma": [0, 0.1]},
]
search = GridSearchCV(model, grid, scoring="average_precision")
search.fit(X_train, y_train)
print(search.best_params_)

# %%
# The best of seven settings looks better than it is, as the luckiest of seven always does. So
# look at all of them before believing the first. The grey band is no cleaning, one standard error
# wide to either side.

import matplotlib.pyplot as plt
import pandas as pd

found = pd.DataFrame(search.cv_results_)
alone, cleaned = (
    found[found.param_clean == "passthrough"],
    found[found.param_clean != "passthrough"],
)
score, error = alone.mean_test_score.item(), alone.std_test_score.item() / 5**0.5

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
_ = axes.legend()

# %%
# Judge
# -----
#
# What is the whole procedure worth, search included? Cross-validate the search: each outer fold
# searches anew in its own training part. Beside it, the same pipeline without cleaning.

searched = cross_val_score(search, X_train, y_train, scoring="average_precision", cv=3)
plain = cross_val_score(
    model.set_params(clean="passthrough"), X_train, y_train, scoring="average_precision", cv=3
)
print("searched   ", searched.round(3), "mean", searched.mean().round(3))
print("no cleaning", plain.round(3), "mean", plain.mean().round(3))

# %%
# The difference is smaller than that between folds: here a search over settings buys nothing, and
# the step may stay "passthrough". :class:`rectifold.RectifiedClassifier` makes this choice with a
# guard against such luck, and searches for neighbours once for all settings instead of once for
# each: :doc:`plot_choose_settings`.
