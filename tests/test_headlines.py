"""Figures in README and on the site's pages are those of the results that they cite."""

import json
import os
import re
import subprocess
import sys

import pytest

from published import RESULTS, ROOT, loaded, rows_of, text

pytest.importorskip("filelock", reason="results are stores, which need the extra 'bench'")

from experiments.deep import report
from experiments.deep.records import BOTH, DEEP, LONGTAIL, REAL, SYNTHETIC, TABDDPM
from rectifold.bench import Store
from rectifold.bench._statistics import TIE
from rectifold.bench.report import find
from rectifold.report._document_formats import to_markdown


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
    seconds = {name: row["seconds_whole_call"] for name, row in found.items()}
    readme, front = text("README.md"), text("docs/index.md")
    assert (
        f"{seconds['creditcard']:.2f} s on card fraud, {seconds['covtype_4']:.2f} s on forest "
        f"cover, {seconds['cidds001_attacker']:.2f} s on network flows, "
        f"{seconds['synthetic']:.0f} s on ten million made-up rows of 32 columns" in readme
    )
    shape = found["covtype_4"]
    assert f"[{seconds['covtype_4']:.2f} s]" in front
    assert f"{shape['rows']:,} rows of {shape['columns']} columns" in front
    assert f"{shape['seconds_array_to_rows']:.2f} s of it" in front


def test_approximate_neighbours():
    exact, quick = (
        loaded(f"approximate/runs/gaussians_1m-{engine}.json")
        for engine in ("exact", "approximate")
    )
    assert round(exact["seconds"] / 3600) == 1
    assert round(quick["seconds"] / 60) == 1
    assert exact["part"]
    assert quick["rows"] == 1_000_000
    found = quick["accuracy"]
    changed = round(found["decisions_changed"]["value"] * found["sampled"])
    assert (
        "a million rows of 128 columns in one minute instead of one hour (extrapolated), "
        f"{changed} of {found['sampled']:,} sampled decisions another" in text("README.md")
    )


def test_a_cluster():
    run = loaded("dask/out_of_core.json")
    assert (
        f"{run['rows'] // 1_000_000} million rows, {run['gigabytes']:.1f} GB of Parquet, in "
        f"{run['seconds_in_all'] / 60:.0f} minutes by two workers of "
        f"{run['memory_limit'].removesuffix('GB')} GB" in text("README.md")
    )


@pytest.fixture(scope="module")
def paper():
    document = find(Store(RESULTS / "paper").read())
    tables = {
        part.name: part
        for section in document.sections
        for part in section.parts
        if hasattr(part, "rows")
    }
    return document, tables


def test_average_ranks_without_leaks_and_with_one(paper):
    document, tables = paper
    rows = {row[0]: row for row in tables["ranks"].rows}
    # Ours and the paper's.
    ours, theirs = ({name: row[at] for name, row in rows.items()} for at in (8, 10))
    leaked, printed = (
        dict(zip(tables["leak-GMR"].columns[1:], row[1:], strict=True))
        for row in tables["leak-GMR"].rows[1:3]
    )
    # An interval may differ in its last digit with the version of SciPy: as it is published.
    published = (RESULTS / "paper" / "report" / "README.md").read_text()
    against = re.search(r"\((Wilcoxon .*?); \d+ wins", published).group(1)
    told = to_markdown(document)
    ranks = re.search(r"differ from the paper's by ([\d.]+) on average; .* is ([\d.]+) \(S", told)
    scores = re.search(r"AUPRC differs from the paper's by ([\d.]+) on average", told)
    readme, page, front = (
        text(f"{one}.md") for one in ("README", "docs/reproduction", "docs/index")
    )
    assert (
        f"GMR at its defaults has the average rank {ours['GMR']} of 20 (place 6); the paper prints "
        f"{theirs['GMR']}. No sampling at all has {ours['None']} and is first; the paper prints "
        f"{theirs['None']}. Between the two, with data sets as blocks, there is no significant "
        f"difference ({against})." in readme
    )
    assert f"it would have the rank {leaked['Avg']}." in readme
    assert f"by {ranks[1]} on average, with a rank correlation of {ranks[2]}." in readme
    assert f"| {theirs['GMR']} | {ours['GMR']} (place 6) |" in page
    assert f"| {theirs['None']} | {ours['None']} (first) |" in page
    assert f"it alone cleaned before the split | | {leaked['Avg']} |" in page
    assert f"mean absolute difference from the paper's | | {scores[1]} |" in page
    assert f"differs from the paper's by {scores[1]} on average (absolute)" in page
    assert f"by {ranks[1]} on average, with a rank correlation of {ranks[2]}." in page
    assert f"the rank {leaked['Avg']}, near the paper's {printed['Avg']}." in page
    assert (
        f"(nearest neighbours {leaked['KNN']}, the paper {printed['KNN']}; logistic regression "
        f"{leaked['LR']} and {printed['LR']}) and not for others (decision trees {leaked['DT']}, "
        f"where the paper has {printed['DT']})" in page
    )
    assert against.partition(";")[0].removeprefix("Wilcoxon ") in page
    assert f"[Rank {ours['GMR']}]{{.headline}} of 20" in front
    assert f"all has {ours['None']}." in front


def test_settings_chosen_from_the_data():
    def lines(path):
        published = (RESULTS / path / "README.md").read_text()
        found = re.findall(r"^\| ([\w-]+) \| \**([\d.]+)\**.*?\| ([+−][\d.]*|) \|", published, re.M)
        return published, {name: rank for name, rank, _ in found}, {n: gain for n, _, gain in found}

    published, rank, gain = lines("adaptive")
    beside, _, elsewhere = lines("adaptive/unseen")
    readme, front, page = (
        text(f"{one}.md") for one in ("README", "docs/index", "docs/reproduction")
    )
    assert (
        f"has the average rank {rank['GMR-adaptive']} with one fit (no sampling {rank['None']}; "
        f"mean AUPRC {gain['GMR-adaptive']} over it) and {rank['GMR-ensemble']} with ten "
        f"averaged fits ({gain['GMR-ensemble']})." in readme
    )
    assert (
        f"plain bagging has {rank['Bagging']} ({gain['Bagging']}), the same ensemble without "
        f"cleaning {rank['Subsampling']} ({gain['Subsampling']})" in readme
    )
    assert f"[Rank {rank['GMR-adaptive']}]" in front
    assert f"no sampling has {rank['None']}." in front
    assert f"fits: {rank['GMR-ensemble']}, where plain bagging has {rank['Bagging']}." in front
    assert f"{rank['GMR-adaptive']}, where no sampling has {rank['None']}" in page
    for told in (readme, front):
        assert f"one fit gains {elsewhere['GMR-adaptive']}," in told
    guide = (ROOT / "docs" / "guide" / "choosing.md").read_text().splitlines()
    # The page shows some of the sentences and all lines of both tables.
    sentences = [line for line in guide if re.match(r"- [\w-]+ against", line)]
    assert len(sentences) == 6
    assert all(line in (published + beside).splitlines() for line in sentences)
    assert all(
        line in guide for line in beside.splitlines() if re.match(r"\| (None|GMR-|S|B)", line)
    )


def test_probabilities_put_back():
    script = ROOT / "examples" / "plot_posterior.py"
    command = [sys.executable, "-W", "ignore", str(script)]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)
    table = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert len(table) == 12
    assert "\n".join(table) in (ROOT / "docs" / "guide" / "probabilities.md").read_text()


@pytest.fixture(scope="module")
def networks():
    return Store(RESULTS / "deep", DEEP).read()


def test_the_report_on_deep_networks_is_made_from_the_results_beside_it(networks):
    published = (RESULTS / "deep" / "report" / "README.md").read_text()
    assert to_markdown(report.document(networks)) == published


def test_the_guide_says_of_deep_networks_what_the_report_says():
    published = (RESULTS / "deep" / "report" / "README.md").read_text().splitlines()
    page = text("docs/guide/deep.md")
    starts = ("The average precision of a classifier that has seen", "On cifar10", "GMR-Feature c")
    said = {line for line in published if line.startswith(starts)}
    assert len(said) == 3
    assert all(line in page for line in said)


def gains(networks, trained_on):
    """What cleaning before a diffusion model adds, by set and seed."""
    rows = networks[networks["trained_on"] == trained_on]
    means = rows.groupby(["dataset", "seed", "method"])["auprc"].mean().unstack()
    return (means["GMR"] - means["None"]).unstack()


def test_what_cleaning_does_to_a_diffusion_model(networks):
    page = text("docs/guide/deep.md")
    alone, both = (gains(networks, what) for what in (SYNTHETIC, BOTH))
    assert alone.shape == both.shape == (6, 5)
    clear = alone[(alone > TIE).all(axis=1) | (alone < -TIE).all(axis=1)]
    assert list(clear.index) == ["covtype"]
    assert f"all five seeds: covtype loses {-clear.mean(axis=1).item():.3f}." in page
    rows = networks[networks["trained_on"] == SYNTHETIC]
    spread = rows.groupby(["dataset", "method", "seed"])["auprc"].mean().unstack().std(axis=1)
    others = alone.drop("covtype").mean(axis=1).abs()
    assert (others < spread.unstack().min(axis=1)[others.index]).where(others > TIE, True).all()
    lost = both[(both < -TIE).all(axis=1)].index
    assert f"all five seeds of {', '.join(lost[:-1])} and {lost[-1]}." in page
    assert not (both > TIE).all(axis=1).any()


def test_real_rows_are_as_good_as_made_up_ones_but_on_card_fraud(networks):
    rows = networks[(networks["experiment"] == TABDDPM) & (networks["method"] == "None")]
    seeds = rows.groupby(["dataset", "trained_on", "seed"])["auprc"].mean().unstack()
    means, spread = (table.unstack() for table in (seeds.mean(axis=1), seeds.std(axis=1)))
    ahead = means[[SYNTHETIC, BOTH]].max(axis=1) - means[REAL]
    assert list(ahead[ahead > 0].index) == ["creditcard"]
    assert ahead["creditcard"] < spread.loc["creditcard", REAL]


def test_a_network_too_narrow_for_a_table(networks):
    wide = networks[networks["dataset"] == "ecg_arrhythmia"]
    narrow = Store(RESULTS / "deep" / "embedding-128", DEEP).read()
    told = []
    for rows, width in ((narrow, 128), (wide, 256)):
        rows = rows[rows["trained_on"] == SYNTHETIC]
        for settings in map(json.loads, rows["settings"]):
            assert settings.get("embedding_", settings["embedding"]) == width
        means = rows.groupby("method")["auprc"].mean()
        told.append((means["None"], means["GMR"]))
    page = text("docs/guide/deep.md")
    reached = "reached {:.3f}, and {:.3f} after cleaning, which is more on four seeds of five."
    assert reached.format(*told[0]) in page
    assert "256 it reaches {:.3f}, and {:.3f} after cleaning.".format(*told[1]) in page
    assert (gains(narrow, SYNTHETIC) > TIE).sum(axis=1).item() == 4


def test_seconds_of_deep_networks(networks):
    page = text("docs/guide/deep.md")
    images = networks[networks["experiment"] == LONGTAIL]["train_seconds"]
    assert f"take {images.mean():.0f} seconds" in page
    tables = networks[networks["experiment"] == TABDDPM]["train_seconds"]
    assert f"a TabDDPM of 10,000 iterations {tables.min():.0f} to {tables.max():.0f}." in page
