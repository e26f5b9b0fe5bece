"""Figures in README and on the site's pages are those of the results that they cite."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("filelock", reason="results are stores, which need the extra 'bench'")

from rectifold.bench import Store
from rectifold.bench.deep.records import DEEP, LONGTAIL, TABDDPM
from rectifold.bench.report import deep, find
from rectifold.bench.report.markdown import to_markdown

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"


def text(path):
    """Read a page as one line, so that no figure is broken by the end of one."""
    return re.sub(r"\s+", " ", (ROOT / path).read_text())


def loaded(path):
    return json.loads((RESULTS / path).read_text())


def rows_of(path):
    return {row["data"]: row for row in loaded(path)["rows"]}


def test_how_much_faster_than_the_papers_way():
    found = rows_of("speed/exact_engine.json")
    ratio = {name: f"{row['ratio_to_paper']:.0f}" for name, row in found.items()}
    mean = loaded("speed/exact_engine.json")["summary"]["geometric_mean_of_those_with_5000_rows"]
    card = found["creditcard"]["rows"]
    readme, front = text("README.md"), text("docs/index.md")
    assert f"{card:,} rows, {ratio['creditcard']} times faster" in readme
    assert f"forest cover, 581,012 rows, {ratio['covtype_4']} times" in readme
    assert f"network flows, 1,100,000 rows, {ratio['cidds001_attacker']} times" in readme
    assert f"{mean:.1f} times (geometric mean)" in readme
    assert f"[{ratio['creditcard']} times]" in front
    assert f"{mean:.1f} times on the paper's nine sets" in front
    large = [
        row
        for name, row in found.items()
        if row["rows"] >= 5000 and name not in ("creditcard", "covtype_4", "cidds001_attacker")
    ]
    assert len(large) == 9


def test_seconds_on_a_gpu():
    found = rows_of("gpu/engine.json")
    seconds = {name: row["seconds_array_to_rows"] for name, row in found.items()}
    readme, front = text("README.md"), text("docs/index.md")
    assert f"card fraud {seconds['creditcard']:.3f} s" in readme
    assert f"forest cover {seconds['covtype_4']:.3f} s" in readme
    assert f"network flows {seconds['cidds001_attacker']:.2f} s" in readme
    assert f"32 columns {seconds['synthetic']:.0f} s" in readme
    assert f"[{seconds['covtype_4']:.2f} s]" in front
    shape = found["covtype_4"]
    assert f"{shape['rows']:,} rows of {shape['columns']} columns" in front


def test_approximate_neighbours():
    exact, quick = (
        loaded(f"approximate/runs/gaussians_1m-{engine}.json")
        for engine in ("exact", "approximate")
    )
    assert round(exact["seconds"] / 3600) == 1
    assert round(quick["seconds"] / 60) == 1
    assert "a million rows of 128 columns in one minute instead of one hour" in text("README.md")


@pytest.fixture(scope="module")
def paper():
    document = find(Store(RESULTS / "paper").read())
    tables = {
        part.name: part
        for section in document.sections
        for part in section.parts
        if hasattr(part, "rows")
    }
    return (
        document,
        {row[0]: row[8] for row in tables["ranks"].rows},
        tables["leak-GMR"].rows[1][-1],
    )


def test_average_ranks_without_leaks_and_with_one(paper):
    document, ranks, leaked = paper
    pvalue = re.search(r"Wilcoxon (p = [\d.]+)", document.statement[2]).group(1)
    page = text("docs/reproduction.md")
    assert f"| 4.22 | {ranks['GMR']} (place 6) |" in page
    assert f"| 8.25 | {ranks['None']} (first) |" in page
    assert f"would give GMR the rank {leaked}" in page
    for path in ("README.md", "docs/reproduction.md"):
        assert pvalue in text(path)
    assert f"[Rank {ranks['GMR']}]" in text("docs/index.md")
    assert f"all has {ranks['None']}." in text("docs/index.md")


def test_settings_chosen_from_the_data():
    published = (RESULTS / "adaptive" / "README.md").read_text()
    rank = dict(re.findall(r"^\| ([\w-]+) \| \**([\d.]+)\**", published, re.M))
    front, page = text("docs/index.md"), text("docs/reproduction.md")
    assert f"[Rank {rank['GMR-adaptive']}]" in front
    assert f"no sampling has {rank['None']}." in front
    assert (
        f"Ten averaged fits: {rank['GMR-ensemble']}, where plain bagging has {rank['Bagging']}"
        in (front)
    )
    assert f"{rank['GMR-adaptive']}, where no sampling has {rank['None']}" in page


@pytest.fixture(scope="module")
def networks():
    return Store(RESULTS / "deep", DEEP).read()


def test_the_report_on_deep_networks_is_made_from_the_results_beside_it(networks):
    published = (RESULTS / "deep" / "report" / "README.md").read_text()
    assert to_markdown(deep.document(networks)) == published


def test_the_guide_says_of_deep_networks_what_the_report_says():
    published = (RESULTS / "deep" / "report" / "README.md").read_text().splitlines()
    page = text("docs/guide/deep.md")
    starts = ("The average precision of a classifier that has seen", "On cifar10", "GMR-Feature c")
    said = {line for line in published if line.startswith(starts)}
    assert len(said) == 3
    assert all(line in page for line in said)


def test_seconds_of_deep_networks(networks):
    page = text("docs/guide/deep.md")
    images = networks[networks["experiment"] == LONGTAIL]["train_seconds"]
    assert f"take {images.mean():.0f} seconds" in page
    tables = networks[networks["experiment"] == TABDDPM]["train_seconds"]
    assert f"a TabDDPM of 10,000 iterations {tables.min():.0f} to {tables.max():.0f}." in page
