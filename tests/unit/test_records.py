"""Records are the frozen dataclasses of the standard library, made faster."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest

from dpcli import records

MAKERS = pytest.mark.parametrize("make", [dataclasses.dataclass, records.dataclass])


def made(make: Any, **options: bool) -> Any:
    """The same class, as one of two libraries makes it."""

    class Point:
        """A place."""

        x: int
        y: tuple[int, ...] = ()
        name: str = field(default="", compare=False, repr=False)

    return make(frozen=True, **options)(Point)


@MAKERS
@pytest.mark.parametrize("options", [{"slots": True}, {}, {"kw_only": True}])
def test_they_behave_as_those_of_the_library(make: Any, options: dict[str, bool]) -> None:
    """Both libraries make the same constructor, equality, hash, text and copies."""
    point = made(make, **options)
    one = point(x=1, y=(2,), name="a")
    assert one == point(x=1, y=(2,), name="b")
    assert hash(one) == hash(point(x=1, y=(2,)))
    assert one != point(x=1) != (1, ())
    assert repr(one).endswith("Point(x=1, y=(2,))")
    assert replace(one, x=3) == point(x=3, y=(2,))
    assert [each.name for each in fields(one)] == ["x", "y", "name"]
    with pytest.raises(TypeError):
        point()
    if "kw_only" in options:
        with pytest.raises(TypeError):
            point(1)
    else:
        assert point(1, (2,)) == one


@MAKERS
@pytest.mark.parametrize("slots", [True, False])
def test_nothing_changes_a_record(make: Any, slots: bool) -> None:
    """No field is set again or deleted, and no other attribute is added."""
    one = made(make, slots=slots)(1)
    for name in ("x", "y"):
        with pytest.raises(FrozenInstanceError):
            setattr(one, name, 2)
        with pytest.raises(FrozenInstanceError):
            delattr(one, name)
    with pytest.raises((FrozenInstanceError, TypeError)):
        one.other = 1
    assert one.x == 1


@records.dataclass(frozen=True, slots=True)
class Base:
    """A record with a rule."""

    low: int

    def __post_init__(self) -> None:
        if self.low < 0:
            raise ValueError(self.low)


@records.dataclass(frozen=True, slots=True)
class Range(Base):
    """A record with the fields of another, and a hash of its own."""

    high: int = 9

    def __hash__(self) -> int:
        return 7


def test_a_record_adds_to_another() -> None:
    """Fields and rules are inherited, and methods that a class has of its own stay."""
    assert (Range(1).low, Range(1, 2).high, hash(Range(1))) == (1, 2, 7)
    with pytest.raises(ValueError, match="-1"):
        Range(-1)


def test_a_record_may_be_empty() -> None:
    """Records without fields are equal if they are of one class."""

    @records.dataclass(frozen=True, slots=True)
    class Nothing:
        """No fields."""

    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())
    assert Nothing() != object()


@MAKERS
def test_a_record_may_be_equal_to_itself_alone(make: Any) -> None:
    """Without comparison by fields, records are compared and hashed as objects."""
    point = made(make, eq=False)
    one, other = point(1), point(1)
    assert one != other and len({one, other, one}) == 2


def test_records_can_be_pickled() -> None:
    """What is sent to another process is equal there."""
    assert pickle.loads(pickle.dumps(Range(1, 2))) == Range(1, 2)
