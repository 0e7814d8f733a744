"""Laws that every registered mechanism obeys; a new one is tested without a new test."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

import mpmath
import numpy as np
import pytest

from dpcli.mechanisms import MECHANISMS
from dpcli.mechanisms.mechanism import AdditiveMechanism, CalibrationError, Mechanism
from dpcli.noise import NOISES, entropy
from dpcli.noise.distribution import NO_NOISE, Noise
from dpcli.numeric.arrays import integer_array
from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import Sensitivity
from tests.support.mechanisms import LOG_WEIGHT, fitted
from tests.support.rules import mostly_extended
from tests.support.streams import Stream

SENSITIVITIES = [
    Sensitivity(1, 1, 1, 1),
    Sensitivity(1, 2000, 2000**2, 2000),
    Sensitivity(2, 2, 2, 1),
    Sensitivity(2, 200, 200**2, 200),
    Sensitivity(6, 14, 34, 3),
    Sensitivity(20, 20 << 40, 20 << 80, 1 << 40),
]
EPSILONS = [Fraction(text) for text in ("0.01", "0.1", "1", "2.5", "10", "20")]
DELTAS = [Fraction(text) for text in ("1e-12", "1e-6", "0.01")]

each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: str(m.name))

PERTURBING = [mechanism for mechanism in MECHANISMS if isinstance(mechanism, AdditiveMechanism)]

PURE = [mechanism for mechanism in PERTURBING if not mechanism.needs_delta]

each_perturbing = pytest.mark.parametrize("mechanism", PERTURBING, ids=lambda m: str(m.name))


def targets(mechanism: Mechanism, epsilon: Fraction) -> list[Loss]:
    """Possible targets of a mechanism at this epsilon."""
    return [Loss(epsilon, delta) for delta in DELTAS] if mechanism.needs_delta else [Loss(epsilon)]


@each_mechanism
@pytest.mark.parametrize(
    "sensitivity", mostly_extended(SENSITIVITIES, *SENSITIVITIES[::2], SENSITIVITIES[-1]), ids=str
)
def test_calibrated_noise_is_within_its_target(
    mechanism: Mechanism, sensitivity: Sensitivity
) -> None:
    """Calibrated noise loses at most the target, and a tenth less noise loses more."""
    for epsilon in EPSILONS:
        for target in targets(mechanism, epsilon):
            noise, loss = fitted(mechanism, sensitivity, target)
            assert loss.within(target)
            assert loss == mechanism.loss([(noise, sensitivity)], epsilon)
            less = replace(noise, scale=noise.scale * Fraction(9, 10))
            assert not mechanism.loss([(less, sensitivity)], epsilon).within(target)


@each_mechanism
def test_other_calibrations_need_no_less_noise(mechanism: Mechanism) -> None:
    """Every calibration meets its target, and none needs less noise than the exact one."""
    for calibration, sensitivity in product(mechanism.calibrations, SENSITIVITIES[::2]):
        for epsilon in (Fraction(1, 100), Fraction(1)):
            for target in targets(mechanism, epsilon):
                exact, _ = fitted(mechanism, sensitivity, target)
                try:
                    noise, loss = fitted(mechanism, sensitivity, target, calibration)
                except CalibrationError as refusal:
                    assert calibration != "exact"
                    assert refusal.hint
                    continue
                assert loss.within(target)
                assert noise.scale * (1 + Fraction(1, 1 << 15)) >= exact.scale


@pytest.mark.parametrize("mechanism", PURE, ids=lambda m: str(m.name))
@pytest.mark.parametrize("sensitivity", SENSITIVITIES, ids=str)
def test_pure_ratios_are_within_epsilon(
    mechanism: AdditiveMechanism, sensitivity: Sensitivity
) -> None:
    """Without a delta, no probability of an output changes by more than its part of epsilon.

    A change of one step in one cell may use exactly epsilon/L1, at every output.
    """
    for epsilon in EPSILONS:
        noise, loss = fitted(mechanism, sensitivity, Loss(epsilon))
        weight = LOG_WEIGHT[noise.kind]
        assert loss.delta == 0
        for k in (*range(-50, 51), 10**6, -(10**9), 10**30):
            step = abs(weight(noise.scale, k + 1) - weight(noise.scale, k))
            assert step * sensitivity.l1 <= loss.epsilon <= epsilon


SMALL = [
    (Sensitivity(1, 1, 1, 1), "0.5", "0.001"),
    (Sensitivity(1, 1, 1, 1), "1", "1e-6"),
    (Sensitivity(1, 1, 1, 1), "2", "1e-6"),
    (Sensitivity(1, 1, 1, 1), "10", "1e-6"),
    (Sensitivity(1, 1, 1, 1), "20", "1e-12"),
    (Sensitivity(1, 1, 1, 1), "0.1", "0.3"),
    (Sensitivity(1, 3, 9, 3), "2", "1e-6"),
    (Sensitivity(1, 3, 9, 3), "10", "0.1"),
    (Sensitivity(2, 2, 2, 1), "2", "1e-6"),
    (Sensitivity(2, 2, 2, 1), "10", "1e-3"),
    (Sensitivity(2, 3, 5, 2), "5", "1e-4"),
    (Sensitivity(3, 3, 3, 1), "8", "1e-3"),
]


@each_perturbing
@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "delta"),
    mostly_extended(SMALL, *SMALL[:-3], SMALL[-2], unpack=True),
    ids=str,
)
def test_brute_force_divergence_is_within_the_target(
    mechanism: AdditiveMechanism, sensitivity: Sensitivity, epsilon: str, delta: str
) -> None:
    """Summed over all outputs, the greatest excess over exp(epsilon) is at most delta.

    Every change that the sensitivity allows is tried, except for order and sign.
    """
    target = Loss(Fraction(epsilon), Fraction(delta) * mechanism.needs_delta)
    noise, loss = fitted(mechanism, sensitivity, target)
    scale = float(noise.scale)
    reach = int(scale * 9) + 4 if noise.kind == "gaussian" else int(scale * 40) + 4
    reach = reach if sensitivity.l0 == 1 else min(reach, int(scale * 7) + 4, 60 // sensitivity.l0)
    with mpmath.workdps(40):
        weight = {
            k: mpmath.exp(_exact(LOG_WEIGHT[noise.kind](noise.scale, k)))
            for k in range(-3 * reach, 3 * reach + 1)
        }
        total = mpmath.fsum(weight.values())
        factor = mpmath.exp(_exact(target.epsilon))
        for change in _changes(sensitivity):
            excess = mpmath.mpf(0)
            for output in product(range(-reach, reach + 1), repeat=len(change)):
                here, there = mpmath.mpf(1), factor
                for place, moved in zip(output, change, strict=True):
                    here *= weight[place] / total
                    there *= weight[place - moved] / total
                excess += max(here - there, 0)
            # A pure bound is met with equality: only the last digits may differ.
            assert excess <= _exact(loss.delta) + mpmath.mpf(10) ** -30
            assert loss.delta <= target.delta


def _exact(value: Fraction) -> Any:
    """The number for mpmath, at its working precision."""
    return mpmath.mpf(value.numerator) / value.denominator


def _changes(sensitivity: Sensitivity) -> list[tuple[int, ...]]:
    """Every change of the cells within the sensitivity; order and sign do not matter."""
    sizes = product(range(sensitivity.linf + 1), repeat=sensitivity.l0)
    return [
        change
        for change in sizes
        if list(change) == sorted(change)
        and sum(change) <= sensitivity.l1
        and sum(size * size for size in change) <= sensitivity.l2_squared
    ]


@each_perturbing
def test_calibration_is_not_trusted(mechanism: Mechanism) -> None:
    """A mechanism that chooses too little noise is refused when its loss is recomputed."""

    class Lying(type(mechanism)):  # type: ignore[misc]
        """The same mechanism with half of the noise."""

        def calibrate(self, *asked: Any) -> list[Noise]:
            return [replace(noise, scale=noise.scale / 2) for noise in mechanism.calibrate(*asked)]

    with pytest.raises(CalibrationError, match="does not meet"):
        fitted(Lying(), SENSITIVITIES[0], targets(mechanism, Fraction(1))[0])


@each_mechanism
def test_a_joint_answer_is_within_its_target(mechanism: Mechanism) -> None:
    """Several answers together lose at most the target, and a tenth less noise loses more."""
    shares = [Fraction(1, 2), Fraction(0), Fraction(1, 6), Fraction(1, 3)]
    moved = [SENSITIVITIES[1], Sensitivity(0, 0, 0, 0), SENSITIVITIES[0], SENSITIVITIES[4]]
    for target in (target for epsilon in EPSILONS for target in targets(mechanism, epsilon)):
        noises = mechanism.calibrate_and_verify(moved, target, shares)
        assert noises[1] == NO_NOISE
        del noises[1]
        changed = [sensitivity for sensitivity in moved if sensitivity.l1]
        assert mechanism.loss([*zip(noises, changed, strict=True)], target.epsilon).within(target)
        less = [replace(noise, scale=noise.scale * Fraction(9, 10)) for noise in noises]
        assert not mechanism.loss([*zip(less, changed, strict=True)], target.epsilon).within(target)


def test_joint_gaussian_noise_is_less_than_that_of_divided_targets() -> None:
    """Ten equal answers need less noise if protected jointly than with a tenth of the loss each."""
    (gaussian,) = (mechanism for mechanism in MECHANISMS if mechanism.name == "gaussian")
    one, target = SENSITIVITIES[0], Loss(Fraction(1), Fraction(1, 10**6))
    joint = gaussian.calibrate_and_verify([one] * 10, target, [Fraction(1, 10)] * 10)
    alone, _ = fitted(gaussian, one, Loss(target.epsilon / 10, target.delta / 10))
    assert all(noise.scale < alone.scale / 2 for noise in joint)


@each_perturbing
def test_an_unchangeable_answer_needs_no_noise(mechanism: AdditiveMechanism) -> None:
    """A query that no neighbor can change is answered exactly, and reveals nothing."""
    unchanged = Sensitivity(0, 0, 0, 0)
    target = targets(mechanism, Fraction(1))[0]
    assert mechanism.calibrate_and_verify([unchanged], target) == [NO_NOISE]
    assert mechanism.add_noise(NO_NOISE, integer_array([3, 4])).tolist() == [3, 4]


@each_perturbing
def test_each_cell_has_its_own_noise(mechanism: AdditiveMechanism) -> None:
    """Five thousand zeros with very large noise become nearly all different numbers."""
    target = Loss(Fraction(1, 10**6), Fraction(1, 10**9) * mechanism.needs_delta)
    sensitivity = Sensitivity(1, 10**6, 10**12, 10**6)
    noise, _ = fitted(mechanism, sensitivity, target)
    noisy = mechanism.add_noise(noise, integer_array([0] * 5000))
    assert len(set(noisy.tolist())) >= 4990


@each_perturbing
def test_noise_is_added_to_the_value(
    mechanism: AdditiveMechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same entropy, a larger value gives an answer that is larger by as much."""
    noise, _ = fitted(mechanism, SENSITIVITIES[0], targets(mechanism, Fraction(1))[0])
    answers = []
    for shift in (0, 10**40):
        monkeypatch.setattr(entropy, "source", Stream("same"))
        answers.append(mechanism.add_noise(noise, integer_array([shift + i for i in range(6000)])))
    assert [b - a for a, b in zip(*map(np.ndarray.tolist, answers), strict=True)] == [10**40] * 6000


@each_perturbing
def test_noise_without_scale_is_never_used(mechanism: AdditiveMechanism) -> None:
    """Noise of scale zero is refused for an answer that a neighbor can change."""
    noise, _ = fitted(mechanism, SENSITIVITIES[0], targets(mechanism, Fraction(1))[0])
    with pytest.raises(ValueError, match="must be positive"):
        mechanism.add_noise(replace(noise, scale=Fraction(0)), integer_array([1]))


@each_mechanism
def test_a_missing_delta_is_refused(mechanism: Mechanism) -> None:
    """With delta zero, a mechanism has a pure loss or refuses with a hint."""
    try:
        _, loss = fitted(mechanism, SENSITIVITIES[0], Loss(Fraction(1)))
    except CalibrationError as refusal:
        assert mechanism.needs_delta
        assert refusal.hint
    else:
        assert loss.delta == 0
        assert not mechanism.needs_delta


@each_mechanism
def test_the_docstring_has_a_privacy_argument(mechanism: Mechanism) -> None:
    """What `dpcli explain` prints has a short first line and a privacy argument."""
    text = type(mechanism).__doc__ or ""
    assert len(text.splitlines()[0]) < 80
    assert "Privacy:" in text
    assert all(len(line) < 100 for line in text.splitlines())


@each_mechanism
def test_its_distribution_is_registered(mechanism: Mechanism) -> None:
    """Only a registered distribution can be calibrated: another one would stop every release."""
    assert mechanism.distribution in NOISES


def test_names_are_distinct() -> None:
    """Each mechanism has a different name, and offers the exact calibration."""
    names = [mechanism.name for mechanism in MECHANISMS]
    assert len(set(names)) == len(names)
    assert all("exact" in mechanism.calibrations for mechanism in MECHANISMS)


@each_perturbing
def test_half_widths_hold(mechanism: AdditiveMechanism) -> None:
    """The half-width of calibrated noise covers its share of samples, and hardly more."""
    noise, _ = fitted(mechanism, SENSITIVITIES[1], targets(mechanism, Fraction(1))[0])
    width = noise.half_width(Fraction(95, 100))
    samples = mechanism.add_noise(noise, integer_array([0] * 20_000))
    inside = sum(abs(sample) <= width for sample in samples)
    assert abs(inside - 19_000) < 6 * isqrt(950)
