"""What the quality check counts: sensitivity by enumeration, and an audit of its noisy answers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.numeric.arrays import Floats
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.privacy.unit import Neighbors, RowUnit
from dpcli.queries.query import LinearQuery
from dpcli.releasing.steps import aggregate_data
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.quality.quality_counts import ROWS_WEIGHT, fault_order
from tests.laws.test_audit import least_epsilon
from tests.oracles.opened import queries_of
from tests.oracles.plain import evaluate
from tests.support.permits import free_permit
from tests.support.streams import Stream

ROWS = ("7,1,a", "x,1,b", "7,99,b", ",1,a", "x,,z", "7,1,b")
"""Cells of two numbers and a label: without a fault, with each fault, and with several."""


def plan_of(
    neighbors: str,
    unit: str = "{column: id, max_rows: 2}",
    epsilon: str = "1",
    noise: str = "epsilon",
    minimum: str = "min_rows: 10, ",
    columns: str = "",
) -> CentralPlan:
    """A check of cells, of limits on rows and groups, and perhaps of the number of rows."""
    composition = "composition: zcdp, " if noise == "rho" else ""
    return make_plan(
        parse_central_spec(
            "dpcli: 1\ndataset: d\n"
            f"privacy: {{unit: {unit}, neighbors: {neighbors}, "
            f"{composition}budget: {{{noise}: 99, delta: 1e-9}}}}\n"
            f"quality: {{{noise}: {epsilon}, {minimum}min_readable: 0.5}}\n"
            "columns:\n  id: {type: id}\n  x: {type: integer, bounds: [0, 9]}\n"
            "  y: {type: integer, bounds: [0, 9]}\n  g: {type: category, values: [a, b]}\n"
            f"{columns}"
            f"statistics:\n  - {{name: n, statistic: sum, column: x, by: [g], {noise}: 1}}\n"
            f"  - {{name: m, statistic: mean, column: y, {noise}: 1}}\n",
            "spec.yaml",
        )
    )


UNITS = {
    "row": "row",
    "two rows": "{column: id, max_rows: 2}",
    "one group": "{column: id, max_rows: 3, max_groups: 1}",
    "one row in each group": "{column: id, max_rows: 3, max_groups: 2, max_rows_per_group: 1}",
    "all rows": "{column: id, max_rows: 2, possible_rows: 2}",
}


def answers(plan: CentralPlan, persons: Sequence[Sequence[str]]) -> list[list[int]]:
    """The exact answers of the check, by the plain evaluator."""
    lines = [f"{number},{cells}" for number, rows in enumerate(persons) for cells in rows]
    assert plan.quality is not None
    queries = queries_of(plan)[: len(plan.quality.queries)]
    data = "\n".join(["id,x,y,g", *lines, ""]).encode()
    found = evaluate(queries, data, plan.spec.privacy.unit, lambda _, number: number)
    return [list(answer) for answer in found if isinstance(answer, list)]


def units_of(plan: CentralPlan) -> list[tuple[str, ...]]:
    """Every row, or every person with up to four rows, whichever of them are kept."""
    if isinstance(plan.spec.privacy.unit, RowUnit):
        return [(row,) for row in ROWS]
    every = (rows for size in range(4) for rows in product(ROWS, repeat=size))
    few = product(ROWS[::5], repeat=4)
    return [*every, *few]


@pytest.mark.parametrize("minimum", ["", "min_rows: 10, "])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("neighbors", Neighbors)
def test_no_unit_changes_the_check_by_more_than_stated(
    neighbors: Neighbors, unit: str, minimum: str
) -> None:
    """Some neighbors reach the sensitivity of each answer in every norm, and none exceeds it."""
    plan = plan_of(neighbors.value, UNITS[unit], minimum=minimum)
    assert plan.quality is not None
    relation = plan.spec.privacy.relation
    queries = queries_of(plan)[: len(plan.quality.queries)]
    # Another unit is in both files.
    known = [tuple(map(tuple, answers(plan, [ROWS[:1], rows]))) for rows in units_of(plan)]
    without = tuple(map(tuple, answers(plan, [ROWS[:1]])))
    found = {*known, *([] if unit == "row" and neighbors is Neighbors.CHANGE_ONE else [without])}
    for place, query in enumerate(queries):
        if isinstance(query, LinearQuery) and query.is_public(relation):
            assert len({answer[place] for answer in found}) == 1
            continue
        pairs = (
            ((without, other) for other in found)
            if neighbors is Neighbors.ADD_REMOVE
            else product(found, repeat=2)
        )
        changes = {
            tuple(abs(a - b) for a, b in zip(one[place], other[place], strict=True))
            for one, other in pairs
        }
        reached = (
            max(map(sum, changes)),
            max(sum(number**2 for number in change) for change in changes),
            max(map(max, changes)),
        )
        stated = query_sensitivity(query, relation)
        assert reached == (stated.l1, stated.l2_squared, stated.linf)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("neighbors", Neighbors)
def test_the_counts_cost_the_same_however_many_columns_there_are(
    neighbors: Neighbors, unit: str
) -> None:
    """A unit has one first fault, so the noise of the counts is that of a single count."""
    many = "".join(f"  z{at}: {{type: integer, bounds: [0, 9]}}\n" for at in range(20))
    text = plan_of(neighbors.value, UNITS[unit], minimum="", columns=many).spec.text
    text += "".join(
        f"  - {{name: z{at}, statistic: sum, column: z{at}, epsilon: 1}}\n" for at in range(20)
    )
    plan = make_plan(parse_central_spec(text, "spec.yaml"))
    assert plan.quality is not None
    first = plan.quality.queries[0]

    assert first.calibrated.noise.scale == (1 if neighbors is Neighbors.ADD_REMOVE else 2)
    assert len(fault_order(plan.quality.entry.inputs).labels) > 60


def test_the_rows_of_people_have_half_of_the_loss_if_a_minimum_needs_them() -> None:
    """Without it, all of the loss is for people by their first fault."""
    for minimum, weights in (
        ("", [Fraction(1)]),
        ("min_people: 10, ", [Fraction(1)]),
        ("min_rows: 10, ", [1 - ROWS_WEIGHT, ROWS_WEIGHT]),
    ):
        quality = plan_of("add-remove", minimum=minimum).quality
        assert quality is not None
        assert [query.weighted.weight for query in quality.queries] == weights
        losses = [query.calibrated.loss.epsilon for query in quality.queries]
        assert sum(losses) == 1
        assert all(losses)


def test_a_public_number_of_rows_costs_nothing_and_leaves_all_loss_to_the_counts() -> None:
    """Exchanging a row changes two of the counts, and not their sum."""
    quality = plan_of("change-one", "row").quality
    assert quality is not None
    counts, rows = quality.queries

    assert counts.calibrated.loss.epsilon == 1
    assert rows.calibrated.loss.epsilon == 0
    assert rows.is_exact
    assert counts.calibrated.noise.scale == 2


def test_parts_of_a_rho_have_their_part_of_its_epsilon() -> None:
    """With Laplace noise a part p of epsilon costs p^2 of rho; all parts cost less than the rho."""
    quality = plan_of("add-remove", epsilon="0.005", noise="rho").quality
    assert quality is not None

    # A count with all of this rho has the epsilon sqrt(2 rho), which is a tenth.
    for query in quality.queries:
        assert float(query.calibrated.loss.epsilon) == pytest.approx(
            float(ROWS_WEIGHT) / 10, rel=0.01
        )
    assert sum(query.calibrated.guarantee.rho for query in quality.queries) <= 0.005


DRAWS = 2_000

NEIGHBORS = ([1, 2, 3], [1, 2, 3, 9])
"""The numbers of rows of the people of two neighbors."""


def draws(plan: CentralPlan, rows: Sequence[int], folder: Path) -> Floats:
    """Logarithms of how much more likely noisy answers are under the first neighbor.

    The engine aggregates a file of people with these numbers of rows, and its answers get noise.
    """
    lines = [f"{person},7,1,a" for person, count in enumerate(rows) for _ in range(count)]
    data = folder / f"{len(lines)}.csv"
    data.write_text("\n".join(["id,x,y,g", *lines, ""]), encoding="utf-8")
    assert plan.quality is not None
    exact = aggregate_data(plan, (str(data),))
    known = [answers(plan, [ROWS[:1] * count for count in neighbor]) for neighbor in NEIGHBORS]
    log_ratio = np.zeros(DRAWS)
    for planned, sealed, *both in zip(plan.quality.queries, exact, *known, strict=False):
        first, second = (np.array(answer) for answer in both)
        for place in range(DRAWS):
            noisy = planned.calibrated.answer(sealed, free_permit()).value
            distance = abs(noisy - second).sum() - abs(noisy - first).sum()
            log_ratio[place] += distance / float(planned.calibrated.noise.scale)
    return log_ratio


@pytest.mark.extended
@pytest.mark.parametrize(("epsilon", "reveals_more"), [("1", False), ("3", True)])
def test_an_audit_of_the_check_shows_no_more_than_its_epsilon(
    epsilon: str, reveals_more: bool, tmp_path: Path, stream: Stream
) -> None:
    """Of a person with nine rows no test shows more than epsilon 1; with less noise one does."""
    plan = plan_of("add-remove", epsilon=epsilon)
    one, other = (draws(plan, rows, tmp_path) for rows in NEIGHBORS)

    assert (least_epsilon(one, other, 0.0) > 1) is reveals_more
