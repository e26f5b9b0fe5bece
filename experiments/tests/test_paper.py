"""The paper's experiment: its grid, and its report beside the paper's figures."""

import re
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
for name in ("filelock", "jinja2", "rich", "scikit_posthocs"):
    pytest.importorskip(name)

from experiments.paper.__main__ import REPEATS, SCARCE, grids, main, report  # noqa: E402
from experiments.paper.agreement import FEW, sections  # noqa: E402
from experiments.paper.printed import paper_auprc, paper_ranks, published  # noqa: E402
from rectifold import bench  # noqa: E402
from rectifold.bench import Store  # noqa: E402
from rectifold.bench.report import build_document  # noqa: E402
from rectifold.datasets import PAPER_DATASETS  # noqa: E402
from stores import made_up, of_few_classifiers, table  # noqa: E402

RESULTS = Path(__file__).parents[2] / "results"


def as_printed(dataset, method):
    """Return the paper's AUPRC; for GMR, of which it prints none, one better than all others."""
    printed = paper_auprc()
    return printed.loc[dataset, method] if method in printed.columns else 0.995


def documented(frame):
    paper = published()
    beside = sections(frame, paper, "train-only")
    return build_document(frame, published=paper, sections=beside)


@pytest.fixture(scope="module")
def frame():
    return made_up(level=as_printed)


@pytest.fixture(scope="module")
def document(frame):
    return documented(frame)


def test_the_harness_has_the_papers_methods_and_classifiers_under_its_names():
    ranks, auprc = paper_ranks(), paper_auprc()
    assert set(bench.METHODS) == set(ranks.index) == {"GMR", *auprc.columns}
    assert [*bench.CLASSIFIERS, "Avg"] == list(ranks.columns)
    assert set(auprc.index) == set(PAPER_DATASETS)
    assert auprc.notna().all(axis=None)


def test_the_grid_is_the_papers_and_gmr_before_the_split():
    honest, leaked, *_ = grids(None)
    assert len(honest) == 27 * 20 * 7 * 5
    assert len(leaked) == 27 * 7 * 5
    assert (honest.protocols, leaked.protocols) == (["paper"], ["paper-before-split"])
    honest, leaked, *_ = grids(None, "train-only")
    assert (honest.protocols, leaked.protocols) == (["train-only"], ["before-split"])
    assert [entry.name for entry in leaked.methods] == ["GMR"]


def test_data_sets_with_few_minority_samples_in_a_test_split_are_split_20_times():
    results = Store(RESULTS / "paper").read()
    positives = results.groupby("dataset")["test_positives"].max()
    assert set(SCARCE) == set(positives.index[positives < FEW])
    seeds = {}
    for grid in grids(None)[::2]:
        for source in grid.sources:
            seeds.setdefault(source.name, []).extend(grid.seeds)
    for name, found in seeds.items():
        assert len(set(found)) == len(found) == (20 if name in SCARCE else 5)
    assert len(grids(None, data=["abalone"])) == 2


def test_further_seeds_of_some_data_sets_are_not_missing_in_the_others(frame):
    further = made_up(["ecoli"], seeds=REPEATS, level=as_printed).assign(test_positives=7)
    more = pd.concat([frame.assign(test_positives=40), further], ignore_index=True)
    arguments = {"published": published(), "repeats": REPEATS}
    document = build_document(more, **arguments)
    was_run = next(one for one in document.sections if one.title == "What was run").parts[0]
    assert "7 classifiers and 1 seed, and 15 more seeds on ecoli" in was_run
    missing = next(one for one in document.sections if one.title == "What is missing")
    assert missing.parts[0].startswith("Nothing")
    gone = (more["dataset"] == "ecoli") & (more["seed"] == 5) & (more["method"] == "GMR")
    document = build_document(more[~gone], **arguments)
    assert [row[0] for row in table(document, "missing").rows] == ["ecoli"]


def test_the_papers_average_is_the_mean_over_its_classifiers():
    printed = paper_ranks()
    gap = (printed.drop(columns="Avg").mean(axis=1) - printed["Avg"]).abs().max()
    assert gap < 0.01


def test_the_statement_shows_the_papers_ranks(document):
    gmr, none, _ = document.statement
    assert "the paper prints 4.22" in gmr
    assert "the paper prints 8.25" in none


def test_baselines_made_from_the_papers_figures_agree_with_them(document):
    section = next(one for one in document.sections if one.title == "Agreement with the paper")
    gap = float(re.search(r"differs from the paper's by (0\.\d+)", section.parts[1])[1])
    assert gap < 0.001
    for row in table(document, "baselines-beside-the-paper").rows:
        assert float(row[1]) < 0.001
    assert len(table(document, "none-beside-the-paper").rows) == 6


def test_without_the_papers_classifiers_there_is_nothing_to_agree_on(frame):
    assert sections(of_few_classifiers(frame), published(), "train-only") == []
    assert sections(frame.assign(status="timed out"), published(), "train-only") == []


def test_a_data_set_that_is_not_quite_the_published_one_says_so(frame):
    odd = frame.replace({"dataset": {"ecoli": "scene"}}).assign(data_fingerprint="other")
    assert "*" not in table(documented(odd), "none-beside-the-paper").caption
    here = odd["dataset"] == "scene"
    odd = odd.assign(data_fingerprint=np.where(here, "18e82e9a4ddacd13", "other"))
    document = documented(odd)
    assert "* scene is a reconstruction" in table(document, "none-beside-the-paper").caption
    assert [row[0] for row in table(document, "none-beside-the-paper").rows if "*" in row[0]] == [
        "scene*"
    ]
    assert "scene is a reconstruction" in table(document, "dataset-scene").caption


def test_ranks_stand_beside_the_papers(document):
    ranks = {row[0]: row for row in table(document, "ranks").rows}
    assert len(ranks) == 20
    assert ranks["GMR"][-2:] == ["4.22", "−3.22"]
    printed = paper_ranks()
    beside = {row[0]: row for row in table(document, "ranks-beside-the-paper").rows}
    assert beside["NearMiss"][1].startswith(f"{printed.loc['NearMiss', 'DT']:.2f} / ")


def test_ranks_among_other_methods_do_not_stand_beside_the_papers(frame):
    document = documented(frame[frame["method"].isin(["GMR", "None", "ENN"])])
    assert "the paper prints" not in document.statement[0]
    assert "Paper" not in table(document, "ranks").columns


@pytest.mark.parametrize("protocol", ["paper", "train-only"])
def test_the_published_report_is_made_from_the_results_beside_it(protocol):
    document = report(Store(RESULTS / "paper"), protocol)
    text = (RESULTS / "paper" / "report" / protocol / "README.md").read_text()
    assert all(sentence in text for sentence in document.statement[:2])
    for row in table(document, "ranks").rows:
        # All but the interval, which may differ in its last digit with the version of SciPy.
        assert " | ".join(row[1:9]) in text


def test_a_store_without_results_is_refused_in_one_sentence(tmp_path, capsys):
    assert main(["report", "--store", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.startswith("python -m experiments.paper: the store has no resul")
