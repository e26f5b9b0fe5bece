"""The large sets of the paper's comparison with a diffusion model: their targets, their columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from rectifold._core.utils import Ints, did_you_mean
from rectifold.bench._data import fingerprint, read_arrays
from rectifold.bench._protocols import TEST_SHARE
from rectifold.model_selection._registry import BenchError

#: Of the attacks of NSL-KDD, those by which somebody gets in, from afar (R2L) or further (U2R).
INTRUSIONS = frozenset(
    (
        *("ftp_write", "guess_passwd", "httptunnel", "imap", "multihop"),
        *("named", "phf", "sendmail", "snmpgetattack", "snmpguess", "spy"),
        *("warezclient", "warezmaster", "worm", "xlock", "xsnoop"),
        *("buffer_overflow", "loadmodule", "perl", "ps"),
        *("rootkit", "sqlattack", "xterm"),
    )
)
#: Numbers that a text becomes.
TOPICS = 64


@dataclass(frozen=True)
class Table:
    """Rows of a set, and 1 for the class to be found.

    Attributes
    ----------
    name : str
        As the paper has it, where it has it.
    target : str
        What is told from what, in words.
    X : pandas.DataFrame
        Numbers, and codes of what has names.
    y : ndarray of int
        0 and 1.
    categorical : tuple of str
        Columns whose numbers name something.
    text : str
        The only column, where it holds texts: they become numbers by what the training part shows.
    """

    name: str
    target: str
    X: pd.DataFrame
    y: Ints
    categorical: tuple[str, ...] = ()
    text: str = ""

    @property
    def fingerprint(self) -> str:
        """Of all values: results on other values under the same name do not mix."""
        hashes = pd.util.hash_pandas_object(self.X, index=False).to_numpy()
        return fingerprint(hashes.tobytes(), self.y)


@dataclass(frozen=True)
class Parts:
    """What is trained on, and what is tested on."""

    X_train: pd.DataFrame
    y_train: Ints
    X_test: pd.DataFrame
    y_test: Ints


def split(table: Table, seed: int) -> Parts:
    """Divide a table, so that both parts have the same share of the class to be found.

    Parameters
    ----------
    table : Table
        All rows.
    seed : int
        Of the split.

    Returns
    -------
    Parts
        80 % to train on. Texts are numbers there: TF-IDF of the training part, reduced to its
        `TOPICS` leading components.
    """
    X_train, X_test, y_train, y_test = train_test_split(
        table.X, table.y, test_size=TEST_SHARE, stratify=table.y, random_state=seed
    )
    if table.text:
        topics = make_pipeline(
            TfidfVectorizer(min_df=3, sublinear_tf=True, stop_words="english", dtype=np.float32),
            TruncatedSVD(TOPICS, random_state=seed),
        )
        train = topics.fit_transform(X_train[table.text])
        test = topics.transform(X_test[table.text])
        names = [f"topic{number}" for number in range(train.shape[1])]
        X_train, X_test = (
            pd.DataFrame(part.astype(np.float64), columns=names) for part in (train, test)
        )
    return Parts(X_train.reset_index(drop=True), y_train, X_test.reset_index(drop=True), y_test)


def load(name: str, home: str | Path) -> Table:
    """Read a set.

    Parameters
    ----------
    name : str
        One of `SETS`.
    home : path-like
        The folder with their files.

    Returns
    -------
    Table
    """
    if name not in SETS:
        raise BenchError(f"there is no set {name!r}{did_you_mean(name, list(SETS), list_all=True)}")
    file, make = SETS[name]
    path = Path(home) / file
    if not path.is_file():
        raise BenchError(f"{str(path)!r} is not there: name the folder that has it (--data-home)")
    return make(path)


def _covtype(path: Path) -> Table:
    X, y, names = _arrays(path)
    # 4 and 40 columns of which one is 1 are two columns that name something.
    coded = pd.DataFrame(X[:, :10].astype(np.float64), columns=names[:10])
    for name, columns in (("wilderness_area", slice(10, 14)), ("soil_type", slice(14, 54))):
        coded[name] = X[:, columns].argmax(axis=1)
    return Table(
        "covtype",
        "class 4 (cottonwood and willow) against the rest",
        coded,
        (y == 4).astype(np.intp),
        ("wilderness_area", "soil_type"),
    )


def _creditcard(path: Path) -> Table:
    X, y, names = _arrays(path)
    frame = pd.DataFrame(X.astype(np.float64), columns=names)
    return Table("creditcard", "fraud against the rest", frame, y.astype(np.intp))


def _ecg(path: Path) -> Table:
    X, y, scale = read_arrays(path, "X", "y", "scale")
    X = X * float(scale)
    frame = pd.DataFrame(X, columns=[f"sample{number}" for number in range(X.shape[1])])
    return Table(
        "ecg_arrhythmia",
        "every beat but normal ones (N) against N",
        frame,
        (y != 0).astype(np.intp),
    )


def _intrusions(path: Path) -> Table:
    X, y, names = _arrays(path)
    found = np.isin(y, sorted(INTRUSIONS)).astype(np.intp)
    return _kdd("nsl_kdd", "rare attacks (R2L and U2R) against the rest", X, found, names)


def _attacks(path: Path) -> Table:
    X, y, names = _arrays(path)
    # The class to be found is the rarer one; attacks are 48 % of the rows.
    found = (y != "normal").astype(np.intp)
    return _kdd("nsl_kdd_attacks", "all attacks against normal", X, found, names)


def _kdd(
    name: str, target: str, X: np.ndarray[tuple[int, int]], y: Ints, names: list[str]
) -> Table:
    coded = pd.DataFrame(X, columns=names)
    flags = ("land", "logged_in", "root_shell", "su_attempted", "is_host_login", "is_guest_login")
    named = ("protocol_type", "service", "flag", *flags)
    return Table(name, target, coded.astype(dict.fromkeys(named, np.int64)), y, named)


def _yelp(path: Path) -> Table:
    frame = pd.read_parquet(path, columns=["text", "stars"])
    return Table(
        "yelp_review",
        "one star against more; 10,000 reviews stand in for 560,000",
        frame[["text"]],
        (frame["stars"].to_numpy() == 1).astype(np.intp),
        text="text",
    )


def _arrays(path: Path) -> tuple[np.ndarray[tuple[int, int]], np.ndarray[tuple[int]], list[str]]:
    X, y, names = read_arrays(path, "X", "y", "feature_names")
    return X, y, [str(name) for name in names]


#: The file of each set, and how it is read.
SETS: dict[str, tuple[str, Callable[[Path], Table]]] = {
    "covtype": ("covtype.npz", _covtype),
    "creditcard": ("creditcard.npz", _creditcard),
    "ecg_arrhythmia": ("ecg_mitbih.npz", _ecg),
    "nsl_kdd": ("nsl_kdd.npz", _intrusions),
    "nsl_kdd_attacks": ("nsl_kdd.npz", _attacks),
    "yelp_review": ("yelp_reviews_10k.parquet", _yelp),
}
