"""The experiment: every method with every seed, each result given as soon as it is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.deep.devices import called, find_device
from experiments.deep.longtail.data import LongTailed
from experiments.deep.longtail.methods import (
    METHODS,
    Embedded,
    check_strategy,
    method,
    retrained,
    scores,
)
from experiments.deep.longtail.schedule import Recipe, check_epochs
from experiments.deep.longtail.trained import Trained
from experiments.deep.longtail.training import Trainer, train_together
from rectifold._core.utils import versions
from rectifold.model_selection._registry import BenchError


def run(
    data: LongTailed,
    methods: Sequence[str] = tuple(METHODS),
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    *,
    epochs: int = 200,
    device: Any = None,
    strategy: Any = "majority",
    recipe: Recipe | None = None,
    together: int = 1,
) -> Iterator[dict[str, Any]]:
    """Train, clean and score; what is wrong with the arguments is said at once.

    A network is trained once for each loss and seed: "CE", "CE-Linear" and "GMR-Feature" share
    one. Training and cleaning see the training part only.

    Parameters
    ----------
    data : LongTailed
        The images.
    methods : sequence of str, optional
        As in `METHODS`; all by default.
    seeds : sequence of int, default=(0, 1, 2, 3, 4)
        For weights, order, shifts and flips.
    epochs : int, default=200
        Of each training.
    device : str, torch.device or None, default=None
        None takes a CUDA device if there is one, and else the CPU.
    strategy : str or list, default="majority"
        The strict classes of GMR, as its `sampling_strategy`.
    recipe : Recipe, optional
        How networks are trained otherwise.
    together : int, default=1
        Trainings at the same time; on a large GPU, several take little longer than one.

    Returns
    -------
    iterator of dict
        Plain values: "method", "seed", the scores ("balanced_accuracy", "many", "medium", "few",
        "per_class"), what GMR "removed" of each class, seconds, and what all that was measured on.
        Progress is reported in epochs of all trainings.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.deep.longtail import LongTailed, Recipe, run
    >>> rng = np.random.default_rng(0)
    >>> def some(labels):  # rare images are brighter
    ...     least = 100 * labels[:, None, None, None]
    ...     return rng.integers(least, least + 100, (len(labels), 32, 32, 3), dtype=np.uint8)
    >>> labels, labels_test = np.repeat([0, 1], [24, 12]), np.repeat([0, 1], 5)
    >>> names = ("common", "rare")
    >>> data = LongTailed(
    ...     some(labels), labels, some(labels_test), labels_test, names, "shades", ratio=2.0
    ... )
    >>> small = Recipe(batch=18, width=4, blocks=1)
    >>> results = run(
    ...     data, ["CE", "CE-Linear", "GMR-Feature"], [0], epochs=1, device="cpu", recipe=small
    ... )
    >>> for result in results:
    ...     print(result["method"], result["seed"], len(result["per_class"]), result["removed"])
    CE 0 2 None
    CE-Linear 0 2 None
    GMR-Feature 0 2 [0, 0]
    """
    named = list(dict.fromkeys(method(name) for name in methods))
    if not named:
        raise BenchError("no method was named, and without one there is nothing to do")
    if isinstance(seeds, int) or not seeds or min(seeds) < 0:
        raise BenchError(f"seeds={seeds!r}: a list of whole numbers from 0 is needed")
    if together < 1:
        raise BenchError(f"together={together!r}: at least 1 training is needed at a time")
    check_strategy(strategy, data)
    epochs, where = check_epochs(epochs), find_device(device)
    recipe = recipe or Recipe()
    # The loss outside: networks of several seeds and one loss are trained side by side.
    losses = list(dict.fromkeys(METHODS[name] for name in named))
    trainings = [(loss, seed) for loss in losses for seed in dict.fromkeys(seeds)]

    def results() -> Iterator[dict[str, Any]]:
        for at in range(0, len(trainings), together):
            group = trainings[at : at + together]
            trainers = [
                Trainer(data, loss, epochs=epochs, seed=seed, device=where, recipe=recipe)
                for loss, seed in group
            ]
            networks = train_together(trainers, before=at * epochs, total=len(trainings) * epochs)
            # Their images and gradients need not stay in the device's memory.
            del trainers
            for (loss, seed), trained in zip(group, networks, strict=True):
                asked = [name for name in named if METHODS[name] == loss]
                for result in _of_one(trained, asked, data, strategy):
                    yield {
                        "method": result.pop("method"),
                        "seed": int(seed),
                        **result,
                        **_setting(data, trained, epochs, recipe, len(group)),
                    }

    return results()


def _of_one(
    trained: Trained, asked: Sequence[str], data: LongTailed, strategy: Any
) -> Iterator[dict[str, Any]]:
    embedded: Embedded | None = None
    for name in asked:
        if name == METHODS[name]:
            found = scores(trained.predict(data.test_images), data)
            nothing = dict.fromkeys(("removed", "metric", "strategy"))
            seconds = {"seconds_cleaning": 0.0, "seconds_linear": 0.0}
            yield {"method": name, **found, **nothing, **seconds}
            continue
        if embedded is None:
            embedded = Embedded(
                trained.features(data.train_images), trained.features(data.test_images)
            )
        yield {"method": name, **retrained(name, embedded, data, strategy)}


def _setting(
    data: LongTailed, trained: Trained, epochs: int, recipe: Recipe, together: int
) -> dict[str, Any]:
    return {
        "seconds_training": trained.seconds,
        "trained_together": together,
        "recorded": trained.recorded,
        "first_loss": trained.losses[0],
        "last_loss": trained.losses[-1],
        "data": data.name,
        "ratio": data.ratio,
        "counts": data.counts.tolist(),
        "classes": list(data.names),
        "epochs": epochs,
        **{name: getattr(recipe, name) for name in recipe.__dataclass_fields__},
        "device": called(trained.device),
        "versions": versions("rectifold", "torch", "numpy", "scikit-learn"),
    }
