"""Randomized response for two labels, and for k labels."""

from __future__ import annotations

from fractions import Fraction

from dpcli.light_dataclasses import dataclass
from dpcli.mechanisms.local.local_mechanism import (
    CalibratedRandomizer,
    LocalMechanism,
    RandomizerError,
    RandomizerRequest,
)
from dpcli.mechanisms.local.pure_protocol import PureProtocolRandomizer, false_label_probability
from dpcli.noise.bernoulli import Threshold, bernoulli_array, uniforms
from dpcli.numeric.arrays import Ints, np
from dpcli.numeric.exact import readable_text
from dpcli.privacy.amplification import epsilon_of_ratio
from dpcli.privacy.loss import Loss


@dataclass(frozen=True, slots=True)
class KaryRandomizer(PureProtocolRandomizer):
    """Responds with the true label with probability p, and with each other label with q."""

    def __post_init__(self) -> None:
        super(KaryRandomizer, self).__post_init__()  # noqa: UP008 - slots make a second class
        if self.p + (self.categories - 1) * self.q != 1:
            raise ValueError("probabilities sum to one")

    @property
    def ratio(self) -> Fraction:
        """p / q, or q / p if a false label is more likely."""
        return max(self.p, self.q) / min(self.p, self.q)

    def record(self) -> dict[str, object]:
        """The number of labels, and the probability of the true one."""
        return {"categories": self.categories, "truth": str(self.p)}

    def describe(self) -> str:
        """The probabilities of the true label and of the others."""
        exact = readable_text(self.p)
        truth = exact if len(exact) <= 12 else f"{float(self.p):.6g}"
        others = f"each of {self.categories - 1} others" if self.categories > 2 else "the other"
        return f"the true label with probability {truth}, {others} with {float(self.q):.6g}"

    def draw(self, cells: Ints) -> tuple[Ints]:
        """A label for each cell, with exact probabilities.

        With probability k min(p, q), a uniform label replaces the true one. Every label thus has
        the probability min(p, q). The remaining probability goes to the true label, or evenly to
        the others if these are more likely.
        """
        k, count = self.categories, len(cells)
        if k == 2:
            return (cells ^ bernoulli_array(Threshold.rational(self.q), count),)
        replaced = bernoulli_array(Threshold.rational(k * min(self.p, self.q)), count)
        labels = cells.copy()
        places = np.flatnonzero(replaced)
        labels[places] = uniforms(k, len(places))
        if self.q > self.p:
            places = np.flatnonzero(~replaced)
            labels[places] = (labels[places] + 1 + uniforms(k - 1, len(places))) % k
        return (labels,)


class GeneralizedRandomizedResponse(LocalMechanism):
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

    >>> response("generalized_randomized_response", labels=4, probability="2/5")
    'ratio 2, epsilon 0.69315'
    """

    name = "generalized_randomized_response"
    loss_parameters = ("epsilon", "probability")

    def calibrate(self, request: RandomizerRequest) -> CalibratedRandomizer:
        """The requested probabilities; raises RandomizerError if all are equal."""
        k, p = request.labels, request.probability
        if p is None:
            assert request.epsilon is not None
            q = false_label_probability(request.epsilon, k - 1)
            return KaryRandomizer(Loss(request.epsilon), 1 - (k - 1) * q, q, k)
        if p * k == 1:
            raise RandomizerError(
                "cannot-randomize.uniform",
                column=request.column.name,
                probability=readable_text(p),
                labels=k,
            )
        q = (1 - p) / (k - 1)
        return KaryRandomizer(Loss(epsilon_of_ratio(max(p, q) / min(p, q))), p, q, k)


class RandomizedResponse(GeneralizedRandomizedResponse):
    """Reports the true one of two labels with probability p, otherwise the other one.

    Given `epsilon`, p = e^epsilon / (e^epsilon + 1), rounded toward one half. Given
    `probability: p` (a decimal or a fraction such as 3/4), epsilon is ln(max(p/(1-p),
    (1-p)/p)), rounded up: the survey with two fair coins, in which the first coin decides
    whether the second one answers, has p = 3/4 and epsilon = ln 3.

    Privacy: each of the two responses has probability p under one true label and 1 - p
    under the other, so their ratio is at most e^epsilon, for every record by itself (Warner
    1965; Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith 2011). Probabilities are
    exact rationals, and responses have exactly these.

    From n responses the frequency of a label is estimated as (share - (1-p)) / (2p - 1),
    without bias; its variance is p(1-p) / (n (2p-1)^2).

    >>> response("randomized_response", probability="3/4")
    'ratio 3, epsilon 1.0986'
    """

    name = "randomized_response"

    def calibrate(self, request: RandomizerRequest) -> CalibratedRandomizer:
        """The probabilities for two labels; raises RandomizerError for more."""
        if request.labels != 2:
            raise RandomizerError(
                "cannot-randomize.two-labels",
                column=request.column.name,
                mechanism=self.name,
                labels=request.labels,
            )
        return super().calibrate(request)
