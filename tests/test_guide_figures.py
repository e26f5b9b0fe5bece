"""What the guide and the pitfalls say of results is what the files of results say."""

import re

import pytest

from published import RESULTS, loaded, rows_of, text


def signed(number):
    return f"{number:+.4f}".replace("-", "−")


@pytest.fixture(scope="module")
def frame():
    """The paper's experiment, with the newest version of every method."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("filelock")
    from rectifold.bench import Store
    from rectifold.bench._comparison import newest

    return newest(Store(RESULTS / "paper").read())[0]


@pytest.fixture(scope="module")
def comparison(frame):
    from rectifold.bench._comparison import compare

    return compare(frame)


def test_ranks_and_differences_of_the_cleaners_are_those_of_the_experiment(comparison):
    told = text("docs/guide/from-imbalanced-learn.md")
    ranks = comparison.rank_table()["Avg"]
    means = comparison.by_dataset()
    assert f"| no sampling | {ranks['None']:.2f} | |" in told
    for method in (
        "TomekLinks",
        "NeighbourhoodCleaningRule",
        "GMR",
        "EditedNearestNeighbours",
        "AllKNN",
        "RepeatedEditedNearestNeighbours",
        "SMOTEENN",
    ):
        difference = (means[method] - means["None"]).mean()
        assert f"| {method} | {ranks[method]:.2f} | {signed(difference)} |" in told
    assert f"(SMOTE alone has the average rank {ranks['SMOTE']:.2f}" in told


def test_data_sets_with_the_most_to_gain_and_to_lose_are_those_of_the_experiment(frame, comparison):
    from scipy.stats import spearmanr

    told = text("docs/guide/why.md")
    ranks, means = comparison.rank_table()["Avg"], comparison.by_dataset()
    gain = means["GMR"] - means["None"]
    rare = frame[frame["status"] == "ok"].groupby("dataset")["minority_before"].median()
    assert f"average rank {ranks['GMR']:.2f} of 20 and no sampling {ranks['None']:.2f}" in told
    assert f"differs by {signed(gain.mean())} (95 %" in told
    extremes = (
        f"from {signed(gain.min())} ({gain.idxmin()}) to {signed(gain.max())} ({gain.idxmax()})"
    )
    assert extremes in told
    correlation = spearmanr(gain, rare.reindex(gain.index)).statistic
    assert f"their number is {correlation:+.2f}.".replace("-", "−") in told


def test_the_interval_and_the_leak_are_those_of_the_experiment(frame, comparison):
    from rectifold.bench._protocols import BEFORE_SPLIT
    from rectifold.bench._statistics import interval
    from rectifold.bench.report import _leak

    means = comparison.by_dataset()
    low, high = interval((means["GMR"] - means["None"]).to_numpy())
    assert f"(95 % interval {signed(low)} to {signed(high)})" in text("docs/guide/why.md")
    # tests/test_bench_report.py holds the report to the store.
    report = (RESULTS / "paper" / "report" / "README.md").read_text()
    counts = re.search(r"\d+ wins, \d+ ties, \d+ losses", report)[0]
    assert f"with {counts} (`make bench-paper`" in text("docs/guide/why.md")
    (section,) = _leak.sections(comparison, frame[frame["protocol"] == BEFORE_SPLIT])
    _, words, table = section.parts
    leaked, honest = re.search(r"rank (\d\.\d\d) instead of (\d\.\d\d);", words).groups()
    told = text("docs/pitfalls.md")
    assert f"GMR has the average rank {honest} among 20 methods" in told
    assert f"before the split it would have {leaked}," in told
    assert f"AUPRC is {table.rows[-1][-1].lstrip('+')} higher on average" in told


@pytest.fixture(scope="module")
def chosen(frame):
    """AUPRC of settings chosen from the data, and of no sampling on the same splits."""
    import pandas as pd

    from rectifold.bench import Store
    from rectifold.bench._comparison import compare, newest

    none = frame[frame["method"] == "None"]
    cells = ["dataset", "classifier", "seed"]
    found = {}
    for name in ("adaptive", "adaptive/unseen"):
        own = newest(Store(RESULTS / name).read())[0]
        beside = none.merge(own[cells].drop_duplicates(), on=cells)
        found[name] = compare(pd.concat([own, beside])).values
    return found


def test_what_choosing_gains_is_that_of_its_results(chosen):
    told = text("docs/guide/why.md")
    here, unseen = chosen["adaptive"], chosen["adaptive/unseen"]
    gain = (here.sub(here["None"], axis=0)).mean()
    assert f"one fit gains {signed(gain['GMR-adaptive'])} over no sampling, with 15 wins" in told
    assert f"Ten averaged fits gain {signed(gain['GMR-ensemble'])};" in told
    assert f"cleaning, has {signed(gain['Subsampling'])} of that." in told
    one = (unseen["GMR-adaptive"] - unseen["None"]).mean()
    assert f"one fit gains {signed(one)}, which is not significant" in told
    # tests/test_adaptive_results.py holds this file to its store.
    report = (RESULTS / "adaptive" / "README.md").read_text()
    counts = re.search(r"GMR-adaptive against None: .* (\d+ wins), (\d) ties, (\d losses)", report)
    wins, ties, losses = counts.groups()
    assert f"with {wins}, {ties} tie and {losses} (p < 0.001)" in told


def test_what_each_classifier_gains_is_that_of_the_results(comparison, chosen):
    told = text("docs/guide/why.md")
    names = {
        "DT": "decision tree",
        "RF": "random forest",
        "SVM": "support vectors",
        "KNN": "nearest neighbours",
        "LR": "logistic regression",
        "XGB": "XGBoost",
        "GBM": "gradient boosting",
    }
    values = chosen["adaptive"]
    # The same splits: all five seeds of these data sets are in the paper's experiment too.
    values = values.assign(GMR=comparison.values["GMR"].reindex(values.index))
    gains = values.sub(values["None"], axis=0).groupby(level="classifier").mean()
    for classifier, name in names.items():
        methods = ("GMR", "GMR-adaptive", "GMR-ensemble", "Subsampling")
        cells = " | ".join(signed(gains.loc[classifier, method]) for method in methods)
        assert f"| {name} | {cells} |" in told


def test_where_the_gpu_overtakes_is_as_measured():
    told = text("docs/guide/large.md")
    exact = rows_of("speed/exact_engine.json")
    gpu = loaded("gpu/engine.json")
    one, other, third = (
        gpu["checked"][name]["ratio_to_exact"] for name in ("car_eval_34", "car_eval_4", "us_crime")
    )
    rows, more = exact["car_eval_4"]["rows"], exact["us_crime"]["rows"]
    assert (
        f"({one} and {other} times on the two sets of {rows:,}, {third} times on {more:,})" in told
    )
    assert {True} == {
        one["ratio_to_exact"] > 1
        for name, one in gpu["checked"].items()
        if exact[name]["rows"] >= exact["us_crime"]["rows"]
    }
    protein = gpu["checked"]["protein_homo"]["ratio_to_exact"]
    assert f"{protein:.0f} times faster on {exact['protein_homo']['rows']:,}" in told
    largest = rows_of("gpu/engine.json")["synthetic"]
    assert largest["rows"] == 10_000_000
    assert f"ten million rows of {largest['columns']} columns took" in told
    assert f"took {largest['device_memory_gb']:.0f} GB" in told


def test_what_the_exact_engine_gains_is_as_measured():
    told = text("docs/guide/large.md")
    measured = loaded("speed/exact_engine.json")
    least = measured["summary"]["lowest_ratio_of_those_with_2000_rows"]
    # What repeated runs gave, in the words of the page on speed.
    assert 0.9 <= least <= 1.3
    assert "at parity (0.9 to 1.3 times on the least favourable sets, in repeated runs)" in told
    assert "the ratio was between 0.9 and 1.3" in text("docs/guide/speed.md")
    card = rows_of("speed/exact_engine.json")["creditcard"]
    assert f"{card['ratio_to_paper']:.0f} times on {card['rows']:,} rows of card fraud" in told


def test_what_approximation_gains_and_takes_is_as_measured():
    told = text("docs/guide/large.md")
    exact = rows_of("speed/exact_engine.json")
    runs = {}
    for name in ("cidds001_attacker", "ecg_mitbih", "covtype_1", "gaussians_1m"):
        runs[name] = [
            loaded(f"approximate/runs/{name}-{how}.json") for how in ("exact", "approximate")
        ]
    ratio = {name: one["seconds"] / other["seconds"] for name, (one, other) in runs.items()}
    proved = round(100 * exact["cidds001_attacker"]["certified"])
    assert f"{ratio['cidds001_attacker']:.1f} times where {proved} % are certified" in told
    assert f"{ratio['ecg_mitbih']:.1f} times on {runs['ecg_mitbih'][0]['rows']:,} x 187" in told
    assert f"{ratio['covtype_1']:.1f} times on {runs['covtype_1'][0]['rows']:,} x 54" in told
    assert f"{ratio['gaussians_1m']:.0f} times on a million rows of 128 columns" in told
    before, after = (one["megabytes"] for one in runs["gaussians_1m"])
    assert f"{after:,} MB beyond the data instead of {before:,}" in told


def test_what_a_cluster_and_memory_take_is_as_measured():
    told = text("docs/guide/large.md")
    overhead = loaded("dask/overhead.json")["results"]["creditcard"]
    ratio = overhead["cluster over one machine, two cores"]
    assert f"two workers take {ratio:.2f} times as long" in told
    seconds = sorted(overhead["seconds"]["one machine, 2"])[2]
    assert f"takes {seconds:.1f} seconds on two cores" in told
    large = loaded("dask/out_of_core.json")
    size = f"{large['rows']:,} rows, {large['gigabytes']:.1f} GB"
    assert f"{size}, in {max(large['megabytes_at_most']) / 1000:.1f} GB a worker" in told
    for one in loaded("memory.json"):
        sizes = (one["input_mb"], one["peak_mb"], one["imports_mb"])
        assert f"| {one['rows']:,} | " + " | ".join(f"{size:,.0f}" for size in sizes) in told
