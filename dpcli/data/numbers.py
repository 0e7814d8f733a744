"""Columns of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Self

from dpcli.data.cell_formats import NumberFormat
from dpcli.data.column import Column, Rule
from dpcli.data.key_texts import list_text, mapping_text, yaml_text
from dpcli.data.lazy_polars import pl
from dpcli.data.number_cells import (
    NUMBER,
    exceeded_bound,
    fits_a_word,
    is_number_of,
    parse_number_cell,
    plain_number,
    smallest_type,
    steps,
)
from dpcli.data.numeric import NumericColumn, NumericKind
from dpcli.data.text_cells import strip_blanks
from dpcli.fields.numbers import parse_number
from dpcli.numeric.exact import decimal_places, decimal_text, readable_text


class NumberColumn(NumericColumn):
    """Numbers; marks of missing cells mark equal numbers too."""

    __slots__ = ()

    kind: ClassVar[NumericKind] = "number"
    format: NumberFormat | None

    @property
    def mean_decimals(self) -> int:
        return decimal_places(self.step) + 2

    def is_like(self, other: Column) -> bool:
        return isinstance(other, NumberColumn)

    def text(self, value: int) -> str:
        """A plain decimal, with as many decimals as the step."""
        return decimal_text(value * self.step, decimal_places(self.step))

    def parse(self, text: str) -> Fraction:
        return parse_number(text)

    def steps_of(self, text: str) -> int:
        return int(Fraction(text) / self.step)

    def constant_text(self, value: Fraction) -> str:
        return readable_text(value)

    def text_rules(self, decided: Mapping[str, int | None]) -> Sequence[Rule]:
        step, limits, dtype = self.step, self.limits, smallest_type(self.limits)
        values = pl.Series(list(decided.values()), dtype=dtype)

        def from_cell(text: pl.Expr) -> pl.Expr:
            in_ones = step == 1
            return self.possible(
                text.cast(pl.Int64, strict=False) if in_ones else steps(text, step, limits)
            )

        def from_decided(bare: pl.Expr) -> pl.Expr:
            return bare.replace_strict(list(decided), values, default=None, return_dtype=dtype)

        rules: list[Rule] = [
            from_cell,
            lambda bare: self.possible(steps(bare, step, limits)),
            lambda bare: exceeded_bound(bare, step, limits).cast(dtype),
        ]
        return [*rules, from_decided] if decided else rules

    def undecided(self, left: pl.Expr, decided: Mapping[str, int | None]) -> pl.Expr | None:
        is_open = left.str.contains(NUMBER)
        is_open = is_open & ~left.is_in(list(decided)) if decided else is_open
        return is_open.fill_null(value=False)

    def decide(self, text: str) -> int | None:
        return parse_number_cell(text, self.step, self.limits)

    @property
    def needs_plain_text(self) -> bool:
        return bool(self.na) or self.format is not None

    def unmarked_text(self, cell: pl.Expr) -> pl.Expr:
        return strip_blanks(cell) if self.format is None else plain_number(cell, self.format)

    def is_marked(self, cell: pl.Expr) -> pl.Expr:
        marked = strip_blanks(cell).is_in(list(self.na))
        is_number = is_number_of(self.unmarked_text(cell), self.na)
        return marked if is_number is None else marked | is_number

    def with_point(self, text: pl.Expr, decimal: str) -> pl.Expr:
        # A form of the column has its own mark.
        if decimal == "." or self.format is not None:
            return text
        return text.str.replace_many([".", decimal], [decimal, "."])

    def typed_text(self, plain: pl.Expr) -> pl.Expr | None:
        if self.format is None:
            return plain
        return plain.str.replace(".", self.format.decimal, literal=True)

    def whole_cells(self, cell: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
        if self.na or (self.format is not None and self.format.values):
            return None
        return cell.cast(pl.Int64) if self.step == 1 and fits_a_word(dtype) else None

    def declared_parts(self, cell: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        """The marks, affixes and open-ended values."""
        yield from NumericColumn.declared_parts(self, cell)
        if self.format is not None:
            for affix in self.format.affixes:
                yield affix, cell.str.contains(affix, literal=True)
            for text, _ in self.format.values:
                yield text, strip_blanks(cell) == text

    def expected(self, decimal: str) -> tuple[str, dict[str, object]]:
        number = self.text(self.upper) if self.bounds else "1234"
        form = self.format or NumberFormat(decimal=decimal)
        return f"check.{self.kind}", {"example": form.written(number)}

    def changed_keys(self, old: Self, decimal: str) -> Iterator[str]:
        if self.format is not None:
            yield from _number_keys(old.format or NumberFormat(decimal=decimal), self.format)
        yield from NumericColumn.changed_keys(self, old, decimal)


class IntegerColumn(NumberColumn):
    """Whole numbers."""

    __slots__ = ()

    kind: ClassVar[NumericKind] = "integer"


def _number_keys(old: NumberFormat, new: NumberFormat) -> Iterator[str]:
    if new.thousands != old.thousands:
        yield f"thousands: {yaml_text(new.thousands)}"
    if new.decimal != old.decimal:
        yield f"decimal: {yaml_text(new.decimal)}"
    if new.affixes != old.affixes:
        yield f"affixes: {list_text(new.affixes)}"
    if new.brackets and not old.brackets:
        yield "brackets: true"
    if new.values != old.values:
        yield f"values: {mapping_text(new.values)}"
