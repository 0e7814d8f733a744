"""The covariance of the noise in published numbers that share noisy answers.

Numbers that are linear functions of noisy answers, such as tables that were made to agree, have
noise that is correlated. The function is found by the estimate itself, from an answer for each cell
that is one there and zero elsewhere. So the covariance is that of the numbers that are published.
It depends on the spec and on public noise alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.statistics.design import Design, NoisyAnswer

MAX_NUMBERS = 64
"""The most numbers whose covariance is stated."""

MAX_CELLS = 512
"""The most noisy cells from which these numbers are computed."""

IMPULSE = 1 << 20
"""What stands for one, so that rounded decimals of numbers do not matter."""

ANY_CONFIDENCE = Fraction(1, 2)
"""The confidence of intervals that are not used: only the numbers are."""


def covariance_of(design: Design, noises: Sequence[Noise], *, consistent: bool) -> Floats | None:
    """The covariance of the first numbers; each as many that follow have the same.

    Numbers of different blocks are independent. With `consistent`, it is that of numbers that were
    made to agree. None if there are too many, or if they follow from too many cells. The numbers
    must be linear functions of the answers (`NoiseOfNumbers.LINEAR`).
    """
    sizes = design.block

    def numbers(cells: Ints) -> Floats:
        """The numbers that follow from each row of cells."""
        parts = zip(np.split(cells, np.cumsum(sizes)[:-1], axis=1), noises, strict=True)
        answers = [NoisyAnswer(part.ravel(), noise) for part, noise in parts]
        estimates = design.estimate(answers, ANY_CONFIDENCE)
        if consistent:
            estimates = design.make_consistent(answers, estimates, ANY_CONFIDENCE)
        return estimates.value.astype(np.float64).reshape(len(cells), -1) * float(estimates.step)

    units = np.eye(sum(sizes) if sum(sizes) <= MAX_CELLS else 0, dtype=np.int64)
    if not units.size or (known := numbers(0 * units[:1])).size > MAX_NUMBERS:
        return None
    # Numbers that meet known ones are not zero if all answers are.
    weights = (numbers(units * IMPULSE) - known) / IMPULSE
    parts = zip(np.split(weights, np.cumsum(sizes)[:-1]), noises, sizes, strict=True)
    terms = [part.T @ noise.covariance(size) @ part for part, noise, size in parts]
    covariance: Floats = np.sum(terms, axis=0)
    return covariance
