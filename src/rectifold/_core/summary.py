"""How a run was made, and counts of its decisions, as a dict and as text."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rectifold._core.accuracy import in_words
from rectifold._core.rules import (
    AMBIGUITY,
    DECISIONS,
    DEEP_NOISE,
    INTRUSION,
    REASONS,
    REMOVED,
    SPARED,
    Decisions,
    Thresholds,
)
from rectifold._core.utils import Ints


@dataclass(frozen=True, slots=True)
class Setting:
    """How a run was made, besides its thresholds."""

    metric: str
    n_neighbors: int
    engine: str
    epsilon: float
    class_weight: str | None
    #: Codes of the strict classes.
    strict: frozenset[int]
    #: Codes of the protected classes; other classes lose nothing.
    protected: frozenset[int]
    #: Whether strict classes do not fall below the largest class that is not strict.
    keep_floor: bool
    seconds: dict[str, float] = field(default_factory=dict)
    #: Arguments of the sampler that are not its defaults, as written in Python.
    arguments: dict[str, str] = field(default_factory=dict)

    def role(self, code: int) -> str:
        """Return the role of a class: "strict", "protected" or "untouched"."""
        if code in self.strict:
            return "strict"
        return "protected" if code in self.protected else "untouched"


def count_fates(codes: Ints, decisions: Decisions, n_classes: int) -> Ints:
    """Return the number of samples by class, decision and reason."""
    shape = (n_classes, len(DECISIONS), len(REASONS))
    cell = np.ravel_multi_index((codes, decisions.decision, decisions.reason), shape)
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)


def facts(
    classes: npt.NDArray[Any],
    sizes: Ints,
    fates: Ints,
    thresholds: Thresholds,
    setting: Setting,
    *,
    certified: int,
    accuracy: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the result of `Rectification.summary`.

    `fates` is made by `count_fates`; samples that were never candidates need not be counted.
    `certified` is the number of certificates.
    """
    removed, left = (fates[:, decision].sum(axis=1) for decision in (REMOVED, SPARED))
    reasons = {"intrusion": INTRUSION, "ambiguity": AMBIGUITY, "deep_noise": DEEP_NOISE}
    after = sizes - removed
    return {
        "n_samples": int(sizes.sum()),
        "kept": int(after.sum()),
        "removed": int(removed.sum()),
        "spared": int(left.sum()),
        "classes": [
            {
                "label": plain(label),
                "role": setting.role(code),
                "before": int(sizes[code]),
                "after": int(after[code]),
                "removed": int(removed[code]),
                **{name: int(fates[code, REMOVED, reason]) for name, reason in reasons.items()},
                "spared": int(left[code]),
            }
            for code, label in enumerate(classes)
        ],
        "imbalance_ratio_before": float(sizes.max() / sizes.min()),
        # Only a strict class can lose all samples.
        "imbalance_ratio_after": float(after.max() / after.min()) if after.min() else None,
        "metric": setting.metric,
        "n_neighbors": setting.n_neighbors,
        "engine": setting.engine,
        "certified": certified,
        "accuracy": accuracy,
        "seconds": dict(setting.seconds),
        "alpha": thresholds.alpha,
        "beta": thresholds.beta,
        "gamma": thresholds.gamma,
        "min_minority": thresholds.min_minority,
        "epsilon": setting.epsilon,
        "class_weight": setting.class_weight,
    }


def as_table(summary: dict[str, Any]) -> str:
    """Return counts per class and reason as a small table, from a summary."""
    head = ["class", "role", "before", "after", "intrusion", "ambiguity", "deep noise", "spared"]
    keys = ["label", *(name.replace(" ", "_") for name in head[1:])]
    lines = [head, *([str(one[key]) for key in keys] for one in summary["classes"])]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    table = [
        "  ".join(
            cell.ljust(width) if i == 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    ratio = summary["imbalance_ratio_after"]
    return "\n".join(
        [
            f"Rectification: {summary['removed']} of {summary['n_samples']} samples removed, "
            f"{summary['spared']} spared",
            *("  " + line.rstrip() for line in table),
            f"imbalance ratio {summary['imbalance_ratio_before']:.2f} -> "
            f"{'a class is empty' if ratio is None else format(ratio, '.2f')}, "
            f"{summary['metric']}, k = {summary['n_neighbors']}, engine {summary['engine']}",
            *([] if summary["accuracy"] is None else [in_words(summary["accuracy"])]),
        ]
    )


def plain(values: Any) -> Any:
    """Return NumPy scalars and arrays as values that JSON can hold."""
    native = values.tolist() if isinstance(values, np.ndarray | np.generic) else values
    if isinstance(native, list):
        return [plain(value) for value in native]
    return native if isinstance(native, str | int | float | bool) else str(native)
