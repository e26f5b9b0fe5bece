"""Measure the peak memory of one cleaning run, in a separate process.

    python benchmarks/memory.py [ROWS] [COLUMNS]

Prints JSON: the size of the input, the peak resident memory of the process, and that after the
imports.
"""

import json
import resource
import sys
from pathlib import Path

import numpy as np

from rectifold import GMR


def peak_megabytes() -> float:
    """Return the peak resident memory of this process so far.

    On Linux getrusage includes the memory of the parent when it started this process; the
    high-water mark of the kernel does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (peak,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(rows: int = 100_000, columns: int = 30) -> None:
    """Clean two overlapping clouds, and print what it took."""
    imports = peak_megabytes()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = (rng.random(rows) < 0.02).astype(int)
    X[y == 1] += 1.0
    gmr = GMR(n_jobs=-1)
    gmr.fit_resample(X, y)
    facts = gmr.rectification_.summary()
    print(
        json.dumps(
            {
                "rows": rows,
                "columns": columns,
                "input_mb": round(X.nbytes / 1e6, 1),
                "imports_mb": round(imports, 1),
                "peak_mb": round(peak_megabytes(), 1),
                "removed": facts["removed"],
                "seconds": {stage: round(s, 2) for stage, s in facts["seconds"].items()},
            }
        )
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3]))
