"""Laws of quantiles that are chosen by recursion, by enumeration of small files.

A row is a position: its class times the number of sub-steps, plus its sub-step. Everything that
is expected is computed here from the ranks of cuts among these positions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import exp, log
from typing import Any

import numpy as np
import pytest
from scipy.special import betaincinv

from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.mechanism import SelectionMechanism
from dpcli.mechanisms.pure import Laplace
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.noise.candidate_choice import ChoiceNoise, ExponentialChoice
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.privacy.confidential import Confidential
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.queries.scores import Points
from dpcli.statistics.choices.candidates import classes_at_and_between
from dpcli.statistics.quantiles.recursion import (
    PartQuantile,
    QuantilesQuery,
    choose_quantiles,
    ordered_rows,
    substeps_for,
)
from tests.laws.test_choices import each_choosing, probabilities
from tests.support.mechanisms import fitted
from tests.support.permits import free_permit
from tests.support.streams import CUT, Stream, chi_square_tail

QUARTILES = tuple(Fraction(part, 4) for part in (1, 2, 3))
EPSILON = 2
"""The epsilon of answers whose probabilities are compared."""

UNEVEN = (Fraction(9, 10), Fraction(1, 10), Fraction(1, 2), Fraction(1, 5))
SEX = CategoryColumn("sex", (("f", "f"), ("m", "m")))

Rows = tuple[int, ...]
"""The positions of rows, in increasing order."""

Cuts = dict[int | None, int]
"""The cuts that were chosen, by the places of their quantiles."""


def query(
    quantiles: Sequence[Fraction],
    classes: int,
    substeps: int,
    points: Points | None = None,
    by: tuple[Axis, ...] = (),
) -> QuantilesQuery:
    """The query for these quantiles of a column with this number of classes."""
    column = IntegerColumn("x", Fraction(1), (0, classes - 1))
    return QuantilesQuery(
        by=by,
        classes=(Axis(column, range(classes)),),
        candidate_classes=range(classes) if points is None else points,
        quantiles=tuple(quantiles),
        substeps=substeps,
    )


def ends(part: PartQuantile, cuts: Cuts, last: int) -> tuple[int, int]:
    """The first and the last cut of a part."""
    return (0 if part.low is None else cuts[part.low]), (
        last if part.high is None else cuts[part.high]
    )


def distances(part: PartQuantile, cuts: Cuts, rows: Rows, last: int) -> list[Fraction]:
    """How many rows of the part lie between the quantile and each cut, by definition."""
    low, high = ends(part, cuts, last)
    inside = [row for row in rows if low <= row < high]
    target = part.relative * len(inside)
    return [abs(sum(row < cut for row in inside) - target) for cut in range(low, high + 1)]


def histories(asked: QuantilesQuery, last: int, levels: int) -> Iterator[Cuts]:
    """All cuts that can have been chosen in this number of levels."""
    if not levels:
        yield {}
        return
    for cuts in histories(asked, last, levels - 1):
        parts = asked.levels[levels - 1]
        options = [range(low, high + 1) for low, high in (ends(one, cuts, last) for one in parts)]
        for chosen in product(*options):
            yield cuts | dict(zip([one.index for one in parts], chosen, strict=True))


def level_change(
    asked: QuantilesQuery, level: int, cuts: Cuts, one: Rows, other: Rows, last: int
) -> Fraction:
    """How far score differences of a level change, in sum over parts, in units of the scale."""
    total = Fraction(0)
    for part in asked.levels[level]:
        before, after = (distances(part, cuts, rows, last) for rows in (one, other))
        change = [b - a for a, b in zip(before, after, strict=True)]
        unit = Fraction(part.largest_change, part.relative.denominator)
        total += (max(change) - min(change)) / unit
    return total


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("quantiles", [QUARTILES, UNEVEN], ids=["quartiles", "uneven"])
def test_a_level_changes_by_at_most_its_sensitivity_and_some_neighbor_reaches_it(
    quantiles: tuple[Fraction, ...], neighbors: Neighbors
) -> None:
    """Over files of up to four rows with sub-steps, all neighbors, and all earlier choices."""
    asked, last = query(quantiles, 2, 2), 4
    claim = query_sensitivity(asked, Relation(RowUnit(), neighbors))
    once = Fraction(claim.l1, asked.rounds)
    every = range(last)
    for level in range(asked.rounds):
        worst = Fraction(0)
        for size in range(4):
            for common in combinations_with_replacement(every, size):
                if neighbors is Neighbors.ADD_REMOVE:
                    pairs = [(common, (*common, row)) for row in every]
                else:
                    pairs = [((*common, a), (*common, b)) for a in every for b in every if a < b]
                for cuts in histories(asked, last, level):
                    for one, other in pairs:
                        worst = max(worst, level_change(asked, level, cuts, one, other, last))
        assert worst <= once
        # A relative quantile that is not 1/2 changes by less if a row is replaced in one part.
        even = all(part.relative == Fraction(1, 2) for part in asked.levels[level])
        if even or neighbors is Neighbors.ADD_REMOVE:
            assert worst == once, level


UNITS = [
    PersonUnit("id", max_rows=2, max_groups=1, max_rows_per_group=2),
    PersonUnit("id", max_rows=2, max_groups=2, max_rows_per_group=1),
    PersonUnit("id", max_rows=3, max_groups=2, max_rows_per_group=2),
]


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_people_change_a_level_by_at_most_its_sensitivity(
    unit: PersonUnit, neighbors: Neighbors
) -> None:
    """All people with rows in two groups, others' rows, and earlier choices; L1 is reached."""
    asked, last = query(QUARTILES, 3, 1, by=(Axis(SEX),)), 3
    claim = query_sensitivity(asked, Relation(unit, neighbors))
    places = list(product(range(2), range(last)))
    people = [
        rows
        for size in range(unit.max_rows + 1)
        for rows in combinations_with_replacement(places, size)
        if allowed(unit, rows)
    ]
    others = [
        tuple((group, at) for group in range(2) for at in many * 4) for many in ([], [1], [2])
    ]
    pairs = [
        (one, other)
        for one in people
        for other in (people if neighbors is Neighbors.CHANGE_ONE else [()])
    ]
    for level in range(asked.rounds):
        every = tuple(histories(asked, last, level))

        @cache
        def worst_change(
            before: Rows, after: Rows, level: int = level, every: Sequence[Cuts] = every
        ) -> Fraction:
            changes = (level_change(asked, level, cuts, before, after, last) for cuts in every)
            return max(changes)

        sums: set[tuple[Fraction, Fraction]] = set()
        for common in others:
            for one, other in pairs:
                worst = []
                for group in range(2):
                    before, after = (
                        tuple(at for where, at in (*common, *rows) if where == group)
                        for rows in (one, other)
                    )
                    worst.append(worst_change(before, after))
                sums.add((worst[0], worst[1]))
        rounds = asked.rounds
        assert max(a + b for a, b in sums) == Fraction(claim.l1, rounds)
        assert max(a**2 + b**2 for a, b in sums) <= Fraction(claim.l2_squared, rounds)
        assert max(max(pair) for pair in sums) <= claim.linf
        assert max(bool(a) + bool(b) for a, b in sums) <= Fraction(claim.l0, rounds)


def allowed(unit: PersonUnit, rows: Sequence[tuple[int, int]]) -> bool:
    """Whether a person may have these rows."""
    per_group = Counter(group for group, _ in rows).values()
    return len(per_group) <= unit.max_groups and all(
        n <= unit.max_rows_per_group for n in per_group
    )


Law = dict[tuple[int, ...], float]
"""The probability of each answer: the indices of the published candidates."""


def law(asked: QuantilesQuery, name: str, noise: ChoiceNoise, values: Sequence[int]) -> Law:
    """The distribution of the answer about a file of classes, by definition: over all sub-steps."""
    last = len(asked.classes[0]) * asked.substeps
    drawn = list(product(range(asked.substeps), repeat=len(values)))
    found: Law = defaultdict(float)
    for substeps in drawn:
        rows = tuple(v * asked.substeps + u for v, u in zip(values, substeps, strict=True))
        for cuts, chance in recursion(asked, name, noise, rows, last):
            chosen = np.array([cuts[place] for place in asked.indexes])
            found[tuple(asked.published(chosen).tolist())] += chance / len(drawn)
    return found


def recursion(
    asked: QuantilesQuery, name: str, noise: ChoiceNoise, rows: Rows, last: int
) -> list[tuple[Cuts, float]]:
    """All cuts that can be chosen, with their probabilities."""
    reached: list[tuple[Cuts, float]] = [({}, 1.0)]
    for part in (part for level in asked.levels for part in level):
        after = []
        for cuts, chance in reached:
            low, _ = ends(part, cuts, last)
            for at, each in enumerate(
                part_law(name, noise.scale, part, tuple(distances(part, cuts, rows, last)))
            ):
                after.append((cuts | {part.index: low + at}, chance * each))
        reached = after
    return reached


@cache
def part_law(
    name: str, scale: Fraction, part: PartQuantile, missed: tuple[Fraction, ...]
) -> list[float]:
    """The probability of each cut of a part, from how many rows it misses the quantile by."""
    whole = part.relative.denominator
    gaps = [int((one - min(missed)) * whole) for one in missed]
    return probabilities(name, gaps, scale * 2 * max(part.relative, 1 - part.relative) * whole)


def noise_of(
    mechanism: SelectionMechanism, asked: QuantilesQuery, relation: Relation
) -> ChoiceNoise:
    """The noise of this epsilon."""
    noise, _ = fitted(mechanism, query_sensitivity(asked, relation), Loss(Fraction(EPSILON)))
    assert isinstance(noise, ChoiceNoise)
    return noise


@pytest.mark.extended
@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize(
    ("quantiles", "classes", "substeps", "most"),
    [(QUARTILES, 3, 1, 10), (UNEVEN, 3, 1, 7), (QUARTILES, 2, 2, 4)],
    ids=["quartiles", "uneven", "with substeps"],
)
@each_choosing
def test_probabilities_of_neighbors_differ_by_at_most_a_factor_e_epsilon(
    mechanism: SelectionMechanism,
    quantiles: tuple[Fraction, ...],
    classes: int,
    substeps: int,
    most: int,
    neighbors: Neighbors,
) -> None:
    """For all small files, all neighbors and every answer; some ratio nearly reaches the bound."""
    asked = query(quantiles, classes, substeps)
    noise = noise_of(mechanism, asked, Relation(RowUnit(), neighbors))
    # A file is the number of its rows in each class.
    laws = {
        file: law(asked, mechanism.name, noise, np.repeat(range(classes), file).tolist())
        for file in product(range(most + 1), repeat=classes)
        if sum(file) <= most
    }
    added = [tuple(map(int, row)) for row in np.eye(classes)]
    moves = added
    if neighbors is Neighbors.CHANGE_ONE:
        moves = [tuple(np.subtract(one, other).tolist()) for one, other in product(added, added)]
    pairs = [
        (laws[file], laws[changed])
        for file, move in product(laws, moves)
        if (changed := tuple(np.add(file, move).tolist())) in laws
    ]
    ratios = [one[chosen] / other[chosen] for one, other in pairs for chosen in one]
    loss = max(abs(log(ratio)) for ratio in ratios)
    assert loss <= EPSILON * (1 + 1e-9)
    if most == 10:
        reached = 0.98 if neighbors is Neighbors.ADD_REMOVE else 0.6
        assert loss > reached * EPSILON


@pytest.mark.parametrize("count", [3_000, pytest.param(10_000, marks=pytest.mark.slow)])
@each_choosing
def test_choices_have_exactly_their_probabilities(
    mechanism: SelectionMechanism, count: int, stream: Stream
) -> None:
    """Answers about a small file with equal values match the definition (chi-square)."""
    asked = query(UNEVEN, 2, 2)
    noise = noise_of(mechanism, asked, Relation(RowUnit(), Neighbors.ADD_REMOVE))

    chosen = choose_quantiles(noise, np.array([[1, 2]] * count), asked).reshape(count, -1)

    expected = law(asked, mechanism.name, noise, [0, 1, 1])
    observed = Counter(map(tuple, chosen.tolist()))
    assert set(observed) <= set(expected)
    statistic = sum((observed[one] - count * p) ** 2 / (count * p) for one, p in expected.items())
    assert chi_square_tail(statistic, len(expected) - 1) > CUT


@pytest.mark.parametrize(
    ("draws", "least_loss"),
    [
        pytest.param(1_000, -1, id="some"),
        pytest.param(100_000, 0.8, id="many", marks=pytest.mark.slow),
    ],
)
@each_choosing
def test_an_audit_of_neighbors_finds_no_greater_loss(
    mechanism: SelectionMechanism, draws: int, least_loss: float, stream: Stream
) -> None:
    """No answer is certainly more than e^epsilon times as likely for a neighbor, from draws alone.

    One row of six is removed. Probabilities have Clopper-Pearson bounds of confidence 1 - 1e-6.
    """
    asked, relation = query(QUARTILES, 3, 2), Relation(RowUnit(), Neighbors.ADD_REMOVE)
    (calibrated,) = CalibratedMechanism.calibrate(
        mechanism, [asked], relation, Loss(Fraction(EPSILON))
    )
    observed = []
    for counts in ([3, 3, 0], [3, 2, 0]):
        sealed = Confidential(np.array(counts), asked, relation.unit)
        answers = (calibrated.answer(sealed, free_permit()).value for _ in range(draws))
        observed.append(Counter(tuple(answer.tolist()) for answer in answers))
    ratios = [
        clopper_pearson(one[chosen], draws)[0] / clopper_pearson(other[chosen], draws)[1]
        for one, other in (observed, observed[::-1])
        for chosen in one
    ]
    # The audit is not blind: of many draws it finds two fifths of the loss.
    assert exp(least_loss) < max(ratios) <= exp(EPSILON)


def clopper_pearson(successes: int, trials: int) -> tuple[float, float]:
    """Bounds of a probability, wrong with a probability of at most 1e-6 (Clopper, Pearson)."""
    failures, low, high = trials - successes, 0.0, 1.0
    if successes:
        low = float(betaincinv(successes, failures + 1, 5e-7))
    if failures:
        high = float(betaincinv(successes + 1, failures, 1 - 5e-7))
    return low, high


@pytest.mark.parametrize("points", [range(40), range(0, 40, 7), (3, 4, 30)], ids=str)
@each_choosing
def test_answers_are_in_the_order_of_their_quantiles(
    mechanism: SelectionMechanism, points: Points, stream: Stream
) -> None:
    """Without any step of `post`, a greater quantile has no smaller value, however few the rows."""
    quantiles = [Fraction(part, 20) for part in (19, 1, 10, 3, 4, 17, 5)]
    column = IntegerColumn("x", Fraction(1), (0, 39))
    axis, places = classes_at_and_between(column, points)
    asked = QuantilesQuery(
        classes=(axis,), candidate_classes=places, quantiles=tuple(quantiles), substeps=8
    )
    counts = np.frombuffer(stream(40 * len(axis)), np.uint8).reshape(40, -1) % 4
    noise = mechanism.distribution(Fraction(3))

    chosen = choose_quantiles(noise, counts.astype(np.int64), asked).reshape(40, -1)

    ordered = chosen[:, np.argsort([float(one) for one in quantiles])]
    assert (np.diff(ordered, axis=1) >= 0).all()
    assert chosen.min() >= 0 and chosen.max() < len(points)
    assert len(np.unique(chosen)) > 1


def test_noise_is_not_added_to_what_choices_are_made_from() -> None:
    """The sensitivity of choices bounds differences of scores, not the counts behind them."""
    asked, relation = query(QUARTILES, 3, 2), Relation(RowUnit(), Neighbors.ADD_REMOVE)
    with pytest.raises(TypeError, match="the queries that it answers"):
        CalibratedMechanism.calibrate(Laplace(), [asked], relation, Loss(Fraction(EPSILON)))
    with pytest.raises(TypeError, match="not to choices"):
        Laplace().respond(DiscreteLaplace(Fraction(1)), asked, np.array([3, 3, 0]))


def test_the_expected_error_is_that_of_the_worst_quantile(stream: Stream) -> None:
    """Of values that lie densely, 92% to 97% of the choices miss by no more than expected."""
    quantiles = [Fraction(part, 10) for part in range(1, 10)]
    classes, rows, runs = 1_000, 1_000, 200
    asked = query(quantiles, classes, 4)
    noise = ExponentialChoice(Fraction(asked.rounds, 1))
    counts = np.ones((runs, classes), np.int64)

    chosen = choose_quantiles(noise, counts, asked).reshape(runs, -1)

    expected = float(asked.expected_error(noise, Fraction(19, 20)))
    targets = np.array([float(one) for one in quantiles]) * rows
    missed = np.maximum(np.maximum(chosen - targets, targets - chosen - 1), 0)
    within = (missed <= expected).mean(axis=0)
    assert 0.92 <= within.min() <= 0.97


def test_equal_values_are_divided_between_parts(stream: Stream) -> None:
    """Where half of the rows share a value, all quantiles inside it are that value."""
    quantiles = [Fraction(part, 10) for part in range(1, 10)]
    asked = query(quantiles, 100, 1024)
    counts = np.full((50, 100), 10, np.int64)
    counts[:, 50] = 1_000

    chosen = choose_quantiles(ExponentialChoice(Fraction(4)), counts, asked).reshape(50, -1)

    # Of 1,990 rows, 500 are below the value, and 490 above.
    assert (chosen[:, 2:7] == 50).all()
    assert (chosen[:, :2] < 50).all() and (chosen[:, 7:] > 50).all()


@pytest.mark.parametrize("rows", [0, 1, 2, 1_000])
@pytest.mark.parametrize("classes", range(1, 7))
def test_few_classes_are_divided_whatever_their_rows(
    classes: int, rows: int, stream: Stream
) -> None:
    """The most sub-steps that a class can have are as many as two bytes have values."""
    substeps = substeps_for(classes, 1)
    asked, counts = query(QUARTILES, classes, substeps), np.zeros((2, classes), np.int64)
    counts[:, -1] = rows

    below = ordered_rows(counts[0], asked)
    chosen = choose_quantiles(ExponentialChoice(Fraction(2)), counts, asked)

    assert (classes > 4) or substeps == 2**16
    assert below[-1] == rows and below[-substeps - 1] == 0
    assert len(np.flatnonzero(np.diff(below))) >= rows // 2
    assert chosen.min() >= 0 and chosen.max() < classes


@pytest.mark.parametrize(
    ("count", "rounds"), [(3, 2), (4, 3), (7, 3), (9, 4), (15, 4), (16, 5), (99, 7), (100, 7)]
)
def test_the_number_of_rounds_is_the_least_possible(count: int, rounds: int) -> None:
    """A round at most doubles the quantiles that are chosen, plus one; each is chosen once."""
    for quantiles in (
        [Fraction(part, count + 1) for part in range(1, count + 1)],
        [1 - Fraction(1, 2**part) for part in range(1, count + 1)],
    ):
        asked = query(quantiles, 5, 1)
        assert asked.rounds == rounds
        places = [part.index for level in asked.levels for part in level]
        assert sorted(places) == list(range(count))


@pytest.mark.parametrize("groups", [1, 12, 2_000])
@pytest.mark.parametrize("classes", [1, 40, 1_000, 60_000, 2_000_001])
def test_substeps_fit_into_memory(classes: int, groups: int) -> None:
    """A group has at most 2^22 cuts, and 64 sub-steps wherever that allows them."""
    substeps = substeps_for(classes, groups)
    assert 2**16 % substeps == 0
    assert classes * substeps <= 2**22
    assert substeps >= 64 or classes * substeps > 2**21


@pytest.mark.parametrize(
    "wrong",
    [
        {"substeps": 3},
        {"substeps": 1 << 17},
        {"quantiles": ()},
        {"quantiles": (Fraction(1, 2), Fraction(1, 2))},
        {"quantiles": (Fraction(1),)},
        {"candidate_classes": ()},
        {"classes": ()},
    ],
    ids=str,
)
def test_impossible_queries_are_refused(wrong: dict[str, Any]) -> None:
    """A query needs a power of two, different quantiles below one, candidates and an axis."""
    with pytest.raises(ValueError, match=r"sub-steps|quantile|candidates"):
        replace(query(QUARTILES, 4, 2), **wrong)
