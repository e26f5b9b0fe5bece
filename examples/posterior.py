"""When putting probabilities back helps: uniform removal, cleaning by geometry, and nothing.

    python examples/posterior.py

Prints Brier scores on held-out rows and draws docs/images/reliability.png: how often a row is
positive among those that were given a probability.
"""

from pathlib import Path

import numpy as np
from imblearn.under_sampling import RandomUnderSampler
from matplotlib.figure import Figure
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from rectifold import GMR
from rectifold.datasets import load_wine_quality
from rectifold.posterior import undo_posterior_shift

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "reliability.png"
SAMPLERS = {
    "none": None,
    "random under-sampling to 1:2": RandomUnderSampler(sampling_strategy=0.5, random_state=0),
    "GMR()": GMR(),
    "GMR(alpha=0.9, gamma=0)": GMR(alpha=0.9, gamma=0),
    "GMR(class_weight='balanced', gamma=0)": GMR(class_weight="balanced", gamma=0),
}


def tables():
    """Give two tables: one with classes that overlap by construction, and real wines."""
    X, y = make_classification(
        8000, n_features=6, n_informative=4, weights=[0.9], class_sep=0.7, random_state=0
    )
    yield "made up", X, y
    wines = load_wine_quality()
    yield "wines", StandardScaler().fit_transform(wines.data), (wines.target == "poor").astype(int)


def main() -> None:
    """Fit after every sampler; score probabilities as they are, and put back."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    print("| data | rows removed by | r0 | r1 | Brier as it is | Brier put back |")
    print("|---|---|---|---|---|---|")
    for place, (table, X, y) in enumerate(tables()):
        axes = figure.add_subplot(1, 2, place + 1, title=table)
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
        for (name, sampler), colour in zip(SAMPLERS.items(), "krgbm", strict=True):
            rows = (X_train, y_train) if sampler is None else sampler.fit_resample(X_train, y_train)
            p = LogisticRegression(max_iter=1000).fit(*rows).predict_proba(X_test)[:, 1]
            left = np.bincount(rows[1]) / np.bincount(y_train)
            back = undo_posterior_shift(p, *(1 - left))
            print(
                f"| {table} | {name} | {1 - left[0]:.3f} | {1 - left[1]:.3f} | "
                f"{brier_score_loss(y_test, p):.4f} | {brier_score_loss(y_test, back):.4f} |"
            )
            for values, style in ((p, "-"), (back, "--")):
                if sampler is None and style == "--":
                    continue
                found, given = calibration_curve(y_test, values, n_bins=8, strategy="quantile")
                label = name if style == "-" else None
                axes.plot(given, found, style, color=colour, label=label, marker=".", markersize=4)
        axes.set_xlabel("probability given" + (" (dashed: put back)" if place == 0 else ""))
        axes.set_ylabel("share of positives")
        top = 0.6 if table == "made up" else 0.4
        axes.set_xlim(0, top)
        axes.set_ylim(0, top / 2)
        if place == 0:
            axes.legend(fontsize=7, frameon=False)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
