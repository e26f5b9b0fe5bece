"""Compare every vote and decision of two versions of rectifold.

    python benchmarks/fingerprints.py write FILE [--data-home DATA]
    python benchmarks/fingerprints.py compare FILE FILE

`write` runs GMR on the paper's 27 data sets, raw and standardised, on creditcard and on variants
with more classes, other settings, spaces and engines, and saves a SHA-256 digest of every array of
each record. It uses nothing but the public interface, so it also runs on another checkout:
``PYTHONPATH=OTHER/src python benchmarks/fingerprints.py write FILE``. `compare` lists the cases
that differ and fails if there are any.
"""

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from rectifold import GMR
from rectifold.datasets import fetch_paper_datasets, load_wine_quality, paper_data_home

#: Variants of the settings, tried on the sets below `_SMALL` samples.
_VARIANTS = {
    "k5": {"n_neighbors": 5, "alpha": 0.6, "beta": 0.5, "gamma": 0.3},
    "balanced": {"class_weight": "balanced"},
    "all": {"sampling_strategy": "all", "alpha": 0.5},
    "cosine": {"metric": "cosine"},
    "manhattan": {"metric": "manhattan"},
    "scaled": {"space": StandardScaler()},
    "auto_space": {"space": "auto"},
    "approximate": {"engine": "approximate", "random_state": 0},
    "jobs": {"n_jobs": 2},
}
_SMALL = 6000
_ARRAYS = ("predicted", "confidence", "majority_confidence", "decision", "reason")


def cases(home: Path) -> Iterator[tuple[str, object, object, dict[str, object]]]:
    """Yield the name, samples, labels and settings of every case."""
    for name, data in fetch_paper_datasets(home, download_if_missing=False).items():
        X, y = data.data, data.target
        scaled = StandardScaler().fit_transform(X)
        yield f"{name}/raw", X, y, {}
        yield f"{name}/standardised", scaled, y, {}
        if len(y) <= _SMALL:
            for variant, settings in _VARIANTS.items():
                yield f"{name}/{variant}", scaled, y, settings
            yield f"{name}/sparse", sparse.csr_array(scaled), y, {}
    with np.load(home / "large" / "creditcard.npz", allow_pickle=False) as data:
        X, y = data["X"].astype(np.float64), data["y"]
    yield "creditcard/raw", X, y, {}
    yield "creditcard/standardised", StandardScaler().fit_transform(X), y, {"n_jobs": 2}
    with np.load(home / "large" / "covtype.npz", allow_pickle=False) as data:
        some = np.random.default_rng(0).permutation(len(data["y"]))[:20_000]
        X, y = StandardScaler().fit_transform(data["X"][some].astype(np.float64)), data["y"][some]
    for variant, settings in {"": {}, "all": _VARIANTS["all"], "k5": _VARIANTS["k5"]}.items():
        yield f"covtype_7_classes/{variant}", X, y, settings
    yield "covtype_7_classes/not minority", X, y, {"sampling_strategy": "not minority"}
    frame, quality = load_wine_quality(return_X_y=True, as_frame=True)
    yield "wine_frame/auto_space", frame, quality, {"space": "auto"}
    yield "wine_frame/heom", frame[:1500], quality[:1500], {"space": "heom"}


def write(path: Path, home: Path) -> None:
    """Save a digest of every array of every record."""
    found: dict[str, dict[str, str]] = {}
    for name, X, y, settings in cases(home):
        gmr = GMR(**settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gmr.fit_resample(X, y)
        record = gmr.rectification_
        arrays = {array: np.asarray(getattr(record, array)) for array in _ARRAYS}
        arrays["sample_indices"] = gmr.sample_indices_.astype(np.int64)
        found[name] = {array: _digest(values) for array, values in arrays.items()}
        print(name, len(gmr.sample_indices_), flush=True)
    path.write_text(json.dumps(found, indent=1) + "\n")


def compare(one: Path, other: Path) -> int:
    """Return 1 if any case differs, after listing those that do."""
    first, second = (json.loads(path.read_text()) for path in (one, other))
    differing = []
    for name in sorted(first.keys() | second.keys()):
        before, after = first.get(name, {}), second.get(name, {})
        arrays = [array for array in before | after if before.get(array) != after.get(array)]
        differing += [f"{name}: {', '.join(arrays)}"] if arrays else []
    print("\n".join([*differing, f"{len(first)} cases, {len(differing)} differ"]))
    return int(bool(differing))


def _digest(values: np.ndarray) -> str:
    if values.dtype.kind in "UO":
        return hashlib.sha256("\0".join(map(str, values)).encode()).hexdigest()
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--data-home", type=Path, default=paper_data_home())
    arguments = parser.parse_args()
    if arguments.action == "compare":
        sys.exit(compare(*arguments.files))
    write(arguments.files[0], arguments.data_home)
