"""Frozen dataclasses that are quick to make: every command makes a hundred.

The standard library writes and compiles six functions for each of them. Here `__init__` alone is
compiled; the others are the same for all, and work with the names of the fields.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool, eq: bool = True, **options: bool) -> Any:
        """What `dataclasses.dataclass` makes with these options; no field has a factory."""
        assert frozen
        shared = {"__repr__": _text, "__reduce__": _reduce}
        shared |= {"__eq__": _equal, "__hash__": _hash} if eq else {}
        return lambda cls: _made(cls, shared, **options)


def _made(cls: type, shared: dict[str, Any], **options: bool) -> Any:
    made: Any = dataclasses.dataclass(init=False, eq=False, repr=False, **options)(cls)
    compared = [field.name for field in dataclasses.fields(made) if field.compare]
    made.__compared__ = attrgetter(*(compared or ["__class__"]))
    made.__init__ = _init(made, **options)
    made.__setattr__ = made.__delattr__ = _refuse
    for name, function in shared.items():
        if name not in vars(cls):
            setattr(made, name, function)
    return made


def _init(made: Any, *, slots: bool = False, kw_only: bool = False) -> Any:
    parameters, lines, known = ["self", "*"] if kw_only else ["self"], [], {}
    for field in dataclasses.fields(made):
        name = field.name
        known[f"usual_{name}"] = field.default
        has_default = field.default is not dataclasses.MISSING
        parameters.append(f"{name}=usual_{name}" if has_default else name)
        if slots:
            known[f"set_{name}"] = getattr(made, name).__set__
        lines.append(f"set_{name}(self, {name})" if slots else f"self.__dict__[{name!r}] = {name}")
    lines.append("self.__post_init__()" if hasattr(made, "__post_init__") else "pass")
    head = f"def __init__({', '.join(parameters)}):"
    exec("\n ".join([head, *lines]), known)  # noqa: S102 - of names of fields alone
    return known["__init__"]


def _refuse(_self: object, name: str, _value: object = None) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot change the field {name}")


def _equal(self: Any, other: Any) -> Any:
    if self.__class__ is not other.__class__:
        return NotImplemented
    return self.__compared__(self) == self.__compared__(other)


def _hash(self: Any) -> int:
    return hash(self.__compared__(self))


def _values(self: Any) -> dict[str, Any]:
    return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def _text(self: Any) -> str:
    shown = [one.name for one in dataclasses.fields(self) if one.repr]
    parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{self.__class__.__qualname__}({parts})"


def _reduce(self: Any) -> tuple[Any, ...]:
    return _again, (self.__class__, _values(self))


def _again(made: type, values: dict[str, Any]) -> object:
    return made(**values)
