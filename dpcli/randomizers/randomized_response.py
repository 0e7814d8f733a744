"""Randomized response: the true label with a known probability, else another."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.privacy.amplification import epsilon_of
from dpcli.privacy.decimals import plain_text
from dpcli.privacy.interval import exp_down, round_up
from dpcli.privacy.loss import Loss
from dpcli.randomizers.base import FINE, Asked, CannotRandomize, Channel, PureProtocol, Randomizer
from dpcli.sampling.bernoulli import Threshold, bernoulli_array, uniforms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Symmetric(PureProtocol):
    """The true one of `categories` labels with probability p, else each other one with q."""

    categories: int

    def __post_init__(self) -> None:
        if self.p + (self.categories - 1) * self.q != 1:
            raise ValueError("probabilities sum to one")

    @property
    def ratio(self) -> Fraction:
        """p / q, or its inverse if a false label is more likely."""
        return max(self.p, self.q) / min(self.p, self.q)

    def record(self) -> dict[str, object]:
        """How many labels, and how likely the true one is."""
        return {"categories": self.categories, "truth": str(self.p)}

    def describe(self) -> str:
        """How likely the true label is."""
        exact = plain_text(self.p)
        truth = exact if len(exact) <= 12 else f"{float(self.p):.6g}"
        others = f"each of {self.categories - 1} others" if self.categories > 2 else "the other"
        return f"the true label with probability {truth}, {others} with {float(self.q):.6g}"

    def draw(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64]]:
        """Keep a label, or replace it by one of all, uniformly; each with exact probabilities.

        Replacing with probability k min(p, q) gives every label that much; what is left goes to
        the true label, or, if false labels are more likely, evenly to the others.
        """
        import numpy as np

        k, count = self.categories, len(cells)
        if k == 2:
            return (cells ^ bernoulli_array(Threshold.rational(self.q), count),)
        replaced = bernoulli_array(Threshold.rational(k * min(self.p, self.q)), count)
        drawn = cells.copy()
        places = np.flatnonzero(replaced)
        drawn[places] = uniforms(k, len(places))
        if self.q > self.p:
            places = np.flatnonzero(~replaced)
            drawn[places] = (drawn[places] + 1 + uniforms(k - 1, len(places))) % k
        return (drawn,)


def _symmetric(asked: Asked, categories: int) -> Symmetric:
    """The channel that an epsilon or a probability of the true label asks for.

    From epsilon, q = 1/(e^epsilon + k - 1), rounded up, so that p / q is at most e^epsilon.
    """
    if asked.probability is None:
        assert asked.epsilon is not None
        grown = exp_down(asked.epsilon, 2 * FINE)
        q = round_up(1 / (grown + categories - 1), FINE)
        return Symmetric(Loss(asked.epsilon), 1 - (categories - 1) * q, q, categories)
    p = asked.probability
    if p * categories == 1:
        raise CannotRandomize(
            f"with probability {plain_text(p)} all {categories} answers are equally likely, "
            "whatever is true",
            "choose another probability: nothing could be estimated from such responses",
        )
    q = (1 - p) / (categories - 1)
    ratio = Symmetric(Loss(Fraction(0)), p, q, categories).ratio
    return Symmetric(Loss(epsilon_of(ratio)), p, q, categories)


class RandomizedResponse(Randomizer):
    """Reports the true one of two labels with probability p, otherwise the other one.

    Given `epsilon`, p = e^epsilon / (e^epsilon + 1), rounded towards one half. Given
    `probability: p` (a decimal or a fraction such as 3/4), epsilon is ln(max(p/(1-p),
    (1-p)/p)), rounded up: the survey with two fair coins, in which the first coin decides
    whether the second one answers, has p = 3/4 and epsilon = ln 3.

    Privacy: each of the two responses has probability p under one true label and 1 - p
    under the other, so their ratio is at most e^epsilon, for every record by itself (Warner
    1965; Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith 2011). Probabilities are
    exact rationals, and responses have exactly these.

    From n responses the frequency of a label is estimated as (share - (1-p)) / (2p - 1),
    without bias; its variance is p(1-p) / (n (2p-1)^2).
    """

    name = "randomized_response"
    prices = ("epsilon", "probability")

    def channel(self, asked: Asked) -> Channel:
        """Two labels, with the odds that are asked for."""
        if asked.labels != 2:
            raise CannotRandomize(
                f"`{self.name}` is for two labels, and this column has {asked.labels}",
                "use `generalized_randomized_response` or `unary_encoding`",
            )
        return _symmetric(asked, 2)


class GeneralizedRandomizedResponse(Randomizer):
    """Reports the true one of k labels with probability p, otherwise any other, evenly.

    Given `epsilon`, each false label has probability 1 / (e^epsilon + k - 1), rounded up.
    Given `probability: p` (a decimal or a fraction), epsilon is ln(p(k-1)/(1-p)), rounded
    up; its absolute value, where a false label is more likely than the true one.

    Privacy: a response has probability p if it is true and (1-p)/(k-1) if not, so its
    probabilities under any two true labels have a ratio of at most e^epsilon (k-ary
    randomized response: Kairouz, Oh and Viswanath 2014; direct encoding: Wang, Blocki, Li
    and Jha 2017). Probabilities are exact rationals, and responses have exactly these.

    The error grows with k; from about 3 e^epsilon + 2 labels on, `unary_encoding` is more
    accurate.
    """

    name = "generalized_randomized_response"
    prices = ("epsilon", "probability")

    def channel(self, asked: Asked) -> Channel:
        """All labels, with the odds that are asked for."""
        return _symmetric(asked, asked.labels)
