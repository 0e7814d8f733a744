"""How readable each column is, for the terminal of the operator only.

Confidential: these are exact properties of the records, outside every guarantee. Only `dpcli check
--cells` may import this module (import-linter checks it). Its results must not reach a report, a
ledger, a log or an exit status.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from dpcli.columns import CategoryColumn, Column, file_columns, without_missing_constant
from dpcli.engine.decode import FLAGS, Decoder
from dpcli.engine.decode_formats import is_marked, plain_text, strip_blanks
from dpcli.engine.pieces import read_pieces, scan_piece
from dpcli.engine.progress import Progress, interruptible
from dpcli.engine.source import Dataset

Amount = Literal["all", "most", "some", "none"]

MAX_SHARE = (9, 10)
"""The share from which on the amount is "most"."""


@dataclass(frozen=True, slots=True)
class ColumnCells:
    """How many cells of a column are readable, blank, or unreadable.

    `absent` holds the declared texts that never occur.
    """

    column: Column
    readable: Amount
    blank: Amount
    unreadable: Amount
    absent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CellsCheck:
    """What `dpcli check --cells` shows; `enough_rows` is None without a declared minimum."""

    columns: tuple[ColumnCells, ...]
    has_rows: bool
    enough_rows: bool | None


def check_cells(
    dataset: Dataset, columns: Sequence[Column], min_rows: int | None, progress: Progress
) -> CellsCheck:
    """Read all files once. Raises DataError `data-unreadable`, without a reason, if that fails."""
    # Derived columns read no other cells than declared ones.
    declared = (column for column in columns if column.derivation is None)
    wanted = tuple(map(without_missing_constant, file_columns(declared)))
    decoder = Decoder(wanted)
    names = {column: f"readable{at}" for at, column in enumerate(wanted)}
    facts = [pl.len().alias("rows"), FLAGS.any(), pl.col(*names.values()).count()]
    facts += [fact for place, column in enumerate(wanted) for fact in _facts(column, place)]

    def scan(texts: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The counts of rows and of the cells of each column, and flags."""
        counts = decoder.read(texts, names).select(facts).collect(engine="streaming")
        return counts, counts.select(FLAGS)

    def read() -> pl.DataFrame:
        return pl.concat(
            counts
            for piece in read_pieces(dataset, wanted, progress, in_place=True)
            for counts in scan_piece(piece, decoder, scan)
        )

    with dataset.redacted_errors():
        counted = interruptible(read)
    rows = int(counted["rows"].sum())
    cells = tuple(
        _column_cells(column, place, counted, rows) for place, column in enumerate(wanted)
    )
    return CellsCheck(cells, rows > 0, None if min_rows is None else rows >= min_rows)


def _facts(column: Column, place: int) -> Iterator[pl.Expr]:
    """The number of blank cells, and the declared texts that occur."""
    cell = pl.col(f"t{place}").cast(pl.String)
    blank = strip_blanks(cell).is_null()
    if column.na:
        blank = blank | is_marked(cell, column)
    yield blank.sum().alias(f"blank{place}")
    if isinstance(column, CategoryColumn):
        text = plain_text(cell, column)
        yield text.filter(text.is_in(_texts(column))).unique().implode().alias(f"texts{place}")


def _texts(column: CategoryColumn) -> list[str]:
    """The declared texts, as cells are compared with them."""
    texts = pl.Series([text for text, _ in column.values])
    return (texts.str.to_lowercase() if column.ignores_case else texts).to_list()


def _column_cells(column: Column, place: int, counted: pl.DataFrame, rows: int) -> ColumnCells:
    readable, blank = (int(counted[f"{kind}{place}"].sum()) for kind in ("readable", "blank"))
    absent: tuple[str, ...] = ()
    if isinstance(column, CategoryColumn):
        occurring = set(counted[f"texts{place}"].explode().drop_nulls().to_list())
        pairs = zip(column.values, _texts(column), strict=True)
        absent = tuple(text for (text, _), cell in pairs if cell not in occurring)
    unreadable = rows - readable - blank
    return ColumnCells(
        column,
        readable=_amount(readable, rows),
        blank=_amount(blank, rows),
        unreadable=_amount(unreadable, rows),
        absent=absent,
    )


def _amount(count: int, rows: int) -> Amount:
    """The amount in one word."""
    if not count:
        return "none"
    if count == rows:
        return "all"
    numerator, denominator = MAX_SHARE
    return "most" if count * denominator >= rows * numerator else "some"
