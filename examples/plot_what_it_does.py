"""Draw what GMR does to two overlapping classes: the picture of the README.

python examples/plot_what_it_does.py [FILE]
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from rectifold import GMR

COMMON, RARE, INK = "#4477aa", "#cc3311", "#222222"


def two_classes(seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """A crescent of 90 rare rows in a cloud of 700 common ones, which intrude on each other."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.15, np.pi - 0.15, 78)
    crescent = np.column_stack((2.1 * np.cos(angle), 1.7 * np.sin(angle)))
    rare = np.concatenate((crescent + rng.normal(0, 0.13, (78, 2)), rng.normal(0, 1.2, (12, 2))))
    common = rng.normal(0, 1.15, (1400, 2))
    # Common rows are scarce along the crescent, but not absent.
    near = np.abs(np.hypot(common[:, 0] / 2.1, common[:, 1] / 1.7) - 1) < 0.16
    common = common[~(near & (common[:, 1] > 0)) | (rng.random(1400) < 0.2)][:700]
    return np.concatenate((common, rare)), np.repeat([0, 1], [len(common), len(rare)])


def main(path: str = "docs/images/what_it_does.png") -> None:
    """Clean, and draw the rows before and after side by side."""
    X, y = two_classes()
    gmr = GMR()
    gmr.fit_resample(X, y)
    record = gmr.rectification_
    facts = record.summary()

    figure, (before, after) = plt.subplots(1, 2, figsize=(11, 4.8), sharex=True, sharey=True)
    for axes, shown in ((before, np.ones(len(y), bool)), (after, ~record.removed)):
        for code, colour, marker, size in ((0, COMMON, "o", 11), (1, RARE, "s", 22)):
            rows = shown & (y == code)
            axes.scatter(
                *X[rows].T,
                s=size,
                c=colour,
                marker=marker,
                alpha=0.55 if code == 0 else 0.9,
                linewidths=0,
                label=("common", "rare")[code],
            )
        axes.set_xlim(-3.3, 3.3)
        axes.set_ylim(-2.4, 2.5)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_color("#bbbbbb")
    for reason, marker, why in (
        ("intrusion", "o", "removed, intrusion: its neighbours say rare"),
        ("deep noise", "s", "removed, deep noise: all around it is common"),
    ):
        rows = record.removed & (record.reason == reason)
        before.scatter(
            *X[rows].T,
            s=90,
            marker=marker,
            facecolors="none",
            edgecolors=INK,
            linewidths=1.3,
            label=f"{why} ({rows.sum()})",
        )
    rows = record.spared
    before.scatter(
        *X[rows].T,
        s=80,
        marker="D",
        facecolors="none",
        edgecolors="#888888",
        linewidths=1.0,
        label=f"spared by the cap ({rows.sum()})",
    )
    for axes, when, key in ((before, "before", "before"), (after, "after GMR()", "after")):
        common, rare = (one[key] for one in facts["classes"])
        axes.set_title(f"{when}: {common} common rows, {rare} rare", fontsize=12)
    figure.legend(*before.get_legend_handles_labels(), loc="lower center", ncols=3, frameon=False)
    figure.subplots_adjust(left=0.01, right=0.99, top=0.93, bottom=0.14, wspace=0.03)
    figure.savefig(path, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(*sys.argv[1:2])
