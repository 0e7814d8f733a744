"""Rows in ranges around chosen quantiles: what a row changes, and what intervals follow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import ceil, floor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dpcli
from dpcli.data.kinds import Axis
from dpcli.data.number_columns import IntegerColumn
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.numeric.arrays import Array, Ints
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.planning.words.statistics import design_notes
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.quantiles import ranges
from dpcli.statistics.quantiles.ranges import NoisyRanges, RangesQuery
from tests.support.rules import mostly_extended
from tests.support.streams import Stream
from tests.support.surveys import planned_statistic

LAST = 1000
"""The last of the candidates 0, 1, ... of the intervals below."""

GROUPS = 3000
"""Groups of one kind; three standard errors of their share at 95% are 1.2 points."""

LEAST = 0.95 - 0.012
"""The stated share, less three standard errors."""

Values = Callable[[np.random.Generator, int], Ints]


def query(last: int, picks: int = 1, step: int = 1) -> RangesQuery:
    """The ranges around choices among the numbers from 0 to `last`, of which each is a class."""
    column = IntegerColumn("x", bounds=(0, last))
    classes = Axis(column, tuple(range(last + 1)))
    return RangesQuery(classes=classes, candidate_classes=range(0, last + 1, step), picks=picks)


def files(classes: int, rows: int) -> Iterator[Array]:
    """The counts of every small file."""
    for values in combinations_with_replacement(range(classes), rows):
        yield np.bincount(np.array(values, np.int64), minlength=classes)


@pytest.mark.parametrize(("last", "step", "picks"), [(5, 1, 1), (6, 2, 1), (4, 1, 2), (6, 3, 2)])
def test_a_row_changes_one_range_whatever_was_chosen(last: int, step: int, picks: int) -> None:
    """Over all choices and files, a row more adds one to one range, and ranges keep all rows."""
    asked = query(last, picks, step)
    known = range(len(asked.candidate_classes))
    most = 0
    for chosen in product(known, repeat=picks):
        earlier = [np.array(chosen)]
        for counts in files(last + 1, 3):
            before = asked.narrowed(counts, earlier)
            assert before.sum() == 3 and before.size == asked.cells_per_group
            for row in np.eye(last + 1, dtype=np.int64):
                change = np.abs(asked.narrowed(counts + row, earlier) - before)
                most = max(most, int(change.sum()))
    assert most == asked.row_contribution.high == 1


def test_ranges_end_around_each_choice() -> None:
    """A range ends at a chosen candidate, and 1, 2, 4, ... candidates below and above it."""
    (ends,) = query(20).ends([np.array([10])])
    assert ends.tolist() == [0, 0, 2, 6, 8, 9, 10, 11, 12, 13, 15, 19, 21, 21]
    (ends,) = query(20, step=10).ends([np.array([1])])
    assert ends.tolist() == [0, 0, 0, 10, 11, 21, 21, 21]


# What intervals contain.


def lognormal(draw: np.random.Generator, rows: int) -> Ints:
    """Incomes."""
    return np.clip(draw.lognormal(5.5, 0.7, (GROUPS, rows)), 0, LAST).astype(np.int64)


def even(draw: np.random.Generator, rows: int) -> Ints:
    """Any candidate."""
    return draw.integers(0, LAST + 1, (GROUPS, rows))


def shared(draw: np.random.Generator, rows: int) -> Ints:
    """Seven values."""
    return draw.choice(np.arange(100, 800, 100), (GROUPS, rows))


def two_parts(draw: np.random.Generator, rows: int) -> Ints:
    """A half is small, with one row more, and a half is large."""
    values = draw.integers(800, 900, (GROUPS, rows))
    values[:, : rows // 2 + 1] = draw.integers(100, 200, (GROUPS, rows // 2 + 1))
    return values


KINDS: list[Values] = [lognormal, even, shared, two_parts]


def coverage(
    values: Values,
    rows: int,
    scale: int,
    confidence: Fraction = Fraction(19, 20),
    quantile: Fraction = Fraction(1, 2),
) -> float:
    """How often the interval contains the quantile, for choices that miss by a few candidates."""
    draw, groups = np.random.default_rng(rows * scale), IntegerColumn("g", bounds=(0, GROUPS - 1))
    asked = replace(query(LAST), by=(Axis(groups, tuple(range(GROUPS))),))
    drawn = np.sort(values(draw, rows), axis=1)
    low, high = drawn[:, ceil(quantile * rows) - 1], drawn[:, floor(quantile * rows)]
    picks = [np.clip(low + draw.integers(-3, 4, GROUPS), 0, LAST)]
    counts = np.stack([np.bincount(group, minlength=LAST + 1) for group in drawn])
    exact, decay = asked.narrowed(counts, picks), 1 - np.exp(-1 / scale)
    noisy = exact + draw.geometric(decay, exact.size) - draw.geometric(decay, exact.size)
    found = NoisyRanges.of(asked, picks, noisy, DiscreteLaplace(Fraction(scale)))
    lowest, highest = found.plausible(quantile, confidence)
    return float(((lowest <= high) & (highest >= low)).mean())


SETTINGS = [*product(KINDS, (30, 101, 1000), (2, 10))]


@pytest.mark.parametrize(
    ("values", "rows", "scale"), mostly_extended(SETTINGS, *SETTINGS[::5], unpack=True)
)
def test_intervals_hold_at_least_as_often_as_stated(values: Values, rows: int, scale: int) -> None:
    """In groups of few and of many rows, wherever they lie, with little and with much noise."""
    assert coverage(values, rows, scale) >= LEAST


@pytest.mark.parametrize("quantile", ["0.01", "0.5"])
@pytest.mark.parametrize("percent", [50, 70, 80])
def test_intervals_hold_as_often_as_stated_at_less_confidence(quantile: str, percent: int) -> None:
    """Where more misses are allowed, both ends miss, and margins are wider for that."""
    error = 3 * (percent * (100 - percent) / GROUPS) ** 0.5
    held = coverage(two_parts, 300, 10, Fraction(percent, 100), Fraction(quantile))
    assert held >= (percent - error) / 100


@pytest.mark.parametrize("percent", [50, 95])
def test_most_groups_without_rows_have_all_classes_at_any_confidence(percent: int) -> None:
    """Noise alone seldom looks like rows, also where intervals may miss often."""
    draw, asked, decay = np.random.default_rng(percent), query(LAST), 1 - np.exp(-1 / 10)
    ends = np.repeat(asked.ends([np.array([LAST // 2])]), GROUPS, axis=0)
    size = GROUPS, ends.shape[1] - 1
    noisy = (draw.geometric(decay, size) - draw.geometric(decay, size)).astype(np.float64)
    found = NoisyRanges(ends, noisy, DiscreteLaplace(Fraction(10)))
    lowest, highest = found.plausible(Fraction(1, 2), Fraction(percent, 100))
    assert ((lowest == 0) & (highest == LAST)).mean() >= LEAST


@pytest.mark.parametrize("share", [3, 5])
def test_margins_that_are_too_narrow_are_noticed(
    share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With margins for a third or half of the rows, intervals do not hold as often."""
    monkeypatch.setattr(ranges, "END_SHARE", Fraction(share))
    assert coverage(two_parts, 101, 10) < LEAST


SPEC = """
dpcli: 1
dataset: d
privacy: {{unit: row, neighbors: {neighbors}, budget: {{epsilon: 9}}}}
columns:
  g: {{type: category, values: [{labels}]}}
  x: {{type: integer, bounds: [0, 1000]}}
statistics: [{{name: asked, column: x, epsilon: 1, {entry}}}]
"""


def plan_of(entry: str, neighbors: str = "add-remove") -> CentralPlan:
    """A plan about a number from 0 to 1,000, with 400 groups."""
    labels = ", ".join(f"g{place}" for place in range(400))
    text = SPEC.format(neighbors=neighbors, labels=labels, entry=entry)
    return make_plan(parse_central_spec(text, "spec"))


FIVE = [0.1, 0.2, 0.5, 0.8, 0.9]


def released(entry: str, rows: pl.DataFrame, folder: Path) -> pl.DataFrame:
    """The published lines of the plan."""
    with dpcli.Ledger.create(folder / "l.sqlite") as ledger:
        return dpcli.release(plan_of(entry), rows, ledger=ledger, release_id="r").table


@pytest.mark.parametrize(
    "entry", ["statistic: median", "statistic: quantile, quantiles: [0.4], mechanism: exponential"]
)
def test_groups_without_rows_say_so_and_large_ones_have_intervals(
    entry: str, tmp_path: Path, stream: Stream
) -> None:
    """Of 200 groups without rows, most are no-information; of 2,000 rows with one value, none."""
    rows = pl.DataFrame({"g": np.repeat([f"g{place}" for place in range(200)], 2000), "x": 300})
    table = released(f"{entry}, by: [g]", rows, tmp_path)

    full, empty = table.head(200), table.tail(200)
    assert set(full["lower"]) == set(full["value"]) == set(full["upper"]) == {300}
    assert full["flag"].fill_null("").unique().to_list() == [""]
    assert (empty["flag"] == "no-information").sum() >= 0.95 * 200 - 10
    assert (table["lower"] <= table["value"]).all() and (table["value"] <= table["upper"]).all()


@pytest.mark.parametrize(
    ("entry", "shares"),
    [
        ("statistic: median, by: [g]", (53, 47)),
        ("statistic: median, by: [g], mechanism: permute_and_flip", (90, 10)),
        ("statistic: median", (90, 10)),
        ("statistic: min", (90, 10)),
        ("statistic: quantile, quantiles: [0.25, 0.75]", (45, 45, 10)),
        (f"statistic: quantile, quantiles: {FIVE}, mechanism: exponential", (90, 10)),
    ],
)
def test_ranges_have_their_part_of_the_loss(entry: str, shares: tuple[int, ...]) -> None:
    """The rest is for the choices, and nothing else is charged."""
    plan = plan_of(entry, "change-one")
    (planned,) = plan.statistics
    losses = [query.calibrated.loss.epsilon for query in planned.queries]

    assert losses == [Fraction(share, 100) for share in shares]
    assert plan.cost.epsilon == 1


@pytest.mark.parametrize("quantile", ["0.5", "0.9"])
def test_plans_say_how_many_rows_a_group_needs(
    quantile: str, tmp_path: Path, stream: Stream
) -> None:
    """With a fifth of these rows most intervals reach an end, and hardly any with twice as many."""
    entry = f"statistic: quantile, quantiles: [{quantile}], mechanism: permute_and_flip, by: [g]"
    (stated,) = re.findall(
        r"fewer than about ([\d,]+) rows", " ".join(design_notes(plan_of(entry)))
    )
    needed = int(stated.replace(",", ""))
    shares = []
    for part in (Fraction(1, 5), 2):
        size, draw = int(needed * part), np.random.default_rng(3)
        values = draw.integers(200, 801, 400 * size)
        groups = np.repeat([f"g{place}" for place in range(400)], size)
        folder = tmp_path / f"{size}"
        folder.mkdir()
        table = released(entry, pl.DataFrame({"g": groups, "x": values}), folder)
        shares.append(float(((table["lower"] == 0) | (table["upper"] == 1000)).to_numpy().mean()))
    assert shares[0] > 0.75 and shares[1] < 0.05


@pytest.mark.parametrize("composition", ["sequential", "advanced", "zcdp", "pld"])
def test_shares_of_a_budget_leave_intervals_their_part(composition: str) -> None:
    """A median by groups is counted, or ranges have the part that intervals need.

    The search for the largest shares keeps one mechanism of each entry, and its design.
    """
    statistic = planned_statistic(f"""
dpcli: 1
dataset: shares
privacy:
  unit: row
  neighbors: change-one
  composition: {composition}
  budget: {{epsilon: 1, delta: 1e-6}}
columns:
  g: {{type: category, values: [a, b, c]}}
  v: {{type: integer, bounds: [0, 100]}}
statistics:
  - {{name: m, statistic: median, column: v, by: [g], share: 1}}
""")
    *_, last = statistic.queries
    if last.weighted.supports:
        chosen, counted = (query.calibrated.loss.epsilon for query in statistic.queries)
        assert counted > Fraction(2, 5) * (chosen + counted)
