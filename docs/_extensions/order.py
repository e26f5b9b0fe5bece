"""The order of examples: from the first steps to large data."""

from pathlib import Path

_ORDER = [
    *("what_it_does", "first_steps", "pipeline", "report", "mixed_table", "more_classes"),
    *("compare_samplers", "choose_settings", "cost_thresholds", "posterior", "large_data"),
]


class InTeachingOrder:
    """Sorts examples; those that are not named come last.

    Parameters
    ----------
    folder : str
        Where they are.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        # Sphinx compares it with that of the build before.
        return "InTeachingOrder"

    def __call__(self, name: str) -> tuple[int, str]:
        """Give the place of an example."""
        stem = Path(name).stem.removeprefix("plot_")
        return (_ORDER.index(stem) if stem in _ORDER else len(_ORDER), stem)
