"""Write the figures of README and the site's pages from the files in results/.

    python docs/figures.py          # or: make figures

A page marks each block of figures that it shows; all other text is free:

    <!-- figures: NAME -->
    (written by docs/figures.py)
    <!-- end of figures -->
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from statistics import geometric_mean
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
_BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n)(.*?)(<!-- end of figures -->)", re.DOTALL)
_BLOCKS: dict[str, Callable[[], str]] = {}


def block(function: Callable[[], str]) -> Callable[[], str]:
    """Register a function that returns the Markdown of a block, under its name with hyphens."""
    _BLOCKS[function.__name__.replace("_", "-")] = function
    return function


def filled(page: str) -> str:
    """Return the text of a page with all blocks of figures written anew."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{_BLOCKS[found[2]]()}\n\n{found[4]}", page)


def pages() -> list[Path]:
    """Return README and the pages of the site that show blocks of figures."""
    candidates = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), RESULTS / "README.md"]
    return sorted(page for page in candidates if _BLOCK.search(page.read_text()))


# Reading results.


@cache
def _json(path: str) -> Any:
    return json.loads((RESULTS / path).read_text())


def _by_data(path: str) -> dict[str, dict[str, Any]]:
    return {row["data"]: row for row in _json(path)["rows"]}


@cache
def _text(path: str) -> str:
    return (RESULTS / path).read_text()


def _tables(text: str) -> list[list[dict[str, str]]]:
    """Return the tables of a Markdown text: for each row its cells by the names of the columns."""
    tables = []
    for lines in re.findall(r"(?:^\|.*\|\n)+", text + "\n", re.MULTILINE):
        head, _, *rows = ([c.strip() for c in line[1:-1].split("|")] for line in lines.splitlines())
        plain = [[re.sub(r"\*\*|\\", "", cell) for cell in row] for row in rows]
        tables.append([dict(zip(head, row, strict=True)) for row in plain])
    return tables


def _table_with(path: str, *columns: str) -> dict[str, dict[str, str]]:
    """Return the first table of a report that has these columns, by the first cell of a row."""
    for rows in _tables(_text(path)):
        if rows and set(columns) <= rows[0].keys():
            return {next(iter(row.values())): row for row in rows}
    raise SystemExit(f"results/{path} has no table with the columns {', '.join(columns)}")


# Writing Markdown.


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], text_columns: int = 1) -> str:
    rule = ["---"] * text_columns + ["--:"] * (len(head) - text_columns)
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [head, rule, *rows])


def _signed(number: float, digits: int) -> str:
    return f"{number:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


# Speed, memory, scale.

#: Names of the large data sets in results, and what they are.
_LARGE = {
    "creditcard": "card fraud",
    "covtype_4": "forest cover",
    "cidds001_attacker": "network flows",
}


#: Features of the data sets on which approximate neighbours were measured.
_COLUMNS = {"cidds001_attacker": 13, "ecg_mitbih": 187, "covtype_1": 54, "gaussians_1m": 128}


@block
def speed() -> str:
    exact, gpu = _by_data("speed/exact_engine.json"), _by_data("gpu/engine.json")
    rows: list[Sequence[object]] = []
    for name, title in _LARGE.items():
        one = exact[name]
        mark = "*" if one["extrapolated"] else ""
        seconds = f"{gpu[name]['seconds_whole_call']:.2f} s"
        size = f"{one['rows']:,} x {one['columns']}"
        rows.append((title, size, f"{one['ratio_to_paper']:.0f}{mark}", seconds))
    large = gpu["synthetic"]
    size = f"{large['rows']:,} x {large['columns']}"
    rows.append(("synthetic", size, "", f"{large['seconds_whole_call']:.0f} s"))
    average = _json("speed/exact_engine.json")["summary"]["geometric_mean_of_those_with_5000_rows"]
    rows.append(("9 of the paper's sets (geometric mean)", "5,000 or more", f"{average:.1f}", ""))
    head = ("data", "samples x features", "times faster, 2 cores", "`fit_resample` on an H200")
    return _table(head, rows, 2)


@block
def headline_speed() -> str:
    row = _by_data("speed/exact_engine.json")["creditcard"]
    return (
        f"[{row['ratio_to_paper']:.0f} times]{{.headline}} faster than scikit-learn's search on "
        f"{row['rows']:,} card payments, on two cores."
    )


@block
def headline_gpu() -> str:
    row = _by_data("gpu/engine.json")["covtype_4"]
    return (
        f"[{row['seconds_whole_call']:.2f} s]{{.headline}} for `fit_resample` on {row['rows']:,} "
        f"samples with {row['columns']} features on one H200."
    )


@block
def crossovers() -> str:
    exact, gpu = _by_data("speed/exact_engine.json"), _json("gpu/engine.json")["checked"]
    rows: list[Sequence[object]] = []

    def add(change: str, name: str, ratio: float, digits: int = 1) -> None:
        size = f"{exact[name]['rows']:,} x {exact[name]['columns']}" if name in exact else ""
        rows.append((change, name, size, f"{ratio:.{digits}f}"))

    for name in ("car_eval_4", "us_crime", "sick_euthyroid", "isolet", "creditcard"):
        add('scikit-learn to "exact"', name, exact[name]["ratio_to_paper"])
    for name in ("car_eval_4", "us_crime", "protein_homo"):
        add('"exact" to "gpu"', name, gpu[name]["ratio_to_exact"])
    for name in ("cidds001_attacker", "ecg_mitbih", "covtype_1", "gaussians_1m"):
        one, other = (
            _json(f"approximate/runs/{name}-{how}.json") for how in ("exact", "approximate")
        )
        size = f"{one['rows']:,} x {_COLUMNS[name]}"
        ratio = one["seconds"] / other["seconds"]
        mark = "*" if one.get("part") else ""
        rows.append(('"exact" to "approximate"', name, size, f"{ratio:.1f}{mark}"))
    ratio = _json("dask/overhead.json")["results"]["creditcard"]
    add("one machine to Dask", "creditcard", 1 / ratio["cluster over one machine, two cores"])
    return _table(("change", "data", "samples x features", "times faster"), rows, 3)


@block
def memory() -> str:
    rows = [
        (f"{one['rows']:,}", *(f"{one[key]:,.0f}" for key in ("input_mb", "peak_mb", "imports_mb")))
        for one in _json("memory.json")
    ]
    return _table(("samples", "the data, MB", "peak, MB", "of it imports, MB"), rows, 0)


@block
def out_of_core() -> str:
    run = _json("dask/out_of_core.json")
    row = (
        f"{run['rows']:,}",
        f"{run['gigabytes']:.1f} GB",
        f"{len(run['megabytes_at_most'])} of {run['memory_limit']}",
        f"{max(run['megabytes_at_most']) / 1000:.1f} GB",
        f"{run['seconds_in_all'] / 60:.0f} minutes",
    )
    return _table(("samples", "Parquet", "workers", "peak of a worker", "time"), [row], 0)


# The paper's experiment.

PAPER, STANDARDISED = (f"paper/report/{name}/README.md" for name in ("paper", "train-only"))


#: A column of the tables on the factorial experiment: its eight protocols, and its effects.
FACTORIAL = "GMR less no sampling, AUPRC"


def _paper_ranks() -> dict[str, dict[str, str]]:
    return _table_with(PAPER, "Method", "Avg", "Paper")


def _against_none() -> dict[str, dict[str, str]]:
    return _table_with(PAPER, "Method", "difference", "p, Holm")


def _leak() -> tuple[dict[str, str], dict[str, str], dict[str, str], dict[str, str]]:
    """Return the rows of the table on resampling before the split, by classifier."""
    honest, leaked, printed, gain = _table_with(PAPER, "", "DT", "Avg").values()
    return honest, leaked, printed, gain


@block
def headline_fixed() -> str:
    ranks = _paper_ranks()
    return (
        f"[Rank {ranks['GMR']['Avg']}]{{.headline}} of {len(ranks)} for GMR with default "
        f"parameters; no sampling has {ranks['None']['Avg']}."
    )


@block
def evidence() -> str:
    unseen, adaptive = _unseen(), _adaptive("adaptive")
    rows = []
    for title, name in {**_CHOSEN, **_PEERS}.items():
        one, other = unseen[name], adaptive.get(name)
        rank = f"{_rank(other)} of 20" if other else ""
        ahead = one["families ahead"].replace(" of ", "/").split(" ")[0]
        rows.append((title, one["gain"], f"{one['rank']} of {len(unseen)}", ahead, rank))
    head = ("method", "AUPRC over the classifier alone", "average rank", "sets ahead")
    return _table((*head, f"rank on {_n_sets('adaptive')} of the paper's sets"), rows)


@block
def cleaning_alone() -> str:
    ranks, leak, against = _paper_ranks(), _leak(), _against_none()["GMR"]
    return (
        f"On {_n_paper_sets()} of the paper's sets `GMR()` has the average rank "
        f"{ranks['GMR']['Avg']} among 20 samplers and no sampling {ranks['None']['Avg']}; their "
        f"mean AUPRC differs by {against['difference']}. If GMR cleans before the split, which is "
        f"data leakage, its rank is {leak[1]['Avg']}; the paper prints {ranks['GMR']['Paper']}."
    )


@block
def reproduction() -> str:
    ranks, leak, against = _paper_ranks(), _leak(), _against_none()["GMR"]
    text = _text(PAPER)
    others = re.search(r"differ from the paper's by ([\d.]+) on average; .* is ([\d.]+)", text)
    assert others is not None
    chosen = _adaptive("adaptive")
    rows = [
        (
            "average rank of GMR among 20 methods, by AUPRC",
            ranks["GMR"]["Paper"],
            ranks["GMR"]["Avg"],
        ),
        ("average rank of no sampling", ranks["None"]["Paper"], ranks["None"]["Avg"]),
        ("ranks of the other methods, mean absolute difference", "", others[1]),
        ("the same, rank correlation (Spearman)", "", others[2]),
        ("GMR less no sampling, mean AUPRC", "", against["difference"]),
        ("its 95 % interval", "", against["95 % interval"]),
        ("p (Wilcoxon, data sets as blocks)", "", against["p"]),
        ("wins / ties / losses", "", against["win / tie / loss"]),
        ("average rank of GMR before the split (a leak)", leak[2]["Avg"], leak[1]["Avg"]),
        *((f"the same with {name}", leak[2][name], leak[1][name]) for name in ("KNN", "LR", "DT")),
        ("average rank of `RectifiedClassifier`, one fit", "", _rank(chosen["GMR-adaptive"])),
        ("average rank of no sampling on the same 18 sets", "", _rank(chosen["None"])),
    ]
    return _table(("", "the paper", "here"), rows)


@block
def agreement() -> str:
    columns = "Method", "mean absolute"
    here, other = (_table_with(path, *columns) for path in (PAPER, STANDARDISED))
    rows = [
        (name, other[name]["mean absolute"], row["mean absolute"])
        for name, row in sorted(here.items(), key=lambda item: item[1]["mean absolute"])
    ]
    means = [sum(float(row[column]) for row in rows) / len(rows) for column in (1, 2)]
    rows.append(("mean", *(f"{mean:.4f}" for mean in means)))
    head = ("method", "standardised before, no class weights", "raw features, class weights")
    return _table(head, rows)


@block
def agreement_by_minority() -> str:
    found = re.search(
        r"On the (\d+) .* than (\d+) minority .* is ([\d.]+), on .* ([\d.]+)\.", _text(PAPER)
    )
    assert found is not None
    rows = [(f"fewer than {found[2]}", found[1], found[3]), ("more", "", found[4])]
    head = ("minority samples in a test split", "data sets", "mean absolute difference")
    return _table(head, rows)


@block
def factorial() -> str:
    shown = [rows for rows in _tables(_text("factorial/README.md")) if FACTORIAL in rows[0]]
    cells, effects = shown
    names = [name for name in cells[0] if not name.startswith("AUPRC")]
    protocols = _table(names, [[row[name] for name in names] for row in cells], 3)
    return f"{protocols}\n\n{_table([*effects[0]], [[*row.values()] for row in effects])}"


@block
def other_scores() -> str:
    scores = _table_with(PAPER, "Method", "AUPRC", "balanced accuracy")
    names = ("None", "GMR", "SVMSMOTE", "SMOTE", "SMOTEENN", "RandomUnderSampler")
    return _table([*scores["None"]], [[*scores[name].values()] for name in names])


@block
def cleaners() -> str:
    ranks, differences = _paper_ranks(), _against_none()
    cleaning = (
        *("TomekLinks", "NeighbourhoodCleaningRule", "GMR", "EditedNearestNeighbours", "AllKNN"),
        *("RepeatedEditedNearestNeighbours", "SMOTE", "SMOTEENN"),
    )
    rows = [("no sampling", ranks["None"]["Avg"], "")]
    rows += [(name, ranks[name]["Avg"], differences[name]["difference"]) for name in cleaning]
    return _table(("method", "average rank of 20", "mean AUPRC less that of no sampling"), rows)


@block
def leak() -> str:
    honest, leaked, printed, gain = _leak()
    rows = [
        ("the training split only", honest["Avg"]),
        ("all samples, before the split", leaked["Avg"]),
        ("printed in the paper", printed["Avg"]),
    ]
    table = _table(("GMR sees", "average rank of 20"), rows)
    return f"{table}\n\nAUPRC before the split less AUPRC on the training split: {gain['Avg']}."


def _data_sets() -> dict[str, dict[str, float]]:
    """Return the mean AUPRC of every method on every data set of the paper's experiment."""
    text = _text(PAPER).partition("## Every data set")[2]
    # Before the first data set comes the summary of them all.
    sections = re.split(r"^<summary>", text, flags=re.M)[2:]
    found: dict[str, dict[str, float]] = {}
    for section in sections:
        name = section.partition("</summary>")[0].replace("\\", "")
        rows = _tables(section)[0]
        scores = {row["Method"]: row["AUPRC"].partition(" ")[0] for row in rows}
        if "7 classifiers" in section.partition("|")[0]:
            found[name] = {method: float(score) for method, score in scores.items()}
    return found


@block
def gain_by_data_set() -> str:
    gains = {name: one["GMR"] - one["None"] for name, one in _data_sets().items()}
    order = sorted(gains, key=lambda name: gains[name])
    # Three digits, since the scores in the report are rounded to four.
    rows = [(name, _signed(gains[name], 3)) for name in [*order[:3], *order[-3:]]]
    return _table(("data set", "`GMR()` less no sampling, AUPRC"), rows)


# Settings chosen from the data.

UNSEEN = "unseen/README.md"

#: Titles of what `RectifiedClassifier` and its controls are called in results.
_CHOSEN = {
    "`RectifiedClassifier`": "GMR-adaptive",
    "`RectifiedClassifier(ensemble=10)`": "GMR-ensemble",
    "`RectifiedClassifier(param_grid=())`, no cleaning": "Vote",
    "bagging, 10 fits": "Bagging",
}
#: Those of peers, controls and no sampling on unseen data sets.
_PEERS = {
    "control: blend with a random forest": "Fused-RF",
    "balanced random forest": "BalancedRandomForest",
    "easy ensemble": "EasyEnsemble",
    "class weights": "ClassWeights",
    "the classifier alone": "None",
}


def _adaptive(path: str) -> dict[str, dict[str, str]]:
    return _table_with(f"{path}/README.md", "method", "gain")


def _unseen() -> dict[str, dict[str, str]]:
    return _table_with(UNSEEN, "Method", "rank", "gain")


def _n_paper_sets() -> int:
    found = re.search(r"over (\d+) data sets and 7 classifiers", _text(PAPER))
    assert found is not None
    return int(found[1])


def _n_sets(path: str) -> int:
    found = re.search(r"^(\d+) data sets", _text(f"{path}/README.md"), re.M)
    assert found is not None
    return int(found[1])


def _rank(row: dict[str, str]) -> str:
    return row["rank (place)"].partition(" ")[0]


def _tests(path: str, pairs: Iterable[tuple[str, str]]) -> str:
    lines = _text(f"{path}/README.md").splitlines()
    starts = tuple(f"- {one} against {other}:" for one, other in pairs)
    return "\n".join(line for line in lines if line.startswith(starts))


@block
def headline_chosen() -> str:
    chosen = _adaptive("adaptive")
    return (
        f"[Rank {_rank(chosen['GMR-adaptive'])}]{{.headline}} of 20 by AUPRC on "
        f"{_n_sets('adaptive')} data sets; no sampling has {_rank(chosen['None'])}."
    )


@block
def chosen() -> str:
    pairs = [(name, "None") for name in ("GMR-adaptive", "GMR-ensemble", "Vote")]
    pairs += [("GMR-adaptive", "Bagging"), ("GMR-ensemble", "Bagging")]
    rows = _adaptive("adaptive")
    table = _table([*rows["None"]], [[*row.values()] for row in rows.values()])
    return f"{table}\n\n{_tests('adaptive', pairs)}"


@block
def headline_unseen() -> str:
    row = _unseen()["GMR-adaptive"]
    return (
        f"[{row['gain']}]{{.headline}} AUPRC over the classifier alone, the mean over nine "
        f"classifiers; ahead on {row['families ahead']} public data sets."
    )


@block
def unseen() -> str:
    rows = _unseen()
    return _table([*rows["None"]], [[*row.values()] for row in rows.values()])


@block
def unseen_classifiers() -> str:
    names = ("GMR-adaptive", "GMR-ensemble", "Vote", "Fused-RF", "Bagging")
    rows = _table_with(UNSEEN, "Method", "DT", "CatBoost")
    return _table(
        [*rows["GMR-adaptive"]], [[*rows[name].values()] for name in names if name in rows]
    )


@block
def label_noise() -> str:
    rows = [*_table_with("adaptive/README.md", "labels").values()]
    return _table([*rows[0]], [[*row.values()] for row in rows])


@block
def posterior() -> str:
    rows = _tables(_text("posterior/README.md"))[0]
    columns = ("classifier", "sampler", "as it is", "in full", "chosen", "chosen: better or equal")
    some = [[row[name] for name in columns] for row in rows if row["sampler"] != "none"]
    return _table([*columns], some)


@block
def prediction_speed() -> str:
    report = _json("speed/prediction.json")
    summary, runs = report["summary"], report["runs"]
    one, default = (
        summary[name]["predict_seconds"] for name in ("ratios", "ratios_of_the_default")
    )
    return (
        f"On creditcard, {report['queries']:,} samples are predicted by "
        f"{report['training_samples']:,} with one view and 15 neighbours {one:.0f} times faster "
        "than by scikit-learn's `KNeighborsClassifier` with the same votes (largest difference "
        f"{summary['largest_difference']:.0e}), and with the four views of the default "
        f"{default:.0f} times faster than by that one vote; on "
        f"{report['cores']} cores (`make bench-prediction`). The pickle has "
        f"{runs['default']['pickle_to_float32_data']:.2f} times the size of the features in single "
        "precision."
    )


@block
def candidates() -> str:
    rows = _tables(_text("adaptive/candidates.md"))[0]
    return _table([*rows[0]], [[*row.values()] for row in rows])


@block
def cost_of_choosing() -> str:
    sizes = {
        "yeast_me2": "1,484 x 8",
        "us_crime": "1,994 x 100",
        "abalone": "4,177 x 10",
        "letter_img": "20,000 x 16",
    }
    rows = [
        (
            run["dataset"],
            sizes[run["dataset"]],
            run["classifier"],
            run["fits"],
            f"{run['ratio']:.2f}",
            f"{run['to_cleaning']:.2f}",
        )
        for run in _json("adaptive/choosing.json")["runs"]
    ]
    head = ("data", "samples x features", "classifier", "fits", "to cross-validation")
    ratios = [run["to_cleaning"] for run in _json("adaptive/choosing.json")["runs"]]
    table = _table((*head, "to cleaning alone"), rows, 3)
    return f"{table}\n\nGeometric mean of the last column: {geometric_mean(ratios):.2f}."


# The deep experiments.

DEEP = "deep/report/README.md"


@block
def diffusion() -> str:
    head, *rest = ("set", "trained on", "raw", "cleaned", "difference", "better/equal/worse")
    rows, name = [], ""
    for row in next(t for t in _tables(_text(DEEP)) if t and "trained on" in t[0]):
        name = row["set"] or name
        rows.append([name, *(row[column] for column in rest)])
    return _table((head, *rest), rows, 2)


@block
def ceilings() -> str:
    rows = _table_with(DEEP, "set", "tuned", "present").values()
    shown = [(row["set"], row["tuned"], row["present"], row["defaults"]) for row in rows]
    return _table(("set", "tuned XGBoost", "the classifier now", "the classifier before"), shown)


@block
def embedding_width() -> str:
    import pandas as pd

    fits = pd.read_parquet(RESULTS / "deep" / "embedding-128" / "results.parquet")
    narrow = fits[fits["trained_on"] == "synthetic"].groupby("method")["auprc"].mean()
    name = ""
    for row in next(t for t in _tables(_text(DEEP)) if t and "trained on" in t[0]):
        name = row["set"] or name
        if (name, row["trained on"]) == ("ecg_arrhythmia", "synthetic"):
            wide = [row[column].partition(" ")[0] for column in ("raw", "cleaned")]
    rows = [(128, f"{narrow['None']:.4f}", f"{narrow['GMR']:.4f}"), (256, *wide)]
    return _table(("width of the embedding", "raw", "cleaned"), rows, 0)


@block
def images() -> str:
    columns = ("method", "all", "many", "medium", "over CE", "p")
    rows = _table_with(DEEP, *columns).values()
    return _table(columns, [[row[column] for column in columns] for row in rows])


def main() -> int:
    """Write all pages; with --check write nothing, and return 1 if a page is out of date."""
    stale = [page for page in pages() if filled(page.read_text()) != page.read_text()]
    for page in stale:
        print(f"{'out of date' if '--check' in sys.argv else 'written'}: {page.relative_to(ROOT)}")
        if "--check" not in sys.argv:
            page.write_text(filled(page.read_text()))
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
