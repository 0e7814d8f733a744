"""Published tables that add up: linear, without negative numbers, and whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from dpcli.noise.distribution import NO_NOISE
from dpcli.numeric.arrays import Ints, integer_array
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.results import NoisyStatistic
from dpcli.problems.errors import SpecError
from dpcli.releasing.steps import estimate_statistic
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.tables.additive import additive_counts
from dpcli.statistics.tables.agreement import MeasuredTable
from dpcli.statistics.tables.effects import scaled_effect
from dpcli.statistics.tables.shares import Ways, wanted_tables
from tests.support.rules import also_slow, mostly_extended
from tests.support.streams import Stream
from tests.support.surveys import CONFIDENCE
from tests.unit.statistics.tables.test_marginals import planned, table

STEPS = [
    "[consistent]",
    "[consistent, nonnegative]",
    "[consistent, integer]",
    "[consistent, nonnegative, integer]",
    "[whole]",
]
LOSSES = ["epsilon: 1", "epsilon: 1, mechanism: gaussian, delta: 1e-6"]


def joint_table(sizes: tuple[int, ...], rows: int, generator: np.random.Generator) -> Ints:
    """A joint table of skewed columns, in which most cells are empty."""
    cells = (np.array(sizes) * generator.random((rows, len(sizes))) ** 3).astype(int)
    joint = np.zeros(sizes, np.int64)
    np.add.at(joint, tuple(cells.T), 1)
    return joint


def published(plan: PlannedStatistic, joint: Ints) -> tuple[Estimates, Estimates | None]:
    """The numbers of a release about this joint table, and those called raw."""
    answers = []
    for part in plan.queries:
        exact, noise = table(joint, part.weighted.query), part.calibrated.noise
        answers.append(NoisyAnswer(exact + integer_array(noise.sample(len(exact))), noise))
    estimated = estimate_statistic(NoisyStatistic(plan, tuple(answers), None), CONFIDENCE)
    return estimated.estimates, estimated.raw


def as_tables(
    estimates: Estimates, sizes: tuple[int, ...], ways: Ways
) -> dict[tuple[int, ...], Ints]:
    """The printed tables in hundredths, by the indexes of their columns."""
    (printed,) = estimates.rounded(estimates.value)
    printed = integer_array(printed * 10 ** (2 - estimates.decimals[0]))
    found, at = {}, 0
    for axes in wanted_tables(len(sizes), ways):
        shape = [sizes[axis] for axis in axes]
        count = int(np.prod(shape))
        found[axes] = printed[at : at + count].astype(np.int64).reshape(shape)
        at += count
    return found


def disagreements(tables: dict[tuple[int, ...], Ints]) -> Iterator[tuple[int, ...]]:
    """Axes whose totals differ between two tables."""
    for (axes, one), (others, other) in combinations(tables.items(), 2):
        common = tuple(axis for axis in axes if axis in others)
        totals = [
            numbers.sum(axis=tuple(at for at, axis in enumerate(own) if axis not in common))
            for own, numbers in ((axes, one), (others, other))
        ]
        if (totals[0] != totals[1]).any():
            yield common


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("post", STEPS)
def test_printed_tables_add_up(neighbors: str, loss: str, post: str, stream: Stream) -> None:
    """Whatever is measured, each total is the sum of its cells; the last steps leave none below."""
    generator = np.random.default_rng(6)
    for sizes, ways in (
        ((4, 3, 5), (1, 2)),
        ((3, 2, 2, 4), (3,)),
        ((5, 2, 6), (1,)),
        ((1, 4), (2,)),
    ):
        plan = planned(sizes, ways, f"{loss}, post: {post}", neighbors=neighbors)
        for rows in (0, 40, 4000):
            estimates, raw = published(plan, joint_table(sizes, rows, generator))
            tables = as_tables(estimates, sizes, ways)
            assert not [*disagreements(tables)]
            for numbers in tables.values():
                if "integer" in post or "whole" in post:
                    assert not (numbers % 100).any()
                if "nonnegative" in post or "whole" in post:
                    assert (numbers >= 0).all()
            assert (estimates.lower <= estimates.value).all()
            assert (estimates.value <= estimates.upper).all()
            assert (raw is not None) == (post != "[consistent]" or not plan.design.agrees)


@pytest.mark.parametrize("ways", [(1, 2), (1, 2, 3), (0, 1)])
def test_numbers_of_any_size_add_up(ways: Ways) -> None:
    """Totals beyond whole floats, and beyond 64 bits, are the sums of their cells too."""
    sizes, random = (3, 2, 4), np.random.default_rng(9)
    axes = planned(sizes, (3,), "epsilon: 1").entry.inputs.margins
    wanted = [tuple(axes[at] for at in table) for table in wanted_tables(3, ways)]
    for bits in (20, 52, 61, 80):
        counts = np.array([[int(one * 2**bits) for one in random.normal(0.2, 1, 24)] for _ in "ab"])
        measured = [MeasuredTable(axes, counts.astype(object).reshape(2, *sizes), NO_NOISE)]
        for units in (1, 100):
            found = additive_counts(axes, wanted, measured, units, nonnegative=True).reshape(2, -1)
            ends = np.cumsum([prod(map(len, table)) for table in wanted])[:-1]
            sums = [part.sum(axis=1).tolist() for part in np.split(found, ends, axis=1)]
            total = np.maximum(counts.astype(object).sum(axis=1) * units, 0).tolist()
            assert found.min() >= 0 and all(one == total for one in sums)


@pytest.mark.parametrize(
    ("ways", "loss"),
    mostly_extended(
        product([(2,), (3,)], LOSSES), ((2,), LOSSES[0]), ((3,), LOSSES[1]), unpack=True
    ),
)
@pytest.mark.parametrize("runs", also_slow(10, 100))
def test_tables_without_negative_numbers_have_unbiased_totals_and_smaller_errors(
    ways: Ways, loss: str, runs: int, stream: Stream
) -> None:
    """Clamped tables of 500 rows add up to 1.3 to 3.7 times as many, and are further away."""
    sizes, generator = (8, 8, 8, 8), np.random.default_rng(7)
    joint = joint_table(sizes, 500, generator)
    exact = np.concatenate(
        [joint.sum(axis=tuple({*range(4)} - {*axes})).ravel() for axes in wanted_tables(4, ways)]
    )
    plan = planned(sizes, ways, f"{loss}, post: [whole]")
    totals, errors = [], []
    for _ in range(runs):
        estimates, raw = published(plan, joint)
        assert raw is not None
        linear = raw.value.astype(float) * float(raw.step)
        whole = estimates.value.astype(float) * float(estimates.step)
        totals.append(whole[: 8 ** ways[0]].sum())
        errors.append([((one - exact) ** 2).mean() for one in (linear, linear.clip(0), whole)])
    linear_error, clamped, fitted = np.sqrt(np.mean(errors, axis=0))
    assert fitted < 0.92 * clamped and fitted < 0.75 * linear_error
    assert np.mean(totals) == pytest.approx(500, abs=3.5 * np.std(totals) / runs**0.5 + 1)


@pytest.mark.parametrize("loss", ["epsilon: 0.3", "epsilon: 0.6, mechanism: gaussian, delta: 1e-6"])
def test_large_numbers_keep_most_of_what_empty_ones_take(loss: str) -> None:
    """Nine of ten cells are empty: these have less than half of the errors of linear ones."""
    sizes, random = (20, 20), np.random.default_rng(4)
    joint = np.where(random.random(sizes) < 0.1, random.poisson(60, sizes), 0)
    plan, exact = planned(sizes, (2,), f"{loss}, post: [whole]"), joint.ravel()
    deviation = plan.noises[0].discrete_variance ** 0.5
    whole, linear = (
        np.array([one.value.astype(float) * float(one.step) for one in found if one is not None])
        for found in zip(*(published(plan, joint) for _ in range(20)), strict=True)
    )
    empty, bias = exact == 0, (whole - exact)[:, exact > 0].mean() / deviation

    assert -1 < bias < 0
    assert np.square(whole[:, empty]).mean() < 0.25 * np.square(linear[:, empty]).mean()
    assert np.abs(whole.sum(axis=1).mean() - exact.sum()) < 4.5 * 20 * deviation / 20**0.5


def test_what_no_published_table_shows_is_not_fitted() -> None:
    """The interaction of all measured columns leaves published tables of two as they are."""
    sizes, random = (3, 2, 4), np.random.default_rng(3)
    axes = planned(sizes, (3,), "epsilon: 1").entry.inputs.margins
    wanted = [tuple(axes[at] for at in table) for table in wanted_tables(3, (2,))]
    counts = random.integers(-4, 9, sizes)
    hidden = scaled_effect(random.integers(-9, 9, (1, *sizes)))[0]
    one, other = (
        additive_counts(
            axes, wanted, [MeasuredTable(axes, numbers.astype(object)[None], NO_NOISE)], 1,
            nonnegative=True,
        )
        for numbers in (counts, counts + hidden)
    )  # fmt: skip

    assert (one == other).all()


def test_a_public_number_of_rows_is_the_total(stream: Stream) -> None:
    """Under change-one, if each row counts, no noise is left in the total."""
    spec = planned((3, 4), (1, 2), "epsilon: 1, post: [whole]", neighbors="change-one")
    assert [part.weighted.role for part in spec.queries][-1] != "rows"
    joint = joint_table((3, 4), 90, np.random.default_rng(8))
    for post in STEPS:
        plan = planned(
            (3, 4), (1, 2), f"epsilon: 1, post: {post}", neighbors="change-one", missing="v0"
        )
        assert plan.queries[-1].weighted.role == "rows"
        tables = as_tables(published(plan, joint)[0], (3, 4), (1, 2))
        assert {int(numbers.sum()) for numbers in tables.values()} == {9000}


def test_steps_that_break_agreement_and_tables_too_large_to_fit_are_refused() -> None:
    """Linear tables have no limit, and those of one column need no joint table."""
    for post in ("[consistent, {clamp: [0, 9]}]", "[whole, integer]", "[nonnegative, whole]"):
        with pytest.raises(SpecError):
            planned((2, 2), (2,), f"epsilon: 1, post: {post}")
    for post in ("[whole]", "[consistent, nonnegative]"):
        with pytest.raises(SpecError, match="joint table"):
            planned((128, 128, 128), (2,), f"epsilon: 1, post: {post}")
        planned((128, 128, 128), (1,), f"epsilon: 1, post: {post}")
    planned((128, 128, 128), (2,), "epsilon: 1, post: [consistent, integer]")
    planned((2, 2), (2,), "epsilon: 1, post: [whole, {suppress_below: 5}]")
