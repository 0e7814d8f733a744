"""What the quality check counts: sensitivity by enumeration, and an audit of its noisy answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest

from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.numeric.arrays import Floats
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.privacy.unit import Neighbors
from dpcli.releasing.steps import aggregate_data
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.quality.quality_counts import BY_ROWS_WEIGHT, PEOPLE_WEIGHT, counted_limits
from tests.laws.test_audit import least_epsilon
from tests.oracles.plain import evaluate
from tests.support.permits import free_permit
from tests.support.streams import Stream

CELLS = ("7", "x")
"""A readable cell and an unreadable one."""


def plan_of(
    neighbors: str,
    unit: str = "max_rows: 2",
    epsilon: str = "1",
    people: str = "min_people: 5, ",
    noise: str = "epsilon",
) -> CentralPlan:
    """A check of one column and of people, and a statistic about two rows of a person."""
    composition = "composition: zcdp, " if noise == "rho" else ""
    return make_plan(
        parse_central_spec(
            "dpcli: 1\ndataset: d\n"
            f"privacy: {{unit: {{column: id, {unit}}}, neighbors: {neighbors}, "
            f"{composition}budget: {{{noise}: 99, delta: 1e-9}}}}\n"
            f"quality: {{{noise}: {epsilon}, min_rows: 10, {people}min_readable: {{x: 0.5}}}}\n"
            "columns:\n  id: {type: id}\n  x: {type: integer, bounds: [0, 9]}\n"
            f"statistics: [{{name: n, statistic: count, {noise}: 1}}]\n",
            "spec.yaml",
        )
    )


def people() -> Iterator[Sequence[str]]:
    """The cells of a person with up to four rows, without the order of rows."""
    for rows in range(5):
        yield from combinations_with_replacement(CELLS, rows)


def answers(plan: CentralPlan, persons: Sequence[Sequence[str]]) -> list[list[int]]:
    """The exact answers of the check, by the plain evaluator."""
    lines = [f"{number},{cell}" for number, cells in enumerate(persons) for cell in cells]
    assert plan.quality is not None
    queries = plan.engine_queries[: len(plan.quality.queries)]
    data = "\n".join(["id,x", *lines, ""]).encode()
    found = evaluate(queries, data, unit=plan.spec.privacy.unit)
    return [list(answer) for answer in found if isinstance(answer, list)]


@pytest.mark.parametrize("neighbors", Neighbors)
def test_no_person_changes_the_check_by_more_than_stated(neighbors: Neighbors) -> None:
    """Some neighbors reach the L1 sensitivity of all three answers, and none exceeds it."""
    plan = plan_of(neighbors.value)
    assert plan.quality is not None
    queries = plan.engine_queries[: len(plan.quality.queries)]
    stated = [query_sensitivity(query, plan.spec.privacy.relation) for query in queries]
    pairs = (
        (((), other) for other in people())
        if neighbors is Neighbors.ADD_REMOVE
        else product(people(), repeat=2)
    )
    reached = [0] * len(queries)
    for one, other in pairs:
        both = [answers(plan, [("7",), cells]) for cells in (one, other)]
        for place, (before, after) in enumerate(zip(*both, strict=True)):
            change = sum(abs(a - b) for a, b in zip(before, after, strict=True))
            reached[place] = max(reached[place], change)

    assert len(queries) == 3
    assert reached == [sensitivity.l1 for sensitivity in stated]
    assert reached[1] == 1


def test_the_check_counts_people_only_where_a_limit_leaves_out_rows() -> None:
    """Nothing is spent on limits that no statistic has."""
    plan = plan_of("add-remove", people="")
    assert plan.quality is not None

    assert counted_limits(plan.quality.entry.inputs) == (2,)
    assert [query.weighted.weight for query in plan.quality.queries] == [
        1 - BY_ROWS_WEIGHT,
        BY_ROWS_WEIGHT,
    ]
    assert sum(query.calibrated.loss.epsilon for query in plan.quality.queries) == 1
    text = plan.spec.text.replace("statistic: count,", "statistic: count_distinct,")
    everyone = make_plan(parse_central_spec(text, "spec.yaml")).quality
    assert everyone is not None
    assert len(everyone.queries) == 1


@pytest.mark.parametrize("limits", ["statistic: count,", "statistic: count_distinct,"])
def test_a_minimum_of_people_shares_the_loss_of_the_check(limits: str) -> None:
    """Its part is an eighth, the parts add up to the whole, and no part is free."""
    plan = plan_of("add-remove")
    text = plan.spec.text.replace("statistic: count,", limits)
    quality = make_plan(parse_central_spec(text, "spec.yaml")).quality
    assert quality is not None
    weights = {query.weighted.role: query.weighted.weight for query in quality.queries}

    assert weights["people"] == PEOPLE_WEIGHT
    assert (
        sum(weights.values())
        == sum(query.calibrated.loss.epsilon for query in quality.queries)
        == 1
    )
    assert all(query.calibrated.loss.epsilon > 0 for query in quality.queries)


def test_counts_of_people_have_their_part_of_the_epsilon_of_a_rho() -> None:
    """With Laplace noise a part p of epsilon costs p^2 of rho; all parts cost less than the rho."""
    plan = plan_of("add-remove", epsilon="0.5", noise="rho")
    assert plan.quality is not None
    _, people, by_rows = plan.quality.queries

    # A count of people with all of this rho has the epsilon sqrt(2 rho), which is one.
    assert float(people.calibrated.loss.epsilon) == pytest.approx(float(PEOPLE_WEIGHT), rel=0.01)
    assert float(by_rows.calibrated.loss.epsilon) == pytest.approx(float(BY_ROWS_WEIGHT), rel=0.01)
    assert sum(query.calibrated.guarantee.rho for query in plan.quality.queries) <= 0.5


DRAWS = 2_000

ROWS = ([1, 2, 3], [1, 2, 3, 9])
"""The numbers of rows of the people of two neighbors."""


def draws(plan: CentralPlan, rows: Sequence[int], folder: Path) -> Floats:
    """Logarithms of how much more likely noisy answers are under the first neighbor.

    The engine aggregates a file of people with these numbers of rows, and its answers get noise.
    """
    lines = [f"{person},7" for person, count in enumerate(rows) for _ in range(count)]
    data = folder / f"{len(lines)}.csv"
    data.write_text("\n".join(["id,x", *lines, ""]), encoding="utf-8")
    assert plan.quality is not None
    exact = aggregate_data(plan, (str(data),))
    known = [answers(plan, [("7",) * count for count in neighbor]) for neighbor in ROWS]
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
    one, other = (draws(plan, rows, tmp_path) for rows in ROWS)

    assert (least_epsilon(one, other, 0.0) > 1) is reveals_more
