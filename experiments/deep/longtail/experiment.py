"""The experiment on long-tailed images: every method with every seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.deep.devices import device_name, find_device
from experiments.deep.longtail.data import LongTailed
from experiments.deep.longtail.methods import (
    METHODS,
    Embedded,
    check_strategy,
    find_method,
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
    """Check the arguments, and return an iterator over the results of all methods and seeds.

    A network is trained once for each loss and seed: "CE", "CE-Linear" and "GMR-Feature" share one.
    Training and cleaning use the training part only.

    Parameters
    ----------
    data : LongTailed
        The images.
    methods : sequence of str, optional
        Names in `METHODS`; default: all.
    seeds : sequence of int, default=(0, 1, 2, 3, 4)
        Seeds of weights, order, shifts and flips.
    epochs : int, default=200
        Epochs of each training.
    device : str, torch.device or None, default=None
        None means CUDA if there is a CUDA device, else the CPU.
    strategy : str or list, default="majority"
        `sampling_strategy` of GMR.
    recipe : Recipe, optional
        How networks are trained otherwise.
    together : int, default=1
        Trainings at the same time; on a large GPU several take little longer than one.

    Returns
    -------
    iterator of dict
        "method", "seed", the scores ("balanced_accuracy", "many", "medium", "few", "per_class"),
        the number of samples of each class that GMR "removed", seconds, and the settings. Progress
        is reported in epochs of all trainings.
    """
    chosen = list(dict.fromkeys(find_method(name) for name in methods))
    if not chosen:
        raise BenchError("methods is empty: name at least one")
    if isinstance(seeds, int) or not seeds or min(seeds) < 0:
        raise BenchError(f"seeds must be a list of integers from 0, not {seeds!r}")
    if together < 1:
        raise BenchError(f"together must be at least 1, not {together!r}")
    check_strategy(strategy, data)
    epochs, where = check_epochs(epochs), find_device(device)
    recipe = recipe or Recipe()
    # Sorted by loss, so that networks of one loss are trained together.
    losses = list(dict.fromkeys(METHODS[name] for name in chosen))
    trainings = [(loss, seed) for loss in losses for seed in dict.fromkeys(seeds)]

    def results() -> Iterator[dict[str, Any]]:
        for at in range(0, len(trainings), together):
            group = trainings[at : at + together]
            trainers = [
                Trainer(data, loss, epochs=epochs, seed=seed, device=where, recipe=recipe)
                for loss, seed in group
            ]
            networks = train_together(trainers, before=at * epochs, total=len(trainings) * epochs)
            # Their images and gradients need not stay in memory.
            del trainers
            for (loss, seed), trained in zip(group, networks, strict=True):
                mine = [name for name in chosen if METHODS[name] == loss]
                for result in _of_one(trained, mine, data, strategy):
                    yield {
                        "method": result.pop("method"),
                        "seed": int(seed),
                        **result,
                        **_setting(data, trained, epochs, recipe, len(group)),
                    }

    return results()


def _of_one(
    trained: Trained, methods: Sequence[str], data: LongTailed, strategy: Any
) -> Iterator[dict[str, Any]]:
    embedded: Embedded | None = None
    for name in methods:
        if name == METHODS[name]:
            found = scores(trained.predict(data.test_images), data)
            no_cleaning = dict.fromkeys(("removed", "metric", "strategy"))
            seconds = {"seconds_cleaning": 0.0, "seconds_linear": 0.0}
            yield {"method": name, **found, **no_cleaning, **seconds}
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
        "device": device_name(trained.device),
        "versions": versions("rectifold", "torch", "numpy", "scikit-learn"),
    }
