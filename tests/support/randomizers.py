"""Randomizers of every local mechanism, and their tables, computed independently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcli.data.labels import CategoryColumn, LabeledColumn
from dpcli.data.number_columns import NumberColumn
from dpcli.mechanisms.local import LOCAL_MECHANISMS
from dpcli.mechanisms.local.labels import KaryRandomizer, MatrixRandomizer, UnaryEncodingRandomizer
from dpcli.mechanisms.local.local_mechanism import (
    CalibratedRandomizer,
    LocalMechanism,
    ProbabilityTable,
    RandomizerRequest,
)

EPSILONS = tuple(map(Fraction, ("1e-12", "0.001", "0.1", "0.5", "1", "2.5", "7", "20")))

Rows = list[list[Fraction]]


def labels(count: int) -> LabeledColumn:
    """A column with `count` labels."""
    return CategoryColumn("x", tuple((f"l{i}", f"l{i}") for i in range(count)), 0)


TABLE = ProbabilityTable(
    ("l0", "l1", "l2"),
    ("a", "b", "c", "d"),
    (
        (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8)),
        (Fraction(1, 3), Fraction(1, 3), Fraction(1, 6), Fraction(1, 6)),
        (Fraction("0.3"), Fraction("0.2"), Fraction("0.35"), Fraction("0.15")),
    ),
)
"""Three inputs, four outputs, and thirds."""


def request_for(
    mechanism: LocalMechanism, epsilon: Fraction, categories: int
) -> RandomizerRequest | None:
    """A request for a mechanism with `categories` labels; None if it cannot take as many."""
    if mechanism.numeric:
        column = NumberColumn("x", Fraction(1, 2), (-3, 2 * categories), 0)
        delta = Fraction("1e-6") if mechanism.needs_delta else Fraction(0)
        return RandomizerRequest(column, epsilon, delta)
    if mechanism.loss_parameters == ("matrix",):
        return RandomizerRequest(labels(3), matrix=TABLE) if categories == 3 else None
    if mechanism.name == "randomized_response" and categories != 2:
        return None
    return RandomizerRequest(labels(categories), epsilon)


def randomizers(*, discrete: bool) -> Iterator[tuple[str, CalibratedRandomizer, Fraction]]:
    """Randomizers of all mechanisms for labels or for numbers, with name and epsilon."""
    for mechanism in LOCAL_MECHANISMS:
        for epsilon, categories in product(EPSILONS, (2, 3, 5)):
            if mechanism.name == "gaussian" and not Fraction("0.1") <= epsilon <= 3:
                # Its oracle sums over all outputs, which are too many there.
                continue
            request = request_for(mechanism, epsilon, categories)
            if request is not None and mechanism.numeric != discrete:
                randomizer = mechanism.calibrate_and_verify(request)
                name = f"{mechanism.name}-{float(epsilon):g}-{categories}"
                yield name, randomizer, randomizer.loss.epsilon


def table_of(randomizer: CalibratedRandomizer) -> Rows:
    """The probabilities of every output for every input, as the docstring states them."""
    match randomizer:
        case KaryRandomizer(categories=k, p=p, q=q):
            return [[p if i == j else q for j in range(k)] for i in range(k)]
        case UnaryEncodingRandomizer(categories=k, q=raised):
            outputs = list(product((0, 1), repeat=k))
            return [[_bits(bits, true, raised) for bits in outputs] for true in range(k)]
        case MatrixRandomizer(table=table):
            return [list(row) for row in table.rows]
    raise AssertionError(f"no table is known for {randomizer}")


def _bits(bits: tuple[int, ...], true: int, raised: Fraction) -> Fraction:
    """The probability of these bits."""
    chance = Fraction(1)
    for place, bit in enumerate(bits):
        one = Fraction(1, 2) if place == true else raised
        chance *= one if bit else 1 - one
    return chance


def output_of(randomizer: CalibratedRandomizer, columns: Sequence[Any]) -> NDArray[np.int64]:
    """Responses as indexes of columns in the table."""
    arrays = [np.asarray(column, np.int64) for column in columns]
    if isinstance(randomizer, UnaryEncodingRandomizer):
        places = np.zeros_like(arrays[0])
        for bits in arrays:
            places = places * 2 + bits
        return places
    return arrays[0]
