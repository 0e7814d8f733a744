"""How derived columns follow from other columns: one class for each kind.

A derivation is public: it comes from the spec. The value of a row depends on that row alone, and it
is clamped to the bounds of the derived column, or is one of its labels. So queries over a derived
column have the sensitivity that its declaration states, as over any column.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcli.columns import Column, Derivation, PrivatePartitionColumn
from dpcli.filters import Filter


@dataclass(frozen=True, slots=True)
class Satisfies(Derivation):
    """A boolean: whether a filter is true. It is missing where the filter is unknown."""

    test: Filter

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The columns that the filter reads."""
        return self.test.columns


@dataclass(frozen=True, slots=True)
class FirstTrue(Derivation):
    """A category: the position of the first filter that is true. It is missing where none is."""

    tests: tuple[Filter, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The columns that the filters read."""
        return tuple(dict.fromkeys(column for test in self.tests for column in test.columns))


@dataclass(frozen=True, slots=True)
class PositionAmong(Derivation):
    """The position of a text among stated ones, or one past their end for any other text."""

    column: PrivatePartitionColumn
    texts: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The column of the text."""
        return (self.column,)


DERIVATIONS: tuple[type[Derivation], ...] = (Satisfies, FirstTrue, PositionAmong)
"""Every kind of derivation."""
