"""Values of people, recomputed in plain Python from the written rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.people.amounts import (
    Amount,
    GreatestOfPerson,
    LeastOfPerson,
    MeanOfPerson,
    MedianOfPerson,
    TotalOfPerson,
)
from dpcli.data.people.counts import (
    DifferentValues,
    InAllRows,
    InAnyRow,
    RowsOfPerson,
    RowsThatCount,
)
from dpcli.data.people.person_value import PersonValue, ValueOfRows
from dpcli.data.people.places import First, Last, LongestGap, Most, ShortestGap
from tests.oracles.shapes import Row


def add_people_values(columns: Iterable[Column], rows: list[Row]) -> None:
    """Add the columns that follow from values of people to all rows of one person."""
    from tests.oracles.plain import _derive  # Both know columns that follow from the other.

    for column in columns:
        _add_values(column, rows)
        if column.uses_people:
            for row in rows:
                _derive(column, row, None)


def _add_values(column: Column, rows: list[Row]) -> None:
    derivation = column.derivation
    if derivation is None:
        return
    if not derivation.of_person:
        for part in derivation.inputs:
            _add_values(part, rows)
        return
    found = _value(column, rows)
    if found is not None and isinstance(column, NumericColumn):
        low, high = column.limits
        found = min(max(found, low), high)
    for row in rows:
        row[column] = column.missing if found is None else found


def _value(column: Column, rows: list[Row]) -> int | None:  # noqa: C901 - one kind each
    """The value of a person in steps, before it is clamped; None if it is missing."""
    from tests.oracles.plain import _nearest, truth

    where = getattr(column.derivation, "where", None)
    rows = [row for row in rows if where is None or truth(where, row) is True]
    match column.derivation:
        case RowsThatCount(_, parts):
            return sum(any(_counts(part, row) for part in parts) for row in rows)
        case RowsOfPerson(test):
            return sum(test is None or truth(test, row) is True for row in rows)
        case InAllRows(test):
            known = [outcome for row in rows if (outcome := truth(test, row)) is not None]
            return int(all(known)) if known else None
        case InAnyRow(test):
            known = [outcome for row in rows if (outcome := truth(test, row)) is not None]
            return int(any(known)) if known else None
        case Last(of, _, by):
            pairs = [(row[by or of], row[of]) for row in rows]
            pairs = [pair for pair in pairs if None not in pair]
            return max(pairs)[1] if pairs else None
        case First(of, _, by):
            pairs = [(row[by or of], row[of]) for row in rows]
            pairs = [pair for pair in pairs if None not in pair]
            return min(pairs)[1] if pairs else None
        case Most(of):
            tally = Counter(row[of] for row in rows if row[of] is not None)
            most = max(tally.values(), default=0)
            return min((value for value in tally if tally[value] == most), default=None)
        case DifferentValues(of):
            return len({row[of] for row in rows} - {None})
        case LongestGap(of):
            days = sorted(row[of] for row in rows if row[of] is not None)
            gaps = [later - day for day, later in pairwise(days)]
            return max(gaps, default=0) if days else None
        case ShortestGap(of):
            days = sorted({row[of] for row in rows if row[of] is not None})
            return min((later - day for day, later in pairwise(days)), default=None)
        case Amount(of, _, step) as amount:
            values = sorted(row[of] for row in rows if row[of] is not None)
            if not values:
                return None
            middle = Fraction(values[(len(values) - 1) // 2] + values[len(values) // 2], 2)
            exact: dict[type, Fraction | int] = {
                TotalOfPerson: sum(values),
                LeastOfPerson: values[0],
                GreatestOfPerson: values[-1],
                MeanOfPerson: Fraction(sum(values), len(values)),
                MedianOfPerson: middle,
            }
            return _nearest(exact[type(amount)] * of.step / step)
    raise AssertionError("no rule")


def _counts(value: PersonValue, row: Row) -> bool:
    """Whether a row counts for a value of a person: it passes conditions, and has all it needs."""
    from tests.oracles.plain import truth

    if isinstance(value, RowsOfPerson):
        return value.test is None or truth(value.test, row) is True
    where = getattr(value, "where", None)
    needed = [value.column] if isinstance(value, ValueOfRows) else []
    needed += [value.by] if isinstance(value, First) and value.by else []
    passes = where is None or truth(where, row) is True
    return passes and all(row[column] is not None for column in needed)
