"""The factorial experiment on the paper's protocol: its grids, its eight cells and its effects."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
for name in ("filelock", "jinja2", "rich", "scikit_posthocs"):
    pytest.importorskip(name)

from experiments.adaptive.grid import SETS  # noqa: E402
from experiments.paper.factorial import grids, main, rows_of_both  # noqa: E402
from experiments.paper.factorial_report import (  # noqa: E402
    BEST,
    CELLS,
    PROTOCOL_OF,
    WEIGHTED,
    build,
    effect,
    eight_cells,
    scores,
)
from experiments.paper.printed import paper_ranks  # noqa: E402
from rectifold.bench import CLASSIFIERS, METHODS, BenchError  # noqa: E402
from rectifold.bench._data import Data  # noqa: E402
from rectifold.bench._protocols import PROTOCOLS, prepare  # noqa: E402
from rectifold.report._document_formats import to_markdown  # noqa: E402
from stores import made_up, table  # noqa: E402

RESULTS = Path(__file__).parents[2] / "results"
#: Protocols that are measured for all methods, by which the others are completed.
ALL = ("train-only", "paper")


def under(protocol, lift):
    """Rows under a protocol, in which every method is better by `lift`."""
    return made_up(SETS[:6], protocol=protocol, lift=lift, level=lambda *_: 0.4)


@pytest.fixture(scope="module")
def frame():
    """Rows in which GMR gains 0.2 before the split, and nothing else matters but noise."""
    everything = {name: under(name, 0) for name in PROTOCOL_OF.values()}
    for (_, _, leaks), name in PROTOCOL_OF.items():
        if leaks:
            gain = everything[name]["method"].eq("GMR") * 0.2
            everything[name]["auprc"] += gain
    return pd.concat(everything.values(), ignore_index=True)


def test_the_five_best_are_the_papers():
    ranks = paper_ranks()["Avg"].drop(["GMR", "None"])
    assert set(BEST) == set(ranks.sort_values().index[:5])


def test_every_fit_that_a_factor_can_change_is_in_a_grid_or_in_the_papers_store():
    fits = {
        (source.name, method.name, classifier.name, seed, protocol)
        for grid in grids()
        for source, method, classifier, seed, protocol in product(
            grid.sources, grid.methods, grid.classifiers, grid.seeds, grid.protocols
        )
    }
    for method in METHODS:
        leaking = method in ("GMR", *BEST)
        for protocol in PROTOCOL_OF.values():
            # Those of all methods, and GMR before the split, are the paper's experiment.
            there = protocol in ALL or (
                method == "GMR" and protocol in ("before-split", "paper-before-split")
            )
            needed = method != "None" and not there and (leaking or not PROTOCOLS[protocol].leaks)
            for classifier in CLASSIFIERS:
                halves = PROTOCOLS[protocol].raw != PROTOCOLS[protocol].class_weight
                expected = needed and not (halves and classifier not in WEIGHTED)
                assert ((SETS[0], method, classifier, 42, protocol) in fits) == expected


def test_scores_that_a_factor_cannot_change_are_those_of_equal_fits(frame):
    cells = eight_cells(frame)
    plain = cells.xs("KNN", level="classifier")
    for raw, leaks in product((False, True), repeat=2):
        pd.testing.assert_series_equal(
            plain[False, raw, leaks], plain[True, raw, leaks], check_names=False
        )
    none = cells.xs("None", level="method")
    weighted = none.index.get_level_values("classifier").isin(WEIGHTED)
    for weights in (False, True):
        for raw, leaks in product((False, True), repeat=2):
            same = (none[weights, raw, leaks] == none[weights, False, False])[weighted]
            assert same.all()
    gmr = cells.xs(("GMR", "LR"), level=("method", "classifier"))
    for cell in CELLS:
        rows = frame[(frame["protocol"] == PROTOCOL_OF[cell]) & (frame["method"] == "GMR")]
        expected = rows[rows["classifier"] == "LR"].set_index(["dataset", "seed"])["auprc"]
        pd.testing.assert_series_equal(
            gmr[cell].sort_index(), expected.sort_index(), check_names=False
        )


@pytest.mark.parametrize("seed", [42, 0])
def test_fits_that_are_taken_as_equal_are_equal(seed, paper_data):
    X, y = paper_data("ecoli")
    data = Data(X, (y == 1).astype(int), "")
    splits = {name: prepare(data, None, seed, name) for name in PROTOCOL_OF.values()}
    for split in splits.values():
        np.testing.assert_allclose(split.X_train, splits["paper"].X_train, rtol=0, atol=1e-9)
        np.testing.assert_allclose(split.X_test, splits["paper"].X_test, rtol=0, atol=1e-9)


def test_an_effect_is_the_mean_difference_between_levels():
    values = pd.DataFrame({cell: [1.0 * cell[0] + 10 * cell[2]] for cell in CELLS})
    assert [effect(values, [i]).item() for i in range(3)] == [1, 0, 10]
    values += [100 * (cell[0] and cell[2]) for cell in CELLS]
    assert effect(values, [0, 2]).item() == 100
    assert effect(values, [0, 1, 2]).item() == 0
    assert effect(values, [2]).item() == 60


def test_only_leaking_methods_change_before_the_split(frame):
    cells = eight_cells(frame)
    alone = scores(cells, ("GMR", "None", "SMOTE"), leaking=["GMR"])
    for weights, raw in product((False, True), repeat=2):
        honest, leaking = (alone.cell((weights, raw, leaks)) for leaks in (False, True))
        pd.testing.assert_series_equal(honest["SMOTE"], leaking["SMOTE"])
        assert (leaking["GMR"] - honest["GMR"]).min() > 0.15


def test_the_report_finds_the_factor_that_matters(frame):
    document = build(frame)
    rows = {row[0]: row for row in table(document, "effects").rows}
    assert rows["before the split"][1].startswith("+0.20")
    assert rows["class weights"][1].startswith(("+0.00", "−0.00", "0.00"))
    cells = table(document, "cells").rows
    assert [row[2] for row in cells] == ["after", "before"] * 4
    assert all(float(row[6]) == 1 for row in cells if row[2] == "before")


def test_without_enough_results_the_report_is_refused(frame):
    with pytest.raises(BenchError, match="have all ended on 0 data sets alone"):
        build(frame[frame["classifier"] != "GBM"])


def test_a_store_without_results_is_refused_in_one_sentence(tmp_path, capsys):
    stores = ("--store", str(tmp_path / "none"), "--paper", str(tmp_path / "none"))
    assert main(["report", *stores]) == 2
    assert "continue the run" in capsys.readouterr().err


def test_the_published_report_is_made_from_the_results_beside_it():
    document = build(rows_of_both(RESULTS / "factorial", RESULTS / "paper"))
    text = (RESULTS / "factorial" / "README.md").read_text()
    assert to_markdown(document).splitlines()[0] == text.splitlines()[0]
    # Without intervals, which may differ in their last digit with the version of SciPy.
    for row in table(document, "cells").rows:
        assert " | ".join(row[1:]) in text
