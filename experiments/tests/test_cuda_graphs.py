"""Recorded steps run once per call, whether recording works or not."""

import contextlib
import gc
import weakref

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from experiments.deep.cuda_graphs import Repeated  # noqa: E402
from experiments.deep.longtail import Recipe, Trainer, train_together  # noqa: E402
from images import small  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
CUDA = torch.device("cuda", 0)


class Player:
    """A fake of torch.cuda that records and replays a step, or fails to."""

    def __init__(self, fails):
        self.fails, self.done, self.recording = fails, 0, False

    def step(self):
        self.done += not self.recording

    def replay(self):
        self.done += 1

    def wait_stream(self, other):
        pass

    def current_stream(self, device):
        return self

    Stream = current_stream

    def CUDAGraph(self):  # noqa: N802
        return self

    def stream(self, stream):
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def graph(self, graph, stream, capture_error_mode):
        self.recording = True
        yield
        self.recording = False
        if self.fails:
            raise RuntimeError("no such luck\nand details")


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("times", [1, 3, 4, 20])
@pytest.mark.parametrize("on_own_stream", [False, True])
def test_a_step_runs_once_per_call_recorded_or_not(fails, times, on_own_stream, monkeypatch):
    player = Player(fails)
    monkeypatch.setattr(torch, "cuda", player)
    repeated = Repeated(player.step, CUDA, stream=player if on_own_stream else None)
    warned = pytest.warns(RuntimeWarning, match="could be recorded, .*: no such luck$")
    with warned if fails and times > 3 else contextlib.nullcontext():
        for _ in range(times):
            repeated()
    assert player.done == times
    assert repeated.recorded == (times > 3 and not fails)
    repeated.end()
    assert not repeated.recorded
    with pytest.raises(RuntimeError, match="no step may follow"):
        repeated()


def test_recording_can_be_switched_off(monkeypatch):
    player = Player(fails=False)
    monkeypatch.setattr(torch, "cuda", player)
    repeated = Repeated(player.step, CUDA, records=False)
    for _ in range(10):
        repeated()
    assert player.done == 10
    assert not repeated.recorded


def test_a_training_without_recording_learns_the_same(monkeypatch):
    data, recipe = small(), Recipe(batch=32, width=4, blocks=1)
    plain, failing = (Trainer(data, epochs=1, device="cpu", recipe=recipe) for _ in range(2))
    list(plain.steps())
    # As a recording that fails late does, this leaves gradients behind, and changes no weight.
    player = Player(fails=True)
    failing._step = Repeated(failing._train, CUDA, stream=player)
    update = failing.optimizer.step
    failing.optimizer.step = lambda: None if player.recording else update()
    with monkeypatch.context() as patch:
        patch.setattr(torch, "cuda", player)
        with pytest.warns(RuntimeWarning, match="no CUDA graph could be recorded"):
            list(failing.steps())
    for learnt, same in zip(failing.network.parameters(), plain.network.parameters(), strict=True):
        assert torch.equal(learnt, same)


def test_the_memory_of_a_training_is_freed_at_its_end():
    trainer = Trainer(small(), epochs=1, device="cpu", recipe=Recipe(batch=32, width=4, blocks=1))
    gc.collect()
    images = weakref.ref(trainer.images)
    gc.disable()
    try:
        trained = train_together([trainer])[0]
        del trainer
        assert images() is None
    finally:
        gc.enable()
    assert len(trained.losses) == 1
