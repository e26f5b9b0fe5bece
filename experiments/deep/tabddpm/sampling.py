"""New rows are drawn: noise is taken away step by step, from a block of rows at once."""

import torch

from experiments.deep.cuda_graphs import Repeated
from experiments.deep.tabddpm.denoiser import Denoiser
from experiments.deep.tabddpm.diffusion import Diffusion
from experiments.deep.tabddpm.encoding import Encoded
from rectifold._core.utils import Floats, Ints, Tensor

#: Numbers that a block holds in one layer, at most.
_NUMBERS = 1 << 26
#: Rows of a block, at most.
_ROWS = 1 << 16


@torch.no_grad()  # type: ignore[untyped-decorator]
def draw(denoiser: Denoiser, diffusion: Diffusion, labels: Ints, widest: int) -> Encoded:
    """Draw a row for each label.

    Parameters
    ----------
    denoiser : Denoiser
        The network.
    diffusion : Diffusion
        What it undoes.
    labels : ndarray of shape (n_rows,)
        Codes of classes.
    widest : int
        The width of the widest layer.

    Returns
    -------
    Encoded
    """
    block = Block(denoiser, diffusion, _block_size(len(labels), max(widest, diffusion.width)))
    asked = torch.as_tensor(labels)
    parts = [block.draw(asked[first : first + block.size]) for first in block.firsts(len(labels))]
    numbers, codes = (torch.cat(part) for part in zip(*parts, strict=True))
    return Encoded(_doubles(numbers), codes.numpy())


def _doubles(numbers: Tensor) -> Floats:
    doubles: Floats = numbers.double().numpy()
    return doubles


def _block_size(n_rows: int, width: int) -> int:
    most = max(1, min(_ROWS, _NUMBERS // width))
    # Blocks of one size, so that a graph of a step serves for all.
    return -(-n_rows // -(-n_rows // most))


class Block:
    """Buffers for so many rows, and the step that takes noise from them.

    Parameters
    ----------
    denoiser : Denoiser
        The network.
    diffusion : Diffusion
        What it undoes.
    size : int
        Rows.
    """

    def __init__(self, denoiser: Denoiser, diffusion: Diffusion, size: int) -> None:
        self.denoiser, self.diffusion, self.size = denoiser, diffusion, size
        device = diffusion.device
        self.rows = torch.zeros(size, diffusion.width, device=device)
        self.labels = torch.zeros(size, dtype=torch.int64, device=device)
        # All rows are at the same step.
        self.t = torch.zeros(1, dtype=torch.int64, device=device)
        self.repeated = Repeated(self.step, device)

    def firsts(self, n_rows: int) -> range:
        """Give the first row of each block."""
        return range(0, n_rows, self.size)

    def step(self) -> None:
        """Take the noise of one step away."""
        self.rows.copy_(self.diffusion.back(self.denoiser, self.rows, self.t, self.labels))
        self.t -= 1

    def draw(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Draw rows of these classes, at most `size`, and give their numbers and codes."""
        self.labels[: len(labels)] = labels.to(self.labels.device)
        self.rows.copy_(self.diffusion.noise(self.size))
        self.t.fill_(self.diffusion.timesteps - 1)
        for _ in range(self.diffusion.timesteps):
            self.repeated()
        numbers, codes = self.diffusion.split(self.rows[: len(labels)])
        # Copies on the CPU too: the next block is drawn in the same buffers.
        return numbers.to("cpu", copy=True), codes.cpu()
