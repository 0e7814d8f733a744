"""The decorator `dataclass` of dpcli makes the same classes as that of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from dpcli.problems import light_dataclasses

Decorator = Callable[..., Any]


class Plain:
    """Fields with and without a default; a class variable is none."""

    a: int
    b: tuple[int, ...] = (1,)
    c: dict[str, int] = dataclasses.field(default_factory=dict, hash=False)
    d: str = dataclasses.field(default="d", repr=False, compare=False)
    kind: ClassVar[str] = "plain"


class Completed:
    """A field that is no argument, which is set at the end."""

    a: int
    double: int = dataclasses.field(default=0, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2 * self.a)


class Own:  # noqa: PLW1641 - the decorator adds the hash
    """A class with its own comparison, representation and constructor."""

    a: int

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "a", int(text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own | int)

    def __repr__(self) -> str:
        return "own"


def made(decorator: Decorator, body: type, **options: bool) -> Any:
    """A new class with the body of another one, so that both decorators start from the same."""
    names = {
        name: copy.copy(value)
        for name, value in vars(body).items()
        if name not in ("__dict__", "__weakref__")
    }
    return decorator(**options)(type(body.__name__, (), names))


def both(body: type, **options: bool) -> tuple[Any, Any]:
    """The class of each decorator."""
    decorators: tuple[Decorator, Decorator] = (dataclasses.dataclass, light_dataclasses.dataclass)
    first, second = (made(decorator, body, **options) for decorator in decorators)
    return first, second


def outcome(call: Callable[[], Any]) -> object:
    """What a call returns, or the type of its error."""
    try:
        return call()
    except (TypeError, AttributeError, ValueError) as error:
        return type(error)


FORMS = [
    {"frozen": True, "slots": True},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "kw_only": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "repr": False},
    {},
]

ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, (2,)), {}),
    ((1, (2,), {"x": 3}, "e"), {}),
    ((), {"a": 1, "d": "e"}),
    ((1,), {"c": {"x": 3}}),
    ((1,), {"a": 2}),
    ((1, 2, 3, 4, 5), {}),
    ((), {}),
    ((), {"b": (1,)}),
    ((1,), {"e": 5}),
    ((1, 2, 3), {"d": 4, "e": 5}),
]


def facts(cls: Any, form: dict[str, bool]) -> list[object]:
    """What a constructor makes and refuses, and how its objects compare, show and change."""
    found = [
        outcome(lambda args=args, values=values: dataclasses.asdict(cls(*args, **values)))  # type: ignore[misc]
        for args, values in ARGUMENTS
    ]
    one, same, other = cls(a=1, d="x"), cls(a=1, d="y"), cls(a=2)
    return [
        *(*found, one == same, one == other, one == 1, one != same, cls.__match_args__),
        outcome(lambda: hash(one) == hash(same)),
        repr(one) if form.get("repr", True) else "",
        dataclasses.replace(one, b=()).b,
        outcome(lambda: setattr(one, "a", 2)),
        outcome(lambda: delattr(one, "a")),
        getattr(one, "a", None),
    ]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_both_decorators_make_the_same_class(form: dict[str, bool]) -> None:
    """Arguments, comparisons, hashes and representations agree, and what is frozen stays."""
    standard, light = (facts(cls, form) for cls in both(Plain, **form))

    assert standard == light
    assert (light[-3] is dataclasses.FrozenInstanceError) == form.get("frozen", False)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_field_that_is_no_argument_is_set_later(form: dict[str, bool]) -> None:
    """A field with `init=False` has its default until the object is complete."""
    for cls in both(Completed, **form):
        assert cls(a=3).double == 6
        assert outcome(lambda cls=cls: cls(a=3, double=1)) is TypeError  # type: ignore[misc]


def test_methods_of_a_class_stay() -> None:
    """A class keeps the constructor, comparison and representation that it has."""
    for cls in both(Own, frozen=True, slots=True, eq=True):
        assert (cls("3").a, repr(cls("3")), cls("3") == 3) == (3, "own", True)
        assert hash(cls("3")) == hash((3,))


@light_dataclasses.dataclass(frozen=True, slots=True)
class Base:
    """A class that others extend."""

    a: int
    b: int = 2


@light_dataclasses.dataclass(frozen=True, slots=True)
class Extended(Base):
    """A class with one more field."""

    c: int = 3


def test_a_class_extends_another() -> None:
    """Fields of the base come first, and objects of both classes differ."""
    assert Extended(1, 5) == Extended(a=1, b=5, c=3)
    assert Base(1) != Extended(1)
    assert repr(Extended(1)) == "Extended(a=1, b=2, c=3)"


def test_objects_with_slots_are_copied_and_pickled() -> None:
    """A frozen object with slots survives a copy and a pickle."""
    one = Extended(1, 5)

    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
