"""Local noise: every record adds Laplace or Gaussian noise to its own number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.mechanisms import MECHANISMS, gaussian, pure
from dpcli.mechanisms.local.local_mechanism import (
    CalibratedRandomizer,
    LocalMechanism,
    RandomizerError,
    RandomizerRequest,
    ResponseCounts,
)
from dpcli.mechanisms.mechanism import AdditiveMechanism, CalibrationError
from dpcli.noise import NOISES
from dpcli.noise.distribution import ADDITIVE, Noise
from dpcli.numeric.arrays import Ints, np
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Guarantee, Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.problems.light_dataclasses import dataclass

INT64_LIMIT = 1 << 61
"""Noisy numbers are arrays of int64 if all are below this limit."""

MAX_SCALES = 1 << 10
"""Noise larger than this number of scales has a probability below exp(-1000)."""


@dataclass(frozen=True, slots=True)
class AdditiveRandomizer(CalibratedRandomizer):
    """Adds noise to a number, both in steps of the column."""

    column: NumericColumn
    mechanism: AdditiveMechanism
    noise: Noise

    form: ClassVar = "number"

    @property
    def sensitivity(self) -> Sensitivity:
        """The width of the bounds: the greatest difference between two records' numbers."""
        return _width(self.column)

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee(self.noise, self.sensitivity, self.loss)

    @property
    def is_certified(self) -> bool:
        """Whether the loss, recomputed from the noise, is at most what is stated.

        Privacy: each record has noise of its own. Noise that vectors share would be that of all
        records together, and of numbers with a fixed sum one alone has no noise.
        """
        if self.mechanism.family not in ADDITIVE or self.noise.norm not in ADDITIVE:
            return False
        if type(self.mechanism) not in MECHANISMS.classes or type(self.noise) not in NOISES:
            return False
        if type(self.noise) is not self.mechanism.distribution or self.noise.scale <= 0:
            return False
        answers = [(self.noise, self.sensitivity)]
        return self.mechanism.loss(answers, self.loss.epsilon).within(self.loss)

    @property
    def ratio(self) -> None:
        """None: `is_certified` recomputes the loss from the noise instead."""
        return

    def record(self) -> dict[str, object]:
        scale, unit = str(self.noise.scale), str(self.column.step)
        return {"scale": scale, "unit": unit, **self.sensitivity.to_json()}

    def event(self, column: str, mechanism: str) -> MechanismEvent:
        """The event of one response, with scale and sensitivity."""
        details = {"unit": str(self.column.step)}
        event = super(AdditiveRandomizer, self).event(column, mechanism)  # noqa: UP008 - slots make a second class
        scale, sensitivity = self.noise.scale, self.sensitivity
        return replace(event, scale=scale, sensitivity=sensitivity, details=details)

    def describe(self) -> str:
        scale = float(self.noise.scale * self.column.step)
        return (
            f"the number, clamped to its bounds, plus {self.noise.kind} noise of scale {scale:.6g}"
        )

    @property
    def limits(self) -> tuple[float, float]:
        column, margin = self.column, MAX_SCALES * self.noise.scale
        return (
            float((column.lower - margin) * column.step),
            float((column.upper + margin) * column.step),
        )

    def draw(self, cells: Ints) -> tuple[Ints]:
        fits = max(map(abs, self.column.limits)) + MAX_SCALES * self.noise.scale < INT64_LIMIT
        numbers = np.int64 if fits else object
        samples = self.noise.sample(len(cells), many=fits)
        return (cells.astype(numbers) + np.array(samples, numbers),)

    def estimates(self, responses: ResponseCounts) -> tuple[Fraction, ...]:
        """The mean of the responses: unbiased, because noise is symmetric around zero."""
        return (responses.total / responses.records,)

    def variances(self, frequencies: Sequence[float]) -> list[float]:
        """The variance of the noise, which does not depend on the numbers."""
        return [self.noise.discrete_variance * float(self.column.step) ** 2]


def _width(column: NumericColumn) -> Sensitivity:
    width = column.upper - column.lower
    return Sensitivity(1, width, width * width, width)


class _AdditiveMechanism(LocalMechanism):
    """Adds noise of a central mechanism; the sensitivity is the width of the column."""

    numeric = True
    mechanism: ClassVar[AdditiveMechanism]

    def calibrate(self, request: RandomizerRequest) -> CalibratedRandomizer:
        """Noise that meets the request; raises RandomizerError if there is none."""
        column, epsilon = require_numeric(request.column), request.epsilon
        assert epsilon is not None
        if column.lower == column.upper:
            raise RandomizerError("cannot-randomize.one-value", column=column.name)
        target = Loss(epsilon, request.delta)
        try:
            (noise,) = self.mechanism.calibrate_and_verify([_width(column)], target)
        except CalibrationError as failure:
            arguments = {"column": column.name, "reason": failure.reason, "hint": failure.hint}
            raise RandomizerError("cannot-randomize.noise", **arguments) from None
        return AdditiveRandomizer(target, column, self.mechanism, noise)


class LocalLaplace(_AdditiveMechanism):
    """Adds discrete Laplace noise of scale width / epsilon to every record's number.

    The number is rounded to the grid and clamped to its bounds first; the width is the
    upper bound minus the lower bound.

    Privacy: any two records' numbers are at most the width apart, so the probabilities of a
    response have a ratio of at most exp(width / scale) = e^epsilon (Duchi, Jordan and
    Wainwright 2013; the mechanism: Dwork, McSherry, Nissim and Smith 2006).

    The mean of n responses estimates the mean of the clamped numbers without bias; its
    variance is that of the noise, about 2 scale^2, divided by n.

    >>> response("laplace", width=10, epsilon="1/2")
    'scale 20, epsilon 0.5'
    """

    name = "laplace"
    mechanism = pure.Laplace()


class LocalGaussian(_AdditiveMechanism):
    """Adds discrete Gaussian noise to every record's number: epsilon and delta.

    The number is rounded to the grid and clamped to its bounds first; the noise is
    calibrated exactly for their width, and needs a `delta` far below one divided by the
    number of records: each of them spends it.

    Privacy: any two records' numbers are at most the width apart, and the discrete Gaussian
    hides a change of that size up to (epsilon, delta) (Canonne, Kamath and Steinke 2020,
    theorem 7). Laplace noise is smaller if a record reports a single number;
    Gaussian noise composes better over many columns under `composition: zcdp`.

    The mean of n responses estimates the mean of the clamped numbers without bias; its
    variance is that of the noise divided by n.

    >>> response("gaussian", width=10, epsilon="1", delta="1e-6")
    'scale 42.248, epsilon 1, delta 1e-06'
    """

    name = "gaussian"
    needs_delta = True
    mechanism = gaussian.Gaussian()
