"""Synthetic images that a small network learns to classify in a second."""

import numpy as np

from experiments.deep.longtail import LongTailed


def stripes(counts, seed, noise=60):
    """Draw images of stripes, whose colour and width depend on the class."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    images = rng.integers(0, 120, size=(len(labels), 32, 32, 3))
    for image, label in zip(images, labels, strict=True):
        image[:: 2 + label, :, label % 3] += noise + 60
    return images.astype(np.uint8), labels


def small(seed=0, counts=(160, 80, 40), test=30, noise=60):
    train_part = stripes(counts, seed, noise)
    test_part = stripes([test] * len(counts), seed + 1000, noise)
    names = tuple(f"stripes {number}" for number in range(len(counts)))
    return LongTailed(*train_part, *test_part, names, "stripes", max(counts) / min(counts))
