"""The decorator `dataclass` of the standard library, made for a short start-up.

The standard library writes the source of up to seven methods of each class and compiles it, which
takes half a millisecond of each start, and a command imports more than a hundred such classes. Here
the methods are functions that know the names of the fields. They do the same; only the constructor
is slower, by about a microsecond a call, so that a class with very many objects uses the standard
library itself. `replace`, `fields` and `field` of the standard library are for both. A class that
extends another one has the same decorator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

Method = Callable[..., Any]
Fields = tuple[dataclasses.Field[Any], ...]

_set = object.__setattr__

if TYPE_CHECKING:
    # For type checkers, and for rules of style, the classes are those of the standard library.
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - exported
else:

    def dataclass(cls=None, /, *, repr=True, eq=True, frozen=False, kw_only=False, slots=False):  # noqa: ANN001, ANN201, A002
        """The class with the methods that `dataclasses.dataclass` would write."""

        def decorated(plain: type) -> type:
            made = dataclasses.dataclass(
                plain, init=False, repr=False, eq=False, kw_only=kw_only, slots=slots
            )
            fields = dataclasses.fields(made)
            methods = {"__init__": _constructor(made, fields)}
            if repr:
                methods["__repr__"] = _representation(fields)
            if eq:
                methods["__eq__"] = _comparison(fields)
                methods["__hash__"] = _hash(fields) if frozen else None
            if frozen:
                methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
            if frozen and slots:
                methods |= {"__getstate__": _state, "__setstate__": _set_state}
            for name, method in methods.items():
                # A class that compares in its own way has the hash None.
                if vars(plain).get(name) is None:
                    setattr(made, name, method)
            return made

        return decorated if cls is None else decorated(cls)


def _constructor(cls: type, fields: Fields) -> Method:
    names = tuple(field.name for field in fields)
    positional = tuple(field.name for field in fields if field.init and not field.kw_only)
    internal = frozenset(field.name for field in fields if not field.init)
    absent = dataclasses.MISSING
    defaults = {field.name: field.default for field in fields if field.default is not absent}
    makers: list[tuple[str, Callable[[], Any]]] = [
        (field.name, field.default_factory)
        for field in fields
        if field.default_factory is not absent
    ]
    completes = hasattr(cls, "__post_init__")

    def __init__(self: Any, /, *args: Any, **values: Any) -> None:  # noqa: N807
        count = len(args) + len(values)
        values |= zip(positional, args, strict=False)
        if len(values) < count or (internal and not internal.isdisjoint(values)):
            raise _wrong_arguments(cls)
        if count < len(names):
            values = defaults | values
            for name, make in makers:
                if name not in values:
                    values[name] = make()
        if len(values) != len(names):
            raise _wrong_arguments(cls)
        try:
            for name in names:
                _set(self, name, values[name])
        except KeyError:
            raise _wrong_arguments(cls) from None
        if completes:
            self.__post_init__()

    return __init__


def _wrong_arguments(cls: type) -> TypeError:
    return TypeError(f"wrong arguments for {cls.__name__}({', '.join(cls.__annotations__)})")


def _representation(fields: Fields) -> Method:
    names = [field.name for field in fields if field.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return __repr__


def _comparison(fields: Fields) -> Method:
    values = _values_of([field.name for field in fields if field.compare])

    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    return __eq__


def _hash(fields: Fields) -> Method:
    hashed = (field.compare if field.hash is None else field.hash for field in fields)
    names = [field.name for field, is_hashed in zip(fields, hashed, strict=True) if is_hashed]
    values = _values_of(names)
    return lambda self: hash(values(self))


def _values_of(names: list[str]) -> Callable[[object], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _refuse_to_set(_self: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        _set(self, field.name, value)
