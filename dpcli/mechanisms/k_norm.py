"""K-norm noise for answers of which one unit can change many numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import final

from dpcli.mechanisms.mechanism import AdditiveMechanism, DominatingPairs, PureMechanism
from dpcli.noise.distribution import NO_NOISE, Noise
from dpcli.noise.vector_noise import VectorNoise
from dpcli.privacy.loss import RandomizedResponsePair
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.zcdp_conversion import pure_rho
from dpcli.queries.query import Query


class KNorm(PureMechanism, AdditiveMechanism):
    """Adds noise that falls off by the norm in which one unit changes vectors.

    P[noise = z] is proportional to exp(-norm(z) / scale), over all vectors of whole numbers. The
    norm is one in which the changes by one unit are small. For counts that a row raises by zero
    or one each, it is max(0, z_1, ..., z_k) - min(0, z_1, ..., z_k); for counts that also fall,
    the largest |z_i|; for counts that gain what others lose, the sum of the positive z_i, or of
    the negative ones if that is larger. If the sum of the counts is public, the noise has the sum
    zero. For a table of each of several columns, it is the sum of all |z_i| of the table where
    that is the largest, and the noises of all tables have the same sum. With Laplace noise, the
    norm is the sum of all |z_i|, and noise for k counts that one row changes has to cover a
    change of k. Statistics choose this mechanism themselves; a spec does not name it.

    Privacy: for neighbors whose answers differ by v, the probabilities of any output have
    the ratio exp((norm(z - v) - norm(z)) / scale), at most exp(norm(v) / scale) =
    exp(epsilon), by the triangle inequality (Hardt and Talwar 2010; Awan and Slavkovic 2021).
    Vectors are drawn exactly, so the ratio holds as computed. Noise with the sum zero is used
    only if v has it, so all neighbors have the same possible outputs: rows are the unit, one is
    changed, and each adds the same to the sum. Tables whose noises have the same sum count the
    same rows, so v has the same sum in each.

    >>> noise("k_norm", change=2, epsilon="1/2")
    'scale 4, epsilon 0.5'
    """

    name = "k_norm"
    distribution = VectorNoise

    def zcdp_rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        return pure_rho(sensitivity.l1 / noise.scale)

    def dominating_pairs(self, noise: Noise, sensitivity: Sensitivity) -> DominatingPairs:
        """Randomized response of epsilon norm / scale, which dominates every pure answer."""
        return (RandomizedResponsePair(noise.scale, sensitivity.l1),)

    @final
    def shaped(self, noise: Noise, query: Query) -> Noise:
        vectors = query.vectors
        if vectors is None or noise == NO_NOISE:
            return noise
        return VectorNoise(noise.scale, *vectors)
