"""Categories that follow from filters and stated texts; no spec declares them."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from dpcli.data.column import Column, Derivation, Names, Ranges, as_ranges, common_ranges
from dpcli.data.filters import Filter, all_implied, complement, filtered_columns
from dpcli.data.polars_text import pl
from dpcli.problems.light_dataclasses import dataclass

if TYPE_CHECKING:
    from dpcli.data.labels import LabeledColumn


@dataclass(frozen=True, slots=True)
class FirstTrue(Derivation):
    """A category: the position of the first filter that is true; missing if none is.

    A position without a filter is never the first.
    """

    tests: tuple[Filter | None, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        return filtered_columns(self._known)

    @property
    def _known(self) -> list[Filter]:
        return [test for test in self.tests if test is not None]

    @property
    def text(self) -> str:
        return "the first of " + ", ".join(test.text for test in self._known)

    @property
    def may_lack(self) -> bool:
        return all_implied(test.implied(outcome=False) for test in self._known) is not None

    def value(self, names: Names) -> pl.Expr:
        positions = [
            pl.when(test.truth(names)).then(pl.lit(index, dtype=pl.Int32))
            for index, test in enumerate(self.tests)
            if test is not None
        ]
        return pl.coalesce(*positions, pl.lit(None, dtype=pl.Int32))


LAST_NUMBER = (1 << 256) - 1


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest())


@dataclass(frozen=True, slots=True)
class PositionAmong(Derivation):
    """A text's position among stated ones, or one past their end for any other text."""

    column: Column
    texts: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self.column,)

    @property
    def text(self) -> str:
        return f"{self.column.name} among {', '.join(self.texts)}"

    def value(self, names: Names) -> pl.Expr:
        text = pl.col(names[self.column])
        index = text.replace_strict(self._indices, default=len(self.texts), return_dtype=pl.Int64)
        return pl.when(text.is_not_null()).then(index)

    @property
    def _indices(self) -> dict[str, int]:
        """The position of each text; of equal texts, the last one counts."""
        return {one: index for index, one in enumerate(self.column.compared(self.texts))}

    def implied(self, ranges: Ranges) -> Mapping[Any, Ranges]:
        """The texts, as numbers by their digests; other texts are all numbers but these."""
        numbers = {_number(one): at for one, at in self._indices.items()}
        *stated, others = (
            bool(common_ranges(ranges, ((at, at),))) for at in range(len(self.texts) + 1)
        )
        found = as_ranges(one for one, at in numbers.items() if stated[at] != others)
        return {self.column: complement(found, (0, LAST_NUMBER)) if others else found}


@dataclass(frozen=True, slots=True)
class NumberOfLabels(Derivation):
    """A public number of each combination of labels, in steps.

    The labels of the last column change first.
    """

    columns: tuple[LabeledColumn, ...]
    numbers: tuple[int, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self.columns

    @property
    def text(self) -> str:
        return f"the number of {', '.join(column.name for column in self.columns)}"

    def value(self, names: Names) -> pl.Expr:
        index = pl.lit(0, dtype=pl.Int64)
        for column in self.columns:
            index = index * len(column.labels) + pl.col(names[column])
        return index.replace_strict(
            dict(enumerate(self.numbers)), default=None, return_dtype=pl.Int64
        )
