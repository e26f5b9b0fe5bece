"""Errors and warnings about parameters, which a caller can show in its own notation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: Stands for the value of a parameter that is only named.
_NO_VALUE: Any = object()


@dataclass(frozen=True)
class Param:
    """A parameter, and a value of it, in the text of an error.

    Examples
    --------
    >>> str(Param("gamma")), str(Param("engine", "auto"))
    ('gamma', "engine='auto'")
    """

    name: str
    value: Any = _NO_VALUE

    @property
    def has_value(self) -> bool:
        """Whether the text shows a value beside the name."""
        return self.value is not _NO_VALUE

    def __str__(self) -> str:
        return f"{self.name}={self.value!r}" if self.has_value else self.name

    def __reduce__(self) -> tuple[type["Param"], tuple[Any, ...]]:
        # In another process, `_NO_VALUE` is another object.
        return type(self), (self.name, self.value) if self.has_value else (self.name,)


class _Sentence(Exception):  # noqa: N818 - a base of errors and of warnings
    """A sentence about parameters.

    Parameters
    ----------
    template : str
        One sentence, with ``{}`` in place of each of `parts`; without parts it is not formatted.
    *parts : Param or str
        The parameters in the order of the sentence, and text from data, such as names of columns,
        which may hold braces.
    """

    def __init__(self, template: str, *parts: "Param | str") -> None:
        super().__init__(template.format(*parts) if parts else template)
        self.template = template
        self.parts = parts

    def message(self, render: Callable[[Param], str]) -> str:
        """Return the sentence with every parameter as `render` writes it."""
        parts = [render(part) if isinstance(part, Param) else part for part in self.parts]
        return self.template.format(*parts) if parts else self.template

    def __reduce__(self) -> tuple[type["_Sentence"], tuple[Any, ...]]:
        return type(self), (self.template, *self.parts)


class ParameterError(_Sentence, ValueError):
    """A parameter, or a combination of parameters, that can't be used.

    Examples
    --------
    >>> error = ParameterError("{} works on the CPU: leave out {}.",
    ...                        Param("engine", "exact"), Param("device"))
    >>> print(error)
    engine='exact' works on the CPU: leave out device.
    >>> error.parameter
    'engine'
    >>> error.message(lambda param: f"--{param.name}")
    '--engine works on the CPU: leave out --device.'
    """

    @property
    def parameter(self) -> str:
        """Name of the parameter to blame, the first one; empty if the text names none."""
        return next((part.name for part in self.parts if isinstance(part, Param)), "")


class ParameterWarning(_Sentence, UserWarning):
    """A warning that names parameters."""
