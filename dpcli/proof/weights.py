"""Probabilities of noise and choices by their definitions, not by the samplers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import ceil, sqrt

from dpcli.noise.distribution import Noise
from dpcli.noise.vector_noise import VectorNoise
from dpcli.numeric.arrays import Array, Floats, np
from dpcli.privacy.norms import named_tables
from dpcli.proof.verify import TAILS

IMPOSSIBLE = 1 << 40
"""The norm of vectors that noise cannot be, as their sums are others."""

NODES = 100
"""Nodes of the quadrature for choices, which is exact for up to 200 candidates."""


def vector_norms(size: int, body: str, vectors: Array) -> Array:
    """The norms of vectors, added up; each row has several vectors."""
    parts = vectors.reshape(len(vectors), -1, size)
    up, down = (np.maximum(sign * parts, 0) for sign in (1, -1))
    if body == "cube":
        norms = np.abs(parts).max(axis=2)
    elif body == "zero-one":
        norms = up.max(axis=2) + down.max(axis=2)
    elif (tables := named_tables(body)) is None:
        norms = np.maximum(up.sum(axis=2), down.sum(axis=2))
        sums = parts.sum(axis=2, keepdims=True) * (body == "fixed-sum")
        norms[(sums != 0).any(axis=2)] = IMPOSSIBLE
    else:
        norm, sizes = tables
        starts = list(accumulate(sizes, initial=0))[:-1]
        rises, falls = (np.add.reduceat(part, starts, axis=2) for part in (up, down))
        every = rises - falls
        sums = every[:, :, :1]
        # Decreases where the sum is not negative, else increases.
        against = np.where(sums >= 0, falls, rises).max(axis=2)
        norms = norm.decrease * against + (norm.total or 0) * np.abs(sums)[:, :, 0]
        allowed = sums if norm.total is not None else 0
        norms[(every != allowed).any(axis=2)] = IMPOSSIBLE
    return np.array(norms.sum(axis=1))


def log_weights(noise: Noise, values: Array) -> Floats:
    """The log-probability of each number, or row of vectors, but for a constant."""
    scale = float(noise.scale)
    if isinstance(noise, VectorNoise):
        return vector_norms(noise.size, noise.body, values)[:, None] / -scale
    numbers: Floats = values.astype(np.float64)
    return numbers**2 / (-2 * scale**2) if noise.kind == "gaussian" else np.abs(numbers) / -scale


@lru_cache(maxsize=64)
def tail_of(noise: Noise) -> Callable[[int], float]:
    """P[noise >= k] for whole k, for noise that is added to numbers.

    That of vectors is the one that its class states.
    """
    if noise.kind in TAILS:
        return TAILS[noise.kind](float(noise.scale))
    return noise.approximate_tail


def choice_probabilities(kind: str, scale: Fraction, scores: Floats) -> Floats:
    """The probability of each candidate, from the scores of all of them.

    Permute-and-flip: the candidate shows heads, and comes first among those that do. If U is
    uniform, that is the integral of q_i times the product over all others of 1 - q_j U.
    """
    heads = np.exp((scores - scores.max()) / float(scale))
    if kind == "exponential":
        return np.array(heads / heads.sum())
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    at = (nodes[:, None] + 1) / 2
    factors = np.log1p(-heads * at * (1 - 1e-15))
    others = np.exp(factors.sum(axis=1, keepdims=True) - factors)
    return np.array(heads * (weights / 2 @ others))


def gaussian_mu(noise: Noise) -> float:
    """How much more discrete noise reveals than continuous noise, as a factor.

    It is the worst threshold for one cell that changes by one: the finest grid of losses.
    """
    from scipy.special import ndtri  # noqa: PLC0415 - slow to load

    scale, tail = float(noise.scale), tail_of(noise)
    values = range(ceil(-4 * scale) - 1, ceil(4 * scale) + 2)
    if len(values) > 2_000:
        return 1.0
    quantiles = ndtri(np.array([tail(value) for value in values]))
    steps = -np.diff(quantiles[np.isfinite(quantiles)])
    return max(1.0, float(steps.max()) * scale) if len(steps) else sqrt(2)
