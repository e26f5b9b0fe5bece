"""Take screenshots of reports: wide and narrow, light and dark; one of them for the README.

    python examples/report_pictures.py [FOLDER] [DATA]

Needs playwright and chromium, which `make test-browser` installs. FOLDER gets a screenshot of each
report in each size; DATA is the folder of the paper's data sets, for mammography. Without
arguments, only docs/images/report.png is written: the report of the embedded wine data.
"""

import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from rectifold import GMR
from rectifold.datasets import load_wine_quality

README = Path(__file__).parents[1] / "docs" / "images" / "report.png"
#: The map and, below it, one sample beside its neighbours; nothing else.
LAYOUT = """
header, nav, footer, main > :not(#explore), #explore > :not(.explore), .thresholds, .map-tools,
#map-note, .details-head button, #neighbours, #details-body > :is(p:has(button), h3:first-of-type) {
  display: none;
}
body { padding: 8px; } .chart { height: 20rem; } .with-details { padding-right: 8px; }
aside {
  position: static; width: auto; max-height: none; margin-top: 8px; box-shadow: none;
  border: 1px solid var(--line); border-radius: 10px;
}
"""
SIZES = {"wide": (1400, 1000), "narrow": (390, 844)}


def records(data=None):
    """Yield the embedded wine data and, with `data`, five classes and mammography."""
    wines = load_wine_quality(as_frame=True)
    yield "wines", wines.data, wines.target, {"space": "auto"}
    if data is None:
        return
    X, y = make_classification(
        3000,
        n_features=8,
        n_informative=6,
        n_classes=5,
        n_clusters_per_class=1,
        weights=[0.5, 0.25, 0.15, 0.07, 0.03],
        flip_y=0.05,
        random_state=1,
    )
    names = np.array(["alpaca", "bear", "cat", "dormouse", "eland"])
    yield "five", X, names[y], {"sampling_strategy": "not minority"}
    from imblearn.datasets import fetch_datasets

    found = fetch_datasets(data_home=data, filter_data=("mammography",), download_if_missing=False)[
        "mammography"
    ]
    yield "mammography", found.data, found.target, {"space": StandardScaler(), "alpha": 0.6}


def main(folder=None, data=None):
    """Open each report, and take screenshots."""
    with tempfile.TemporaryDirectory() as drafts, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM") or shutil.which("chromium"),
            args=["--no-sandbox"],
        )
        for name, X, y, settings in records(data):
            gmr = GMR(**settings)
            gmr.fit_resample(X, y)
            page = Path(drafts) / f"{name}.html"
            gmr.rectification_.report(page, title=f"What GMR did to {name}")
            if name == "wines":
                with shown(browser, page, (600, 1000), "light", scale=1.25) as tab:
                    take_for_readme(tab)
            for size, scheme in ((s, c) for s in SIZES for c in ("light", "dark") if folder):
                with shown(browser, page, SIZES[size], scheme) as tab:
                    tab.screenshot(path=f"{folder}/{name}-{size}-{scheme}.png", full_page=True)
        browser.close()


def take_for_readme(tab):
    """Take the picture of the README: narrow, so that its text is legible on a phone."""
    tab.fill("#search", "intrusion")
    tab.click("#table tbody tr")
    tab.add_style_tag(content=LAYOUT)
    tab.wait_for_timeout(700)
    picture = Image.open(io.BytesIO(tab.screenshot(full_page=True)))
    picture.quantize(128, dither=Image.Dither.NONE).save(README, optimize=True)


class shown:  # noqa: N801 - used like a function
    """Context manager that opens a page and waits until it is drawn."""

    def __init__(self, browser, page, size, scheme, scale=1):
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            device_scale_factor=scale,
        )
        self.tab = self.context.new_page()
        self.tab.goto(page.as_uri())
        self.tab.locator("html[data-ready]").wait_for(state="attached")
        self.tab.wait_for_timeout(300)

    def __enter__(self):
        return self.tab

    def __exit__(self, *problem):
        self.context.close()


if __name__ == "__main__":
    main(*sys.argv[1:3])
