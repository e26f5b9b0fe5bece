"""The large data sets of the paper's comparison with TabDDPM: their targets and columns."""

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

from experiments.deep.arrays import read_arrays
from rectifold._core.utils import Ints, did_you_mean
from rectifold.bench._protocols import TEST_SHARE
from rectifold.datasets import fingerprint
from rectifold.model_selection._registry import BenchError

#: Attacks of NSL-KDD by which an intruder gets access (R2L) or more rights (U2R).
INTRUSIONS = frozenset(
    (
        *("ftp_write", "guess_passwd", "httptunnel", "imap", "multihop"),
        *("named", "phf", "sendmail", "snmpgetattack", "snmpguess", "spy"),
        *("warezclient", "warezmaster", "worm", "xlock", "xsnoop"),
        *("buffer_overflow", "loadmodule", "perl", "ps"),
        *("rootkit", "sqlattack", "xterm"),
    )
)
#: Features that a text becomes.
TOPICS = 64


@dataclass(frozen=True)
class Table:
    """A data set with two classes; class 1 is the positive one."""

    #: Name in the paper, for its data sets.
    name: str
    #: The classes, in words.
    target: str
    #: Numbers, and codes of categories.
    X: pd.DataFrame
    y: Ints
    categorical: tuple[str, ...] = ()
    #: The only column, if it holds texts; `split` turns them into numbers.
    text: str = ""

    @property
    def fingerprint(self) -> str:
        """Hash of all values: results on other values of the same name are not mixed."""
        hashes = pd.util.hash_pandas_object(self.X, index=False).to_numpy()
        return fingerprint(hashes.tobytes(), self.y)


@dataclass(frozen=True)
class Parts:
    """The training part and the test part."""

    X_train: pd.DataFrame
    y_train: Ints
    X_test: pd.DataFrame
    y_test: Ints


def split(table: Table, seed: int) -> Parts:
    """Split a table, stratified, with 80 % to train on.

    Texts become TF-IDF, fitted on the training part and reduced to its `TOPICS` components.
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
    """Read one of `SETS` from its file in the folder `home`."""
    if name not in SETS:
        known = did_you_mean(name, list(SETS), list_all=True)
        raise BenchError(f"there is no data set {name!r}{known}")
    file, make = SETS[name]
    path = Path(home) / file
    if not path.is_file():
        raise BenchError(f"there is no file {str(path)!r}: pass its folder as --data-home")
    return make(path)


def _covtype(path: Path) -> Table:
    X, y, names = _arrays(path)
    # 4 and 40 one-hot columns are two categorical ones.
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
    y_rare = np.isin(y, sorted(INTRUSIONS)).astype(np.intp)
    return _kdd("nsl_kdd", "rare attacks (R2L and U2R) against the rest", X, y_rare, names)


def _attacks(path: Path) -> Table:
    X, y, names = _arrays(path)
    # The positive class is the rarer one; attacks are 48 %.
    y_attack = (y != "normal").astype(np.intp)
    return _kdd("nsl_kdd_attacks", "all attacks against normal", X, y_attack, names)


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


#: The file of each data set, and the function that reads it.
SETS: dict[str, tuple[str, Callable[[Path], Table]]] = {
    "covtype": ("covtype.npz", _covtype),
    "creditcard": ("creditcard.npz", _creditcard),
    "ecg_arrhythmia": ("ecg_mitbih.npz", _ecg),
    "nsl_kdd": ("nsl_kdd.npz", _intrusions),
    "nsl_kdd_attacks": ("nsl_kdd.npz", _attacks),
    "yelp_review": ("yelp_reviews_10k.parquet", _yelp),
}
