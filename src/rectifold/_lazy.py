"""Import the modules of a package with the first use of their names."""

import sys

# Type checkers take it as true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any


def attach(
    package: str,
    modules: "Mapping[str, Collection[str]]",
    *,
    submodules: "Collection[str]" = (),
    hint: str = "",
) -> "tuple[Callable[[str], Any], Callable[[], list[str]]]":
    """Return `__getattr__` and `__dir__` of a package.

    `modules` has the names that each module defines. `hint` is the end of the error about a module
    of an extra that is not installed; it can have the name of that module as ``{}``.
    """
    where = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> "Any":
        from importlib import import_module

        if name in submodules:
            return import_module(f"{package}.{name}")
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(where[name]), name)
        except ModuleNotFoundError as error:
            if not hint:
                raise
            raise ImportError(hint.format(error.name)) from error
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *where, *submodules})

    return get, names
