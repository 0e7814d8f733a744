"""How readable each column is, for the operator's terminal alone.

Confidential: exact properties of the records, outside every guarantee. Only `dpcli check
--cells` may import this module (import-linter checks it); nothing it finds may reach a
report, a ledger, a log or an exit status.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from dpcli.columns import CategoryColumn, Column, without_missing_constant
from dpcli.engine.decode import FLAGS, Decoder, strip_blanks
from dpcli.engine.pieces import read_pieces, scan_piece
from dpcli.engine.progress import Progress, interruptible
from dpcli.engine.source import Dataset

Amount = Literal["all", "most", "some", "none"]

MOST_SHARE = (9, 10)
"""From this share on, most cells are so."""


@dataclass(frozen=True, slots=True)
class ColumnCells:
    """How many cells of a column can be read, are blank, or are neither.

    `absent` are declared texts that never occur.
    """

    column: Column
    readable: Amount
    blank: Amount
    unreadable: Amount
    absent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CellsCheck:
    """What `dpcli check --cells` shows; `enough_rows` is None if no least number is declared."""

    columns: tuple[ColumnCells, ...]
    has_rows: bool
    enough_rows: bool | None


def check_cells(
    dataset: Dataset, columns: Sequence[Column], min_rows: int | None, progress: Progress
) -> CellsCheck:
    """Read all files once. DataError `data-unreadable` if that fails, without a reason."""
    wanted = tuple(map(without_missing_constant, columns))
    decoder = Decoder(wanted)
    names = {column: f"readable{at}" for at, column in enumerate(wanted)}
    facts = [pl.len().alias("rows"), FLAGS.any(), pl.col(*names.values()).count()]
    facts += [fact for place, column in enumerate(wanted) for fact in _facts(column, place)]

    def scan(texts: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Rows, and of each column what `_facts` counts."""
        found = decoder.read(texts, names).select(facts).collect(engine="streaming")
        return found, found.select(FLAGS)

    def read() -> pl.DataFrame:
        return pl.concat(
            found
            for piece in read_pieces(dataset, wanted, progress, whole=True)
            for found in scan_piece(piece, decoder, scan)
        )

    with dataset.redacted_errors():
        counted = interruptible(read)
    rows = int(counted["rows"].sum())
    found = tuple(_found(column, place, counted, rows) for place, column in enumerate(wanted))
    return CellsCheck(found, rows > 0, None if min_rows is None else rows >= min_rows)


def _facts(column: Column, place: int) -> Iterator[pl.Expr]:
    """Blank cells, and declared texts that occur."""
    cell = strip_blanks(pl.col(f"t{place}").cast(pl.String))
    yield cell.is_null().sum().alias(f"blank{place}")
    if isinstance(column, CategoryColumn):
        declared = [text for text, _ in column.values]
        yield cell.filter(cell.is_in(declared)).unique().implode().alias(f"texts{place}")


def _found(column: Column, place: int, counted: pl.DataFrame, rows: int) -> ColumnCells:
    readable, blank = (int(counted[f"{what}{place}"].sum()) for what in ("readable", "blank"))
    absent: tuple[str, ...] = ()
    if isinstance(column, CategoryColumn):
        occurring = set(counted[f"texts{place}"].explode().drop_nulls().to_list())
        absent = tuple(text for text, _ in column.values if text not in occurring)
    unreadable = rows - readable - blank
    return ColumnCells(
        column,
        readable=_amount(readable, rows),
        blank=_amount(blank, rows),
        unreadable=_amount(unreadable, rows),
        absent=absent,
    )


def _amount(count: int, rows: int) -> Amount:
    """How much of the whole, in a word."""
    if not count:
        return "none"
    if count == rows:
        return "all"
    above, below = MOST_SHARE
    return "most" if count * below >= rows * above else "some"
