"""Decodes columns of text to columns of whole numbers, each cell by itself.

Blanks around a cell are removed. Then it is a value, or it is missing.

    number    sign digits [. digits] [e[+-]digits], or inf, infinity in any case;
              rounded to the grid (halves to the even number), then clamped to the bounds;
              an integer is missing if it is not whole
    date      YYYY-MM-DD, then nothing, or a space or T and a time; clamped
    category  one of the declared texts, or a text that differs in nothing that is seen
              (`unified_text`); if none is declared, any text of at most 1,000 characters without
              control and format characters (`INVISIBLE`)
    boolean   the same with two texts, or one of the usual words (`UsualWords`)
    id        any text, in the form of `unified_text`, as its options change it

If the spec has `decimal: ","`, comma and point are first exchanged in every cell of an integer
or a number: `1,5` is one and a half, and a cell with a point is missing, as a cell with a comma
is otherwise. (In a Parquet file this holds for numbers that are texts; numeric types are exact.)

Everything else is missing: `nan`, `0x10`, `1_000`, `1,200`, digits of other scripts.

All of this is done by native expressions, the rules of the columns (`dpcli.data`). The first one
reads cells as they are in most files; the others remove blanks and read every form of a cell. Cells
that they leave undecided (a tie with dozens of decimals) are decided text by text. Derived columns
follow from decoded ones, exact in integers. In filters, null is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import polars as pl
from polars.selectors import starts_with

from dpcli.data.column import Column, file_columns
from dpcli.data.filters import Filter
from dpcli.engine.files.decoding import TYPED

FLAGS = starts_with("odd_")
"""Flags of rows: undecided cells, and `odd_row`, which is false."""

BROKEN = "broken"
"""The column that says whether the record of a row could not be cut into cells."""


class Decoder:
    """Decodes columns of texts to whole numbers, and computes derived columns.

    `inputs` are the columns of the file that are read, each with the name of its texts: `t0`, `t1`
    and so on. Some have whole steps (integers) instead of texts. Call `read`. If a column has
    an undecided cell, which is rare, call `decide` and read again.
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.columns = tuple(columns)
        files = file_columns(self.columns)
        # A column that is also wanted without its limits is read once, and then limited.
        wide = {column: column.without_limits() for column in files if column.has_values}
        self._wide = {
            column: wider for column, wider in wide.items() if wider != column and wider in files
        }
        read = (column for column in files if column not in self._wide)
        self.inputs = {column: f"t{index}" for index, column in enumerate(read)}
        self._decided: dict[Column, dict[str, int | None]] = {}

    def read(self, texts: pl.LazyFrame, names: Mapping[Column, str]) -> pl.LazyFrame:
        """The table with whole numbers; ids and private keys are texts without blanks.

        `names` maps the columns to the names of the results. A missing cell is null unless a
        constant replaces it. The flags `odd_t0` and so on mark undecided numbers.
        """
        wanted, types = file_columns(names), texts.collect_schema()
        read = {
            column: names.get(column, f"cell_{self.inputs[column]}")
            for column in dict.fromkeys(self._wide.get(column, column) for column in wanted)
        }
        cells, known = self._read_cells(texts, read), dict(read)
        for column in wanted:
            if (wider := self._wide.get(column)) is not None:
                known[column] = names.get(column, f"limited_{len(known)}")
                value = with_constant(column.possible(pl.col(read[wider])), column)
                cells = cells.with_columns(value.alias(known[column]))
        blank = {
            column: column.is_blank(pl.when(pl.col(read[column]).is_null()).then(pl.col(name)))
            if types[name] == pl.String
            else pl.lit(value=True)
            for column, name in self.inputs.items()
            if column in read
        }
        if BROKEN in types:
            # No one knows what the cells of such a record say.
            blank = {column: is_blank & ~pl.col(BROKEN) for column, is_blank in blank.items()}
        for column in names:
            cells = with_derived(cells, column, names, known, blank)
        return cells

    def _read_cells(self, texts: pl.LazyFrame, names: Mapping[Column, str]) -> pl.LazyFrame:
        """The table with the columns of the file as whole numbers, under their `names`."""
        types, inputs = texts.collect_schema(), self.inputs
        integers = [column for column in names if types[inputs[column]].is_integer()]
        whole = [
            column.possible(pl.col(inputs[column])).alias(names[column]) for column in integers
        ]
        read = {column: name for column, name in names.items() if column not in integers}
        return self._read_texts(texts.with_columns(whole), read).with_columns(
            with_constant(pl.col(name), column)
            for column, name in names.items()
            if column.missing is not None
        )

    def _read_texts(self, texts: pl.LazyFrame, names: Mapping[Column, str]) -> pl.LazyFrame:
        """The table with texts decoded to whole numbers, and flags of undecided cells."""
        decided = {column: self._decided.get(column, {}) for column in names}
        rules = {column: column.rules(decided[column]) for column in names}
        forms = {
            column: f"plain_{self.inputs[column]}" for column in names if column.needs_plain_text
        }
        cell = {column: pl.col(forms.get(column, self.inputs[column])) for column in names}
        value = {column: pl.col(name) for column, name in names.items()}
        left = {column: f"left_{self.inputs[column]}" for column in names}
        # Each rule reads the texts that earlier rules left; most cells need only the first rule.
        table = (
            texts.with_columns(
                column.plain_text(pl.col(self.inputs[column])).alias(name)
                for column, name in forms.items()
            )
            .with_columns(
                rules[column][0](cell[column]).alias(name) for column, name in names.items()
            )
            .with_columns(
                column.bare_text(
                    pl.when(value[column].is_null()).then(cell[column]).cast(pl.String)
                ).alias(left[column])
                for column in names
            )
        )
        for stage in range(1, max(map(len, rules.values()), default=0)):
            later = [column for column in names if stage < len(rules[column])]
            table = table.with_columns(
                pl.coalesce(value[column], rules[column][stage](pl.col(left[column])))
                for column in later
            ).with_columns(
                pl.when(value[column].is_null()).then(pl.col(left[column])) for column in later
            )
        return table.with_columns(
            is_open.alias(f"odd_{self.inputs[column]}")
            for column in names
            if (is_open := column.undecided(pl.col(left[column]), decided[column])) is not None
        )

    def decide(self, flags: Collection[str], texts: pl.LazyFrame) -> None:
        """Decide the undecided cells of the columns with these flags, text by text."""
        for column, text in self.inputs.items():
            if f"odd_{text}" in flags:
                odd = self.read(texts, {column: "value"}).filter(f"odd_{text}")
                left = odd.select(pl.col(f"left_{text}").unique()).collect(engine="streaming")
                cells = left.to_series().to_list()
                decided = self._decided.setdefault(column, {})
                decided |= {cell: column.decide(cell) for cell in cells}

    def decode(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The decoded columns of a table in memory, as `t0`, `t1` and so on."""
        names = {column: f"v{index}" for index, column in enumerate(self.columns)}
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
            pl.col(names[column]).alias(f"t{index}") for index, column in enumerate(self.columns)
        )


def with_derived(
    cells: pl.LazyFrame,
    column: Column,
    names: Mapping[Column, str],
    known: dict[Column, str],
    blank: Mapping[Column, pl.Expr],
) -> pl.LazyFrame:
    """The table with a derived column and the derived columns that it needs.

    The name of each added column is added to `known`. `blank` states of each column of the file
    whether a cell without a value is blank.
    """
    # A recursive function within another is in a cycle of references with the tables that it uses,
    # so the text of each piece would stay in memory until the cycle is found.
    if column in known or column.derivation is None:
        return cells
    derivation = column.derivation
    for part in derivation.inputs:
        cells = with_derived(cells, part, names, known, blank)
    if derivation.cell_of is None:
        value = derivation.value(known)
    else:
        value = derivation.value_of_cell(known, blank[derivation.cell_of])
    known[column] = names.get(column, f"derived_{len(known)}")
    return cells.with_columns(with_constant(column.possible(value), column).alias(known[column]))


def with_constant(value: pl.Expr, column: Column) -> pl.Expr:
    """A value of a column, with its constant where it is missing."""
    return value if column.missing is None else value.fill_null(column.missing)


def existing_rows(
    rows: pl.LazyFrame, only: Filter | None, names: Mapping[Column, str]
) -> pl.LazyFrame:
    """The decoded rows that pass a filter; an unknown outcome is no pass."""
    return rows if only is None else rows.filter(only.truth(names).fill_null(value=False))


def raised_flags(flags: pl.DataFrame) -> set[str]:
    """The names of the flags that are true in some row."""
    return {flag.name for flag in flags.iter_columns() if flag.any()}


def untyped_text(cell: pl.Expr) -> pl.Expr:
    """The text of a cell without the mark of typed cells."""
    return cell.str.strip_prefix(TYPED)


def declared_text(cell: pl.Expr, column: Column, decimal: str) -> pl.Expr:
    """The text of a cell in the form of its column; with a point if it has none.

    `decimal` is the decimal mark of texts in columns without their own.
    """
    plain = untyped_text(cell)
    typed = column.typed_text(plain)
    if typed is None:
        return plain
    text = column.with_point(cell, decimal)
    return pl.when(cell.str.starts_with(TYPED)).then(typed).otherwise(text)
