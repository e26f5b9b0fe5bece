"""The report of an experiment: what it says, and that every form of it says the same."""

import itertools
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("filelock")
pytest.importorskip("scikit_posthocs")
pytest.importorskip("jinja2")

from rectifold.bench import CLASSIFIERS, METHODS, BenchError, Store  # noqa: E402
from rectifold.bench._comparison import compare  # noqa: E402
from rectifold.bench._protocols import BEFORE_SPLIT, TRAIN_ONLY  # noqa: E402
from rectifold.bench._statistics import friedman  # noqa: E402
from rectifold.bench._store import SCHEMA  # noqa: E402
from rectifold.bench.paper import paper_auprc, paper_ranks  # noqa: E402
from rectifold.bench.report import find, write_report  # noqa: E402
from rectifold.bench.report._figures import critical_difference  # noqa: E402
from rectifold.datasets import PAPER_DATASETS  # noqa: E402
from rectifold.model_selection._scores import SCORES  # noqa: E402


def made_up(datasets=PAPER_DATASETS[:6], methods=METHODS, seeds=(42,), protocol=TRAIN_ONLY, lift=0):
    """Rows of a store: the paper's figures for its baselines, GMR best by far, and some noise."""
    rng = np.random.default_rng(0)
    printed = paper_auprc()
    rows = []
    for dataset, method, classifier, seed in itertools.product(
        datasets, methods, CLASSIFIERS, seeds
    ):
        known = dataset in printed.index and method in printed.columns
        level = printed.loc[dataset, method] if known else 0.995
        score = float(np.clip(level + rng.normal(scale=0.001) + lift, 0, 1))
        rows.append(
            {
                "dataset": dataset,
                "method": method,
                "classifier": classifier,
                "seed": seed,
                "protocol": protocol,
                "method_version": "1",
                "status": "ok",
                **dict.fromkeys(SCORES, score),
                "resample_seconds": 0.5,
                "fit_seconds": 1.0,
                "majority_before": 100,
                "minority_before": 10,
                "majority_after": 90,
                "minority_after": 10,
                "versions": json.dumps({"numpy": "1.2.3"}),
                "finished": "2026-01-01T00:00:00+00:00",
            }
        )
    return pd.DataFrame(rows).reindex(columns=SCHEMA.names)


@pytest.fixture(scope="module")
def frame():
    return made_up()


def of_few_classifiers(frame):
    """The same with three classifiers, whose diagrams are drawn in half the time."""
    return frame[frame["classifier"].isin(["KNN", "LR", "DT"])].reset_index(drop=True)


@pytest.fixture(scope="module")
def smaller(frame):
    return of_few_classifiers(frame)


@pytest.fixture(scope="module")
def document(frame):
    return find(frame)


def table(document, name):
    return next(one for one in document.tables() if one.name == name)


def test_the_statement_is_three_sentences_with_both_ranks_the_papers_and_significance(document):
    assert len(document.statement) == 3
    gmr, none, test = document.statement
    assert "average rank 1.00 of 20 here over 6 data sets and 7 classifiers (first)" in gmr
    assert "the paper prints 4.22" in gmr
    assert re.search(r"No sampling at all has the average rank \d+\.\d\d of 20 here", none)
    assert "the paper prints 8.25" in none
    assert "GMR is significantly better (Wilcoxon p = 0.031; mean AUPRC +0." in test
    assert "6 wins, 0 ties, 0 losses" in test


def test_no_difference_is_called_none(smaller):
    same = smaller.copy()
    none = same[same["method"] == "None"].set_index(["dataset", "classifier"])["auprc"]
    gmr = same["method"] == "GMR"
    keys = pd.MultiIndex.from_frame(same.loc[gmr, ["dataset", "classifier"]])
    same.loc[gmr, "auprc"] = none.reindex(keys).to_numpy()
    assert "no significant difference (Wilcoxon p = 1.000" in find(same).statement[2]


def test_baselines_made_from_the_papers_figures_agree_with_them(document):
    section = next(one for one in document.sections if one.title == "Agreement with the paper")
    gap = float(re.search(r"differs from the paper's by (0\.\d+)", section.parts[0])[1])
    assert gap < 0.001
    for row in table(document, "baselines-beside-the-paper").rows:
        assert float(row[1]) < 0.001
    assert len(table(document, "none-beside-the-paper").rows) == 6


def test_a_data_set_that_is_not_quite_the_published_one_says_so(frame):
    odd = frame.replace({"dataset": {"ecoli": "scene"}}).assign(data_fingerprint="other")
    assert "*" not in table(find(odd), "none-beside-the-paper").caption
    here = odd["dataset"] == "scene"
    odd = odd.assign(data_fingerprint=np.where(here, "18e82e9a4ddacd13", "other"))
    document = find(odd)
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


def test_the_leak_has_a_section_of_its_own_with_a_warning_and_touches_nothing_else(frame, document):
    leaked = made_up(methods=["NearMiss"], protocol=BEFORE_SPLIT, lift=0.9)
    both = find(pd.concat([frame, leaked]))
    assert [one.name for one in both.tables() if "leak" in one.name] == ["leak-NearMiss"]
    (section,) = (one for one in both.sections if one.warning)
    assert "No result above comes from this" in section.parts[0]
    rows = {row[0]: row[-1] for row in table(both, "leak-NearMiss").rows}
    assert float(rows["rank, resampled before the split (leak)"]) < 5
    assert float(rows["rank, resampled on the training split alone"]) > 15
    assert both.statement == document.statement
    assert table(both, "ranks").rows == table(document, "ranks").rows
    assert not any(one.warning for one in document.sections)


def test_what_is_missing_is_said_exactly(frame):
    broken = frame.astype({"error": object})
    here = (broken["dataset"] == "ecoli") & (broken["method"] == "ADASYN")
    gone = here & (broken["classifier"] == "DT")
    broken.loc[gone, ["status", "error", "auprc"]] = ["timed out", "ended after 9 seconds", np.nan]
    failed = here & (broken["classifier"] == "LR")
    broken.loc[failed, ["status", "error", "auprc"]] = ["failed", "ValueError: no", np.nan]
    document = find(broken[~(here & (broken["classifier"] == "KNN"))])
    rows = {row[0]: row[1:] for row in table(document, "missing").rows}
    assert rows["ecoli"] == ["5 of 7", "1", "137", "1", "1", "1"]
    failures = table(document, "failures").rows
    assert ["ecoli", "ADASYN", "failed", "ValueError: no", "LR", "1"] in failures
    assert ["ecoli", "ADASYN", "timed out", "ended after 9 seconds", "DT", "1"] in failures
    assert "over 6 data sets" in document.statement[0]
    # Nor does the table of the data set average over what is not compared.
    assert "over 5 classifiers and 1 seed" in table(document, "dataset-ecoli").caption


def test_a_whole_run_lacks_nothing():
    whole = find(made_up(datasets=PAPER_DATASETS[:5], methods=["None", "GMR"], seeds=range(5)))
    section = next(one for one in whole.sections if one.title == "What is missing")
    assert section.parts[0].startswith("Nothing: ")
    assert "27 data sets, 22 are not in the store: sick_euthyroid, spectr" in section.parts[1]


def test_a_small_store_of_ones_own_gets_a_report_without_the_paper(tmp_path):
    document = find(made_up(datasets=["<mine> & |yours|"], methods=["SMOTE", "None"]))
    assert document.statement[0].startswith("With every sampler confined to the training split,")
    assert not [one for one in document.tables() if "paper" in one.name]
    text = next(one for one in document.sections if one.title == "Significance").parts[0]
    assert "at least 5 data sets" in text


def test_a_store_without_honest_or_comparable_results_is_refused(frame):
    with pytest.raises(BenchError, match="no results under the protocol 'train-only'"):
        find(frame.assign(protocol=BEFORE_SPLIT))
    apart = frame[(frame["method"] == "GMR") ^ (frame["dataset"] == "ecoli")]
    with pytest.raises(BenchError, match="no data set on which every method"):
        find(apart)
    with pytest.raises(BenchError, match="no results of 'ENN'; it has None and GMR"):
        find(made_up(methods=["None", "GMR"]), ["ENN"])


def test_a_method_that_ended_nowhere_is_named(smaller):
    late = smaller["method"] == "SMOTE"
    frame = smaller.assign(status=np.where(late, "timed out", "ok"))
    with pytest.raises(BenchError, match="and SMOTE nowhere at all: let the run go on"):
        find(frame)
    assert len(table(find(frame, ["GMR", "None", "ENN"]), "ranks").rows) == 3
    with pytest.raises(BenchError, match="every fit in the store failed"):
        find(frame.assign(status="failed", auprc=np.nan))


def test_the_direction_of_a_verdict_is_that_of_its_test():
    frame = made_up(datasets=PAPER_DATASETS[:12], methods=["None", "GMR"])
    lost = frame["dataset"] != PAPER_DATASETS[0]
    score = np.where(frame["method"] == "None", 0.3, np.where(lost, 0.28, 0.9))
    said = find(frame.assign(auprc=score)).statement[2]
    assert "GMR is significantly worse on most data sets, though not on average" in said
    assert "mean AUPRC +0.03" in said


def test_a_method_that_failed_has_no_mean_over_the_classifiers_that_are_left(smaller):
    broken = smaller.astype({"error": object})
    here = (broken["dataset"] == "ecoli") & (broken["method"] == "GMR")
    here &= broken["classifier"] == "DT"
    broken.loc[here, ["status", "error", "auprc"]] = ["failed", "ValueError: no", np.nan]
    rows = {row[0]: row for row in table(find(broken), "dataset-ecoli").rows}
    assert rows["GMR"][1] == "– ± –"


def test_means_do_not_depend_on_which_classifier_has_more_seeds():
    frame = made_up(datasets=["one"], methods=["None", "GMR"], seeds=range(5))
    frame = frame[frame["classifier"].isin(["LR", "SVM"])]
    frame = frame.assign(auprc=np.where(frame["classifier"] == "LR", 0.9, 0.1))
    frame = frame[(frame["classifier"] == "LR") | (frame["seed"] == 0)]
    document = find(frame)
    assert table(document, "dataset-one").rows[0][1] == "0.5000 ± –"
    assert table(document, "missing").rows == [["one", "2 of 2", "1 to 5", "12", "0", "0", "8"]]


def test_methods_can_be_chosen(frame):
    document = find(frame, ["gmr", "None", "ENN"])
    assert len(table(document, "ranks").rows) == 3
    assert "the paper prints" not in document.statement[0]


ROOT = Path(__file__).parents[1]


def test_what_is_published_is_made_from_the_results_beside_it():
    document = find(Store(ROOT / "results" / "paper").read())
    report = (ROOT / "results" / "paper" / "report" / "README.md").read_text()
    assert all(sentence in report for sentence in document.statement[:2])
    for row in table(document, "ranks").rows:
        # All but the interval, which may differ in its last digit with the version of SciPy.
        assert " | ".join(row[1:9]) in report
    ranks = {row[0]: row for row in table(document, "ranks").rows}
    leaked = table(document, "leak-GMR").rows[1][-1]
    for path in ("README.md", "results/README.md"):
        text = (ROOT / path).read_text()
        for figure in (ranks["GMR"][8], ranks["None"][8], leaked):
            assert figure in text, f"{path} does not have {figure}"


class Page(HTMLParser):
    """Reads a page: its tables, its tags, what it refers to."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.references, self.tags = [], [], [], set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.references += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    odd = "<script>alert(1)</script>|*_x_*"
    frame = of_few_classifiers(made_up(datasets=[*PAPER_DATASETS[:5], odd]))
    store = Store(tmp_path_factory.mktemp("store"))
    with store.writing():
        for row in frame.to_dict("records"):
            store.add({name: value for name, value in row.items() if pd.notna(value)})
    folder = store.folder / "report"
    return find(frame), folder, write_report(store, folder, latex=True)


def test_the_page_needs_nothing_else_and_lets_no_markup_of_data_through(written):
    document, folder, paths = written
    assert paths[0] == folder / "index.html"
    text = paths[0].read_text()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert "script" not in page.tags
    assert all(one.startswith(("#", "data:image/svg+xml;base64,")) for one in page.references)
    assert "default-src 'none'" in text
    assert page.cells == [cell for one in document.tables() for row in one.rows for cell in row]


def test_markdown_says_the_same_and_its_figures_are_there(written):
    document, folder, _ = written
    text = (folder / "README.md").read_text()
    assert text.count("\n| --- ") == len(document.tables())
    assert "<script" not in text
    linked = re.findall(r"\]\((figures/.*?\.svg)\)", text)
    assert len(linked) == len(document.figures()) == 5
    for name in linked:
        assert ElementTree.parse(folder / name).getroot().tag.endswith("svg")
    for line in text.splitlines():
        if line.startswith("| "):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            assert len(cells) >= 2


def test_latex_tables_are_balanced_and_escaped(written):
    document, folder, _ = written
    tables = sorted((folder / "tables").glob("*.tex"))
    assert len(tables) == len(document.tables())
    for path in tables:
        text = path.read_text()
        assert text.count(r"\begin{") == text.count(r"\end{") == 2
        assert not re.search(r"(?<!\\)[%#_]", text.replace(r"\\", ""))
        widths = {line.count(" & ") for line in text.splitlines() if line.endswith(r" \\")}
        assert len(widths) == 1


def test_the_same_results_give_the_same_files(written, tmp_path):
    _, folder, paths = written
    again = write_report(Store(folder.parent), tmp_path / "again", latex=True)
    for one, other in zip(paths, again, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_figures_are_the_same_in_every_process():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_bench_report import made_up\n"
        "from rectifold.bench._comparison import compare\n"
        "from rectifold.bench.report._figures import critical_difference\n"
        "from rectifold.bench._statistics import friedman\n"
        "print(critical_difference(friedman(compare(made_up()).by_dataset()), {}))"
    )
    other = subprocess.check_output(
        [sys.executable, "-c", program, str(Path(__file__).parent)],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        text=True,
    )
    own = critical_difference(friedman(compare(made_up()).by_dataset()), {})
    assert other == own + "\n"


def test_a_report_does_not_replace_a_file(written, tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(BenchError, match="is a file, and a report is a folder"):
        write_report(Store(written[1].parent), tmp_path / "taken")
