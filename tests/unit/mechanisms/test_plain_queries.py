"""Queries are plain data of known kinds, so that their sensitivity is what they change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import pytest

from dpcli.data.cell_options import MissingMarks
from dpcli.data.column import Column
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.engine.sums.aggregate import QueryAggregator
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.pure import Laplace
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import RowContribution
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.scores import Frequency, Revenue, ScoreQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.regression.queries import RidgeQuery
from tests.oracles.opened import bounded

RELATION, ONE = Relation(RowUnit(), Neighbors.ADD_REMOVE), Loss(Fraction(1))
AGE = IntegerColumn("age", bounds=(0, 100))
SEX = Axis(CategoryColumn("sex", (("f", "f"), ("m", "m"))))


class Less(LinearQuery):
    """A query that equals all others, and says that no one can change it."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = LinearQuery.__hash__

    @property
    def contribution(self) -> RowContribution:
        """None."""
        return RowContribution(0, 0)


class Nothing(Factor):
    """A factor that equals all others, and is always zero."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = Factor.__hash__

    @property
    def limits(self) -> tuple[int, int]:
        """None."""
        return 0, 0


class More(int):
    """A number that is whatever suits."""


class Spying(Frequency):
    """Scores that see counts without noise."""


class Narrow(IntegerColumn):
    """A column that is read by its bounds and states others."""

    __slots__ = ()

    @property
    def limits(self) -> tuple[int, int]:
        """None."""
        return 0, 0


class OtherMarks(MissingMarks):
    """An option that no column lists."""

    __slots__ = ()


QUERIES: list[Query] = [
    Less(),
    LinearQuery(factors=(Nothing(AGE),)),
    LinearQuery(factors=(Factor(Narrow("age", bounds=(0, 100))),)),
    LinearQuery(offset=More(1)),
    LinearQuery(by=[SEX]),  # type: ignore[arg-type]
    LinearQuery(by=(Axis(replace(SEX.column, options=(MissingMarks(cast("Any", ["x"])),))),)),
    LinearQuery(factors=(Factor(replace(AGE, options=(OtherMarks(("x",)),))),)),
    ScoreQuery(classes=(SEX,), score_function=Spying((0, 1))),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
def test_queries_have_no_other_kinds(query: Query) -> None:
    """What a query is made of states its sensitivity, and scores are functions of exact counts."""
    with pytest.raises(TypeError, match=r"cannot be subclassed|plain values"):
        CalibratedMechanism.calibrate(Laplace(), [query], RELATION, ONE)
    with pytest.raises(TypeError, match=r"cannot be subclassed|plain values"):
        QueryAggregator(bounded([query], RELATION.unit))


def test_labels_are_plain_texts() -> None:
    """A label that equals others would change how many there are."""
    with pytest.raises(TypeError, match="plain texts"):
        CategoryColumn("sex", (("f", type("Label", (str,), {})("f")),))


REVERSED: list[Callable[[], object]] = [
    lambda: LinearQuery(user_clamp=(5, -5)),
    lambda: IntegerColumn("age", bounds=(5, -5)),
    lambda: PersonUnit("who", 1, 0, 1),
    lambda: PersonUnit("who", -1, -1, 9),
    lambda: ScoreQuery(classes=(SEX,), score_function=Frequency((0, 1)), k=0),
    lambda: RidgeQuery(outcome=Factor(AGE), inputs=(), ridge=Fraction(0), rows=9),
]


@pytest.mark.parametrize("make", REVERSED)
def test_limits_that_let_nothing_in_are_refused(make: Callable[[], object]) -> None:
    """Reversed bounds would make a sensitivity of zero of what rows do change."""
    with pytest.raises(ValueError, match=r"lower bound|at least one|above zero"):
        make()


def test_the_highest_price_counts_wherever_it_stands() -> None:
    """Prices that fall move scores as much as prices that rise."""
    for prices in ((100, 1), (1, 100)):
        query = ScoreQuery(classes=(SEX,), score_function=Revenue((0, 1), prices))
        assert query_sensitivity(query, RELATION).l1 == 100


def test_a_ridge_query_states_no_sensitivity_of_its_own() -> None:
    """It follows from the ridge and the rows, where rows are replaced and none is skipped."""
    column = replace(AGE, missing=0)
    query = RidgeQuery(outcome=Factor(column), inputs=(), ridge=Fraction(1), rows=9)
    assert query_sensitivity(query, Relation(RowUnit(), Neighbors.CHANGE_ONE)).l1 > 0
    for relation in (RELATION, Relation(PersonUnit("who", 1, 1, 1), Neighbors.CHANGE_ONE)):
        with pytest.raises(ValueError, match="rows are replaced"):
            query_sensitivity(query, relation)


class Shifting(tuple[tuple[str, str], ...]):
    """Texts of a category in a sequence of another type."""

    __slots__ = ()


@pytest.mark.parametrize(
    "make",
    [
        lambda: IntegerColumn("x", bounds=(0, 1), missing=1000),
        lambda: CategoryColumn("c", (("a", "a"),), missing=1),
        lambda: CategoryColumn("c", (("a", "a"),), missing=-1),
        lambda: CategoryColumn("c", (("a", "a"),), missing=cast("int", Fraction(0))),
        lambda: CategoryColumn("c", Shifting((("a", "a"),))),
    ],
)
def test_a_column_whose_cells_could_exceed_its_declaration_is_refused(
    make: Callable[[], Column],
) -> None:
    """A constant that is no possible value, or texts that may differ when they are read again."""
    with pytest.raises((TypeError, ValueError)):
        make()
