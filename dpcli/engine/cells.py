"""Decodes columns of text to columns of whole numbers, each cell by itself.

Blanks around a cell are removed. Then it is a value, or it is missing.

    number    sign digits [. digits] [e[+-]digits], or inf, infinity in any case;
              rounded to the grid (halves to the even number), then clamped to the bounds;
              an integer is missing if it is not whole
    date      YYYY-MM-DD, then nothing, or a space or T and anything; clamped
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

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from operator import eq, ge, gt, le, lt
from typing import Any

import polars as pl
from polars.selectors import starts_with

from dpcli.data.column import Column, Derivation, file_columns
from dpcli.data.derivations import (
    Age,
    Arithmetic,
    Bands,
    DatePart,
    FirstLabel,
    FirstNumber,
    FirstTrue,
    PositionAmong,
    Product,
    Ratio,
    Satisfies,
    Sum,
    Term,
)
from dpcli.data.filters import AllOf, AnyOf, Compared, Filter, InRanges, IsMissing, Not
from dpcli.statistics.counts.multiple_answers import PassesAmongFirst

FLAGS = starts_with("odd_")
"""Flags of rows: undecided cells, and `odd_row`, which is false."""


class Decoder:
    """Decodes columns of texts to whole numbers, and computes derived columns.

    `inputs` are the columns of the file that are read, each with the name of its texts: `t0`, `t1`
    and so on. Some have whole steps (integers) instead of texts. Call `read`. If a column has
    an undecided cell, which is rare, call `decide` and read again.
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.columns = tuple(columns)
        self.inputs = {
            column: f"t{index}" for index, column in enumerate(file_columns(self.columns))
        }
        self._decided: dict[Column, dict[str, int | None]] = {}

    def read(self, texts: pl.LazyFrame, names: Mapping[Column, str]) -> pl.LazyFrame:
        """The table with whole numbers; ids and private keys are texts without blanks.

        `names` maps the columns to the names of the results. A missing cell is null unless a
        constant replaces it. The flags `odd_t0` and so on mark undecided numbers.
        """
        read = {
            column: names.get(column, f"cell_{self.inputs[column]}")
            for column in file_columns(names)
        }
        cells, known = self._read_cells(texts, read), dict(read)
        for column in names:
            cells = _with_derived(cells, column, names, known)
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
            pl.col(name).fill_null(column.missing)
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


def _with_derived(
    cells: pl.LazyFrame, column: Column, names: Mapping[Column, str], known: dict[Column, str]
) -> pl.LazyFrame:
    """The table with a derived column and the derived columns that it needs.

    The name of each added column is added to `known`.
    """
    # A recursive function within another is in a cycle of references with the tables that it uses,
    # so the text of each piece would stay in memory until the cycle is found.
    if column in known or column.derivation is None:
        return cells
    for part in column.derivation.inputs:
        cells = _with_derived(cells, part, names, known)
    value = column.possible(derived_value(column.derivation, known))
    known[column] = names.get(column, f"derived_{len(known)}")
    value = value if column.missing is None else value.fill_null(column.missing)
    return cells.with_columns(value.alias(known[column]))


def raised_flags(flags: pl.DataFrame) -> set[str]:
    """The names of the flags that are true in some row."""
    return {flag.name for flag in flags.iter_columns() if flag.any()}


Names = Mapping[Column, str]


def derived_value(derivation: Derivation, names: Names) -> pl.Expr:
    """A derived column's value, in its steps or its label's position, or null.

    `names` are the names of the decoded inputs.
    """
    match derivation:
        case Satisfies(test):
            return truth(test, names).cast(pl.Int8)
        case FirstTrue(tests):
            positions = (
                pl.when(truth(test, names)).then(pl.lit(index, dtype=pl.Int32))
                for index, test in enumerate(tests)
            )
            return pl.coalesce(positions)
        case PositionAmong(column, texts):
            text, known = pl.col(names[column]), column.compared(texts)
            # Of equal texts, the last one counts.
            indices = {one: index for index, one in enumerate(known)}
            index = text.replace_strict(indices, default=len(texts), return_dtype=pl.Int64)
            return pl.when(text.is_not_null()).then(index)
        case DatePart():
            return _part(derivation, pl.col(names[derivation.inputs[0]]))
        case Bands(column, starts):
            # The last start that is not above the value; missing cells stay null.
            value = pl.col(names[column])
            index = pl.lit(pl.Series(starts, dtype=pl.Int64)).search_sorted(
                value.cast(pl.Int64), side="right"
            )
            return pl.when(value.is_not_null()).then(index.cast(pl.Int64) - 1)
        case FirstLabel(columns):
            labels = {label: index for index, label in enumerate(derivation.labels)}
            return pl.coalesce(
                pl.col(names[column]).replace_strict(
                    list(range(len(column.labels))),
                    [labels[label] for label in column.labels],
                    return_dtype=pl.Int64,
                )
                for column in columns
            )
        case Arithmetic():
            return _number(derivation, names)
    raise TypeError("a derivation that the engine does not know")


def _number(derivation: Arithmetic, names: Names) -> pl.Expr:
    """The value of an arithmetic derivation in whole steps, halves rounded to even.

    Its integer type fits all intermediate values.
    """
    # Rounding needs two bits more.
    dtype = pl.Int64() if derivation.magnitude < 1 << 61 else pl.Int128()
    columns = [pl.col(names[term]).cast(dtype) for term in derivation.columns]
    match derivation:
        case Sum():
            factors, constant, divisor = derivation.scaled
            total = pl.lit(constant, dtype=dtype)
            for cell, factor in zip(columns, factors, strict=True):
                total = total + _times(cell, factor, dtype)
            return _divided(total, divisor, dtype)
        case Product():
            factor, divisor = derivation.scaled
            value = columns[0]
            for cell in columns[1:]:
                value = value * cell
            return _divided(_times(value, factor, dtype), divisor, dtype)
        case Ratio():
            above, below = (
                pl.lit(factor, dtype=dtype)
                if isinstance(term, Fraction)
                else _times(pl.col(names[term]).cast(dtype), factor, dtype)
                for factor, term in zip(derivation.scaled, derivation.terms, strict=True)
            )
            sign = pl.when(below < 0).then(-1).otherwise(1).cast(dtype)
            return pl.when(below != 0).then(_rounded(above * sign, below * sign))
        case Age():
            return _age(*(_day(term, names) for term in derivation.terms))
        case FirstNumber():
            return pl.coalesce(_number(part, names).cast(dtype) for part in derivation.parts)
    raise TypeError("a number that the engine does not know")


def _times(cell: pl.Expr, factor: int, dtype: pl.DataType) -> pl.Expr:
    return cell if factor == 1 else cell * pl.lit(factor, dtype=dtype)


def _divided(value: pl.Expr, divisor: int, dtype: pl.DataType) -> pl.Expr:
    return value if divisor == 1 else _rounded(value, pl.lit(divisor, dtype=dtype))


def _rounded(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    """The nearest integer of a ratio with a positive denominator, halves to even."""
    # The floor of the ratio and a half; a tie has no rest, and is one too many if odd.
    shifted, twice = above * 2 + below, below * 2
    # Division and remainder are those of floors, also below zero.
    return shifted // twice - (shifted % (twice * 2) == twice).cast(pl.Int8)


def _day(term: Term, names: Names) -> pl.Expr:
    days = pl.lit(int(term)) if isinstance(term, Fraction) else pl.col(names[term])
    return days.cast(pl.Int32).cast(pl.Date)


def _age(birth: pl.Expr, day: pl.Expr) -> pl.Expr:
    """Full years; a birthday on 29 February is on 1 March of other years."""
    first, last = birth.dt, day.dt
    before_birthday = last.month().cast(pl.Int32) * 32 + last.day() < (
        first.month().cast(pl.Int32) * 32 + first.day()
    )
    return (last.year() - first.year() - before_birthday.cast(pl.Int32)).cast(pl.Int64)


def _part(derivation: DatePart, days: pl.Expr) -> pl.Expr:
    """The position of the label of a part of a date; `days` may be hours or minutes."""
    days = days.cast(pl.Int64)
    day = days.cast(pl.Int32).cast(pl.Date).dt
    year, month = day.year().cast(pl.Int64), day.month().cast(pl.Int64)
    match derivation.part:
        case "year":
            index = year
        case "quarter":
            index = (month - 1) // 3
        case "month":
            index = month - 1
        case "week":
            index = day.week().cast(pl.Int64) - 1
        case "weekday":
            # 1970-01-01 was a Thursday.
            index = (days + 3) % 7
        case "hour" | "minute":
            index = days
        case "year-month":
            index = year * 12 + month - 1
        case "year-quarter":
            index = year * 4 + (month - 1) // 3
        case "year-week":
            index = (days + 3) // 7
    return index - derivation.first


COMPARE: dict[str, Callable[[Any, Any], pl.Expr]] = {"<": lt, "<=": le, "=": eq, ">=": ge, ">": gt}


def row_filter(
    where: Sequence[Filter], not_missing: Iterable[Column], names: Mapping[Column, str]
) -> pl.Expr | None:
    """Whether a row passes all filters and has values in the columns `not_missing`.

    None if there is nothing to test, so that every row passes. `names` are the names of decoded
    columns.
    """
    tests = [truth(test, names) for test in where]
    tests += [pl.col(names[column]).is_not_null() for column in not_missing]
    return pl.all_horizontal(tests).fill_null(value=False) if tests else None


def truth(test: Filter, names: Mapping[Column, str]) -> pl.Expr:
    """Whether a filter is true, false or unknown (null) for a row of columns `names`."""
    match test:
        case InRanges(column, ranges):
            cell = pl.col(names[column])
            return pl.any_horizontal(cell.is_between(low, high) for low, high in ranges)
        case IsMissing(column):
            return pl.col(names[column]).is_null()
        case Compared(left, comparison, right):
            return COMPARE[comparison](
                *(
                    _multiplied(pl.col(names[column]), max(map(abs, column.limits)), factor)
                    for column, factor in zip((left, right), test.factors, strict=True)
                )
            )
        case Not(inner):
            return ~truth(inner, names)
        case AllOf(parts):
            # The operators follow the logic of Kleene.
            return pl.all_horizontal(truth(part, names) for part in parts)
        case AnyOf(parts):
            return pl.any_horizontal(truth(part, names) for part in parts)
        case PassesAmongFirst(tests, index, limit):
            passed = [truth(part, names).fill_null(value=False) for part in tests[: index + 1]]
            if index < limit:
                return passed[-1]
            return passed[-1] & (pl.sum_horizontal(passed[:-1]) < limit)
    raise TypeError("a filter that the engine does not know")


def _multiplied(cell: pl.Expr, max_size: int, factor: int) -> pl.Expr:
    if factor == 1:
        return cell
    dtype = pl.Int64() if max_size * factor < 1 << 63 and factor < 1 << 63 else pl.Int128()
    return cell.cast(dtype) * pl.lit(factor, dtype=dtype)
