"""What the tests of pages in a browser share."""

import time


def wait(page, expression):
    """Wait until an expression holds; the page's policy forbids wait_for_function."""
    for _ in range(600):
        if page.evaluate(f"() => {expression}"):
            return
        time.sleep(0.05)
    raise AssertionError(f"never true: {expression}")
