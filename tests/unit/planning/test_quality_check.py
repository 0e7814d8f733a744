"""The quality check keeps its stated probabilities, and detects what it states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from dpcli.noise import entropy
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.planning.quality_check import FALSE_STOP, required_minimums
from dpcli.privacy.confidential import Cells, Confidential
from dpcli.releasing.steps import check_quality
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.quality.quality_counts import FaultCounts, FaultNoises, fault_order
from tests.oracles.opened import queries_of
from tests.support.permits import free_permit
from tests.support.rules import mostly_extended
from tests.support.streams import Stream

RUNS = 500
"""Runs at a threshold. Their random streams are fixed, so the tests are deterministic."""

FEW = 150
"""Runs for each minimum of a check."""

ROWS = 100_000
"""The required number of units without a fault."""

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
    "shares": "{epsilon: 0.1, min_readable: {age: 0.95, sex: 0.6, pay: 0.5}}",
}


def plan_of(
    quality: str, unit: str = "row", neighbors: str = "add-remove", entry: str = ""
) -> CentralPlan:
    """A plan with this quality check, and statistics about three columns."""
    used = entry or "statistic: sum, column: age, weight: pay, by: [sex]"
    return make_plan(
        parse_central_spec(
            "dpcli: 1\ndataset: d\n"
            f"privacy: {{unit: {unit}, neighbors: {neighbors}, "
            "budget: {epsilon: 9, delta: 1e-3}}\n"
            f"quality: {quality}\n"
            "columns:\n"
            "  who: {type: id}\n"
            "  age: {type: integer, bounds: [0, 100]}\n"
            "  sex: {type: category, values: [f, m]}\n"
            "  pay: {type: integer, bounds: [0, 100]}\n"
            f"statistics: [{{name: n, {used}, epsilon: 1}}]\n",
            "spec.yaml",
        )
    )


@dataclass(frozen=True)
class File:
    """The units of a file: those without a fault, and those with each first fault by its label.

    `rows` are the rows that limits on people keep; by default one of each unit.
    """

    fine: int
    faults: Mapping[str, int] = field(default_factory=dict)
    rows: int | None = None

    @property
    def units(self) -> int:
        """The number of all units."""
        return self.fine + sum(self.faults.values())

    def sealed(self, plan: CentralPlan) -> list[Confidential[Cells]]:
        """The sealed answers to the queries of the check."""
        assert plan.quality is not None
        labels = fault_order(plan.quality.entry.inputs).labels
        assert set(self.faults) <= set(labels)
        counts = [self.faults.get(label, 0) for label in labels[:-1]] + [self.fine]
        asked = queries_of(plan)[: len(plan.quality.queries)]
        vectors = [counts, [self.units if self.rows is None else self.rows]]
        return [
            Confidential(integer_array(vector), query, plan.spec.privacy.unit)
            for vector, query in zip(vectors, asked, strict=False)
        ]


def stops(plan: CentralPlan, file: File, runs: int = RUNS) -> int:
    """How many of many runs on such a file the check stops."""
    stopped = 0
    for _ in range(runs):
        checked = check_quality(plan, file.sealed(plan), free_permit())
        assert checked is not None
        stopped += bool(checked.reasons)
    return stopped


def at_minimums(plan: CentralPlan) -> File:
    """The smallest file that meets all minimums exactly."""
    assert plan.spec.quality is not None
    lacking = {name: 1 - share for name, share in plan.spec.quality.min_readable.items()}
    units = ROWS / (1 - sum(lacking.values(), Fraction(0)))
    assert units.denominator == 1
    faults = {f"{name}: unreadable": int(share * units) for name, share in lacking.items()}
    return File(ROWS, faults, ROWS if "column" in repr(plan.spec.privacy.unit) else None)


def most(probability: float, runs: int = RUNS) -> float:
    """The most occurrences of an event with this probability, plus five standard errors."""
    return runs * probability + 5 * sqrt(runs * probability * (1 - probability))


@pytest.mark.extended
@pytest.mark.parametrize("quality", mostly_extended(QUALITIES, "laplace", "gaussian"))
@pytest.mark.parametrize("unit", mostly_extended(UNITS, "people"))
def test_a_file_at_every_minimum_is_rarely_stopped(
    unit: str, quality: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file exactly at all minimums is stopped in at most the stated share of runs."""
    monkeypatch.setattr(entropy, "source", Stream(f"{unit}/{quality}"))
    plan = plan_of(QUALITIES[quality], *UNITS[unit])

    assert stops(plan, at_minimums(plan)) <= most(float(FALSE_STOP))


@pytest.mark.parametrize("quality", mostly_extended(QUALITIES, "laplace", "shares"))
@pytest.mark.parametrize("unit", mostly_extended(UNITS, "rows"))
def test_a_file_that_misses_a_minimum_clearly_is_rarely_passed(
    unit: str, quality: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that misses one minimum by just over twice its margin passes as rarely as stated."""
    monkeypatch.setattr(entropy, "source", Stream(f"missed {unit}/{quality}"))
    plan = plan_of(QUALITIES[quality], *UNITS[unit])
    file = at_minimums(plan)
    for minimum in required_minimums(plan):
        if minimum.kind == "cells":
            # With k more unreadable cells, what is required is missed by k times the numerator.
            label = f"{minimum.key[1]}: unreadable"
            more = 2 * minimum.margin // minimum.share.numerator + 1
            missing = replace(file, faults={**file.faults, label: file.faults[label] + more})
        else:
            fewer = minimum.required - 2 * minimum.margin - 1
            assert minimum.detectable == fewer + 1
            missing = replace(file, fine=fewer, rows=fewer)

        assert FEW - stops(plan, missing, FEW) <= most(float(FALSE_STOP), FEW)


def test_the_margin_is_not_larger_than_necessary(monkeypatch: pytest.MonkeyPatch) -> None:
    """With three fifths of each margin, files at the minimums are stopped too often."""
    monkeypatch.setattr(entropy, "source", Stream("power"))
    plan = plan_of(QUALITIES["laplace"])
    assert plan.quality is not None
    smaller = [
        replace(minimum, margin=minimum.margin * 3 // 5) for minimum in required_minimums(plan)
    ]
    stopped = 0
    for _ in range(RUNS):
        sealed = at_minimums(plan).sealed(plan)
        answers = [
            NoisyAnswer(part.calibrated.answer(exact, free_permit()).value, part.calibrated.noise)
            for part, exact in zip(plan.quality.queries, sealed, strict=True)
        ]
        counts = FaultCounts.of(plan.quality.entry.inputs, answers)
        stopped += any(minimum.is_missed(counts) for minimum in smaller)

    assert stopped > most(float(FALSE_STOP))


@pytest.mark.parametrize("make", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(40), Fraction(700)])
@pytest.mark.usefixtures("stream")
def test_margins_bound_the_sampled_noise(make: type[Noise], scale: Fraction) -> None:
    """Samples of a weighted sum exceed its margin at most as often as stated, and hardly less.

    Wide weights are rounded, which makes margins hardly larger.
    """
    noise: Noise = make(scale)
    draws, noises = 8_000, FaultNoises(4, noise)
    sampled = np.array(noise.sample(draws * 4)).reshape(draws, 4)
    wide = {0: 1699, 1: 499, 2: -1, 3: -1}, {0: -99, 1: 99_901, 2: 1, 3: -1}
    for weights in ({3: 1}, {0: -4, 1: 1, 2: 1, 3: 1}, {1: 1, 2: 1, 3: 1}, *wide):
        sums = sampled @ np.array([weights.get(at, 0) for at in range(4)])
        for outside in (0.2, 0.01):
            margin = noises.margin(weights, outside)
            assert sum(sums > margin) <= most(outside, draws)
            # Noise that is mostly zero has few sums, far from each other.
            if weights not in wide or scale > 1:
                assert sum(sums > margin * 0.9 - 1) > draws * outside / 2


def test_the_check_is_charged_like_any_statistic() -> None:
    """Its loss is part of the total, and it is what a failed release costs."""
    plan = plan_of(QUALITIES["laplace"])

    assert plan.cost.epsilon == Fraction(11, 10)
    assert plan.quality_check_only.cost.epsilon == Fraction(1, 10)
    assert plan.quality_check_only.statistics == ()


def test_weights_leave_the_loss_of_the_check() -> None:
    """Statistics with weights get what the quality check leaves."""
    text = plan_of("{epsilon: 0.5, min_rows: 10}").spec.text
    plan = make_plan(parse_central_spec(text.replace("], epsilon: 1", "], share: 1"), "s"))

    assert plan.statistics[0].target.epsilon == Fraction(17, 2)
    assert plan.fits


def test_counts_without_noise_are_compared_exactly() -> None:
    """If the number of rows is public, one row too few is detected."""
    quality, unit = "{epsilon: 0.1, min_rows: 1000}", UNITS["rows, public size"]
    for entry, public in (("statistic: count", 0), ("", 1)):
        plan = plan_of(quality, *unit, entry=entry)
        assert plan.quality is not None
        assert plan.quality.queries[public].is_exact
        for rows, missed in ((999, 1), (1000, 0)):
            # Unreadable cells do not change the number of rows.
            faults = {"age: unreadable": 10} if public else {}
            file = File(rows - sum(faults.values()), faults)
            checked = check_quality(plan, file.sealed(plan), free_permit())
            assert checked is not None
            assert len(checked.reasons) == missed


SURE = "{epsilon: 1, min_people: 1000, min_readable: 0.9}"
"""A check whose noise is small against the numbers below."""


@pytest.mark.parametrize(
    ("file", "missed"),
    [
        (File(1000), []),
        (File(900), ["people"]),
        # Limits leave out rows of people, and no people.
        (File(500, {"4 rows or more": 300, "6 rows or more": 200}), []),
        # A person without a readable cell is not counted, and a blank cell is no unreadable one.
        (File(1000, {"age: unreadable": 100}), []),
        (File(1000, {"age: unreadable": 400}), ["age"]),
        (File(990, {"age: outside": 5000}), []),
        (File(500, {"age: outside": 5000}), ["people"]),
        (File(500, {"age: blank": 5000}), ["people"]),
        (File(1000, {"age: blank": 5000}), []),
    ],
    ids=str,
)
def test_minimums_are_about_people_without_faults_and_unreadable_cells(
    file: File, missed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """People are those without a fault of cells; blank and outside cells are readable."""
    monkeypatch.setattr(entropy, "source", Stream(str(file)))
    plan = plan_of(SURE, *UNITS["people"])
    checked = check_quality(plan, file.sealed(plan), free_permit())
    assert checked is not None

    assert [key[1] or key[0] for key in checked.missed] == missed


@pytest.mark.parametrize(
    ("file", "over"),
    [
        (File(1000), False),
        (File(1000, {"4 rows or more": 200}), False),
        (File(1000, {"18 rows or more": 200}), True),
        (File(0, {"4 rows or more": 1000}), True),
    ],
    ids=str,
)
def test_a_limit_that_leaves_out_too_much_stops_the_release(
    file: File, over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People with 18 rows lose 15 of them: that is more than a tenth of all rows."""
    monkeypatch.setattr(entropy, "source", Stream(str(file)))
    plan = plan_of("{epsilon: 1, min_people: 10, max_limited: 0.1}", *UNITS["people"])
    checked = check_quality(plan, file.sealed(plan), free_permit())
    assert checked is not None
    (left_out,) = checked.left_out

    assert bool(checked.over) is over is left_out.over
    assert (left_out.verdict == "missed") is over


def test_the_columns_of_statistics_are_counted_and_no_others() -> None:
    """First what cannot be read, then what is outside, then limits, then blank cells."""
    plan = plan_of(
        "{epsilon: 1, min_rows: 9}", *UNITS["people"], entry="statistic: sum, column: age"
    )
    assert plan.quality is not None

    assert fault_order(plan.quality.entry.inputs).labels == (
        "age: unreadable",
        "age: outside",
        "4 rows or more",
        "6 rows or more",
        "18 rows or more",
        "age: blank",
        "no fault",
    )
