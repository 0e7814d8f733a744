"""Randomized response: a yes or no that may be a lie."""

from __future__ import annotations

from dpcli.randomizers.base import Asked, CannotRandomize, Channel, Randomizer
from dpcli.randomizers.symmetric import settled


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
        return settled(asked, 2)
