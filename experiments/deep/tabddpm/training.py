"""Training of the network: one step on a random batch, repeated."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch

from experiments.deep.cuda_graphs import Repeated
from experiments.deep.tabddpm.denoiser import Denoiser
from experiments.deep.tabddpm.diffusion import Diffusion
from experiments.deep.tabddpm.encoding import Encoded
from rectifold._core.utils import Ints, Tensor
from rectifold.progress import report

#: Iterations between two checks of the loss, each of which waits for the GPU.
_CHECK_EVERY = {"cuda": 500, "cpu": 25}


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Encoded samples on a device: numbers, codes of categories, codes of classes."""

    numbers: Tensor
    codes: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, encoded: Encoded, labels: Ints, device: torch.device) -> Rows:
        """Copy encoded samples and the codes of their classes to a device."""
        parts = (encoded.numbers.astype(np.float32), encoded.codes, labels)
        return cls(*(torch.from_numpy(part).to(device) for part in parts))

    def at(self, rows: Tensor) -> Rows:
        """Return the samples at some positions."""
        parts = (self.numbers, self.codes, self.labels)
        return Rows(*(part.index_select(0, rows) for part in parts))


class Trainer:
    """A network, its optimiser and the running mean of its weights; parameters as in `TabDDPM`.

    Everything that a step needs is on the device, including the learning rate and the count of
    steps, so that a step never waits for the host and can be recorded. The network is changed, and
    the decay `ema` is smaller in the first steps, which would keep too much of the initial weights.
    """

    def __init__(
        self,
        denoiser: Denoiser,
        diffusion: Diffusion,
        rows: Rows,
        *,
        batch_size: int,
        iterations: int,
        learning_rate: float,
        weight_decay: float,
        ema: float,
    ) -> None:
        device = diffusion.device
        self.denoiser, self.diffusion, self.rows = denoiser.train(), diffusion, rows
        self.mean = copy.deepcopy(denoiser).eval().requires_grad_(False)
        self._means, self._weights = (
            [parameter.data for parameter in network.parameters()]
            for network in (self.mean, denoiser)
        )
        self.batch_size, self.iterations = min(batch_size, len(rows)), iterations
        self.learning_rate, self.ema = learning_rate, ema
        self.rate = torch.tensor(learning_rate, device=device)
        self.done = torch.zeros((), device=device)
        self.total = torch.zeros((), device=device)
        on_gpu = device.type == "cuda"
        self.optimiser = torch.optim.AdamW(
            denoiser.parameters(),
            lr=self.rate,
            weight_decay=weight_decay,
            capturable=on_gpu,
            fused=on_gpu,
        )

    def step(self) -> None:
        """Run one iteration."""
        device = self.diffusion.device
        self.rate.copy_(self.learning_rate * (1 - self.done / self.iterations))
        batch = self.rows.at(torch.randint(len(self.rows), (self.batch_size,), device=device))
        t = torch.randint(self.diffusion.timesteps, (self.batch_size,), device=device)
        self.optimiser.zero_grad(set_to_none=True)
        loss = self.diffusion.loss(
            self.denoiser, batch.numbers, batch.codes, batch.labels, t
        ).mean()
        loss.backward()
        self.optimiser.step()
        with torch.no_grad():
            self.total += loss
            self.done += 1
            keep = torch.clamp((1 + self.done) / (10 + self.done), max=self.ema)
            # All weights at once: the time of a step on a GPU is that of its kernel launches.
            torch._foreach_mul_(self._means, keep)
            torch._foreach_add_(self._means, torch._foreach_mul(self._weights, 1 - keep))

    def train(self) -> list[float]:
        """Run all iterations, and return the mean losses between two checks of the loss."""
        device = self.diffusion.device
        step, every = Repeated(self.step, device), _CHECK_EVERY[device.type]
        losses: list[float] = []
        report(0, self.iterations)
        for done in range(1, self.iterations + 1):
            step()
            if done % every and done < self.iterations:
                continue
            losses.append(float(self.total) / (done - every * len(losses)))
            self.total.zero_()
            if not math.isfinite(losses[-1]):
                raise RuntimeError(
                    f"the loss was {losses[-1]} after {done} iterations: try a lower learning_rate "
                    f"than {self.learning_rate}, and look for columns with huge values."
                )
            report(done, self.iterations)
        return losses


@torch.no_grad()  # type: ignore[untyped-decorator]
def mean_loss(denoiser: Denoiser, diffusion: Diffusion, rows: Rows, draws: int) -> float:
    """Return the mean loss of samples, each at `draws` random steps."""
    total = torch.zeros((), dtype=torch.float64, device=diffusion.device)
    for _ in range(draws):
        for first in range(0, len(rows), 1 << 14):
            some = torch.arange(first, min(first + (1 << 14), len(rows)), device=diffusion.device)
            part = rows.at(some)
            t = torch.randint(diffusion.timesteps, (len(part),), device=diffusion.device)
            total += diffusion.loss(denoiser, part.numbers, part.codes, part.labels, t).sum()
    return float(total) / (draws * len(rows))
