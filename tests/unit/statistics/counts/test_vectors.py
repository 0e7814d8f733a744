"""Numbers with K-norm noise: where it is used, its errors and its intervals."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from dpcli.data.kinds import Axis
from dpcli.data.labels import PrivatePartitionColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.k_norm import KNorm
from dpcli.mechanisms.pure import Laplace
from dpcli.noise.vector_noise import VectorNoise
from dpcli.planning.plan import PlannedStatistic
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.queries.query import LinearQuery
from dpcli.queries.vectors import VectorQuery
from dpcli.statistics.noise_covariance import covariance_of
from tests.oracles.agreement import agreed
from tests.support.rules import for_each
from tests.support.streams import Stream
from tests.support.surveys import CONFIDENCE, by_item, held, planned_statistic, released

SPEC = """
dpcli: 1
dataset: vectors
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 9, delta: 1e-5}}{more}}}
{sample}
columns:
  who: {{type: id}}
  s: {{type: category, values: [a, b]}}
  t: {{type: category, values: [a, b, c, d, e, f]}}
  w: {{type: integer, bounds: [0, 5]}}
  {flags}
statistics: [{{name: n, statistic: {entry}}}]
"""

FLAGS = "\n  ".join(f"f{at}: {{type: boolean}}" for at in range(64))

PERSON = "{column: who, max_rows: 6, max_groups: 6, max_rows_per_group: 1}"


def planned(
    entry: str, neighbors: str = "add-remove", unit: str = "row", sample: str = "", more: str = ""
) -> PlannedStatistic:
    """The statistic of a spec."""
    return planned_statistic(
        SPEC.format(
            entry=entry, neighbors=neighbors, unit=unit, sample=sample, more=more, flags=FLAGS
        )
    )


def selections(count: int, by: str = "") -> str:
    """An entry for this number of answers."""
    names = ", ".join(f"f{at}" for at in range(count))
    return f"selections, columns: [{names}], {by}epsilon: 1"


def together(statistic: PlannedStatistic) -> bool:
    """Whether the numbers have K-norm noise."""
    return isinstance(statistic.queries[0].weighted.query, VectorQuery)


def deviation(statistic: PlannedStatistic) -> float:
    """The standard deviation of the noise in a published number."""
    (noise,) = statistic.noises
    return sqrt(noise.discrete_variance)


@pytest.mark.parametrize(
    ("count", "added", "changed"),
    [(2, 1.83, 2.0), (3, 2.24, 2.58), (6, 3.46, 4.32), (10, 5.10, 6.63), (64, 27.1, 37.8)],
)
def test_selections_have_the_deviations_of_the_literature(
    count: int, added: float, changed: float
) -> None:
    """Separate counts have 1.41 times their number (Steinke and Ullman 2016, for the cube)."""
    assert deviation(planned(selections(count))) == pytest.approx(added, rel=0.04)
    assert deviation(planned(selections(count), "change-one")) == pytest.approx(changed, rel=0.04)


def test_a_row_that_moves_between_groups_doubles_the_noise() -> None:
    """It leaves all counts of one group and raises all of another."""
    moved = deviation(planned(selections(6, "by: [s], "), "change-one"))
    assert moved == pytest.approx(2 * deviation(planned(selections(6))), rel=0.02)


@for_each(
    [
        (selections(6), "add-remove", "row"),
        ("count_missing, columns: [s, t, w], epsilon: 1", "add-remove", "row"),
        ("count, by: [t], epsilon: 1", "add-remove", PERSON),
        ("count_distinct, by: [t], epsilon: 1", "change-one", PERSON),
        ("histogram, column: t, epsilon: 1", "add-remove", PERSON),
        ("sum, column: w, by: [t], epsilon: 1", "add-remove", PERSON),
        ("count, by: [s], epsilon: 1", "change-one", "row"),
        ("sum, column: w, by: [s], epsilon: 1", "change-one", "row"),
        (selections(6, "by: [s], where: {w: {min: 1}}, "), "change-one", "row"),
    ]
)
def test_numbers_that_one_unit_can_all_change_share_noise(case: tuple[str, str, str]) -> None:
    """With Laplace noise in the spec, too, but not with Gaussian noise."""
    entry, neighbors, unit = case
    assert together(planned(entry, neighbors, unit))
    assert together(planned(f"{entry}, mechanism: laplace", neighbors, unit))
    assert not together(planned(f"{entry}, mechanism: gaussian, delta: 1e-6", neighbors, unit))


@for_each(
    [
        ("count, by: [t], epsilon: 1", "add-remove", "row", "", ""),
        ("count, epsilon: 1", "add-remove", PERSON, "", ""),
        ("count, by: [s], where: {w: {min: 1}}, epsilon: 1", "change-one", "row", "", ""),
        (selections(6).replace("eps", "max_selected: 1, eps"), "add-remove", "row", "", ""),
        ("count, by: [s], epsilon: 1", "change-one", "row",
         "sample: {design: simple-random, population: 99}", ""),
        (selections(6), "add-remove", "row", "", ", composition: zcdp"),
        (selections(6), "add-remove", "row", "", ", composition: pld"),
    ]
)  # fmt: skip
def test_other_numbers_have_separate_noise(case: tuple[str, str, str, str, str]) -> None:
    """A few changes, disjoint entries, samples, and where rho counts."""
    entry, neighbors, unit, sample, more = case
    assert not together(planned(entry, neighbors, unit, sample, more))


@for_each(
    [
        (selections(6, "where: {w: {min: 1}}, "), "row"),
        (selections(6, "by: [t], where: {w: {min: 1}}, "), "row"),
        ("count, by: [t], where: {w: {min: 1}}, epsilon: 1", PERSON),
    ]
)
def test_filters_share_noise_where_a_moving_row_costs_no_more_of_it(case: tuple[str, str]) -> None:
    """A row that leaves an entry may enter another: separate numbers double, too, or norms do."""
    entry, unit = case
    assert together(planned(entry, "change-one", unit))


@pytest.mark.parametrize("composition", ["zcdp", "pld"])
@pytest.mark.parametrize("count", [3, 6, 12])
def test_laplace_noise_is_for_counts_less_others_where_rho_counts(
    count: int, composition: str
) -> None:
    """Its deviation is (k^(2/3) + 1)^(3/2)/2 times that of one count, instead of k times."""
    statistic = planned(selections(count), more=f", composition: {composition}")
    others, rows = (noise.discrete_variance for noise in statistic.noises)
    factor = (count ** (2 / 3) + 1) ** 1.5 / 2
    assert sqrt(others + rows) / 2 == pytest.approx(sqrt(2) * factor, rel=0.03)


@pytest.mark.parametrize(
    ("entry", "neighbors", "unit", "numbers"),
    [
        (selections(6), "add-remove", "row", 6),
        (selections(6, "by: [s], "), "add-remove", "row", 12),
        (selections(3), "change-one", "row", 3),
        ("count_distinct, by: [t], epsilon: 1", "add-remove", PERSON, 6),
        ("count_distinct, by: [t], epsilon: 0.1", "change-one", PERSON, 6),
        ("sum, column: w, by: [s], epsilon: 0.02", "change-one", "row", 2),
    ],
)
def test_intervals_hold(
    entry: str, neighbors: str, unit: str, numbers: int, stream: Stream
) -> None:
    """94.5 to 97% of them contain the number: noise of whole numbers has no other widths."""
    statistic = planned(entry, neighbors, unit)
    truth = np.arange(numbers) * 1000
    found = released(statistic, [truth], 10_000)
    errors = by_item(found, found.value, numbers) - truth
    assert errors.std() == pytest.approx(deviation(statistic), rel=0.02)
    assert 0.945 <= held(found, truth).mean() <= 0.97
    assert statistic.error(CONFIDENCE) == (found.upper[0] - found.lower[0]) * found.step / 2


def test_stated_covariances_are_those_of_releases(stream: Stream) -> None:
    """Counts of a group are correlated by one half, and of different groups not at all."""
    statistic = planned(selections(3, "by: [s], "))
    found = released(statistic, [np.zeros(6, np.int64)], 40_000)
    stated = covariance_of(statistic.design, statistic.noises, consistent=False)
    assert stated is not None and stated.shape == (3, 3)
    assert stated[0, 1] == pytest.approx(stated[0, 0] / 2)
    seen = np.cov(by_item(found, found.value, 6).T)
    assert seen[:3, :3] == pytest.approx(stated, rel=0.06)
    assert abs(seen[:3, 3:]).max() < 0.06 * stated[0, 0]


def test_exact_answers_are_those_of_the_oracle(tmp_path: Path) -> None:
    """With missing cells, and limits on people."""
    axis = Axis(IntegerColumn("g", bounds=(0, 2)), range(3))
    lines = [f"p{index // 3},{'012x'[index % 4]}" for index in range(50)]
    of = LinearQuery(by=(axis,))
    for unit in (RowUnit(), PersonUnit("who", 3, 3, 3)):
        query = VectorQuery(by=of.by, of=of, norm="zero-one")
        agreed([query], "\n".join(["who,g", *lines, ""]), tmp_path, unit)


def test_only_its_own_mechanism_answers_a_vector() -> None:
    """Laplace noise of this scale would not cover the sum of all changes."""
    relation = Relation(RowUnit(), Neighbors.ADD_REMOVE)
    of = LinearQuery(by=(Axis(IntegerColumn("g", bounds=(0, 1)), range(2)),))
    query = VectorQuery(by=of.by, of=of, norm="cube")
    for mechanism, asked in ((Laplace(), query), (KNorm(), of)):
        with pytest.raises(TypeError, match="queries that it answers"):
            CalibratedMechanism.calibrate(mechanism, [asked], relation, Loss(Fraction(1)))
    (own,) = CalibratedMechanism.calibrate(KNorm(), [query], relation, Loss(Fraction(1)))
    assert own.noise == VectorNoise(Fraction(1), 2, "cube")


def test_vectors_need_public_groups_the_same_rows_and_a_known_norm() -> None:
    """Private groups are not known before they are selected."""
    private = Axis(PrivatePartitionColumn("g"))
    with pytest.raises(ValueError, match="private groups"):
        VectorQuery(by=(private,), of=LinearQuery(by=(private,)), norm="cube")
    axis = Axis(IntegerColumn("g", bounds=(0, 1)), range(2))
    with pytest.raises(ValueError, match="other query"):
        VectorQuery(of=LinearQuery(by=(axis,)), norm="cube")
    with pytest.raises(ValueError, match="norm is not known"):
        VectorQuery(by=(axis,), of=LinearQuery(by=(axis,)), norm="ball")
