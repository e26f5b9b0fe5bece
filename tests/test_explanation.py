"""Explanations: the parts of a prediction, the neighbours that voted, and what the page holds."""

import base64
import gzip
import json
import os
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from rectifold import NeighborVoteClassifier, RectifiedClassifier, TableSpace
from rectifold._io import FileError
from rectifold.model_selection import Explanation, explain
from rectifold.report._beside import choose_columns
from rectifold.report._table import Columns

HOSTILE = "<img src=x onerror=\"document.title='hacked'\">"
NAMES = [
    "amount",
    HOSTILE,
    "</script><script>alert(1)</script>",
    "{{ 7 * 7 }}",
    "\u202eg\x00",
    "",
]


def numbers(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    # Rounded, so that there are equal cells and ties.
    X = rng.normal(size=(n, d)).round(1)
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 1.2, "rare", "common")
    return X, y


def table(n=300, seed=0):
    X, y = numbers(n, seed=seed)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"amount": X[:, 0], "age": X[:, 1]})
    frame["country"] = rng.choice(["fr", "de", "it"], n)
    frame["day"] = rng.choice(["2024-01-31", "2024-02-29", "2024-03-31"], n)
    frame.loc[::7, "age"] = np.nan
    return frame, y


def fitted(X, y, weight=0.4, **options):
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    estimator = make_pipeline(TableSpace(), tree) if hasattr(X, "iloc") else tree
    model = RectifiedClassifier(estimator, param_grid=[], vote_weight=weight, **options)
    return model.fit(X, y)


@pytest.fixture(scope="module")
def split():
    X, y = numbers()
    return fitted(X[:200], y[:200]), X[:200], y[:200], X[200:]


@pytest.fixture(scope="module")
def explanation(split):
    model, X_train, _, X = split
    return explain(model, X, X_train)


def facts_of(page):
    packed = re.search(r'id="facts">([^<]*)<', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


class TestParts:
    def test_the_parts_add_up_to_the_prediction_of_the_model(self, split, explanation):
        model, _, _, X = split
        e = explanation
        np.testing.assert_array_equal(e.probabilities, model.predict_proba(X))
        np.testing.assert_array_equal(e.predicted, model.predict(X))
        np.testing.assert_array_equal(e.probabilities, 0.6 * e.classifier + 0.4 * e.vote)
        np.testing.assert_array_equal(e.vote, model.vote_.predict_proba(X))
        np.testing.assert_array_equal(e.classifier, model.estimator_.predict_proba(X))
        assert e.vote_weight == 0.4
        assert e.positive == "rare"

    def test_the_method_of_the_model_gives_the_same(self, split, explanation):
        model, X_train, _, X = split
        mine = model.explain(X, X_train)
        assert isinstance(mine, Explanation)
        pd.testing.assert_frame_equal(mine.to_frame(), explanation.to_frame())

    def test_samples_are_ordered_by_the_probability_of_the_smallest_class(self, explanation):
        p = explanation.probabilities[explanation.order, 1]
        assert (np.diff(p) <= 0).all()
        assert len(p) == 100

    def test_three_classes_are_explained_by_the_smallest(self):
        X, _ = numbers()
        y = np.repeat([2, 0, 1], [150, 100, 50])
        e = explain(fitted(X, y), X)
        assert e.positive == 1
        assert e.to_dict()["samples"][0]["predicted"] in (0, 1, 2)
        assert len(facts_of(e.to_html())["samples"]["classes"][0]) == 3


class TestNeighbours:
    def test_weights_are_the_shares_of_the_vote_and_sum_to_the_vote(self, split, explanation):
        model, _, y, X = split
        frame = explanation.to_frame(n_neighbors=None)
        assert set(frame["sample"]) == set(range(100))
        np.testing.assert_allclose(frame.groupby("sample")["weight"].sum(), 1)
        shares = model.vote_.vote_shares(X).toarray()
        np.testing.assert_array_equal(shares[frame["sample"], frame["neighbor"]], frame["weight"])
        assert np.count_nonzero(shares) == len(frame)
        np.testing.assert_array_equal(frame["label"], y[frame["neighbor"]])
        of_rare = frame["weight"].where(frame["label"] == "rare", 0).groupby(frame["sample"]).sum()
        np.testing.assert_allclose(of_rare, explanation.vote[:, 1])

    def test_the_most_influential_come_first(self, explanation):
        frame = explanation.to_frame(samples=[7, 3])
        assert frame["sample"].drop_duplicates().tolist() == [7, 3]
        for _, one in frame.groupby("sample"):
            assert one["weight"].is_monotonic_decreasing
        few = explanation.to_frame(samples=[7, 3], n_neighbors=4)
        expected = frame.groupby("sample", sort=False).head(4).reset_index(drop=True)
        pd.testing.assert_frame_equal(few, expected)

    @pytest.mark.parametrize("views", ["auto", ("quantiles",)])
    def test_distances_are_those_on_one_scale(self, views):
        X, y = numbers()
        model = fitted(X[:200], y[:200], voter=NeighborVoteClassifier(views=views))
        frame = explain(model, X[200:]).to_frame()
        scaler = model.vote_.space_
        train, new = (scaler.transform(part).astype(np.float32) for part in (X[:200], X[200:]))
        difference = new[frame["sample"]].astype(np.float64) - train[frame["neighbor"]]
        expected = np.sqrt((difference**2).sum(axis=1))
        np.testing.assert_allclose(frame["distance"], expected, rtol=1e-14)

    def test_sparse_features_have_cosine_distances(self):
        rng = np.random.default_rng(0)
        X = sparse.random_array((150, 160), density=0.05, format="csr", rng=rng)
        y = np.where(np.arange(150) % 5 == 0, 1, 0)
        model = fitted(X[:100], y[:100])
        e = explain(model, X[100:], X[:100])
        frame = e.to_frame(samples=range(5))
        dense = X.toarray()
        unit = dense / np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-300)
        cosine = (unit[100:][frame["sample"]] * unit[frame["neighbor"]]).sum(axis=1)
        np.testing.assert_allclose(frame["distance"], 1 - cosine, atol=1e-6)
        facts = facts_of(e.to_html(n_samples=3))
        assert facts["n_columns"] == 160
        assert len(facts["columns"]) == 40

    def test_without_weight_there_are_no_neighbours(self):
        X, y = numbers()
        e = explain(fitted(X[:200], y[:200], weight=0), X[200:], X[:200])
        assert e.vote is None
        assert e.positive == "rare"
        frame = e.to_frame()
        assert len(frame) == 0
        assert frame.columns.tolist()[:3] == ["sample", "predicted", "probability"]
        assert e.to_dict()["samples"][0]["neighbors"] == []
        assert "has the weight 0" in e.to_html()
        assert "classifier" in repr(e)

    def test_of_many_samples_only_some_have_neighbours_computed(self, split, monkeypatch):
        model, X_train, _, X = split
        many = np.tile(X, (30, 1))
        asked = []
        shares = NeighborVoteClassifier.vote_shares
        monkeypatch.setattr(
            NeighborVoteClassifier,
            "vote_shares",
            lambda self, X: asked.append(len(X)) or shares(self, X),
        )
        e = explain(model, many, X_train)
        assert asked == []
        assert e.to_frame()["sample"].nunique() == 1000
        assert asked == [1000]
        asked.clear()
        facts = facts_of(e.to_html())
        assert asked == [200]
        assert facts["n_samples"] == 3000
        assert facts["samples"]["row"] == e.order[:200].tolist()
        assert "The 200 samples with the highest probability of" in e.to_html()


def test_the_dict_is_ready_for_json_and_agrees_with_the_frame(explanation):
    facts = json.loads(json.dumps(explanation.to_dict(n_neighbors=3), allow_nan=False))
    assert facts["classes"] == ["common", "rare"]
    assert (facts["positive"], facts["vote_weight"], facts["n_samples"]) == ("rare", 0.4, 100)
    frame = explanation.to_frame(n_neighbors=3)
    neighbors = [one for sample in facts["samples"] for one in sample["neighbors"]]
    assert [one["index"] for one in neighbors] == frame["neighbor"].tolist()
    assert [one["distance"] for one in neighbors] == frame["distance"].tolist()
    for one in facts["samples"]:
        parts = [0.6 * c + 0.4 * v for c, v in zip(one["classifier"], one["vote"], strict=True)]
        assert parts == pytest.approx(one["probabilities"])


def test_it_prints_the_samples_with_the_highest_probability(explanation):
    lines = repr(explanation).splitlines()
    assert lines[0] == "100 samples: 0.6 of the classifier and 0.4 of the vote"
    assert int(lines[2].split()[0]) == explanation.order[0]
    assert len(lines) == 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.to_frame(samples=[100]), r"^samples has the position 100, .* 100 samples"),
        (lambda e: e.to_frame(samples=[-1]), r"^samples has the position -1"),
        (lambda e: e.to_dict(samples=[0.5]), r"^samples must be positions"),
        (lambda e: e.to_frame(n_neighbors=0), r"^n_neighbors=0 must be a positive integer"),
        (lambda e: e.to_html(n_samples=0), r"^n_samples=0 must be a positive integer"),
        (lambda e: e.to_html(X=np.zeros((3, 4))), r"^X has 3 samples, and 100 were explained"),
        (lambda e: e.to_html(X_train=np.zeros((200, 9))), r"^X_train has 9 columns, and X has 4"),
        (lambda e: e.to_html(X_train=np.zeros((9, 4))), r"^X_train has 9 samples, and 200"),
    ],
)
def test_wrong_arguments_get_one_sentence(explanation, call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call(explanation)
    assert "\n" not in str(caught.value)


def test_training_data_of_another_model_get_one_sentence(split):
    model, X_train, _, X = split
    with pytest.raises(ValueError, match=r"^X_train has 199 samples, .* fitted on 200"):
        explain(model, X, X_train[1:])


class TestPage:
    def test_it_holds_the_cells_of_samples_and_of_their_neighbours(self):
        X, y = table()
        X.index = [f"id{place}" for place in range(300)]
        e = explain(fitted(X[:200], y[:200]), X[200:], X[:200])
        facts = facts_of(e.to_html(n_samples=5, n_neighbors=4))
        samples, train = facts["samples"], facts["train"]
        assert samples["row"] == e.order[:5].tolist()
        assert samples["index"] == [f"id{200 + row}" for row in samples["row"]]
        assert [len(near) for near in samples["near"]] == [4] * 5
        frame = e.to_frame(samples=samples["row"], n_neighbors=4)
        found = [train["row"][one[0]] for near in samples["near"] for one in near]
        assert found == frame["neighbor"].tolist()
        assert [facts["labels"][code] for code in train["class"]] == y[train["row"]].tolist()
        for column in facts["columns"]:
            for row, cell in zip(samples["row"], column["cells"], strict=True):
                expected = X[column["name"]].iloc[200 + row]
                assert cell == (None if pd.isna(expected) else expected)
            for row, cell in zip(train["row"], column["train"], strict=True):
                expected = X[column["name"]].iloc[row]
                assert cell == (None if pd.isna(expected) else expected)

    def test_equal_cells_and_those_that_differ_most_are_marked(self):
        X, y = table()
        e = explain(fitted(X[:200], y[:200]), X[200:], X[:200])
        facts = facts_of(e.to_html(n_samples=20))
        spread = X[:200].std(numeric_only=True)
        days = pd.to_datetime(X["day"]).astype("int64")
        seen = set()
        for at, near in enumerate(facts["samples"]["near"]):
            for other, _, _, marks in near:
                for column, mark in zip(facts["columns"], marks, strict=True):
                    mine, theirs = column["cells"][at], column["train"][other]
                    assert (mark == "1") == (mine == theirs)
                    seen.add(mark)
                    if mark != "2" or None in (mine, theirs) or column["name"] == "country":
                        continue
                    if column["name"] == "day":
                        parts = pd.to_datetime([mine, theirs]).astype("int64")
                        assert abs(parts[0] - parts[1]) / days[:200].std() > 0.49
                    else:
                        assert abs(mine - theirs) / spread[column["name"]] > 0.49
                assert marks.count("2") <= 3
        assert seen == {"0", "1", "2"}

    def test_identifiers_are_not_marked_as_different(self):
        X, y = table()
        X["name"] = [f"shop {place}" for place in range(300)]
        with pytest.warns(UserWarning, match="nearly all values"):
            model = fitted(X[:200], y[:200])
        facts = facts_of(explain(model, X[200:], X[:200]).to_html(n_samples=5))
        names = [column["name"] for column in facts["columns"]]
        marks = {one[3][names.index("name")] for near in facts["samples"]["near"] for one in near}
        assert marks == {"0"}

    def test_extreme_cells_can_be_compared(self):
        X, y = numbers()
        extreme = X.copy()
        extreme[0], extreme[1], extreme[250] = 1e308, -1e308, -1.7e308
        e = explain(fitted(X[:200], y[:200]), X[200:], X[:200])
        facts = facts_of(e.to_html(X=extreme[200:], X_train=extreme[:200], n_samples=100))
        assert facts["n_samples"] == 100
        assert json.dumps(facts, allow_nan=False)

    def test_the_columns_that_tell_more_are_shown_if_there_are_many(self):
        X = np.random.default_rng(0).normal(size=(100, 90))
        positive = np.arange(100) < 20
        X[positive, 60] += 3
        chosen = choose_columns([*range(90)], Columns(X), positive)
        assert len(chosen) == 40
        assert 60 in chosen
        assert (np.diff(chosen) > 0).all()

    def test_other_tables_can_be_shown_and_their_columns_are_matched_by_name(self, split):
        model, X_train, _, X = split
        shown = pd.DataFrame({"card": [f"card {i}" for i in range(100)], "amount": X[:, 0]})
        train = pd.DataFrame({"amount": X_train[:, 0], "other": 1})
        facts = facts_of(explain(model, X).to_html(X=shown, X_train=train, n_samples=2))
        card, amount = facts["columns"]
        assert card["cells"] == [f"card {row}" for row in facts["samples"]["row"]]
        assert card["train"] is None
        assert amount["train"] == X_train[facts["train"]["row"], 0].tolist()

    def test_columns_that_are_no_features_are_shown_and_not_compared(self):
        X, y = table()
        e = explain(fitted(X[:200], y[:200]), X[200:], X[:200])
        shown = X.assign(batch="same")
        facts = facts_of(e.to_html(X=shown[200:], X_train=shown[:200], n_samples=3))
        assert [column["compared"] for column in facts["columns"]] == [True] * 4 + [False]
        assert {one[3][4] for near in facts["samples"]["near"] for one in near} == {"0"}
        assert facts["columns"][4]["train"][0] == "same"

    def test_names_labels_and_cells_are_escaped(self):
        X, y = numbers(d=6)
        frame = pd.DataFrame(X, columns=NAMES).astype({HOSTILE: object})
        frame[HOSTILE] = [HOSTILE if place % 2 else "</script>" for place in range(300)]
        frame[NAMES[3]] = ["x" * 5000 if place % 2 else "\x00\u202e{{x}}" for place in range(300)]
        frame.index = [f"</td>{HOSTILE}{place}" for place in range(300)]
        labels = np.where(y == "rare", "</script><script>alert(2)</script>", f"🦙{HOSTILE}")
        e = explain(fitted(frame[:200], labels[:200]), frame[200:], frame[:200])
        for page in (e.to_html(title="</title><script>alert(3)</script>"), e._repr_html_()):
            # Tags of the template only.
            tags = Tags(page)
            assert "img" not in tags.found
            # The data, the scripts, and the one that decompresses them; none outside the frame.
            assert tags.found.count("script") in (0, 3)
            assert "<script>alert" not in page
            assert len(page) < 1_000_000
        facts = facts_of(e.to_html())
        assert facts["columns"][1]["name"] == HOSTILE
        assert facts["columns"][4]["name"] == "\\u202eg\\x00"
        assert max(len(cell) for cell in facts["columns"][3]["cells"]) <= 200

    def test_its_policy_allows_its_own_script_only_and_no_request(self, explanation):
        page = explanation.to_html()
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "unsafe-eval" not in policy
        assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg|http-equiv", "", page)

    def test_its_size_is_bounded(self, split, monkeypatch):
        monkeypatch.setattr("rectifold.report._explanation_page._MAX_BYTES", 2_000_000)
        model, _, _, X = split
        rng = np.random.default_rng(0)

        def noise(n):
            texts = rng.integers(33, 126, size=(n, 40 * 190), dtype=np.uint8)
            cells = [bytes(row).decode() for row in texts]
            columns = range(40)
            return pd.DataFrame(
                {f"c{c}": [cell[190 * c : 190 * (c + 1)] for cell in cells] for c in columns}
            )

        e = explain(model, X)
        page = e.to_html(X=noise(100), X_train=noise(200))
        assert len(page) < 2_000_000
        assert len(facts_of(page)["samples"]["row"]) < 100

    def test_it_is_written_whole_as_a_page_or_as_json(self, explanation, tmp_path):
        page = explanation.report(tmp_path / "why.html", n_samples=3)
        assert (tmp_path / "why.html").read_text(encoding="utf-8") == page
        explanation.report(tmp_path / "why.json")
        assert json.loads((tmp_path / "why.json").read_text()) == explanation.to_dict()
        with pytest.raises(FileError, match=r"must end in \.html"):
            explanation.report(tmp_path / "why.pdf")
        assert sorted(os.listdir(tmp_path)) == ["why.html", "why.json"]
        assert explanation.report(n_samples=3) == page


class Tags(HTMLParser):
    """The names of all tags of a page."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)
