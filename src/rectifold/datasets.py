"""The embedded wine data, and the data sets of the paper."""

import csv
import gzip
import hashlib
import os
import warnings
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from rectifold._core.errors import Param, ParameterError
from rectifold._core.utils import Ints, did_you_mean

#: The 27 data sets of the paper, in the names and the order of
#: :func:`imblearn.datasets.fetch_datasets`, and the fingerprints of their values.
_FINGERPRINTS = {
    "ecoli": "9dd1024f8a5c1dba",
    "optical_digits": "f2bf2609b1d78909",
    "satimage": "8e8a9fab9b789e48",
    "pen_digits": "118e2b534667449a",
    "abalone": "97017b127aae741a",
    "sick_euthyroid": "ec59cf21792515ae",
    "spectrometer": "f616eaa4d4792aff",
    "car_eval_34": "e6782426d05ef81f",
    "isolet": "335ecd0efdcde0f9",
    "us_crime": "35fb30f7537c4ffa",
    "yeast_ml8": "8140176c521abf94",
    # Its published values could not be confirmed.
    "scene": None,
    "libras_move": "16ede3355f90114e",
    "thyroid_sick": "a8076aad785a1b39",
    "coil_2000": "7a5ed3c0207fe2cb",
    "arrhythmia": "6af7caf9ad70997b",
    "solar_flare_m0": "2bfec9167671c2cd",
    "oil": "1a7fd9870a8e78b0",
    "car_eval_4": "7d6bbd9b04489c3b",
    "wine_quality": "829900a7be38a208",
    "letter_img": "ffc83bd3610b511e",
    "yeast_me2": "7b588fe00f90fee7",
    "webpage": "44dd01364acffa55",
    "ozone_level": "6fc01ffd17a5780c",
    "mammography": "d39b13288647daaf",
    "protein_homo": "ab94453ded21281f",
    "abalone_19": "63f47b2e1c4d7bdb",
}
PAPER_DATASETS = tuple(_FINGERPRINTS)
#: Data sets of the paper with the source of another one, and most of its features: results on both
#: are not independent.
SAME_SOURCE = {
    "abalone_19": "abalone",
    "car_eval_4": "car_eval_34",
    "thyroid_sick": "sick_euthyroid",
}


def load_wine_quality(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the embedded wine data: poor white wines against the rest (binary classification).

    4,898 samples with 11 physical and chemical features; the 183 wines of class "poor"
    have a quality score of 4 or less. Works offline.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    as_frame : bool, default=False
        Return a pandas DataFrame and Series instead of arrays; requires pandas.

    Returns
    -------
    Bunch or tuple
        A :class:`sklearn.utils.Bunch` with ``data``, ``target`` ("ordinary" or "poor"),
        ``frame`` (data and target, if `as_frame`), ``feature_names``, ``target_names`` and
        ``DESCR`` (attribution and licence).

    Examples
    --------
    >>> from rectifold.datasets import load_wine_quality
    >>> X, y = load_wine_quality(return_X_y=True)
    >>> X.shape, int((y == "poor").sum())
    ((4898, 11), 183)
    """
    folder = files("rectifold") / "data"
    text = gzip.decompress((folder / "wine_quality_white.csv.gz").read_bytes()).decode()
    header, *lines = csv.reader(text.splitlines())
    data: Any = np.array([line[:-1] for line in lines], dtype=np.float64)
    target: Any = np.array([line[-1] for line in lines])
    frame = None
    if as_frame:
        import pandas as pd

        frame = pd.DataFrame(data, columns=header[:-1]).assign(**{header[-1]: target})
        data, target = frame[header[:-1]], frame[header[-1]]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=header[:-1],
        target_names=["ordinary", "poor"],
        DESCR=(folder / "ATTRIBUTION.md").read_text(encoding="utf-8"),
    )


def fetch_paper_datasets(
    data_home: Any = None, *, names: Sequence[str] = (), download_if_missing: bool = True
) -> dict[str, Bunch]:
    """Load the 27 data sets of the paper by imbalanced-learn's loader (binary classification).

    If some are missing, all of them are downloaded in one archive. Fingerprints of the values are
    compared with those of the published ones.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the data. None means that in the environment variable ``RECTIFOLD_DATA``, or else
        scikit-learn's data folder (:func:`sklearn.datasets.get_data_home`).

    names : sequence of str, default=()
        Names of the data sets to load; by default all of them.

    download_if_missing : bool, default=True
        If False, raise an error if data sets are missing instead of downloading them.

    Returns
    -------
    dict of str to Bunch
        For each name a :class:`sklearn.utils.Bunch` with ``data``, ``target`` (1 for the minority
        class, -1 for the other), ``fingerprint`` and ``DESCR``.

    Warns
    -----
    UserWarning
        If values are not the published ones.

    Examples
    --------
    >>> from rectifold.datasets import fetch_paper_datasets
    >>> oil = fetch_paper_datasets(names=["oil"])["oil"]  # doctest: +SKIP
    >>> oil.data.shape, int(oil.target.sum())  # doctest: +SKIP
    ((937, 49), 41)
    """
    for name in names:
        if name not in _FINGERPRINTS:
            raise ParameterError(
                "{} has {}, which is not a data set of the paper{}",
                Param("names"),
                repr(name),
                did_you_mean(name, PAPER_DATASETS, list_all=True),
            )
    home, names = paper_data_home(data_home), tuple(names) or PAPER_DATASETS
    missing = missing_paper_datasets(names, home)
    if missing and not download_if_missing:
        raise OSError(
            f"these data sets are not under {str(home)!r}: {', '.join(missing)}; pass "
            "download_if_missing=True, or their folder as data_home or RECTIFOLD_DATA."
        )
    # Imported here, since it takes longer than all else in this module.
    from imblearn.datasets import fetch_datasets

    loaded = fetch_datasets(data_home=str(home), filter_data=names)
    return {name: _checked(name, bunch) for name, bunch in loaded.items()}


def paper_data_home(data_home: Any = None) -> Path:
    """Return the folder of the paper's data sets, which may not exist; see the argument above."""
    default = os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")
    return Path(data_home or os.environ.get("RECTIFOLD_DATA") or default).expanduser()


def fingerprint(X: Any, y: Ints) -> str:
    """Return a hash of all values, in sixteen characters."""
    values = X if isinstance(X, bytes) else X.astype("<f8").tobytes()
    content = hashlib.blake2b(values, digest_size=8)
    content.update(repr(np.shape(X)).encode())
    content.update(y.astype("<i8").tobytes())
    return content.hexdigest()


def missing_paper_datasets(names: Sequence[str], home: Path) -> list[str]:
    """Return those of some data sets that are not in a folder."""
    files = {name: f"x{number}data.npz" for number, name in enumerate(PAPER_DATASETS, start=1)}
    return [name for name in names if not (home / "zenodo" / files[name]).is_file()]


def _checked(name: str, bunch: Bunch) -> Bunch:
    X = np.ascontiguousarray(bunch.data, dtype=np.float64)
    found, published = fingerprint(X, (bunch.target == 1).astype(np.intp)), _FINGERPRINTS[name]
    if published not in (None, found):
        warnings.warn(
            f"{name!r} does not have the published values: its fingerprint is {found}, not "
            f"{published}.",
            stacklevel=3,
        )
    return Bunch(data=X, target=bunch.target, fingerprint=found, DESCR=bunch.DESCR)
