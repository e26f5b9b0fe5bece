"""The versions that stand beside a result."""

import platform
from importlib.metadata import PackageNotFoundError, version


def versions(*names: str) -> dict[str, str]:
    """Give the version of Python and of those of the named distributions that are installed."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
