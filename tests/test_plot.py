"""Figures agree with the record, and unusual input is drawn or an error of one sentence."""

import importlib.util
import pickle
import sys
import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from rectifold import GMR, plot
from rectifold.bench.report import _figures
from rectifold.plot import (
    _rectification,
    _style,
    plot_confidence,
    plot_rank_heatmap,
    plot_rectification,
)
from rectifold.plot._ranks import heatmap_size
from rectifold.plot._rectification import coordinates
from rectifold.report._document_formats import figure_style, to_svg


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def flat(overlapping):
    """The shared data in two columns, with names for labels."""
    X, y = overlapping
    return X[:, :2], np.where(y == 1, "rare", "common")


@pytest.fixture
def three_classes():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], [300, 120, 60])
    return rng.normal(size=(480, 2)) + 1.3 * np.array([[0, 0], [1, 1], [1, -1]])[y], y


class Nearest(ClassifierMixin, BaseEstimator):
    """Classifier by the nearest mean, without scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.middles_ = np.array([X[y == one].mean(axis=0) for one in self.classes_])
        return self

    def predict(self, X):
        return abs(X[:, None] - self.middles_).sum(axis=2).argmin(axis=1)


def draw(record, X=None, **options):
    """Draw with a classifier that is fast."""
    return plot_rectification(record, X, **{"estimator": Nearest(), **options})


def record_of(X, y, **settings):
    gmr = GMR(**settings)
    gmr.fit_resample(X, y)
    return gmr.rectification_


def points_in(axes):
    """Return the coordinates of all samples that a panel draws."""
    drawn = [one for one in axes.collections if isinstance(one, PathCollection)]
    return np.concatenate([np.asarray(one.get_offsets()) for one in drawn])


def arrows_in(axes):
    return [one for one in axes.patches if isinstance(one, FancyArrowPatch)]


def as_set(points):
    return {tuple(point) for point in np.asarray(points).tolist()}


def words_in(legend):
    return [text.get_text() for text in legend.get_texts()]


def test_the_first_panel_has_all_samples_and_the_third_the_kept_ones(flat):
    record = record_of(*flat)
    original, _, cleaned = draw(record)
    assert as_set(points_in(original)) == as_set(flat[0])
    assert as_set(points_in(cleaned)) == as_set(flat[0][~record.removed])
    assert record.removed.any()


def test_removed_samples_are_marked_by_reason_and_spared_ones_circled(flat):
    record = record_of(*flat)
    original = draw(record)[0]
    marks = {line.get_marker(): as_set(line.get_xydata()) for line in original.lines}
    for reason, shape in _style.MARKS.items():
        gone = record.removed & (record.reason == reason)
        assert marks[shape] == as_set(flat[0][gone])
    assert marks["o"] == as_set(flat[0][record.spared])
    texts = words_in(original.get_legend())
    facts = record.summary()
    assert f"removed: deep noise ({facts['classes'][1]['deep_noise']})" in texts
    assert f"spared ({facts['spared']})" in texts
    assert not any("ambiguity" in text for text in texts)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_arrows_are_as_wide_as_weights(flat, class_weight):
    X, y = flat
    record = record_of(X, y, class_weight=class_weight)
    sample = int(np.flatnonzero(record.removed)[0])
    arrows = arrows_in(draw(record, sample=sample)[1])
    distances, near = NearestNeighbors(n_neighbors=16).fit(X).kneighbors(X[[sample]])
    weights = 1 / (distances[0, 1:] + 1e-8)
    if class_weight:
        weights /= record._target.sizes[record._target.codes[near[0, 1:]]]
    weights /= weights.sum()
    widths = np.array([arrow.get_linewidth() for arrow in arrows])
    np.testing.assert_allclose(widths / widths.sum(), weights)
    # They add up to the vote.
    own = y[near[0, 1:]] == y[sample]
    np.testing.assert_allclose(widths[own].sum() / widths.sum(), record.confidence[sample])
    colours = {"common": _style.COLOURS[0], "rare": _style.COLOURS[1]}
    assert [to_hex(one.get_edgecolor()) for one in arrows] == [colours[y[i]] for i in near[0, 1:]]


def test_the_vote_is_by_default_on_an_intrusion_and_described_below(flat):
    record = record_of(*flat)
    original, vote, _ = draw(record)
    sample = int(vote.get_title().split()[-1])
    assert record.removed[sample]
    assert record.reason[sample] == "intrusion"
    words = vote.get_xlabel().replace("\n", " ")
    assert f"Sample {sample} is labelled common" in words
    assert f"are labelled rare, with {1 - record.confidence[sample]:.2f} of the vote" in words
    assert "removed as intrusion" in words
    # A box in the first panel marks its view.
    (box,) = [one for one in original.patches if isinstance(one, Rectangle)]
    np.testing.assert_allclose((box.get_x(), box.get_x() + box.get_width()), vote.get_xlim())


def test_another_sample_is_chosen_by_its_index(flat):
    record = record_of(*flat)
    sample = int(np.flatnonzero(record.spared)[0])
    vote = draw(record, sample=sample)[1]
    assert f"Sample {sample} is labelled rare" in vote.get_xlabel()
    assert "spared as deep noise" in vote.get_xlabel().replace("\n", " ")
    for wrong in (len(flat[0]), -1, 0.5, "first"):
        with pytest.raises(ValueError, match="is not the index of a sample: it must be in 0 to"):
            draw(record, sample=wrong)


def test_a_unanimous_vote_is_described_without_arrows(flat):
    record = record_of(*flat)
    sample = int(record.confidence.argmax())
    assert record.confidence[sample] == 1
    vote = draw(record, sample=sample)[1]
    assert not arrows_in(vote)
    assert vote.get_xlabel() == f"All neighbours of sample {sample} carry its own label."


def test_the_caption_of_the_vote_mentions_if_nothing_was_removed(flat):
    X, y = flat
    untouched = record_of(X, y, gamma=0, sampling_strategy=["rare"], alpha=0)
    assert not untouched.removed.any()
    vote = draw(untouched)[1]
    assert vote.get_xlabel().startswith("Nothing was removed. Sample ")
    apart = record_of(X + 50 * (y == "rare")[:, None], y)
    vote = draw(apart)[1]
    words = vote.get_xlabel().replace("\n", " ")
    assert words == "Nothing was removed. All neighbours of every sample carry its own label."
    assert not arrows_in(vote)


def test_the_boundary_is_the_classifiers_before_and_after_cleaning(flat):
    X, y = flat
    record = record_of(X, y)
    linear = LogisticRegression()
    cleaned = draw(record, estimator=linear)[2]
    before, after = [one for one in cleaned.collections if isinstance(one, QuadContourSet)]
    assert words_in(cleaned.get_legend()) == [
        "decision boundary before cleaning",
        "decision boundary after cleaning",
    ]
    for drawn, rows in ((before, np.ones(len(y), dtype=bool)), (after, ~record.removed)):
        model = LogisticRegression().fit(X[rows], y[rows])
        on_line = drawn.get_paths()[0].vertices
        np.testing.assert_allclose(model.predict_proba(on_line)[:, 0], 0.5, atol=0.01)
    assert not hasattr(linear, "coef_")


@pytest.mark.parametrize("estimator", [None, RidgeClassifier(), Nearest()])
def test_three_classes_differ_in_colour_and_shape(three_classes, estimator):
    record = record_of(*three_classes, alpha=0.4)
    original, _, cleaned = draw(record, estimator=estimator)
    seen = {
        (to_hex(one.get_facecolor()[0]), one.get_paths()[0].vertices.shape)
        for one in original.collections
        if isinstance(one, PathCollection)
    }
    assert len({colour for colour, _ in seen}) == len(seen) == 3
    edges = [one for one in cleaned.collections if isinstance(one, QuadContourSet)]
    # At least two of three pairs of classes touch, before and after.
    assert 4 <= len(edges) <= 6


def test_two_features_are_the_axes_and_more_are_projected(overlapping):
    X, y = overlapping
    frame = pd.DataFrame(X[:, :2], columns=["a_$x$", "b"])
    original = draw(record_of(frame, y))[0]
    assert (original.get_xlabel(), original.get_ylabel()) == ("a_$x$", "b")
    original = draw(record_of(pl.DataFrame(X), y))[0]
    spread = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / len(X)
    np.testing.assert_allclose(points_in(original).var(axis=0), spread[:2])
    first, second = spread[:2] / spread.sum()
    assert original.get_xlabel() == f"component 1 ({first:.0%} of variance)"
    assert original.get_ylabel() == f"component 2 ({second:.0%})"


def test_principal_components_are_those_of_the_space(overlapping):
    X, y = overlapping
    wide = X * [1, 1, 1000]
    scaled = StandardScaler().fit_transform(wide)
    points, _ = coordinates(record_of(wide, y, space=StandardScaler()), None, None)
    spread = np.linalg.svd(scaled, compute_uv=False) ** 2 / len(X)
    np.testing.assert_allclose(points.var(axis=0), spread[:2])


def test_missing_values_of_two_features_are_drawn_at_their_means(flat):
    X, y = flat[0] + 50, flat[1]
    X[:5, 0] = np.nan
    points, _ = coordinates(record_of(X, y, metric="nan_euclidean"), None, None)
    np.testing.assert_allclose(points[:5, 0], np.nanmean(X[:, 0]))
    np.testing.assert_array_equal(points[5:], X[5:])


def messy(X):
    frame = pd.DataFrame(X, columns=[*"abc"])
    frame["kind"] = np.where(X[:, 0] > 0, "left", None)
    frame.loc[3, "a"] = np.nan
    return frame


def nullable(X):
    whole = pd.DataFrame((10 * X).round().astype(int)).astype("Int64")
    whole.iloc[7, 1] = pd.NA
    return whole


@pytest.mark.parametrize(
    ("make", "settings"),
    [
        (lambda X: X[:, :1], {}),
        (sparse.csr_array, {}),
        (lambda X: sparse.csr_array(X[:, :1]), {}),
        (lambda X: sparse.csr_array(X[:, :2]), {}),
        (lambda X: X.tolist(), {}),
        (np.array, {"metric": "cosine"}),
        (messy, {"space": "auto"}),
        (messy, {"space": "heom"}),
        (lambda X: messy(X)[["a", "kind"]], {"space": "auto"}),
        (lambda X: np.where(X > 2.5, np.nan, X), {"metric": "nan_euclidean"}),
        (nullable, {"metric": "nan_euclidean"}),
    ],
)
def test_input_of_every_kind_has_coordinates(overlapping, make, settings):
    X, y = overlapping
    record = record_of(make(X), y, **settings)
    from_a_file = pickle.loads(pickle.dumps(record))
    for points, _ in (
        coordinates(record, None, None),
        coordinates(from_a_file, make(X), None),
    ):
        assert points.shape == (len(y), 2)
        assert np.isfinite(points).all()
        assert points[:, 0].std() > 0


def test_an_embedding_replaces_coordinates(overlapping):
    record = record_of(*overlapping)
    embedding = np.random.default_rng(0).normal(size=(460, 2))
    original = draw(record, embedding=embedding)[0]
    assert as_set(points_in(original)) == as_set(embedding)


@pytest.mark.parametrize(
    ("embedding", "what"),
    [
        (np.zeros((460, 3)), r"shape \(460, 3\): it must be an array of shape \(460, 2\)"),
        (np.zeros((10, 2)), r"shape \(10, 2\)"),
        (np.zeros(460), r"shape \(460,\)"),
        (np.full((460, 2), np.nan), "embedding is not finite at sample 0"),
        ([["a", "b"]] * 460, "embedding can't be read as numbers"),
    ],
)
def test_an_embedding_of_another_shape_is_an_error(overlapping, embedding, what):
    with pytest.raises(ValueError, match=what):
        draw(record_of(*overlapping), embedding=embedding)


def test_a_record_from_a_pickle_needs_its_samples(flat):
    X, y = flat
    record = pickle.loads(pickle.dumps(record_of(X, y)))
    with pytest.raises(ValueError, match=r"does not hold the samples .* pass X, the samples"):
        draw(record)
    with pytest.raises(ValueError, match="X has 9 samples and the record 460"):
        draw(record, X[:9])
    original, vote, _ = draw(record, X)
    assert as_set(points_in(original)) == as_set(X)
    words = vote.get_xlabel().replace("\n", " ")
    assert words == "The record does not hold the neighbours."
    # An embedding needs no samples.
    assert as_set(points_in(draw(record, embedding=2 * X)[0])) == as_set(2 * X)


def test_other_columns_do_not_change_the_coordinates(flat):
    X, y = flat
    record = record_of(X, y)
    more = pd.DataFrame(X, columns=["a", "b"]).assign(name="text")
    assert as_set(points_in(draw(record, more)[0])) == as_set(X)
    with pytest.raises(ValueError, match="X has 9 samples and the record 460"):
        draw(record, more[:9])


def test_distances_without_coordinates_need_an_embedding(flat):
    X, y = flat
    graph = NearestNeighbors(n_neighbors=15).fit(X).kneighbors_graph(mode="distance")
    record = record_of(graph, y, metric="precomputed")
    with pytest.raises(ValueError, match="samples have no coordinates: pass embedding, an array"):
        draw(record)
    assert arrows_in(draw(record, embedding=X)[1])


def test_an_unfitted_sampler_and_too_few_axes_are_errors(flat):
    with pytest.raises(ValueError, match="must be a GMR after fit_resample"):
        plot_rectification(GMR())
    with pytest.raises(ValueError, match="axes must be 3 Axes here"):
        draw(record_of(*flat), axes=plt.subplots(1, 2)[1])
    with pytest.raises(ValueError, match="axes must be 2 Axes here"):
        plot_confidence(record_of(*flat), axes=plt.gca())


def test_a_random_sample_is_drawn_with_all_removed_and_spared_samples(flat, monkeypatch):
    fitted, fit = [], Nearest.fit
    monkeypatch.setattr(_rectification, "_MAX_DRAWN", 100)
    monkeypatch.setattr(Nearest, "fit", lambda self, X, y: fitted.append(len(y)) or fit(self, X, y))
    X, y = flat
    record = record_of(X, y)
    original, _, cleaned = draw(record)
    drawn = as_set(points_in(original))
    assert as_set(X[record.removed | record.spared]) <= drawn
    assert 100 <= len(drawn) <= 100 + (record.removed | record.spared).sum()
    assert as_set(points_in(cleaned)) == drawn - as_set(X[record.removed])
    assert f"not drawn ({len(y) - len(drawn)})" in words_in(original.get_legend())
    # The user's classifier is fitted to all samples.
    assert fitted == [len(y), (~record.removed).sum()]


def test_outliers_do_not_shrink_the_view_and_are_counted(flat):
    X, y = flat
    far = X.copy()
    far[np.flatnonzero(y == "common")[0]] = -1000
    record = record_of(far, y)
    original = draw(record)[0]
    assert original.get_xlim()[0] > -20
    assert "out of view (1)" in words_in(original.get_legend())


def test_labels_are_not_read_as_mathematics(flat):
    X, y = flat
    names = {"common": "_5$ of $x_", "rare": "caf\udce9 \N{SNAKE}" + 40 * "m"}
    record = record_of(X, np.array([names[one] for one in y], dtype=object))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        original = draw(record)[0]
        original.figure.canvas.draw()
        texts = words_in(original.get_legend())
        assert texts[0] == "_5$ of $x_ (strict)"
        assert texts[1].startswith("caf\\udce9 \N{SNAKE}mm")
        assert all(not text.get_parse_math() for text in original.get_legend().get_texts())
        panels = plot_confidence(record)
        panels[0].figure.canvas.draw()
        assert panels[0].get_title() == "_5$ of $x_ (strict): 400 samples"
        ranks = pd.DataFrame({"a$b$": [1.0, 2.0], "$": [1.0, 2.0]}, index=["_$x", "$y$"])
        axes = plot_rank_heatmap(ranks)
        axes.figure.canvas.draw()
        assert [text.get_text() for text in axes.get_xticklabels()] == ["a$b$", "$"]


def test_stacked_bars_add_up_to_the_classes(flat):
    record = record_of(*flat)
    for panel, one in zip(plot_confidence(record), record.summary()["classes"], strict=True):
        removed, spared, kept = (sum(bar.get_height() for bar in bars) for bars in panel.containers)
        assert (removed, spared) == (one["removed"], one["spared"])
        assert removed + spared + kept == one["before"]
        tops = [bar.get_y() + bar.get_height() for bar in panel.containers[0]]
        assert tops == [bar.get_y() for bar in panel.containers[1]]
        assert panel.get_xlim() == (0, 1)


def test_lines_mark_the_thresholds(flat, three_classes):
    def lines(panel):
        return [float(line.get_xdata()[0]) for line in panel.lines]

    common, rare = plot_confidence(record_of(*flat, alpha=0.6, beta=0.8))
    assert lines(common) == [0.6, 0.5]
    assert lines(rare) == pytest.approx([0.2])
    strict, *protected = plot_confidence(record_of(*three_classes, alpha=0.4))
    assert lines(strict) == [0.4]
    assert [lines(panel) for panel in protected] == [[pytest.approx(0.3)]] * 2
    # Classes that lose nothing have no lines.
    untouched = plot_confidence(record_of(*flat, sampling_strategy=["common"]))[1]
    assert lines(untouched) == []
    assert lines(plot_confidence(record_of(*three_classes, min_minority=100))[2]) == []


def test_counts_are_logarithmic_where_one_bar_dwarfs_the_rest(flat):
    X, y = flat
    apart = np.where((y == "rare")[:, None], X + 2.5, X)
    assert plot_confidence(record_of(apart, y))[0].get_yscale() == "log"
    noise = np.random.default_rng(0).normal(size=X.shape)
    panel = plot_confidence(record_of(noise, y, n_neighbors=5))[1]
    assert panel.get_yscale() == "linear"


def test_the_heat_map_is_that_of_the_report():
    ranks = pd.DataFrame(
        np.random.default_rng(0).uniform(1, 4, (4, 3)),
        index=["GMR", *"bcd"],
        columns=["x", "y", "mean"],
    )
    plt.close("all")
    with figure_style():
        figure = Figure(figsize=heatmap_size(ranks))
        axes = plot_rank_heatmap(ranks, highlight=["GMR"], axes=figure.add_subplot())
        assert to_svg(figure) == _figures.heat_map(ranks)
    shown = [text.get_text() for text in axes.texts]
    assert shown == [f"{value:.2f}" for value in ranks.to_numpy().ravel()]
    weights = [label.get_fontweight() for label in axes.get_yticklabels()]
    assert weights == ["bold", *["normal"] * 3]
    assert not plt.get_fignums()


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    spec = importlib.util.spec_from_file_location("rectifold_plot_again", plot.__file__)
    with pytest.raises(ImportError, match=r"^rectifold\.plot needs matplotlib: pip install"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
