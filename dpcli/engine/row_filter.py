"""Filters as native expressions over decoded columns, in which null is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import eq, ge, gt, le, lt
from typing import Any

import polars as pl

from dpcli.data.column import Column
from dpcli.filters import AllOf, AnyOf, Compared, Filter, InRanges, IsMissing, Not
from dpcli.queries.indicators import PassesAmongFirst

COMPARE: dict[str, Callable[[Any, Any], pl.Expr]] = {"<": lt, "<=": le, "=": eq, ">=": ge, ">": gt}


def row_filter(
    where: Sequence[Filter], not_missing: Iterable[Column], names: Mapping[Column, str]
) -> pl.Expr | None:
    """Whether all filters are true for a row that has all columns; None if every row passes.

    `names` are the names of decoded columns.
    """
    tests = [truth(test, names) for test in where]
    tests += [pl.col(names[column]).is_not_null() for column in not_missing]
    return pl.all_horizontal(tests).fill_null(value=False) if tests else None


def truth(test: Filter, names: Mapping[Column, str]) -> pl.Expr:
    """Whether a filter is true, false or unknown (null) for a row."""
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
        case PassesAmongFirst(tests, place, most):
            passed = [truth(part, names).fill_null(value=False) for part in tests[: place + 1]]
            if place < most:
                return passed[-1]
            return passed[-1] & (pl.sum_horizontal(passed[:-1]) < most)
    raise TypeError("a filter that the engine does not know")


def _multiplied(cell: pl.Expr, most: int, factor: int) -> pl.Expr:
    if factor == 1:
        return cell
    dtype = pl.Int64() if most * factor < 1 << 63 and factor < 1 << 63 else pl.Int128()
    return cell.cast(dtype) * pl.lit(factor, dtype=dtype)
