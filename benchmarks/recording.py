"""Write the results of benchmarks to files and pages, and measure memory."""

import json
import os
import threading
from pathlib import Path

from rectifold._core.utils import versions

RESULTS = Path(__file__).parents[1] / "results" / "speed"
#: The libraries behind a figure.
LIBRARIES = ("rectifold", "scikit-learn", "imbalanced-learn", "numpy", "scipy")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def read(name: str, folder: Path = RESULTS) -> dict[str, object]:
    """Return a recorded result; empty if there is none."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write(name: str, folder: Path = RESULTS, more: tuple[str, ...] = (), **content: object) -> None:
    """Write a result atomically; `more` are further libraries whose versions are recorded."""
    folder.mkdir(parents=True, exist_ok=True)
    result = {"cores": os.cpu_count(), "versions": versions(*LIBRARIES, *more), **content}
    draft = folder / f".{name}.json"
    draft.write_text(json.dumps(result, indent=2) + "\n")
    draft.replace(folder / f"{name}.json")


def fill(page: Path, mark: str, *parts: str) -> None:
    """Replace the parts of a page between marks, if the page exists."""
    if not page.exists():
        return
    pieces = page.read_text().split(mark)
    if len(pieces) != 2 * len(parts) + 1:
        raise SystemExit(f"{page.name} has {len(pieces) // 2} marked parts, not {len(parts)}")
    pieces[1::2] = [f"\n\n{part}\n\n" for part in parts]
    page.write_text(mark.join(pieces))


class Peak:
    """The peak memory of this process above that at the beginning (Linux)."""

    def __enter__(self) -> "Peak":
        self._before = self._most = _resident()
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._poll, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join()

    def _poll(self) -> None:
        while not self._over.wait(0.005):
            self._most = max(self._most, _resident())

    @property
    def megabytes(self) -> int:
        """Return the difference in megabytes."""
        return round((self._most - self._before) / 1e6)


def _resident() -> int:
    with open("/proc/self/statm") as statistics:
        return int(statistics.read().split()[1]) * _PAGE
