"""Randomized response over any number of labels."""

from __future__ import annotations

from dpcli.randomizers.base import Asked, Channel, Randomizer
from dpcli.randomizers.symmetric import settled


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
        return settled(asked, asked.labels)
