"""The quality check keeps its stated probabilities, and detects what it states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import pytest

from dpcli.mechanisms.mechanism import AdditiveMechanism
from dpcli.noise import entropy
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import one_sided_width
from dpcli.noise.sums import blended_margin
from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.planning.quality_check import FALSE_STOP, quality_result, required_minimums
from dpcli.privacy.confidential import Cells, Confidential
from dpcli.releasing.steps import check_quality
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.quality.quality_counts import counted_limits
from tests.support.permits import free_permit
from tests.support.rules import mostly_extended
from tests.support.streams import Stream

RUNS = 500
"""Runs at a threshold. Their random streams are fixed, so the tests are deterministic."""

ROWS = 100_000

UNITS = {
    "rows": ("row", "add-remove"),
    "rows, public size": ("row", "change-one"),
    "people": ("{column: who, max_rows: 3}", "add-remove"),
    "people, change-one": ("{column: who, max_rows: 3}", "change-one"),
}

QUALITIES = {
    "laplace": "{epsilon: 0.1, min_rows: 100000, min_readable: 0.8}",
    "gaussian": "{epsilon: 0.1, delta: 1e-6, mechanism: gaussian, min_rows: 100000, "
    "min_readable: 0.8}",
    "shares": "{epsilon: 0.1, min_readable: {age: 0.95, sex: 0.5, day: 0.1}}",
}


def plan_of(quality: str, unit: str = "row", neighbors: str = "add-remove") -> CentralPlan:
    """A plan with this quality check."""
    return make_plan(
        parse_central_spec(
            "dpcli: 1\ndataset: d\n"
            f"privacy: {{unit: {unit}, neighbors: {neighbors}, "
            "budget: {epsilon: 9, delta: 1e-3}}\n"
            f"quality: {quality}\n"
            "columns:\n"
            "  who: {type: id}\n"
            "  age: {type: integer, bounds: [0, 100]}\n"
            "  sex: {type: category, values: [f, m], missing: f}\n"
            "  day: {type: date}\n"
            "statistics: [{name: n, statistic: count, epsilon: 1}]\n",
            "spec.yaml",
        )
    )


def exact_counts(
    plan: CentralPlan, rows: int, shares: Sequence[Fraction]
) -> list[Confidential[Cells]]:
    """The sealed answers of a file with these rows and readable shares."""
    assert plan.quality is not None
    differences = [int((2 * share - 1) * rows) for share in shares]
    unit = plan.spec.privacy.unit
    asked = plan.engine_queries[: len(plan.quality.queries)]
    vectors = (
        [[rows, *differences]] if asked[0].cells != len(differences) else [differences, [rows]]
    )
    if counted_limits(plan.quality.entry.inputs):
        # All people have as many rows as the limits allow, or fewer.
        vectors.append([rows, *[0] * ((asked[-1].cells or 0) - 1)])
    return [
        Confidential(integer_array(vector), query, unit)
        for vector, query in zip(vectors, asked, strict=True)
    ]


def stops(plan: CentralPlan, rows: int, shares: Sequence[Fraction]) -> Iterator[bool]:
    """Whether the check stops each of many runs on such a file."""
    for _ in range(RUNS):
        checked = check_quality(plan, exact_counts(plan, rows, shares), free_permit())
        assert checked is not None
        yield bool(checked.reasons)


def thresholds(plan: CentralPlan) -> list[Fraction]:
    """The least shares of all checked columns."""
    assert plan.spec.quality is not None
    return list(plan.spec.quality.min_readable.values())


def most(probability: float, runs: int = RUNS) -> float:
    """The most occurrences of an event with this probability, plus five standard errors."""
    return runs * probability + 5 * sqrt(runs * probability * (1 - probability))


@pytest.mark.parametrize("quality", mostly_extended(QUALITIES, "laplace", "gaussian"))
@pytest.mark.parametrize("unit", mostly_extended(UNITS, "people"))
def test_a_file_at_every_minimum_is_rarely_stopped(
    unit: str, quality: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file exactly at all minimums is stopped in at most the stated share of runs."""
    monkeypatch.setattr(entropy, "source", Stream(f"{unit}/{quality}"))
    plan = plan_of(QUALITIES[quality], *UNITS[unit])

    stopped = sum(stops(plan, ROWS, thresholds(plan)))

    assert stopped <= most(float(FALSE_STOP))


@pytest.mark.parametrize("quality", mostly_extended(QUALITIES, "laplace", "shares"))
@pytest.mark.parametrize("unit", mostly_extended(UNITS, "rows"))
def test_a_file_that_misses_a_minimum_clearly_is_rarely_passed(
    unit: str, quality: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that misses a minimum by just over twice its margin passes as rarely as stated."""
    monkeypatch.setattr(entropy, "source", Stream(f"missed {unit}/{quality}"))
    plan = plan_of(QUALITIES[quality], *UNITS[unit])
    column = next(minimum for minimum in required_minimums(plan) if minimum.kind == "cells")
    shares = thresholds(plan)
    noticed = replace(column, rows=ROWS).detectable
    assert noticed is not None
    shares[0] = max(noticed - Fraction(1, ROWS // 2), Fraction(0))

    passed = RUNS - sum(stops(plan, ROWS, shares))

    assert passed <= most(float(FALSE_STOP))


def test_the_margin_is_not_larger_than_necessary(monkeypatch: pytest.MonkeyPatch) -> None:
    """With four fifths of each margin, files at the minimums are stopped too often."""
    monkeypatch.setattr(entropy, "source", Stream("power"))
    plan = plan_of(QUALITIES["laplace"])
    assert plan.quality is not None
    (part,) = plan.quality.queries
    minimums = list(required_minimums(plan))
    stopped = 0
    for _ in range(RUNS):
        (sealed,) = exact_counts(plan, ROWS, thresholds(plan))
        rows, *differences = part.calibrated.answer(sealed, free_permit()).value.tolist()
        smaller = [replace(minimum, margin=minimum.margin * Fraction(4, 5)) for minimum in minimums]
        readable = [Fraction(rows + difference, 2) for difference in differences]
        columns = dict(zip(thresholds_by_name(plan), readable, strict=True))
        stopped += any(
            minimum.is_missed(rows, columns.get(minimum.key[1], Fraction(rows)))
            for minimum in smaller
        )

    assert stopped > most(float(FALSE_STOP))


def thresholds_by_name(plan: CentralPlan) -> list[str]:
    """The names of all checked columns."""
    assert plan.spec.quality is not None
    return list(plan.spec.quality.min_readable)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(40), Fraction(700)])
def test_tails_bound_the_sampled_noise(
    kind: str, scale: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples exceed the one-sided width and the blended margin at most as often as stated."""
    monkeypatch.setattr(entropy, "source", Stream(f"tails {kind} {scale}"))
    plan = plan_of(QUALITIES[kind])
    assert plan.quality is not None
    mechanism = plan.quality.mechanism
    assert isinstance(mechanism, AdditiveMechanism)
    noise = (DiscreteLaplace if kind == "laplace" else DiscreteGaussian)(scale)
    draws = 8_000
    first, second = (
        mechanism.add_noise(noise, integer_array([0] * draws)).tolist() for _ in range(2)
    )
    for outside in (0.2, 0.01):
        width = one_sided_width(noise, outside)
        margin = blended_margin(noise, Fraction(3, 10), noise, Fraction(1, 2), outside)
        blend = [Fraction(3 * a + 5 * b, 10) for a, b in zip(first, second, strict=True)]
        assert sum(a > width for a in first) <= most(outside, draws)
        assert sum(b > margin for b in blend) <= most(outside, draws)
        # A smaller width is not enough, and the margin is at most a tenth too wide.
        assert noise.approximate_tail(width) > outside
        assert sum(b > margin * Fraction(9, 10) - 1 for b in blend) > draws * outside / 2


def test_the_check_is_charged_like_any_statistic() -> None:
    """Its loss is part of the total, and it is what a failed release costs."""
    plan = plan_of(QUALITIES["laplace"])

    assert plan.cost.epsilon == Fraction(11, 10)
    assert plan.quality_check_only.cost.epsilon == Fraction(1, 10)
    assert plan.quality_check_only.statistics == ()


def test_weights_leave_the_loss_of_the_check() -> None:
    """Statistics with weights get what the quality check leaves."""
    text = plan_of("{epsilon: 0.5, min_rows: 10}").spec.text
    plan = make_plan(parse_central_spec(text.replace("count, epsilon: 1", "count, share: 1"), "s"))

    assert plan.statistics[0].target.epsilon == Fraction(17, 2)
    assert plan.fits


def test_counts_without_noise_are_compared_exactly() -> None:
    """If the number of rows is public, one row too few is detected."""
    plan = plan_of("{epsilon: 0.1, min_rows: 1000}", *UNITS["rows, public size"])
    assert plan.quality is not None
    (part,) = plan.quality.queries

    assert part.is_exact
    for rows, missed in ((999, 1), (1000, 0)):
        answer = NoisyAnswer(integer_array([rows]), part.calibrated.noise)
        assert len(quality_result(plan, [answer]).reasons) == missed
