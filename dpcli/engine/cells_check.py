"""How readable each column is, for the terminal of the operator only.

Confidential: these are exact properties of the records, outside every guarantee. Only `dpcli check
--cells` may import this module (import-linter checks it). Its results must not reach a report, a
ledger, a log or an exit status.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import polars as pl

from dpcli.cell_formats import NumberFormat
from dpcli.columns import (
    CategoryColumn,
    Column,
    IdColumn,
    NumericColumn,
    file_columns,
    without_missing_constant,
)
from dpcli.engine.cell_remedies import Amount, Remedy, Sample, amount, find_remedy, missing_codes
from dpcli.engine.decode import FLAGS, Decoder, swap_decimal_mark
from dpcli.engine.decode_formats import is_marked, plain_text, strip_blanks
from dpcli.engine.pieces import read_pieces, scan_piece
from dpcli.engine.progress import Progress, interruptible
from dpcli.engine.record_faults import Fault, record_faults
from dpcli.engine.source import Dataset

UNREAD, FIRST = 10_000, 1_000
"""The first cells of a piece that are looked at: those that cannot be read, and all."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""What stands for bytes that are not of the declared encoding."""

TEXTS = 1_000
"""Different texts of a column that are looked at, the most frequent ones."""


@dataclass(frozen=True, slots=True)
class ColumnCells:
    """How many cells of a column are readable, blank, unreadable, or outside its bounds.

    `absent` holds the declared texts that never occur. `codes` are usual codes of missing answers
    among the numbers outside the bounds. `remedy` would read cells that cannot be read. A column
    `is_constant` if all its readable cells have one value, and `is_garbled` if some are not written
    in the declared encoding.
    """

    column: Column
    readable: Amount
    blank: Amount
    unreadable: Amount
    outside: Amount | None
    absent: tuple[str, ...]
    codes: tuple[str, ...]
    is_constant: bool
    is_below_minimum: bool
    is_garbled: bool
    remedy: Remedy | None


@dataclass(frozen=True, slots=True)
class CellsCheck:
    """What `dpcli check --cells` shows; `enough_rows` is None without a declared minimum.

    `faults` are what is wrong with whole records or with the encoding.
    """

    columns: tuple[ColumnCells, ...]
    has_rows: bool
    enough_rows: bool | None
    faults: tuple[Fault, ...] = ()


def check_cells(
    dataset: Dataset,
    columns: Sequence[Column],
    min_rows: int | None,
    progress: Progress,
    min_readable: Mapping[str, Fraction] | None = None,
) -> CellsCheck:
    """Read all files once. Raises DataError `data-unreadable`, without a reason, if that fails."""
    # Derived columns read no other cells than declared ones.
    declared = (column for column in columns if column.derivation is None)
    wanted = tuple(map(_without_limits, file_columns(declared)))
    decoder = Decoder(wanted)
    names = {column: f"value{at}" for at, column in enumerate(wanted)}
    facts = [pl.len().alias("rows"), FLAGS.any()]
    facts += [fact for place, column in enumerate(wanted) for fact in _facts(column, place)]

    def scan(texts: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The counts of rows and of the cells of each column, and flags."""
        counts = decoder.read(texts, names).select(facts).collect(engine="streaming")
        return counts, counts.select(FLAGS)

    def read() -> tuple[pl.DataFrame, tuple[Fault, ...]]:
        pieces = read_pieces(dataset, wanted, progress, in_place=True)
        counts = [one for piece in pieces for one in scan_piece(piece, decoder, scan)]
        return pl.concat(counts), record_faults(dataset, wanted)

    with dataset.redacted_errors():
        counted, faults = interruptible(read)
        rows = int(counted["rows"].sum())
        least = min_readable or {}
        cells = tuple(
            _column_cells(column, place, counted, rows, least, dataset.dialect.decimal)
            for place, column in enumerate(wanted)
        )
    enough_rows = None if min_rows is None else rows >= min_rows
    return CellsCheck(cells, rows > 0, enough_rows, faults if rows else ())


def _without_limits(column: Column) -> Column:
    """The column without a constant, whose bounds are a step wider, so that clamping shows."""
    if isinstance(column, NumericColumn) and column.bounds is not None:
        column = replace(column, bounds=(column.lower - 1, column.upper + 1))
    return without_missing_constant(column)


def _facts(column: Column, place: int) -> Iterator[pl.Expr]:
    """The numbers of cells of each kind, the declared texts that occur, and some cells."""
    cell, value = pl.col(f"t{place}").cast(pl.String), pl.col(f"value{place}")
    bare = strip_blanks(cell)
    blank = bare.is_null() | is_marked(cell, column) if column.na else bare.is_null()
    yield value.count().alias(f"readable{place}")
    yield blank.sum().alias(f"blank{place}")
    if isinstance(column, IdColumn):
        return
    # A column without marks has few cells of blanks alone, and cells as they are are cheaper.
    unread = value.is_null() & (~blank if column.na else cell.is_not_null())
    yield cell.filter(unread).head(UNREAD).implode().alias(f"unread{place}")
    yield cell.head(FIRST).implode().alias(f"first{place}")
    if isinstance(column, NumericColumn | CategoryColumn):
        yield value.min().alias(f"least{place}")
        yield value.max().alias(f"most{place}")
    if isinstance(column, CategoryColumn):
        text = plain_text(cell, column)
        yield text.filter(text.is_in(_texts(column))).unique().implode().alias(f"texts{place}")
    if isinstance(column, NumericColumn):
        outside = ~value.is_between(column.lower + 1, column.upper - 1)
        yield outside.sum().alias(f"outside{place}")
        yield cell.filter(outside).head(FIRST).implode().alias(f"clamped{place}")
    for at, (_, occurs) in enumerate(_declared_parts(column, cell)):
        yield occurs.any().alias(f"part{place}_{at}")


def _declared_parts(column: Column, cell: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
    """The declared marks, affixes and open-ended values, each with the cells that have it."""
    if isinstance(column, IdColumn):
        return
    for mark in column.na:
        yield mark, is_marked(cell, replace(column, na=(mark,)))
    if isinstance(column, NumericColumn) and isinstance(column.format, NumberFormat):
        for affix in column.format.affixes:
            yield affix, cell.str.contains(affix, literal=True)
        for text, _ in column.format.values:
            yield text, strip_blanks(cell) == text


def _texts(column: CategoryColumn) -> list[str]:
    """The declared texts, as cells are compared with them."""
    texts = pl.Series([text for text, _ in column.values])
    return (texts.str.to_lowercase() if column.ignores_case else texts).to_list()


def _column_cells(
    column: Column,
    place: int,
    counted: pl.DataFrame,
    rows: int,
    min_readable: Mapping[str, Fraction],
    decimal: str,
) -> ColumnCells:
    readable, blank = (int(counted[f"{kind}{place}"].sum()) for kind in ("readable", "blank"))
    unreadable, total = rows - readable - blank, Fraction(rows)
    absent = [
        text
        for at, (text, _) in enumerate(_declared_parts(column, pl.lit("")))
        if not counted[f"part{place}_{at}"].any()
    ]
    if isinstance(column, CategoryColumn):
        occurring = set(counted[f"texts{place}"].explode().drop_nulls().to_list())
        pairs = zip(column.values, _texts(column), strict=True)
        absent = [text for (text, _), cell in pairs if cell not in occurring] + absent

    def sampled(kind: str) -> dict[str, int]:
        cells = counted.select(pl.col(f"{kind}{place}").explode())
        # To exchange the marks once more gives the texts of the file.
        cell = strip_blanks(swap_decimal_mark(pl.first(), column, decimal))
        texts = cells.select(cell).to_series().drop_nulls()
        return dict(texts.value_counts(sort=True).head(TEXTS).iter_rows())

    bounded = isinstance(column, NumericColumn) and column.upper - column.lower > 1
    outside = int(counted[f"outside{place}"].sum()) if bounded else 0
    unread, remedy = dict[str, int](), None
    if unreadable and not isinstance(column, IdColumn):
        unread = sampled("unread")
        read = {text: count for text, count in sampled("first").items() if text not in unread}
        remedy = find_remedy(column, Sample(unread, unreadable, read, readable, decimal))
    has_values = isinstance(column, NumericColumn | CategoryColumn)
    values = [counted[f"{kind}{place}"] for kind in ("least", "most")] if has_values else []
    least_share = min_readable.get(column.name)
    return ColumnCells(
        column,
        readable=amount(Fraction(readable), total),
        blank=amount(Fraction(blank), total),
        unreadable=amount(Fraction(unreadable), total),
        outside=amount(Fraction(outside), total) if bounded else None,
        absent=tuple(absent),
        codes=missing_codes(sampled("clamped")) if outside else (),
        is_constant=readable > 1 and bool(values) and values[0].min() == values[1].max(),
        is_below_minimum=least_share is not None and readable < least_share * rows,
        is_garbled=any(REPLACEMENT in text for text in unread),
        remedy=remedy,
    )
