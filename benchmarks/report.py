"""The report of a million samples: time to make it, its size, and its speed in a browser.

    python benchmarks/report.py [ROWS] [COLUMNS] [--no-browser]

For two tables, one whose classes overlap a little and one whose labels are noise, so that other
thresholds could remove nearly any sample: seconds and peak memory of making the page from votes,
its size, and, in Debian's chromium, seconds until it is drawn and milliseconds until it has
followed a slider. Writes results/speed/report.json.
"""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from memory import peak_megabytes
from recording import Peak, write
from rectifold import GMR

#: Names of the tables in docs/guide/report.md.
NAMES = {"overlap": "classes that overlap a little", "noise": "labels that are noise"}
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
#: Waits until a frame has been drawn.
FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
#: Moves a slider; returns the times until counts, histograms and table, and the map have followed.
MOVE = """([id, value]) => new Promise((done) => {
  const slider = document.getElementById(id), drawn = document.documentElement.dataset;
  const before = { ...drawn }, start = performance.now();
  let counted = null;
  slider.value = value;
  slider.dispatchEvent(new Event("input"));
  const look = () => {
    // What was drawn is on the screen after the next frame.
    if (counted === null && drawn.drawn !== before.drawn) counted = performance.now() - start;
    if (drawn.mapped === before.mapped) requestAnimationFrame(look);
    else done([counted ?? performance.now() - start, performance.now() - start]);
  };
  look();
})"""


def tables(rows: int, columns: int):
    """Yield the two tables."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = (rng.random(rows) < 0.02).astype(int)
    X[y == 1] += 1.0
    yield "overlap", X, y
    yield "noise", rng.normal(size=(rows, 3)), (rng.random(rows) < 0.4).astype(int)


def in_a_browser(page: Path) -> dict[str, object]:
    """Open a page, move its sliders, and return how long that took."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1400, "height": 1000})
        start = time.perf_counter()
        tab.goto(page.as_uri())
        tab.locator("html[data-ready]").wait_for(state="attached")
        # Charts are on the screen after the next frame.
        tab.evaluate(FRAME)
        opened = time.perf_counter() - start
        moves = {
            name: [
                tab.evaluate(MOVE, [name, value]) for value in (0.2, 0.45, 0.55, 0.6, 0.65, 0.9, 1)
            ]
            for name in ("alpha", "beta", "gamma")
        }
        browser.close()
    return {
        "open_s": round(opened, 2),
        **{
            f"{what}_ms": {
                name: {"median": round(float(np.median(t))), "most": round(max(t))}
                for name, t in ((name, [both[place] for both in t]) for name, t in moves.items())
            }
            for place, what in enumerate(("lever", "map"))
        },
    }


def line(one: dict[str, object]) -> str:
    """Return a result as a row of the table in docs/guide/report.md."""

    def spread(times: dict[str, dict[str, int]]) -> str:
        middle = sorted(one["median"] for one in times.values())
        return f"{middle[0]} to {middle[-1]} ms ({max(t['most'] for t in times.values())})"

    return (
        f"| {NAMES[one['table']]}, {one['columns']} columns | {one['in_question']:,} | "
        f"{one['removed'] + one['spared']:,} | {one['make_s']:.1f} s | {one['make_peak_mb']} MB | "
        f"{one['page_mb']:.1f} MB | {one['open_s']:.1f} s | {spread(one['lever_ms'])} | "
        f"{spread(one['map_ms'])} |"
    )


def main(rows: int = 1_000_000, columns: int = 30, *, browser: bool = True) -> None:
    """Measure both tables."""
    found = []
    for name, X, y in tables(rows, columns):
        gmr = GMR(n_jobs=-1)
        gmr.fit_resample(X, y)
        record = gmr.rectification_
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            start = time.perf_counter()
            with Peak() as peak:
                record.report(page)
            one = {
                "table": name,
                "rows": rows,
                "columns": X.shape[1],
                "in_question": int((record.confidence < 1).sum()),
                "removed": int(record.removed.sum()),
                "spared": int(record.spared.sum()),
                "make_s": round(time.perf_counter() - start, 2),
                "make_peak_mb": peak.megabytes,
                "process_peak_mb": round(peak_megabytes()),
                "page_mb": round(page.stat().st_size / 1e6, 2),
            }
            if browser:
                one |= in_a_browser(page)
        found.append(one)
        print(one, flush=True)
    if browser:
        print("\n".join(map(line, found)))
    write("report", more=("jinja2", "playwright"), tables=found)


if __name__ == "__main__":
    main(
        *(int(argument) for argument in sys.argv[1:3] if argument.isdigit()),
        browser="--no-browser" not in sys.argv,
    )
