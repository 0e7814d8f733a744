"""Norms in which K-norm noise falls off, and what one unit changes in them.

Each norm makes the changes of some answers small. `dpcli.noise.bodies` draws the noise, and
`dpcli.noise.tables` that of tables.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final

from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What is known of the changes of vectors by one unit.

    Attributes:
        largest: The greatest change of a number of each vector, summed over all vectors.
        total: The sum of the changes of all numbers.
        largest_of_added: `largest` for a unit that is added; None if that may lower numbers.
        total_of_added: `total` for a unit that is added; None if that may lower numbers.
        times: How many units are added or removed: two if a unit is exchanged.
        is_single: Whether there is one vector.
        has_fixed_sum: Whether there is one vector whose sum is the same for all neighbors.
    """

    largest: int
    total: int
    largest_of_added: int | None
    total_of_added: int | None
    times: int
    is_single: bool
    has_fixed_sum: bool


class Norm(ABC):
    """A norm on vectors of numbers, and a bound on how far one unit moves them."""

    name: ClassVar[str]
    change: ClassVar[str]
    """The norm of what one unit changes, in words."""

    @staticmethod
    @abstractmethod
    def most(changes: Changes) -> int:
        """A bound on the sum of the norms of all changed vectors.

        Raises ValueError if none is proven.
        """


class ZeroOneNorm(Norm):
    """max(0, x_1, ..., x_k) - min(0, x_1, ..., x_k): an increase and a decrease."""

    name = "zero-one"
    change = "the largest increase and the largest decrease of a number together"

    @staticmethod
    def most(changes: Changes) -> int:
        """An added unit has only an increase or only a decrease, if it cannot do both."""
        if changes.largest_of_added is None:
            return 2 * changes.largest
        return changes.times * changes.largest_of_added


class LargestNorm(Norm):
    """The largest |x_i|."""

    name = "cube"
    change = "the largest change of a number"

    @staticmethod
    def most(changes: Changes) -> int:
        """The sum over all vectors of their largest changes."""
        return changes.largest


class ExchangeNorm(Norm):
    """The sum of the positive x_i, or of the negative ones if that is larger."""

    name = "exchange"
    change = "the sum of all increases, or of all decreases if that is larger"

    @staticmethod
    def most(changes: Changes) -> int:
        """What an added unit adds: an exchanged one adds and removes that.

        The norm of several vectors may be that of an increase, and that of a decrease elsewhere.
        """
        if changes.total_of_added is None:
            return changes.total
        return changes.total_of_added * (1 if changes.is_single else changes.times)


class FixedSumNorm(Norm):
    """Half the sum of all |x_i|, for numbers whose sum is the same for all neighbors."""

    name = "fixed-sum"
    change = "half the sum of all changes"

    @staticmethod
    def most(changes: Changes) -> int:
        """As many increases as decreases, so that of `ExchangeNorm`."""
        if not changes.has_fixed_sum:
            raise ValueError("the sum of these numbers may change")
        return ExchangeNorm.most(changes)


NORMS: Final[dict[str, type[Norm]]] = {
    norm.name: norm for norm in (ZeroOneNorm, LargestNorm, ExchangeNorm, FixedSumNorm)
}
"""Every norm, by its name."""


@dataclass(frozen=True, slots=True)
class TablesNorm:
    """A norm on several tables at once, whose sums are all the same number s.

    Let Q be the largest sum of decreases of a table, or of increases if s is negative. Then the
    norm is `decrease` Q + `total` |s|. With `total` None, s is zero.
    """

    name: str
    decrease: int
    total: int | None
    change: str
    """The norm of what one unit changes, in words."""


TABLES_NORMS: Final[dict[str, TablesNorm]] = {
    norm.name: norm
    for norm in (
        TablesNorm("tables", 2, 1, "the sum of all changes in the table where it is the largest"),
        TablesNorm(
            "moved-tables",
            1,
            1,
            "the sum of all increases or of all decreases in a table, whichever is the largest",
        ),
        TablesNorm(
            "exchanged-tables",
            1,
            None,
            "half the sum of all changes in the table where it is the largest",
        ),
    )
}
"""Every norm on tables, by its name.

A row that is added has a norm of one in the first two, one that is changed in the last two.
"""


def tables_name(norm: str, sizes: Sequence[int]) -> str:
    """The name of a norm on tables with these numbers of cells."""
    return "-".join((norm, *map(str, sizes)))


def named_tables(name: str) -> tuple[TablesNorm, tuple[int, ...]] | None:
    """The norm and the sizes of a name by `tables_name`; None for all others."""
    norm = next((known for known in TABLES_NORMS if re.fullmatch(rf"{known}(-\d+)+", name)), None)
    if norm is None:
        return None
    sizes = tuple(map(int, name.removeprefix(norm).split("-")[1:]))
    return (TABLES_NORMS[norm], sizes) if all(sizes) else None
