"""Odd CSV files with columns and queries, generated from a seed.

Every file is legal under the written rules, even with damaged records; only the header is always
well formed. The engine is compared with `tests.oracles.plain` on these files.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random

import pytest

from dpcli.data.column import BLANK, OUTSIDE, UNREADABLE, Column
from dpcli.data.date_forms import DateFormat, date_form
from dpcli.data.dates import DateColumn
from dpcli.data.derived.arithmetic import Difference, FirstNumber, Ratio
from dpcli.data.derived.labels import FirstLabel, Satisfies
from dpcli.data.filters import (
    AllOf,
    AnyOf,
    Compared,
    ComparisonSign,
    Filter,
    InRanges,
    IsMissing,
    Not,
)
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn, CategoryColumn, IdColumn, LabeledColumn, UsualWords
from dpcli.data.number_columns import IntegerColumn, ListedColumn, NumberColumn
from dpcli.data.number_options import ListedNumbers
from dpcli.data.two_digit_years import TwoDigitYears
from dpcli.numeric.exact import decimal_places, decimal_text
from dpcli.numeric.minimizers import MAX_HALF_WIDTH
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor
from dpcli.queries.vectors import VectorQuery
from dpcli.specification.compared_groups import compared_values
from dpcli.statistics import STATISTICS
from dpcli.statistics.counts.multiple_answers import IndicatorQuery
from dpcli.statistics.design import Inputs
from dpcli.statistics.means.comparison import Comparison
from dpcli.statistics.means.ratio import PROPORTION
from dpcli.statistics.quality.faults import CellFault, FaultOrder, in_order
from dpcli.statistics.regression.queries import LogisticQuery
from dpcli.statistics.statistic import Statistic
from tests.oracles.plain import OWN_FORMULAS
from tests.support.options import options
from tests.support.statistics import Columns, forms

ADDED = Relation(RowUnit(), Neighbors.ADD_REMOVE)

SMALL = Columns(
    IntegerColumn("x", bounds=(0, 2)),
    IntegerColumn("y", bounds=(0, 1)),
    CategoryColumn("g", (("f", "f"), ("m", "m"))),
    BooleanColumn("b", (("0", "false"), ("1", "true"))),
)
"""Columns that no file has."""

NAMES = (
    "age", "Age", "income", "visit date", "a,b", 'the "x"', "two\nlines", "*", "^.*$", "Größe",
    "年齢", "0", "null", "a;b", "lit[1]", "{}", "n.a", "'", "x" * 300,
)  # fmt: skip
EXTRA_NAMES = ("note", "comment, free", "#", "NULL", "tab\there", "été")
STEPS = tuple(
    map(Fraction, ("1", "1", "0.01", "0.01", "0.1", "0.25", "2.5", "5", "100", "0.000001", "0.14"))
)
TEXTS = (
    "0", "1", "2", "a", "A", "b", "yes", "no", "NA", "Nord, Süd", 'say "x"', "two\nlines", "é",
    "e\N{COMBINING ACUTE ACCENT}", "\N{REPLACEMENT CHARACTER}", "a b", "01", "1.0", "x;y", "😀",
    "null", "true", "it's", "-", "a\N{NO-BREAK SPACE}b",
)  # fmt: skip

ODD_NUMBERS = (
    "", " ", "\t", "NA", "n/a", "-", ".", "NaN", "nan", "-nan", "inf", "-inf", "+INF", "Infinity",
    "infin", "1e3", "1E+2", "1e-2", "1e", "e1", "1e400", "-1e400", "1e999999999", "-1e999999999",
    "1e-999999999", "0e999999999", "1e99999999999999999999999", "5e-324", "1,200", "1_000", "0x10",
    "0b1", "38.0", "38.", ".5", "-.5", "+5", "++5", "+-5", "--5", "- 5", "-0", "-0.0", "007", "1 2",
    "5%", "$5", "½", "٣", "\N{FULLWIDTH DIGIT THREE}", "\N{MINUS SIGN}5", "1.2.3", "1e1.5", "42\n",
    "\n42", "42\r", "4\x002", "42\x00", "\x0b42", "42\x0c", "\N{NO-BREAK SPACE}42", "42\u2028",
    "\ufeff42", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
    "18446744073709551616", "9" * 40, "1" + "0" * 300, "0." + "0" * 300 + "1", "0" * 399 + "1",
    "0" * 400 + "1", "1" * 400, "1" * 401, "0." + "3" * 398, "1e" + "9" * 390, "0.1", "0.5", "1.5",
    "2.5", "-0.5", "-1.5", "0.005", "1.005", "0.015", "true", "None", "null", "1d", "1f", "1j",
    "0o7", "'42", "42'", "−42", "–5", "⁻1", "＋3", "﹣0.5", "5−", "1e−2", "2.50e1", "15e-1",
    "20e-1", "\u200942\u200b", "4\u20092", "42.000", "1.5e30", "2021-03-07", "0" * 5000 + "7",
    "-" + "9" * 5000, "1e" + "9" * 5000,
    "1e" + "0" * 5000 + "1", "0." + "0" * 5000 + "15e5001",
)  # fmt: skip
ODD_DATES = (
    "", " ", "NA", "-", "2021-3-7", "31/12/2021", "2021/12/31", "20210307", "2021-02-29",
    "2020-02-29", "1900-02-29", "2000-02-29", "2021-13-01", "2021-00-10", "2021-10-00",
    "2021-04-31", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "-2021-01-01",
    "+2021-01-01", "2021-03-07T10:00:00Z", "2021-03-07 10:00", "2021-03-07T", "2021-03-07Tx,y\n",
    "2021-03-07t10", "2021-03-07x", "2021-03-07\t10", "2021-03-07\nx", "2021-03-07\x00",
    "2021-03-07 \x00", "1970-01-01", "1969-12-31", "٢٠٢١-03-07",
    "2021\N{MINUS SIGN}03\N{MINUS SIGN}07", "2021-W10-7", "2021-066", "18693", "inf", "nan",
    "2021-03", "2021-03-07T" + "9" * 500, "\ufeff2021-03-07", "\N{NO-BREAK SPACE}2021-03-07",
    "7 Mar 2021", "07/03/21", "29/02/00", "29/02/1900", "2021-Q1", "2021-Q5", "2021-W53",
    "2020-W53", "2021", "00366", "21060", "2021-03-07 10:00 UTC", "2021-03-07 10:00+00",
    "07/03/21 23:59-0330", "1615111200", "1615111200.5", "-1", "1615111200000",
    "44262", "44262.75", "60", "59.999999",
)  # fmt: skip
DATE_FORMS = (
    "%d/%m/%y", "%d.%m.%Y", "%Y-%m", "%Y-Q%q", "%G-W%V", "%Y", "%d %b %Y", "%y%j",
    "%Y-%m-%d %H:%M%z", "%d/%m/%y %H:%M%z", "epoch", "epoch_ms", "excel",
)  # fmt: skip
ODD_TEXTS = (
    "", " ", "NA", "-", "?", "unknown", "A ", "a\n", "É", "e", "\xe9", "0.0", "00", "+1", "1.",
    "\ufeff0", "0\x00", "yes\x0b", "YES", "null", "\N{NO-BREAK SPACE}1", "two\r\nlines",
    "two lines", "\N{REPLACEMENT CHARACTER}", "=1+1", "x" * 500, "say x", "a\N{NO-BREAK SPACE}b",
    "a  b", "\u200eyes", "no\u200b", "\u202eno", "E\N{COMBINING ACUTE ACCENT}", "T", "off", "1.00",
    "\u3000a", "a\u2060", "\u200b",
)  # fmt: skip
ODD_IDS = (
    "1", "2", "3", "12", " 12", "12\t", "012", "+12", "-12", "12.0", "0", "-0", "00", "p1", "P1",
    " p1 ", "", " ", "\t", "NA", "é", "e\N{COMBINING ACUTE ACCENT}", "9223372036854775807",
    "9223372036854775808", "1" * 30, "a\nb", "\N{NO-BREAK SPACE}", "x" * 2000, "12,00", "12.000",
    "1.2e+01", "1e+05", "100000", "p 1", "p\N{NO-BREAK SPACE}1", "p  1", "\ufeffp1", "p\u200b1",
    "\N{IDEOGRAPHIC SPACE}12", "E\N{COMBINING ACUTE ACCENT}", "h\u0331", "H\u0331", "\u1e96",
    "p1\u2003", "\ufeff1",
)  # fmt: skip
DAMAGE = (
    '"', '""', ' "a,b"', 'a"b', '"a"b', '"a" ', '"a"" b"c', "'a,b'", '"\r\n"', '"\n\n,"', '"a\\"b"',
    ",,,", "\x00", " ", "\t", '","', "\x1c", "\x85", "\u2028", ";", "\\", '"\r"', '"a\rb"',
)  # fmt: skip
BYTES = (
    b"\xe9", b"\xff", b"\xfe\xff", b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    b"\x80", b"\x00", b"\xc3", b"\xef\xbb\xbf", b"\x1a", b"\xf0\x9f\x98", b"caf\xe9",
)  # fmt: skip
BLANKS = (b"", b"", b" ", b"\t", b",", b",,,,,,,,,,", b'""', b"  ,  ")
SOUP = ',,,""\n\r\r\n 01aé.-\t\x00;'


def generate(seed: int) -> tuple[bytes, list[Column], list[LinearQuery]]:
    """An odd file, its declared columns, and queries that fit them."""
    random = Random(seed)
    columns = _columns(random)
    return _file(random, columns), columns, _queries(random, columns)


# Declarations.


def _columns(random: Random) -> list[Column]:
    """One to six columns of different names."""
    names = random.sample(NAMES, 1 if random.random() < 0.15 else random.randint(2, 6))
    columns = [_column(random, name) for name in names]
    if all(isinstance(column, IdColumn) for column in columns):
        columns[0] = _number_column(random, names[0])
    return columns


def _column(random: Random, name: str) -> Column:
    """A column of a random kind."""
    kind = random.choices(("number", "date", "category", "boolean", "id"), (9, 3, 5, 2, 1))[0]
    if kind == "number":
        return _number_column(random, name)
    if kind == "date":
        return _date_column(random, name)
    if kind == "id":
        return IdColumn(name)
    texts = random.sample(TEXTS, 2 if kind == "boolean" else random.randint(1, 7))
    if kind == "boolean" and random.random() < 0.3:
        words = (("false", "false"), ("true", "true"))
        return BooleanColumn(name, words, options=(UsualWords(),))
    if kind == "boolean":
        return BooleanColumn(name, ((texts[0], texts[0]), (texts[1], texts[1])))
    labels = texts if random.random() < 0.6 else [random.choice("uvwx") for _ in texts]
    missing = random.randrange(len(set(labels))) if random.random() < 0.3 else None
    return CategoryColumn(name, tuple(zip(texts, labels, strict=True)), missing)


def _number_column(random: Random, name: str) -> NumericColumn:
    """Integers or numbers with bounds near or far, on either side of zero."""
    size = random.choice((1, 3, 10, 100, 1000, 10**6, 10**9, 2**31, 10**15, 2**61))
    low = random.choice((0, 0, 1, -size, -1, -size // 2, size // 2, random.randint(-size, size)))
    high = min(low + random.choice((1, 1, size, size, random.randint(1, size))), 2**62 - 1)
    missing = random.randint(low, high) if random.random() < 0.3 else None
    if random.random() < 0.4:
        if high - low <= 1000 and missing is None and (low + high) % 3 == 0:
            return _listed_column(name, range(low, high + 1))
        return IntegerColumn(name, bounds=(low, high), missing=missing)
    return NumberColumn(name, random.choice(STEPS), (low, high), missing)


def _listed_column(name: str, values: range) -> ListedColumn:
    """A few of these integers, the first and the last among them; one may stand for missing."""
    random = Random(f"listed {name} {values}")
    few = {values[0], values[-1], *random.choices(values, k=random.randint(0, 6))}
    missing = random.choice((None, None, values[0]))
    listed = ListedNumbers(tuple(sorted(few)))
    return ListedColumn(name, Fraction(1), (values[0], values[-1]), missing, options=(listed,))


def _date_column(random: Random, name: str) -> NumericColumn:
    """Dates within a few days, some years, or all of the calendar."""
    first, last = _day("0001-01-01"), _day("9999-12-31")
    low, high = random.choice(
        (
            (_day("2021-01-01"), _day("2021-12-31")),
            (_day("2021-03-05"), _day("2021-03-09")),
            (-1, 1),
            (_day("1899-12-30"), _day("2099-12-31")),
            (first, last),
        )
    )
    missing = random.randint(low, high) if random.random() < 0.3 else None
    forms = random.sample(DATE_FORMS, random.choice((1, 1, 2))) if random.random() < 0.4 else []
    years = TwoDigitYears(first=random.choice((1920, 1900, 2000)))
    form = DateFormat(tuple(map(date_form, forms)), random.choice((None, "UTC")), years=years)
    return DateColumn(
        name, bounds=(low, high), missing=missing, options=options(form) if forms else ()
    )


def _day(text: str) -> int:
    """Days since 1970-01-01."""
    return (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days


# Queries.


def vectors(seed: int, columns: Iterable[Column]) -> list[Query]:
    """Rows by their first fault, and the queries of statistics that have several numbers."""
    return [
        LinearQuery(items=(Axis(faults(seed, columns).first),)),
        *_indicators(seed, columns),
        *_shares(seed, columns),
        *_predictions(seed, columns),
        *_others(seed, columns),
    ]


def _others(seed: int, columns: Iterable[Column]) -> Iterator[Query]:
    """The queries of kinds for which the oracle has no formula, if these columns suffice."""
    random, given = Random(f"others {seed}"), {*columns}
    narrow = [c for c in columns if isinstance(c, NumericColumn) and c.upper - c.lower < 100]
    labeled = [column for column in columns if isinstance(column, LabeledColumn)]
    number, second = (random.choice(narrow) if narrow else SMALL.number for _ in range(2))
    category, flag = (random.choice(labeled) if labeled else SMALL.category for _ in range(2))
    asked = Columns(number, second, category, flag)
    by = (Axis(asked.category),) if random.random() < 0.5 else ()
    where = (_condition(random, asked.number),) if random.random() < 0.3 else ()
    for statistic in _of_other_kinds():
        for query in _asked(statistic, asked, by, where):
            if not isinstance(query, OWN_FORMULAS) and given.issuperset(query.columns):
                yield query


@cache
def _of_other_kinds() -> tuple[Statistic, ...]:
    """The statistics with queries of such kinds."""
    return tuple(
        statistic
        for statistic in STATISTICS
        if any(not isinstance(query, OWN_FORMULAS) for query in _asked(statistic, SMALL))
    )


def _asked(
    statistic: Statistic,
    columns: Columns,
    by: tuple[Axis, ...] = (),
    where: tuple[InRanges, ...] = (),
) -> Iterator[Query]:
    """The queries of every form of a statistic."""
    for inputs in forms(statistic, columns, by, where):
        for design in statistic.designs(inputs, ADDED):
            yield from (weighted.query for weighted in design.queries)


def _predictions(seed: int, columns: Iterable[Column]) -> Iterator[LogisticQuery]:
    """The query of a logistic regression, perhaps with a filter."""
    random = Random(f"predictions {seed}")
    labeled = [column for column in columns if isinstance(column, LabeledColumn)]
    bounded = [c for c in columns if isinstance(c, NumericColumn) and c.bounds is not None]
    inputs = [Factor.centered(column) for column in bounded]
    small = [one for one in inputs if max(map(abs, one.limits)) <= MAX_HALF_WIDTH]
    if labeled and small:
        column = random.choice(labeled)
        outcome = InRanges(column, ((random.randrange(len(column.labels)),) * 2,))
        where = (Not(outcome),) if random.random() < 0.2 else ()
        chosen = random.sample(small, random.randint(1, min(3, len(small))))
        yield LogisticQuery(outcome=outcome, inputs=tuple(chosen), where=where)


def _shares(seed: int, columns: Iterable[Column]) -> Iterator[Query]:
    """The queries of a proportion of some labels, and of a comparison of two labels or values."""
    random = Random(f"shares {seed}")
    usable = [c for c in columns if isinstance(c, LabeledColumn | NumericColumn)]
    for column in random.sample(usable, min(2, len(usable))):
        by = tuple(_key(random, random.choice(usable)) for _ in range(random.choice((0, 1))))
        low, high = (
            (0, len(column.labels) - 1) if isinstance(column, LabeledColumn) else column.limits
        )
        if isinstance(column, LabeledColumn):
            some = (("values", ((random.randint(low, high),) * 2,)), ("per", None))
            share = Inputs("p", column=column, by=by, options=some)
            yield from _first_queries(PROPORTION, share)
        if low < high:
            first = random.randint(low, high - 1)
            between = ("between", compared_values(column, (random.randint(first + 1, high), first)))
            compared = Inputs("c", by=by, options=(("of", None), between))
            yield from _first_queries(Comparison(), compared)


def _first_queries(statistic: Statistic, inputs: Inputs) -> Iterator[Query]:
    return (one.query for one in statistic.designs(inputs, ADDED)[0].queries)


def _indicators(seed: int, columns: Iterable[Column]) -> Iterator[IndicatorQuery | VectorQuery]:
    """Tests of values and of missing cells, perhaps with a limit for each row."""
    random = Random(f"indicators {seed}")
    usable = [c for c in columns if isinstance(c, LabeledColumn | NumericColumn)]
    tests: list[Filter] = []
    for column in usable:
        bare = column.without_missing_constant()
        tests += random.sample([_condition(random, column), IsMissing(bare)], random.randint(0, 2))
    if tests:
        by = tuple(_key(random, random.choice(usable)) for _ in range(random.choice((0, 1, 2))))
        most = random.randint(1, len(tests))
        counts = IndicatorQuery(by=by, tests=tuple(tests), max_counted=most)
        yield counts
        yield VectorQuery(by=by, of=counts, norm="cube")


def faults(seed: int, columns: Iterable[Column]) -> FaultOrder:
    """Faults of cells of some columns, and of columns that are derived from them."""
    random = Random(f"faults {seed}")
    # Of columns with one name, such as the same one without limits, one is used.
    by_name = {column.name: column for column in columns if column.derivation is None}
    usable = list(by_name.values())
    found = []
    for column in (*usable, *_derived(random, usable)):
        states = [BLANK, UNREADABLE, *[OUTSIDE] * isinstance(column, NumericColumn)]
        states = [state for state in states if column.derivation is None or state != UNREADABLE]
        some = random.sample(states, random.randint(0, len(states)))
        found += [CellFault(column, state) for state in some]
    ordered = in_order(found)
    return FaultOrder(
        cells=tuple(fault for fault in ordered if fault.state != BLANK),
        blanks=tuple(fault for fault in ordered if fault.state == BLANK),
    )


def _derived(random: Random, columns: Sequence[Column]) -> Iterator[Column]:
    """A difference, a ratio or the first of two numbers, and the first of two labels, or a test."""
    numbers = [c for c in columns if isinstance(c, NumericColumn) and c.kind != "date"]
    small = [column for column in numbers if max(map(abs, column.limits)) < 1 << 40]
    if small:
        terms, step = (random.choice(small), random.choice(small)), random.choice(STEPS)
        kind = random.choice((Difference, Ratio, FirstNumber))
        ends = [random.randint(-1000, 1000) for _ in range(2)]
        yield NumberColumn("number", step, (min(ends), max(ends) + 1), derivation=kind(terms, step))
    labeled = [column for column in columns if isinstance(column, LabeledColumn)]
    if labeled:
        pair = random.choice(labeled), random.choice(labeled)
        labels = dict.fromkeys(label for column in pair for label in column.labels)
        values = tuple((label, label) for label in labels)
        yield CategoryColumn("first", values, derivation=FirstLabel(pair))
    if numbers:
        test = _condition(random, random.choice(numbers))
        words = (("false", "false"), ("true", "true"))
        yield BooleanColumn("test", words, derivation=Satisfies(test))


def _queries(random: Random, columns: Sequence[Column]) -> list[LinearQuery]:
    """One to six queries; the first one is often the number of rows."""
    queries = [_query(random, columns) for _ in range(random.randint(1, 5))]
    return [LinearQuery(), *queries] if random.random() < 0.5 else queries


def _query(random: Random, columns: Sequence[Column]) -> LinearQuery:
    """Any product of at most two factors, in at most three groupings."""
    numeric = [column for column in columns if isinstance(column, NumericColumn)]
    usable = [c for c in columns if isinstance(c, LabeledColumn | NumericColumn)]
    factors = []
    for _ in range(random.choice((0, 0, 1, 1, 1, 2)) if numeric else 0):
        column = random.choice(numeric)
        offset = random.choice((0, 0, (column.lower + column.upper) // 2, column.lower))
        factors.append(Factor(column, offset))
    if len(factors) == 2 and any(abs(end) > 2**50 for f in factors for end in f.limits):
        factors.pop()
    by = [_key(random, random.choice(usable)) for _ in range(random.choice((0, 0, 1, 1, 2, 3)))]
    where = [filter_tree(random, columns) for _ in range(random.choice((0, 0, 1, 2)))]
    present = random.sample(usable, random.choice((0, 0, 1)))
    return LinearQuery(
        factors=tuple(factors), by=tuple(by), where=tuple(where), present=tuple(present)
    )


def _key(random: Random, column: LabeledColumn | NumericColumn) -> Axis:
    """The labels of a category, or a few bins over all of the bounds."""
    if isinstance(column, LabeledColumn):
        return _some(Axis(column))
    low, high = column.limits
    cuts = {random.randint(low, high) for _ in range(random.randint(0, 6))}
    return _some(Axis(column, tuple(sorted(cuts | {low}))))


def _some(axis: Axis) -> Axis:
    """The axis, perhaps with only some of its labels or bins."""
    random = Random(f"some {axis.column.name} {axis.starts} {len(axis)}")
    chosen = sorted(random.sample(range(len(axis)), random.randint(1, len(axis))))
    return replace(axis, chosen=tuple(chosen)) if random.random() < 0.3 else axis


def filter_tree(random: Random, columns: Sequence[Column], depth: int = 0) -> Filter:
    """A range, another test, or a few filters in an operator."""
    usable = [c for c in columns if isinstance(c, LabeledColumn | NumericColumn)]
    kind = random.random()
    if depth < 3 and kind < 0.3:
        parts = tuple(filter_tree(random, columns, depth + 1) for _ in range(random.randint(1, 3)))
        return random.choice((AllOf, AnyOf))(parts)
    if depth < 3 and kind < 0.45:
        return Not(filter_tree(random, columns, depth + 1))
    if kind < 0.55:
        return IsMissing(random.choice(usable).without_missing_constant())
    numbers = [c for c in usable if isinstance(c, NumericColumn)]
    if kind < 0.7 and numbers:
        left = random.choice(numbers)
        right = random.choice([c for c in numbers if (c.kind == "date") == (left.kind == "date")])
        comparison: ComparisonSign = random.choice(("<", "<=", "=", ">=", ">"))
        with suppress(ValueError):
            return Compared(left, comparison, right)
    return _condition(random, random.choice(usable))


def _condition(random: Random, column: LabeledColumn | NumericColumn) -> InRanges:
    """One to three ranges, which may overlap or lie partly outside the bounds."""
    if isinstance(column, LabeledColumn):
        last = len(column.labels) - 1
        picks = random.sample(range(last + 1), random.randint(1, last + 1))
        return InRanges(column, tuple((pick, pick) for pick in picks))
    low, high = column.limits
    ranges = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        ends = sorted((random.randint(low, high), random.randint(low, high)))
        if random.random() < 0.3:
            ends[random.randrange(2)] = random.choice((low, high))
        ranges.append((min(ends), max(ends)))
    return InRanges(column, tuple(ranges))


# Cells.


def _cell(random: Random, column: Column | None, oddness: float) -> str:
    """The text of one cell, before it is written as a field."""
    odd = random.random() < oddness
    if isinstance(column, LabeledColumn):
        text = random.choice(ODD_TEXTS if odd else [declared for declared, _ in column.values])
    elif isinstance(column, NumericColumn) and column.kind == "date":
        text = random.choice(ODD_DATES) if odd else _date_text(random, column)
    elif isinstance(column, NumericColumn):
        text = random.choice(ODD_NUMBERS) if odd else _number_text(random, column)
    elif isinstance(column, IdColumn):
        text = random.choice(ODD_IDS)
    else:
        pool = (*ODD_TEXTS, *ODD_NUMBERS, "free, text", "p1", "p2", "p3")
        text = random.choice(pool)
    if random.random() < 0.08:
        text = random.choice((" ", "\t", "  ", "")) + text + random.choice((" ", "\t ", ""))
    return text


def _date_text(random: Random, column: NumericColumn) -> str:
    """A date within the bounds or just beyond them, sometimes with a time."""
    low, high = column.limits
    days = random.choice((low, high, random.randint(low, high), random.randint(low, high)))
    days += random.choice((0, 0, 0, -1, 1))
    days = min(max(days, _day("0001-01-01")), _day("9999-12-31"))
    date = (datetime.date(1970, 1, 1) + datetime.timedelta(days=days)).isoformat()
    if form := column.in_form(DateFormat()):
        return form.written(date, random.randrange(24), random.randrange(60))
    return date + random.choice(("", "", "", "T00:00:00", " 23:59", "T24:61"))


def _number_text(random: Random, column: NumericColumn) -> str:
    """A number within the bounds, at or beyond them, or between two steps."""
    low, high = column.limits
    steps = Fraction(random.choice((low, high, *(random.randint(low, high) for _ in range(4)))))
    steps += random.choice((0, 0, 0, 0, 1, -1, Fraction(1, 2), Fraction(-1, 2)))
    steps += random.choice((0, 0, 0, Fraction(1, 10**6), Fraction(-1, 10**6)))
    number = steps * column.step
    places = decimal_places(number) if number else 0
    text = decimal_text(number, places)
    style = random.random()
    if style < 0.1 and not text.startswith("-"):
        return "+" + text
    if style < 0.2:
        return text + ("0" * random.randint(1, 3) if "." in text else ".0")
    if style < 0.3:
        power = random.randint(-5, 25)
        scaled = number / Fraction(10) ** power
        sign = random.choice(("", "+")) if power >= 0 else ""
        letter = random.choice("eE")
        return f"{decimal_text(scaled, decimal_places(scaled))}{letter}{sign}{power}"
    if style < 0.35 and text.startswith("0."):
        return text[1:]
    return text


# Records and files.


def _field(random: Random, text: str, quoting: float) -> bytes:
    """A cell as RFC 4180 writes it, quoted if necessary and sometimes otherwise."""
    if any(mark in text for mark in ',"\r\n') or random.random() < quoting:
        text = '"' + text.replace('"', '""') + '"'
    return text.encode()


def _file(random: Random, columns: Sequence[Column]) -> bytes:
    """A well-formed header, and records from well-formed to heavily damaged."""
    extra = random.sample(EXTRA_NAMES, random.choice((0, 0, 1, 2, 3)))
    if len(columns) == 1 and random.random() < 0.6:
        extra = []
    layout: list[Column | None] = [*columns, *(None for _ in extra)]
    names = [column.name for column in columns] + extra
    order = random.sample(range(len(names)), len(names))
    newlines = random.choice(((b"\n",), (b"\n",), (b"\r\n",), (b"\r",), (b"\n", b"\r\n", b"\r")))
    quoting = random.choice((0.0, 0.0, 0.1, 1.0))
    oddness = random.choice((0.0, 0.1, 0.3, 0.8))
    damage = random.choice((0.0, 0.0, 0.05, 0.3))
    blanks = random.choice((0.0, 0.0, 0.1))
    rows = 0 if random.random() < 0.03 else random.choice((1, 3, 10, 30, 60))

    parts = [b"\xef\xbb\xbf"] if random.random() < 0.2 else []
    if random.random() < 0.05:
        parts += [random.choice(newlines)] * random.randint(1, 3)
    parts.append(b",".join(_field(random, names[at], quoting) for at in order))
    parts.append(random.choice(newlines))
    for _ in range(rows):
        if random.random() < blanks:
            parts.append(random.choice(BLANKS))
            parts.append(random.choice(newlines))
        fields = [_field(random, _cell(random, layout[at], oddness), quoting) for at in order]
        parts.append(_record(random, fields, damage))
        parts.append(random.choice(newlines))
    parts += _ending(random, damage, newlines)
    return b"".join(parts)


def _record(random: Random, fields: list[bytes], damage: float) -> bytes:
    """Fields joined by commas, perhaps damaged."""
    if random.random() >= damage:
        return b",".join(fields)
    at = random.randrange(len(fields))
    kind = random.randrange(8)
    if kind == 0:
        fields = fields[:at]
    elif kind == 1:
        fields = fields + [random.choice((b"", b"9", b'"x,y"', b" "))] * random.randint(1, 4)
    elif kind == 2:
        fields[at] = random.choice(DAMAGE).encode()
    elif kind == 3:
        fields[at] += random.choice(DAMAGE).encode()
    elif kind == 4:
        fields[at] = random.choice((b" ", b"\t", b'"', b"x")) + fields[at]
    elif kind == 5:
        cut = random.randint(0, len(fields[at]))
        fields[at] = fields[at][:cut] + random.choice(BYTES) + fields[at][cut:]
    elif kind == 6:
        return "".join(random.choices(SOUP, k=random.randint(1, 30))).encode()
    else:
        fields[at] = fields[at] * 2
    return b",".join(fields)


def _ending(random: Random, damage: float, newlines: Sequence[bytes]) -> list[bytes]:
    """The end of the file: clean, without a newline, in blank lines or in a quote."""
    kind = random.randrange(12)
    if kind == 0:
        return [random.choice(newlines)] * random.randint(1, 4)
    if kind == 1:
        return [random.choice((b" ", b"\t", b",", b",,", b'""', b"\x00", b"\x1a"))]
    if kind == 2 and damage:
        return [b'1,"never closed', random.choice(newlines), b"1,2,3"]
    if kind == 3 and damage:
        return [random.choice((b'"', b'1,"', b'1,"a""', b'"1",', b"\xc3", b'1,"\r'))]
    if kind == 4 and random.random() < 0.1:
        return [b"1,", b"y" * 140_000, b",1"]
    if kind in (5, 6, 7):
        return [b"1"]
    return []


def batches(files: int, size: int, default: int, extended: int) -> list[object]:
    """The first seeds of batches of `size` seeds, of which most are extended or slow tests.

    Those below `default` are run by default, and those below `extended` by that mark.
    """

    def marks(start: int) -> list[pytest.MarkDecorator]:
        if start < default:
            return []
        return [pytest.mark.extended if start < extended else pytest.mark.slow]

    return [pytest.param(start, marks=marks(start)) for start in range(0, files, size)]
