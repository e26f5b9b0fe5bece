"""Thresholds where errors cost unequally
======================================

A missed positive may cost twenty times a false alarm. First put the threshold where that is
cheapest; then ask whether cleaning lowers the cost any further.
"""

# %%
# :func:`~rectifold.metrics.asymmetric_risk` is the average cost of a row. Here a poor wine that is
# sold as ordinary costs 20, and an ordinary one that is poured away costs 1. Never finding a poor
# wine costs 20 times their share:

from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

from rectifold.datasets import load_wine_quality
from rectifold.metrics import asymmetric_risk, asymmetric_risk_scorer

costs = {"cost_fn": 20, "cost_fp": 1}
X, y = load_wine_quality(return_X_y=True)
y = (y == "poor").astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

never = DummyClassifier().fit(X_train, y_train)
print(f"never an alarm: {asymmetric_risk(y_test, never.predict(X_test), **costs):.3f}")

# %%
# Four models: logistic regression with and without cleaning, each at the threshold of one half
# and at one that scikit-learn's :class:`~sklearn.model_selection.TunedThresholdClassifierCV`
# finds. It takes the risk as a scorer, and looks at the training rows only; cleaning happens
# inside its folds, and the rows on which it tries thresholds are not cleaned.

from imblearn.pipeline import make_pipeline
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.preprocessing import StandardScaler

from rectifold import GMR

plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
cleaned = make_pipeline(
    StandardScaler(), GMR(class_weight="balanced", gamma=0), LogisticRegression(max_iter=1000)
)
scorer = asymmetric_risk_scorer(**costs)
models = {
    "no cleaning": plain,
    "cleaned": cleaned,
    "no cleaning, tuned": TunedThresholdClassifierCV(plain, scoring=scorer),
    "cleaned, tuned": TunedThresholdClassifierCV(cleaned, scoring=scorer),
}
for name, model in models.items():
    model.fit(X_train, y_train)
    risk = asymmetric_risk(y_test, model.predict(X_test), **costs)
    at = getattr(model, "best_threshold_", 0.5)
    print(f"{name:20} threshold {at:.3f}  risk {risk:.3f}")

# %%
# The risk on the test rows over all thresholds. Cleaning raises probabilities where classes meet,
# so the curve is stretched to the right, and a threshold of one half gains by that. What counts
# is the lowest point of the curve, and whether it is as low on other rows.

import matplotlib.pyplot as plt
import numpy as np

thresholds = np.geomspace(0.005, 0.9, 200)
# sphinx_gallery_alt = "Average cost of a test row over the threshold, without cleaning and with"
# sphinx_gallery_alt = "it. Both curves fall to a minimum well below one half and rise again; the"
# sphinx_gallery_alt = "tuned thresholds are marked near the minimum."
_, axes = plt.subplots(layout="constrained")
for name, colour, marker in (("no cleaning", "k", "o"), ("cleaned", "C0", "s")):
    p = models[name].predict_proba(X_test)[:, 1]
    risks = [asymmetric_risk(y_test, (p >= at).astype(int), **costs) for at in thresholds]
    axes.plot(thresholds, risks, color=colour, label=name)
    tuned = models[f"{name}, tuned"]
    risk = asymmetric_risk(y_test, tuned.predict(X_test), **costs)
    axes.plot(tuned.best_threshold_, risk, marker, color=colour, label=f"{name}, tuned")
axes.axvline(0.5, color="0.6", linestyle="--")
axes.set(xscale="log", xlabel="threshold (dashed: one half)", ylabel="average cost of a test row")
_ = axes.legend()

# %%
# One split with 46 poor wines in its test part is luck for the most part. So do it again on five
# folds, everything inside the training part of each:

from sklearn.model_selection import cross_val_score

for name in ("no cleaning, tuned", "cleaned, tuned"):
    risks = -cross_val_score(models[name], X, y, scoring=scorer)
    print(f"{name:20} {risks.round(3)} mean {risks.mean():.3f}")

# %%
# The threshold is worth a third of the cost. Cleaning, which looked a little better on the one
# split, is a little worse over five: once the threshold is tuned, it has nothing to add here, and
# the data may stay as they are. See :doc:`plot_posterior` for what cleaning does to
# probabilities.
