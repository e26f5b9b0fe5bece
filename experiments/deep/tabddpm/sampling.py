"""Draw samples: noise is removed step by step, from a block of samples at once."""

import torch

from experiments.deep.cuda_graphs import Repeated
from experiments.deep.tabddpm.denoiser import Denoiser
from experiments.deep.tabddpm.diffusion import Diffusion
from experiments.deep.tabddpm.encoding import Encoded
from rectifold._core.utils import Floats, Ints, Tensor

#: Maximum size of a layer's output for a block.
_MAX_NUMBERS = 1 << 26
#: Maximum number of samples of a block.
_MAX_SAMPLES = 1 << 16


@torch.no_grad()  # type: ignore[untyped-decorator]
def draw(denoiser: Denoiser, diffusion: Diffusion, labels: Ints, widest: int) -> Encoded:
    """Draw a sample for each label; `widest` is the width of the widest layer."""
    block = Block(denoiser, diffusion, _block_size(len(labels), max(widest, diffusion.width)))
    wanted = torch.as_tensor(labels)
    parts = [block.draw(wanted[first : first + block.size]) for first in block.firsts(len(labels))]
    numbers, codes = (torch.cat(part) for part in zip(*parts, strict=True))
    return Encoded(_doubles(numbers), codes.numpy())


def _doubles(numbers: Tensor) -> Floats:
    doubles: Floats = numbers.double().numpy()
    return doubles


def _block_size(n_samples: int, width: int) -> int:
    most = max(1, min(_MAX_SAMPLES, _MAX_NUMBERS // width))
    # Blocks of equal size, so that one recorded step serves all.
    return -(-n_samples // -(-n_samples // most))


class Block:
    """Buffers for `size` samples, and the step that removes noise from them."""

    def __init__(self, denoiser: Denoiser, diffusion: Diffusion, size: int) -> None:
        self.denoiser, self.diffusion, self.size = denoiser, diffusion, size
        device = diffusion.device
        self.rows = torch.zeros(size, diffusion.width, device=device)
        self.labels = torch.zeros(size, dtype=torch.int64, device=device)
        # All samples are at the same step.
        self.t = torch.zeros(1, dtype=torch.int64, device=device)
        self.repeated = Repeated(self.step, device)

    def firsts(self, n_samples: int) -> range:
        """Return the first sample of each block."""
        return range(0, n_samples, self.size)

    def step(self) -> None:
        """Remove the noise of one step."""
        self.rows.copy_(self.diffusion.back(self.denoiser, self.rows, self.t, self.labels))
        self.t -= 1

    def draw(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Draw samples of at most `size` labels, and return their numbers and codes."""
        self.labels[: len(labels)] = labels.to(self.labels.device)
        self.rows.copy_(self.diffusion.noise(self.size))
        self.t.fill_(self.diffusion.timesteps - 1)
        for _ in range(self.diffusion.timesteps):
            self.repeated()
        numbers, codes = self.diffusion.split(self.rows[: len(labels)])
        # Copies on the CPU too: the next block uses the same buffers.
        return numbers.to("cpu", copy=True), codes.cpu()
