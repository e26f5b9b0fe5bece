"""The search of the built site leads to the page that answers.

The order of the results is that of Sphinx's `searchtools.js`, for queries without excluded words.
"""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "build" / "docs" / "searchindex.js"
#: What a user types, and the page that answers.
ANSWERS = {
    "hyperparameter": "docs/cheatsheet",
    "data leakage": "docs/pitfalls",
    "one-hot": "docs/faq",
    "duplicates": "docs/faq",
    "categorical": "docs/faq",
    "missing values": "docs/faq",
    "gamma": "docs/guide/method",
    "label noise": "docs/guide/why",
    "calibration": "docs/guide/probabilities",
    "threshold": "docs/faq",
    "deprecation": "docs/deprecation",
    "intrusion": "docs/glossary",
}
#: Scores of Sphinx: a match of the whole name or of a part of it.
OBJECT, PART_OF_OBJECT, PRIORITY = 11, 6, {0: 15, 1: 5, 2: -5}
TITLE, TERM = (15, 7), (5, 2)


@pytest.fixture(scope="module")
def index():
    """Read the index of the built site, unless it is older than a page."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")]
    if not INDEX.exists() or INDEX.stat().st_mtime < max(p.stat().st_mtime for p in pages):
        pytest.skip("the site in build/docs is missing or older than its pages (run make docs)")
    return json.loads(INDEX.read_text().removeprefix("Search.setIndex(").removesuffix(")"))


def of_titles(index, query):
    """Yield (score, document) for headings of which the query is at least half."""
    for title, places in index["alltitles"].items():
        if query in title.lower() and 2 * len(query) >= len(title):
            for document, _ in places:
                whole = index["titles"][document] == title
                yield round(TITLE[0] * len(query) / len(title)) + whole, document


def of_entries(index, query):
    """Yield the same for main entries of the general index; others come after all results."""
    for entry, places in index["indexentries"].items():
        if query in entry and 2 * len(query) >= len(entry):
            for document, _, main in places:
                if main:
                    yield round(100 * len(query) / len(entry)), document


def of_objects(index, words):
    """Yield the same for names of the API."""
    for prefix, members in index["objects"].items():
        for document, _, priority, _, name in members:
            full = f"{prefix}.{name}".lower()
            for word in words:
                if word in full and all(other in full for other in words):
                    last = full.rpartition(".")[2]
                    match = OBJECT if word in (last, full) else PART_OF_OBJECT * (word in last)
                    yield match + PRIORITY[priority], document


def of_terms(index, words):
    """Yield the same for documents that have all stems of the words."""
    found = {}
    for word in words:
        for terms, (whole, part) in ((index["terms"], TERM), (index["titleterms"], TITLE)):
            exact = word in terms
            for term in [word] if exact else [term for term in terms if word in term]:
                documents = terms[term]
                for document in [documents] if isinstance(documents, int) else documents:
                    found.setdefault(document, {})[word] = whole if exact else part
    for document, scores in found.items():
        if len(scores) == len(words):
            yield max(scores.values()), document


def results(index, query):
    """Return the names of documents, best first; among equals in the order of their titles."""
    language = pytest.importorskip("sphinx.search.en").SearchEnglish({})
    query = query.lower()
    words = re.findall(r"\w+", query)
    scored = [
        *of_titles(index, query),
        *of_entries(index, query),
        *of_objects(index, words),
        *of_terms(index, [language.stem(word) for word in words]),
    ]
    scored.sort(key=lambda one: (-one[0], index["titles"][one[1]].lower()))
    return list(dict.fromkeys(index["docnames"][document] for _, document in scored))


@pytest.mark.parametrize("query", ANSWERS)
def test_the_first_result_is_the_page_that_answers(index, query):
    assert results(index, query)[:1] == [ANSWERS[query]], results(index, query)[:5]
