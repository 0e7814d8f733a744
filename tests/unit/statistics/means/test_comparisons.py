"""Comparisons of means, shares and ratios of several groups: coverage, widths and errors."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpcli.noise.vector_noise import VectorNoise
from dpcli.numeric.arrays import Floats
from dpcli.planning.plan import PlannedStatistic
from dpcli.problems.errors import SpecError
from dpcli.specification.load import parse_spec
from dpcli.statistics.estimates import HAS_INTERVAL, Estimates
from tests.support.rules import EXTENDED, in_pairs
from tests.support.surveys import CONFIDENCE, by_item, planned_statistic, with_noise

SPEC = """
dpcli: 1
dataset: groups
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 1000, delta: 1e-5}}}}
columns:
  who: {{type: id}}
  x: {{type: integer, bounds: [{low}, 100]}}
  flag: {{type: boolean}}
  sex: {{type: category, values: [f, m, x]}}
statistics: [{{name: s, {fields}}}]
"""

PEOPLE = "{column: who, max_rows: 3}"

RELATIONS = (
    ("row", "add-remove"),
    ("row", "change-one"),
    (PEOPLE, "add-remove"),
    (PEOPLE, "change-one"),
)

OF = {
    "mean": "of: mean, column: x",
    "share": "of: proportion, column: flag",
    "ratio": "of: ratio, numerator: x, denominator: flag",
    "count": "of: count",
}

RUNS = 600

pytestmark = pytest.mark.usefixtures("stream")


def planned(
    of: str,
    labels: Sequence[str] = "fmx",
    relation: tuple[str, str] = RELATIONS[0],
    epsilon: Fraction | int = 1,
    low: int = 0,
) -> PlannedStatistic:
    """The only statistic of a spec that compares these labels of `sex`."""
    between = f"between: {{sex: [{', '.join(labels)}]}}"
    fields = f"statistic: comparison, {OF[of]}, {between}, epsilon: {float(epsilon)}"
    unit, neighbors = relation
    return planned_statistic(SPEC.format(unit=unit, neighbors=neighbors, fields=fields, low=low))


def cells_of(of: str, statistic: PlannedStatistic, sizes: Sequence[int]) -> list[list[int]]:
    """The exact answers about groups of these sizes, and of other shares and means in each."""
    queries = [part.weighted.query for part in statistic.queries]
    rows = [
        (
            np.repeat([10, 30 + 10 * at], [size // 2, size - size // 2]),
            np.arange(size) % (at + 2) == 0,
        )
        for at, size in enumerate(sizes)
    ]
    if of == "count":
        return [[*sizes]]
    if of == "share":
        return [[int(count) for _, flags in rows for count in ((~flags).sum(), flags.sum())]]
    if of == "mean":
        return [[int(part) for x, _ in rows for part in ((100 - x).sum(), x.sum())]]
    assert len(queries) == 2
    return [[int(x.sum()) for x, _ in rows], [int(flags.sum()) for _, flags in rows]]


def truth_of(of: str, cells: list[list[int]]) -> Floats:
    """The number of each group, the differences from the first, and the ratios to it."""
    numbers = np.array(cells[0], float)
    if of in ("share", "mean"):
        outside, inside = numbers.reshape(-1, 2).T
        numbers = inside / (inside + outside) * (100 if of == "mean" else 1)
    elif of == "ratio":
        numbers /= np.array(cells[1], float)
    first, others = numbers[0], numbers[1:]
    return np.concatenate([numbers, others - first, others / first])


def released(
    of: str, statistic: PlannedStatistic, sizes: Sequence[int], runs: int = RUNS
) -> tuple[Estimates, Floats]:
    """The estimates of many releases about groups of these sizes, and the exact numbers."""
    cells = cells_of(of, statistic, sizes)
    answers = with_noise(statistic, cells, runs)
    entry = statistic.entry
    found = entry.statistic.possible_estimate(statistic.design, answers, CONFIDENCE)
    return found, truth_of(of, cells)


SIZES, EPSILONS = (30, 300, 30_000), (Fraction(1, 10), 1, 5)


@pytest.mark.parametrize(
    ("of", "relation", "size", "epsilon"),
    in_pairs(
        product(OF, RELATIONS, SIZES, EPSILONS),
        *[(of, RELATIONS[at % 3], SIZES[at % 3], 1) for at, of in enumerate(OF)],
        *[(of, RELATIONS[at % 3], 300, EPSILONS[at % 2]) for at, of in enumerate(OF)],
        ("mean", RELATIONS[3], 300, 1),
    ),
)
def test_intervals_cover_numbers_differences_and_ratios(
    of: str, relation: tuple[str, str], size: int, epsilon: Fraction | int
) -> None:
    """At least 92% of 600 intervals hold, where 95% are meant; a missing interval holds."""
    statistic = planned(of, relation=relation, epsilon=epsilon)
    estimates, truth = released(of, statistic, [size, size + size // 3, 2 * size])
    lower, upper = (
        by_item(estimates, ends, len(truth)) for ends in (estimates.lower, estimates.upper)
    )
    missing = estimates.status.reshape(-1, len(truth)) != HAS_INTERVAL
    holds = (lower <= truth + 1e-6) & (truth - 1e-6 <= upper)

    assert ((holds | missing).mean(axis=0) >= 0.92).all()


@pytest.mark.parametrize("of", ["mean", "share", "ratio"])
def test_the_interval_of_a_difference_is_narrower_than_both_half_widths(of: str) -> None:
    """It is at most 0.75 times their sum, for groups of equal size."""
    estimates, truth = released(of, planned(of, "fm"), [3000, 3000])
    widths = np.median(by_item(estimates, estimates.upper - estimates.lower, len(truth)), axis=0)

    assert widths[2] <= 0.75 * (widths[0] + widths[1])


@pytest.mark.parametrize("of", ["mean", "share", "ratio"])
def test_a_difference_is_that_of_the_published_numbers(of: str) -> None:
    """So its error is that of a `mean` with `by` subtracted by hand, at the same loss."""
    statistic = planned(of)
    fields = OF[of].replace("of: ", "statistic: ")
    by_hand = planned_statistic(
        SPEC.format(
            unit="row", neighbors="add-remove", fields=f"{fields}, by: [sex], epsilon: 1", low=0
        )
    )
    estimates, truth = released(of, statistic, [50, 60, 70], runs=20)
    first, second, third, *differences = by_item(estimates, estimates.value, len(truth)).T[:5]

    assert np.allclose(differences, [second - first, third - first])
    assert statistic.noises == by_hand.noises


def test_numbers_that_may_be_negative_have_no_ratios() -> None:
    """The items are the numbers and their differences."""
    names = [
        entry.statistic.names(entry.inputs)
        for entry in (planned("mean", low=low).entry for low in (-1, 0))
    ]

    assert names == [
        ("f", "m", "x", "m - f", "x - f"),
        ("f", "m", "x", "m - f", "x - f", "m / f", "x / f"),
    ]


def test_noise_that_hides_the_reference_leaves_no_ratio() -> None:
    """Of two rows at epsilon 0.1, most ratios of shares have no interval."""
    estimates, truth = released("share", planned("share", "fm", epsilon=Fraction(1, 10)), [2, 2])
    has_interval = (estimates.status == HAS_INTERVAL).reshape(-1, len(truth)).mean(axis=0)

    assert has_interval[-1] < 0.2
    assert (has_interval[:-1] == 1).all()


@EXTENDED
@pytest.mark.parametrize(
    ("missing", "body", "part"), [("", "exchange", 0.866), (", missing: ", "fixed-sum", 0.837)]
)
def test_a_changed_row_moves_little_from_group_to_group(
    missing: str, body: str, part: float
) -> None:
    """A difference has 0.87 of the noise of separate sums, and 0.84 if each row counts."""
    fields = f"statistic: comparison, {OF['mean']}, between: {{sex: [f, m]}}, epsilon: 1"
    spec = SPEC.format(unit="row", neighbors="change-one", fields=fields, low=0)
    spec = spec.replace("100]}", f"100]{missing and missing + '0'}}}")
    spec = spec.replace("[f, m, x]}", f"[f, m]{missing and missing + 'f'}}}")
    statistic = planned_statistic(spec)
    estimates, truth = released("mean", statistic, [3000, 3000], runs=1000)
    errors = by_item(estimates, estimates.value, len(truth))[:, 2] - truth[2]
    # Of values halfway between middle and lower bound, and of Laplace noise of scale 200.
    shares = (truth[:2] / 100) ** 2 + (1 - truth[:2] / 100) ** 2
    separate = np.sqrt(2 * 200**2 * shares.sum()) / 3000
    (noise,) = statistic.noises

    assert isinstance(noise, VectorNoise)
    assert noise.body == body
    assert np.sqrt((errors**2).mean()) == pytest.approx(part * separate, rel=0.07)


def test_labels_are_listed_or_all() -> None:
    """With `between: sex`, the groups are all labels, and each is compared with the one before."""
    text = SPEC.format(
        unit="row", neighbors="add-remove", low=0,
        fields="statistic: comparison, between: sex, reference: previous, epsilon: 1",
    )  # fmt: skip
    entry = planned_statistic(text).entry

    assert entry.statistic.names(entry.inputs) == (
        "f", "m", "x", "m - f", "x - m", "m / f", "x / m",
    )  # fmt: skip


def test_a_published_spec_may_compare_labels_that_no_row_has() -> None:
    """Reports of earlier versions are read, though a new spec may not list such labels."""
    text = SPEC.format(
        unit="row", neighbors="add-remove", low=0,
        fields="statistic: comparison, between: {sex: [f, m]}, where: {sex: f}, epsilon: 1",
    )  # fmt: skip

    with pytest.raises(SpecError, match="no row can be in the group `m`"):
        parse_spec(text, "spec.yaml")
    assert parse_spec(text, "spec.yaml", published=True).dataset


MANY = "{column: who, max_rows: 3, max_groups: 3, max_rows_per_group: 1}"

SHARING = (("add-remove", "fm"), ("add-remove", "fmx"), ("change-one", "fmx"))


@pytest.mark.parametrize(
    ("sharing", "size", "epsilon"),
    in_pairs(product(SHARING, SIZES, EPSILONS), (SHARING[0], 300, 1), (SHARING[2], 30, 1)),
)
def test_counts_of_people_in_many_groups_share_noise(
    sharing: tuple[str, str], size: int, epsilon: Fraction | int
) -> None:
    """The noise is that of a `count` with `by`, and intervals hold as stated."""
    neighbors, labels = sharing
    relation = (MANY, neighbors)
    statistic = planned("count", labels, relation, epsilon)
    estimates, truth = released(
        "count", statistic, [size, size + size // 3, 2 * size][: len(labels)]
    )
    if len(labels) == 2:
        truth[-1] *= 100
    by_hand = planned_statistic(
        SPEC.format(
            unit=MANY, neighbors=neighbors, low=0,
            fields=f"statistic: count, by: [sex], epsilon: {float(epsilon)}",
        ).replace("[f, m, x]", f"[{', '.join(labels)}]")
    )  # fmt: skip
    lower, upper = (
        by_item(estimates, ends, len(truth)) for ends in (estimates.lower, estimates.upper)
    )
    missing = estimates.status.reshape(-1, len(truth)) != HAS_INTERVAL
    holds = (lower <= truth + 1e-6) & (truth - 1e-6 <= upper)

    assert ((holds | missing).mean(axis=0) >= 0.92).all()
    assert statistic.noises == by_hand.noises
