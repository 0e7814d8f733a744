"""JSON written from types and read into them; numbers keep all of their digits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache
from math import ceil
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from dpcli.numeric.exact import plain_text
from dpcli.privacy.loss import Loss

Value = TypeVar("Value")
Made = TypeVar("Made")
Stated = TypeVar("Stated", bound="JsonObject")


def if_known(make: Callable[[Value], Made], value: Value | None) -> Made | None:
    """The result of `make` for a value; None if the value is None."""
    return None if value is None else make(value)


class JsonNumber(str):
    """A plain decimal that JSON shows as a number, digit for digit."""

    __slots__ = ()

    @classmethod
    def of(cls, value: Fraction | int) -> JsonNumber:
        """A rational as a decimal: exact if that is short, else rounded up."""
        return cls(plain_text(Fraction(value), ceil))

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, handler: Any) -> Any:
        return handler(float)


number = JsonNumber.of


class JsonRow(tuple[JsonNumber, ...]):
    """Numbers that JSON shows on one line."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, handler: Any) -> Any:
        return handler(list[JsonNumber])


class Keywords:
    """Keywords that are added to the JSON Schema of a type."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> Any:
        return handler(core_schema) | self.keywords


Count = Annotated[int, Keywords(minimum=0)]
Positive = Annotated[int, Keywords(minimum=1)]
Date = Annotated[str, Keywords(format="date")]
Sentences = list[str]
Ends = tuple[JsonNumber, JsonNumber]


REPORT_VERSION = 3
"""The version of the keys of reports, and of the JSON of plans and simulations."""

CELLS_PLACE = "\u0000cells"
"""What stands in JSON for a statistic's numbers; no spec can contain this text."""

KEYS = {"no_information": "no-information", "is_shuffled": "shuffled"}
"""Keys that differ from the names of their fields."""

FORMER_KEYS = {
    "description": ("question", "told"),
    "queries": ("parts",),
    "requested": ("asked",),
    "risk": ("hazard",),
    "risks": ("hazards",),
    "row_contribution": ("influence",),
    "sentences": ("says",),
    "upper": ("limit",),
}


def json_key(name: str) -> str:
    """The JSON key of a field."""
    return KEYS.get(name, name)


class NotStatedError(AttributeError, KeyError):
    """A value is missing that an earlier version of dpcli did not state."""


class JsonObject:
    """The base of frozen dataclasses whose fields are the keys of a JSON object.

    A field is absent from the JSON if its value is its default. JSON of earlier versions may lack
    a field without a default, or have a value of another form: such a field is not set, and
    reading it raises `NotStatedError`. Keys that are named in `order` come first.
    """

    __slots__ = ()
    order: ClassVar[tuple[str, ...]] = ()
    __pydantic_config__: ClassVar = {
        "alias_generator": json_key,
        "extra": "forbid",
        "use_attribute_docstrings": True,
    }

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise NotStatedError for a field that is not set, else AttributeError."""
            error = NotStatedError if name in self.__dataclass_fields__ else AttributeError
            raise error(name)

    @classmethod
    def load(cls, stated: Any) -> Self:
        """An object of this class, from a JSON object that `parsed_json` returned.

        Raises ValueError if `stated` is not a JSON object.
        """
        if not isinstance(stated, dict):
            raise ValueError("no object")  # noqa: TRY004 - what is wrong is the value
        kinds: Any = cls
        loaded = object.__new__(cls)
        for name, kind, default in _fields(kinds):
            keys = (json_key(name), *FORMER_KEYS.get(name, ()))
            value = next((stated[key] for key in keys if key in stated), MISSING)
            with suppress(ValueError):
                value = default if value is MISSING else _loaded(kind, value)
                if value is not MISSING:
                    object.__setattr__(loaded, name, value)
        return loaded

    @classmethod
    def read(cls, source: object, **stated: Any) -> Self:
        """An object with attributes of `source` in the fields that are not `stated`.

        An empty text becomes None.
        """
        kind: Any = cls
        for name in (field.name for field in fields(kind)):
            if name not in stated:
                value = getattr(source, name)
                value = number(value) if isinstance(value, Fraction) else value
                stated[name] = None if value == "" else value
        return cls(**stated)

    def extended(self, kind: type[Made], **more: Any) -> Made:
        """An object of the subclass `kind`, with the fields of this one and `more`."""
        cls: Any = type(self)
        own = {field.name: getattr(self, field.name) for field in ordered_fields(cls)}
        return kind(**own, **more)


@cache
def ordered_fields(cls: Any) -> list[Field[Any]]:
    """The fields of a subclass of `JsonObject`, in the order of its JSON."""
    first = {name: position for position, name in enumerate(cls.order)}
    return sorted(fields(cls), key=lambda field: first.get(field.name, len(first)))


@cache
def _fields(cls: Any) -> list[tuple[str, Any, Any]]:
    kinds = get_type_hints(cls)
    return [(field.name, kinds[field.name], field.default) for field in fields(cls)]


def _loaded(kind: Any, value: Any) -> Any:
    """A JSON value converted to the type `kind`; ValueError if it has another form."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        for part in args:
            with suppress(ValueError):
                return _loaded(part, value)
    elif kind is JsonRow and type(value) is list:
        return JsonRow(_loaded(JsonNumber, item) for item in value)
    elif origin in (list, tuple) and type(value) is list:
        is_free = origin is list or args[-1] is ...
        kinds = args[:1] * len(value) if is_free else args
        return origin(_loaded(each, item) for each, item in zip(kinds, value, strict=True))
    elif origin is dict and type(value) is dict:
        return {key: _loaded(args[1], item) for key, item in value.items()}
    elif origin is None and issubclass(kind, JsonObject | StrEnum):
        return getattr(kind, "load", kind)(value)
    elif kind in (int, JsonNumber) and isinstance(value, str) and _NUMBER.fullmatch(value):
        # Early versions wrote numbers as texts.
        return kind(value)
    elif kind is object or type(value) is (str if origin is Literal else kind):
        return value
    raise ValueError("another form")


Fact = (
    None | bool | int | str | Fraction | Loss | JsonObject
    | Sequence["Fact"] | Mapping[str, "Fact"]
)  # fmt: skip
"""A value of JSON. A rational is written exactly if it is short, else rounded up."""

Facts = dict[str, Fact]
"""Values by their JSON keys."""

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_MARK = "\u0000number:"
_MARKED = r'"\\u0000number:(-?[0-9]+(?:\.[0-9]+)?|\[[-0-9., ]*\])"'


def with_value(stated: Stated, name: str, value: object) -> Stated:
    """A copy with another value of a field; fields that are not set stay so."""
    kind: Any = type(stated)
    made = object.__new__(kind)
    for field in fields(kind):
        with suppress(NotStatedError):
            object.__setattr__(made, field.name, getattr(stated, field.name))
    object.__setattr__(made, name, value)
    return cast("Stated", made)


def require_stated(fact: Fact) -> None:
    """Raise NotStatedError for a field that is not set, at any depth."""
    match fact:
        case JsonObject():
            kind: Any = type(fact)
            for field in fields(kind):
                require_stated(getattr(fact, field.name))
        case Mapping():
            for value in fact.values():
                require_stated(value)
        case list() | tuple():
            for value in fact:
                require_stated(value)


def json_text(fact: Fact, indent: int | None = 2) -> str:
    """JSON in a fixed order; without `indent`, on one line without spaces."""
    separators = None if indent else (",", ":")
    text = json.dumps(_encodable(fact), indent=indent, separators=separators, ensure_ascii=False)
    return re.sub(_MARKED, r"\1", text) + ("\n" if indent else "")


def parsed_json(text: str | bytes, number: Callable[[str], JsonNumber] = JsonNumber) -> Any:
    """Parsed JSON; its numbers keep their digits, or are what `number` makes of them."""
    return json.loads(text, parse_float=number, parse_int=number, parse_constant=str)


def _encodable(fact: Any) -> Any:
    """A value for `json.dumps`: numbers are marked strings, never floats."""
    match fact:
        case JsonNumber():
            return _MARK + fact
        case JsonRow():
            return f"{_MARK}[{', '.join(fact)}]"
        case Fraction():
            return _MARK + plain_text(fact, ceil)
        case None | bool() | int() | str():
            return fact
        case JsonObject():
            # Values that are not set are absent, as are those of defaults.
            kind: Any = type(fact)
            return {
                json_key(field.name): _encodable(value)
                for field in ordered_fields(kind)
                if (value := getattr(fact, field.name, field.default)) is not field.default
            }
        case Mapping():
            return {key: _encodable(value) for key, value in fact.items()}
    if is_dataclass(fact):
        return {field.name: _encodable(getattr(fact, field.name)) for field in fields(fact)}
    return list(map(_encodable, fact))
