"""Filters and derived columns: the engine agrees with the plain evaluator."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from dpcli.columns import Axis, CategoryColumn, NumericColumn
from dpcli.derivations import Satisfies
from dpcli.filters import AllOf, AnyOf, Compared, Filter, InRanges, IsMissing, Not
from dpcli.privacy.unit import RowUnit
from dpcli.queries import LinearQuery
from tests.oracles.opened import engine
from tests.oracles.plain import evaluate

X = NumericColumn("x", "integer", bounds=(0, 9))
Y = NumericColumn("y", "integer", bounds=(0, 9))
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


def test_every_small_filter_counts_the_rows_of_the_plain_evaluator(tmp_path: Path) -> None:
    """By itself, and as a derived boolean column."""
    path = tmp_path / "d.csv"
    path.write_text(DATA, "utf-8")
    labels = (("false", "false"), ("true", "true"))
    derived = [
        CategoryColumn(f"b{place}", "boolean", labels, derivation=Satisfies(test))
        for place, test in enumerate(FILTERS)
    ]
    queries = [LinearQuery(where=(test,)) for test in FILTERS]
    counts = engine(queries, RowUnit(), path)
    assert counts == evaluate(queries, DATA.encode())
    by_label = [LinearQuery(by=(Axis(column),)) for column in derived]
    labeled = engine(by_label, RowUnit(), path)
    assert labeled == evaluate(by_label, DATA.encode())
    assert [answer[1:] for answer in labeled if isinstance(answer, list)] == counts
    # A row is in neither group where the filter is unknown.
    assert any(sum(answer) < 16 for answer in labeled if isinstance(answer, list))


@pytest.mark.parametrize("step", [1, 7])
def test_columns_with_other_steps_are_compared_exactly(tmp_path: Path, step: int) -> None:
    """Also where their products with a factor do not fit 64 bits."""
    big = NumericColumn("x", "integer", bounds=(0, 2**61))
    coarse = NumericColumn("y", "integer", step=Fraction(step), bounds=(0, 2**59))
    path = tmp_path / "d.csv"
    path.write_text(f"x,y\n{step * 2**57},{step * 2**57}\n{2**58 + 1},{2**58}\n", "utf-8")
    query = LinearQuery(where=(Compared(big, ">", coarse),))
    assert engine([query], RowUnit(), path) == evaluate([query], path.read_bytes())
