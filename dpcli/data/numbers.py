"""Columns of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Self

from dpcli.data.cell_formats import NumberFormat
from dpcli.data.column import Column, Option, Rule, SampledTexts
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
from dpcli.data.options.every import From, Marks
from dpcli.data.options.numbers import Affixes, Brackets, Decimal, NumberValues, Thousands
from dpcli.fields.numbers import parse_number
from dpcli.numeric.exact import decimal_places, decimal_text, readable_text


class NumberColumn(NumericColumn):
    """Numbers; marks of missing cells mark equal numbers too."""

    __slots__ = ()

    kind: ClassVar[NumericKind] = "number"
    takes: ClassVar[tuple[type[Option], ...]] = (
        Thousands, Decimal, Affixes, Brackets, NumberValues, Marks, From,
    )  # fmt: skip

    @property
    def format(self) -> NumberFormat | None:
        return self.in_form(NumberFormat())

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

    def unmarked_text(self, cell: pl.Expr) -> pl.Expr:
        form = self.format
        if form is None:
            return NumericColumn.unmarked_text(self, cell)
        # Most cells have no blanks around them, so they are removed only where they must be.
        text = NumericColumn.unmarked_text(self, cell) if self.text_options else cell
        return plain_number(text, form)

    def is_mark(self, cell: pl.Expr, marks: Sequence[str]) -> pl.Expr:
        is_same = NumericColumn.is_mark(self, cell, marks)
        is_number = is_number_of(self.unmarked_text(cell), marks)
        return is_same if is_number is None else is_same | is_number

    def with_point(self, text: pl.Expr, decimal: str) -> pl.Expr:
        # A form of the column has its own mark.
        if decimal == "." or self.format is not None:
            return text
        return text.str.replace_many([".", decimal], [decimal, "."])

    def typed_text(self, plain: pl.Expr) -> pl.Expr | None:
        form = self.format
        return plain if form is None else plain.str.replace(".", form.decimal, literal=True)

    def whole_cells(self, cell: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
        is_whole = self.step == 1 and fits_a_word(dtype) and self.reads_types
        return cell.cast(pl.Int64) if is_whole else None

    def expected(self, decimal: str) -> str:
        number = self.text(self.upper) if self.bounds else "1234"
        form = self.format or NumberFormat(decimal=decimal)
        numbers = "whole numbers" if self.kind == "integer" else "numbers"
        return f"expected {numbers}, written like {form.written(number)}"

    def proposed(self, cells: SampledTexts) -> Iterator[Self]:
        for column in NumericColumn.proposed(self, cells):
            form = column.format
            if form is None or form.decimal != form.thousands:
                yield column


class IntegerColumn(NumberColumn):
    """Whole numbers."""

    __slots__ = ()

    kind: ClassVar[NumericKind] = "integer"
