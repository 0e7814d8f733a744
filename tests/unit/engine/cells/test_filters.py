"""Filters and derived columns: the engine agrees with the plain evaluator."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from dpcli.data.derived.labels import Satisfies
from dpcli.data.derived.positions import PositionAmong
from dpcli.data.filters import (
    COMPARE,
    AllOf,
    AnyOf,
    Compared,
    ComparisonSign,
    Filter,
    InRanges,
    IsMissing,
    Not,
    PassesAmongFirst,
)
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn, CategoryColumn, PrivatePartitionColumn
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.planning.planner import make_plan
from dpcli.privacy.unit import PersonUnit, RowUnit, Unit
from dpcli.queries.query import LinearQuery
from dpcli.specification.load import parse_central_spec
from tests.oracles.agreement import agreed
from tests.oracles.opened import queries_of
from tests.oracles.plain import truth
from tests.oracles.shapes import Row
from tests.support.specs import completed

X = IntegerColumn("x", bounds=(0, 9))
Y = IntegerColumn("y", bounds=(0, 9))
DATA = "x,y\n" + "".join(f"{x},{y}\n" for x, y in product(("0", "4", "9", ""), repeat=2))
PARTS = [
    InRanges(X, ((4, 9),)),
    InRanges(Y, ((0, 0), (9, 9))),
    IsMissing(X),
    Compared(X, "<", Y),
    Compared(X, "=", Y),
]
PAIRS = [kind(pair) for kind in (AllOf, AnyOf) for pair in product(PARTS, repeat=2)]
FILTERS: list[Filter] = [*PARTS, *PAIRS, *map(Not, [*PARTS, *PAIRS])]
DEEP = [
    kind((outer, inner))
    for kind in (AllOf, AnyOf)
    for outer in map(Not, PARTS[:3])
    for inner in FILTERS
    if isinstance(inner, AllOf | AnyOf | Not)
]
KNOWN = (True, None, False)


def test_every_small_filter_counts_the_rows_of_the_plain_evaluator(tmp_path: Path) -> None:
    """By itself, and as a derived boolean column."""
    labels = (("false", "false"), ("true", "true"))
    derived = [
        BooleanColumn(f"b{place}", labels, derivation=Satisfies(test))
        for place, test in enumerate(FILTERS)
    ]
    queries = [LinearQuery(where=(test,)) for test in FILTERS]
    counts = agreed(queries, DATA, tmp_path)
    by_label = [LinearQuery(by=(Axis(column),)) for column in derived]
    labeled = agreed(by_label, DATA, tmp_path)
    assert [answer[1:] for answer in labeled if isinstance(answer, list)] == counts
    # A row is in neither group where the filter is unknown.
    assert any(sum(answer) < 16 for answer in labeled if isinstance(answer, list))


@pytest.mark.parametrize("step", [1, 7])
def test_columns_with_other_steps_are_compared_exactly(tmp_path: Path, step: int) -> None:
    """Also where their products with a factor do not fit 64 bits."""
    big = IntegerColumn("x", bounds=(0, 2**61))
    coarse = IntegerColumn("y", step=Fraction(step), bounds=(0, 2**59))
    query = LinearQuery(where=(Compared(big, ">", coarse),))
    agreed([query], f"x,y\n{step * 2**57},{step * 2**57}\n{2**58 + 1},{2**58}\n", tmp_path)


def test_deeper_filters_count_the_rows_of_the_plain_evaluator(tmp_path: Path) -> None:
    """Operators within operators, over all combinations of present and missing cells."""
    queries = [LinearQuery(where=(test,)) for test in DEEP]
    agreed(queries, DATA, tmp_path)


def test_a_row_counts_for_at_most_the_stated_number_of_tests(tmp_path: Path) -> None:
    """A row that passes more tests counts for the first ones that it passes."""
    columns = [IntegerColumn(name, bounds=(0, 1)) for name in "abcd"]
    tests = tuple(InRanges(column, ((1, 1),)) for column in columns)
    rows = list(product((0, 1), repeat=4))
    data = "a,b,c,d\n" + "".join(f"{a},{b},{c},{d}\n" for a, b, c, d in rows)
    for limit in (1, 2, 3):
        queries = [
            LinearQuery(where=(PassesAmongFirst(tests, index, limit),)) for index in range(4)
        ]
        counted = [
            sum(bool(row[index]) and sum(row[:index]) < limit for row in rows) for index in range(4)
        ]
        assert agreed(queries, data, tmp_path) == [[count] for count in counted]
        assert sum(counted) == sum(min(sum(row), limit) for row in rows)


def test_operators_follow_the_truth_tables_of_kleene() -> None:
    """The plain evaluator has the least of all parts, the greatest of any, and the opposite."""
    for values in product(KNOWN, repeat=2):
        row: Row = {X: RANK[values[0]], Y: RANK[values[1]]}
        parts = (InRanges(X, ((2, 2),)), InRanges(Y, ((2, 2),)))
        order = [KNOWN.index(value) for value in values]
        assert truth(AllOf(parts), row) is KNOWN[max(order)]
        assert truth(AnyOf(parts), row) is KNOWN[min(order)]
        assert truth(Not(parts[0]), row) is KNOWN[2 - order[0]]


RANK = {True: 2, None: None, False: 0}
"""A cell of which a test is true, unknown or false."""


FREE_TEXT = """
columns:
  comment: {type: category, na: ["-"]}
  answer: {from: comment, type: category, values: [written], other: written, na: ["-"]}
derive:
  said: {is: {comment: {missing: false}}}
statistics:
  - {name: a, statistic: selections, columns: [said, answer], epsilon: 0.25}
  - {name: b, statistic: count_missing, columns: [said, answer], epsilon: 0.25}
  - {name: c, statistic: proportion, column: said, epsilon: 0.25}
  - {name: d, statistic: count, where: {said: false}, epsilon: 0.25}
"""


def test_free_text_is_written_or_missing(tmp_path: Path) -> None:
    """As the pages of `is` and `other` say: a text that no table can show is still an answer."""
    spec = parse_central_spec(completed(FREE_TEXT), "spec.yaml")
    text = 'comment,x\nyes,1\n-,1\n,1\n" ",1\n"two\nlines",1\n' + "long" * 300 + ",1\n"
    answers = agreed(queries_of(make_plan(spec)), text, tmp_path)
    # Rows with the first answer, and with the second one.
    assert answers[:2] == [[1, 3], [0, 3]]


@pytest.mark.parametrize("unit", [RowUnit(), PersonUnit("who", 2, 2, 2)])
def test_stated_texts_of_a_private_column(tmp_path: Path, unit: Unit) -> None:
    """Other texts differ in what is seen, and a missing cell is unknown."""
    city = PrivatePartitionColumn("city")
    view = CategoryColumn(
        "city",
        (("Rome", "Rome"), ("Pari\u200bs", "Paris"), ("", "")),
        derivation=PositionAmong(city, ("Rome", "Pari\u200bs")),
    )
    stated = InRanges(view, ((0, 1),))
    data = "who,city\n1,Rome\n2, Pa\u200bris\t\n3,rome\n4,\n5,Oslo\x01\n6,Oslo\n"
    wheres: list[Filter] = [stated, Not(stated), IsMissing(city), Not(IsMissing(city))]
    queries = [LinearQuery(where=(where,)) for where in wheres]
    by_city = [LinearQuery(by=(Axis(city),), where=(Not(stated),))]
    assert agreed(queries, data, tmp_path, unit) == [[2], [2], [2], [4]]
    agreed(by_city, data, tmp_path, unit)


@pytest.mark.parametrize("steps", [(Fraction(1, 10**18), Fraction(1)), (Fraction(3), Fraction(7))])
def test_comparisons_are_exact_at_the_limits_of_64_bits(
    tmp_path: Path, steps: tuple[Fraction, Fraction]
) -> None:
    """Neighboring values of columns with different steps are told apart."""
    most = 2**62 - 1
    left = NumberColumn("x", steps[0], (-most, most))
    right = NumberColumn("y", steps[1], (-most, most))
    rows = [(a, b) for a in (-most, most - 1, 7, 4 * 10**18, 0) for b in (-most, most, 3, 4, 0)]
    cells = (f"{left.text(a)},{right.text(b)}" for a, b in rows)
    comparisons: tuple[ComparisonSign, ...] = ("<", "<=", "=", ">=", ">")
    queries = [LinearQuery(where=(Compared(left, how, right),)) for how in comparisons]
    counts = [sum(COMPARE[how](a * steps[0], b * steps[1]) for a, b in rows) for how in comparisons]
    answers = agreed(queries, "x,y\n" + "\n".join(cells) + "\n", tmp_path)
    assert answers == [[count] for count in counts]


def test_columns_that_have_no_common_unit_in_128_bits_are_refused() -> None:
    """Their comparison could overflow."""
    fine = NumberColumn("x", Fraction(1, 10**18), (0, 10**18))
    coarse = NumberColumn("y", Fraction(10**18), (0, 90))
    with pytest.raises(ValueError, match="too different"):
        Compared(fine, "<", coarse)
