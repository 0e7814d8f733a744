"""What every statistic is: questions to ask, and an estimate from their answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpcli.columns import Column, NumericColumn
from dpcli.privacy.noise import Noise
from dpcli.privacy.relation import Relation
from dpcli.queries import Condition, Key, Query


@dataclass(frozen=True, slots=True)
class Request:
    """One entry of a spec with its names resolved: what is asked, not its price.

    `bins` is the axis along which a histogram counts. `totals`, in steps, clamps what
    one person adds to a group, over all their rows; without it their kept rows count.
    """

    name: str
    column: Column | None = None
    bins: Key | None = None
    by: tuple[Key, ...] = ()
    where: tuple[Condition, ...] = ()
    totals: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One query of a statistic, and its share of the entry's epsilon and delta.

    `unit` is the value of one step of the answer's grid; `role` says what the
    query is for when a statistic asks several.
    """

    role: str
    query: Query
    share: Fraction = Fraction(1)
    unit: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Answer:
    """The noisy whole numbers of one question, cell by cell, and their noise."""

    values: tuple[int, ...]
    noise: Noise


@dataclass(frozen=True, slots=True)
class Estimate:
    """A published number and the interval for its noise-free value.

    Values are exact; `places` is how many decimals are printed. No interval is
    given where no honest one is known.
    """

    value: Fraction
    lower: Fraction | None
    upper: Fraction | None
    places: int


@dataclass(frozen=True, slots=True)
class Fields:
    """Which optional fields of an entry a statistic reads.

    `column` lists the kinds of column it accepts (none: the field is refused).
    `totals` says whether what a person adds can be added up first (`bound: sum`), and
    `keys` whether its noisy answer can say which groups there are (`keys: private`).
    """

    column: tuple[str, ...] = ()
    column_required: bool = True
    bins: bool = False
    totals: bool = False
    keys: bool = False


class Statistic(ABC):
    """Something that may be asked; one subclass, one file, one registry line.

    The docstring of a subclass carries its privacy argument and is what
    `dpcli explain` prints.
    """

    name: ClassVar[str]
    fields: ClassVar[Fields] = Fields()

    @abstractmethod
    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """The queries that answer `request`; their shares sum to one."""

    @abstractmethod
    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """Published numbers from noisy answers alone, one per output cell."""

    def axes(self, request: Request) -> tuple[Key, ...]:
        """The axes of the output: keys first, then the axis of items, if any."""
        return request.by + ((request.bins,) if request.bins else ())


def shifted(
    answer: Answer, confidence: Fraction, unit: Fraction, places: int
) -> tuple[Estimate, ...]:
    """Noisy values in natural units, each with the interval of its own noise."""
    width = answer.noise.half_width(confidence)
    return tuple(
        Estimate(value * unit, (value - width) * unit, (value + width) * unit, places)
        for value in answer.values
    )


def numeric(request: Request) -> NumericColumn:
    """The numeric column of a request; the spec has checked that it is one."""
    if not isinstance(request.column, NumericColumn):
        raise TypeError("this statistic needs a numeric column")
    return request.column
