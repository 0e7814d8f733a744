"""Disjoint rows: what counts as disjoint, and that no row loses more than planned."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import LabeledColumn
from dpcli.ledger.charge import charge_for
from dpcli.planning.plan import CentralPlan, disjoint_branches, require_disjoint
from dpcli.planning.planner import make_plan
from dpcli.specification.load import parse_central_spec
from tests.oracles.files import filter_tree
from tests.oracles.opened import cells_of, queries_of
from tests.oracles.plain import evaluate, truth
from tests.oracles.shapes import Row

COLUMNS = """
columns:
  age: {type: integer, bounds: [0, 9], missing: 3}
  sex: {type: category, values: [f, m, x]}
  who: {type: id}
  other: {type: integer, bounds: [0, 9]}
  city: {type: category}
"""


def planned(entries: str, unit: str = "row", neighbors: str = "add-remove") -> CentralPlan:
    """The plan of a spec with these entries."""
    text = (
        f"dpcli: 1\ndataset: d\nprivacy: {{unit: {unit}, neighbors: {neighbors}, "
        f"budget: {{epsilon: 100}}}}{COLUMNS}statistics:\n{entries}"
    )
    return make_plan(parse_central_spec(text, "spec.yaml"))


def entry(name: str, where: str, epsilon: str = "1", statistic: str = "statistic: count") -> str:
    """One entry with a filter."""
    return f"  - {{name: {name}, {statistic}, where: {{{where}}}, epsilon: {epsilon}}}\n"


def test_different_labels_and_ranges_are_disjoint() -> None:
    """Different labels are disjoint, and so are ranges that do not meet."""
    plan = planned(entry("a", "sex: f", "1") + entry("b", "sex: [m, x]", "0.5"))
    assert disjoint_branches(plan.spec) == {"a": ("sex", 0), "b": ("sex", 1)}
    assert plan.cost.epsilon == 1
    plan = planned(
        entry("a", "age: {max: 3}") + entry("b", "age: {min: 4}", "2") + entry("c", "age: 3")
    )
    assert disjoint_branches(plan.spec) == {"a": ("age", 0), "c": ("age", 0), "b": ("age", 1)}
    assert plan.cost.epsilon == 2


def test_losses_of_overlapping_statistics_are_added_up() -> None:
    """Common values, repeated labels, different columns and no filter are no disjoint rows."""
    for entries in (
        entry("a", "age: {max: 4}") + entry("b", "age: {min: 4}"),
        entry("a", "sex: [f, m]") + entry("b", "sex: [m, x]"),
        entry("a", "sex: f") + entry("b", "age: 3"),
        entry("a", "sex: f") + "  - {name: b, statistic: count, epsilon: 1}\n",
    ):
        assert planned(entries).cost.epsilon == 2


def test_a_chain_of_overlaps_is_one_branch() -> None:
    """Ranges that each overlap the next do not separate rows."""
    plan = planned(
        entry("a", "age: {max: 2}")
        + entry("b", "age: {min: 2, max: 5}")
        + entry("c", "age: {min: 5, max: 7}")
        + entry("d", "age: {min: 8}", "2.5")
    )
    assert plan.cost.epsilon == 3


def test_under_change_one_the_two_worst_branches_count() -> None:
    """A row can leave one branch and enter another."""
    entries = entry("a", "sex: f", "1") + entry("b", "sex: m", "0.5") + entry("c", "sex: x", "0.25")
    assert planned(entries, neighbors="change-one").cost.epsilon == Fraction(3, 2)


def test_a_row_that_changes_its_branch_loses_in_both() -> None:
    """It leaves one cell of the first (half of its epsilon) and enters the second."""
    within = entry("a", "age: {max: 4}", "1", "statistic: count, by: [sex]")
    other = entry("b", "age: {min: 5}", "0.9")
    assert planned(within + other, neighbors="change-one").cost.epsilon >= Fraction(7, 5)


def test_branches_of_people_need_a_single_row_for_each_person() -> None:
    """With two rows a person can be in two branches; totals are over all rows anyway."""
    entries = entry("a", "sex: f") + entry("b", "sex: m")
    assert planned(entries, "{column: who, max_rows: 1}").cost.epsilon == 1
    assert planned(entries, "{column: who, max_rows: 2}").cost.epsilon == 2
    people = "statistic: count_distinct"
    totals = entry("a", "sex: f", statistic=people) + entry("b", "sex: m", statistic=people)
    assert planned(totals, "{column: who, max_rows: 1}").cost.epsilon == 2


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("seed", range(12))
def test_no_row_loses_more_than_the_plan_says(seed: int, neighbors: str) -> None:
    """For all neighbors of small files, the changes over the scales sum to at most epsilon."""
    random = Random(seed)
    entries = ""
    for number in range(random.randint(2, 6)):
        low = random.randint(0, 9)
        conditions = [
            f"age: {{min: {low}, max: {random.randint(low, 9)}}}",
            f"sex: {random.choice(['f', 'm', 'x', '[f, m]', '[m, x]'])}",
        ]
        where = ", ".join(random.sample(conditions, random.randint(1, 2)))
        statistic = random.choice(
            ["statistic: count", "statistic: sum, column: age", "statistic: count, by: [sex]"]
        )
        entries += entry(f"e{number}", where, random.choice(["0.5", "1", "2"]), statistic)
    plan = planned(entries, neighbors=neighbors)
    columns = plan.spec.columns
    age, sex = columns[0], columns[1]
    assert isinstance(age, NumericColumn) and isinstance(sex, LabeledColumn)
    header = "age,sex,who\n"
    rows = [
        f"{header}{first},{second},1\n".encode()
        for first, second in product(["0", "2", "4", "5", "9", ""], ["f", "m", "x", "?"])
    ]
    answers = {
        position: [cells_of(exact) for exact in evaluate(queries_of(plan), row)]
        for position, row in enumerate(rows)
    }
    empty = [cells_of(exact) for exact in evaluate(queries_of(plan), header.encode())]
    worst = Fraction(0)
    pairs = (
        [(answer, empty) for answer in answers.values()]
        if neighbors == "add-remove"
        else [(before, after) for before in answers.values() for after in answers.values()]
    )
    for before, after in pairs:
        lost = sum(
            (
                Fraction(sum(abs(a - b) for a, b in zip(first, second, strict=True)))
                / part.calibrated.noise.scale
                for part, first, second in zip(plan.queries, before, after, strict=True)
                if part.calibrated.noise.scale
            ),
            start=Fraction(0),
        )
        worst = max(worst, lost)
    assert worst <= plan.cost.epsilon


def test_branches_that_a_plan_claims_wrongly_are_not_charged() -> None:
    """A copied plan cannot make two statistics about the same rows cost as much as one."""
    clamped = "statistic: sum, column: age, bound: sum, unit_bounds: [0, 9]"
    every = "  - {name: a, statistic: count, epsilon: 1}\n"
    plans = {
        "no condition": planned(every + every.replace("a,", "b,")),
        "common rows": planned(entry("a", "age: {max: 4}") + entry("b", "age: {min: 4}")),
        "another column": planned(entry("a", "sex: f") + entry("b", "sex: m")),
        "clamped totals": planned(
            entry("a", "sex: f", statistic=clamped) + entry("b", "sex: m"),
            "{column: who, max_rows: 1}",
        ),
    }
    for name, plan in plans.items():
        column = "age" if name == "another column" else ("sex", "age")[name == "common rows"]
        branches = ((column, 0), (column, 1))
        forged = replace(
            plan,
            statistics=tuple(
                replace(statistic, branch=branch)
                for statistic, branch in zip(plan.statistics, branches, strict=True)
            ),
        )
        with pytest.raises(ValueError, match="branch"):
            charge_for(forged, "id")
        charge_for(plan, "id")


def test_branches_need_units_with_one_row() -> None:
    """The same branches are refused for people who may be in several of them."""
    entries = entry("a", "sex: f") + entry("b", "sex: m")
    one, two = (planned(entries, f"{{column: who, max_rows: {rows}}}") for rows in (1, 2))
    require_disjoint(one.statistics)
    branches = [statistic.branch for statistic in one.statistics]
    forged = [
        replace(statistic, branch=branch)
        for statistic, branch in zip(two.statistics, branches, strict=True)
    ]
    with pytest.raises(ValueError, match="branch"):
        require_disjoint(forged)


def test_only_entries_that_use_one_row_of_a_person_are_in_branches() -> None:
    """The limit of the entry decides, whatever that of the unit is."""
    two = "statistic: count, max_rows: 2"
    one = "statistic: count, max_rows: 1"
    for unit, first, second, epsilon in (
        ("{column: who, max_rows: 2}", one, one, 1),
        ("{column: who, max_rows: 2, max_groups: 1, max_rows_per_group: 1}", two, two, 2),
        ("{column: who, max_rows: 1}", two, one, 2),
        ("{column: who, max_rows: 1}", "statistic: count", two, 2),
    ):
        entries = entry("a", "sex: f", "1", first) + entry("b", "sex: m", "1", second)
        assert planned(entries, unit).cost.epsilon == epsilon


def test_only_ranges_that_hold_for_all_rows_make_branches() -> None:
    """A range within `any` makes none; one within `all`, and the opposite of a range, do."""
    for one, other, epsilon in (
        ("sex: f", "any: [{sex: m}, {age: 3}]", 2),
        ("any: [{sex: f}, {age: 3}]", "any: [{sex: m}, {age: 4}]", 2),
        ("sex: f", "not: {sex: f}", 1),
        ("sex: f", "not: {sex: m}", 2),
        ("sex: f", "not: {sex: f, age: 3}", 2),
        ("not: {any: [{sex: f}, {age: 3}]}", "sex: f", 1),
        ("all: [{sex: [f, m]}, {sex: [m, x]}]", "sex: [f, x]", 1),
        ("all: [{sex: [f, m]}, {sex: [m, x]}]", "sex: m", 2),
        ("age: {missing: true}", "age: {missing: false}", 2),
        ("age: {missing: true}", "age: {min: 4}", 2),
        ("age: {below: {column: other}}", "age: {above: {column: other}}", 2),
        ("city: [Rome]", "city: [Paris]", 2),
        ("city: [Rome]", "not: {city: [Rome]}", 2),
    ):
        plan = planned(entry("a", one) + entry("b", other))
        assert plan.cost.epsilon == epsilon, (one, other)


def test_ranges_that_a_filter_implies_hold_for_every_row_that_passes() -> None:
    """For random filters and all rows; and filters that ranges exclude pass no row."""
    spec = planned(entry("a", "sex: f")).spec
    age, sex, other = (column for column in spec.columns if column.name in ("age", "sex", "other"))
    random = Random(0)
    rows: list[Row] = [
        dict(zip((age, sex, other), cells, strict=True))
        for cells in product((*range(10), None), (0, 1, 2, None), (0, 5, None))
    ]
    found = 0
    for _ in range(200):
        test = filter_tree(random, (sex, other, age.without_missing_constant()))
        for outcome in (True, False):
            implied = test.implied(outcome=outcome)
            for row in rows:
                row[age.without_missing_constant()] = row[age]
                if truth(test, row) is outcome:
                    assert implied is not None
                    for column, ranges in implied.items():
                        value = row[column]
                        assert isinstance(value, int)
                        assert any(low <= value <= high for low, high in ranges)
            found += bool(implied)
    assert found > 100
