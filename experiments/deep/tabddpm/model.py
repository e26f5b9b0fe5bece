"""The estimator: fit a diffusion model to a table with classes, and draw rows from it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from experiments.deep.devices import find_device, working
from experiments.deep.tabddpm import files
from experiments.deep.tabddpm.denoiser import Denoiser
from experiments.deep.tabddpm.diffusion import Diffusion
from experiments.deep.tabddpm.encoding import Encoded, Encoding, Labels
from experiments.deep.tabddpm.sampling import draw
from experiments.deep.tabddpm.training import Rows, Trainer, mean_loss

#: A class with fewer rows is not learned but remembered.
MIN_ROWS = 5
#: The authors' width of the embedding.
_EMBEDDING = 128
#: `loss` looks at so many noisy rows, at least.
_LOOKS = 1 << 14


class TabDDPM(BaseEstimator):
    """A diffusion model of tables (Kotelnikov et al., 2023).

    Rows of noise become rows of the table step by step, given their class. Numbers are made
    normal by their quantiles and diffuse by Gaussian noise on a cosine schedule; categories
    diffuse by being replaced at random (Hoogeboom et al., 2021). One MLP undoes both.

    It differs from the authors' program in this: rows are drawn with a running mean of the
    weights, estimates of numbers are clipped to the range of the table, the network sees
    categories as zeros and ones, not as their logarithms, and wide rows have a wide embedding.

    Parameters
    ----------
    timesteps : int, default=1000
        Steps from a row to noise.

    layers : tuple of int, default=(512, 512, 512)
        Widths of the hidden layers.

    embedding : int or None, default=None
        Width in which rows, steps and classes are embedded; even. None takes 128, or, where more
        columns than that hold numbers, the next power of two: noise of all columns can't be told
        from fewer numbers.

    dropout : float, default=0.0
        Share of hidden numbers that are left out in training.

    batch_size : int, default=4096
        Rows of a batch, drawn with replacement; a smaller table has smaller batches.

    iterations : int, default=10_000
        Batches in all.

    learning_rate : float, default=1e-3
        Of AdamW, at first; it goes down to 0 along a line.

    weight_decay : float, default=1e-5
        Of AdamW.

    ema : float, default=0.999
        Share that the running mean of the weights keeps at each batch.

    random_state : int, RandomState instance or None, default=0
        The seed. The same seed gives the same rows on the same device; CPU and CUDA differ, and so
        may two kinds of GPU.

    device : str, torch.device or None, default=None
        "cpu", "cuda", "cuda:1" and so on; None for CUDA if torch sees it, or else the CPU.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.

    n_features_in_ : int
        Columns of the table.

    embedding_ : int
        The width of the embedding.

    losses_ : list of float
        The mean loss of successive stretches of the training.

    Notes
    -----
    Only columns that are named in `categorical` of `fit` are categories; a dtype says nothing. A
    column of words, or of pandas' dtype ``category``, that is not named there is refused, since
    its values are no numbers. A column of numbers with few different values, such as 0 and 1, is
    better named there too: its quantiles don't make it normal.

    Every batch is drawn from the table anew, with replacement. The loss of a row is the mean
    squared error of the noise of its numbers, plus the bound on the log likelihood of its
    categories, per column. The bound leaves out the term of the prior, which depends on no weight
    of the network; so it is a measure to compare networks by, and no likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.deep.tabddpm import TabDDPM
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), np.repeat(["common", "rare"], [170, 30])
    >>> model = TabDDPM(timesteps=10, layers=(16,), embedding=8, iterations=20, device="cpu")
    >>> X_new, y_new = model.fit(X, y).sample(5, y=["rare"] * 5)
    >>> X_new.shape, y_new.tolist()
    ((5, 3), ['rare', 'rare', 'rare', 'rare', 'rare'])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "timesteps": [Interval(Integral, 2, None, closed="left")],
        "layers": [tuple, list],
        "embedding": [Interval(Integral, 2, None, closed="left"), None],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "iterations": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "ema": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
        "device": [str, torch.device, None],
    }

    def __init__(
        self,
        *,
        timesteps: int = 1000,
        layers: Sequence[int] = (512, 512, 512),
        embedding: int | None = None,
        dropout: float = 0.0,
        batch_size: int = 4096,
        iterations: int = 10_000,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-5,
        ema: float = 0.999,
        random_state: Any = 0,
        device: Any = None,
    ) -> None:
        self.timesteps = timesteps
        self.layers = layers
        self.embedding = embedding
        self.dropout = dropout
        self.batch_size = batch_size
        self.iterations = iterations
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.ema = ema
        self.random_state = random_state
        self.device = device

    def fit(self, X: Any, y: Any, *, categorical: Sequence[Any] | None = None) -> TabDDPM:
        """Learn a table and its classes.

        Progress goes to `rectifold.progress.listening`, in iterations.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_rows, n_columns)
            The table, without missing values.
        y : array-like of shape (n_rows,)
            Classes, of at least 5 rows each.
        categorical : sequence of int, str or bool, default=None
            Positions or names of the columns of categories, or a mask. All others must hold
            numbers: no dtype makes a column one of categories.

        Returns
        -------
        self : TabDDPM
        """
        self._check()
        device = find_device(self.device)
        encoding = Encoding.learned(X, categorical)
        encoded = encoding.encode(X)
        _check_lengths(encoded, y)
        labels, codes = Labels.learned(y, MIN_ROWS)
        self._adopt(encoding, labels, device)
        self.embedding_ = self.embedding or _wide_enough(self._diffusion.n_numbers)
        self._warn_of_narrow_layers()
        with working(device, _seed(self.random_state)):
            trainer = Trainer(
                self._network(),
                self._diffusion,
                Rows.of(encoded, codes, device),
                batch_size=self.batch_size,
                iterations=self.iterations,
                learning_rate=self.learning_rate,
                weight_decay=self.weight_decay,
                ema=self.ema,
            )
            losses = trainer.train()
        self._denoiser, self.losses_ = trainer.mean, losses
        return self

    def sample(self, n: int, *, y: Any = None, random_state: Any = None) -> tuple[Any, Any]:
        """Draw new rows.

        Parameters
        ----------
        n : int
            How many.
        y : array-like of shape (n,), default=None
            Their classes; by default drawn as often as they were in the table.
        random_state : int, RandomState instance or None, default=None
            The seed; None for that of the model, so that a second call gives the same rows.

        Returns
        -------
        X : {ndarray, DataFrame} of shape (n, n_columns)
            In the container and dtypes of the table, and within its range.
        y : {ndarray, Series} of shape (n,)
            Classes.
        """
        check_is_fitted(self, "losses_")
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n must be a whole number of rows, at least 1, and not {n!r}.")
        seed = _seed(self.random_state if random_state is None else random_state)
        if y is None:
            shares = self._labels.counts / self._labels.counts.sum()
            codes = np.random.default_rng(seed).choice(len(shares), size=int(n), p=shares)
        else:
            codes = self._labels.encode(y)
            if codes.shape != (n,):
                raise ValueError(f"y has {len(codes)} labels for n={n} rows.")
        with working(self._diffusion.device, seed):
            widest = max(self.embedding_, *self._fitted_by["layers"])
            drawn = draw(self._denoiser, self._diffusion, codes, widest)
        return self._encoding.decode(drawn), self._labels.decode(codes)

    def loss(self, X: Any, y: Any, *, random_state: Any = None) -> float:
        """Give the mean loss of the network on rows, such as held-out ones; less is better.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_rows, n_columns)
            Rows with the columns of the table, and its categories.
        y : array-like of shape (n_rows,)
            Their classes.
        random_state : int, RandomState instance or None, default=None
            The seed of the noise; None for that of the model.

        Returns
        -------
        float
        """
        check_is_fitted(self, "losses_")
        encoded = self._encoding.encode(X)
        _check_lengths(encoded, y)
        device = self._diffusion.device
        rows = Rows.of(encoded, self._labels.encode(y), device)
        with working(device, _seed(self.random_state if random_state is None else random_state)):
            draws = -(-_LOOKS // len(rows))
            return float(mean_loss(self._denoiser, self._diffusion, rows, draws))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file of safetensors, whole or not at all.

        Parameters
        ----------
        path : path-like
            Where; a file that stands there is replaced.
        """
        check_is_fitted(self, "losses_")
        files.write(
            path,
            parameters=self._fitted_by,
            encoding=self._encoding,
            labels=self._labels,
            weights=self._denoiser.state_dict(),
            losses=self.losses_,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: Any = None) -> TabDDPM:
        """Read a model that `save` has written.

        Parameters
        ----------
        path : path-like
            Where.
        device : str, torch.device or None, default=None
            As for the estimator; it may be another than the one that the model was fitted on.

        Returns
        -------
        TabDDPM
            Fitted.
        """
        where = find_device(device)
        found = files.read(path)
        model = cls(**(found["parameters"] | {"device": device}))
        model._adopt(found["encoding"], found["labels"], where)
        model.embedding_ = found["weights"]["classes"].shape[1]
        with working(where, 0):
            network = model._network()
        network.load_state_dict(found["weights"])
        model._denoiser, model.losses_ = network.eval().requires_grad_(False), found["losses"]
        return model

    def _check(self) -> None:
        self._validate_params()
        if not self.layers or not all(isinstance(w, Integral) and w > 0 for w in self.layers):
            raise ValueError(
                f"layers must be widths of hidden layers, such as (512, 512), not {self.layers!r}."
            )
        if self.embedding is not None and self.embedding % 2:
            raise ValueError(f"embedding must be even, not {self.embedding}.")

    def _adopt(self, encoding: Encoding, labels: Labels, device: torch.device) -> None:
        """Take over what is known of a table; what was learned from another is gone."""
        self.__dict__.pop("losses_", None)
        # Another machine has other devices, and a generator is no seed.
        self._fitted_by = self.get_params(deep=False) | {"device": None}
        if not isinstance(self.random_state, Integral):
            self._fitted_by["random_state"] = None
        self._encoding, self._labels = encoding, labels
        self.n_features_in_ = len(encoding.columns)
        self.classes_ = np.asarray(labels.column.written(np.arange(len(labels.counts))))
        low, high = encoding.range
        self._diffusion = Diffusion(self.timesteps, low, high, encoding.sizes, device)

    def _warn_of_narrow_layers(self) -> None:
        numbers = self._diffusion.n_numbers
        widths = {"embedding": self.embedding_, "layers": min(self.layers)}
        name = min(widths, key=widths.__getitem__)
        if numbers > widths[name]:
            warnings.warn(
                f"noise of {numbers} columns of numbers can't pass through {name}, which is "
                f"{widths[name]} wide: rows that are drawn will be too noisy. Make it at least "
                f"{numbers}.",
                UserWarning,
                stacklevel=3,
            )

    def _network(self) -> Denoiser:
        width, n_classes = self._diffusion.width, len(self.classes_)
        made = Denoiser(width, n_classes, self.layers, self.embedding_, self.dropout)
        placed: Denoiser = made.to(self._diffusion.device)
        return placed


def _wide_enough(columns: int) -> int:
    """Give the width of an embedding through which noise of so many columns can pass."""
    return max(_EMBEDDING, 1 << (columns - 1).bit_length())


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _check_lengths(encoded: Encoded, y: Any) -> None:
    if len(encoded) != len(y):
        raise ValueError(f"X has {len(encoded)} rows, and y has {len(y)} labels.")
