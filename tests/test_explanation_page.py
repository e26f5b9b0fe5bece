"""The page of an explanation in a real browser: what it shows, and that nothing from data runs."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from rectifold import RectifiedClassifier, TableSpace
from rectifold.model_selection import explain

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=\"document.title='hacked'\">"
RARE = "</script><script>document.title='hacked'</script>"


def explained(weight=0.4, n=260, **columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(size=(n, 3)).round(1), columns=["amount", HOSTILE, "{{ 7 * 7 }}"]
    )
    y = np.where(frame["amount"] + 0.6 * rng.normal(size=n) > 1.2, RARE, "common")
    frame = frame.assign(**columns)
    tree = make_pipeline(TableSpace(), DecisionTreeClassifier(max_depth=4, random_state=0))
    model = RectifiedClassifier(tree, param_grid=[], vote_weight=weight)
    model.fit(frame[:200], y[:200])
    return explain(model, frame[200:], frame[:200])


@pytest.fixture(scope="module")
def explanation():
    rng = np.random.default_rng(1)
    return explained(
        country=rng.choice(["fr", HOSTILE, "\u202ede\x00"], 260),
        note=["y" * 4000 if place % 2 else "{{x}}" for place in range(260)],
    )


@pytest.fixture
def show(show_page):
    """Open the page of an explanation from disk."""

    def show(explanation, size=(1280, 900), scheme="light", **options):
        return show_page(lambda path: explanation.report(path, **options), size, scheme)

    return show


def listed(page):
    return page.eval_on_selector_all("#list .of", "(all) => all.map((one) => one.textContent)")


def cells(page, selector):
    return page.eval_on_selector_all(
        f"{selector} tbody tr",
        "(rows) => rows.map((row) => [...row.cells].map((c) => c.textContent))",
    )


def test_samples_are_listed_by_the_probability_of_the_smallest_class(show, explanation):
    page = show(explanation)
    p = explanation.probabilities[explanation.order, 0]
    assert explanation.positive == explanation.classes[0] == RARE
    assert listed(page) == [f"{one:.3f}" for one in p]
    assert page.locator("#list [aria-selected=true]").count() == 1


def test_the_parts_and_the_neighbours_of_a_sample_are_shown(show, explanation):
    page = show(explanation)
    page.click("#list li:nth-child(4)")
    sample = int(explanation.order[3])
    assert str(200 + sample) in page.text_content("#one-title")
    parts = (0.6 * explanation.classifier[sample, 0], 0.4 * explanation.vote[sample, 0])
    widths = page.eval_on_selector_all("#sum .part", "(all) => all.map((one) => one.style.width)")
    assert [float(width.rstrip("%")) for width in widths] == pytest.approx(
        [100 * part for part in parts], abs=0.01
    )
    label = page.get_attribute("#sum [role=img]", "aria-label")
    assert f"{parts[0]:.3f} from the classifier and {parts[1]:.3f} from the vote" in label
    frame = explanation.to_frame(samples=[sample], n_neighbors=15)
    shown = cells(page, "#near")
    assert [int(row[0]) for row in shown] == frame["neighbor"].tolist()
    assert [row[1] for row in shown] == [
        label if len(label) <= 40 else f"{label[:39]}…" for label in frame["label"]
    ]
    assert [float(row[2].split()[0]) for row in shown] == pytest.approx(
        100 * frame["weight"], abs=0.051
    )
    assert [float(row[3]) for row in shown] == pytest.approx(frame["distance"], rel=0.006)


def test_cells_stand_beside_those_of_the_neighbours_and_are_marked(show, explanation):
    page = show(explanation)
    sample = int(explanation.order[0])
    neighbors = explanation.to_frame(samples=[sample], n_neighbors=15)["neighbor"]
    amount = page.locator("#beside tbody tr").first.locator("td")
    mine = explanation._X["amount"].iloc[sample]
    theirs = explanation._X_train["amount"].iloc[neighbors].tolist()
    assert [float(text) for text in amount.all_text_contents()] == [mine, *theirs]
    for place, value in enumerate(theirs):
        is_same = "same" in (amount.nth(place + 1).get_attribute("class") or "")
        assert is_same == (value == mine)
    assert page.locator("#beside td.far").count() > 0
    rows = page.locator("#beside tbody tr").count()
    page.check("#differing")
    assert page.locator("#beside tbody tr").count() <= rows
    assert page.evaluate("document.activeElement.id") == "differing"


def test_nothing_from_the_data_runs(show, explanation):
    page = show(explanation, title=f"</title>{HOSTILE}")
    for place in range(1, 8):
        page.click(f"#list li:nth-child({place})")
    assert page.title() == f"</title>{HOSTILE}"
    assert page.locator("img").count() == 0
    assert page.locator("main script").count() == 0
    names = page.locator("#beside tbody th").all_text_contents()
    assert names == ["amount", HOSTILE, "{{ 7 * 7 }}", "country", "note"]
    assert "\u202e" not in page.content()
    assert "\x00" not in page.content()
    assert RARE in page.text_content("#one-lead")


def test_it_is_used_with_the_keyboard(show, explanation):
    page = show(explanation)
    page.focus("#list")
    for key, place in (
        ("ArrowDown", 1),
        ("ArrowDown", 2),
        ("ArrowUp", 1),
        ("End", 59),
        ("Home", 0),
    ):
        page.keyboard.press(key)
        assert page.get_attribute("#list", "aria-activedescendant") == f"sample-{place}"
        title = page.text_content("#one-title")
        assert str(200 + int(explanation.order[place])) in title
    page.focus("#search")
    page.keyboard.type(str(200 + int(explanation.order[20])))
    assert page.locator("#list li").count() >= 1
    page.focus("#list")
    page.keyboard.press("End")
    assert page.locator("#list [aria-selected=true]").count() == 1
    page.fill("#search", "nothing like this")
    assert "0 of 60 samples match" in page.text_content("#list-note")
    page.focus("#list")
    page.keyboard.press("ArrowDown")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_narrow_and_wide_screens_in_light_and_dark(show, explanation, width, scheme):
    page = show(explanation, size=(width, 900), scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") != scheme
    assert len(listed(page)) == 60


def test_without_a_vote_or_training_data_it_says_so(show):
    page = show(explained(weight=0))
    assert "has the weight 0" in page.text_content("main")
    assert page.locator("#near table").count() == 0
    assert page.locator("#beside tbody tr").count() == 3
    e = explained()
    page = show(dataclasses.replace(e, _X_train=None))
    assert "were not passed as X_train" in page.text_content("main")
    assert page.locator("#near tbody tr").count() == 15
    assert page.locator("#beside thead th").count() == 2


def test_the_frame_in_a_notebook_works(browser, explanation, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{explanation._repr_html_()}", "utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for(state="attached")
    assert frame.locator("#list li").count() == 50
    context.close()
