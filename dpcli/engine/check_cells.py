"""How readable each column is, for the terminal of the operator only.

Confidential: these are exact properties of the records, outside every guarantee. Only `dpcli check
--cells` may import this module (import-linter checks it). Its results must not reach a report, a
ledger, a log or an exit status. This holds for remedies too: declarations that would read more
cells. A text of the file is named in a remedy only if it is a usual mark or sign, or if at least
`FREQUENT` rows have it. Whether a remedy reads a cell is decided by the decoder itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

import polars as pl

from dpcli.data.cell_options import MissingMarks
from dpcli.data.column import Column, ValuedColumn, file_columns
from dpcli.data.number_options import Decimal
from dpcli.data.polars_text import strip_blanks
from dpcli.engine.cells import FLAGS, Decoder
from dpcli.engine.check_ids import id_counts, joined_ids, rows_of_ids
from dpcli.engine.check_records import REPLACEMENT, Amount, Fault, amount, record_faults
from dpcli.engine.files.dataset import Dataset
from dpcli.engine.files.pieces import read_pieces, scan_piece
from dpcli.engine.progress import Progress, interruptible
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.reference import usual_cells

SAMPLED = 10_000
"""The most cells of each kind that are examined in a piece: the first ones."""

TEXTS = 1_000
"""The most different texts of a column that are examined: the most frequent ones."""


@dataclass(frozen=True, slots=True)
class ColumnCells:
    """How many cells of a column are readable, blank, unreadable or out of bounds.

    `absent` holds the declared texts that never occur. `codes` are usual codes of missing answers
    among the numbers outside the bounds. `remedy` is a declaration that reads more cells. A column
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
    is_garbled: bool
    remedy: Remedy | None


@dataclass(frozen=True, slots=True)
class CellsCheck:
    """What `dpcli check --cells` shows.

    `enough_rows` and `enough_people` are None without a declared minimum. `enough_rows` is about
    the rows that contribution bounding keeps, if the unit is a person. `faults` are faults of whole
    records or of the encoding. `below` names the columns with fewer readable cells than required.
    `repeated` is the amount of rows beyond `max_rows` of their id, and `is_unique` states whether
    each id has one row. `joined` has the amount of ids that an option would join, its words, and in
    what they differ.
    """

    columns: tuple[ColumnCells, ...]
    has_rows: bool
    enough_rows: bool | None
    faults: tuple[Fault, ...] = ()
    below: tuple[str, ...] = ()
    repeated: Amount = "none"
    is_unique: bool = False
    enough_people: bool | None = None
    joined: tuple[tuple[Amount, str, str], ...] = ()


def check_cells(
    dataset: Dataset,
    columns: Sequence[Column],
    minimums: tuple[int | None, int | None],
    progress: Progress,
    min_readable: Mapping[str, Fraction] | None = None,
    unit: Unit | None = None,
) -> CellsCheck:
    """Read all files once, and check the cells of the columns.

    `minimums` are the required numbers of kept rows and of people. Raises DataError
    `data-unreadable`, without a reason, if the files cannot be read.
    """
    shares = min_readable or {}
    # Derived columns read no other cells than declared ones.
    declared = (column for column in columns if column.derivation is None)
    wanted = tuple(column.without_limits() for column in file_columns(declared))
    derived = (column for column in columns if column.derivation and column.name in shares)
    every = (*wanted, *(column.without_missing_constant() for column in derived))
    decoder = Decoder(every)
    names = {column: f"value{column_index}" for column_index, column in enumerate(every)}
    aggregates = [pl.len().alias("rows"), FLAGS.any()]
    aggregates += [
        pl.col(name).count().alias(f"readable{column_index}")
        for column_index, name in enumerate(names.values())
    ]
    aggregates += [
        aggregate for index, column in enumerate(wanted) for aggregate in _aggregates(column, index)
    ]
    ids = unit.column if isinstance(unit, PersonUnit) else None
    user = next(
        (column_index for column_index, column in enumerate(wanted) if column.name == ids), None
    )
    if user is not None:
        aggregates.append(id_counts(wanted[user], pl.col(f"value{user}")))

    def scan(texts: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The counts of rows and of the cells of each column, and flags."""
        table = decoder.read(texts, names)
        counts = table.select(aggregates).collect(engine="streaming")
        samples = {
            name: table.filter(chosen).select(_cell(index)).head(SAMPLED)
            for index, column in enumerate(wanted)
            for name, chosen in _samples(column, index, counts)
        }
        # Only as many rows are read as hold the sample, and only if there are such cells.
        cells = {
            name: frame.collect(engine="streaming").to_series() for name, frame in samples.items()
        }
        lists = [pl.Series(name, [texts], pl.List(pl.String)) for name, texts in cells.items()]
        return counts.with_columns(lists), counts.select(FLAGS)

    def read() -> tuple[pl.DataFrame, tuple[Fault, ...]]:
        pieces = read_pieces(
            dataset,
            tuple(decoder.inputs),
            progress,
            in_place=True,
            drops_broken=isinstance(unit, PersonUnit),
        )
        counts = [partial for piece in pieces for partial in scan_piece(piece, decoder, scan)]
        return pl.concat(counts, how="diagonal"), record_faults(dataset, wanted)

    with dataset.redacted_errors():
        counted, faults = interruptible(read)
        rows = int(counted["rows"].sum())
        cells = tuple(
            _column_cells(column, index, counted, rows, dataset.dialect.decimal)
            for index, column in enumerate(wanted)
        )
        below = tuple(
            column.name
            for column_index, column in enumerate(every)
            if counted[f"readable{column_index}"].sum() < shares.get(column.name, 0) * rows
        )
        people = rows_of_ids(counted) if user is not None else pl.DataFrame({"rows": []})
        users = people["rows"]
        if isinstance(unit, PersonUnit) and user is not None:
            kept = int(users.clip(upper_bound=unit.max_rows).sum())
            # Rows without an id are a user each, or left out.
            alone = (rows - int(users.sum())) * unit.singletons_without_id
            found = kept + alone, len(users) + alone
        else:
            found = rows, rows
    enough_rows, enough_people = (
        None if minimum is None else count >= minimum
        for count, minimum in zip(found, minimums, strict=True)
    )
    checked = CellsCheck(
        cells, rows > 0, enough_rows, faults if rows else (), below, enough_people=enough_people
    )
    if not isinstance(unit, PersonUnit) or user is None or users.is_empty():
        return checked
    repeated = int((users - users.clip(upper_bound=unit.max_rows)).sum())
    share = amount(Fraction(repeated), Fraction(rows))
    joined = tuple(
        (amount(part, Fraction(1)), option.words, option.joins)
        for option, part in joined_ids(wanted[user], people)
    )
    return replace(checked, repeated=share, is_unique=users.max() == 1, joined=joined)


def _aggregates(column: Column, index: int) -> Iterator[pl.Expr]:
    """Expressions that count cells by kind, and find the declared texts that occur."""
    cell, value = _cell(index), pl.col(f"value{index}")
    yield _is_blank(column, index).sum().alias(f"blank{index}")
    for name, aggregate in column.cell_aggregates(cell, value):
        yield aggregate.alias(f"{name}{index}")
    for part_index, (_, occurs) in enumerate(column.declared_parts(cell)):
        yield occurs.any().alias(f"part{index}_{part_index}")


def _samples(column: Column, index: int, counts: pl.DataFrame) -> Iterator[tuple[str, pl.Expr]]:
    """The samples of cells to take: unreadable, readable and out of bounds, by name.

    Every id that is not blank can be read, so ids are never sampled.
    """
    value = pl.col(f"value{index}")
    readable, blank = (counts[f"{kind}{index}"].item() for kind in ("readable", "blank"))
    if readable + blank < counts["rows"].item():
        yield f"unread{index}", value.is_null() & ~_is_blank(column, index)
        if readable:
            yield f"read{index}", value.is_not_null()
    outside = column.outside(value)
    if outside is not None and counts[f"outside{index}"].item():
        yield f"clamped{index}", outside


def _cell(index: int) -> pl.Expr:
    return pl.col(f"t{index}").cast(pl.String)


def _is_blank(column: Column, index: int) -> pl.Expr:
    blank = strip_blanks(_cell(index)).is_null()
    marks = column.marks
    return blank | column.is_mark(_cell(index), marks) if marks else blank


def _column_cells(
    column: Column, index: int, counted: pl.DataFrame, rows: int, decimal: str
) -> ColumnCells:
    readable, blank = (int(counted[f"{kind}{index}"].sum()) for kind in ("readable", "blank"))
    unreadable, total = rows - readable - blank, Fraction(rows)
    absent = [
        text
        for part_index, (text, _) in enumerate(column.declared_parts(pl.lit("")))
        if not counted[f"part{index}_{part_index}"].any()
    ]
    if column.texts:
        occurring = set(counted[f"texts{index}"].explode().drop_nulls().to_list())
        pairs = zip(column.texts, column.compared_texts, strict=True)
        absent = [text for text, cell in pairs if cell not in occurring] + absent

    def sampled(kind: str) -> dict[str, int]:
        if f"{kind}{index}" not in counted:
            return {}
        cells = counted.select(pl.col(f"{kind}{index}").explode())
        # To exchange the marks once more gives the texts of the file.
        cell = strip_blanks(column.with_point(pl.first(), decimal))
        texts = cells.select(cell).to_series().drop_nulls()
        return dict(texts.value_counts(sort=True).head(TEXTS).iter_rows())

    bounded = f"outside{index}" in counted
    outside = int(counted[f"outside{index}"].sum()) if bounded else 0
    unread, remedy = dict[str, int](), None
    if unreadable:
        unread = sampled("unread")
        sample = Sample(unread, unreadable, sampled("read"), readable, decimal)
        remedy = find_remedy(column, sample)
    ends = (f"min{index}", f"max{index}")
    values = [counted[name] for name in ends if name in counted]
    return ColumnCells(
        column,
        readable=amount(Fraction(readable), total),
        blank=amount(Fraction(blank), total),
        unreadable=amount(Fraction(unreadable), total),
        outside=amount(Fraction(outside), total) if bounded else None,
        absent=tuple(absent),
        codes=missing_codes(sampled("clamped")) if outside else (),
        is_constant=readable > 1 and bool(values) and values[0].min() == values[1].max(),
        is_garbled=any(REPLACEMENT in text for text in unread),
        remedy=remedy,
    )


FREQUENT = 10
"""The fewest rows with a text that may be named, so it is not about one person."""

V = TypeVar("V", bound=ValuedColumn)


@dataclass(frozen=True, slots=True)
class Sample:
    """Texts of some cells of a column, without blanks around them, by number of rows.

    `unread` are texts of cells that cannot be read, of which the column has `unread_rows`; `read`
    are texts of readable cells, of which it has `read_rows`. `decimal` is the decimal mark of
    columns without their own.
    """

    unread: Mapping[str, int]
    unread_rows: int
    read: Mapping[str, int]
    read_rows: int
    decimal: str

    def shown(self, rows: Mapping[str, int], usual: Container[str] = ()) -> list[str]:
        """The texts that may be shown, most frequent first: frequent and `usual` ones."""
        ordered = Counter(rows).most_common()
        return [text for text, count in ordered if count >= FREQUENT or text in usual]

    def share_read(self, column: Column, cells: Mapping[str, int]) -> Fraction:
        """The share of rows of `cells` that a column reads, or knows to be missing."""
        if not cells:
            return Fraction(1)
        texts = pl.DataFrame({"t0": list(cells)}, {"t0": pl.String})
        swapped = texts.select(column.with_point(pl.col("t0"), self.decimal))
        value = Decoder((column,)).decode(swapped).to_series()
        is_known = value.is_not_null()
        if column.marks:
            is_known |= swapped.select(column.is_mark(pl.col("t0"), column.marks)).to_series()
        rows = pl.Series(list(cells.values()))
        return Fraction(int(rows.filter(is_known).sum()), int(rows.sum()))

    def rows_read(self, column: Column) -> Fraction:
        """About how many of the cells that are not blank this column would read."""
        unread, read = (self.share_read(column, cells) for cells in (self.unread, self.read))
        return unread * self.unread_rows + read * self.read_rows


@dataclass(frozen=True, slots=True)
class Remedy:
    """Keys of the spec that make some unreadable cells of a column readable.

    `reads` states how many of these cells. `instead` is another key that reads as many cells, with
    another meaning.
    """

    keys: tuple[str, ...]
    reads: Amount
    instead: str = ""


def find_remedy(column: Column, sample: Sample) -> Remedy | None:
    """The declaration that reads the most cells; None if none reads more than now."""
    if not sample.unread or not isinstance(column, ValuedColumn):
        return None
    marks = MissingMarks.found(column, sample)
    marked = column.with_options(MissingMarks.added(column, marks))
    unread = {text: rows for text, rows in sample.unread.items() if text not in marks}
    unread_sample = replace(sample, unread=unread)
    read = {
        candidate: unread_sample.rows_read(candidate)
        for candidate in (marked, *marked.proposed(unread_sample))
    }
    # Of two that read as many cells, the first is chosen: three digits are rarely decimals.
    best = max(read, key=lambda candidate: read[candidate])
    if sample.rows_read(best) <= sample.rows_read(column):
        return None
    # The decimal mark that the column has without its own is no change.
    declared = column if column.option(Decimal) else column.with_options(Decimal(sample.decimal))
    keys = tuple(best.changed_keys(declared))
    share = sample.share_read(best, sample.unread)
    return (
        Remedy(keys, amount(share, Fraction(1)), _alternative_words(column, best, unread_sample))
        if keys
        else None
    )


def _alternative_words(column: V, best: V, sample: Sample) -> str:
    """The option that reads as many cells as `best`, with another meaning, in words.

    Empty if there is no such option.
    """
    for option in best.options:
        alternative = option.instead(column.option(type(option)))
        if alternative is not None:
            changed = best.with_options(alternative, without=[type(option)])
            if sample.rows_read(changed) >= sample.rows_read(best):
                return alternative.words
    return ""


def missing_codes(cells: Mapping[str, int]) -> tuple[str, ...]:
    """Usual codes of missing answers among numbers; each in at least `FREQUENT` rows."""
    codes = Counter(cells)
    return tuple(
        text
        for text, rows in codes.most_common()
        if rows >= FREQUENT and text in usual_cells()["codes"]
    )
