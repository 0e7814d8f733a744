"""Local randomizers: how one record can respond for itself, one line each."""

from __future__ import annotations

from dpcli.randomizers.base import Randomizer
from dpcli.randomizers.gaussian import Gaussian
from dpcli.randomizers.generalized_randomized_response import GeneralizedRandomizedResponse
from dpcli.randomizers.laplace import Laplace
from dpcli.randomizers.matrix import Matrix
from dpcli.randomizers.randomized_response import RandomizedResponse
from dpcli.randomizers.unary_encoding import UnaryEncoding

RANDOMIZERS: tuple[Randomizer, ...] = (
    RandomizedResponse(),
    GeneralizedRandomizedResponse(),
    UnaryEncoding(),
    Laplace(),
    Gaussian(),
    Matrix(),
)
"""Every local randomizer; adding one is one file and one line here."""
