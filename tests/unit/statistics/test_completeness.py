"""What numbers count, as counts of first faults show: exact without noise, rarely wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
import pytest

from dpcli.data.column import BLANK, OUTSIDE, UNREADABLE
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import NO_NOISE, Noise
from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.planning.quality_check import losses_of
from dpcli.privacy.unit import PersonUnit
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import GroupLimits
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.quality.completeness import (
    ERROR_PROBABILITY,
    MISSING,
    POWER,
    Losses,
    is_complete,
    min_left_out,
    min_rows,
    shown_faults,
    units_to_show_complete,
)
from dpcli.statistics.quality.faults import CellFault, FaultOrder, FirstFaultQuery
from dpcli.statistics.quality.quality_counts import (
    FaultCounts,
    FaultNoises,
    fault_order,
    fewer_terms,
)
from tests.oracles.plain import People, _first_fault, _limited, read_people, truth
from tests.support.rules import mostly_extended

X, Y = IntegerColumn("x", bounds=(0, 9)), IntegerColumn("y", bounds=(0, 9))
UNREAD_X, UNREAD_Y, BEYOND_X = CellFault(X, UNREADABLE), CellFault(Y, UNREADABLE), CellFault(X, 1)
BLANK_X, BLANK_Y = CellFault(X, BLANK), CellFault(Y, BLANK)
WARD = GroupLimits((Axis(CategoryColumn("g", (("a", "a"), ("b", "b")))),), 1, 2)

CELLS = FaultOrder((UNREAD_X, UNREAD_Y, BEYOND_X), blanks=(BLANK_X, BLANK_Y))
PEOPLE = FaultOrder((UNREAD_X,), (4, 6, 18), (WARD,), (BLANK_X,))

RUNS = 2_000


def counted(
    order: FaultOrder, units: Mapping[Any, int], fine: int, public: bool = False
) -> FaultCounts:
    """Counts without noise: of cell faults, of limits, and of people by the start of their bin."""
    counts = [0] * len(order.labels)
    for fault, number in units.items():
        at = order.starts_at + order.starts.index(fault) if isinstance(fault, int) else None
        place = order.at(fault) if isinstance(fault, CellFault | GroupLimits) else at
        assert place is not None
        counts[place] = number
    counts[-1] = fine
    rows = NoisyAnswer(integer_array([sum(counts)]), NO_NOISE) if public else None
    return FaultCounts(order, NoisyAnswer(integer_array(counts), NO_NOISE), rows)


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize(
    ("units", "complete", "shown"),
    [
        ({}, True, None),
        ({UNREAD_X: 10}, True, None),
        ({UNREAD_X: 11}, False, [0]),
        ({UNREAD_X: 6, BEYOND_X: 4}, True, None),
        ({UNREAD_X: 6, BEYOND_X: 5}, False, [0, 2]),
        # A row that is counted at a fault of another column may have those of the entry too.
        ({UNREAD_Y: 10}, True, None),
        ({UNREAD_Y: 11}, False, None),
        ({UNREAD_X: 5, UNREAD_Y: 900}, False, None),
        # Faults after the last one of the entry leave out none of its rows.
        ({BLANK_X: 500, BLANK_Y: 400}, True, None),
    ],
    ids=str,
)
def test_without_noise_exactly_one_percent_of_the_rows_may_have_a_fault(
    units: dict[Any, int], complete: bool, shown: list[int] | None, public: bool
) -> None:
    """`yes` needs at most 1% with faults up to the entry's last one, `no` more with its own."""
    counts = counted(CELLS, units, 1000 - sum(units.values()), public)
    entry = Losses((UNREAD_X, BEYOND_X))

    assert is_complete(entry, counts) is complete
    share = Fraction(sum(units.values()), 1000)
    assert shown_faults(entry, counts) == (shown and (shown, share))


def test_blank_cells_that_are_not_allowed_are_faults_like_others() -> None:
    """They come last, so they are complete only if no other column has many faults."""
    entry = Losses((BLANK_X,))

    assert is_complete(entry, counted(CELLS, {BLANK_X: 10, BLANK_Y: 900}, 90))
    assert not is_complete(entry, counted(CELLS, {BLANK_X: 11}, 989))
    assert not is_complete(entry, counted(CELLS, {BEYOND_X: 11}, 989))


def test_faults_that_are_not_counted_are_unknown() -> None:
    """Nothing shows that they are few, and no number of units is enough."""
    order, noises = FaultOrder((UNREAD_Y,)), FaultNoises(2, NO_NOISE)
    counts = counted(order, {}, 10**6)
    clamped = Losses(uncounted=("the total of a person is clamped",))

    for entry in (Losses((UNREAD_X,)), clamped, Losses(max_rows=3, counts_people=False)):
        assert not is_complete(entry, counts)
        assert units_to_show_complete(entry, order, noises) is None
        assert shown_faults(entry, counts) is None


def test_numbers_that_can_lack_nothing_are_complete_in_every_file() -> None:
    """No counts are needed, and all others may have faults."""
    entry = Losses(counts_people=False, max_rows=3, possible_rows=3)

    assert entry.is_empty
    assert is_complete(entry, counted(PEOPLE, {UNREAD_X: 900, 18: 50}, 0))


@pytest.mark.parametrize(
    ("units", "complete"),
    [
        ({4: 10}, True),
        # A person with four or five rows lacks two at most, if three of them are kept.
        ({4: 500}, True),
        ({4: 501}, False),
        # From six rows on, all but three of the most possible seventeen may be missing.
        ({6: 71}, True),
        ({6: 72}, False),
        # People counted at an earlier fault may have as many rows.
        ({UNREAD_X: 58}, True),
        ({UNREAD_X: 59}, False),
        ({WARD: 90_000}, True),
    ],
    ids=str,
)
def test_of_limited_people_the_most_possible_rows_are_lost(
    units: dict[Any, int], complete: bool
) -> None:
    """Without cells or groups that matter, only the rows beyond the limit are missing."""
    entry = Losses(max_rows=3, possible_rows=17, counts_people=False)
    counts = counted(PEOPLE, units, 100_000 - sum(units.values()))

    assert is_complete(entry, counts) is complete


def test_without_a_declared_most_number_of_rows_a_limit_is_never_complete() -> None:
    """One person could have nearly all rows of the file."""
    entry = Losses(max_rows=3, counts_people=False)

    assert not is_complete(entry, counted(PEOPLE, {}, 10**9))
    assert not Losses(max_rows=3, possible_rows=4, counts_people=False).is_empty


def test_at_least_the_rows_above_the_starts_of_bins_are_left_out() -> None:
    """Each person has at least as many rows as the bin says, and no more than the limit is kept."""
    counts = counted(PEOPLE, {4: 30, 6: 20, 18: 10, UNREAD_X: 40}, 900)
    lost = 30 * 1 + 20 * 3 + 10 * 15

    assert min_left_out(3, counts, 0.05) == Fraction(lost, lost + 1000 * 3)
    assert min_left_out(18, counts, 0.05) == 0


@pytest.mark.parametrize("common", [99, -1, 0])
def test_a_public_total_takes_the_place_of_the_most_common_weight(common: int) -> None:
    """The sum stays the same for every file, with fewer noisy counts."""
    noises = FaultNoises(5, DiscreteLaplace(Fraction(9)), NO_NOISE)
    weights = {0: common, 1: common, 2: common, 3: 7, 5: 3}
    found = fewer_terms(weights, noises)
    for counts in np.random.default_rng(1).integers(0, 99, (20, 5)).tolist():
        numbers = [*counts, sum(counts)]
        before, after = (
            sum(weight * numbers[at] for at, weight in one.items()) for one in (weights, found)
        )
        assert before == after
    assert sum(found.get(at, 0) != 0 for at in range(5)) == 2 - (common == 0)


# What a unit lacks, by enumeration.

UNITS = (
    "max_rows: 2, possible_rows: 4",
    "max_rows: 1, possible_rows: 3",
    "max_rows: 3, possible_rows: 3",
    "max_rows: 3, max_groups: 1, possible_rows: 4",
    "max_rows: 2, max_groups: 1, possible_rows: 3",
    "max_rows: 3, max_groups: 2, max_rows_per_group: 1, possible_rows: 4",
    "max_rows: 3, max_groups: 1, max_rows_per_group: 1, possible_rows: 3",
    "max_rows: 3, max_groups: 3, max_rows_per_group: 2, possible_rows: 4, possible_groups: 2",
)
STATISTICS = (
    "statistic: count",
    "statistic: count, by: [g]",
    # All cells of this column are read.
    "statistic: count, by: [h]",
    "statistic: sum, column: x",
    "statistic: mean, column: x, by: [g]",
    "statistic: histogram, column: g",
)
ROWS = ("7,a,a", "7,b,b", "x,a,a", ",b,z", "7,z,b")
"""Cells of `x`, `g` and `h`: a fine row, a row of another group, and rows with a fault."""


def plan_of(unit: str, statistic: str, other: str = "statistic: count") -> CentralPlan:
    """A plan with a check, an entry of interest and another one."""
    return make_plan(
        parse_central_spec(
            "dpcli: 1\ndataset: d\n"
            f"privacy: {{unit: {unit}, neighbors: add-remove, budget: {{epsilon: 99}}}}\n"
            "quality: {epsilon: 1, min_rows: 10}\n"
            "columns:\n  id: {type: id}\n  x: {type: integer, bounds: [0, 9]}\n"
            "  g: {type: category, values: [a, b]}\n"
            "  h: {type: category, values: [a, b], other: b, missing: a}\n"
            f"statistics:\n  - {{name: n, {statistic}, epsilon: 1}}\n"
            f"  - {{name: other, {other}, epsilon: 1}}\n",
            "spec.yaml",
        )
    )


@pytest.mark.parametrize("unit", mostly_extended(UNITS, UNITS[-1]))
@pytest.mark.parametrize("statistic", STATISTICS)
def test_no_person_lacks_more_rows_than_the_weight_of_the_first_fault(
    statistic: str, unit: str
) -> None:
    """Of all people with few rows, whichever rows are kept: their own rows that are not counted.

    A row with a fault of the entry is not in its numbers, or not as it is in the file.
    """
    plan = plan_of(f"{{column: id, {unit}}}", statistic, "statistic: sum, column: x, by: [g]")
    planned, whose, possible = plan.statistics[0], plan.spec.privacy.unit, plan.spec.possible.rows
    assert isinstance(whose, PersonUnit)
    assert plan.quality is not None
    assert possible is not None
    lost, order = losses_of(planned, plan.spec), fault_order(plan.quality.entry.inputs)
    weights = lost.weights(order)
    assert weights is not None
    entry, check = planned.queries[0].weighted.query, plan.quality.queries[0].weighted.query
    assert isinstance(check, FirstFaultQuery)
    # All orders of the priorities of rows are orders of the rows.
    persons = [rows for size in range(1, possible + 1) for rows in product(ROWS, repeat=size)]
    lines = [f"{at},{row}\n" for at, rows in enumerate(persons) for row in rows]
    data = f"id,x,g,h\n{''.join(lines)}".encode()
    people: People = read_people([check, entry], data, whose, lambda _, number: number)
    reached = dict.fromkeys(weights, 0)
    groups = [axis.column for axis in entry.axes]
    for rows in people:
        # The file of a spec with `possible_groups` has no person with more of them.
        known = {row[column] for _, row in rows for column in groups} - {None}
        if len(known) > (plan.spec.possible.groups or len(known)):
            continue
        kept = _limited(entry, rows, whose)
        good = [row for _, row in kept if not any(truth(fault.test, row) for fault in lost.cells)]
        # An entry that counts people counts those who lack some rows.
        lacks = min(len(rows) - len(good), 1 if lost.counts_people else len(rows))
        first = _first_fault(check.faults, rows, whose)
        assert lacks <= weights.get(first, 0), (rows, first)
        if first in reached:
            reached[first] = max(reached[first], lacks)

    # Some person lacks at least half of that.
    assert not lost.positions(order) or any(2 * reached[at] >= weights[at] > 0 for at in reached)


# With noise.

NOISES = [DiscreteLaplace(Fraction(10)), DiscreteGaussian(Fraction(200))]


def scaled(units: Mapping[Any, int], noise: Noise) -> dict[Any, int]:
    """The numbers of a file for a scale of ten, for the scale of this noise."""
    return {fault: number * int(noise.scale) // 10 for fault, number in units.items()}


def noisy(counts: FaultCounts, noise: Noise, runs: int = RUNS) -> Iterator[FaultCounts]:
    """The counts with new noise, many times; a public number of rows stays as it is."""
    exact = counts.counts.values
    draws = np.array(noise.sample(runs * len(exact))).reshape(runs, -1)
    for drawn in draws:
        answer = NoisyAnswer(integer_array(exact + drawn), noise)
        yield FaultCounts(counts.order, answer, counts.rows)


def most(probability: float, runs: int = RUNS) -> float:
    """The most occurrences of an event with this probability, plus five standard errors."""
    return runs * probability + 5 * sqrt(runs * probability * (1 - probability))


ENTRY = Losses((UNREAD_X, BEYOND_X))
SOME = Losses((UNREAD_X, BEYOND_X), some_rows=True)
LIMITED = Losses((UNREAD_X,), (WARD,), 3, 17, counts_people=False)


@pytest.mark.extended
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("noise", NOISES, ids=["laplace", "gaussian"])
@pytest.mark.usefixtures("stream")
def test_yes_is_rarely_said_where_just_over_one_percent_is_missing(
    noise: Noise, public: bool
) -> None:
    """Of rows, and of people with limits, with the error probability that is stated."""
    size = int(noise.scale) // 10
    rows = counted(CELLS, scaled({UNREAD_X: 60, BEYOND_X: 41}, noise), 9_899 * size, public)
    units = scaled({4: 80, 6: 3, WARD: 1, UNREAD_X: 3}, noise)
    people = counted(PEOPLE, units, 51_000 * size, public)
    for entry, counts in ((ENTRY, rows), (LIMITED, people)):
        weights = entry.weights(counts.order) or {}
        exact = counts.counts.values.tolist()
        lacks = sum(weight * exact[at] for at, weight in weights.items())
        assert MISSING < Fraction(lacks, sum(exact)) < MISSING * Fraction(11, 10)
        wrong = sum(is_complete(entry, one) for one in noisy(counts, noise))

        assert 0 < wrong <= most(ERROR_PROBABILITY)


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("noise", NOISES, ids=["laplace", "gaussian"])
@pytest.mark.usefixtures("stream")
def test_no_is_rarely_said_where_just_one_percent_has_a_fault(noise: Noise, public: bool) -> None:
    """Each fault alone and all together are tried, and share the error probability."""
    for units in ({UNREAD_X: 100}, {UNREAD_X: 50, BEYOND_X: 50}):
        counts = counted(CELLS, scaled(units, noise), 990 * int(noise.scale), public)
        shown = [shown_faults(ENTRY, one) for one in noisy(counts, noise)]
        wrong = sum(one is not None for one in shown)

        assert 0 < wrong <= most(ERROR_PROBABILITY)


@pytest.mark.extended
@pytest.mark.parametrize("noise", NOISES, ids=["laplace", "gaussian"])
@pytest.mark.parametrize("columns", [1, 2, 12])
@pytest.mark.usefixtures("stream")
def test_at_least_holds_for_the_faults_that_noise_chose(columns: int, noise: Noise) -> None:
    """The shown faults are those with the largest noisy counts, of one column or of many."""
    names = [IntegerColumn(f"x{at}", bounds=(0, 9)) for at in range(columns)]
    faults = tuple(CellFault(column, UNREADABLE) for column in names)
    units = scaled(dict.fromkeys(faults, 90), noise)
    counts = counted(FaultOrder(faults), units, 300 * int(noise.scale))
    exact, total = counts.counts.values, int(counts.counts.values.sum())
    wrong = found = 0
    for one in noisy(counts, noise):
        if (found_faults := shown_faults(Losses(faults), one)) is not None:
            positions, share = found_faults
            wrong += share > Fraction(int(exact[positions].sum()), total)
            found += 1

    assert found > RUNS / 2
    assert wrong <= most(ERROR_PROBABILITY)


@pytest.mark.parametrize("noise", NOISES, ids=["laplace", "gaussian"])
@pytest.mark.usefixtures("stream")
def test_at_least_holds_for_rows_that_a_limit_leaves_out(noise: Noise) -> None:
    """Where each person has no more rows than the bin says, which is the worst case."""
    files: list[dict[int, int]] = [{}, {4: 30, 6: 200, 18: 1}, {18: 400}]
    for units in files:
        counts = counted(PEOPLE, scaled(units, noise), 300 * int(noise.scale))
        lost = sum(number * (start - 3) for start, number in units.items())
        share = Fraction(lost, lost + 3 * (3_000 + sum(units.values())))
        found = [min_left_out(3, one, ERROR_PROBABILITY) for one in noisy(counts, noise)]

        assert sum(one > share for one in found) <= most(ERROR_PROBABILITY)
        if units == {18: 400}:
            assert np.median([float(one) for one in found]) > 0.8 * float(share)


@pytest.mark.extended
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("noise", NOISES, ids=["laplace", "gaussian"])
@pytest.mark.usefixtures("stream")
def test_yes_is_usual_from_the_stated_number_of_units_on(noise: Noise, public: bool) -> None:
    """If nothing is missing, and hardly more often than stated."""
    for entry, order in ((ENTRY, CELLS), (LIMITED, PEOPLE)):
        noises = FaultNoises(len(order.labels), noise, NO_NOISE if public else None)
        units = units_to_show_complete(entry, order, noises)
        assert units is not None
        for factor, least, greatest in ((1, POWER, 0.95), (Fraction(1, 4), 0, POWER)):
            counts = counted(order, {}, int(units * factor), public)
            share = sum(is_complete(entry, one) for one in noisy(counts, noise)) / RUNS
            assert least - 5 * sqrt(0.09 / RUNS) <= share <= greatest + 5 * sqrt(0.09 / RUNS)


@pytest.mark.parametrize("noise", NOISES, ids=["laplace", "gaussian"])
@pytest.mark.usefixtures("stream")
def test_an_entry_of_some_rows_has_the_stated_power_too(noise: Noise) -> None:
    """Its own number of rows takes a part of the risk, so more units are stated for it."""
    noises, runs = FaultNoises(len(CELLS.labels), noise), 10 * RUNS
    stated = units_to_show_complete(ENTRY, CELLS, noises)
    units = units_to_show_complete(SOME, CELLS, noises)
    assert stated is not None
    assert units is not None
    assert units > stated
    counts = counted(CELLS, {}, units)
    share = sum(is_complete(SOME, one, units) for one in noisy(counts, noise, runs)) / runs
    assert POWER - 3 * sqrt(0.09 / runs) <= share


def test_five_percent_are_shown_from_98_scales_on(stream: object) -> None:
    """In nine of ten checks, for one column and Laplace noise of this scale."""
    del stream
    noise, order = NOISES[0], FaultOrder((UNREAD_X,))
    rows = 98 * int(noise.scale)
    counts = counted(order, {UNREAD_X: rows // 20}, rows - rows // 20)
    shown = sum(shown_faults(Losses((UNREAD_X,)), one) is not None for one in noisy(counts, noise))
    assert shown / RUNS >= POWER - 5 * sqrt(0.09 / RUNS)


def losses_under(entry: str, unit: str = "row", columns: str = "") -> Losses:
    """What may be lacking from the one entry of a spec."""
    text = (
        "dpcli: 1\ndataset: d\n"
        f"privacy: {{unit: {unit}, neighbors: add-remove, budget: {{epsilon: 9, delta: 1e-6}}}}\n"
        "columns:\n  x: {type: integer, bounds: [0, 9]}\n  y: {type: integer, bounds: [0, 9]}\n"
        f"{columns}statistics: [{{name: n, {entry}, epsilon: 1}}]\n"
    )
    plan = make_plan(parse_central_spec(text, "spec.yaml"))
    return losses_of(plan.statistics[0], plan.spec)


@pytest.mark.parametrize(
    ("where", "misled"),
    [
        ("{x: {min: 3}}", ""),
        ("{x: {below: 9}}", ""),
        ("{x: {min: 3, max: 8}}", ""),
        ("{x: {min: {column: y}}}", "xy"),
        # A value of 12 is clamped to 9, and one of -3 to 0, in a range that neither is in.
        ("{x: {min: 3, max: 9}}", "x"),
        ("{x: {above: 2, below: 10}}", "x"),
        ("{x: {min: 0}}", "x"),
        ("{x: [0, 4]}", "x"),
        ("{x: [2, 4]}", ""),
        ("{not: {x: {below: 1}}, y: {above: 4}}", ""),
        ("{any: [{x: {max: 0}}, {y: {max: 9}}]}", "y"),
        ("{both: {min: 4}}", "xy"),
        ("{high: true}", ""),
        ("{edge: true}", "x"),
    ],
)
def test_values_outside_bounds_matter_where_the_clamped_value_decides(
    where: str, misled: str
) -> None:
    """A stated end at a bound, a comparison, or a derived value may hold for it alone."""
    columns = (
        "derive:\n  both: {sum: [x, y]}\n  high: {is: {x: {min: 5}}}\n"
        "  edge: {is: {x: {min: 5, max: 9}}}\n"
    )
    lost = losses_under(f"statistic: count, where: {where}", columns=columns)

    found = {fault.column.name for fault in lost.cells if fault.state == OUTSIDE}
    assert found == set(misled)


def test_faults_in_the_rows_of_a_condition_count_against_these_rows_alone() -> None:
    """One fault in a thousand rows may be in the fifty that the condition keeps."""
    entry, one = Losses((UNREAD_X,), some_rows=True), counted(CELLS, {UNREAD_X: 1}, 999)

    assert is_complete(entry, one, min_rows=100)
    assert not is_complete(entry, one, min_rows=99)
    assert not is_complete(entry, one)
    assert is_complete(Losses((UNREAD_X,)), one)


@pytest.mark.parametrize(
    ("entry", "unit", "some"),
    [
        ("statistic: mean, column: x", "row", False),
        ("statistic: mean, column: x, where: {y: {min: 3}}", "row", True),
        ("statistic: count, by: [g]", "row", False),
        ("statistic: count, by: [g], where: {g: [a]}", "row", True),
        ("statistic: comparison, between: {g: [a, b]}", "row", True),
        ("statistic: comparison, between: {t: [false, true]}", "row", False),
        ("statistic: mean, column: x, by: [h]", "row", True),
        ("statistic: mean, column: x, where: {y: {min: 3}}", "{column: p, max_rows: 2}", True),
    ],
)
def test_an_entry_uses_some_rows_if_a_condition_or_allowed_blanks_exclude_others(
    entry: str, unit: str, some: bool
) -> None:
    """Then counts of all rows do not show how many faults are in its own."""
    columns = (
        "  g: {type: category, values: [a, b, c]}\n  p: {type: id}\n  t: {type: boolean}\n"
        "  h: {type: category, values: [a, b], missing: drop}\n"
    )
    assert losses_under(entry, unit, columns).some_rows is some


@pytest.mark.parametrize("noise", NOISES)
def test_the_rows_of_an_entry_are_rarely_fewer_than_the_bound(noise: Noise) -> None:
    """The bound of several counts together exceeds their sum no more often than stated."""
    query, risk = LinearQuery(), 0.05
    exact = integer_array([40, 0, 7])
    above = sum(
        (min_rows([query], [NoisyAnswer(exact + noise.sample(3), noise)], risk) or 0) > 47
        for _ in range(RUNS)
    )

    assert above / RUNS <= risk + 5 * sqrt(risk * (1 - risk) / RUNS)


def test_groups_below_a_threshold_are_not_counted_as_missing() -> None:
    """So an entry with private groups is never called complete."""
    columns = "  g: {type: category}\n"
    lost = losses_under("statistic: count, by: [g], keys: private, delta: 1e-7", columns=columns)

    assert lost.uncounted == ("groups below the threshold are not in these numbers",)


@pytest.mark.parametrize(("unit", "is_fault"), [("row", True), ("{column: p, max_rows: 1}", False)])
def test_a_broken_record_is_a_fault_of_columns_that_read_all_cells(
    unit: str, is_fault: bool
) -> None:
    """It is a row if rows are the unit, and none of a person if people are."""
    columns = "  p: {type: id}\n  g: {type: category, values: [a, b], other: rest}\n"
    lost = losses_under("statistic: count, by: [g]", unit, columns)
    unread = {fault.column.name for fault in lost.cells if fault.state == UNREADABLE}

    assert unread == ({"g"} if is_fault else set())
