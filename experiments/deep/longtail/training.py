"""Train networks step by step; several at the same time on one device."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from time import perf_counter
from typing import Any

import numpy as np
import torch

from experiments.deep.cuda_graphs import Repeated
from experiments.deep.devices import find_device
from experiments.deep.longtail.augmentation import Normaliser, augmented, draw, padded
from experiments.deep.longtail.data import LongTailed
from experiments.deep.longtail.losses import LOSSES, Loss
from experiments.deep.longtail.network import ResNet32
from experiments.deep.longtail.schedule import Recipe, check_epochs, rate_at
from experiments.deep.longtail.trained import Trained, reproducibly
from rectifold import progress
from rectifold._core.utils import did_you_mean
from rectifold._engines.gpu import devices
from rectifold.model_selection._registry import BenchError

_DONE = object()


class Trainer:
    """A training, run epoch by epoch.

    On a CUDA device it has its own stream, and records one step as a graph that it then replays;
    several trainers whose steps alternate (see `train_together`) use a large device better.

    Parameters
    ----------
    data : LongTailed
        The images; only the training part is used.
    loss : {"CE", "CB", "LDAM"}
        The loss; "LDAM" also takes cosines for logits.
    epochs : int, default=200
        Number of epochs, on which the schedule depends.
    seed : int, default=0
        Seed of the first weights, the order of images, and their shifts and flips.
    device : str, torch.device or None, default=None
        None means CUDA if there is a CUDA device, else the CPU.
    recipe : Recipe, optional
        Everything else.
    graph : bool, default=True
        Whether steps are recorded on CUDA.

    Attributes
    ----------
    epoch : int
        The next epoch, from 0.
    losses : list of float
        The mean loss of each epoch so far.
    """

    def __init__(
        self,
        data: LongTailed,
        loss: str = "CE",
        *,
        epochs: int = 200,
        seed: int = 0,
        device: Any = None,
        recipe: Recipe | None = None,
        graph: bool = True,
    ) -> None:
        if loss not in LOSSES:
            raise BenchError(
                f"there is no loss {loss!r}{did_you_mean(loss, LOSSES, list_all=True)}"
            )
        self.epochs = check_epochs(epochs)
        self.device = device = find_device(device)
        self.recipe = recipe = recipe or Recipe()
        self.epoch, self.losses = 0, list[float]()
        self._start = perf_counter()
        self.normalise = Normaliser(data.train_images, device)
        pixels: Any = data.train_images
        self.images = padded(devices.to_device(pixels, device))
        self.labels = torch.as_tensor(data.train_labels.astype(np.int64), device=device)
        self.loss = Loss(loss, data.counts, device)
        # On the CPU, so that all devices start from the same weights.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = ResNet32(
                len(data.names), normed=loss == "LDAM", width=recipe.width, blocks=recipe.blocks
            )
        self.network = network.to(device, memory_format=torch.channels_last).train()
        # A fused step reads its rate from a tensor on the device, also when it is replayed.
        self.optimizer = torch.optim.SGD(
            self.network.parameters(),
            lr=torch.tensor(recipe.rate, device=device),
            momentum=recipe.momentum,
            weight_decay=recipe.decay,
            fused=True,
        )
        self._generator = torch.Generator().manual_seed(seed)
        self.batch = min(recipe.batch, len(self.labels))
        # A recorded step reads and writes these tensors: they must not be replaced.
        self._drawn = torch.zeros((self.batch, 4), dtype=torch.int64, device=device)
        self._sum = torch.zeros((), device=device)
        self._stream: Any = None
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)
            self._stream.wait_stream(torch.cuda.current_stream(device))
        self._step = Repeated(self._train, device, stream=self._stream, records=graph)

    @property
    def recorded(self) -> bool:
        """Whether steps replay a recorded one."""
        return self._step.recorded

    @contextmanager
    def _on_stream(self) -> Iterator[None]:
        with ExitStack() as stack:
            if self._stream is not None:
                stack.enter_context(torch.cuda.device(self.device))
                stack.enter_context(torch.cuda.stream(self._stream))
            stack.enter_context(reproducibly(self.device))
            yield

    def steps(self) -> Iterator[None]:
        """Run the next epoch; each `next` starts one step. Call `end` after the last one.

        The steps run asynchronously: `next` does not wait for the device.
        """
        number = len(self.labels) // self.batch
        with self._on_stream():
            order = torch.randperm(len(self.labels), generator=self._generator)
            plan = draw(order[: number * self.batch].view(number, self.batch), self._generator)
            if self._stream is not None:
                plan = plan.pin_memory()
            plan = plan.to(self.device, non_blocking=True)
            self.loss.begin(self.epoch, self.epochs)
            rate = rate_at(self.epoch, self.epochs, self.recipe.rate)
            self.optimizer.param_groups[0]["lr"].fill_(rate)
            self._sum.zero_()
        for drawn in plan:
            with self._on_stream():
                self._drawn.copy_(drawn)
                self._step()
            yield

    def end(self) -> float:
        """Wait for the end of the epoch, and return the mean loss of its steps."""
        with self._on_stream():
            mean = float(self._sum.item()) / (len(self.labels) // self.batch)
        self.epoch += 1
        if not math.isfinite(mean):
            raise BenchError(
                f"the loss {self.loss.name} is not finite after epoch {self.epoch}: try a lower "
                f"learning rate than {self.recipe.rate:g}"
            )
        self.losses.append(mean)
        return mean

    def result(self) -> Trained:
        """Return the trained network; no epoch may follow."""
        seconds, recorded = perf_counter() - self._start, self.recorded
        self._step.end()
        self.optimizer.zero_grad(set_to_none=True)
        return Trained(
            self.network.eval(),
            self.normalise,
            self.device,
            tuple(self.losses),
            seconds,
            recorded,
        )

    def _train(self) -> None:
        # A graph may hold all of this: nothing here depends on a value on the device.
        mixed: Any = nullcontext()
        if self.device.type == "cuda":
            # Each weight is used once, so that copies in bfloat16 need not be kept.
            mixed = torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False)
        self.optimizer.zero_grad(set_to_none=True)
        with mixed:
            logits = self.network(self.normalise(augmented(self.images, self._drawn)))
        loss = self.loss(logits, self.labels[self._drawn[:, 0]])
        loss.backward()
        self.optimizer.step()
        self._sum += loss.detach()


def train_together(
    trainers: Sequence[Trainer], *, before: int = 0, total: int | None = None
) -> list[Trained]:
    """Train several networks at the same time, by alternating their steps.

    Progress counts the epochs of all trainers: `before` that were done earlier, of `total`.
    """
    total = sum(trainer.epochs for trainer in trainers) if total is None else total
    while unfinished := [trainer for trainer in trainers if trainer.epoch < trainer.epochs]:
        running = [trainer.steps() for trainer in unfinished]
        while running:
            running = [steps for steps in running if next(steps, _DONE) is not _DONE]
        for trainer in unfinished:
            trainer.end()
        before += len(unfinished)
        progress.report(before, total)
    return [trainer.result() for trainer in trainers]


def train(
    data: LongTailed,
    loss: str = "CE",
    *,
    epochs: int = 200,
    seed: int = 0,
    device: Any = None,
    recipe: Recipe | None = None,
) -> Trained:
    """Train one network; the parameters are those of `Trainer`.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.deep.longtail import LongTailed, Recipe, train
    >>> rng = np.random.default_rng(0)
    >>> def draw_images(labels):  # rare images are brighter
    ...     least = 100 * labels[:, None, None, None]
    ...     return rng.integers(least, least + 100, (len(labels), 32, 32, 3), dtype=np.uint8)
    >>> y, y_test = np.repeat([0, 1], [24, 12]), np.repeat([0, 1], 5)
    >>> names = ("common", "rare")
    >>> data = LongTailed(
    ...     draw_images(y), y, draw_images(y_test), y_test, names, "shades", ratio=2.0
    ... )
    >>> small = Recipe(batch=18, width=4, blocks=1)
    >>> trained = train(data, "CB", epochs=1, device="cpu", recipe=small)
    >>> trained.predict(data.test_images).shape
    (10,)
    >>> trained.features(data.train_images).shape
    (36, 16)
    """
    trainer = Trainer(data, loss, epochs=epochs, seed=seed, device=device, recipe=recipe)
    return train_together([trainer])[0]
