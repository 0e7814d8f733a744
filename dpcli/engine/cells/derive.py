"""Derived columns as native expressions over decoded columns, exact in integers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import polars as pl

from dpcli.data.column import Column, Derivation
from dpcli.data.derivations import (
    Age,
    Bands,
    DatePart,
    FirstLabel,
    FirstTrue,
    PositionAmong,
    Satisfies,
)
from dpcli.data.derived_numbers import Arithmetic, FirstNumber, Product, Ratio, Sum, Term
from dpcli.engine.cells.expressions import truth

Names = Mapping[Column, str]


def derived_value(derivation: Derivation, names: Names) -> pl.Expr:
    """The value of a derived column, in its steps or as the position of its label, or null.

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
            text, indices = pl.col(names[column]), list(range(len(texts)))
            index = text.replace_strict(
                list(texts), indices, default=len(texts), return_dtype=pl.Int64
            )
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
                _replaced(pl.col(names[column]), [labels[label] for label in column.labels])
                for column in columns
            )
        case Arithmetic():
            return _number(derivation, names)
    raise TypeError("a derivation that the engine does not know")


def _number(derivation: Arithmetic, names: Names) -> pl.Expr:
    """The value of a number: whole steps, rounded to even, in a type that fits all of it."""
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
    """The nearest integer of a ratio whose denominator is positive, halves to the even one."""
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
    """The position of the label of a part of a date; for the hour, `days` are hours."""
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
        case "hour":
            index = days
        case "year-month":
            index = year * 12 + month - 1
        case "year-quarter":
            index = year * 4 + (month - 1) // 3
        case "year-week":
            index = (days + 3) // 7
    return index - derivation.first


def _replaced(position: pl.Expr, indices: list[int]) -> pl.Expr:
    return position.replace_strict(list(range(len(indices))), indices, return_dtype=pl.Int64)
