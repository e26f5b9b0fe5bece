"""Fixtures that all tests share, and what is left out where a library is not installed."""

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest_plugins = ("browsers",)
collect_ignore_glob = []
if find_spec("torch") is None:
    collect_ignore_glob.append("src/rectifold/_engines/gpu/*")
if find_spec("triton") is None:
    collect_ignore_glob.append("src/rectifold/_engines/gpu/kernels.py")
if find_spec("torch") is None or find_spec("safetensors") is None:
    collect_ignore_glob.append("experiments/deep/*")
    collect_ignore_glob.append("experiments/tests/images.py")
if find_spec("dask") is None or find_spec("distributed") is None:
    collect_ignore_glob += ["src/rectifold/dask/*", "tests/test_dask*.py"]

_ROOT = Path(__file__).parent
_FOLDERS = (_ROOT.parent / "shared" / "data", _ROOT / "data")
# As in the Makefile. Tests that need data sets are skipped without them.
os.environ.setdefault("RECTIFOLD_DATA", str(next(filter(Path.is_dir, _FOLDERS), _FOLDERS[1])))
DATA = Path(os.environ["RECTIFOLD_DATA"])
MAKE_DATA = "(run make data, or set RECTIFOLD_DATA)"


@pytest.fixture(scope="session")
def paper_data():
    """Load one of the 27 data sets of the paper by name, through imbalanced-learn's loader."""
    if not (DATA / "zenodo").is_dir():
        pytest.skip(f"the 27 data sets are not at {DATA} {MAKE_DATA}")
    from rectifold.datasets import fetch_paper_datasets

    def load(name):
        found = fetch_paper_datasets(names=[name], download_if_missing=False)[name]
        return found.data, found.target

    return load


@pytest.fixture(scope="module")
def one_thread():
    """Torch uses one thread: what is small is slower with more."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def large_data():
    """Give the path of one of the large data sets, or skip."""

    def path(name):
        found = DATA / "large" / name
        if not found.is_file():
            pytest.skip(f"{name} is not at {found.parent} (set RECTIFOLD_DATA)")
        return found

    return path


@pytest.fixture
def overlapping():
    """Two overlapping classes, 400 rows against 60, without ties."""
    rng = np.random.default_rng(7)
    X = np.concatenate((rng.normal(size=(400, 3)), rng.normal(1.2, 1, size=(60, 3))))
    y = np.repeat([0, 1], [400, 60])
    order = rng.permutation(len(y))
    return X[order], y[order]
