"""Exact answers, recomputed one cell at a time from the written rules.

For tests only. It is slow and uses no dataframes. It shares the declarations of columns and
queries with dpcli, but no code that reads, parses, rounds or adds.
"""

from __future__ import annotations

import calendar
import datetime
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import product
from math import comb, floor, prod
from string import ascii_lowercase, ascii_uppercase
from typing import cast
from zoneinfo import ZoneInfo

from dpcli.data.column import STATES, Column, file_columns, row_columns
from dpcli.data.date_forms import DateFormat, Form
from dpcli.data.date_options import Months
from dpcli.data.derived.arithmetic import Arithmetic, Difference, FirstNumber, Product, Ratio, Sum
from dpcli.data.derived.calendar import Age, DatePart
from dpcli.data.derived.cell_states import CellState
from dpcli.data.derived.labels import Bands, FirstLabel, Satisfies
from dpcli.data.derived.positions import FirstTrue, NumberOfLabels, PositionAmong
from dpcli.data.filters import (
    AllOf,
    AnyOf,
    Compared,
    Filter,
    InRanges,
    IsMissing,
    Not,
    PassesAmongFirst,
)
from dpcli.data.formats import STANDARD_DIALECT, Dialect, NumberFormat
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.labels import IdColumn, LabeledColumn, PrivatePartitionColumn
from dpcli.data.number_options import ListedNumbers
from dpcli.data.people.amounts import ChangeOfPerson
from dpcli.numeric.arrays import integer_array
from dpcli.privacy.unit import PersonUnit, RowUnit, Unit
from dpcli.queries.nested import NestedQuery
from dpcli.queries.paired import PairedQuery
from dpcli.queries.points import PointsQuery
from dpcli.queries.query import LinearQuery, Query, RowsPerUserQuery
from dpcli.queries.scaled import ScaledSumsQuery
from dpcli.queries.scores import Accuracy, Frequency, Rank, Revenue, ScoreQuery, SelectionQuery
from dpcli.queries.sums import UserBins, UserTotals
from dpcli.queries.vectors import VectorQuery
from dpcli.statistics.counts.centered_counts import CenteredCountQuery
from dpcli.statistics.counts.distinct import DistinctQuery
from dpcli.statistics.counts.multiple_answers import IndicatorQuery
from dpcli.statistics.means.distances import BernsteinQuery
from dpcli.statistics.means.quadratic_pair import QuadraticPairQuery
from dpcli.statistics.quality.faults import FirstFaultQuery
from dpcli.statistics.quantiles.recursion import QuantilesQuery
from dpcli.statistics.regression.queries import LeastSquaresQuery, LogisticQuery, ObjectiveQuery
from dpcli.statistics.tables.effects import EffectQuery
from tests.oracles.of_people import add_people_values
from tests.oracles.opened import Units, cells_of, units_of
from tests.oracles.shapes import Row, Rules, answer_by_shape

NUMBER = re.compile(r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?")
INFINITY = re.compile(r"([+-]?)(?:inf|infinity)", re.IGNORECASE | re.ASCII)
DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(.*)", re.DOTALL)
CLOCK = re.compile(
    r"[T ] ?([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?(?:[.,:][0-9]+)?(?![0-9.,:])(.*)"
    r"|T([0-9]{2})([0-9]{2})?([0-9]{2})?(?:[.,][0-9]+)?(?![0-9.,])(.*)"
)


LETTERS = tuple(map(chr, range(0x11000)))
BLANKS = "\t\u200b\u2060\ufeff" + "".join(
    letter for letter in LETTERS if unicodedata.category(letter) == "Zs"
)
"""What may be around a cell: tabs, blanks of a line, and three characters of no width."""

MINUSES = "\u2212\u207b\u208b" + "".join(
    letter
    for letter in LETTERS
    if unicodedata.category(letter) == "Pd" and letter not in "\u301c\u3030\u30a0"
)
PLUSES = "".join(letter for letter in LETTERS if unicodedata.normalize("NFKC", letter) == "+")
"""The signs that may be before a number."""

LONGEST = 1 << 20
"""Bytes that a quoted cell may hold."""

ROW = RowUnit()

Priority = Callable[[str, int], int]
"""The priority of a row: from the user id and how many rows of the user came before."""

Answer = list[int] | dict[tuple[str, ...], list[int]]
"""The integers of every cell; by group where keys are private."""

People = list[list[tuple[int, Row]]]
"""The rows of each person, each with its priority."""

OWN_FORMULAS = (
    SelectionQuery,
    FirstFaultQuery,
    ObjectiveQuery,
    CenteredCountQuery,
    PairedQuery,
    NestedQuery,
    VectorQuery,
    RowsPerUserQuery,
    IndicatorQuery,
    BernsteinQuery,
    PointsQuery,
    QuadraticPairQuery,
    ScaledSumsQuery,
    EffectQuery,
    DistinctQuery,
    LinearQuery,
)
"""The kinds of queries that are answered here, each by its definition."""

RowParts = IndicatorQuery | BernsteinQuery | PointsQuery | QuadraticPairQuery | ScaledSumsQuery
"""Queries of several numbers, to which a row adds parts."""


def evaluate(
    queries: Sequence[Query],
    data: bytes,
    unit: Units = ROW,
    priority: Priority = lambda *_: 0,
    dialect: Dialect = STANDARD_DIALECT,
    only: Filter | None = None,
) -> list[Answer]:
    """The noise-free answer to every query, cell by cell, the last axis fastest."""
    # Units differ in limits only, so the people are those of any.
    first = next(iter(units_of(queries, unit)), ROW)
    people = read_people(queries, data, first, priority, dialect, only)
    return answers_about(queries, people, unit)


def read_people(
    queries: Sequence[Query],
    data: bytes,
    unit: Unit = ROW,
    priority: Priority = lambda *_: 0,
    dialect: Dialect = STANDARD_DIALECT,
    only: Filter | None = None,
) -> People:
    """The rows of each person, or each row: the values of the columns that queries need.

    Rows that do not pass the filter `only` belong to no one.
    """
    header, rows = table(data, dialect)
    used: set[Column] = {column for query in queries for column in query.columns}
    used |= set(() if only is None else only.columns)
    columns = set(row_columns(used))
    place = {column: _place(column, header) for column in file_columns(columns)}
    whose = header.index(unit.column) if isinstance(unit, PersonUnit) else None
    people: dict[object, list[tuple[int, Row]]] = {}
    for number, row in enumerate(rows):
        cells = {column: row[at] if at < len(row) else "" for column, at in place.items()}
        values: Row = {
            column: value(column, cell, dialect.decimal) for column, cell in cells.items()
        }
        for column in columns:
            _derive(column, values, cells if row else None)
        if only is not None and truth(only, values) is not True:
            continue
        name: object = number
        if isinstance(unit, PersonUnit) and whose is not None:
            if not row:
                # No one knows whose record it is.
                continue
            text = person_of(row[whose] if whose < len(row) else "", unit)
            if not text and not unit.singletons_without_id:
                continue
            name = text or number
        mine = people.setdefault(name, [])
        mine.append((priority(str(name), len(mine)) if isinstance(unit, PersonUnit) else 0, values))
    for mine in people.values():
        add_people_values(sorted(used, key=repr), [row for _, row in mine])
    return list(people.values())


def answers_about(queries: Sequence[Query], people: People, unit: Units = ROW) -> list[Answer]:
    """The noise-free answer to every query about these people, each with its own limits."""
    pairs = zip(queries, units_of(queries, unit), strict=True)
    return [_any_answer(query, people, own) for query, own in pairs]


def _derive(column: Column, row: Row, cells: dict[Column, str] | None) -> None:
    """Add the value of a derived column, and those of the derived columns that it needs.

    `cells` has the texts of the columns of the file; None in a broken record.
    """
    if column.derivation is None or column in row:
        return
    for part in column.derivation.inputs:
        _derive(part, row, cells)
    if isinstance(column.derivation, CellState):
        of = column.derivation.column
        cell = "" if cells is None else cells.get(of, "")
        is_broken = cells is None and of.derivation is None
        row[column] = STATES.index("unreadable" if is_broken else _state(of, row[of], cell))
        return
    found = derived(column, row)
    row[column] = column.missing if found is None else found


def _state(column: Column, found: int | str | None, cell: str) -> str:
    """The state of a cell with this value of a column without limits.

    The bounds of such a column are a step wider, and a value beyond the declared ones is there. A
    derived column has no cell of its own: without a value it is blank.
    """
    if found is None:
        return "blank" if is_blank(column, cell) else "unreadable"
    if isinstance(column, NumericColumn) and column.limits != column.widest:
        return "outside" if found in column.limits else "readable"
    return "readable"


def is_blank(column: Column, cell: str) -> bool:
    """Whether a cell has nothing but blanks, or a mark of missing cells."""
    text = cell.strip(BLANKS)
    if isinstance(column, LabeledColumn | PrivatePartitionColumn | IdColumn):
        text = spelled(cell, spelling_keys(column))
    return not cell.strip(BLANKS) or _is_marked(column, text)


def derived(column: Column, row: Row) -> int | None:
    """The value of a derived column in steps, before `missing` is considered."""
    derivation = column.derivation
    match derivation:
        case Satisfies(test):
            holds = truth(test, row)
            return None if holds is None else int(holds)
        case FirstTrue(tests):
            stated = enumerate(tests)
            passed = (place for place, test in stated if test and truth(test, row))
            return next(passed, None)
        case NumberOfLabels(columns, numbers):
            cells = product(*(range(len(one.labels)) for one in columns))
            by_labels = dict(zip(cells, numbers, strict=True))
            return by_labels.get(tuple(row[one] or 0 for one in columns if row[one] is not None))
        case PositionAmong(texts_column, texts):
            text = row[texts_column]
            places = [place for place, one in enumerate(texts) if spelled(one, ()) == text]
            return None if text is None else places[-1] if places else len(texts)
        case DatePart(_, part):
            cell = row[derivation.inputs[0]]
            return None if cell is None else _labels(derivation).index(_part(cell, part))
        case Bands(banded, starts):
            cell = row[banded]
            return None if cell is None else sum(cell >= start for start in starts) - 1
        case FirstLabel(columns):
            known = [part.labels[row[part]] for part in columns if row[part] is not None]
            return _labels(derivation).index(known[0]) if known else None
    assert isinstance(derivation, Arithmetic) and isinstance(column, NumericColumn)
    if isinstance(derivation, ChangeOfPerson) and derivation.rows and row[derivation.rows] < 2:
        return None
    terms = [
        term if isinstance(term, Fraction) else None if row[term] is None else row[term] * term.step
        for term in derivation.terms
    ]
    exact = _exact(derivation, terms)
    if exact is None:
        return None
    low, high = column.limits
    return min(max(_nearest(exact / column.step), low), high)


def _exact(derivation: Arithmetic, terms: list[Fraction | None]) -> Fraction | None:
    """The exact value of a number; None if it is missing."""
    known = [term for term in terms if term is not None]
    if isinstance(derivation, FirstNumber):
        return known[0] if known else None
    return _computed(derivation, known) if len(known) == len(terms) else None


def _computed(derivation: Arithmetic, known: list[Fraction]) -> Fraction | None:
    """The exact value of a number without missing terms; None for a division by zero."""
    match derivation:
        case Difference() | ChangeOfPerson():
            return known[0] - known[1]
        case Sum():
            return sum(known, Fraction(0))
        case Product():
            return prod(known, start=Fraction(1))
        case Ratio():
            return known[0] / known[1] if known[1] else None
        case Age():
            birth, day = (datetime.date.fromordinal(719163 + int(term)) for term in known)
            return Fraction(_age(birth, day))
    raise TypeError("a number that the oracle does not know")


def _age(birth: datetime.date, day: datetime.date) -> int:
    """The greatest age whose birthday is not after a day; 29 February is before 1 March."""
    most = day.year - birth.year
    birthdays = [(birth.year + age, birth.month, birth.day) for age in (most - 1, most)]
    past = [date for date in birthdays if date <= (day.year, day.month, day.day)]
    return past[-1][0] - birth.year


def _nearest(value: Fraction) -> int:
    """The nearest integer, halves to the even one."""
    below = floor(value)
    rest = value - below
    return below + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1))


def _part(days: int, part: str) -> str:
    """The label of a part of a date, by the standard library; `days` are hours for the hour."""
    if part == "hour":
        return f"{days:02}"
    date = datetime.date.fromordinal(719163 + days)
    year, week, weekday = date.isocalendar()
    quarter = f"Q{(date.month + 2) // 3}"
    return {
        "year": f"{date.year:04}",
        "quarter": quarter,
        "month": calendar.month_name[date.month],
        "week": f"W{week:02}",
        "weekday": calendar.day_name[weekday - 1],
        "year-month": f"{date.year:04}-{date.month:02}",
        "year-quarter": f"{date.year:04}-{quarter}",
        "year-week": f"{year:04}-W{week:02}",
    }[part]


@cache
def _labels(derivation: DatePart | FirstLabel) -> list[str]:
    """The labels in the order of the calendar, or in that of the columns."""
    if isinstance(derivation, FirstLabel):
        return list(dict.fromkeys(x for column in derivation.columns for x in column.labels))
    if derivation.part in ("month", "weekday"):
        names = calendar.month_name[1:] if derivation.part == "month" else calendar.day_name
        return list(names)
    if derivation.part == "hour":
        return [f"{hour:02}" for hour in range(24)]
    if derivation.part == "week":
        return [f"W{week:02}" for week in range(1, 54)]
    if derivation.part == "quarter":
        return ["Q1", "Q2", "Q3", "Q4"]
    low, high = derivation.column.limits
    return list(dict.fromkeys(_part(days, derivation.part) for days in range(low, high + 1)))


def _place(column: Column, header: Sequence[str]) -> int:
    """The place of a column in a file, by its position, its name there, or its own name."""
    if isinstance(column.source, int):
        return column.source - 1
    return header.index(column.source or column.name)


def _any_answer(query: Query, people: People, unit: Unit) -> Answer:
    """One query, by its own formula if it has one here."""
    answer = _answer if isinstance(query, OWN_FORMULAS) else answer_otherwise
    return answer(query, people, unit)


def _answer(query: Query, people: People, unit: Unit) -> Answer:
    """One query, person by person."""
    if isinstance(query, SelectionQuery):
        return _scores(query, people, unit)
    if isinstance(query, FirstFaultQuery):
        faults = [_first_fault(query.faults, rows, unit) for rows in people if rows]
        return [faults.count(place) for place in range(query.cells or 0)]
    if isinstance(query, ObjectiveQuery):
        return _objective(query, people, unit)
    if isinstance(query, CenteredCountQuery | PairedQuery | NestedQuery | VectorQuery):
        return _of_cells(query, people, unit)
    if isinstance(query, RowsPerUserQuery):
        places = [bisect_right(query.starts, len(rows)) - 1 for rows in people if rows]
        return [places.count(place) for place in range(query.cells or 0)]
    groups: dict[tuple[str, ...], list[int]] = {}
    seen: dict[tuple[tuple[str, ...], int], set[object]] = {}
    for rows in people:
        for (group, item), added in _adds(query, [row for _, row in _limited(query, rows, unit)]):
            cells = groups.setdefault(group, [0] * query.cells_per_group)
            if isinstance(added, int):
                cells[item] += added
            else:
                known = seen.setdefault((group, item), set())
                known |= added
                cells[item] = len(known)
    if query.has_private_groups:
        return groups
    every = product(*(key.labels for key in query.by))
    return [cell for group in every for cell in groups.get(group, [0] * query.cells_per_group)]


def _of_cells(
    query: CenteredCountQuery | PairedQuery | NestedQuery | VectorQuery, people: People, unit: Unit
) -> list[int]:
    """Numbers made of the cells of another query: less people, or sums and differences."""
    other = query.counts if isinstance(query, CenteredCountQuery) else query.of
    cells = _any_answer(other, people, unit)
    assert isinstance(cells, list)
    if isinstance(query, CenteredCountQuery):
        everyone = _any_answer(query.people, people, unit)
        assert isinstance(everyone, list)
        return [query.times * count - query.less * everyone[0] for count in cells]
    if isinstance(query, VectorQuery):
        return cells
    if isinstance(query, NestedQuery):
        size, sums = len(query.sum_of_cell), [0] * (query.cells or 0)
        for at, cell in enumerate(cells):
            sums[at // size * query.cells_per_group + query.sum_of_cell[at % size]] += cell
        return sums
    cells += [0] * (len(cells) % 2)
    pairs = zip(cells[::2], cells[1::2], strict=True)
    return [number for one, other in pairs for number in (one - other, one + other)]


def answer_otherwise(query: Query, people: People, unit: Unit) -> Answer:
    """The answer to a query of another kind, from its parts or from the sums of its shape."""
    if query.parts != (query,):
        parts = (_any_answer(part, people, unit) for part in query.parts)
        combined = query.combined(*(integer_array(cells_of(part)) for part in parts))
        return cast("list[int]", combined.tolist())
    users = [[row for _, row in _limited(query, rows, unit)] for rows in people]
    max_rows = unit.max_rows if isinstance(unit, PersonUnit) else None
    answer = answer_by_shape(query, users, Rules(truth, place_of, max_rows))
    if isinstance(answer, dict):
        return answer
    if answer.ndim > 1:
        return [number for line in sorted(answer.tolist()) for number in line]
    return cast("list[int]", answer.tolist())


def _first_fault(bins: UserBins, rows: list[tuple[int, Row]], unit: Unit) -> int:
    """The place of the first fault of a user over all rows; past all faults without one.

    Faults of cells are in the order of the tests, the first ones `before` those of limits.
    """
    derivation = None if bins.first is None else bins.first.derivation
    tests = list(derivation.tests) if isinstance(derivation, FirstTrue) else []
    if bins.first_of_people is not None:
        own = bins.first_of_people.derivation
        assert isinstance(own, FirstTrue)
        tests = [one or other for one, other in zip(tests, own.tests, strict=True)]
    cells = [any(test is not None and truth(test, row) for _, row in rows) for test in tests]
    kept = [row for _, row in sorted(rows, key=lambda pair: pair[0])[: bins.kept_rows]]
    # Of the numbers of rows, the last one that applies counts.
    least = [len(rows) >= start for start in bins.starts]
    least = [one and not any(least[place + 1 :]) for place, one in enumerate(least)]
    groups = []
    for limits in bins.limits:
        sizes = Counter(place_of(limits.axes, (), row) for row in kept)
        del sizes[None]
        most = max(sizes.values(), default=0)
        groups.append(len(sizes) > limits.max_groups or most > limits.max_rows_per_group)
    faults = [*cells[: bins.before], *least, *groups, *cells[bins.before :]]
    return faults.index(True) if True in faults else len(faults)


def _objective(query: ObjectiveQuery, people: People, unit: Unit) -> list[int]:
    """What the minimizer of an objective is computed from."""
    rows = [row for mine in people for _, row in _limited(query, mine, unit) if _passes(query, row)]
    if isinstance(query, LogisticQuery):
        return _lines(query, rows)
    assert isinstance(query, LeastSquaresQuery)
    return _products(query, rows)


def _products(query: LeastSquaresQuery, rows: list[Row]) -> list[int]:
    """The sums of products of any two of one, inputs and outcome, all measured from offsets."""
    factors = (*query.inputs, query.outcome)
    lines = [
        [1, *(factor.times * row[factor.column] - factor.offset for factor in factors)]
        for row in rows
    ]
    size = len(factors) + 1
    return [sum(line[i] * line[j] for line in lines) for i in range(size) for j in range(i, size)]


def _lines(query: LogisticQuery, rows: list[Row]) -> list[int]:
    """For each combination of inputs in order: inputs, number of rows, and those that are true."""
    counts: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        inputs = tuple(one.times * row[one.column] - one.offset for one in query.inputs)
        count = counts.setdefault(inputs, [0, 0])
        count[0] += 1
        count[1] += truth(query.outcome, row) is True
    return [number for inputs in sorted(counts) for number in (*inputs, *counts[inputs])]


def _scores(query: SelectionQuery, people: People, unit: Unit) -> Answer:
    """The utility of every candidate in every group, by its definition."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for rows in people:
        for _, row in _limited(query, rows, unit):
            cell = _cell(query, row)
            if cell is not None and _passes(query, row):
                groups.setdefault(cell[0], []).append(row)
    if query.has_private_groups:
        return {group: _utilities(query, rows) for group, rows in groups.items()}
    every = product(*(key.labels for key in query.by))
    return [score for group in every for score in _utilities(query, groups.get(group, []))]


def _utilities(query: SelectionQuery, rows: list[Row]) -> list[int]:
    """The utility of every candidate for some rows; for quantiles, the rows of every class."""
    key, *others = query.classes
    values = [cast("int", row[key.column]) for row in rows]
    if isinstance(query, QuantilesQuery):
        places = [place for found in values for place in _positions(key, found)]
        return [places.count(place) for place in range(len(key))]
    assert isinstance(query, ScoreQuery)
    match query.score_function:
        case Frequency():
            places = [place for found in values for place in _positions(key, found)]
            return [places.count(place) for place in range(len(key))]
        case Rank(quantile=quantile, candidate_classes=classes):
            return [_rank(quantile, key.starts[index], values) for index in classes]
        case Revenue(prices=prices):
            return [price * sum(value >= price for value in values) for price in prices]
        case Accuracy(candidate_classes=classes):
            labels = [cast("int", row[others[0].column]) for row in rows]
            pairs = list(zip(values, labels, strict=True))
            cuts = [key.starts[index] for index in classes]
            return [sum((value >= cut) == bool(label) for value, label in pairs) for cut in cuts]
    raise TypeError("a utility that the oracle does not know")


def _rank(quantile: Fraction, candidate: int, values: list[int]) -> int:
    """Minus the error of the rank of a candidate, in fractions of a row."""
    wanted = quantile * len(values)
    least = sum(value < candidate for value in values)
    most = sum(value <= candidate for value in values)
    missed = max(Fraction(0), least - wanted, wanted - most)
    return int(-missed * quantile.denominator)


def _limited(query: Query, rows: list[tuple[int, Row]], unit: Unit) -> list[tuple[int, Row]]:
    """The rows of a user that may enter a query, in the order of their priorities."""
    ordered = sorted(rows, key=lambda pair: pair[0])
    if not isinstance(unit, PersonUnit) or isinstance(query.shape, UserBins):
        return ordered
    if unit.of_people:
        return _lines_of_person(query, ordered, unit)
    totals = isinstance(query.shape, UserTotals)
    if isinstance(query, LinearQuery):
        totals = query.user_clamp is not None
    if not totals:
        ordered = ordered[: unit.max_rows]
        if not query.axes:
            return ordered
    entered: dict[object, int] = {}
    chosen = []
    for one, row in ordered:
        cell = _cell(query, row)
        if cell is None or (cell not in entered and len(entered) == unit.max_groups):
            continue
        entered[cell] = entered.get(cell, 0) + 1
        if totals or entered[cell] <= unit.max_rows_per_group:
            chosen.append((one, row))
    return chosen


def _lines_of_person(
    query: Query, ordered: list[tuple[int, Row]], unit: PersonUnit
) -> list[tuple[int, Row]]:
    """One row for a person, or one in each of the groups by columns of rows."""
    axes = [axis for axis in query.axes if not axis.column.is_of_people]
    if not axes:
        return ordered[:1]
    lines: dict[object, tuple[int, Row]] = {}
    for one, row in ordered:
        cell = place_of(axes, (), row)
        if cell is not None and (cell in lines or len(lines) < unit.max_groups):
            lines.setdefault(cell, (one, row))
    return list(lines.values())


def _adds(
    query: Query, rows: list[Row]
) -> Iterator[tuple[tuple[tuple[str, ...], int], int | set[object]]]:
    """What the rows of one person add to each cell: a number, or a set of values."""
    cells: dict[tuple[tuple[str, ...], int], list[Row]] = {}
    for row in rows:
        cell = _cell(query, row)
        if cell is not None:
            cells.setdefault(cell, []).append(row)
    for cell, inside in cells.items():
        passed = [row for row in inside if _passes(query, row)]
        if isinstance(query, RowParts):
            # A private group with rows is one, even if no row passes.
            yield (cell[0], 0), 0
            for row in passed:
                yield from (((cell[0], place), part) for place, part in _parts(query, row))
        elif isinstance(query, EffectQuery):
            yield from (((cell[0], place), part) for place, part in _effect(query, cell[1], passed))
        elif isinstance(query, DistinctQuery):
            yield cell, {row[query.column] for row in passed}
        elif isinstance(query, LinearQuery):
            total = sum(_term(query, row) for row in passed)
            if query.user_clamp is not None and passed:
                total = min(max(total, query.user_clamp[0]), query.user_clamp[1])
            yield cell, total


def _parts(query: RowParts, row: Row) -> Iterator[tuple[int, int]]:
    """The places of the numbers to which one row adds, each with what it adds."""
    if isinstance(query, ScaledSumsQuery):
        pairs = zip(query.times, query.sums, strict=True)
        return enumerate(times * _term(cast("LinearQuery", one), row) for times, one in pairs)
    if isinstance(query, PointsQuery):
        found = cast("int", row[query.column]) - query.column.lower
        distances = (abs(found - place * query.width) for place in range(query.cells_per_group))
        return enumerate(max(query.width - distance, 0) for distance in distances)
    return _counted_parts(query, row)


def _counted_parts(
    query: IndicatorQuery | BernsteinQuery | QuadraticPairQuery, row: Row
) -> Iterator[tuple[int, int]]:
    """Those of counts and of polynomials."""
    if isinstance(query, IndicatorQuery):
        true = [place for place, test in enumerate(query.tests) if truth(test, row)]
        if query.signed:
            yield from ((place, 1 if place in true else -1) for place in range(len(query.tests)))
            return
        yield from ((place, 1) for place in true[: query.max_counted])
        return
    if isinstance(query, QuadraticPairQuery):
        low, high = query.column.limits
        for place, distance in enumerate((row[query.column] - low, high - row[query.column])):
            yield place, distance * (4 * distance - 3 * (high - low))
        yield 2, (high - low) ** 2
        return
    weight = 1 if query.weight is None else row[query.weight]
    degree = query.degree
    powers = range(degree + 1)
    for place, exponents in enumerate(product(powers, repeat=len(query.numeric_columns))):
        part = weight
        for column, power in zip(query.numeric_columns, exponents, strict=True):
            low, high = column.limits
            above, below = row[column] - low, high - row[column]
            part *= comb(degree, power) * above**power * below ** (degree - power)
        yield place, part


def _effect(query: EffectQuery, cell: int, rows: list[Row]) -> Iterator[tuple[int, int]]:
    """What rows in one cell add to every cell of their group."""
    every = list(product(*(range(len(axis)) for axis in query.items)))
    for place, other in enumerate(every):
        pairs = zip(every[cell], other, query.items, strict=True)
        yield place, len(rows) * prod(len(axis) * (a == b) - 1 for a, b, axis in pairs)


def _term(query: LinearQuery, row: Row) -> int:
    """What one row adds."""
    term = 1
    for factor in query.factors:
        found = row[factor.column]
        assert isinstance(found, int)
        term *= factor.times * found - factor.offset
    return term - query.offset


def _passes(query: Query, row: Row) -> bool:
    """Whether a row counts: it has all needed cells and meets all conditions."""
    if any(row[column] is None for column in query.required_columns):
        return False
    return all(truth(test, row) is True for test in query.where)


def truth(test: Filter, row: Row) -> bool | None:
    """Whether a row passes a filter, or None if that is unknown (Kleene 1938)."""
    if isinstance(test, IsMissing):
        return row[test.column] is None
    if isinstance(test, PassesAmongFirst):
        before = [truth(other, row) for other in test.tests[: test.index]].count(True)
        return truth(test.tests[test.index], row) is True and before < test.max_counted
    if isinstance(test, Not):
        inner = truth(test.inner, row)
        return None if inner is None else not inner
    if isinstance(test, AllOf | AnyOf):
        parts = [truth(part, row) for part in test.parts]
        decisive = isinstance(test, AnyOf)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    found = [row[column] for column in test.columns]
    if None in found:
        return None
    if isinstance(test, InRanges):
        return any(low <= cast("int", found[0]) <= high for low, high in test.ranges)
    assert isinstance(test, Compared)
    left, right = (
        cast("int", steps) * column.step
        for steps, column in zip(found, (test.left, test.right), strict=True)
    )
    return {
        "<": left < right,
        "<=": left <= right,
        "=": left == right,
        ">=": left >= right,
        ">": left > right,
    }[test.comparison]


def _cell(query: Query, row: Row) -> tuple[tuple[str, ...], int] | None:
    """The group of a row and its place among the items there, or None if it has no cell."""
    return place_of(query.by, query.items, row)


def place_of(
    by: Sequence[Axis], items: Sequence[Axis], row: Row
) -> tuple[tuple[str, ...], int] | None:
    """The labels of a row on some axes and its place on others, or None if it has none."""
    labels = []
    for key in by:
        found = row[key.column]
        if isinstance(found, str):
            labels.append(found)
            continue
        position = None if found is None else next(_positions(key, found), None)
        if position is None:
            return None
        labels.append(key.labels[position])
    item = 0
    for key in items:
        found = row[key.column]
        assert not isinstance(found, str)
        position = None if found is None else next(_positions(key, found), None)
        if position is None:
            return None
        item = item * len(key) + position
    return tuple(labels), item


def table(data: bytes, dialect: Dialect = STANDARD_DIALECT) -> tuple[list[str], list[list[str]]]:
    """The header and the records of a file; `ValueError` when it has no header.

    A record that cannot be cut into cells has none.
    """
    text = _decoded(data, dialect.encoding).removeprefix("\ufeff")
    for _ in range(dialect.skip_lines):
        text = re.sub("\\A[^\r\n]*(\r\n|\r|\n)?", "", text)
    return _split(list(records(text, dialect)), dialect)


UNSEEN = ["\ufdd1"]
"""A line of blanks that are not all spaces and tabs, in place of its cell."""


def records(text: str, dialect: Dialect) -> Iterator[list[str] | None]:  # noqa: C901 - one state
    """The cells of every record, letter by letter; None for a line with an open quote.

    A line of blanks has no cells.
    """
    text = text if dialect.multiline else re.sub("\r\n?", "\n", text)
    cells, cell, at = list[str](), "", 0
    inside, ended, is_literal, is_quoted = False, False, False, False
    while at < len(text):
        letter, at = text[at], at + 1
        if inside and not (letter in "\r\n" and not dialect.multiline):
            if letter == dialect.quote:
                inside, ended = False, True
            else:
                cell += letter
        elif letter in "\r\n":
            at += text[at - 1 : at + 1] == "\r\n"
            is_blank = not (cells or is_quoted or _unpadded(cell))
            is_unseen = not (is_blank or cells or is_quoted or _has_text(cell))
            yield None if inside else [] if is_blank else UNSEEN if is_unseen else [*cells, cell]
            cells, cell, inside, ended, is_literal, is_quoted = [], "", False, False, False, False
        elif letter == dialect.delimiter:
            cells.append(cell)
            cell, ended, is_literal = "", False, False
        elif letter == dialect.quote and ended:
            # A quote after a closing quote is a quote of the cell.
            cell, inside, ended = cell + letter, True, False
        elif letter == dialect.quote and not is_literal and not cell.strip(" \t"):
            # Blanks before a quoted cell are no part of it.
            cell, inside, is_quoted = "", True, True
        else:
            is_literal = is_literal or ended or letter not in " \t"
            cell, ended = cell + letter, False
    if inside and not dialect.multiline:
        yield None
    elif cells or is_quoted or _unpadded(cell):
        yield [*cells, cell] if cells or is_quoted or _has_text(cell) else UNSEEN
    elif cell:
        yield []


def _split(lines: list[list[str] | None], dialect: Dialect) -> tuple[list[str], list[list[str]]]:
    """The header and the records among all lines; blank lines have no cells."""
    if dialect.names:
        lines.insert(0, list(dialect.names))
    while lines and lines[0] == []:
        del lines[0]
    if not lines or lines[0] is None:
        raise ValueError("no header")
    if dialect.header_lines == 2 and not dialect.names:
        lines = _with_one_header(lines)
    first, *every = lines
    assert first is not None
    header = [*[""] * (dialect.row_names and first[0] != ""), *first]
    records = [None if record is None else list(map(_short, record)) for record in every]
    records = [record for record in records if not _is_footer(record, dialect)]
    if len(header) == 1:
        # In a file of one column, a blank line is a record with a missing cell.
        records = [[""] if record in ([], UNSEEN) else record for record in records]
    else:
        records = [record for record in records if record not in ([], UNSEEN)]
    return header, [_whole(record, len(header)) for record in records]


def _unpadded(cell: str) -> str:
    return cell.strip(" \t")


def _whole(record: list[str] | None, width: int) -> list[str]:
    """The cells of a record; none if it has a surplus cell, since any of them may be that one."""
    return [] if record is None or any(map(_has_text, record[width:])) else record[:width]


def _has_text(cell: str) -> bool:
    return any(letter not in BLANKS and ord(letter) not in WIDTHLESS for letter in cell)


def _with_one_header(lines: list[list[str] | None]) -> list[list[str] | None]:
    """The lines with the two of the header joined to one."""
    first = lines.pop(0) or []
    while lines[0] is not None and not lines[0]:
        del lines[0]
    second = lines.pop(0) or []
    names = []
    for place in range(max(len(first), len(second))):
        above = [" ".join(cell.split()) for cell in first[: place + 1]]
        own = above[place] if place < len(first) else ""
        under = " ".join(second[place].split()) if place < len(second) else ""
        spanning = next((cell for cell in reversed(above) if cell), "")
        names.append(f"{spanning}: {under}" if spanning and under else under or own)
    return [names, *lines]


def _is_footer(record: list[str] | None, dialect: Dialect) -> bool:
    """Whether a record is no row, by the first words of its first cell."""
    first = visible(record[0]) if record else ""
    texts = [unicodedata.normalize("NFC", text) for text in dialect.footer]
    texts += [visible(text) + text[len(text.rstrip()) :] for text in dialect.footer]
    return any(first[: len(text)] == text for text in texts)


def _short(cell: str) -> str:
    """A cell, which is missing if it is too long; only quoted cells are that long here."""
    return cell if len(cell.encode()) <= LONGEST else ""


def _decoded(data: bytes, encoding: str) -> str:
    """The text; what cannot be decoded becomes the replacement character."""
    if encoding == "utf-16":
        encoding = "utf-16be" if data.startswith(b"\xfe\xff") else "utf-16le"
    return data.decode({"shift_jis": "cp932"}.get(encoding, encoding), errors="replace")


@lru_cache(maxsize=1 << 14)
def value(column: Column, cell: str, decimal: str = ".") -> int | str | None:
    """The value of a cell, a whole number or a text, or None if it is missing."""
    text = cell.strip(BLANKS)
    if isinstance(column, LabeledColumn | PrivatePartitionColumn | IdColumn):
        text = spelled(cell, spelling_keys(column))
    if _is_marked(column, text):
        return column.missing
    if isinstance(column, NumericColumn) and isinstance(column.format, NumberFormat):
        plain = _unformatted(column.format, text)
        found = None if plain is None else _present(column, plain)
        return column.missing if found is None else found
    if decimal == "," and isinstance(column, NumericColumn) and column.kind != "date":
        text = "a point" if "." in text else text.replace(",", ".", 1)
    found = _present(column, text)
    return column.missing if found is None else found


WIDTHLESS = {0xAD, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF}
WIDTHLESS |= {*range(0x202A, 0x202D), *range(0x2060, 0x206A)}
"""Characters that a text may have without looking different."""

FALSE_WORDS = ("false", "f", "no", "n", "off")
TRUE_WORDS = ("true", "t", "yes", "y", "on")


SPACES = "".join(chr(code) for code in range(0x3001) if unicodedata.category(chr(code)) == "Zs")


def visible(text: str) -> str:
    """What is seen of a text: characters in composed form, and blanks between words as spaces."""
    seen = "".join(letter for letter in text if ord(letter) not in WIDTHLESS)
    seen = "".join("-" if letter in "\u2010\u2011\ufe63\uff0d" else letter for letter in seen)
    bare = re.sub(f"[\t{SPACES}]+", " ", unicodedata.normalize("NFC", seen)).strip(" ")
    return _with_plain_minus(bare)


def _with_plain_minus(text: str) -> str:
    """The text with a plain minus, if it begins with one of any form and a number, or is one."""
    is_sign = re.match("[.,]?[0-9]|$", text[1:])
    return f"-{text[1:]}" if is_sign and text and text[0] in MINUSES else text


def spelling_keys(column: Column) -> list[str]:
    """What decides how the texts of a column are spelled: its options, and being a label."""
    return [option.key for option in column.options] + ["label"] * isinstance(column, LabeledColumn)


def spelled(text: str, keys: Sequence[str]) -> str:
    """A text, a label's or an id, as columns with these options compare it."""
    if "label" in keys:
        text = re.sub("[\u2012\u2013\u2212]", "-", text)
    text = visible(text)
    if "case" in keys:
        text = unicodedata.normalize("NFC", text.lower())
    if "values" in keys:
        word = text.lower()
        is_true = word in TRUE_WORDS or re.fullmatch(r"1(\.0*)?", word)
        is_false = word in FALSE_WORDS or re.fullmatch(r"0(\.0*)?", word)
        text = "true" if is_true else "false" if is_false else word
    if "blanks" in keys:
        text = "".join(text.split(" "))
    return _whole_number(text) if "number" in keys else text


def _whole_number(text: str) -> str:
    """The shortest text of a whole number, and any other text as it is."""
    plain = text.replace(",", ".")
    if re.fullmatch(r"[+-]?[0-9]+(\.0*)?", plain) and len(plain.partition(".")[2]) != 3:
        return str(_integer(plain.partition(".")[0]))
    short = re.fullmatch(r"[1-9](?:\.([0-9]+))?[eE][+]([0-9]{2})", text)
    is_whole = short is not None and len(short[1] or "") <= int(short[2])
    return str(Fraction(text)) if is_whole else text


def person_of(cell: str, unit: PersonUnit) -> str:
    """The id in a cell; empty if it is blank or a mark."""
    options = {key: values for key, *values in unit.options}
    text = spelled(cell, [*options])
    marks = options.get("na", [()])[0]
    return "" if text in [spelled(mark, [*options]) for mark in marks] else text


def _present(column: Column, text: str) -> int | str | None:
    """The value of a stripped cell, before `missing` is considered."""
    if text == "":
        return None
    if isinstance(column, IdColumn):
        return text
    if isinstance(column, PrivatePartitionColumn):
        shown = text.replace("\u200c", "").replace("\u200d", "")
        odd = any(unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") for letter in shown)
        return None if odd or len(text) > 1000 else text
    if isinstance(column, LabeledColumn):
        keys = spelling_keys(column)
        matches = [label for declared, label in column.values if spelled(declared, keys) == text]
        if not matches and column.other is not None:
            matches = [column.other]
        return column.labels.index(matches[0]) if matches else None
    assert isinstance(column, NumericColumn)
    if isinstance(column.format, DateFormat):
        return _formatted_date(column, column.format, text)
    if column.kind == "date":
        return _date(column, text)
    text = _with_ascii_sign(text)
    listed = column.option(ListedNumbers)
    if listed is not None:
        # Equal numbers are compared, in digits without an exponent.
        is_plain = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text)
        return int(Decimal(text)) if is_plain and Decimal(text) in listed.values else None
    return _number(column, text)


def _with_ascii_sign(text: str) -> str:
    """A text whose first character, if it is a sign, is `+` or `-`."""
    if text[:1] and text[0] in MINUSES + PLUSES:
        return "-+"[text[0] in PLUSES] + text[1:]
    return text


def _is_marked(column: Column, text: str) -> bool:
    """Whether a stripped cell is a declared mark of missing cells, or a number equal to one."""
    if not isinstance(column, NumericColumn):
        keys = spelling_keys(column)
        return text in [spelled(mark, keys) for mark in column.marks]
    same = partial(_in_english, column)
    if text in [*MINUSES] and set(column.marks) & {*MINUSES}:
        return True
    if same(text) in map(same, column.marks):
        return True
    if column.kind == "date":
        return False
    plain = _with_ascii_sign(text)
    if isinstance(column.format, NumberFormat):
        plain = _unformatted(column.format, text) or ""
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", plain):
        return False
    marks = [_with_ascii_sign(mark) for mark in column.marks]
    marks = [mark for mark in marks if re.fullmatch(r"[+-]?[0-9]*\.?[0-9]*", mark)]
    return any(Decimal(plain) == Decimal(mark) for mark in marks if re.search("[0-9]", mark))


GROUP_MARKS = {
    "space": "".join(blank for blank in BLANKS if unicodedata.category(blank) == "Zs"),
    "'": "'\u2019",
    "indian": ",",
    "none": "",
}


def _unformatted(form: NumberFormat, text: str) -> str | None:
    """The plain text of a number in a declared form, taken apart from the outside."""
    values = {_with_plain_minus(declared): number for declared, number in form.values}
    if _with_plain_minus(text) in values:
        return values[_with_plain_minus(text)]
    for sign, written in _readings(form, text):
        for number, power in _without_factor(form, written):
            plain = _plain_digits(form, number)
            if plain is not None and (power is None or not {*plain} & {*"eE"}):
                return sign + plain + (f"e{power}" if power else "")
    return None


def _readings(form: NumberFormat, text: str) -> Iterator[tuple[str, str]]:
    """Every way to remove a sign, one affix before the number, and one after it."""
    bare = _bare(form, text)
    yield from (("", number) for number in bare)
    if text[:1] and text[0] in MINUSES + PLUSES:
        unsigned = text[1:].lstrip(BLANKS) if form.affixes else text[1:]
        yield from ((_with_ascii_sign(text[0]), number) for number in _bare(form, unsigned))
    for rest, has_affix in _starts(form, text):
        if has_affix and rest[:1] and rest[0] in MINUSES + PLUSES:
            yield from ((_with_ascii_sign(rest[0]), number) for number in _ends(form, rest[1:]))
    if form.brackets:
        inside = _bare(form, text[1:-1]) if text[:1] == "(" and text[-1:] == ")" else []
        inside += [number[1:-1] for number in bare if number[:1] == "(" and number[-1:] == ")"]
        yield from (("-", number) for number in inside)
    if form.minus_after:
        yield from (("-", digits) for number in bare for digits in _before_minus(form, number))


def _bare(form: NumberFormat, text: str) -> list[str]:
    """The text with and without each affix on both sides."""
    return [number for rest, _ in _starts(form, text) for number in _ends(form, rest)]


def _before_minus(form: NumberFormat, number: str) -> Iterator[str]:
    """The number without the minus after its last digit; it may have a factor."""
    for factor in ("", *dict(form.factors)):
        digits = number[: len(number) - len(factor)]
        digits = digits.rstrip(BLANKS) if factor else digits
        is_number = re.search("[0-9].$", digits, re.DOTALL) and not {*digits} & {*"eE"}
        if number.endswith(factor) and is_number and digits[-1] in MINUSES:
            yield digits[:-1] + factor


def _starts(form: NumberFormat, text: str) -> Iterator[tuple[str, bool]]:
    """The text without each affix before the number, and whether there was one."""
    yield text, False
    for affix in form.affixes:
        last = affix[-1]
        name = re.split("[ -]", unicodedata.name(last, ""))
        if {"PLUS", "MINUS", "HYPHEN"} & {*name} or unicodedata.category(last) in "Pd Ps Pe":
            continue
        if text.startswith(affix) and not any(map(_is_numeral, affix)):
            rest = text[len(affix) :].lstrip(BLANKS)
            is_mark = last in ".," + GROUP_MARKS.get(form.thousands, form.thousands)
            if not is_mark or len(rest) < len(text) - len(affix):
                yield rest, True


def _is_numeral(letter: str) -> bool:
    """Whether a character is a number in any script."""
    try:
        unicodedata.numeric(letter)
    except ValueError:
        return False
    return True


def _ends(form: NumberFormat, text: str) -> Iterator[str]:
    """The text with and without each affix after the number."""
    yield text
    for affix in form.affixes:
        if text.endswith(affix):
            yield text[: -len(affix)].rstrip(BLANKS)


def _without_factor(form: NumberFormat, text: str) -> Iterator[tuple[str, int | None]]:
    """The text without each factor, and its power of ten."""
    yield text, None
    for factor, power in form.factors:
        if text.endswith(factor):
            yield text[: -len(factor)].rstrip(BLANKS), power


def _plain_digits(form: NumberFormat, number: str) -> str | None:
    """A number without sign, with a point and without marks between groups."""
    whole, mark, decimals = number.partition(form.decimal)
    decimals, exponent, power = _split_exponent(decimals if mark else whole)
    if not mark:
        whole, decimals = decimals, ""
    if exponent and not re.fullmatch("[+-]?[0-9]+", power):
        return None
    digits = _ungrouped(form, whole)
    if digits is None or not re.fullmatch("[0-9]*", decimals) or not digits + decimals:
        return None
    return digits + "." * bool(mark) + decimals + exponent + power


def _split_exponent(text: str) -> tuple[str, str, str]:
    """A text before, at and after the letter of an exponent."""
    at = next((at for at, letter in enumerate(text) if letter in "eE"), len(text))
    return text[:at], text[at : at + 1], text[at + 1 :]


def _ungrouped(form: NumberFormat, whole: str) -> str | None:
    """The digits of a whole number, perhaps in groups; None for anything else."""
    if re.fullmatch("[0-9]*", whole):
        return whole
    marks = GROUP_MARKS.get(form.thousands, form.thousands)
    first, *groups = "".join("," if letter in marks else letter for letter in whole).split(",")
    size = 2 if form.thousands == "indian" else 3
    sizes = [len(group) for group in groups]
    if not 1 <= len(first) <= size or sizes != [size] * (len(groups) - 1) + [3]:
        return None
    digits = first + "".join(groups)
    has_other = "," in whole and "," not in marks
    return digits if re.fullmatch("[1-9][0-9]+", digits) and not has_other else None


OFFSET = r" ?(?:[Zz]|[Uu][Tt][Cc]|[Gg][Mm][Tt]|[+-][0-9]{2}(?::?[0-9]{2})?)"

ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?(?:[.,][0-9]+)?"
    rf"({OFFSET})?)?"
)

Moment = tuple[datetime.date, int | None, int | None]
"""A day, the seconds of its time, and the seconds of the offset from UTC, if they are written."""


def _formatted_date(column: NumericColumn, format_: DateFormat, text: str) -> int | None:
    """The day, the hour or the minute of a text, by the first form that reads it."""
    text = _in_english(column, text)
    moments = [_moment(form, text, _meant_year(column, format_)) for form in format_.forms]
    if not format_.forms:
        moments = [_iso_moment(text)]
    for day, second, offset in filter(None, moments):
        with suppress(OverflowError):
            if format_.zone and second is not None and offset is not None:
                clock = datetime.datetime.combine(day, datetime.time()) + datetime.timedelta(
                    seconds=second - offset
                )
                there = clock.replace(tzinfo=datetime.UTC).astimezone(ZoneInfo(format_.zone))
                day, second = there.date(), there.hour * 3600 + there.minute * 60  # noqa: PLW2901
            if format_.part == "day":
                return _clamped(column, (day - datetime.date(1970, 1, 1)).days)
            hour, minute = divmod((second or 0) // 60, 60)
            return None if second is None else hour if format_.part == "hour" else minute
    return None


def _in_english(column: Column, text: str) -> str:
    """The text with English names in place of those that the column lists, the longest first."""
    listed = column.option(Months)
    names: dict[str, str] = {}
    for number, name in enumerate(listed.names if listed else (), 1):
        for same in (name, name.rstrip(".")):
            cases = same.lower(), same.upper(), same.capitalize(), same.replace("i", "İ").upper()
            for form in ("NFC", "NFD"):
                forms = (unicodedata.normalize(form, case) for case in cases)
                names |= dict.fromkeys(forms, calendar.month_name[number][:3])
    written, at = "", 0
    while at < len(text):
        # Letters of ASCII are the same in any case, others as the whole name has them.
        here = [
            name
            for name in names
            if text[at : at + len(name)].translate(ASCII_LOWER) == name.translate(ASCII_LOWER)
        ]
        longest = max(here, key=len, default="")
        written += names[longest] if longest else text[at]
        at += len(longest) or 1
    return written


ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def _iso_moment(text: str) -> Moment | None:
    match = ISO.fullmatch(text)
    if match is None:
        return None
    day, hour, minute, second, offset = match.groups()
    with suppress(ValueError):
        date = datetime.date.fromisoformat(day)
        time = _seconds(hour, minute, second or "0") if hour else None
        return date, time, _offset(offset) if offset else None
    return None


def _seconds(hour: str, minute: str, second: str) -> int:
    """The seconds of a time; `ValueError` if there is none."""
    time = datetime.time(int(hour), int(minute), int(second))
    return time.hour * 3600 + time.minute * 60 + time.second


def _offset(text: str) -> int:
    """The seconds of an offset; `ValueError` if there is none."""
    sign, digits = text.strip()[0], re.sub("[^0-9]", "", text)
    size = _seconds(digits[:2], digits[2:] or "0", "0") if digits else 0
    return -size if sign == "-" else size


MeantYear = Callable[[Callable[[int], datetime.date], int], datetime.date | None]


def _meant_year(column: NumericColumn, format_: DateFormat) -> MeantYear:
    """Chooses among the days that two digits of a year can mean, by the year of each."""
    first, middle = format_.years.first, format_.years.twice_middle
    # In half days, because the middle of the bounds may be between two days.
    low, high = (2 * limit for limit in column.limits)
    if format_.part != "day":
        low = high = middle or 0

    def meant(day_of: Callable[[int], datetime.date], digits: int) -> datetime.date | None:
        days = []
        for year in range(digits, 10_000, 100):
            with suppress(ValueError, OverflowError):
                days.append(day_of(year))
        if first is not None or (middle is None and format_.part != "day"):
            start = first or 1970
            return next((day for day in days if start <= day.year < start + 100), None)

        def distance(day: datetime.date) -> tuple[int, int]:
            number = 2 * (day - datetime.date(1970, 1, 1)).days
            # Bounds a step wider may have two such days.
            return max(low - number, number - high, 0), abs(2 * number - low - high)

        return min(days, key=distance)

    return meant


def _moment(form: Form, text: str, meant_year: MeantYear) -> Moment | None:
    """What a text says in a form; None if it is written in another one."""
    if form.text in ("epoch", "epoch_ms", "epoch_us", "excel"):
        return _numbered_moment(form.text, text)
    match = re.fullmatch(_pieces(form.text), text)
    if match is None:
        return None
    part = match.groupdict()
    with suppress(ValueError, OverflowError):
        if "y" in part:
            day = meant_year(lambda year: _day_in_year(year, part), int(part["y"]))
        else:
            day = _day_in_year(int(part.get("Y") or part.get("G") or 1970), part)
        offset = _offset(part["z"]) if "z" in part else None
        return None if day is None else (day, _time(part), offset)
    return None


def _day_in_year(year: int, part: dict[str, str]) -> datetime.date:
    """The day that the parts of a text mean in a year; `ValueError` if there is none."""
    if "V" in part:
        return datetime.date.fromisocalendar(year, int(part["V"]), int(part.get("u", 1)))
    if "j" in part:
        day = datetime.date(year, 1, 1) + datetime.timedelta(days=int(part["j"]) - 1)
        if day.year != year:
            raise ValueError
        return day
    month = int(part.get("m", 1))
    if "q" in part:
        month = int(part["q"]) * 3 - 2
    for name in part.keys() & {"b", "B"}:
        names = [english.lower() for english in calendar.month_name]
        same = [
            at for at, english in enumerate(names) if part[name].lower() in (english, english[:3])
        ]
        month = same[0] if same else 13
    return datetime.date(year, month, int(part.get("d", 1)))


def _time(part: dict[str, str]) -> int | None:
    """The seconds of the time in a text, if it has one; `ValueError` if there is no such time."""
    if "M" not in part:
        return None
    hour = int(part.get("H") or part.get("I") or 0)
    if "p" in part:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + 12 * (part["p"].lower() == "pm")
    return _seconds(str(hour), part["M"], part.get("S", "0"))


def _numbered_moment(word: str, text: str) -> Moment | None:
    """The moment of a number of seconds since 1970 or of parts of them, or of a serial day."""
    if not re.fullmatch(r"[+-]?[0-9]{1,18}(\.[0-9]*)?", text):
        return None
    number = Fraction(text.removesuffix(".").removeprefix("+"))
    with suppress(ValueError, OverflowError):
        if word != "excel":
            units = {"epoch": 1, "epoch_ms": 1000, "epoch_us": 1_000_000}[word]
            days, second = divmod(floor(number / units), 86_400)
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=days), second, 0
        serial = floor(number)
        if serial < 1 or serial == 60:
            return None
        start = datetime.date(1899, 12, 31 if serial < 60 else 30)
        share = Fraction(floor((number - serial) * 10**12), 10**12)
        second = min(floor(share * 86_400 + Fraction(1, 2)), 86_399)
        return start + datetime.timedelta(days=serial), second, None
    return None


def _pieces(form: str) -> str:
    """The texts of a format, with a group for each directive."""
    # A number next to another needs all its digits, and a year of four digits always does.
    numbers, widths = "dmHMSIjYyfqGVu", {"Y": "4", "G": "4", "y": "2", "j": "3", "q": "1", "u": "1"}
    pieces = re.findall("%.|[^%]", form, re.DOTALL)
    pattern = ""
    for at, piece in enumerate(pieces):
        near = [pieces[other] for other in (at - 1, at + 1) if 0 <= other < len(pieces)]
        touches = any(one[0] == "%" and one[1:] in numbers for one in near if len(one) == 2)
        letter = piece[1:]
        if piece == "%%" or not letter:
            pattern += re.escape(piece[-1])
            continue
        known = {"z": OFFSET, "p": "[AaPp][Mm]", "f": "[0-9]{1,6}", "b": "[^0-9]+", "B": "[^0-9]+"}
        width = widths.get(letter, "2" if touches else "1,2")
        pattern += f"(?P<{letter}>{known.get(letter, f'[0-9]{{{width}}}')})"
    return pattern


def _date(column: NumericColumn, text: str) -> int | None:
    """Days since 1970-01-01, within the bounds; the time of day is ignored."""
    match = DATE.fullmatch(text)
    if match is None or not (match[4] == "" or _is_time(match[4])):
        return None
    try:
        day = datetime.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None
    return _clamped(column, (day - datetime.date(1970, 1, 1)).days)


def _is_time(text: str) -> bool:
    """Whether a text after a day is a time, perhaps with an offset and words for its zone."""
    match = CLOCK.fullmatch(text)
    if match is None:
        return False
    clock = [part for part in match.groups() if part is not None]
    hour, minute, second = [int(part) for part in clock[:-1]] + [0] * (4 - len(clock))
    after = re.sub(r"^ ?[AaPp]\.?[Mm]\.?", "", clock[-1]) if ":" in text[:5] else clock[-1]
    is_zone = _is_zone(clock[-1]) or _is_zone(after)
    return hour <= 24 and minute <= 59 and second <= 69 and is_zone


def _is_zone(text: str) -> bool:
    """Whether a text is a word for a zone, an offset, a word and an area, or some of them."""
    texts = {text}
    word = "[A-Za-z]{1,5}"
    for part in (f" ?{word}", " ?[+-][0-9]{1,2}(:?[0-9]{2}){0,2}", f" {word}"):
        for rest in [*texts]:
            for end in range(1, len(rest) + 1):
                found, is_word = rest[:end].strip(" "), word in part
                if re.fullmatch(part, rest[:end]) and (not is_word or _is_zone_word(found)):
                    texts.add(rest[end:])
    return any(rest == "" or _is_area(rest) for rest in texts)


def _is_area(text: str) -> bool:
    """Whether a text names an area of the time zones, such as ` Europe/Rome` or `[UTC]`."""
    is_inside = text.removeprefix(" ").startswith("[") and text.endswith("]")
    parts = (text.removeprefix(" ")[1:-1] if is_inside else text[1:]).split("/")
    is_area = all(re.fullmatch("[A-Z][A-Za-z0-9_+-]*", part) for part in parts)
    return is_area and (is_inside or (text.startswith(" ") and len(parts) > 1))


def _is_zone_word(word: str) -> bool:
    is_short = word.isupper() and 3 <= len(word) <= 5 and not word.startswith("BC")
    return word.upper() in ("Z", "UTC", "GMT") or is_short


def _number(column: NumericColumn, text: str) -> int | None:
    """The nearest whole number of steps, halves to the even one, within the bounds."""
    infinite = INFINITY.fullmatch(text)
    if infinite is not None:
        return column.lower if infinite[1] == "-" else column.upper
    match = NUMBER.fullmatch(text)
    if match is None:
        return None
    sign = -1 if match[1] == "-" else 1
    decimals = match[4] or match[3] or ""
    digits = _integer((match[2] or "") + decimals)
    power = _integer(match[5] or "0") - len(decimals)
    if digits == 0:
        return _clamped(column, 0)
    written = (match[2] or "") + decimals
    if column.kind == "integer" and len(written) - len(written.rstrip("0")) + power < 0:
        return None
    # 10**(size - 1) <= |number| < 10**size, so that 1e999999999 is never written out.
    size = len(((match[2] or "") + decimals).lstrip("0")) + power
    farthest = (max(abs(column.lower), abs(column.upper)) + 1) * column.step
    if size - 1 > len(str(floor(farthest))):
        return column.lower if sign < 0 else column.upper
    if -size > len(str(2 * column.step.denominator)):
        return _clamped(column, 0)
    number = sign * digits * Fraction(10) ** power
    below = floor(number / column.step)
    rest = number / column.step - below
    above = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1)
    return _clamped(column, below + above)


def _integer(text: str) -> int:
    """The integer that a text of any length writes."""
    total = 0
    for start in range(0, len(text.lstrip("+-")), 1000):
        piece = text.lstrip("+-")[start : start + 1000]
        total = total * 10 ** len(piece) + int(piece)
    return -total if text.startswith("-") else total


def _clamped(column: NumericColumn, steps: int) -> int:
    """The nearest whole number of steps within the bounds."""
    return min(max(steps, column.lower), column.upper)


def _positions(key: Axis, found: int) -> Iterator[int]:
    """The place of a value on an axis, if it has one."""
    begun = [found]
    if isinstance(key.column, NumericColumn):
        inside = found <= key.column.upper
        begun = [place for place, start in enumerate(key.starts) if inside and start <= found]
    if key.chosen is None:
        yield from begun[-1:]
        return
    # Only some of the labels or bins are on the axis.
    yield from (place for place, own in enumerate(key.chosen) if own in begun[-1:])
