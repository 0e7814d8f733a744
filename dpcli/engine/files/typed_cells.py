"""Cells whose type the file states, not their text.

They are numbers and times of workbooks, and numbers of JSON. They stand in the text of a copy as
every program writes them, after a mark: `1234.5`, and `2024-12-31 00:00:00`. A column may declare
another form for its texts, such as `1.234,5`. So a typed cell is written in that form before it is
read. Each cell is treated by itself.
"""

from __future__ import annotations

import polars as pl

from dpcli.data.column import Column
from dpcli.engine.files.content import TYPED


def untyped_text(cell: pl.Expr) -> pl.Expr:
    """The text without the mark."""
    return cell.str.strip_prefix(TYPED)


def declared_text(cell: pl.Expr, column: Column, decimal: str) -> pl.Expr:
    """The text of a cell as the column writes it, with a point as decimal mark if it has no form.

    `decimal` is the decimal mark of texts in columns without their own.
    """
    plain = untyped_text(cell)
    typed = column.typed_text(plain)
    if typed is None:
        return plain
    text = column.with_point(cell, decimal)
    return pl.when(cell.str.starts_with(TYPED)).then(typed).otherwise(text)
