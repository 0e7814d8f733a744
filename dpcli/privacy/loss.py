"""Losses, guarantees and budget requests, in exact rationals; dominating pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import zip_longest
from math import ceil, exp, expm1, floor, sqrt

from dpcli.numeric.arrays import Floats, np
from dpcli.numeric.exact import exact_or_up, readable_text, require_exact
from dpcli.problems.light_dataclasses import dataclass

LARGEST_SUMMED = 1000.0
"""Greatest sigma for which tails are sums; for a larger one they are integrals."""

ROUNDING_BITS = 24
ROUNDING = 2.0 ** (1 - ROUNDING_BITS)
"""How much rounding at random adds to a loss at most."""

MAX_DEVIATIONS = 10.0
"""Standard deviations of the loss beyond which delta is below 1e-22."""


@dataclass(frozen=True, slots=True)
class DominatingPair(ABC):
    """Two distributions at least as distinguishable as any answers on neighbors.

    A dominating pair (Zhu, Dong and Wang 2022), repeated independently `times` times, for noise of
    this scale and an answer that changes by `shift`. If a class of pairs is `ordered`, pairs of a
    smaller scale are more distinguishable at every epsilon.
    """

    scale: Fraction
    shift: int
    times: int = 1

    ordered, answers = True, 1

    def __hash__(self) -> int:
        """A hash of whole numbers, because rationals are slow to hash."""
        return hash((type(self), self.scale.numerator, self.scale.denominator, self.shift))

    @property
    def strength(self) -> float:
        """The shift divided by the scale."""
        return float(self.shift / self.scale)

    @property
    def max_loss(self) -> float:
        """The greatest loss of the pair, or the loss beyond which delta is negligible."""
        return self.strength

    def profile(self, epsilons: Floats) -> Floats:
        """Delta at each epsilon of an array: P[S] - exp(epsilon) Q[S] for the best set S."""
        size = np.abs(epsilons)
        delta = np.clip(self._deltas(size), 0.0, 1.0)
        # Pairs are symmetric: delta(-e) = 1 - exp(-e) (1 - delta(e)).
        deltas: Floats = np.where(epsilons >= 0, delta, 1 - np.exp(-size) * (1 - delta))
        return deltas

    @abstractmethod
    def _deltas(self, epsilons: Floats) -> Floats:
        """Delta at nonnegative epsilons, perhaps just outside of [0, 1] by rounding."""


class RandomizedResponsePair(DominatingPair):
    """Randomized response: the worst pair with epsilon = shift/scale."""

    def _deltas(self, epsilons: Floats) -> Floats:
        """Delta at each epsilon e: (exp(n) - exp(e)) / (exp(n) + 1) for the strength n."""
        falling = exp(-self.strength)
        deltas: Floats = -np.expm1(np.minimum(epsilons - self.strength, 0)) / (1 + falling)
        return deltas


class BoundedRangePair(DominatingPair):
    """The worst pair with a loss range of shift/scale (Dong, Durfee and Rogers 2020)."""

    def _deltas(self, epsilons: Floats) -> Floats:
        """Delta at each epsilon e: (exp(n/2) - exp(e/2))^2 / (exp(n) - 1).

        Here n is the strength. A loss of t or t - n has delta (e^n - e^t)(1 - e^(e-t))/(e^n - 1),
        which is greatest at t = (n + e)/2.
        """
        half = -np.expm1(np.minimum(epsilons - self.strength, 0) / 2)
        deltas: Floats = half**2 / -np.expm1(-self.strength)
        return deltas


class LaplacePair(DominatingPair):
    """Discrete Laplace noise, and the same noise shifted.

    It is ordered: noise of a larger scale is the noise of a smaller scale plus independent noise.
    """

    def _deltas(self, epsilons: Floats) -> Floats:
        """P[Y <= k] - exp(e) P[Y <= k - v], with k the last number with a loss above e."""
        shift, scale = float(self.shift), float(self.scale)
        last = np.ceil((shift - epsilons * scale) / 2) - 1
        near, far = _laplace_below(last, scale), _laplace_below(last - shift, scale)
        return np.array(np.where(epsilons < shift / scale, near - np.exp(epsilons) * far, 0.0))


class GaussianPair(DominatingPair):
    """Discrete Gaussian noise, and the same noise shifted.

    It is not ordered: for small scales, slightly more noise can be more distinguishable, if a
    threshold then lies between two whole numbers.
    """

    ordered = False

    @property
    def max_loss(self) -> float:
        """The loss beyond which delta is negligible; the pair has no greatest loss."""
        return self.strength**2 / 2 + MAX_DEVIATIONS * self.strength

    def _deltas(self, epsilons: Floats) -> Floats:
        """P[Y > e s^2/v - v/2] - exp(e) P[Y > e s^2/v + v/2].

        See Canonne, Kamath and Steinke 2020.
        """
        shift, sigma = float(self.shift), float(self.scale)
        first = np.floor(epsilons * sigma**2 / shift - shift / 2) + 1
        tail = _summed_tail if sigma <= LARGEST_SUMMED else _wide_tail
        deltas: Floats = tail(first, sigma) - np.exp(epsilons) * tail(first + shift, sigma)
        return deltas


class RoundedGaussianPair(DominatingPair):
    """Gaussian noise on the line, rounded at random, and the same noise shifted.

    Rounding multiplies ratios of probabilities by at most exp(`ROUNDING`), and probabilities, too
    (`dpcli.privacy.deltas.joint_delta`).
    """

    @property
    def max_loss(self) -> float:
        """The loss beyond which delta is negligible; the pair has no greatest loss."""
        return self.strength**2 / 2 + MAX_DEVIATIONS * self.strength

    def _deltas(self, epsilons: Floats) -> Floats:
        """P[Y > e/n - n/2] - exp(e) P[Y > e/n + n/2] for the strength n.

        See Balle and Wang 2018.
        """
        from scipy.special import erfc

        strength, rounded = self.strength, epsilons - ROUNDING
        near, far = (
            erfc((rounded / strength + side * strength / 2) / sqrt(2)) / 2 for side in (-1, 1)
        )
        deltas: Floats = (near - np.exp(rounded) * far) * exp(ROUNDING)
        return deltas


@dataclass(frozen=True, slots=True)
class WorstPair:
    """A pair whose delta at each epsilon is the greatest of several products.

    Privacy: the greatest of convex functions of exp(epsilon) is convex, so there is such a pair
    (Zhu, Dong and Wang 2022). It dominates answers that one of the products dominates, whichever
    that is, even if it was decided by other answers. `times` is as for `DominatingPair`.
    """

    products: tuple[tuple[Pair, ...], ...]
    times: int = 1

    ordered = False

    @property
    def answers(self) -> int:
        """The most pairs of a product."""
        return max(sum(p.times * p.answers for p in pairs) for pairs in self.products)

    @property
    def strength(self) -> float:
        """The norm of the strengths of the strongest product."""
        return sqrt(max(sum(p.times * p.strength**2 for p in pairs) for pairs in self.products))


Pair = DominatingPair | WorstPair


def on_grid(pair: DominatingPair, width: float) -> tuple[int, Floats, float]:
    """The distribution of the losses of a pair on a grid of this width.

    Returns the lowest index, the probabilities, and the probability of an infinite loss.

    The distribution is pessimistic. It has the same delta as the pair at every point of the grid,
    and between points a delta that is linear in exp(epsilon) (Doroshenko, Ghazi, Kamath, Kumar and
    Manurangsi 2022, algorithm 1).
    """
    last = ceil(pair.max_loss / width)
    points: Floats = np.arange(-last, last + 1).astype(np.float64) * width
    deltas = pair.profile(points)
    steps = np.diff(np.minimum.accumulate(deltas))
    probabilities = np.empty_like(deltas)
    probabilities[0] = 1 - deltas[0] + steps[0] / expm1(width)
    probabilities[1:-1] = (steps[1:] - steps[:-1] * exp(width)) / expm1(width)
    probabilities[-1] = steps[-1] / expm1(-width)
    return -last, np.maximum(probabilities, 0.0), float(deltas[-1])


def _laplace_below(value: Floats, scale: float) -> Floats:
    """P[Y <= value] of discrete Laplace noise Y."""
    ratio = exp(-1 / scale)
    tail = np.exp(-np.abs(np.where(value < 0, value, value + 1)) / scale) / (1 + ratio)
    return np.where(value < 0, tail, 1 - tail)


def _summed_tail(first: Floats, sigma: float) -> Floats:
    """P[Y >= first] of discrete Gaussian noise Y; the smallest terms are added first."""
    last = int(40 * sigma) + 2
    values = np.arange(-last, last + 1)
    sums = np.cumsum(np.exp(-(values[::-1] ** 2) / (2 * sigma**2)))[::-1]
    where = np.clip(first, -last, last).astype(np.int64) + last
    return np.where(first > last, 0.0, sums[where] / sums[0])


def _wide_tail(first: Floats, sigma: float) -> Floats:
    """P[Y >= first] by the Euler-Maclaurin formula; the next term is below sigma^-4."""
    from scipy.special import erfc

    start = (first - 0.5) / sigma
    density = np.exp(-(start**2) / 2) / sqrt(2 * np.pi)
    tail: Floats = erfc(start / sqrt(2)) / 2 - density * start / (24 * sigma**2)
    return tail


@dataclass(frozen=True, slots=True)
class Loss:
    """An upper bound (epsilon, delta) on what is revealed.

    For any two neighbors and any set of outputs S,
    P[M(x) in S] <= exp(epsilon) P[M(x') in S] + delta (Dwork, Kenthapadi, McSherry et al. 2006).
    If delta is zero, the loss is pure. With a `rho`, the bound is zero-concentrated
    (Bun and Steinke 2016), and epsilon follows from rho at this delta. A `Loss` is not the privacy
    loss random variable of the literature.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        require_exact(self.epsilon, self.delta, self.rho)

    def __repr__(self) -> str:
        return loss_text(self)

    def within(self, limit: Loss) -> bool:
        """Whether each part of this loss is at most that of `limit`, compared exactly."""
        concentrated = limit.rho is None or (self.rho is not None and self.rho <= limit.rho)
        return self.epsilon <= limit.epsilon and self.delta <= limit.delta and concentrated


def sum_losses(losses: Iterable[Loss]) -> Loss:
    """The sum of epsilons, and the sum of deltas."""
    terms, zero = tuple(losses), Fraction(0)
    return Loss(
        sum((loss.epsilon for loss in terms), zero), sum((loss.delta for loss in terms), zero)
    )


def greatest_loss(losses: Iterable[Loss]) -> Loss:
    """The greatest epsilon, delta and rho of one or more losses."""
    terms = tuple(losses)
    return Loss(
        max(loss.epsilon for loss in terms),
        max(loss.delta for loss in terms),
        max((loss.rho for loss in terms if loss.rho is not None), default=None),
    )


ZERO_LOSS = Loss(Fraction(0))
"""The loss of an answer that no neighbor can change."""


def loss_text(loss: Loss, text: Callable[[Fraction], str] = exact_or_up) -> str:
    """A loss as people write it, such as `epsilon 0.5, delta 1e-6`.

    Its numbers are written by `text`: one without an exact decimal is rounded up.
    """
    rho = "" if loss.rho is None else f" (rho {text(loss.rho)})"
    delta = f", delta {text(loss.delta)}" if loss.delta else ""
    return f"epsilon {text(loss.epsilon)}{delta}{rho}"


def remaining_text(loss: Loss) -> str:
    """The text of a remaining budget; a number without exact decimal is rounded down."""
    return loss_text(loss, partial(readable_text, rounding=floor))


@dataclass(frozen=True, slots=True)
class BudgetAmount:
    """What an entry may spend: one of epsilon, rho, error, weight, and maybe a delta.

    `epsilon` and `rho` are losses. `error` is the greatest half-width of an answer, in its own
    unit; the entry gets the least loss that reaches it. `weight` divides the budget that other
    entries leave, in proportion to all weights.
    """

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    error: Fraction | None = None
    weight: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What an answer reveals, in every measure that a composition rule may add up.

    `loss` is the (epsilon, delta) of the answer, `rho` its zero-concentrated loss, and the product
    of `dominating_pairs` dominates it. `rho` and `dominating_pairs` may fail with a probability of
    `failure_delta`, which is part of the delta (for rho: Bun and Steinke 2016, definition 8.1).
    If it has `alternatives`, it bounds the answers of each of them, of which a unit changes one.
    """

    loss: Loss
    rho: Fraction
    dominating_pairs: tuple[Pair, ...]
    failure_delta: Fraction = Fraction(0)
    alternatives: tuple[Alternative, ...] = ()

    def __hash__(self) -> int:
        """A hash of a few whole numbers, because plans hash thousands of guarantees."""
        epsilon, rho = self.loss.epsilon, self.rho
        return hash(
            (epsilon.numerator, epsilon.denominator, rho.numerator, len(self.dominating_pairs))
        )

    def covers(self, other: Guarantee) -> bool:
        """Whether this is at least the other in every measure, alternatives aside."""
        return (
            other.loss.within(self.loss)
            and other.rho <= self.rho
            and other.failure_delta <= self.failure_delta
            and _dominate(self.dominating_pairs, other.dominating_pairs)
        )


Alternative = tuple[Guarantee, ...]
"""The guarantees of all answers that a unit changes in one of several cases."""


def _dominate(pairs: tuple[Pair, ...], others: tuple[Pair, ...]) -> bool:
    """Whether each of the others is bounded by a pair of the same kind.

    So it is if it has no smaller scale and no larger shift, and if all pairs are equal. Pairs that
    are not `ordered` are of one kind only if they have one scale.
    """
    if pairs == others:
        return True
    kinds: dict[object, tuple[list[DominatingPair], list[DominatingPair]]] = {}
    for index, side in enumerate((pairs, others)):
        for pair in side:
            if isinstance(pair, WorstPair):
                return False
            kind = type(pair) if pair.ordered else (type(pair), pair.scale)
            kinds.setdefault(kind, ([], []))[index].extend([pair] * pair.times)
    for own, compared in kinds.values():
        for one, other in zip_longest(*(sorted(of, key=_weakness) for of in (own, compared))):
            if one is None or (other and (other.scale < one.scale or other.shift > one.shift)):
                return False
    return True


def _weakness(pair: DominatingPair) -> Fraction:
    return -pair.shift / pair.scale


ZERO_GUARANTEE = Guarantee(ZERO_LOSS, Fraction(0), ())
"""The guarantee of an answer that no neighbor can change."""


def pure_guarantee(epsilon: Fraction) -> Guarantee:
    """The guarantee of any mechanism that is epsilon-private with delta zero.

    No epsilon-private mechanism reveals more than randomized response with this epsilon (Kairouz,
    Oh and Viswanath 2015).
    """
    from dpcli.privacy.zcdp_conversion import pure_rho

    if not epsilon:
        return ZERO_GUARANTEE
    return Guarantee(Loss(epsilon), pure_rho(epsilon), (RandomizedResponsePair(1 / epsilon, 1),))


def approximate_guarantee(loss: Loss) -> Guarantee:
    """The guarantee of any mechanism that is (epsilon, delta)-private.

    No (epsilon, delta)-private mechanism reveals more than one that publishes the truth with
    probability delta, and otherwise a randomized response with this epsilon (Kairouz, Oh and
    Viswanath 2015, theorem 3.2). So the guarantee of a pure answer holds except with probability
    delta.
    """
    pure = pure_guarantee(loss.epsilon)
    return Guarantee(loss, pure.rho, pure.dominating_pairs, failure_delta=loss.delta)


def compose(guarantees: Iterable[Guarantee]) -> Guarantee:
    """The guarantee of all answers together: the sum of each measure."""
    answers = tuple(guarantees)
    return Guarantee(
        sum_losses(answer.loss for answer in answers),
        sum((answer.rho for answer in answers), start=Fraction(0)),
        tuple(pair for answer in answers for pair in answer.dominating_pairs),
        sum((answer.failure_delta for answer in answers), start=Fraction(0)),
    )


def worst_of(alternatives: Sequence[Alternative]) -> Guarantee:
    """A guarantee that bounds all answers of each alternative, in every measure."""
    distinct = tuple(dict.fromkeys(alternatives))
    composed = [compose(answers) for answers in distinct]
    if len(distinct) == 1:
        return distinct[0][0] if len(distinct[0]) == 1 else composed[0]
    products = tuple(
        dict.fromkeys(one.dominating_pairs for one in composed if one.dominating_pairs)
    )
    return Guarantee(
        greatest_loss(one.loss for one in composed),
        max(one.rho for one in composed),
        (WorstPair(products),) if len(products) > 1 else products[0] if products else (),
        max(one.failure_delta for one in composed),
        distinct,
    )
