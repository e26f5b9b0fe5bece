"""Long-tailed images: read from files, or cut from a balanced data set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from experiments.deep.arrays import read_arrays
from rectifold._core.utils import Ints
from rectifold.model_selection._registry import BenchError

Images: TypeAlias = npt.NDArray[np.uint8]

#: Height, width, channels.
SHAPE = (32, 32, 3)
_PIXELS = 32 * 32 * 3


@dataclass(frozen=True)
class LongTailed:
    """Images of classes of very different sizes to train on, and images to test on.

    Parameters
    ----------
    train_images, test_images : ndarray of uint8 of shape (n_images, 32, 32, 3)
        Red, green and blue, from the top left.
    train_labels, test_labels : ndarray of int
        Codes of classes, from 0.
    names : tuple of str
        Names of the classes, by code.
    name : str
        Name of the data set.
    ratio : float
        Imbalance ratio: size of the largest class over that of the smallest, in the training part.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.deep.longtail import LongTailed
    >>> rng = np.random.default_rng(0)
    >>> labels, labels_test = np.repeat([0, 1, 2], 40), np.repeat([0, 1, 2], 10)
    >>> images = rng.integers(0, 256, (120, 32, 32, 3), dtype=np.uint8)
    >>> images_test = rng.integers(0, 256, (30, 32, 32, 3), dtype=np.uint8)
    >>> names = ("cats", "dogs", "frogs")
    >>> whole = LongTailed(images, labels, images_test, labels_test, names, "pets", ratio=1.0)
    >>> data = whole.cut(ratio=10, seed=0)
    >>> data.name, data.counts, len(data.test_labels)
    ('pets-LT10', array([40, 12,  4]), 30)
    """

    train_images: Images
    train_labels: Ints
    test_images: Images
    test_labels: Ints
    names: tuple[str, ...]
    name: str
    ratio: float

    def __post_init__(self) -> None:
        if len(self.names) < 2:
            raise BenchError(f"{self.name!r} has {len(self.names)} class; at least 2 are needed")
        parts = (
            ("training", self.train_images, self.train_labels),
            ("test", self.test_images, self.test_labels),
        )
        for part, images, labels in parts:
            _check(f"{self.name!r}, {part} part", images, labels, self.names)

    @property
    def counts(self) -> Ints:
        """Training images of each class."""
        return np.bincount(self.train_labels, minlength=len(self.names))

    def cut(self, ratio: float, seed: int) -> LongTailed:
        """Return the data with a long-tailed training part; the test part is unchanged."""
        kept = long_tailed(self.train_labels, ratio, seed)
        return replace(
            self,
            train_images=self.train_images[kept],
            train_labels=self.train_labels[kept],
            name=f"{self.name}-LT{ratio:g}",
            ratio=_ratio(self.train_labels[kept]),
        )


def _check(what: str, images: Any, labels: Any, names: tuple[str, ...]) -> None:
    if np.ndim(images) != 4 or np.shape(images)[1:] != SHAPE or images.dtype != np.uint8:
        raise BenchError(
            f"{what}: images must be bytes (uint8) of shape (n, 32, 32, 3), and these are "
            f"{getattr(images, 'dtype', 'no array')} of shape {np.shape(images)}"
        )
    if np.shape(labels) != (len(images),):
        raise BenchError(
            f"{what}: {len(images)} images have labels of shape {np.shape(labels)}; one for each "
            "is needed"
        )
    if labels.dtype.kind not in "iu" or ((labels < 0) | (labels >= len(names))).any():
        raise BenchError(f"{what}: labels must be whole numbers from 0 to {len(names) - 1}")
    counts = np.bincount(labels, minlength=len(names))
    if not counts.all():
        raise BenchError(f"{what}: class {names[int(counts.argmin())]!r} has no image")


def _ratio(labels: Ints) -> float:
    counts = np.bincount(labels)
    return float(counts.max() / max(1, counts.min()))


def long_tailed(labels: Ints, ratio: float, seed: int) -> Ints:
    """Return positions of images, ascending, so that class sizes fall exponentially.

    Class i of C keeps ``int(n_max * ratio ** (-i / (C - 1)))`` images, where n_max is the size of
    the first class, as is usual for CIFAR (Cui et al., CVPR 2019; Cao et al., NeurIPS 2019).

    >>> kept = long_tailed(np.repeat([0, 1, 2], 100), ratio=100, seed=0)
    >>> np.bincount(np.repeat([0, 1, 2], 100)[kept])
    array([100,  10,   1])
    """
    if not ratio >= 1:
        raise BenchError(f"ratio must be at least 1, not {ratio!r}")
    counts = np.bincount(labels)
    if len(counts) < 2:
        raise BenchError("only one class: at least 2 are needed")
    rng = np.random.default_rng(seed)
    kept = []
    for code, count in enumerate(counts):
        # A division, not a product with a fraction: the last class keeps exactly n_max / ratio.
        wanted = int(counts[0] / ratio ** (code / (len(counts) - 1)))
        if wanted < 1:
            raise BenchError(
                f"at an imbalance ratio of {ratio:g}, class {code} would have no image: the first "
                f"class has {counts[0]}, so that at most {counts[0]} is possible"
            )
        if wanted > count:
            raise BenchError(
                f"at an imbalance ratio of {ratio:g}, class {code} needs {wanted} images and has "
                f"{count}"
            )
        kept.append(rng.choice(np.flatnonzero(labels == code), size=wanted, replace=False))
    return np.sort(np.concatenate(kept))


def read_npz(train_path: str | Path, test_path: str | Path) -> LongTailed:
    """Read long-tailed data from two NumPy files, for training and test.

    Each holds `X` (images), `y` (codes of classes) and `label_names`. The data set is named after
    the file of its training part.
    """
    X, y, names = _npz(Path(train_path))
    X_test, y_test, names_test = _npz(Path(test_path))
    if names != names_test:
        raise BenchError(
            f"{str(train_path)!r} and {str(test_path)!r} name different classes; they must be "
            "parts of one set"
        )
    name = Path(train_path).stem
    # Before `_ratio` counts them.
    _check(f"{name!r}, training part", X, y, names)
    return LongTailed(X, y, X_test, y_test, names, name, _ratio(y))


def _npz(path: Path) -> tuple[Images, Ints, tuple[str, ...]]:
    X, y, names = read_arrays(path, "X", "y", "label_names")
    labels = y.astype(np.intp) if y.dtype.kind in "iu" else y
    return X, labels, tuple(str(name) for name in names.ravel())


def read_cifar(folder: str | Path, classes: int = 10) -> LongTailed:
    """Read CIFAR-10, or CIFAR-100 with its fine labels, from the binary version.

    `folder` holds ``cifar-10-batches-bin`` or ``cifar-100-binary`` as in the archive. The data are
    balanced: see `LongTailed.cut`.
    """
    if classes not in (10, 100):
        raise BenchError(f"classes must be 10 or 100, for CIFAR-10 or CIFAR-100, not {classes}")
    inner = "cifar-10-batches-bin" if classes == 10 else "cifar-100-binary"
    pickled = "cifar-10-batches-py" if classes == 10 else "cifar-100-python"
    home = Path(folder) if Path(folder).name == inner else Path(folder) / inner
    if not home.is_dir():
        if Path(folder).name == pickled or (Path(folder) / pickled).is_dir():
            raise BenchError(
                f"{str(folder)!r} has the Python version of CIFAR-{classes}, whose pickles could "
                f"run any code when they are read; the binary version is needed, as {inner}"
            )
        raise BenchError(f"{str(folder)!r} has no folder {inner}: the binary version is needed")
    if classes == 10:
        train = [home / f"data_batch_{number}.bin" for number in range(1, 6)]
        test, meta, skipped = home / "test_batch.bin", home / "batches.meta.txt", 0
    else:
        # A record starts with the coarse label.
        train, skipped = [home / "train.bin"], 1
        test, meta = home / "test.bin", home / "fine_label_names.txt"
    for path in (*train, test, meta):
        if not path.is_file():
            raise BenchError(f"there is no file {str(path)!r}")
    names = tuple(meta.read_text().split())
    if len(names) != classes:
        raise BenchError(f"{str(meta)!r} names {len(names)} classes in place of {classes}")
    parts = [_records(path, skipped) for path in train]
    X = np.concatenate([images for images, _ in parts])
    y = np.concatenate([labels for _, labels in parts])
    whole = LongTailed(X, y, *_records(test, skipped), names, f"CIFAR-{classes}", 1.0)
    if np.ptp(whole.counts) or np.ptp(np.bincount(whole.test_labels)):
        raise BenchError(
            f"{str(home)!r} is not whole: classes of CIFAR-{classes} are equally large, and here "
            f"they have {whole.counts.min()} to {whole.counts.max()} images to train on"
        )
    return whole


def _records(path: Path, skipped: int) -> tuple[Images, Ints]:
    size, length = path.stat().st_size, skipped + 1 + _PIXELS
    if not size or size % length:
        raise BenchError(
            f"{str(path)!r} is cut off: its {size} bytes are not a multiple of {length}, the size "
            "of an image"
        )
    records = np.fromfile(path, dtype=np.uint8).reshape(-1, length)
    # Stored channel by channel.
    images = records[:, skipped + 1 :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), records[:, skipped].astype(np.intp)
