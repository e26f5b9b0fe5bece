"""The page in a real browser: its decisions, what it shows, and that nothing from the data runs."""

import csv
import dataclasses
import json
import time
from itertools import product

import numpy as np
import pandas as pd
import pytest

from browsers import wait
from rectifold import GMR
from rectifold._core.rectification import Setting, rectify
from rectifold._core.rules import DECISIONS, REASONS, Thresholds
from rectifold._core.target import encode
from rectifold._core.votes import Votes
from rectifold.datasets import load_wine_quality

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=\"document.title='hacked'\">"
#: Decisions on all samples of a page for many positions of the sliders.
DECIDE_ALL = """(places) => {
  const { data, decide } = rectifold, { row, removable } = data.points;
  return places.map((at) => {
    const now = decide(at), found = [];
    removable.forEach((place, point) => {
      if (place < 0 || !now.decision[place]) return;
      found.push([row[point], now.decision[place], now.reason[place]]);
    });
    return [found, now.counts];
  });
}"""
#: Values of alpha, beta and gamma.
GRID = (
    [0, 0.12345, 0.3, 0.5, 0.6, 0.667, 0.8, 1],
    [0, 1 / 3, 0.5, 0.6, 0.7, 0.9, 1],
    [0, 0.1, 0.29, 0.55, 1],
)


@pytest.fixture
def show(show_page):
    """Open the page of a record from disk."""

    def show(record, size=(1280, 900), scheme="light", **options):
        return show_page(lambda path: record.report(path, **options), size, scheme)

    return show


def cleaned(X, y, **settings):
    gmr = GMR(**settings)
    gmr.fit_resample(X, y)
    return gmr.rectification_


@pytest.fixture(scope="module")
def wines():
    X, y = load_wine_quality(return_X_y=True, as_frame=True)
    return cleaned(X, y, space="auto")


def overlapping_classes(sizes=(300, 150, 90, 60, 30), seed=1):
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 1.0, (len(sizes), 3))
    X = np.concatenate([rng.normal(c, 1.0, (n, 3)) for c, n in zip(centres, sizes, strict=True)])
    # Rounded, so that there are duplicates, equal distances and equal votes.
    return X.round(1), np.repeat([f"class {place}" for place in range(len(sizes))], sizes)


def set_thresholds(page, **values):
    for name, value in values.items():
        page.eval_on_selector(
            f".threshold:has(#{name}) input[type=number]",
            "(i, value) => { i.value = value; i.dispatchEvent(new Event('change')); }",
            value,
        )


def shown_counts(page):
    """Return the counts of the table below the sliders: before, after, removed, spared by class."""
    lines = page.eval_on_selector_all(
        "#now tbody tr", "(rows) => rows.map((row) => [...row.cells].map((c) => c.textContent))"
    )
    return {head: [int(cell.replace(",", "")) for cell in cells] for head, *cells in lines}


def counts_of(record):
    keys = ("before", "after", "removed", "spared")
    facts = record.summary()
    counts = {str(one["label"]): [one[key] for key in keys] for one in facts["classes"]}
    counts["all"] = [facts["n_samples"], facts["kept"], facts["removed"], facts["spared"]]
    return counts


def decided(record):
    changed = np.flatnonzero(record._decisions.decision)
    return {
        (int(row), int(record._decisions.decision[row]), int(record._decisions.reason[row]))
        for row in changed
    }


def agrees_everywhere(page, record, grid):
    """Compare page and library on every sample, for all combinations of thresholds in a grid."""
    thresholds = record.report(X=np.zeros((len(record.certified), 1))).data["thresholds"]

    def place(name, value):
        return int(np.argmin(np.abs(thresholds[name]["values"] - value)))

    places = [
        {"alpha": place("alpha", a), "beta": place("beta", b), "gamma": place("gamma", c)}
        for a, b, c in product(*grid)
    ]
    removed = set()
    for at, (found, counts) in zip(places, page.evaluate(DECIDE_ALL, places), strict=True):
        exact = {name: float(thresholds[name]["values"][at[name]]) for name in at}
        other = record.redecide(**exact)
        assert {tuple(one) for one in found} == decided(other), exact
        for one, own in zip(other.summary()["classes"], counts, strict=True):
            assert {key: one[key] for key in own} == own, exact
        removed.add(int(other.removed.sum()))
    return removed


@pytest.mark.parametrize(
    ("sizes", "settings"),
    [
        ((300, 60), {}),
        ((300, 60), {"alpha": 0.12345, "beta": 1 / 3, "gamma": 0.29}),
        ((300, 60), {"class_weight": "balanced"}),
        ((300, 60), {"sampling_strategy": "all"}),
        ((300, 150, 90, 60, 30), {}),
        ((300, 150, 90, 60, 30), {"sampling_strategy": "not minority", "min_minority": 40}),
        ((300, 150, 90, 60, 30), {"sampling_strategy": ["class 1", "class 3"]}),
        ((300, 150, 90, 60, 30), {"class_weight": "balanced", "sampling_strategy": "all"}),
    ],
)
def test_the_page_decides_as_redecide_does_on_every_sample(show, sizes, settings):
    record = cleaned(*overlapping_classes(sizes), **settings)
    page = show(record)
    # If all classes are strict, only alpha has an effect.
    assert len(agrees_everywhere(page, record, GRID)) >= len(GRID[0])


def by_hand(seed, n=400):
    """Return a record with chains of ties, each vote within the tolerance of the next."""
    rng = np.random.default_rng(seed)
    labels = encode(rng.choice(["a", "b", "c"], n, p=[0.6, 0.25, 0.15]))
    steps = np.array([0, 0.4e-12, 0.8e-12, 1.6e-12, 2.4e-12])
    confidence = rng.choice([0.2, 0.3, 0.45, 0.6], n) + rng.choice(steps, n)
    larger = np.minimum(rng.choice([0.5, 0.7, 0.8], n) + rng.choice(steps, n), 1)
    votes = Votes(
        predicted=rng.integers(0, 3, n),
        confidence=confidence,
        majority_confidence=1 - confidence,
        larger=np.where(labels.codes == labels.sizes.argmax(), 0.0, larger),
        depth=rng.choice([1.0, 2.0, 3.0], n),
    )
    biggest = int(labels.sizes.argmax())
    setting = Setting(
        metric="euclidean",
        n_neighbors=5,
        engine="exact",
        epsilon=1e-8,
        class_weight=None,
        strict=frozenset({biggest}),
        protected=frozenset({0, 1, 2} - {biggest}),
        keep_floor=True,
    )
    return rectify(votes, labels, np.zeros(n, bool), Thresholds(0.3, 0.7, 0.1, 10), setting)


def test_chains_of_ties_have_the_same_order(show):
    for seed in range(3):
        record = by_hand(seed)
        classes = record.report(X=np.zeros((400, 1))).data["thresholds"]["classes"]
        assert any(one["chains"] for one in classes)
        # The order matters only if the floor divides the ties.
        assert record.redecide(alpha=0.46).spared.any()
        page = show(record, X=np.random.default_rng(seed).normal(size=(400, 2)))
        agrees_everywhere(
            page, record, ([0, 0.2, 0.201, 0.3, 0.451, 0.601, 1], [0.5, 0.7, 1], [0, 0.3, 1])
        )


def test_every_slider_updates_the_counts_as_redecide_does(show, wines):
    page = show(wines)
    assert shown_counts(page) == counts_of(wines)
    seen = set()
    for change in ({"alpha": 0.8}, {"beta": 0.35}, {"gamma": 0.27}, {"alpha": 0.3}, {"gamma": 0}):
        set_thresholds(page, **change)
        at = {
            name: float(page.input_value(f".threshold:has(#{name}) input[type=number]"))
            for name in ("alpha", "beta", "gamma")
        }
        other = wines.redecide(**at)
        assert shown_counts(page) == counts_of(other)
        seen.add(str(counts_of(other)))
    assert len(seen) == 5
    page.click("#as-run")
    assert shown_counts(page) == counts_of(wines)


def test_sliders_move_by_keyboard_and_announce_their_value(show, wines):
    page = show(wines)
    page.focus("#alpha")
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    assert page.get_attribute("#alpha", "aria-valuetext") == "0.7"
    assert shown_counts(page) == counts_of(wines.redecide(alpha=0.7))
    page.keyboard.press("End")
    assert shown_counts(page) == counts_of(wines.redecide(alpha=1.0))


def test_the_call_and_the_command_follow_the_sliders(show, wines):
    page = show(wines)
    assert page.text_content("#call") == "GMR(space='auto')"
    set_thresholds(page, alpha=0.65, gamma=0.05)
    call = page.text_content("#call")
    assert call == "GMR(alpha=0.65, gamma=0.05, space='auto')"
    gmr = eval(call, {"GMR": GMR})
    gmr.fit_resample(wines._trace.rows, wines.label)
    assert shown_counts(page) == counts_of(gmr.rectification_)
    assert page.text_content("#command").endswith("--alpha 0.65 --gamma 0.05")


def rows_shown(page):
    return page.eval_on_selector_all(
        "#table tbody tr", "(rows) => rows.map((row) => [...row.cells].map((c) => c.textContent))"
    )


def downloaded(page):
    with page.expect_download() as download:
        page.click("#download")
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_is_searched_sorted_filtered_and_downloaded(show, wines):
    page = show(wines)
    gone = np.flatnonzero(wines.removed | wines.spared)
    everything = downloaded(page)
    assert {int(one["rectifold_row"]) for one in everything} == set(gone)
    frame = wines._trace.rows
    for one in everything:
        row = int(one["rectifold_row"])
        assert one["rectifold_class"] == wines.label[row]
        assert one["rectifold_decision"] == DECISIONS[wines._decisions.decision[row]]
        assert one["rectifold_reason"] == REASONS[wines._decisions.reason[row]]
        assert float(one["alcohol"]) == frame["alcohol"].iloc[row]
        assert float(one["rectifold_confidence"]) == pytest.approx(wines.confidence[row], abs=1e-6)
    # Sorted by a column, ascending and descending.
    page.click("#table thead button:text-is('alcohol')")
    assert page.get_attribute("th[aria-sort=ascending]", "title") == "alcohol"
    up = [float(one["alcohol"]) for one in downloaded(page)]
    assert up == sorted(up)
    page.click("#table thead button:has-text('alcohol')")
    down = [float(one["alcohol"]) for one in downloaded(page)]
    assert down == sorted(up, reverse=True)
    assert float(rows_shown(page)[0][-1]) == max(up)
    # Searched.
    page.fill("#search", "intrusion")
    found = downloaded(page)
    assert [int(one["rectifold_row"]) for one in found] == np.flatnonzero(
        wines.removed & (wines.reason == "intrusion")
    ).tolist()
    page.fill("#search", "no such thing")
    assert rows_shown(page) == [["No sample matches."]]
    page.fill("#search", "")
    # Filtered.
    page.uncheck("#chips input[data-shows=spared]")
    wait(page, "!document.querySelector('#table tbody').textContent.includes('spared')")
    assert {int(one["rectifold_row"]) for one in downloaded(page)} == set(
        np.flatnonzero(wines.removed)
    )
    page.check("#chips input[data-shows=spared]")
    page.uncheck("#chips label:has-text('poor') input")
    wait(page, "document.querySelectorAll('#table tbody tr').length === 1")
    assert {one["rectifold_class"] for one in downloaded(page)} == {"ordinary"}


def test_the_table_follows_the_sliders_page_by_page(show, wines):
    page = show(wines)
    assert page.text_content("#page") == "Page 1 of 6"
    page.click("#next")
    assert page.text_content("#page") == "Page 2 of 6"
    set_thresholds(page, beta=0.99, gamma=0)
    wait(page, "document.getElementById('page').textContent !== 'Page 2 of 6'")
    other = wines.redecide(beta=0.99, gamma=0)
    assert {int(one["rectifold_row"]) for one in downloaded(page)} == set(
        np.flatnonzero(other.removed | other.spared)
    )


def test_a_click_on_a_sample_shows_its_neighbours(show, wines):
    page = show(wines)
    page.click("#table tbody tr:nth-child(2) td:nth-child(3)")
    row = int(rows_shown(page)[1][0])
    known, near, distances = wines._trace.neighbours.of(np.array([row]))
    assert known.all()
    lines = page.eval_on_selector_all(
        "#neighbours tbody tr", "(rows) => rows.map((r) => [...r.cells].map((c) => c.textContent))"
    )
    assert [int(line[0]) for line in lines] == near[0].tolist()
    assert [line[1] for line in lines] == wines.label[near[0]].tolist()
    np.testing.assert_allclose([float(line[2]) for line in lines], distances[0], rtol=1e-4)
    weights = 1 / (distances[0] + 1e-8)
    np.testing.assert_allclose(
        [float(line[3]) for line in lines], weights / weights.sum(), atol=6e-4
    )
    assert page.evaluate("document.activeElement.id") == "details-title"
    page.click("#show-on-map")
    page.keyboard.press("Escape")
    assert page.is_hidden("#details")
    # By keyboard, with the focus back where it was.
    page.focus("#table tbody tr:nth-child(3) button")
    page.keyboard.press("Enter")
    assert page.is_visible("#details")
    page.click("#details-close")
    assert page.evaluate("document.activeElement.textContent") == rows_shown(page)[2][0]


def test_hovering_over_the_map_shows_a_sample(show):
    # One class per corner, so that any pixel of a corner shows its class.
    rng = np.random.default_rng(0)
    X = np.concatenate((rng.normal(0, 0.01, (60, 2)), rng.normal(5, 0.01, (20, 2))))
    y = np.repeat(["many", "few"], [60, 20])
    record = cleaned(pd.DataFrame(X, columns=["width", "height"]), y)
    page = show(record)
    box = page.locator("#map").bounding_box()
    page.locator("#map").scroll_into_view_if_needed()
    box = page.locator("#map").bounding_box()
    seen = set()
    for x, up in ((0.0, 0.0), (5.0, 5.0)):
        left, right, bottom, top = 58, 12, 44, 10
        low, high = page.evaluate("rectifold.data.points.window[0]")
        across = (x - low) / (high - low) * (box["width"] - left - right)
        low, high = page.evaluate("rectifold.data.points.window[1]")
        along = (up - low) / (high - low) * (box["height"] - bottom - top)
        page.mouse.move(box["x"] + left + across - 40, box["y"] + 20)
        page.mouse.move(box["x"] + left + across, box["y"] + box["height"] - bottom - along)
        page.wait_for_selector(".tip", state="attached")
        text = page.text_content(".tip")
        assert "width" in text
        assert "confidence1.000" in text
        seen |= {label for label in ("many", "few") if f"all 15 are {label}" in text}
    assert seen == {"many", "few"}


def test_hostile_names_are_shown_as_text(show):
    X, y = overlapping_classes((200, 60))
    frame = pd.DataFrame(
        X, columns=[HOSTILE, "</script><script>document.title='hacked'</script>", "🍷"]
    )
    frame["word"] = HOSTILE
    frame.index = [f"<img src=x onerror=alert({place})>" for place in range(len(frame))]
    labels = np.where(y == "class 0", f"a{HOSTILE}", "</textarea></title><svg onload=alert(1)>")
    record = cleaned(frame, labels, space="auto", alpha=0.7)
    page = show(record, title="</title><img src=x onerror=\"document.title='hacked'\">")
    page.click("#table tbody tr:nth-child(1)")
    assert HOSTILE in page.text_content("#details")
    page.keyboard.press("Escape")
    page.hover("#map", position={"x": 300, "y": 200})
    page.fill("#search", "onerror")
    assert "<img src=x onerror=alert(" in rows_shown(page)[0][0]
    for place in range(page.locator("#column-classes button").count()):
        page.locator("#column-classes button").nth(place).click()
    page.wait_for_timeout(200)
    assert page.title().startswith("</title>")
    assert page.query_selector_all("img, iframe, svg[onload], main script") == []
    found = downloaded(page)
    assert found[0]["word"] == HOSTILE
    assert set(found[0]) >= {HOSTILE, "🍷"}


def test_a_spreadsheet_evaluates_nothing_in_the_download(show):
    X, y = overlapping_classes((200, 60))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(word="=1+1")
    page = show(cleaned(frame, y, space="auto"))
    found = downloaded(page)
    assert {one["word"] for one in found} == {"'=1+1"}
    assert any(float(one["a"]) < 0 for one in found)


def test_colours_follow_the_system_and_the_button(show, wines):
    def page_colour(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = show(wines), show(wines, scheme="dark")
    assert page_colour(light) == "rgb(246, 247, 249)"
    assert page_colour(dark) == "rgb(20, 23, 26)"
    dark.click("#theme")
    assert page_colour(dark) == page_colour(light)


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_nothing_is_wider_than_the_screen(show, size):
    record = cleaned(*overlapping_classes(), sampling_strategy="not minority", alpha=0.5)
    page = show(record, size=size, title="A rather_long_title_" * 8)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.click("#table tbody tr:nth-child(1)")
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_records_without_removed_samples_or_neighbours_open(show):
    X, y = overlapping_classes((200, 60))
    far = X + 100 * (y == "class 1")[:, None]
    page = show(cleaned(far, y))
    assert "Nothing was removed" in page.text_content("#summary")
    assert rows_shown(page) == [["No sample matches."]]
    with pytest.warns(UserWarning, match="nothing is cleaned"):
        guarded = cleaned(X, y, min_minority=100)
    page = show(guarded)
    set_thresholds(page, alpha=1, beta=0, gamma=1)
    assert shown_counts(page) == counts_of(guarded)
    page = show(dataclasses.replace(cleaned(X, y), _trace=None), X=X[:, :1])
    page.click("#table tbody tr:nth-child(1)")
    assert "not in this page" in page.text_content("#details")


def test_it_prints_in_light_colours(show, wines):
    page = show(wines, scheme="dark")
    assert len(page.pdf()) > 20_000
    page.emulate_media(media="print", color_scheme="dark")
    assert page.is_hidden("nav")
    assert page.is_visible("#summary table")


@pytest.fixture
def in_a_notebook(browser, wines, tmp_path):
    """Open what a notebook shows of a record: the page around it, and the frame inside."""
    (tmp_path / "notebook.html").write_text(
        f"<!doctype html><meta charset=utf-8>{wines._repr_html_()}", encoding="utf-8"
    )
    context = browser.new_context()
    page = context.new_page()
    page.goto((tmp_path / "notebook.html").as_uri())
    page.click("summary:has-text('Map')")
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for(state="attached")
    yield page, frame
    context.close()


def test_a_frame_in_a_notebook_works(in_a_notebook, wines):
    page, frame = in_a_notebook
    assert frame.locator("#now tbody tr").count() == 3
    frame.locator("#alpha").focus()
    page.keyboard.press("End")
    counts = counts_of(wines.redecide(alpha=1.0))["ordinary"]
    assert f"{counts[2]:,}" in frame.locator("#now tbody").text_content()


def test_a_page_of_many_samples_opens_and_follows_the_sliders(show):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 3))
    y = np.where(rng.random(60_000) < 0.2, "rare", "common")
    record = cleaned(X, y, n_jobs=-1)
    assert record.removed.sum() + record.spared.sum() > 4000
    start = time.perf_counter()
    page = show(record)
    assert time.perf_counter() - start < 60
    shown = page.evaluate("[...rectifold.data.points.row]")
    assert set(np.flatnonzero(record.removed | record.spared)) <= set(shown)
    assert "a random sample is drawn" in page.text_content("#map-note")
    set_thresholds(page, alpha=0.8, gamma=0.3)
    assert shown_counts(page) == counts_of(record.redecide(alpha=0.8, gamma=0.3))
    assert "this page lists" in page.text_content("#samples-note")


def test_the_page_holds_the_data_of_the_report(show, wines):
    page = show(wines)
    facts = page.evaluate("rectifold.data.summary")
    assert facts == json.loads(json.dumps(wines.summary()))
    data = wines.report().data
    details = page.evaluate("""() => {
      const { columns, point, neighbours } = rectifold.data.details;
      return [columns.map((column) => [...column.values]), [...point], [...neighbours.point]];
    }""")
    assert details[0] == [one["values"] for one in data["details"]["columns"]]
    assert details[1] == data["details"]["point"].tolist()
    assert details[2] == data["details"]["neighbours"]["point"].ravel().tolist()


def test_a_sample_is_shown_beside_its_neighbours_with_the_shares_of_columns(show, wines):
    page = show(wines)
    page.click("#table tbody tr:nth-child(1)")
    row = int(rows_shown(page)[0][0])
    lines = page.eval_on_selector_all(
        "#beside tr", "(rows) => rows.map((row) => [...row.cells].map((c) => c.textContent))"
    )
    _, near, distances = wines._trace.neighbours.of(np.array([row]))
    assert [int(name) for name in lines[0][3:]] == near[0].tolist()
    frame = wines._trace.rows
    points = wines._trace.space.transform(frame.iloc[[row, *near[0]]])
    squares = (points[1:] - points[0]) ** 2
    means = dict(
        zip(frame.columns, (squares / distances[0][:, None] ** 2).mean(axis=0), strict=True)
    )
    shown = {name: float(share.split("%")[0]) / 100 for name, share, *_ in lines[1:]}
    assert shown == pytest.approx(means, abs=0.011)
    assert list(shown.values()) == sorted(shown.values(), reverse=True)
    for name, _, *cells in lines[1:]:
        own = frame[name].iloc[[row, *near[0]]]
        assert [float(one) for one in cells] == pytest.approx(own.tolist(), rel=1e-4)


def test_sliders_begin_with_gamma_and_shade_where_alpha_decides_nothing(show, wines):
    page = show(wines)
    ids = page.eval_on_selector_all(
        "#thresholds input[type=range]", "(all) => all.map((i) => i.id)"
    )
    assert ids == ["gamma", "beta", "alpha"]
    shade, track = page.locator(".dead").bounding_box(), page.locator("#alpha").bounding_box()
    assert shade["width"] == pytest.approx(track["width"] / 2, abs=2)
    five = show(cleaned(*overlapping_classes(), sampling_strategy="all"))
    assert five.locator(".dead").count() == 0


def test_on_a_phone_the_sliders_are_above_the_map(show, wines):
    page = show(wines, size=(390, 844))
    assert page.locator("#gamma").bounding_box()["y"] < page.locator("#map").bounding_box()["y"]


def test_columns_open_on_the_class_that_lost_most(show, wines):
    page = show(wines)
    pressed = page.text_content("#column-classes [aria-pressed=true]")
    most = max(wines.summary()["classes"], key=lambda one: one["removed"])
    assert pressed == most["label"] == "poor"


def scrolled(page):
    return page.evaluate("window.scrollY")


def test_the_wheel_and_a_finger_scroll_the_page_over_the_map(show, wines, browser, tmp_path):
    page = show(wines)
    page.locator("#map").scroll_into_view_if_needed()
    page.hover("#map", position={"x": 400, "y": 250})
    before, view = scrolled(page), page.evaluate("rectifold.view()")
    page.mouse.wheel(0, 120)
    page.wait_for_timeout(300)
    assert scrolled(page) > before
    assert page.evaluate("rectifold.view()") == view
    page.hover("#map", position={"x": 400, "y": 250})
    page.keyboard.down("Control")
    page.mouse.wheel(0, -240)
    page.keyboard.up("Control")
    page.wait_for_timeout(300)
    assert page.evaluate("rectifold.view()") != view
    path = tmp_path / "touch.html"
    wines.report(path)
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    phone = context.new_page()
    phone.goto(path.as_uri())
    wait(phone, "document.documentElement.dataset.ready !== undefined")
    phone.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
    phone.evaluate("document.getElementById('map').scrollIntoView({ block: 'center' })")
    before = scrolled(phone)
    session = context.new_cdp_session(phone)
    for step in range(16):
        kind = "touchMove" if step else "touchStart"
        finger = [{"x": 195, "y": 420 - 10 * step}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": finger})
        phone.wait_for_timeout(16)
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    wait(phone, f"window.scrollY > {before + 50}")
    context.close()


def test_zoom_buttons_change_the_view(show, wines):
    page = show(wines)

    def width():
        (low, high), _ = page.evaluate("rectifold.view()")
        return high - low

    first = width()
    page.click("#zoom-in")
    assert width() == pytest.approx(0.6 * first, rel=0.02)
    page.click("#zoom-all")
    assert width() >= first
    page.click("#zoom-first")
    assert width() == pytest.approx(first, rel=0.02)


def test_cells_are_shown_searched_and_downloaded_unchanged(show):
    X, y = overlapping_classes((200, 60))
    codes = np.arange(260)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    shown = frame.assign(
        id=4_912_345_678_000 + codes,
        large=1_234_567_890_123_456_789 + codes,
        gaps=pd.array([None, *codes[1:] + 2**60], dtype="Int64"),
        price=123_499.789,
        text=[f"-{place}.5" for place in codes],
        reason="zebra",
    )
    record = cleaned(frame, np.where(y == "class 0", -1, 1))
    page = show(record, X=shown)
    found = downloaded(page)
    for one in found:
        row = int(one["rectifold_row"])
        assert one["id"] == str(4_912_345_678_000 + row)
        assert one["large"] == str(1_234_567_890_123_456_789 + row)
        assert one["gaps"] == ("" if row == 0 else str(2**60 + row))
        assert one["price"] == "123499.789"
        assert one["text"] == f"-{row}.5"
        assert one["rectifold_class"] == str(record.label[row])
        assert float(one["rectifold_confidence"]) == record.confidence[row]
    some = found[3]["id"]
    page.fill("#search", some)
    assert [one["id"] for one in downloaded(page)] == [some]
    assert some in [cell for line in rows_shown(page) for cell in line]
    assert "123500" in rows_shown(page)[0]
    page.fill("#search", "zebra")
    assert len(downloaded(page)) == len(found)
    page.fill("#search", "deep noise")
    assert len(downloaded(page)) == (record.reason == "deep noise").sum()
    page.fill("#search", "")
    page.click("#table thead button:text-is('text')")
    order = [float(one["text"]) for one in downloaded(page)]
    assert order == sorted(order)


def test_a_field_without_a_number_changes_nothing(show, wines):
    page = show(wines)
    field = ".threshold:has(#alpha) input[type=number]"
    for typed in ("", "1e"):
        page.fill(field, "0.65")
        page.press(field, "Enter")
        page.fill(field, "")
        page.type(field, typed)
        page.press(field, "Tab")
        assert page.input_value(field) == "0.65"
    for typed, becomes in (("7", "1"), ("-3", "0"), ("0.12345", "0.123")):
        page.fill(field, typed)
        page.press(field, "Enter")
        assert page.input_value(field) == becomes
        assert shown_counts(page) == counts_of(wines.redecide(alpha=float(becomes)))


def test_focus_is_never_lost(show, wines):
    page = show(wines)
    page.focus("#table tbody tr:nth-child(2) button")
    page.keyboard.press("Enter")
    name = rows_shown(page)[1][0]
    page.click("#neighbours tbody tr:nth-child(4) button")
    assert page.evaluate("document.activeElement.id") == "details-title"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == name
    page.set_viewport_size({"width": 1100, "height": 800})
    page.keyboard.press("Enter")
    page.click("#show-on-map")
    assert page.is_hidden("#details")
    assert page.evaluate("document.activeElement.id") == "map"
    page.keyboard.press("Escape")
    assert page.evaluate("document.querySelector('tr.chosen')") is None


def test_thousands_of_ties_do_not_overflow(show):
    rng = np.random.default_rng(0)
    n = 200_000
    labels = encode(np.where(rng.random(n) < 0.98, "a", np.where(rng.random(n) < 0.5, "b", "c")))
    votes = Votes(
        predicted=np.where(rng.random(n) < 0.5, 1, 0),
        confidence=rng.random(n) * 1e-8,
        majority_confidence=np.zeros(n),
        larger=np.zeros(n),
        depth=rng.random(n),
    )
    setting = Setting(
        "euclidean", 5, "exact", 1e-8, None, frozenset({0}), frozenset({1, 2}), keep_floor=True
    )
    record = rectify(votes, labels, np.zeros(n, bool), Thresholds(), setting)
    page = show(record, X=rng.normal(size=(n, 2)))
    assert shown_counts(page) == counts_of(record)


def test_empty_labels_and_control_characters_are_escaped(show):
    X, y = overlapping_classes((200, 60))
    record = cleaned(X, np.where(y == "class 0", "", "\u202eg\x00np"))
    page = show(record)
    assert "\u202e" not in page.content()
    assert "(empty)" in page.text_content("#chips")
    assert "\\u202eg\\x00np" in page.text_content("#summary")


def test_links_stay_inside_a_notebooks_frame(in_a_notebook):
    _, frame = in_a_notebook
    frame.locator("nav a", has_text="Samples").click()
    assert frame.locator("#samples h2").is_visible()
    assert frame.locator("#now tbody tr").count() == 3


def test_without_scripts_controls_are_hidden(browser, wines, tmp_path):
    wines.report(tmp_path / "report.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    assert page.is_visible("#summary table")
    assert not page.is_visible("#explore")
    assert not page.is_visible("#download")
    context.close()
