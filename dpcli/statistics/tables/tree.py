"""Numbers of a tree that agree: each is the sum of its parts.

All numbers of a level are measured with independent noise of one variance. The best linear unbiased
estimate (generalized least squares; Gauss and Markov) has a closed form, that of Hay, Rastogi,
Miklau and Suciu (2010) for any number of parts. From the leaves up, z is the mean of the measured
number and the sum of the z of its parts, weighted by inverse variances. From the top down, a part
is its z, and its share of what the parts lack of the estimate above them; shares are in the ratio
of the variances of z. Weights are whole multiples of 1/`WEIGHT_UNITS`, so that the numbers are
exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.numeric.arrays import Array, Bools, Floats, Ints, np
from dpcli.statistics.tables.agreement import NEAR_ZERO, WEIGHT_UNITS
from dpcli.statistics.tables.families import Families, yields

RANK_BITS = 60
"""The bits of remainders that are compared."""

UNKNOWN = 2.0**100
"""The variance of a number that is not measured."""


class TreeFit:
    """The least squares estimate of the numbers of all levels, the top first.

    `parents` are those of the parts at each level but the first. `noises` are the variance and the
    fourth cumulant of the noise of each number, shape (2, numbers). What is known has `NEAR_ZERO`,
    and what is not measured `UNKNOWN`.

    Attributes:
        variances: Those of the estimates, by level.
        fourth_cumulants: Those of the estimates, by level.
    """

    rounding = 1
    """How many printed units rounding may add to the error of a number."""

    def __init__(self, parents: Sequence[Sequence[int]], noises: Sequence[Floats]) -> None:
        self.families = [Families(of) for of in parents]
        upward = [noises[-1]]
        self._is_known = [noise[0] <= NEAR_ZERO for noise in noises]
        self._of_own: list[Ints] = []
        self._shares: list[Ints] = []
        for families, noise in zip(reversed(self.families), noises[-2::-1], strict=True):
            parts = upward[0]
            below = families.sums(parts)
            share = parts[0] / below[0, families.of] * WEIGHT_UNITS
            down = np.floor(share).astype(np.int64)
            totals: Ints = np.full(len(families.starts), WEIGHT_UNITS, np.int64)
            self._shares.insert(0, families.whole(down, share - down, totals))
            units = np.rint(WEIGHT_UNITS * below[0] / (noise[0] + below[0])).astype(np.int64)
            self._of_own.insert(0, units)
            upward.insert(0, _mean(units / WEIGHT_UNITS, noise, below))
        moments = self.moments(noises)
        self.variances, self.fourth_cumulants = zip(*moments, strict=True)

    def moments(self, own: Sequence[Floats]) -> list[Floats]:
        """The variance and fourth cumulant of the estimates for these of noise."""
        upward = [own[-1]]
        for families, noise, units in zip(
            reversed(self.families), own[-2::-1], reversed(self._of_own), strict=True
        ):
            upward.insert(0, _mean(units / WEIGHT_UNITS, noise, families.sums(upward[0])))
        # The noise of each z, and of what is independent of it.
        powers = np.array([[2], [4]])
        moments, times = [upward[0]], np.ones(upward[0].shape[1])
        for level, families in enumerate(self.families):
            of, mine = families.of, self._of_own[level] / WEIGHT_UNITS
            share = self._shares[level] / WEIGHT_UNITS
            rest = (
                (times * mine) ** powers * own[level] + moments[-1] - times**powers * upward[level]
            )
            # How much the sum of the parts counts above, without the measured number.
            summed = (times * (1 - mine))[of]
            parts, others = 1 - share + share * summed, share * (summed - 1)
            siblings = families.sums(upward[level + 1])[:, of] - upward[level + 1]
            moments.append(
                parts**powers * upward[level + 1]
                + others**powers * siblings
                + share**powers * np.maximum(rest, 0.0)[:, of]
            )
            times = parts
        return moments

    def carried(self, changes: Floats, level: int) -> list[Floats]:
        """How changes of all numbers of a level move those of each level.

        `changes` has the shape (..., numbers of the level).
        """
        found = [changes]
        for families in reversed(self.families[:level]):
            found.insert(0, families.sums(found[0]))
        for share, families in zip(self._shares[level:], self.families[level:], strict=True):
            found.append(share / WEIGHT_UNITS * found[-1][..., families.of])
        return found

    @property
    def firsts(self) -> list[Ints]:
        """For each level, the first part of each number at the top."""
        found: list[Ints] = [np.arange(len(self.families[0].starts))]
        for families in self.families:
            found.append(families.starts[found[-1]])
        return found

    def estimates(self, measured: Sequence[Array]) -> list[tuple[Array, int]]:
        """The estimates of each level, as whole numbers of one part of a scale."""
        upward, sums, scale = [measured[-1].astype(object)], list[Array](), 1
        for level in reversed(range(len(self.families))):
            below, mine = self.families[level].sums(upward[0]), self._of_own[level].astype(object)
            sums.insert(0, below)
            upward.insert(0, mine * scale * measured[level] + (WEIGHT_UNITS - mine) * below)
            scale *= WEIGHT_UNITS
        found, up = [(upward[0], scale)], scale
        for level, families in enumerate(self.families):
            numbers, down = found[-1]
            up //= WEIGHT_UNITS
            lacking = numbers - sums[level] * (down // up)
            scale = down * WEIGHT_UNITS
            shares = self._shares[level].astype(object)
            part = upward[level + 1] * (scale // up) + shares * lacking[..., families.of]
            found.append((part, scale))
        return found

    def rounded(self, measured: Sequence[Array], units: Fraction) -> list[Array]:
        """The estimates times `units`, each rounded up or down, so that they agree.

        Each of `measured` has the shape (groups, numbers of the level).
        """
        rounded: list[Array] = []
        for families, (numbers, scale) in zip(
            [None, *self.families], self.estimates(measured), strict=True
        ):
            above, below = numbers * units.numerator, scale * units.denominator
            if families is None:
                rounded.append((2 * above + below) // (2 * below))
                continue
            down, remainders = above // below, above % below
            ranked = ((remainders << RANK_BITS) // below).astype(np.int64)
            rounded.append(families.whole(down, ranked, rounded[-1]))
        return rounded

    def nonnegative(self, measured: Sequence[Array], units: Fraction) -> list[Array]:
        """Whole numbers that agree, without negative ones.

        They are near the estimates times `units`. From the top down, parts are the nearest
        non-negative numbers with the total above them, rounded up or down.
        """
        pairs = [
            (numbers * units.numerator, scale * units.denominator)
            for numbers, scale in self.estimates(measured)
        ]
        known, least = self._known(pairs)
        above, below = pairs[0]
        found = [np.maximum((2 * above + below) // (2 * below), least[0])]
        for families, (above, below), fixed, low, variances in zip(
            self.families, pairs[1:], known[1:], least[1:], self.variances[1:], strict=True
        ):
            fits = (found[-1] >= families.sums(low))[..., families.of]
            floor, left = np.where(fits, low, 0), found[-1] - families.sums(np.where(fits, low, 0))
            numbers, scale = (above / below).astype(np.float64), float(units) ** 2
            # What is known has nothing but its floor.
            free = ~(fixed & fits)
            each = free * yields(numbers, variances * scale)
            more = np.where(free, numbers - floor.astype(np.float64), -1.0)
            found.append(families.rounded_parts(families.projected(more, left, each), left) + floor)
        return found

    def _known(self, pairs: Sequence[tuple[Array, int]]) -> tuple[list[Bools], list[Array]]:
        """Which numbers are known and whole, and the least that each number is by these."""
        known, least = list[Bools](), list[Array]()
        for level, (above, below) in reversed([*enumerate(pairs)]):
            fixed = self._is_known[level] & (above % below == 0) & (above >= 0)
            parts: Array = np.zeros_like(above)
            if least:
                families = self.families[level]
                parts = families.sums(least[0])
                # A number is known if all of its parts are.
                unknown = families.sums((~known[0]).astype(np.int64))
                fixed = fixed | ((unknown == 0) & (above == parts * below))
            known.insert(0, fixed.astype(np.bool_))
            least.insert(0, np.where(fixed, above // below, parts))
        return known, least


def _mean(mine: Floats, noise: Floats, below: Floats) -> Floats:
    """The moments of a mean in which the first of two noises has this weight."""
    powers = np.array([[2], [4]])
    return np.asarray(mine**powers * noise + (1 - mine) ** powers * below)
