"""Ways around the mechanisms that type-check; each raises before anything is opened."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import exp, sqrt
from typing import Any
from unittest.mock import Mock

import pytest

from dpcli import mechanisms
from dpcli.data.kinds import Axis
from dpcli.data.labels import PrivatePartitionColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.mechanisms import local
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism, respond
from dpcli.mechanisms.gaussian import Gaussian
from dpcli.mechanisms.k_norm import KNorm
from dpcli.mechanisms.local.additive import AdditiveRandomizer
from dpcli.mechanisms.local.labels import KaryRandomizer, MatrixRandomizer, UnaryEncodingRandomizer
from dpcli.mechanisms.local.local_mechanism import CalibratedRandomizer, ProbabilityTable
from dpcli.mechanisms.mechanism import AdditiveMechanism, CalibrationError, Mechanism, PureMechanism
from dpcli.mechanisms.pure import Laplace
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise, NoiseSamples
from dpcli.noise.vector_noise import VectorNoise
from dpcli.numeric.arrays import Ints, integer_array, np
from dpcli.privacy.confidential import Cells, Confidential, Groups
from dpcli.privacy.loss import LaplacePair, Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.registry import Registry
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from tests.support.permits import free_permit

RELATION = Relation(RowUnit(), Neighbors.ADD_REMOVE)
COUNT, ONE = LinearQuery(), Loss(Fraction(1))
AGE = IntegerColumn("age", bounds=(0, 100))
SUM = LinearQuery(factors=(Factor(AGE),))
NOTHING = np.zeros(1, np.int64)
EMPTY = Groups((("a",),), NOTHING, NOTHING, NOTHING, 1, COUNT.answer)
GROUPS = Confidential(EMPTY, COUNT, RELATION.unit)
SEALED: Confidential[Cells] = Confidential(integer_array([7]), SUM, RELATION.unit)


def calibrated(
    mechanism: Mechanism, target: Loss = ONE, relation: Relation = RELATION
) -> CalibratedMechanism:
    """A mechanism that is calibrated for a count."""
    (found,) = CalibratedMechanism.calibrate(mechanism, [COUNT], relation, target)
    return found


@dataclass(frozen=True)
class Silent(Noise):
    """Noise with the stated properties of Laplace noise, but always zero."""

    kind = "laplace"
    dominating_pair = LaplacePair

    def sample(self, count: int, *, many: bool = False) -> NoiseSamples:
        """Zeros."""
        return [0] * count

    def positive_tail(self, value: int) -> float:
        """That of Laplace noise."""
        return DiscreteLaplace(self.scale).positive_tail(value)


class Quiet(PureMechanism, AdditiveMechanism):
    """A mechanism with such noise."""

    name = "laplace"
    distribution = Silent

    def zcdp_rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        """That of Laplace noise."""
        return Laplace().zcdp_rho(noise, sensitivity)


class Lying(Laplace):
    """A registered mechanism that returns other noises, which each test sets."""

    noises: tuple[Noise, ...] = ()

    def calibrate(
        self,
        changes: Sequence[Sensitivity],
        target: Loss,
        shares: Sequence[Fraction],
        calibration: str = "exact",
    ) -> list[Noise]:
        """The noises that were set."""
        return list(self.noises)


def test_a_part_of_epsilon_that_an_answer_cannot_use_stays_unused() -> None:
    """The noise of an answer is made for its own weight, also next to one that never changes."""
    always_zero = LinearQuery(factors=(Factor(IntegerColumn("none", bounds=(0, 0))),))
    halves = (Fraction(1, 2), Fraction(1, 2))
    counted, constant = CalibratedMechanism.calibrate(
        Laplace(), [COUNT, always_zero], RELATION, ONE, halves
    )
    assert counted.noise.scale >= 2
    assert counted.loss.epsilon == Fraction(1, 2)
    assert not constant.loss.epsilon


def test_a_selection_of_groups_adds_its_delta_to_that_of_the_noise() -> None:
    """Where the budget is in rho, the charged delta holds for the noise and the threshold."""
    delta = Fraction(1, 10**7)
    target = Loss(Fraction(0), delta, rho=Fraction(1, 8))
    noise, private = (
        CalibratedMechanism.calibrate(
            Gaussian(), [COUNT], RELATION, target, delta=delta, selects_partitions=selects
        )[0]
        for selects in (False, True)
    )
    assert private.partition_selection is not None
    assert private.partition_selection.delta > 0
    assert private.loss.delta >= noise.loss.delta + private.partition_selection.delta


def test_only_a_registered_mechanism_is_calibrated() -> None:
    """A subclass of a registered mechanism inherits its claims, but not its noise."""
    with pytest.raises(TypeError, match="only a registered mechanism"):
        calibrated(Quiet())
    with pytest.raises(TypeError, match="only a registered mechanism"):
        calibrated(Mock(spec=Laplace))


def test_only_registered_noise_is_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registered mechanism with its own distribution is refused."""
    monkeypatch.setattr(mechanisms, "MECHANISMS", Registry("dpcli", {"laplace": Quiet()}))
    with pytest.raises(ValueError, match="needs a positive scale"):
        calibrated(Quiet())


@pytest.mark.parametrize(
    "noise",
    [DiscreteGaussian(Fraction(9)), DiscreteLaplace(Fraction(1, 2)), DiscreteLaplace(Fraction(-9))],
    ids=str,
)
def test_noise_is_not_trusted(noise: Noise, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another distribution, too little noise and a negative scale are refused."""
    monkeypatch.setattr(mechanisms, "MECHANISMS", Registry("dpcli", {"laplace": Lying()}))
    monkeypatch.setattr(Lying, "noises", (noise,))
    with pytest.raises((ValueError, CalibrationError)):
        calibrated(Lying())


class Lie(Fraction):
    """A number whose comparisons are always true."""

    def __le__(self, other: object) -> bool:
        return True


def test_numbers_compare_as_numbers_do() -> None:
    """Numbers, weights and targets of another type could accept any noise."""

    class Generous(Loss):
        """A target that everything is within."""

    for target in (Generous(Fraction(1)), ONE):
        with pytest.raises(TypeError, match=r"cannot be subclassed|plain fraction"):
            CalibratedMechanism.calibrate(Laplace(), [COUNT], RELATION, target, [Lie(1)])
    for make in (Loss, DiscreteLaplace):
        with pytest.raises(TypeError, match="plain fraction"):
            make(Lie(1))
    with pytest.raises(TypeError, match="plain fraction"):
        KaryRandomizer(ONE, Lie(1, 2), Lie(1, 2), 2)
    with pytest.raises(TypeError, match="plain fraction"):
        ProbabilityTable(("a",), ("a",), ((Lie(1),),))


COPIES: list[Callable[[CalibratedMechanism], object]] = [
    copy.copy,
    copy.deepcopy,
    pickle.dumps,
    lambda made: replace(made, noise=DiscreteLaplace(Fraction(1, 1000))),
    replace,
    lambda made: setattr(made, "noise", DiscreteLaplace(Fraction(1, 1000))),
    lambda made: delattr(made, "noise"),
    lambda made: made.__setstate__([]),
    lambda made: made.__getstate__(),
    vars,
]


@pytest.mark.parametrize("way", COPIES)
def test_a_calibrated_mechanism_is_not_copied_with_other_noise(
    way: Callable[[CalibratedMechanism], object],
) -> None:
    """Copies, pickles, replaced fields and assignments are refused."""
    with pytest.raises((TypeError, AttributeError)):
        way(calibrated(Laplace()))


def test_an_empty_calibrated_mechanism_opens_nothing() -> None:
    """An object that was allocated without `calibrate` has no query, so no answer is for it."""
    blank = CalibratedMechanism.__new__(CalibratedMechanism)
    with pytest.raises(AttributeError):
        blank.answer(SEALED, free_permit())


def test_an_answer_to_another_query_stays_sealed() -> None:
    """The noise of a count does not open a sum."""
    with pytest.raises(ValueError, match="another query"):
        calibrated(Laplace()).answer(SEALED, free_permit())


class Changing(list[Any]):
    """A sequence with other members each time it is read."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.pop(0))

    def __getitem__(self, place: Any) -> Any:
        return self.pop(0)[place]


def test_queries_and_weights_are_read_once() -> None:
    """Neither the query nor its weight differs after the noise is chosen."""
    queries = Changing([[COUNT], [SUM]])
    (made,) = CalibratedMechanism.calibrate(Laplace(), queries, RELATION, ONE)
    assert made.query is COUNT
    shares = Changing([[Fraction(1)], [Fraction(1000)], [Fraction(1, 1000)]])
    (made,) = CalibratedMechanism.calibrate(Laplace(), [COUNT], RELATION, ONE, shares)
    assert made.loss.epsilon * made.noise.scale == 1


@pytest.mark.parametrize(
    "name", ["sample", "calibrate_and_verify", "calibrate", "scale", "anything"]
)
def test_no_attribute_hides_a_method(name: str) -> None:
    """Noise and mechanisms that callers get keep their own methods."""
    made = calibrated(Laplace())
    for one in (made.noise, made.mechanism, *mechanisms.MECHANISMS):
        with pytest.raises(AttributeError):
            setattr(one, name, lambda *_: [0])


UNITS: list[Unit] = [RowUnit(), PersonUnit("who", 1, 1, 1), PersonUnit("who", 9, 9, 81)]


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_an_answer_about_rows_of_another_unit_stays_sealed(unit: Unit) -> None:
    """The noise for one row, or for lower limits, does not open answers about more rows."""
    made = calibrated(Laplace(), relation=Relation(unit, Neighbors.ADD_REMOVE))
    for bounded_for in (PersonUnit("who", 9, 9, 81), RELATION.unit, None):
        with pytest.raises(ValueError, match="another unit"):
            made.answer(Confidential(integer_array([7]), COUNT, bounded_for), free_permit())
    assert len(made.answer(Confidential(integer_array([7]), COUNT, unit), free_permit()).value) == 1


def test_groups_of_another_unit_stay_sealed() -> None:
    """Groups of another unit are not selected, and their cells are not answered."""
    groups = Groups((("a",),), NOTHING, NOTHING, integer_array([1]), 1, np.ravel)
    other = PersonUnit("who", 9, 9, 81)
    query = LinearQuery(by=(Axis(PrivatePartitionColumn("town")),))
    target = Loss(Fraction(1), Fraction(1, 10**6))
    (made,) = CalibratedMechanism.calibrate(
        Laplace(), [query], RELATION, target, selects_partitions=True
    )
    for bounded_for in (other, None):
        sealed = Confidential(groups, query, bounded_for)
        with pytest.raises(ValueError, match="another unit"):
            made.select_partitions(sealed, free_permit())
        with pytest.raises(ValueError, match="another unit"):
            made.answer(sealed.in_groups([("a",)]), free_permit())
    made.select_partitions(Confidential(groups, query, RELATION.unit), free_permit())


@pytest.mark.parametrize("count", [1, 5])
def test_groups_are_selected_by_their_noisy_counts_alone(count: int) -> None:
    """Small groups are published as often as noise lifts them above the threshold."""
    names, ones = tuple((f"t{at}",) for at in range(20_000)), np.ones(20_000, np.int64)
    query = LinearQuery(by=(Axis(PrivatePartitionColumn("town")),))
    target = Loss(Fraction(1), Fraction(1, 5))
    (made,) = CalibratedMechanism.calibrate(
        Laplace(), [query], RELATION, target, selects_partitions=True
    )
    assert made.partition_selection is not None
    missing = made.partition_selection.threshold - count
    decay = exp(-1 / made.noise.scale)
    above = decay ** max(missing, 1 - missing) / (1 + decay)
    chance = above if missing > 0 else 1 - above
    groups = Groups(names, np.arange(20_000), 0 * ones, integer_array(count * ones), 1, np.ravel)
    shown = made.select_partitions(Confidential(groups, query, RELATION.unit), free_permit())
    deviation = sqrt(20_000 * chance * (1 - chance))
    assert abs(len(shown.value) - 20_000 * chance) < 6 * deviation


class Most(int):
    """A limit whose comparisons are always true."""


def test_relations_have_no_other_kinds() -> None:
    """A unit, a relation or a limit of another type could state another sensitivity."""
    small = type("Small", (PersonUnit,), {})("who", 9, 9, 81)
    alike = type("Alike", (Relation,), {})(RowUnit(), Neighbors.ADD_REMOVE)
    for relation in (Relation(small, Neighbors.ADD_REMOVE), alike):
        with pytest.raises(TypeError, match="cannot be subclassed"):
            calibrated(Laplace(), relation=relation)
    with pytest.raises(TypeError, match="plain number"):
        PersonUnit("who", 1, 1, Most(1))


def test_groups_are_not_selected_without_a_threshold() -> None:
    """Only a mechanism that was calibrated for partition selection selects groups."""
    with pytest.raises(ValueError, match="does not select groups"):
        calibrated(Laplace()).select_partitions(GROUPS, free_permit())


def test_texts_that_record_comparisons_name_no_group() -> None:
    """A text of another type would see the texts that it is compared with."""

    class Spy(str):
        __slots__ = ()

    changing = Changing([[("a",)], [(Spy("a"),)]])
    GROUPS.in_groups(changing)
    for groups in ([(Spy("a"),)], changing):
        with pytest.raises(TypeError, match="plain texts"):
            GROUPS.in_groups(groups)


@dataclass(frozen=True, slots=True)
class Echo(KaryRandomizer):
    """A randomizer whose responses are the cells, and which certifies itself."""

    @property
    def is_certified(self) -> bool:
        """Always true."""
        return True

    def draw(self, cells: Ints) -> tuple[Ints]:
        """The cells."""
        return (cells,)


@dataclass(frozen=True, slots=True)
class Honest(KaryRandomizer):
    """A registered kind with other responses."""

    def draw(self, cells: Ints) -> tuple[Ints]:
        """The cells."""
        return (cells,)


HALF, FEW = Fraction(1, 2), Fraction(1, 10**9)
CERTAIN = ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)))

CALIBRATED_RANDOMIZERS: list[Callable[[], CalibratedRandomizer]] = [
    lambda: Echo(ONE, 1 - FEW, FEW, 2),
    lambda: Honest(ONE, HALF, HALF, 2),
    lambda: KaryRandomizer(ONE, 1 - FEW, FEW, 2),
    lambda: KaryRandomizer(ONE, Fraction(3, 2), -HALF, 2),
    lambda: UnaryEncodingRandomizer(ONE, 1 - FEW, HALF, 2),
    lambda: UnaryEncodingRandomizer(ONE, HALF, FEW, 2),
    lambda: UnaryEncodingRandomizer(ONE, Fraction(1), HALF, 2),
    lambda: MatrixRandomizer(ONE, ProbabilityTable(("a", "b"), ("a", "b"), CERTAIN)),
    lambda: AdditiveRandomizer(ONE, AGE, Laplace(), DiscreteLaplace(FEW)),
    lambda: AdditiveRandomizer(ONE, AGE, Laplace(), DiscreteGaussian(Fraction(10**9))),
    lambda: AdditiveRandomizer(ONE, AGE, Quiet(), Silent(Fraction(100))),
    lambda: AdditiveRandomizer(ONE, AGE, Laplace(), Silent(Fraction(100))),
    # Of one number with a fixed sum, the noise is zero.
    lambda: AdditiveRandomizer(ONE, AGE, KNorm(), VectorNoise(Fraction(10**9), 1, "fixed-sum")),
]


@pytest.mark.parametrize("make", CALIBRATED_RANDOMIZERS)
def test_records_respond_with_certified_probabilities_only(
    make: Callable[[], CalibratedRandomizer],
) -> None:
    """An unregistered kind, or parameters that reveal more than stated, open nothing."""
    with pytest.raises((TypeError, ValueError)):
        _truth(make())


def _truth(randomizer: CalibratedRandomizer) -> object:
    return respond(randomizer, Confidential(np.array([0, 1]), randomizer))


def test_a_randomizer_opens_only_its_own_cells() -> None:
    """It opens neither cells of another randomizer nor an answer about all records."""
    randomizer = KaryRandomizer(ONE, HALF, HALF, 2)
    assert type(randomizer) in local.CALIBRATED_RANDOMIZERS
    for other in (SUM, KaryRandomizer(ONE, Fraction(3, 5), Fraction(2, 5), 2)):
        with pytest.raises(ValueError, match="another randomizer"):
            respond(randomizer, Confidential(np.array([0, 1]), other))
