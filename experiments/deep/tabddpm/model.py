"""The estimator: fit a diffusion model to a table with classes, and draw samples from it."""

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

#: Minimum size of a class: fewer samples would be memorised.
MIN_CLASS_SIZE = 5
#: Width of the authors' embedding.
_EMBEDDING = 128
#: Minimum number of noisy samples that `loss` averages over.
_NOISY_SAMPLES = 1 << 14


class TabDDPM(BaseEstimator):
    """A diffusion model of tables (Kotelnikov et al., 2023).

    Noise is turned into samples of a class step by step. Numbers are mapped to a normal
    distribution by their quantiles and diffuse by Gaussian noise on a cosine schedule; categories
    diffuse by random replacement (Hoogeboom et al., 2021). One MLP undoes both.

    It differs from the authors' program: samples are drawn with a running mean of the weights,
    estimates of numbers are clipped to the range of the table, the network sees categories one-hot
    encoded, not as logarithms, and wide tables have a wide embedding.

    Parameters
    ----------
    timesteps : int, default=1000
        Number of diffusion steps.

    layers : tuple of int, default=(512, 512, 512)
        Widths of the hidden layers.

    embedding : int or None, default=None
        Width of the embedding of samples, steps and classes; even. None means 128, or the next
        power of two if more than 128 columns hold numbers: the noise of all columns can't be
        represented by fewer numbers.

    dropout : float, default=0.0
        Dropout of the hidden layers.

    batch_size : int, default=4096
        Samples of a batch, drawn with replacement; at most the size of the table.

    iterations : int, default=10_000
        Number of batches.

    learning_rate : float, default=1e-3
        Initial learning rate of AdamW; it decreases to 0 linearly.

    weight_decay : float, default=1e-5
        Weight decay of AdamW.

    ema : float, default=0.999
        Decay of the running mean of the weights.

    random_state : int, RandomState instance or None, default=0
        The seed. The same seed gives the same samples on the same device; CPU and CUDA differ, and
        so may two models of GPU.

    device : str, torch.device or None, default=None
        "cpu", "cuda", "cuda:1" and so on; None means CUDA if torch sees a CUDA device, else the
        CPU.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.

    n_features_in_ : int
        Number of columns of the table.

    embedding_ : int
        The width of the embedding.

    losses_ : list of float
        The mean losses of successive parts of the training.

    Notes
    -----
    Only the columns named in `categorical` of `fit` are categorical, whatever their dtype. A column
    of text or of pandas' dtype ``category`` that is not named there is refused. A column of numbers
    with few values, such as 0 and 1, is better named there too: quantiles don't make it normal.

    The loss of a sample is the mean squared error of the noise of its numbers, plus the bound on
    the log likelihood of its categories, per column. The bound leaves out the term of the prior,
    which does not depend on the network: it compares networks, but is not a likelihood.

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
        """Fit the model; progress is reported in iterations.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_columns)
            The table, without missing values.
        y : array-like of shape (n_samples,)
            Classes, of at least 5 samples each.
        categorical : sequence of int, str or bool, default=None
            Positions or names of the categorical columns, or a mask. All others must hold numbers.

        Returns
        -------
        self : TabDDPM
            The fitted model.
        """
        self._check()
        device = find_device(self.device)
        encoding = Encoding.learned(X, categorical)
        encoded = encoding.encode(X)
        _check_lengths(encoded, y)
        labels, codes = Labels.learned(y, MIN_CLASS_SIZE)
        self._adopt(encoding, labels, device)
        self.embedding_ = self.embedding or _wide_enough(self._diffusion.n_numbers)
        self._warn_narrow_layers()
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
        """Draw synthetic samples.

        Parameters
        ----------
        n : int
            Number of samples.
        y : array-like of shape (n,), default=None
            Their classes; by default drawn with the frequencies of the table.
        random_state : int, RandomState instance or None, default=None
            The seed; None means that of the model, so that a second call returns the same samples.

        Returns
        -------
        X : {ndarray, DataFrame} of shape (n, n_columns)
            Samples in the container, the dtypes and the range of the table.
        y : {ndarray, Series} of shape (n,)
            Their classes.
        """
        check_is_fitted(self, "losses_")
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n must be an integer of at least 1, not {n!r}.")
        seed = _seed(self.random_state if random_state is None else random_state)
        if y is None:
            shares = self._labels.counts / self._labels.counts.sum()
            codes = np.random.default_rng(seed).choice(len(shares), size=int(n), p=shares)
        else:
            codes = self._labels.encode(y)
            if codes.shape != (n,):
                raise ValueError(f"y has {len(codes)} labels for n={n} samples.")
        with working(self._diffusion.device, seed):
            widest = max(self.embedding_, *self._fitted_by["layers"])
            drawn = draw(self._denoiser, self._diffusion, codes, widest)
        return self._encoding.decode(drawn), self._labels.decode(codes)

    def loss(self, X: Any, y: Any, *, random_state: Any = None) -> float:
        """Return the mean loss on samples, such as held-out ones; lower is better.

        `X` has the columns and categories of the table, and `random_state` is the seed of the
        noise, by default that of the model.
        """
        check_is_fitted(self, "losses_")
        encoded = self._encoding.encode(X)
        _check_lengths(encoded, y)
        device = self._diffusion.device
        rows = Rows.of(encoded, self._labels.encode(y), device)
        with working(device, _seed(self.random_state if random_state is None else random_state)):
            draws = -(-_NOISY_SAMPLES // len(rows))
            return float(mean_loss(self._denoiser, self._diffusion, rows, draws))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a safetensors file, whole or not at all."""
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
        """Return a model that `save` has written, on a device as for the estimator."""
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
                f"layers must be the widths of the hidden layers, such as (512, 512), not "
                f"{self.layers!r}."
            )
        if self.embedding is not None and self.embedding % 2:
            raise ValueError(f"embedding must be even, not {self.embedding}.")

    def _adopt(self, encoding: Encoding, labels: Labels, device: torch.device) -> None:
        """Set what is known of a table, and forget what was learned from another one."""
        self.__dict__.pop("losses_", None)
        # Another machine has other devices, and a generator is not a seed.
        self._fitted_by = self.get_params(deep=False) | {"device": None}
        if not isinstance(self.random_state, Integral):
            self._fitted_by["random_state"] = None
        self._encoding, self._labels = encoding, labels
        self.n_features_in_ = len(encoding.columns)
        self.classes_ = np.asarray(labels.column.written(np.arange(len(labels.counts))))
        low, high = encoding.range
        self._diffusion = Diffusion(self.timesteps, low, high, encoding.sizes, device)

    def _warn_narrow_layers(self) -> None:
        numbers = self._diffusion.n_numbers
        widths = {"embedding": self.embedding_, "layers": min(self.layers)}
        name = min(widths, key=widths.__getitem__)
        if numbers > widths[name]:
            warnings.warn(
                f"{name} of width {widths[name]} is too narrow for {numbers} columns of numbers, "
                f"and samples will be too noisy: make it at least {numbers}.",
                UserWarning,
                stacklevel=3,
            )

    def _network(self) -> Denoiser:
        width, n_classes = self._diffusion.width, len(self.classes_)
        made = Denoiser(width, n_classes, self.layers, self.embedding_, self.dropout)
        placed: Denoiser = made.to(self._diffusion.device)
        return placed


def _wide_enough(columns: int) -> int:
    """Return the width of an embedding that can represent the noise of all columns."""
    return max(_EMBEDDING, 1 << (columns - 1).bit_length())


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _check_lengths(encoded: Encoded, y: Any) -> None:
    if len(encoded) != len(y):
        raise ValueError(f"X has {len(encoded)} samples, and y has {len(y)} labels.")
