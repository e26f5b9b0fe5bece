"""The embedded wine data, and the names of the data sets of the paper."""

import csv
import gzip
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

#: The 27 data sets of the paper, in the names and the order of
#: :func:`imblearn.datasets.fetch_datasets`.
PAPER_DATASETS = (
    *("ecoli", "optical_digits", "satimage", "pen_digits", "abalone", "sick_euthyroid"),
    *("spectrometer", "car_eval_34", "isolet", "us_crime", "yeast_ml8", "scene", "libras_move"),
    *("thyroid_sick", "coil_2000", "arrhythmia", "solar_flare_m0", "oil", "car_eval_4"),
    *("wine_quality", "letter_img", "yeast_me2", "webpage", "ozone_level", "mammography"),
    *("protein_homo", "abalone_19"),
)


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
