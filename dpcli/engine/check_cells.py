"""How readable each column is, for the terminal of the operator only.

Confidential: these are exact properties of the records, outside every guarantee. Only `dpcli check
--cells` may import this module (import-linter checks it). Its results must not reach a report, a
ledger, a log or an exit status. This holds for remedies too: declarations that would read more
cells. A text of the file is named in a remedy only if it is a usual mark or sign, or if at least
`FREQUENT` rows have it. Whether a remedy reads a cell is decided by the decoder itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain

import polars as pl

from dpcli.data.column import FREQUENT, Column, SampledTexts, file_columns
from dpcli.data.filters import Filter, filtered_columns
from dpcli.data.formats import shortest_number
from dpcli.data.number_options import Decimal
from dpcli.data.polars_text import strip_blanks
from dpcli.engine.cells import FLAGS, Decoder
from dpcli.engine.check_ids import LOOK, id_counts, joined_ids, rows_of_ids
from dpcli.engine.check_records import REPLACEMENT, Amount, Fault, amount, record_faults
from dpcli.engine.files.dataset import Dataset
from dpcli.engine.files.pieces import read_pieces, scan_piece
from dpcli.engine.progress import Progress, interruptible
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import quote
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
    in the declared encoding. The `doubts` are about cells that are read.
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
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CellsCheck:
    """What `dpcli check --cells` shows.

    `enough_rows` and `enough_people` are None without a declared minimum. `enough_rows` is about
    the rows that contribution bounding keeps, if the unit is a person. `faults` are faults of whole
    records or of the encoding. `below` names columns that can be read in fewer rows than required.
    `repeated` is the amount of rows beyond the limit of the unit, and `is_unique` states whether
    each id has one row. `joined` has the amount of ids that an option would join, its words, and in
    what they differ; no option joins those that look the same. `existing` is the amount of rows of
    the period of a release, which alone count for minimums and limits; None if all rows do.
    """

    columns: tuple[ColumnCells, ...]
    has_rows: bool
    faults: tuple[Fault, ...]
    below: tuple[str, ...]
    repeated: Amount = "none"
    is_unique: bool = False
    enough_rows: bool | None = None
    enough_people: bool | None = None
    joined: tuple[tuple[Amount, str, str], ...] = ()
    existing: Amount | None = None


def check_cells(
    dataset: Dataset,
    columns: Sequence[Column],
    minimums: tuple[int | None, int | None],
    progress: Progress,
    min_readable: Mapping[str, Fraction] | None = None,
    unit: Unit | None = None,
    only: Filter | None = None,
) -> CellsCheck:
    """Read all files once, and check the cells of the columns.

    `minimums` are the required numbers of kept rows and of people, among the rows that pass the
    filter `only`. Raises DataError
    `data-unreadable`, without a reason, if the files cannot be read.
    """
    shares = min_readable or {}
    # Derived columns read no other cells than declared ones.
    declared = file_columns(column for column in columns if column.derivation is None)
    wanted = tuple(column.without_limits() for column in declared)
    derived = (column for column in columns if column.derivation and column.name in shares)
    every = (*wanted, *(column.without_missing_constant() for column in derived))
    values = [pl.col(f"value{index}") for index in range(len(every))]
    names, exists = _names_and_existing(every, only)
    decoder = Decoder(names)
    aggregates = [*_row_aggregates(values, wanted, exists)]
    aggregates += chain(*(_aggregates(column, index) for index, column in enumerate(wanted)))
    people = unit if isinstance(unit, PersonUnit) else None
    ids = [index for index, each in enumerate(wanted) if people and each.name == people.column]
    aggregates += [id_counts(wanted[index], pl.when(exists).then(values[index])) for index in ids]

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
        lists = [
            pl.Series(name, [frame.collect(engine="streaming").to_series()], pl.List(pl.String))
            for name, frame in samples.items()
        ]
        return counts.with_columns(lists), counts.select(FLAGS)

    def read() -> tuple[pl.DataFrame, tuple[Fault, ...]]:
        inputs, has_people = tuple(decoder.inputs), people is not None
        pieces = read_pieces(dataset, inputs, progress, in_place=True, drops_broken=has_people)
        counts = [partial for piece in pieces for partial in scan_piece(piece, decoder, scan)]
        return pl.concat(counts, how="diagonal"), record_faults(dataset, wanted)

    with dataset.redacted_errors():
        counted, faults = interruptible(read)
        rows = int(counted["rows"].sum())
        existing = rows if only is None else int(counted["existing"].sum())
        cells = tuple(
            _column_cells(column, index, counted, rows, dataset.dialect.decimal)
            for index, column in enumerate(declared)
        )
        below = tuple(
            column.name
            for index, column in enumerate(every)
            if counted[f"counted{index}"].sum() < shares.get(column.name, 0) * existing
        )
        checked, found = CellsCheck(cells, rows > 0, faults, below), (existing, existing)
        if people and ids:
            checked, found = _with_people(checked, people, wanted[ids[0]], counted, existing)
        if only is not None:
            checked = replace(checked, existing=amount(existing, rows))
    enough_rows, enough_people = (
        None if minimum is None else count >= minimum
        for count, minimum in zip(found, minimums, strict=True)
    )
    return replace(checked, enough_rows=enough_rows, enough_people=enough_people)


def _with_people(
    checked: CellsCheck, unit: PersonUnit, ids: Column, counted: pl.DataFrame, rows: int
) -> tuple[CellsCheck, tuple[int, int]]:
    """The check with what it shows about ids; the numbers of kept rows and of people."""
    id_rows = rows_of_ids(counted)
    users = id_rows["rows"]
    kept = users.clip(upper_bound=unit.max_rows)
    # Rows without an id are a user each, or left out.
    alone = (rows - int(users.sum())) * unit.singletons_without_id
    joined = (
        (amount(part, 1), option.words if option else "", option.joins if option else LOOK)
        for option, part in joined_ids(ids, id_rows)
    )
    checked = replace(
        checked,
        repeated=amount(int((users - kept).sum()), rows),
        is_unique=users.max() == 1,
        joined=tuple(joined),
    )
    return checked, (int(kept.sum()) + alone, len(users) + alone)


def _names_and_existing(
    columns: Sequence[Column], only: Filter | None
) -> tuple[dict[Column, str], pl.Expr]:
    """The names of decoded columns, and whether a row exists for a release."""
    names = {column: f"value{index}" for index, column in enumerate(columns)}
    if only is None:
        return names, pl.lit(value=True)
    for column in filtered_columns([only]):
        names.setdefault(column, "day")
    return names, only.truth(names).fill_null(value=False)


def _row_aggregates(
    values: Sequence[pl.Expr], wanted: Sequence[Column], exists: pl.Expr
) -> Iterator[pl.Expr]:
    """Counts of rows and of readable cells, of the file and of the rows that exist.

    A blank cell of the file counts as readable for `min_readable`; a derived one has no value.
    """
    yield from (pl.len().alias("rows"), FLAGS.any(), exists.sum().alias("existing"))
    for index, value in enumerate(values):
        yield value.count().alias(f"readable{index}")
        is_read = value.is_not_null()
        if index < len(wanted):
            is_read |= wanted[index].is_blank(_cell(index))
        yield (is_read & exists).sum().alias(f"counted{index}")


def _aggregates(column: Column, index: int) -> Iterator[pl.Expr]:
    """Expressions that count cells by kind, and find the declared texts that occur."""
    cell, value = _cell(index), pl.col(f"value{index}")
    yield column.is_blank(_cell(index)).sum().alias(f"blank{index}")
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
    are_all_read = readable + blank == counts["rows"].item()
    if not are_all_read:
        yield f"unread{index}", value.is_null() & ~column.is_blank(_cell(index))
    if readable and (column.has_doubts or not are_all_read):
        yield f"read{index}", value.is_not_null()
    outside = column.outside(value)
    if outside is not None and counts[f"outside{index}"].item():
        yield f"clamped{index}", outside


def _cell(index: int) -> pl.Expr:
    return pl.col(f"t{index}").cast(pl.String)


def _column_cells(
    column: Column, index: int, counted: pl.DataFrame, rows: int, decimal: str
) -> ColumnCells:
    readable, blank = (int(counted[f"{kind}{index}"].sum()) for kind in ("readable", "blank"))
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

    outside, unread = f"outside{index}", sampled("unread")
    cells = SampledTexts(unread, rows - readable - blank, sampled("read"), readable, decimal)
    values = [counted[f"{end}{index}"] for end in ("min", "max") if f"{end}{index}" in counted]
    return ColumnCells(
        column,
        readable=amount(readable, rows),
        blank=amount(blank, rows),
        unreadable=amount(cells.unread_rows, rows),
        outside=amount(int(counted[outside].sum()), rows) if outside in counted else None,
        absent=tuple(absent),
        codes=missing_codes(sampled("clamped") | unread, column.texts),
        # Of a time without a day, the hours may differ.
        is_constant=readable > 1 and outside in counted and values[0].min() == values[1].max(),
        is_garbled=any(REPLACEMENT in text for text in unread),
        remedy=find_remedy(column, cells),
        doubts=tuple(column.doubts(cells)),
    )


@dataclass(frozen=True, slots=True)
class Remedy:
    """Keys of the spec that read more cells of a column, and their `doubts`.

    `reads` states how many cells. A doubt may be about keys that are not proposed.
    """

    keys: tuple[str, ...]
    reads: Amount
    doubts: tuple[str, ...] = ()


def find_remedy(column: Column, cells: SampledTexts) -> Remedy | None:
    """The declaration that reads the most cells, or a doubt; None without.

    It is not plausible if most cells are outside the bounds.
    """
    if not cells.unread or not column.has_values:
        return None
    # The decimal mark that the column has without its own is no change.
    declared = column if column.option(Decimal) else column.with_options(Decimal(cells.decimal))
    proposals = {tuple(each.value.changed_keys(declared)): each for each in column.proposed(cells)}
    tables = {keys: _reading(each.value, cells) for keys, each in proposals.items()}
    rows = {keys: _rows(table, "is_known") for keys, table in tables.items()}
    outside = {keys: _rows(table, "is_outside") for keys, table in tables.items()}
    likely = [keys for keys in tables if 2 * outside[keys] <= rows[keys]]
    if not likely:
        return None
    best = max(likely, key=lambda keys: (rows[keys], -outside[keys], -len(keys)))
    chosen, table, now = proposals[best], tables[best], _reading(column, cells)
    gained = rows[best] - _rows(now, "is_known")
    if gained <= 0:
        return Remedy((), "none", chosen.doubts) if chosen.doubts and not best else None

    def differs(other: pl.DataFrame) -> bool:
        return bool((other["value"] != table["value"]).any())

    others = [keys for keys in likely if rows[keys] >= rows[best] and differs(tables[keys])]
    named = " and ".join(quote(key) for keys in sorted(others, key=len)[:1] for key in keys)
    left = table.filter(~pl.col("is_known") & pl.col("t0").str.contains("[0-9]"))
    beyond = outside[best] - _rows(now, "is_outside") > gained * column.max_outside
    chosen = chosen.doubt_if(named, f"{named} would read them as well, as other values")
    chosen = chosen.doubt_if(differs(now), "some cells that can be read now would change")
    chosen = chosen.doubt_if(beyond, "some of these cells would be outside the bounds")
    chosen = chosen.doubt_if(len(left) and not column.labels, "other cells stay unreadable")
    return Remedy(best, amount(gained, cells.unread_rows), chosen.doubts)


def _reading(column: Column, cells: SampledTexts) -> pl.DataFrame:
    """What a column reads: each `value`, and about how many `rows` have it.

    A text is known if it has a value or marks a missing cell.
    """
    wide, text, value = column.without_limits(), pl.col("t0"), pl.col("value")
    parts = ((cells.unread, cells.unread_rows), (cells.read, cells.read_rows))
    rows = [count * all_ / sum(part.values()) for part, all_ in parts for count in part.values()]
    texts = pl.DataFrame({"t0": [*cells.unread, *cells.read]}, {"t0": pl.String})
    texts = texts.select(column.with_point(text, cells.decimal))
    values, outside = Decoder((wide,)).decode(texts), wide.outside(value)
    is_mark = wide.is_mark(text, wide.marks) if wide.marks else pl.lit(value=False)
    table = texts.with_columns(values.to_series().alias("value"), rows=pl.Series(rows))
    return table.with_columns(
        is_known=value.is_not_null() | is_mark,
        is_outside=pl.lit(value=False) if outside is None else outside,
    )


def _rows(table: pl.DataFrame, test: str) -> int:
    return round(table.filter(test)["rows"].sum())


def missing_codes(cells: Mapping[str, int], declared: Sequence[str]) -> tuple[str, ...]:
    """Usual codes of missing answers, not declared; each in at least `FREQUENT` rows."""
    codes, known = Counter(cells), set(map(shortest_number, declared))
    return tuple(
        text
        for text, rows in codes.most_common()
        if rows >= FREQUENT
        and text.removesuffix(".0") in usual_cells()["codes"]
        and shortest_number(text) not in known
    )
