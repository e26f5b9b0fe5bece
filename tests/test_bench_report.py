"""The report of an experiment: what it states, and that all its forms agree."""

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

from rectifold.bench import BenchError, Store  # noqa: E402
from rectifold.bench._comparison import compare  # noqa: E402
from rectifold.bench._protocols import BEFORE_SPLIT  # noqa: E402
from rectifold.bench._statistics import friedman  # noqa: E402
from rectifold.bench.report import build_document, write_report  # noqa: E402
from rectifold.bench.report._figures import critical_difference  # noqa: E402
from rectifold.datasets import PAPER_DATASETS  # noqa: E402
from rectifold.report._document_formats import to_markdown  # noqa: E402
from stores import made_up, of_few_classifiers, table  # noqa: E402


@pytest.fixture(scope="module")
def frame():
    return made_up()


@pytest.fixture(scope="module")
def smaller(frame):
    return of_few_classifiers(frame)


@pytest.fixture(scope="module")
def document(frame):
    return build_document(frame)


def test_the_statement_is_three_sentences_with_both_ranks_and_significance(document):
    assert len(document.statement) == 3
    gmr, none, test = document.statement
    assert "average rank 1.00 of 20 here over 6 data sets and 7 classifiers (first)" in gmr
    assert re.search(r"No sampling has the average rank \d+\.\d\d of 20 here", none)
    assert "GMR is significantly better (Wilcoxon p = 0.031; mean AUPRC +0." in test
    assert "6 wins, 0 ties, 0 losses" in test


def test_no_difference_is_called_none(smaller):
    same = smaller.copy()
    none = same[same["method"] == "None"].set_index(["dataset", "classifier"])["auprc"]
    gmr = same["method"] == "GMR"
    keys = pd.MultiIndex.from_frame(same.loc[gmr, ["dataset", "classifier"]])
    same.loc[gmr, "auprc"] = none.reindex(keys).to_numpy()
    assert "no significant difference (Wilcoxon p = 1.000" in build_document(same).statement[2]


def test_the_leak_is_in_a_section_with_a_warning_and_changes_no_other_result(frame, document):
    leaked = made_up(methods=["NearMiss"], protocol=BEFORE_SPLIT, lift=0.9)
    both = build_document(pd.concat([frame, leaked]))
    assert [one.name for one in both.tables() if "leak" in one.name] == ["leak-NearMiss"]
    (section,) = (one for one in both.sections if one.warning)
    assert "No other result of this report uses these scores" in section.parts[0]
    rows = {row[0]: row[-1] for row in table(both, "leak-NearMiss").rows}
    assert float(rows["rank, resampled before the split (leak)"]) < 5
    assert float(rows["rank, resampled on the training split"]) > 15
    assert both.statement == document.statement
    assert table(both, "ranks").rows == table(document, "ranks").rows
    assert not any(one.warning for one in document.sections)


def test_the_leak_is_compared_on_the_seeds_that_both_have(frame):
    leaked = made_up(methods=["NearMiss"], protocol=BEFORE_SPLIT, lift=0.9)
    alone = table(build_document(pd.concat([frame, leaked])), "leak-NearMiss")
    # On a second seed NearMiss is the best without the leak, but there is nothing with it.
    level = {"NearMiss": 0.999}
    second = made_up(seeds=(0,), level=lambda _, method: level.get(method, 0.5))
    both = build_document(pd.concat([frame, second, leaked]))
    assert table(both, "leak-NearMiss").rows == alone.rows


def test_the_report_lists_what_is_missing(frame):
    broken = frame.astype({"error": object})
    here = (broken["dataset"] == "ecoli") & (broken["method"] == "ADASYN")
    gone = here & (broken["classifier"] == "DT")
    broken.loc[gone, ["status", "error", "auprc"]] = ["timed out", "ended after 9 seconds", np.nan]
    failed = here & (broken["classifier"] == "LR")
    broken.loc[failed, ["status", "error", "auprc"]] = ["failed", "ValueError: no", np.nan]
    document = build_document(broken[~(here & (broken["classifier"] == "KNN"))])
    rows = {row[0]: row[1:] for row in table(document, "missing").rows}
    assert rows["ecoli"] == ["5 of 7", "1", "137", "1", "1", "1"]
    failures = table(document, "failures").rows
    assert ["ecoli", "ADASYN", "failed", "ValueError: no", "LR", "1"] in failures
    assert ["ecoli", "ADASYN", "timed out", "ended after 9 seconds", "DT", "1"] in failures
    assert "over 6 data sets" in document.statement[0]
    # Nor does the table of the data set average over what is not compared.
    assert "over 5 classifiers and 1 seed" in table(document, "dataset-ecoli").caption


def test_a_complete_run_lacks_nothing():
    whole = build_document(
        made_up(datasets=PAPER_DATASETS[:5], methods=["None", "GMR"], seeds=range(5))
    )
    section = next(one for one in whole.sections if one.title == "What is missing")
    assert section.parts[0].startswith("Nothing: ")
    assert "27 data sets, 22 are not in the store: sick_euthyroid, spectr" in section.parts[1]


def test_a_report_on_own_data_does_not_mention_the_paper(tmp_path):
    document = build_document(made_up(datasets=["<mine> & |yours|"], methods=["SMOTE", "None"]))
    assert document.statement[0].startswith("With samplers fitted on the training split alone,")
    assert not [one for one in document.tables() if "paper" in one.name]
    text = next(one for one in document.sections if one.title == "Significance").parts[0]
    assert "at least 5 data sets" in text
    assert "paper" not in to_markdown(document).replace("the paper have", "")


def test_a_report_under_another_protocol_says_what_it_is_and_has_its_own_leak(frame):
    honest = frame.assign(protocol="paper")
    leaked = made_up(methods=["NearMiss"], protocol="paper-before-split", lift=0.9)
    document = build_document(pd.concat([frame, honest, leaked]), protocol="paper")
    assert "fitted on the raw features of the training split" in to_markdown(document)
    assert [one.name for one in document.tables() if "leak" in one.name] == ["leak-NearMiss"]
    assert len(table(document, "ranks-by-score").rows) == 20


def test_gmr_is_compared_with_no_sampling_by_every_score(document):
    rows = {row[0]: row for row in table(document, "gmr-by-score").rows}
    # All scores are equal here, and of some a high value is a bad one.
    assert {name for name, row in rows.items() if row[1].startswith("−")} == {
        "Brier score",
        "asymmetric risk, 10:1",
    }
    assert len(rows) == 7


def test_a_store_without_comparable_results_is_refused(frame):
    with pytest.raises(BenchError, match="no results under the protocol 'train-only'"):
        build_document(frame.assign(protocol=BEFORE_SPLIT))
    apart = frame[(frame["method"] == "GMR") ^ (frame["dataset"] == "ecoli")]
    with pytest.raises(BenchError, match="no data set on which every method"):
        build_document(apart)
    with pytest.raises(BenchError, match="no results of 'ENN'; it has None and GMR"):
        build_document(made_up(methods=["None", "GMR"]), ["ENN"])


def test_a_method_without_results_is_named(smaller):
    late = smaller["method"] == "SMOTE"
    frame = smaller.assign(status=np.where(late, "timed out", "ok"))
    with pytest.raises(BenchError, match="SMOTE on none at all"):
        build_document(frame)
    assert len(table(build_document(frame, ["GMR", "None", "ENN"]), "ranks").rows) == 3
    with pytest.raises(BenchError, match="every fit of the store has failed"):
        build_document(frame.assign(status="failed", auprc=np.nan))


def test_a_verdict_has_the_direction_of_its_test():
    frame = made_up(datasets=PAPER_DATASETS[:12], methods=["None", "GMR"])
    lost = frame["dataset"] != PAPER_DATASETS[0]
    score = np.where(frame["method"] == "None", 0.3, np.where(lost, 0.28, 0.9))
    said = build_document(frame.assign(auprc=score)).statement[2]
    assert "GMR is significantly worse on most data sets, though not on average" in said
    assert "mean AUPRC +0.03" in said


def test_a_method_that_failed_has_no_mean_over_the_classifiers_that_are_left(smaller):
    broken = smaller.astype({"error": object})
    here = (broken["dataset"] == "ecoli") & (broken["method"] == "GMR")
    here &= broken["classifier"] == "DT"
    broken.loc[here, ["status", "error", "auprc"]] = ["failed", "ValueError: no", np.nan]
    rows = {row[0]: row for row in table(build_document(broken), "dataset-ecoli").rows}
    assert rows["GMR"][1] == "– ± –"


def test_means_do_not_depend_on_which_classifier_has_more_seeds():
    frame = made_up(datasets=["one"], methods=["None", "GMR"], seeds=range(5))
    frame = frame[frame["classifier"].isin(["LR", "SVM"])]
    frame = frame.assign(auprc=np.where(frame["classifier"] == "LR", 0.9, 0.1))
    frame = frame[(frame["classifier"] == "LR") | (frame["seed"] == 0)]
    document = build_document(frame)
    assert table(document, "dataset-one").rows[0][1] == "0.5000 ± –"
    assert table(document, "missing").rows == [["one", "2 of 2", "1 to 5", "12", "0", "0", "8"]]


def test_methods_can_be_chosen(frame):
    document = build_document(frame, ["gmr", "None", "ENN"])
    assert len(table(document, "ranks").rows) == 3
    assert "the paper prints" not in document.statement[0]


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
    return build_document(frame), folder, write_report(store, folder, latex=True)


def test_the_page_is_one_file_and_escapes_data(written):
    document, folder, paths = written
    assert paths[0] == folder / "index.html"
    text = paths[0].read_text()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert "script" not in page.tags
    assert all(one.startswith(("#", "data:image/svg+xml;base64,")) for one in page.references)
    assert "default-src 'none'" in text
    assert page.cells == [
        document.names.get(cell, cell)
        for one in document.tables()
        for row in one.rows
        for cell in row
    ]
    # Long parts are folded away, on the page and in Markdown.
    folded = [section.title for section in document.sections if section.folded]
    assert "Every data set" in folded
    for title in folded:
        assert f"<summary><h2>{title}</h2></summary>" in text
    inner = re.findall(r'<details class="inner"><summary>(.*?)</summary>', text)
    markdown = (folder / "README.md").read_text()
    n_folded = len(inner) + len(folded)
    assert n_folded == markdown.count("<details>") == markdown.count("</details>") > 10


def test_markdown_has_the_same_tables_and_its_figures_exist(written):
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
        "from stores import made_up\n"
        "from rectifold.bench._comparison import compare\n"
        "from rectifold.bench.report._figures import critical_difference\n"
        "from rectifold.bench._statistics import friedman\n"
        "print(critical_difference(friedman(compare(made_up()).by_block())))"
    )
    other = subprocess.check_output(
        [sys.executable, "-c", program, str(Path(__file__).parent)],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        text=True,
    )
    own = critical_difference(friedman(compare(made_up()).by_block()))
    assert other == own + "\n"


def test_a_report_does_not_overwrite_a_file(written, tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(BenchError, match="is a file, and a report is a folder"):
        write_report(Store(written[1].parent), tmp_path / "taken")
