"""What a page on a class shows: each attribute once, and how it is made only if a user makes it."""

import inspect
import re
from functools import cached_property
from typing import Any

from numpydoc.docscrape import NumpyDocString
from numpydoc.docscrape_sphinx import SphinxClassDoc
from sphinx.application import Sphinx


def _told(kind: Any, *sections: str) -> set[str]:
    """Names that the docstring of a class tells of in these sections."""
    parsed = NumpyDocString(inspect.getdoc(kind) or "")
    lines = (line.name for section in sections for line in parsed[section])
    return {name.lstrip("*") for line in lines for name in re.split(r",\s*", line)}


def _home(member: Any) -> Any:
    """The class that a property is defined in, if it is one."""
    found = member.fget if isinstance(member, property) else None
    found = member.func if isinstance(member, cached_property) else found
    if found is None:
        return None
    return getattr(inspect.getmodule(found), found.__qualname__.rpartition(".")[0], None)


def _skip(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out members that the section Attributes has already, and generated setters of requests.

    scikit-learn writes the docstrings of the latter, with references to its own glossary.
    """
    if re.fullmatch(r"set_\w+_request", name):
        return True
    home = _home(member)
    return True if home is not None and name in _told(home, "Attributes") else None


def _unreadable(default: Any) -> bool:
    return default is not inspect.Parameter.empty and not re.fullmatch(r"[^<].{,60}", repr(default))


class _Something:
    """Stands for a default that is no use to a reader."""

    def __repr__(self) -> str:
        return "..."


def _signature(
    app: Any, what: str, name: str, kind: Any, options: Any, signature: Any, returns: Any
) -> tuple[str, None] | None:
    """Leave out the signature of a class that does not tell of its parameters, and long defaults.

    Sphinx would show the defaults of a dataclass as they print, which may be a screenful.
    """
    if what != "class":
        return None
    given = inspect.signature(kind)
    if not set(given.parameters) <= _told(kind, "Parameters", "Attributes"):
        return "", None
    shown = [
        one.replace(
            annotation=one.empty,
            default=_Something() if _unreadable(one.default) else one.default,
        )
        for one in given.parameters.values()
    ]
    return str(given.replace(parameters=shown, return_annotation=given.empty)), None


def _plainly(process: Any) -> Any:
    """Have numpydoc show what Attributes says, not a link and a property's first sentence."""
    return lambda self, param, text, fake_autosummary: process(self, param, text, False)


def setup(app: Sphinx) -> dict[str, bool]:
    """Have pages made so."""
    SphinxClassDoc._process_param = _plainly(SphinxClassDoc._process_param)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
