"""Ways around the mechanisms that do not type-check; most raise at run time as well.

Each `type: ignore` names an error that mypy finds. mypy reports an ignore without an error, so
every line here is known to be refused.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest

from dpcli import mechanisms, noise
from dpcli.data import kinds
from dpcli.mechanisms import local
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.pure import Laplace
from dpcli.noise import entropy
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import NoiseSamples
from dpcli.numeric.arrays import integer_array
from dpcli.privacy.confidential import Cells, Confidential, NoisePermit
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.queries.query import LinearQuery
from dpcli.simulation.synthetic import SyntheticDataset

RELATION = Relation(RowUnit(), Neighbors.ADD_REMOVE)
(FITTED,) = CalibratedMechanism.calibrate(Laplace(), [LinearQuery()], RELATION, Loss(Fraction(1)))
TINY = DiscreteLaplace(Fraction(1, 1000))
SEALED: Confidential[Cells] = Confidential(integer_array([7]), FITTED.query, RELATION.unit)


def test_only_calibrate_makes_a_calibrated_mechanism() -> None:
    """No argument of the constructor exists."""
    with pytest.raises(TypeError, match="only `calibrate`"):
        CalibratedMechanism(TINY)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        CalibratedMechanism()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        CalibratedMechanism(noise=TINY)  # type: ignore[call-arg]


def test_only_issuers_make_a_permit() -> None:
    """No argument of the constructor exists, and no answer is given without a permit."""
    with pytest.raises(TypeError, match="only a transaction"):
        NoisePermit(lambda *_: None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        FITTED.answer(SEALED)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        FITTED.answer(SEALED, None)  # type: ignore[arg-type]


def test_a_calibrated_mechanism_does_not_change() -> None:
    """Its noise, the parts of the noise and its methods cannot be replaced."""
    with pytest.raises(FrozenInstanceError):
        FITTED.noise = TINY  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        FITTED.noise.scale = Fraction(1, 1000)  # type: ignore[misc]
    blank = CalibratedMechanism.__new__(CalibratedMechanism)
    with pytest.raises(FrozenInstanceError):
        blank.noise = TINY  # type: ignore[misc]


def test_sealed_types_have_no_other_kinds() -> None:
    """A subclass could open what it inherits."""
    with pytest.raises(TypeError):

        class Open(Confidential[int]):  # type: ignore[misc]
            """A confidential value with an additional method."""

    with pytest.raises(TypeError):

        class Quiet(CalibratedMechanism):  # type: ignore[misc]
            """A calibrated mechanism with other noise."""

    with pytest.raises(TypeError):

        class Free(NoisePermit):  # type: ignore[misc]
            """A permit with another rule."""

    with pytest.raises(TypeError):

        class Real(SyntheticDataset):  # type: ignore[misc]
            """A synthetic dataset with other rows."""


def test_the_sealed_value_has_no_name() -> None:
    """It has no name outside its class, nor in another class of the same name."""
    with pytest.raises(AttributeError):
        print(SEALED.__value)  # type: ignore[attr-defined]

    class Other:
        """A class that tries to read the value by the name of its own class."""

        def peek(self, sealed: Confidential[Cells]) -> object:
            return sealed.__value  # type: ignore[attr-defined]

    with pytest.raises(AttributeError):
        Other().peek(SEALED)


def never() -> None:
    """Code that works at run time, as in any Python, but that the types refuse."""

    def silent(self: DiscreteLaplace, count: int, *, many: bool = False) -> NoiseSamples:
        return [0] * count

    class Silent(DiscreteLaplace):  # type: ignore[misc]
        """Noise that is always zero."""

    DiscreteLaplace.sample = silent  # type: ignore[method-assign]
    noise.NOISES = noise.NOISES.with_member(Silent)  # type: ignore[misc]
    Laplace.distribution = DiscreteGaussian  # type: ignore[assignment]
    Laplace().distribution = DiscreteLaplace  # type: ignore[misc]
    mechanisms.MECHANISMS = mechanisms.MECHANISMS  # type: ignore[misc]
    local.CALIBRATED_RANDOMIZERS = ()  # type: ignore[misc]
    entropy.source = bytes  # type: ignore[misc]
    kinds.COLUMNS = kinds.COLUMNS  # type: ignore[misc]
    kinds.COLUMNS.add(int)  # type: ignore[attr-defined]
    print(SEALED._Confidential__value)  # type: ignore[attr-defined]
