"""Simple random samples, and what they say about their population.

The file is a simple random sample without replacement of n from N units. Two errors separate a
noisy answer from the number of the population: the noise, whose distribution is known, and the
error of the sample. The formulas here give the second one from noisy answers alone; the first is
that of `fiducial.py`, which uses them on every plausible noise-free answer.
"""

from __future__ import annotations

from dpcli.numeric.arrays import Floats, np
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SampleDesign:
    """A simple random sample without replacement; `size` is its number of rows, if public.

    Every unit of the population had the same chance, and each row of the file is one unit.
    """

    population: int
    size: int | None = None

    def _remaining(self, rows: Floats) -> Floats:
        """The finite population correction 1 - n/N of `rows` in the sample, at least zero.

        The sampled part of a group is that of the whole population. Without a public size it is
        taken from the rows of the group alone. It then is too small, and the interval too wide.
        """
        sampled = rows if self.size is None else np.full_like(rows, self.size)
        remaining: Floats = 1.0 - np.minimum(sampled / self.population, 1.0)
        return remaining

    def share_of_population(self, share: Floats, rows: Floats, normal: Floats) -> Floats:
        """The share in the population for one in the sample, at a point of the normal distribution.

        It solves share = P - normal * sqrt(c P (1 - P)) with c = (1 - n/N) / rows. So quantiles of
        `normal` give the score interval (Wilson 1927) with the finite population correction
        (Sarndal, Swensson and Wretman 1992, chapter 3). It stays between 0 and 1.
        """
        share = np.clip(share, 0.0, 1.0)
        spread = self._remaining(rows) / rows * normal**2
        root = np.sqrt(spread * share * (1.0 - share) + spread**2 / 4)
        found: Floats = (share + spread / 2 + np.sign(normal) * root) / (1.0 + spread)
        return found

    def mean_of_population(
        self, mean: Floats, variance: Floats, rows: Floats, normal: Floats
    ) -> Floats:
        """The mean of the population for one of the sample, at a point of the normal distribution.

        The variance is that over the rows of the sample; its estimate for the population divides
        by one row less (Sarndal, Swensson and Wretman 1992, chapter 3).
        """
        spread = variance * self._remaining(rows) / np.maximum(rows - 1.0, 1.0)
        found: Floats = mean + normal * np.sqrt(spread)
        return found
