"""The logistic function in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence

import mpmath
import numpy as np
import pytest

from dpcli.numeric import minimizers as module
from dpcli.numeric.arrays import Array
from dpcli.numeric.minimizers import EXTRA_BITS, WORD_BITS, farthest, logistic

WIDTHS = [WORD_BITS, 2 * WORD_BITS]


def array(margins: Sequence[int], bits: int) -> Array:
    """Margins in units of 2^-bits, as words if they fit."""
    return np.array(margins, np.int64 if bits == WORD_BITS else object)


def margins_to_try(bits: int) -> list[int]:
    """Random margins, the limits, and those at nodes and halfway between two nodes."""
    far = farthest(bits) << bits
    random = np.random.default_rng(7).uniform(-1, 1, 2000)
    node = 1 << bits - 6
    special = [node * place // 2 + off for place in range(0, 500, 7) for off in (-1, 0, 1)]
    tiny = [1, 2, 1 << bits - 40]
    both = [*special, *tiny, far, far - 1]
    return [int(part * 2**53) * far >> 53 for part in random] + both + [-one for one in both]


@pytest.mark.parametrize("bits", WIDTHS)
def test_it_is_within_eight_units(bits: int) -> None:
    """For random margins, the limits and those near nodes, against arithmetic of 400 bits."""
    margins = margins_to_try(bits)
    found = logistic(array(margins, bits), bits)
    with mpmath.workprec(400):
        unit = mpmath.mpf(2) ** (bits + EXTRA_BITS)
        for margin, value in zip(margins, found, strict=True):
            exact = unit / (1 + mpmath.exp(-mpmath.mpf(margin) / 2**bits))
            assert abs(int(value) - exact) <= 8


@pytest.mark.parametrize("bits", WIDTHS)
def test_values_of_opposite_margins_add_up_to_one(bits: int) -> None:
    """The function of -m is exactly one minus that of m, except at zero."""
    margins = [margin for margin in margins_to_try(bits) if margin]
    one, other = (
        logistic(array([sign * m for m in margins], bits), bits).tolist() for sign in (1, -1)
    )
    assert {a + b for a, b in zip(one, other, strict=True)} == {1 << bits + EXTRA_BITS}


@pytest.mark.parametrize("bits", WIDTHS)
def test_beyond_the_farthest_margin_it_is_one_within_a_unit(bits: int) -> None:
    """Already one before the limit, exp(-m) is below a unit."""
    with mpmath.workprec(400):
        assert mpmath.exp(1 - farthest(bits)) < mpmath.mpf(2) ** -(bits + EXTRA_BITS)


def test_words_and_large_numbers_agree() -> None:
    """Both ways to multiply give the same values within the sum of their errors."""
    margins = margins_to_try(WORD_BITS)
    words = logistic(array(margins, WORD_BITS), WORD_BITS).tolist()
    wide = 2 * WORD_BITS
    shifted = array([margin << wide - WORD_BITS for margin in margins], wide)
    for value, other in zip(words, logistic(shifted, wide), strict=True):
        assert abs(value - (other >> wide - WORD_BITS)) <= 9


def test_a_shorter_table_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the last two powers, errors are larger than eight units."""
    table = module._table(WORD_BITS)
    monkeypatch.setattr(module, "_table", lambda _: table[:-2])
    with pytest.raises(AssertionError):
        test_it_is_within_eight_units(WORD_BITS)
