"""Figures with matplotlib: what a run did and why, how sure votes were, and average ranks."""

from __future__ import annotations

import textwrap
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from rectifold._typing import Bools, Floats, Ints
from rectifold.names import in_unicode
from rectifold.rectification import Rectification
from rectifold.rules import INTRUSION, KEPT, REASONS, REMOVED, SPARED, guarded
from rectifold.space import as_numbers
from rectifold.votes import size_order

try:
    import matplotlib as mpl
    import matplotlib.patches
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, MaxNLocator
except ModuleNotFoundError:
    raise ImportError("rectifold.plot needs matplotlib: pip install 'rectifold[plot]'.") from None

if TYPE_CHECKING:
    import pandas as pd

#: Paul Tol's bright colours, which the colour-blind can tell apart; the red is of his vibrant ones.
COLOURS = ("#4477aa", "#cc3311", "#228833", "#ccbb44", "#66ccee", "#aa3377")
#: One shape more than colours, so that classes share both only from the 43rd on.
SHAPES = ("o", "s", "^", "D", "*", "p", "h")
INK, GREY = "#222222", "#777777"
#: How removed rows are marked: shapes that no class has.
MARKS = {"intrusion": "x", "ambiguity": "+", "deep noise": "v"}
#: Of more rows a sample is drawn.
MOST = 20_000
#: Points of line width that the heaviest neighbour's arrow has.
THICKEST = 4.5
#: Handles of a legend, and what it says.
_Entries: TypeAlias = list[tuple[Any, str]]
#: A dollar sign in a label is one.
_STYLE: dict[Any, Any] = {"text.parse_math": False}


def plot_rectification(
    gmr: Any,
    X: Any = None,
    *,
    embedding: Any = None,
    row: int | None = None,
    estimator: Any = None,
    axes: Any = None,
) -> npt.NDArray[Any]:
    """Draw what cleaning did, in three panels: the original rows, a vote, the cleaned rows.

    The first panel marks rows that were removed, by reason, or spared; its dashed box is what the
    second one shows. There, arrows from its neighbours to a row are as thick as their weights in
    the vote. The third has the decision boundary of a classifier that is fitted to the two
    coordinates, before cleaning (dashed) and after; with more than two classes, all edges between
    the regions in which a class is predicted. Of more than 20,000 rows a sample is drawn, an equal
    number of every class, with all that were removed or spared. Rows far out may be out of view.

    Parameters
    ----------
    gmr : GMR or Rectification
        A sampler after `fit_resample`, or its record.
    X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_features), default=None
        The rows that were cleaned; None takes those that the record holds.
    embedding : array-like of shape (n_rows, 2), default=None
        Coordinates to draw rows at. None takes the two columns of `X`, if it has just two that
        are numbers, or else the first two principal components in the space of the run.
    row : int, default=None
        Position of the row whose vote is shown. None takes an intrusion of whose neighbours some
        weigh more than others, but none decides alone; where there is no intrusion, another row
        that was removed, spared or in question.
    estimator : classifier, default=None
        Any classifier of scikit-learn. None takes a smooth one with balanced class weights: a
        logistic regression on an approximate RBF kernel.
    axes : sequence of three matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ndarray of three matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import GMR
    >>> from rectifold.plot import plot_rectification
    >>> X, y = make_classification(n_samples=1000, n_features=4, weights=[0.85],
    ...                            flip_y=0.05, random_state=0)
    >>> gmr = GMR()
    >>> X_clean, y_clean = gmr.fit_resample(X, y)
    >>> original, vote, cleaned = plot_rectification(gmr)
    >>> cleaned.get_title()
    '(c) cleaned: 825 of 0, 155 of 1'
    """
    record = _record(gmr)
    points, names = _coordinates(record, X, embedding)
    row = _telling(record) if row is None else _checked(row, len(points))
    sample = _sample(record)
    marked = record.removed | record.spared
    shown = sample | marked
    window = _window(points, marked)
    outside = int(((points < window[0]) | (points > window[1])).any(axis=1).sum())
    size = float(np.clip(16_000 / shown.sum(), 4, 20))
    with mpl.rc_context(_STYLE):
        panels = _panels(axes, 3, ncols=3, figsize=(15, 6))
        original, vote, cleaned = panels
        for panel in panels:
            panel.set(xlim=window[:, 0], ylim=window[:, 1], xticks=[], yticks=[])
            panel.spines[:].set_color("#bbbbbb")
        _draw_rows(original, record, points, shown, size)
        entries = [*_class_entries(record), *_draw_marks(original, record, points, 6)]
        unseen = {"not drawn": int((~shown).sum()), "out of view": outside}
        blank = Line2D([], [], ls="none")
        entries += [(blank, f"{what} ({count:,})") for what, count in unseen.items() if count]
        _legend(original, entries, ncols=2)
        original.set_title("(a) original: " + _sizes(record, record.target.sizes))
        original.set(xlabel=names[0], ylabel=names[1])
        box = _draw_vote(vote, record, points, shown, row, window, size)
        if box is not None:
            sides = box[1] - box[0]
            edge = mpl.patches.Rectangle(box[0], *sides, fill=False, ec=INK, ls="--", zorder=5)
            original.add_patch(edge)
        _draw_rows(cleaned, record, points, shown & ~record.removed, size)
        after = np.bincount(record.target.codes[~record.removed], minlength=len(record.classes))
        cleaned.set_title("(c) cleaned: " + _sizes(record, after))
        fitted = sample if estimator is None else np.ones(len(points), dtype=bool)
        if estimator is None:
            estimator = _smooth(int((fitted & ~record.removed).sum()))
        _draw_boundaries(cleaned, record, points, fitted, estimator, window)
    return panels


def plot_confidence(gmr: Any, *, axes: Any = None) -> npt.NDArray[Any]:
    """Draw how sure votes were: a histogram of confidence for every class, the largest first.

    Bars are stacked by what happened: removed rows below, spared ones above them, then those that
    were kept. Lines are the thresholds of the class: alpha, where it is strict; 1 - beta, where it
    is protected, since candidates have a vote over beta against them. Of two classes, the larger
    one, where it is strict, also has a line at 0.5, below which its neighbours predict the other.
    Counts are logarithmic where one bar would dwarf the rest, as the one at 1 often does.

    Parameters
    ----------
    gmr : GMR or Rectification
        A sampler after `fit_resample`, or its record.
    axes : sequence of matplotlib.axes.Axes, one for every class, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, one for every class

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import GMR
    >>> from rectifold.plot import plot_confidence
    >>> X, y = make_classification(n_samples=1000, n_features=4, weights=[0.85],
    ...                            flip_y=0.05, random_state=0)
    >>> gmr = GMR()
    >>> X_clean, y_clean = gmr.fit_resample(X, y)
    >>> [one.get_title() for one in plot_confidence(gmr)]
    ['0 (strict): 828 rows', '1 (protected): 172 rows']
    """
    record = _record(gmr)
    order = size_order(record.target.sizes)
    edges = np.linspace(0, 1, 21)
    with mpl.rc_context(_STYLE):
        height = 1.1 + 1.9 * len(order)
        panels = _panels(axes, len(order), nrows=len(order), figsize=(7.5, height), sharex=True)
        for panel, code in zip(panels, order, strict=True):
            mine = record.target.codes == code
            below = np.zeros(len(edges) - 1)
            for decision, looks in _bar_looks(_look(record, code)[0]).items():
                rows = mine & (record.decisions.decision == decision)
                counts = np.histogram(record.confidence[rows], edges)[0]
                panel.bar(edges[:-1], counts, 0.05, below, align="edge", **looks)
                below += counts
            _scale_counts(panel, below)
            for at, name in _thresholds(record, int(code)):
                panel.axvline(at, color=INK, linestyle="--", linewidth=1.2)
                beside = panel.get_xaxis_transform()
                panel.text(at + 0.005, 0.97, name, transform=beside, va="top", size=8, rotation=90)
            role = f"{_name(record.classes[code])} ({record.setting.role(int(code))})"
            panel.set_title(f"{role}: {int(mine.sum()):,} rows", fontsize=10)
            panel.set_xlim(0, 1)
            panel.spines[["top", "right"]].set_visible(False)
        panels[-1].set_xlabel("confidence: the vote for the row's own class")
        patches = [mpl.patches.Patch(**looks) for looks in _bar_looks(GREY).values()]
        _legend(
            panels[-1], list(zip(patches, ("removed", "spared", "kept"), strict=True)), -0.36, 3
        )
    return panels


def plot_rank_heatmap(ranks: pd.DataFrame, *, axes: Any = None) -> Any:
    """Draw average ranks as colours: green for low ones, red for high.

    Parameters
    ----------
    ranks : pandas.DataFrame
        A row for each method, a column for each classifier, and the average as the last.
    axes : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from rectifold.plot import plot_rank_heatmap
    >>> ranks = pd.DataFrame({"kNN": [1.2, 1.8], "SVM": [1.6, 1.4], "average": [1.4, 1.6]},
    ...                      index=["GMR", "ENN"])
    >>> [text.get_text() for text in plot_rank_heatmap(ranks).texts]
    ['1.20', '1.60', '1.40', '1.80', '1.40', '1.60']
    """
    with mpl.rc_context(_STYLE):
        (panel,) = _panels(axes, 1, figsize=heatmap_size(ranks))
        panel.imshow(ranks, cmap="RdYlGn_r", vmin=1, vmax=max(2, len(ranks)), aspect="auto")
        panel.set_xticks(range(ranks.shape[1]), list(ranks.columns))
        panel.set_yticks(range(len(ranks)), list(ranks.index))
        panel.xaxis.tick_top()
        panel.tick_params(length=0)
        panel.spines[:].set_visible(False)
        panel.axvline(ranks.shape[1] - 1.5, color="white", linewidth=4)
        middle = (1 + len(ranks)) / 2
        for (row, column), value in np.ndenumerate(ranks.to_numpy()):
            far = abs(value - middle) > 0.36 * len(ranks)
            colour = "white" if far else "black"
            panel.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)
    return panel


def heatmap_size(ranks: pd.DataFrame) -> tuple[float, float]:
    """Tell how large a heat map has to be.

    Parameters
    ----------
    ranks : pandas.DataFrame
        As for `plot_rank_heatmap`.

    Returns
    -------
    tuple of float
        Width and height in inches.
    """
    return 1.6 + 0.72 * ranks.shape[1], 0.7 + 0.27 * len(ranks)


def _record(gmr: Any) -> Rectification:
    record = getattr(gmr, "rectification_", gmr)
    if not isinstance(record, Rectification):
        raise ValueError(
            f"gmr must be a GMR after fit_resample, or its Rectification, and is {gmr!r:.80}."
        )
    return record


def _panels(axes: Any, n: int, **subplots: Any) -> npt.NDArray[Any]:
    if axes is None:
        # Pictures in a report are made without pyplot, which keeps every figure that it makes.
        import matplotlib.pyplot as plt

        axes = plt.subplots(layout="constrained", squeeze=False, **subplots)[1]
    panels = np.asarray(axes, dtype=object).ravel()
    if len(panels) != n:
        raise ValueError(f"axes must be {n} Axes here, one for every panel, and not {len(panels)}.")
    return panels


def _coordinates(record: Rectification, X: Any, embedding: Any) -> tuple[Floats, tuple[str, str]]:
    """Two coordinates for every row, and what to call them."""
    n = len(record.certified)
    hint = "pass embedding=, an array with two coordinates for every row"
    if embedding is not None:
        given = np.asarray(embedding, dtype=np.float64)
        if given.shape != (n, 2) or not np.isfinite(given).all():
            what = "values that are not finite" if given.shape == (n, 2) else f"shape {given.shape}"
            raise ValueError(f"embedding has {what}: it must be {n} rows of two finite numbers.")
        return given, ("", "")
    if X is None and record.exhibits is None:
        raise ValueError(
            "this record does not hold the rows themselves, as records from a file or another "
            "process don't: pass X, the rows that were cleaned."
        )
    if record.setting.metric == "precomputed":
        raise ValueError(f"with metric='precomputed' rows have no coordinates: {hint}.")
    X = record.exhibits.rows if X is None and record.exhibits else X
    columns = X.shape[1] if hasattr(X, "shape") else len(X[0])
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if rows != n:
        raise ValueError(f"X has {rows} rows, and {n} were cleaned: pass those, in their order.")
    space = record.exhibits.space if record.exhibits else None
    if columns == 2:
        try:
            values = as_numbers(X, name="X", hint=hint)
        except ValueError:
            if space is None:
                raise
        else:
            plain = values if isinstance(values, np.ndarray) else values.toarray()
            first, second = (_name(one) for one in getattr(X, "columns", ("", "")))
            return plain, (first, second)
    if space is not None:
        if not hasattr(space, "transform"):
            raise ValueError(f"{type(space).__name__}, the space, can't place rows again: {hint}.")
        X = space.transform(X.copy() if hasattr(X, "copy") else X)
    values = as_numbers(X, name="X", hint=hint, allow_nan=True)
    if isinstance(values, np.ndarray) and np.isnan(values).any():
        # The metrics that know missing values skip them; the middle of a column comes nearest.
        values = SimpleImputer(strategy="median", keep_empty_features=True).fit_transform(values)
    if record.setting.metric == "cosine":
        values = normalize(values)
    found = PCA(min(2, values.shape[1]), random_state=0).fit_transform(values)
    plane = np.zeros((n, 2))
    plane[:, : found.shape[1]] = found
    return plane, ("first principal component", "second principal component")


def _name(label: Any) -> str:
    text = " ".join(in_unicode(str(label)).split())
    return text if len(text) <= 28 else text[:27] + "…"


def _checked(row: Any, n: int) -> int:
    if not isinstance(row, int | np.integer) or not 0 <= row < n:
        raise ValueError(f"row={row!r} is not the position of a row: it must be in 0 to {n - 1}.")
    return int(row)


def _window(points: Floats, needed: Bools) -> Floats:
    """Find the corners of a view that a few rows far out do not shrink to a dot."""
    low, high = np.quantile(points, (0.01, 0.99), axis=0)
    some = needed | (abs(points - (low + high) / 2) <= high - low).all(axis=1)
    low, high = points[some].min(axis=0), points[some].max(axis=0)
    margin = 0.04 * np.where(high > low, high - low, 1.0)
    return np.array((low - margin, high + margin))


def _telling(record: Rectification) -> int | None:
    """Choose a row in whose vote weights show: the heaviest neighbour has twice the average."""
    kept = record.exhibits.neighbours if record.exhibits else None
    if kept is None or not len(kept.rows):
        return None
    removed, intrusion = record.removed[kept.rows], record.decisions.reason[kept.rows] == INTRUSION
    kinds = (removed & intrusion, removed, record.spared[kept.rows], ~removed)
    some = next(np.flatnonzero(kind) for kind in kinds if kind.any())
    heaviest = _weights(record, kept.indices[some], kept.distances[some]).max(axis=1)
    return int(kept.rows[some[abs(heaviest - 2 / kept.indices.shape[1]).argmin()]])


def _weights(record: Rectification, neighbours: Ints, distances: Floats) -> Floats:
    """What neighbours weigh in the votes on rows, as in `rectifold.votes.count_votes`."""
    weights = 1.0 / (distances + record.setting.epsilon)
    if record.setting.class_weight == "balanced":
        weights = weights / record.target.sizes[record.target.codes[neighbours]]
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _sample(record: Rectification) -> Bools:
    """Choose rows that a picture has room for, an equal number of every class where it can be."""
    codes, sizes = record.target.codes, record.target.sizes
    if len(codes) <= MOST:
        return np.ones(len(codes), dtype=bool)
    chosen = np.zeros(len(codes), dtype=bool)
    random, room = np.random.default_rng(0), MOST
    for place, code in enumerate(np.argsort(sizes)):
        # What a small class leaves of its share is for the others.
        some = min(int(sizes[code]), room // (len(sizes) - place))
        chosen[random.choice(np.flatnonzero(codes == code), some, replace=False)] = True
        room -= some
    return chosen


def _look(record: Rectification, code: int) -> tuple[str, str]:
    """The colour and the shape of a class: the largest always looks the same."""
    place = int(np.flatnonzero(size_order(record.target.sizes) == code)[0])
    return COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)]


def _draw_rows(
    axes: Any, record: Rectification, points: Floats, rows: Bools, size: float, fade: float = 1
) -> None:
    for place, code in enumerate(size_order(record.target.sizes)):
        colour, shape = _look(record, code)
        some = points[rows & (record.target.codes == code)]
        # The largest class is drawn first, and recedes: it would bury the others.
        area, alpha = (size, 0.5 * fade) if place == 0 else (1.8 * size, 0.85 * fade)
        axes.scatter(*some.T, s=area, c=colour, marker=shape, alpha=alpha, linewidths=0)


def _draw_marks(
    axes: Any, record: Rectification, points: Floats, size: float, zorder: int = 4
) -> _Entries:
    """Mark rows that were removed or spared."""
    # Hundreds of marks would be one blot.
    size *= float(np.clip(np.sqrt(200 / max(1, (record.removed | record.spared).sum())), 0.5, 1))
    looks = {"ls": "none", "mfc": "none", "mew": 1.3, "zorder": zorder}
    entries = []
    for reason, shape in MARKS.items():
        rows = record.removed & (record.decisions.reason == REASONS.index(reason))
        (line,) = axes.plot(*points[rows].T, marker=shape, ms=size, mec=INK, **looks)
        entries.append((line, f"removed: {reason}", rows.sum()))
    rows = record.spared
    (line,) = axes.plot(*points[rows].T, marker="o", ms=1.4 * size, mec=GREY, **looks)
    entries.append((line, "spared", rows.sum()))
    return [(line, f"{name} ({count:,})") for line, name, count in entries if count]


def _draw_vote(
    axes: Any,
    record: Rectification,
    points: Floats,
    shown: Bools,
    row: int | None,
    window: Floats,
    size: float,
) -> Floats | None:
    """Draw the vote on a row; give the corners of what is in view, if that is not everything."""
    near, distances = _neighbours(record, row)
    known = len(near) > 0
    _draw_rows(axes, record, points, shown, 2 * size if known else size, 0.35)
    _draw_marks(axes, record, points, 9 if known else 6, zorder=8)
    axes.set_title("(b) the vote" if row is None else f"(b) the vote on row {row}")
    axes.set_xlabel(_caption(record, row, near, distances))
    if row is None or not known:
        return None
    weights = _weights(record, near, distances)
    # Nearest first, so that thin arrows end up on top of thick ones.
    for other, width in zip(near, THICKEST * weights / weights.max(), strict=True):
        colour, shape = _look(record, record.target.codes[other])
        looks: dict[str, Any] = {"color": colour, "lw": width, "shrinkA": 4, "shrinkB": 9}
        looks |= {"arrowstyle": "-|>", "mutation_scale": 5 + 2.5 * width, "zorder": 5}
        axes.add_patch(mpl.patches.FancyArrowPatch(points[other], points[row], **looks))
        axes.scatter(*points[other], s=80, c=colour, marker=shape, ec="white", lw=0.8, zorder=6)
    colour, shape = _look(record, record.target.codes[row])
    axes.scatter(*points[row], s=190, c=colour, marker=shape, ec=INK, lw=2, zorder=7)
    # Neighbours of a row are so near in the plane, often, that all arrows would be a dot.
    reach = float((abs(points[near] - points[row]) / (window[1] - window[0])).max())
    if reach > 0.4:
        return None
    half = max(1.15 * reach, 0.01) * (window[1] - window[0])
    box = np.array((points[row] - half, points[row] + half))
    axes.set(xlim=box[:, 0], ylim=box[:, 1])
    return box


def _neighbours(record: Rectification, row: int | None) -> tuple[Ints, Floats]:
    """Who voted on a row, and from how far: none where the record does not keep them."""
    if record.exhibits is None or row is None:
        return np.empty(0, dtype=np.intp), np.empty(0)
    known, near, distances = record.exhibits.neighbours.of(np.array([row]))
    return near[: known.sum()].ravel(), distances[: known.sum()].ravel()


def _caption(record: Rectification, row: int | None, near: Ints, distances: Floats) -> str:
    """Say what the vote was on, and what came of it."""
    start = "" if record.removed.any() else "Nothing was removed. "
    if row is None or not len(near):
        subject, some = ("every row", slice(None)) if row is None else (f"row {row}", row)
        if np.min(record.confidence[some]) == 1:
            return _wrap(f"{start}All neighbours of {subject} carry its own label.")
        return _wrap(f"{start}The record does not keep the neighbours of {subject}.")
    voted = record.label[near] == record.predicted[row]
    vote = _weights(record, near, distances)[voted].sum()
    outcome = " as ".join(filter(None, (record.decision[row], record.reason[row])))
    said = f"{voted.sum()} of its {len(near)} neighbours say {_name(record.predicted[row])}"
    text = f"{start}Row {row} is labelled {_name(record.label[row])}; {said}"
    return (
        _wrap(f"{text}, with {vote:.2f} of the vote: {outcome}.") + "\nThicker arrows weigh more."
    )


def _wrap(text: str) -> str:
    return textwrap.fill(text, 64)


def _class_entries(record: Rectification) -> _Entries:
    entries: _Entries = []
    for code in size_order(record.target.sizes)[:10]:
        colour, shape = _look(record, code)
        line = Line2D([], [], ls="none", marker=shape, color=colour, ms=7, mew=0)
        entries.append((line, f"{_name(record.classes[code])} ({record.setting.role(int(code))})"))
    more = len(record.classes) - len(entries)
    return [*entries, (Line2D([], [], ls="none"), f"and {more} more")] if more else entries


def _legend(axes: Any, entries: _Entries, below: float = -0.06, ncols: int = 1) -> None:
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, below), "ncols": ncols}
    handles = [handle for handle, _ in entries]
    # Text is put in afterwards, as a legend leaves out what begins with an underscore.
    legend = axes.legend(handles, [" "] * len(entries), frameon=False, **place)
    for text, (_, name) in zip(legend.get_texts(), entries, strict=True):
        text.set_text(name)


def _sizes(record: Rectification, counts: Ints) -> str:
    if len(counts) > 3:
        return f"{int(counts.sum()):,} rows of {len(counts)} classes"
    order = size_order(record.target.sizes)
    return ", ".join(f"{counts[code]:,} of {_name(record.classes[code])}" for code in order)


def _smooth(n: int) -> Any:
    model = LogisticRegression(C=10, class_weight="balanced", max_iter=1000)
    kernel = Nystroem(gamma=1.0, n_components=min(100, n), random_state=0)
    return make_pipeline(StandardScaler(), kernel, model)


def _draw_boundaries(
    axes: Any, record: Rectification, points: Floats, rows: Bools, estimator: Any, window: Floats
) -> None:
    x, y = np.meshgrid(*np.linspace(window[0], window[1], 160).T)
    entries = []
    for when, some, colour, style in (
        ("before", rows, GREY, "--"),
        ("after", rows & ~record.removed, INK, "-"),
    ):
        present, codes = np.unique(record.target.codes[some], return_inverse=True)
        if len(present) < 2:
            continue
        model = clone(estimator).fit(points[some], codes)
        scores = _scores(model, np.column_stack((x.ravel(), y.ravel())), len(present))
        scores = scores.reshape(*x.shape, -1)
        best = scores.argmax(axis=-1)
        for one, other in combinations(np.unique(best), 2):
            # Where a third class is predicted, these two have no boundary.
            third = (best != one) & (best != other)
            apart = np.ma.array(scores[..., one] - scores[..., other], mask=third)
            axes.contour(
                x, y, apart, [0], colors=colour, linestyles=style, linewidths=1.8, zorder=3
            )
        line = Line2D([], [], color=colour, ls=style, lw=1.8)
        entries.append((line, f"decision boundary {when} cleaning"))
    _legend(axes, entries)


def _scores(model: Any, grid: Floats, n_classes: int) -> Floats:
    """The highest score is the class that the model predicts."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(grid))
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(grid))
        return scores if scores.ndim == 2 else np.column_stack((-scores, scores))
    return np.asarray(np.eye(n_classes)[model.predict(grid)])


def _thresholds(record: Rectification, code: int) -> list[tuple[float, str]]:
    sizes, thresholds, role = record.target.sizes, record.thresholds, record.setting.role(code)
    exempt = len(sizes) > 2 and sizes[code] < thresholds.min_minority
    if exempt or guarded(sizes, thresholds.min_minority) or role == "untouched":
        return []
    if role == "protected":
        return [(1 - thresholds.beta, f"1 - beta = {1 - thresholds.beta:.3g}")]
    lines = [(thresholds.alpha, f"alpha = {thresholds.alpha:.3g}")]
    if len(sizes) == 2 and size_order(sizes)[0] == code:
        lines.append((0.5, "even vote"))
    return lines


def _bar_looks(colour: str) -> dict[int, dict[str, Any]]:
    """Fill and hatching by decision, told apart without colour too; from the bottom up."""
    return {
        REMOVED: {"facecolor": INK, "edgecolor": INK, "linewidth": 0.6},
        SPARED: {"facecolor": "white", "edgecolor": colour, "hatch": "//////", "linewidth": 0.6},
        KEPT: {"facecolor": colour, "edgecolor": "white", "alpha": 0.6, "linewidth": 0.6},
    }


def _scale_counts(axes: Any, counts: Floats) -> None:
    filled = np.sort(counts[counts > 0])
    dwarfed = len(filled) > 1 and filled[-1] > 10 * filled[:-1].mean()
    if dwarfed:
        axes.set_yscale("log")
        axes.set_ylim(0.5, 2 * filled[-1])
    else:
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    # The formatter of logarithms writes mathematics, which is switched off here.
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_ylabel("rows (log scale)" if dwarfed else "rows")
