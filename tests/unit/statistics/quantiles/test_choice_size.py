"""A choice is flagged where, by a noisy count, it was made from too few rows."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from pathlib import Path

import polars as pl
import pytest

import dpcli
from dpcli.noise.distribution import one_sided_width
from dpcli.numeric.arrays import integer_array, np
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.planning.words.statistics import design_notes
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.choices.candidates import SIZE_SHARE
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.postprocessing import FLAGS, IMPRECISE_SHARE, Flag, flags
from tests.support.rules import mostly_extended
from tests.support.streams import Stream

SIDE = 80
"""Groups are pairs of labels: this many of each, and half of the pairs are empty."""

CHOICES = {
    "mode": "statistic: mode, column: s, mechanism: permute_and_flip",
    "top_k": "statistic: top_k, column: s, k: 2, mechanism: permute_and_flip",
    "recursion": (
        "statistic: quantile, column: x, quantiles: [0.1, 0.2, 0.4, 0.5, 0.7, 0.9], "
        "mechanism: permute_and_flip"
    ),
    "accuracy": "statistic: choose, column: x, candidates: [2, 5], utility: accuracy, label: t",
    "revenue": "statistic: choose, column: x, candidates: [2, 5], utility: revenue",
}
"""Every choice without an interval, by a name."""

LARGEST = {"revenue": 5}
"""What a row adds to a score at most, where that is not one."""

each_choice = pytest.mark.parametrize("name", CHOICES)
WITHOUT_RECURSION = [
    pytest.param(name, marks=pytest.mark.extended) if name == "recursion" else name
    for name in CHOICES
]
"""Thousands of recursive choices take long."""


def plan_of(
    entry: str, neighbors: str = "add-remove", missing: str = "", composition: str = ""
) -> CentralPlan:
    """The plan of one entry, about 6,400 groups if it has `by: [g, h]`."""
    labels = {name: ", ".join(f"{name}{at}" for at in range(SIDE)) for name in "gh"}
    rule = f", composition: {composition}" if composition else ""
    return make_plan(
        parse_central_spec(
            f"""
dpcli: 1
dataset: sizes
privacy: {{unit: row, neighbors: {neighbors}, budget: {{epsilon: 9, delta: 1e-6}}{rule}}}
columns:
  g: {{type: category, values: [{labels["g"]}]}}
  h: {{type: category, values: [{labels["h"]}]}}
  x: {{type: integer, bounds: [0, 10]{missing}}}
  s: {{type: category, values: [a, b, c]}}
  t: {{type: boolean}}
statistics: [{{name: asked, {entry}}}]
""",
            "sizes",
        )
    )


def grouped(name: str, epsilon: str = "4") -> CentralPlan:
    """The plan of a choice in every group."""
    return plan_of(f"by: [g, h], epsilon: {epsilon}, {CHOICES[name]}")


def stated(plan: CentralPlan, name: str) -> tuple[Fraction, int]:
    """The stated error in rows, and the one-sided width of the noise of the size."""
    (planned,) = plan.statistics
    *choices, size = planned.queries
    error = max(query.error(plan.spec.confidence) for query in choices)
    return error / LARGEST.get(name, 1), one_sided_width(size.calibrated.noise, 0.05)


def released_flags(plan: CentralPlan, rows: int, folder: Path) -> tuple[list[str], list[str]]:
    """The flags of empty groups, and of groups with this many rows; the table has other rows."""
    half = SIDE // 2
    table = pl.DataFrame(
        {
            "g": np.repeat([f"g{at}" for at in range(half)], SIDE * rows),
            "h": np.tile(np.repeat([f"h{at}" for at in range(SIDE)], rows), half),
        }
    ).with_columns(
        x=pl.int_range(pl.len()) % 11,
        s=pl.lit("b"),
        t=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("true")).otherwise(pl.lit("false")),
    )
    # Rows without a value are not what the choice is about.
    blank = {"x": pl.lit(None, pl.Int64), "s": pl.lit(""), "t": pl.lit("")}
    missing = pl.concat([table.head(1)] * 500).with_columns(
        g=pl.lit(f"g{SIDE - 1}"), h=pl.lit(f"h{SIDE - 1}"), **blank
    )
    with dpcli.Ledger.create(folder / "sizes.sqlite") as ledger:
        table = dpcli.release(
            plan, pl.concat([table, missing]), ledger=ledger, release_id="r"
        ).table
    empty = pl.col("g").str.slice(1).cast(pl.Int64) >= half
    return (
        table.filter(empty)["flag"].fill_null("").to_list(),
        table.filter(~empty)["flag"].fill_null("").to_list(),
    )


@pytest.mark.parametrize(
    "name", mostly_extended(CHOICES, *[name for name in CHOICES if name != "recursion"][::2])
)
def test_empty_groups_are_flagged_and_large_ones_are_not(
    name: str, tmp_path: Path, stream: Stream
) -> None:
    """Of 3,200 empty groups, 95% say no-information; of groups with 10 (e + w) rows, 5% a flag."""
    plan = grouped(name)
    error, width = stated(plan, name)

    empty, large = released_flags(plan, ceil(10 * (error + width)), tmp_path)

    # The last group has 500 rows, but none with a value.
    assert empty[-1] != Flag.NONE
    # Three standard deviations of 3,200 draws with a probability of 5%.
    assert empty.count(Flag.NO_INFORMATION) >= (0.95 - 0.0116) * len(empty)
    assert sum(flag != Flag.NONE for flag in large) <= 0.05 * len(large)


@each_choice
def test_the_flag_follows_from_the_noisy_size(name: str) -> None:
    """With n - w < e it is no-information, else with e above a quarter of n unreliable."""
    plan = plan_of(f"epsilon: 1, {CHOICES[name]}")
    (planned,) = plan.statistics
    error, width = stated(plan, name)
    *choices, size = planned.queries
    for rows in {0, 1, *range(ceil(error + width) - 2, ceil(error + width) + 3), ceil(4 * error),
                 ceil(4 * error) - 1, 10**6, 10**30, -(10**30)}:  # fmt: skip
        given = [
            NoisyAnswer(
                integer_array([0] * planned.entry.statistic.item_count(planned.entry.inputs)
                              if len(choices) == 1 else [0]),
                query.calibrated.noise,
            )
            for query in choices
        ]  # fmt: skip
        given.append(NoisyAnswer(integer_array([rows]), size.calibrated.noise))
        estimates = planned.design.estimate(given, plan.spec.confidence)
        expected = Flag.NONE
        if error > IMPRECISE_SHARE * rows:
            expected = Flag.UNRELIABLE
        if rows - width < error:
            expected = Flag.NO_INFORMATION
        assert {FLAGS[at] for at in flags(estimates)} == {expected}, rows


@pytest.mark.parametrize("composition", ["sequential", "zcdp", "advanced"])
@each_choice
def test_choices_and_size_share_the_loss_of_the_entry(name: str, composition: str) -> None:
    """The size has its share of epsilon or rho, the choices the rest, and no more is charged."""
    amount = "rho: 0.1" if composition == "zcdp" else "epsilon: 1"
    plan = plan_of(f"by: [g], {amount}, {CHOICES[name]}", composition=composition)
    (planned,) = plan.statistics
    assert planned.queries[-1].calibrated.mechanism.name == "laplace"
    if composition == "zcdp":
        rhos = [query.calibrated.guarantee.rho for query in planned.queries]
        assert sum(rhos) <= Fraction(1, 10) == planned.target.rho
        assert rhos[-1] <= SIZE_SHARE / 10
    else:
        # The noise itself proves it: L1 over the scale of every answer.
        losses = [
            query.calibrated.sensitivity.l1 / query.calibrated.noise.scale
            for query in planned.queries
        ]
        assert sum(losses) == planned.target.epsilon == 1
        assert losses[-1] == SIZE_SHARE
        assert [query.calibrated.loss.epsilon for query in planned.queries] == losses
    events = plan.charged_events
    assert [event.mechanism for event in events] == [
        query.calibrated.noise.kind for query in planned.queries
    ]
    assert [event.loss for event in events] == [query.calibrated.loss for query in planned.queries]


@pytest.mark.parametrize("name", ["recursion", "revenue"])
def test_a_public_size_costs_nothing(name: str) -> None:
    """If rows are changed and none is skipped, their number is exact, and choices get all."""
    entry = f"epsilon: 1, {CHOICES[name]}"
    (planned,) = plan_of(entry, "change-one", ", missing: 3").statistics
    *choices, size = planned.queries

    assert size.is_exact and size.calibrated.loss.epsilon == 0
    assert sum(query.calibrated.loss.epsilon for query in choices) == 1
    (skipping,) = plan_of(entry, "change-one").statistics
    assert skipping.queries[-1].calibrated.loss.epsilon == SIZE_SHARE


@pytest.mark.parametrize("name", WITHOUT_RECURSION)
def test_a_plan_states_from_which_size_on_nothing_is_flagged(
    name: str, tmp_path: Path, stream: Stream
) -> None:
    """Of groups of the stated size, 5% have a flag at most."""
    texts = " ".join(design_notes(grouped(name)))
    (stated_rows,) = (
        int(rows) for rows in re.findall(r"fewer than about (\d+) rows in a group there may", texts)
    )

    _, flagged = released_flags(grouped(name), stated_rows, tmp_path)

    assert sum(flag != Flag.NONE for flag in flagged) <= (0.05 + 0.0116) * len(flagged)


@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(999, 1000)])
def test_flags_do_not_follow_the_confidence_of_intervals(confidence: Fraction) -> None:
    """The same noisy sizes are flagged, whatever confidence a spec states."""
    planned = grouped("mode")
    design = planned.statistics[0].design
    found = []
    for stated in (confidence, Fraction(19, 20)):
        for size in range(0, 200, 5):
            answers = [
                NoisyAnswer(
                    np.full(
                        query.weighted.query.cells or 0, size if query.weighted.supports else 0
                    ),
                    query.calibrated.noise,
                )
                for query in planned.statistics[0].queries
            ]
            found.append(design.estimate(answers, stated).status.tolist())

    assert found[: len(found) // 2] == found[len(found) // 2 :]
