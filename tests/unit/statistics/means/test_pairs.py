"""Cells from differences and sums: where they are used, their errors and their intervals."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from dpcli.data.kinds import Axis
from dpcli.data.labels import PrivatePartitionColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.numeric.arrays import Ints, integer_array
from dpcli.planning.plan import PlannedStatistic
from dpcli.privacy.unit import PersonUnit, RowUnit
from dpcli.queries.paired import PairedQuery, paired
from dpcli.queries.query import LinearQuery
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import HAS_INTERVAL, Estimates
from dpcli.statistics.means.quotient import QuotientDesign
from tests.oracles.agreement import agreed
from tests.support import surveys
from tests.support.rules import for_each, mostly_extended
from tests.support.streams import Stream
from tests.support.surveys import CONFIDENCE, assert_covers, by_item, planned_statistic

SPEC = """
dpcli: 1
dataset: pairs
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 9, delta: 1e-5}}}}
{sample}
columns:
  who: {{type: id}}
  s: {{type: category, values: [a, b]}}
  t: {{type: category, values: [a, b, c]}}
  w: {{type: integer, bounds: [0, 5]}}
  f: {{type: boolean}}
statistics: [{{name: n, statistic: {entry}}}]
"""


def planned(
    entry: str, neighbors: str = "change-one", unit: str = "row", sample: str = ""
) -> PlannedStatistic:
    """The statistic of a spec."""
    return planned_statistic(
        SPEC.format(entry=entry, neighbors=neighbors, unit=unit, sample=sample)
    )


def in_pairs(statistic: PlannedStatistic) -> bool:
    """Whether differences and sums of cells are answered, and not the cells."""
    (part,) = statistic.queries
    return isinstance(part.weighted.query, PairedQuery)


def released(statistic: PlannedStatistic, cells: Ints) -> Estimates:
    """Many releases of two cells."""
    exact = [cells[0] - cells[1], cells.sum()] if in_pairs(statistic) else cells
    return surveys.released(statistic, [exact], 10_000)


@for_each(
    ["proportion, column: s, values: a, epsilon: 1", "comparison, between: {s: [a, b]}, epsilon: 1"]
)
def test_pairs_are_for_two_cells_of_changed_rows(entry: str) -> None:
    """And for Laplace noise; a count without groups has a single cell."""
    gaussian = entry.replace("epsilon: 1", "epsilon: 1, mechanism: gaussian, delta: 1e-6")
    assert in_pairs(planned(entry, "change-one"))
    assert not in_pairs(planned(entry, "add-remove"))
    assert not in_pairs(planned(gaussian, "change-one"))


@for_each([("proportion, column: s, values: a, by: [t], epsilon: 1", "")])
def test_other_cells_are_answered_apart(case: tuple[str, str]) -> None:
    """Shares by groups have more cells."""
    entry, sample = case
    (query,) = planned(entry, sample=sample).queries
    assert not isinstance(query.weighted.query, PairedQuery)


@pytest.mark.parametrize("inside", mostly_extended([10, 200, 390], 10))
def test_shares_have_root_two_times_smaller_errors_and_intervals_that_hold(
    inside: int, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the share lies; 93 to 97% of intervals contain it, more where they are cut."""
    entry, cells = "proportion, column: s, values: a, epsilon: 1", np.array([400 - inside, inside])
    pairs = planned(entry)
    monkeypatch.setattr(QuotientDesign, "in_pairs", lambda *_: ())
    found, separate = (released(statistic, cells) for statistic in (pairs, planned(entry)))
    truth = inside / 400
    errors = [
        np.sqrt(np.mean((by_item(one, one.value, 1) - truth) ** 2)) for one in (found, separate)
    ]
    assert errors[1] / errors[0] == pytest.approx(sqrt(2), rel=0.04)
    assert (found.status == HAS_INTERVAL).all()
    assert_covers(found, truth)


@for_each(
    [
        ("numerator: rows, denominator: f", Fraction(4)),
        ("numerator: f, denominator: rows", Fraction(1, 4)),
    ]
)
def test_either_part_of_a_ratio_may_be_all_rows(case: tuple[str, Fraction]) -> None:
    """Of 400 rows, the boolean of 100 is true."""
    parts, expected = case
    statistic = planned(f"ratio, {parts}, epsilon: 20")
    assert in_pairs(statistic)
    answer = NoisyAnswer(integer_array([200, 400]), statistic.noises[0])
    found = statistic.design.estimate([answer], CONFIDENCE)

    assert found.value[0] * found.step == expected
    assert found.lower[0] <= found.value[0] <= found.upper[0]


@pytest.mark.parametrize("cells", mostly_extended([(900, 1100), (300, 20)], (300, 20)))
def test_compared_groups_have_root_two_times_smaller_errors_and_intervals_that_hold(
    cells: tuple[int, int], stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both numbers, their difference and the index; 94 to 97% of intervals contain each."""
    entry, (first, second) = "comparison, between: {s: [a, b]}, epsilon: 0.1", cells
    statistics = [planned(entry)]
    assert in_pairs(statistics[0])
    monkeypatch.setattr(QuotientDesign, "in_pairs", lambda *_: ())
    statistics.append(planned(entry))
    truth = np.array([first, second, second - first, 100 * second / first])
    errors = []
    for statistic in statistics:
        found = released(statistic, np.array(cells))
        errors.append(np.sqrt(((by_item(found, found.value, 4) - truth) ** 2).mean(axis=0)))
        assert_covers(found, truth, 0.94)
    gains = errors[1] / errors[0]
    assert gains[:3] == pytest.approx(sqrt(2), rel=0.05)
    # An index has larger errors than its noise where the first number is small.
    assert gains[3] > 1.25


def test_exact_answers_are_those_of_the_oracle(tmp_path: Path) -> None:
    """With missing cells, an odd number of groups, filters and limits on people."""
    axis = Axis(IntegerColumn("g", bounds=(0, 2)), range(3))
    lines = [f"p{index // 3},{'012x'[index % 4]}" for index in range(50)]
    for unit in (RowUnit(), PersonUnit("who", 3, 3, 3)):
        query = paired(LinearQuery(by=(axis,)))
        assert query.cells == 4
        agreed([query], "\n".join(["who,g", *lines, ""]), tmp_path, unit)


@pytest.mark.parametrize("cells", [2, 3])
@pytest.mark.parametrize("largest", [(1 << 53) + 1, (1 << 62) - 1, 1 << 70])
def test_differences_and_sums_of_large_totals_are_exact(cells: int, largest: int) -> None:
    """No total is rounded to a float."""
    query = paired(LinearQuery(by=(Axis(IntegerColumn("g", bounds=(0, cells - 1)), range(cells)),)))
    answer = query.combined(integer_array([largest, 1, 2][:cells]))
    assert answer.dtype in (np.int64, object)
    assert answer.tolist() == [largest - 1, largest + 1, 2, 2][: query.cells]


@pytest.mark.parametrize("composition", ["zcdp", "pld"])
def test_separate_cells_are_answered_where_rho_counts(composition: str) -> None:
    """Pairs have less noise at the same epsilon alone: they would cost twice the rho."""
    text = SPEC.replace("1e-5}}}}\n", f"1e-5}}}}, composition: {composition}}}}}\n")
    assert text != SPEC
    for entry in (
        "proportion, column: s, values: a, epsilon: 1",
        "comparison, between: {s: [a, b]}, epsilon: 1",
    ):
        fields = {"entry": entry, "neighbors": "change-one", "unit": "row", "sample": ""}
        (query,) = planned_statistic(text.format(**fields)).queries
        assert not isinstance(query.weighted.query, PairedQuery)


def test_pairs_need_public_groups_and_the_same_rows() -> None:
    """Private groups are not known before they are selected."""
    private = Axis(PrivatePartitionColumn("g"))
    with pytest.raises(ValueError, match="private groups"):
        paired(LinearQuery(by=(private,)))
    with pytest.raises(ValueError, match="other query"):
        PairedQuery(of=LinearQuery(by=(Axis(IntegerColumn("g", bounds=(0, 1)), range(2)),)))
