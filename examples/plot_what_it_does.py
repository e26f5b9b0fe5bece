"""Draw what GMR does to two overlapping classes: the picture of the README.

python examples/plot_what_it_does.py [FILE]
"""

import sys

import matplotlib

matplotlib.use("Agg")
import numpy as np

from rectifold import GMR
from rectifold.plot import plot_rectification


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
    names = np.repeat(["common", "rare"], [len(common), len(rare)])
    return np.concatenate((common, rare)), names


def main(path: str = "docs/images/what_it_does.png") -> None:
    """Clean, and draw the rows before, one of the votes, and the rows after."""
    gmr = GMR()
    gmr.fit_resample(*two_classes())
    original, _, _ = plot_rectification(gmr)
    # The two columns stand for nothing.
    original.set(xlabel="", ylabel="")
    original.figure.savefig(path, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(*sys.argv[1:2])
