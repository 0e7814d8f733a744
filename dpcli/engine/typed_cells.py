"""Cells whose type the file states, not their text.

They are numbers and times of workbooks, and numbers of JSON. They stand in the text of a copy as
every program writes them, after a mark: `1234.5`, and `2024-12-31 00:00:00`. A column may declare
another form for its texts, such as `1.234,5`. So a typed cell is written in that form before it is
read. Each cell is treated by itself.
"""

from __future__ import annotations

import polars as pl

from dpcli.cell_formats import DateFormat, NumberFormat
from dpcli.data.column import Column
from dpcli.data.numeric import NumericColumn
from dpcli.engine.decode import swap_decimal_mark
from dpcli.engine.file_content import TYPED

TIME = "%Y-%m-%d %H:%M:%S"


def untyped_text(cell: pl.Expr) -> pl.Expr:
    """The text without the mark."""
    return cell.str.strip_prefix(TYPED)


def declared_text(cell: pl.Expr, column: Column, decimal: str) -> pl.Expr:
    """The text of a cell as the column writes it, with a point as decimal mark if it has no form.

    `decimal` is the decimal mark of texts in columns without their own.
    """
    plain = untyped_text(cell)
    if not isinstance(column, NumericColumn):
        return plain
    typed = plain
    if isinstance(column.format, NumberFormat):
        typed = plain.str.replace(".", column.format.decimal, literal=True)
    elif isinstance(column.format, DateFormat) and column.format.forms:
        typed = _formatted_time(plain, column.format)
    text = swap_decimal_mark(cell, column, decimal)
    return pl.when(cell.str.starts_with(TYPED)).then(typed).otherwise(text)


def _formatted_time(plain: pl.Expr, form: DateFormat) -> pl.Expr:
    """A time in the first form, which reads it before others; null where this may lose a day."""
    first = form.forms[0]
    if first.has("yzf") or not (first.has("dj") and first.has("Y")):
        return pl.lit(None, pl.String)
    return plain.str.to_datetime(TIME, strict=False, cache=False).dt.to_string(first.text)
