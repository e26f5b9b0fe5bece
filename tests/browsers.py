"""A browser for the tests of pages."""

import os
import shutil
import time

import pytest


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    assert found, "no browser: install Debian's chromium, or name one in CHROMIUM"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def show_page(browser, tmp_path):
    """Open a page that a function writes; fail on errors, messages and requests."""
    problems, contexts = [], []

    def show(write, size, scheme):
        path = tmp_path / f"page{len(contexts)}.html"
        write(path)
        context = browser.new_context(
            viewport=dict(zip(("width", "height"), size, strict=True)),
            color_scheme=scheme,
            accept_downloads=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:", "blob:"))
                or problems.append(f"request: {request.url}")
            ),
        )
        page.goto(path.as_uri())
        wait(page, "document.documentElement.dataset.ready !== undefined")
        return page

    yield show
    for context in contexts:
        context.close()
    assert problems == []


def wait(page, expression):
    """Wait until an expression holds; the page's policy forbids wait_for_function."""
    for _ in range(600):
        if page.evaluate(f"() => {expression}"):
            return
        time.sleep(0.05)
    raise AssertionError(f"never true: {expression}")
