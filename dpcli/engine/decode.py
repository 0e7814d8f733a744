"""Decodes columns of text to columns of whole numbers, each cell by itself.

Spaces and tabs around a cell are removed. Then it is a value, or it is missing.

    number    [+-] digits [. digits] [e[+-]digits], or inf, infinity in any case;
              rounded to the grid (halves to the even number), then clamped to the bounds
    date      YYYY-MM-DD, then nothing, or a space or T and anything; clamped
    category  exactly one of the declared texts; if none is declared, any text of at most
              1,000 characters without control and format characters (`INVISIBLE`)
    id        any text

If the spec has `decimal: ","`, comma and point are first exchanged in every cell of an integer
or a number: `1,5` is one and a half, and a cell with a point is missing, as a cell with a comma
is otherwise. (In a Parquet file this holds for numbers that are texts; numeric types are exact.)

Everything else is missing: `nan`, `0x10`, `1_000`, `1,200`, digits of other scripts.

All of this is done by native expressions. The first one reads cells as they are in most files; the
others remove blanks and read every form of a cell. Cells that they leave undecided (a tie with
dozens of decimals) are decided by `parse_number_cell`, text by text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

import polars as pl
from polars.selectors import starts_with

from dpcli.cell_formats import DateFormat
from dpcli.data.column import Column, file_columns
from dpcli.data.ids import IdColumn, PrivatePartitionColumn
from dpcli.data.labels import CategoryColumn
from dpcli.data.numeric import NumericColumn
from dpcli.engine.decode_formats import formatted_dates, needs_plain_text, plain_text, strip_blanks
from dpcli.engine.decode_numbers import NUMBER, exceeded_bound, parse_number_cell, steps
from dpcli.engine.derive import derived_value

INVISIBLE = r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}&&[^\x{200C}\x{200D}]]"
"""Control and format characters and line ends, which a published key must not hold.

Without them, two keys look different, and none changes the direction of other text. Two that join
letters are needed by some scripts.
"""

WHOLE = {pl.Int8(): 1 << 7, pl.Int16(): 1 << 15, pl.Int32(): 1 << 31, pl.Int64(): 1 << 63}
"""Types of whole numbers, with the limits of their values."""

FLAGS = starts_with("odd_")
"""Flags of rows: undecided cells, and `odd_blank` for rows without any cell."""

LONGEST_KEY = 1000
"""Characters of the longest text that may be published as a key."""


class Decoder:
    """Decodes columns of texts to columns of whole numbers, and computes derived columns.

    `inputs` are the columns of the file that are read, each with the name of its texts: `t0`, `t1`
    and so on. Some files have whole numbers (Int64) instead of texts. Call `read`. If a column has
    an undecided cell, which is rare, call `decide` and read again.
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.columns = tuple(columns)
        self.inputs = {
            column: f"t{place}" for place, column in enumerate(file_columns(self.columns))
        }
        self._decided: dict[Column, dict[str, int | None]] = {}

    def read(self, texts: pl.LazyFrame, names: Mapping[Column, str]) -> pl.LazyFrame:
        """The table with columns as whole numbers; ids and private keys are texts without blanks.

        `names` maps the columns to the names of the results. A missing cell is null unless a
        constant replaces it. The flags `odd_t0` and so on mark undecided numbers.
        """
        read = {
            column: names.get(column, f"cell_{self.inputs[column]}")
            for column in file_columns(names)
        }
        return _derive(self._read_cells(texts, read), names, read)

    def _read_cells(self, texts: pl.LazyFrame, names: Mapping[Column, str]) -> pl.LazyFrame:
        """The table with columns of the file as whole numbers."""
        types = texts.collect_schema()
        integers = [column for column in names if types[self.inputs[column]] == pl.Int64]
        rules = {column: self._rules(column, is_integer=column in integers) for column in names}
        forms = {
            column: f"plain_{self.inputs[column]}" for column in names if needs_plain_text(column)
        }
        cell = {column: pl.col(forms.get(column, self.inputs[column])) for column in names}
        value = {column: pl.col(name) for column, name in names.items()}
        left = {column: f"left_{self.inputs[column]}" for column in names}
        # Each rule reads the texts that earlier rules left; most cells need only the first rule.
        table = (
            texts.with_columns(
                plain_text(pl.col(self.inputs[column]), column).alias(name)
                for column, name in forms.items()
            )
            .with_columns(
                rules[column][0](cell[column]).alias(name) for column, name in names.items()
            )
            .with_columns(
                strip_blanks(_where_null(value[column], cell[column]).cast(pl.String)).alias(
                    left[column]
                )
                for column in names
            )
        )
        for stage in range(1, max(map(len, rules.values()), default=0)):
            later = [column for column in names if stage < len(rules[column])]
            table = table.with_columns(
                pl.coalesce(value[column], rules[column][stage](pl.col(left[column])))
                for column in later
            ).with_columns(_where_null(value[column], pl.col(left[column])) for column in later)
        return table.with_columns(
            *(
                value[column].fill_null(column.missing)
                for column in names
                if column.missing is not None
            ),
            *(
                self._undecided(column, pl.col(left[column]))
                for column in names
                if _is_number(column)
            ),
        )

    def decide(self, flags: Collection[str], texts: pl.LazyFrame) -> None:
        """Decide the undecided cells of the columns with these flags, text by text."""
        for column, text in self.inputs.items():
            if f"odd_{text}" in flags:
                assert isinstance(column, NumericColumn)
                odd = self.read(texts, {column: "value"}).filter(f"odd_{text}")
                left = odd.select(pl.col(f"left_{text}").unique()).collect(engine="streaming")
                cells = left.to_series().to_list()
                decided = self._decided.setdefault(column, {})
                decided |= {cell: parse_number_cell(cell, column) for cell in cells}

    def decode(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The decoded columns of a table in memory, as `t0`, `t1` and so on."""
        names = {column: f"v{place}" for place, column in enumerate(self.columns)}
        cells = (
            self.read(frame.lazy(), names)
            .select(*names.values(), FLAGS)
            .collect(engine="streaming")
        )
        flags = raised_flags(cells.select(FLAGS))
        if flags:
            self.decide(flags, frame.lazy())
            return self.decode(frame)
        return cells.select(
            pl.col(names[column]).alias(f"t{place}") for place, column in enumerate(self.columns)
        )

    def _rules(self, column: Column, *, is_integer: bool) -> list[Callable[[pl.Expr], pl.Expr]]:
        """Rules that give a value or null: the first reads cells, the others bare texts."""
        if isinstance(column, IdColumn):
            return [strip_blanks]
        if isinstance(column, PrivatePartitionColumn):
            return [_private_key]
        if isinstance(column, CategoryColumn):
            return [partial(_positions, column=column)] * 2
        assert isinstance(column, NumericColumn)
        low, high = column.limits
        dtype = _smallest_type(low, high)

        def within(steps: pl.Expr) -> pl.Expr:
            return steps.clip(low, high).cast(dtype)

        if is_integer:
            return [within]
        if isinstance(column.format, DateFormat):
            form = column.format
            return [lambda text: within(formatted_dates(text, form))] * 2
        if column.kind == "date":
            return [
                lambda text: within(_iso_days(text)),
                lambda bare: within(_iso_days(_first_word(bare))),
            ]
        decided = self._decided.get(column, {})
        values = pl.Series(list(decided.values()), dtype=dtype)

        def from_cell(text: pl.Expr) -> pl.Expr:
            in_ones = column.step == 1
            return within(text.cast(pl.Int64, strict=False) if in_ones else steps(text, column))

        def from_decided(bare: pl.Expr) -> pl.Expr:
            return bare.replace_strict(list(decided), values, default=None, return_dtype=dtype)

        rules = [
            from_cell,
            lambda bare: within(steps(bare, column)),
            lambda bare: exceeded_bound(bare, column).cast(dtype),
        ]
        return [*rules, from_decided] if decided else rules

    def _undecided(self, column: Column, left: pl.Expr) -> pl.Expr:
        """Whether a text is written as a number, but no rule gave its value."""
        decided = self._decided.get(column)
        is_open = left.str.contains(NUMBER)
        is_open = is_open & ~left.is_in(list(decided)) if decided else is_open
        return is_open.fill_null(value=False).alias(f"odd_{self.inputs[column]}")


def _derive(
    cells: pl.LazyFrame, names: Mapping[Column, str], read: Mapping[Column, str]
) -> pl.LazyFrame:
    """The table with the derived columns among `names`; columns of the file are `read` already."""
    known = dict(read)
    for column in names:
        cells = _with_derived(cells, column, names, known)
    return cells


def _with_derived(
    cells: pl.LazyFrame, column: Column, names: Mapping[Column, str], known: dict[Column, str]
) -> pl.LazyFrame:
    """The table with a derived column and those that it needs, which are added to `known`."""
    # A recursive function within another is in a cycle of references with the tables that it uses,
    # so the text of each piece would stay in memory until the cycle is found.
    if column in known or column.derivation is None:
        return cells
    for part in column.derivation.inputs:
        cells = _with_derived(cells, part, names, known)
    value = _possible(derived_value(column.derivation, known), column)
    known[column] = names.get(column, f"derived_{len(known)}")
    value = value if column.missing is None else value.fill_null(column.missing)
    return cells.with_columns(value.alias(known[column]))


def _possible(value: pl.Expr, column: Column) -> pl.Expr:
    """A derived value within the bounds, or null if it is the position of no label."""
    if isinstance(column, NumericColumn):
        return value.clip(*column.limits).cast(_smallest_type(*column.limits))
    assert isinstance(column, CategoryColumn)
    return pl.when(value.is_between(0, len(column.labels) - 1)).then(value)


def _smallest_type(low: int, high: int) -> pl.DataType:
    return next(kind for kind, most in WHOLE.items() if -most <= low and high < most)


def _is_number(column: Column) -> bool:
    return isinstance(column, NumericColumn) and column.kind != "date"


def _where_null(value: pl.Expr, text: pl.Expr) -> pl.Expr:
    return pl.when(value.is_null()).then(text)


def _private_key(text: pl.Expr) -> pl.Expr:
    """A text that may be published as a key: not too long, without `INVISIBLE` characters."""
    bare = strip_blanks(text)
    is_short = bare.str.len_chars() <= LONGEST_KEY
    return pl.when(is_short & ~bare.str.contains(INVISIBLE)).then(bare)


def raised_flags(flags: pl.DataFrame) -> set[str]:
    """The names of the flags that are true in some row."""
    return {flag.name for flag in flags.iter_columns() if flag.any()}


def swap_decimal_mark(text: pl.Expr, column: Column, decimal: str) -> pl.Expr:
    """The text of a cell with a point as decimal mark, by the rules of this module."""
    if decimal == "." or not isinstance(column, NumericColumn) or column.kind == "date":
        return text
    if column.format is not None:
        # The form of the column has the mark.
        return text
    return text.str.replace_many([".", decimal], [decimal, "."])


def _positions(text: pl.Expr, column: CategoryColumn) -> pl.Expr:
    """The position of the label of each declared text."""
    texts = pl.Series([text for text, _ in column.values])
    known = pl.Enum(texts.str.to_lowercase() if column.ignores_case else texts)
    codes = text.cast(known, strict=False).to_physical()
    positions = [column.positions[label] for _, label in column.values]
    if positions != list(range(len(positions))):
        places = list(range(len(positions)))
        codes = codes.replace_strict(places, positions, default=None, return_dtype=pl.Int32)
    if column.other is None:
        return codes
    other = pl.lit(column.positions[column.other], dtype=pl.Int32)
    return pl.coalesce(codes.cast(pl.Int32), pl.when(text.is_not_null()).then(other))


def _iso_days(text: pl.Expr) -> pl.Expr:
    """ISO dates as days since 1970, null for all other texts.

    The parser of polars accepts other padding and signs, but the rule does not. So a date must be
    equal to its own formatted text.
    """
    date = text.str.to_date("%Y-%m-%d", strict=False)
    same = date.dt.to_string("%Y-%m-%d") == text
    in_calendar = date.dt.year().is_between(1, 9999)
    return pl.when(same & in_calendar).then(date.to_physical().cast(pl.Int64))


def _first_word(text: pl.Expr) -> pl.Expr:
    """A date, without the text after it that begins with a space or a T."""
    after = text.str.slice(10, 1)
    return pl.when(after.is_in(["", " ", "T"])).then(text.str.slice(0, 10))
