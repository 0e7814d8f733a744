"""Choices from a table of probabilities are exact, also if late bits decide."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcli.noise import entropy
from dpcli.noise.candidate_choice import categorical_array
from tests.support.streams import CUT, Script, Stream, chi_square_tail

THIRD = Fraction(1, 3)


def words(*values: int) -> bytes:
    """These 64-bit words, as the array path reads them."""
    return np.array(values, np.uint64).tobytes()


@pytest.mark.parametrize(
    "chances",
    [
        (Fraction(1),),
        (THIRD, THIRD, THIRD),
        (Fraction(1, 2), Fraction(0), Fraction(1, 2)),
        (Fraction(0), Fraction(1, 7), Fraction(6, 7), Fraction(0)),
        (Fraction(1, 10**6), 1 - Fraction(1, 10**6)),
    ],
)
def test_indexes_have_their_probabilities(chances: tuple[Fraction, ...], stream: Stream) -> None:
    """A million samples pass a chi-square test, and impossible indexes never occur."""
    counts = np.bincount(categorical_array(chances, 10**6), minlength=len(chances))
    statistic = sum(
        (count - 10**6 * float(chance)) ** 2 / (10**6 * float(chance))
        for count, chance in zip(counts, chances, strict=True)
        if chance
    )
    possible = sum(1 for chance in chances if chance)

    assert all(not count for count, chance in zip(counts, chances, strict=True) if not chance)
    assert possible == 1 or chi_square_tail(statistic, possible - 1) > CUT


def test_words_that_begin_like_a_cut_are_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    """1/3 is 0101..., so 64 such bits do not decide, and the next bits do."""
    like = int("01" * 32, 2)
    below, above = (like - 1).to_bytes(8, "big"), (like + 1).to_bytes(8, "big")
    for rest, place in ((below, 0), (above, 1), (like.to_bytes(8, "big") + above, 1)):
        script = Script(words(like - 1, like, like + 1), rest, bytes(entropy.CHUNK))
        monkeypatch.setattr(entropy, "source", lambda count, script=script: _padded(script, count))
        assert categorical_array((THIRD, 1 - THIRD), 3).tolist() == [0, place, 1]


def _padded(script: Script, count: int) -> bytes:
    """The scripted bytes, and then zeros."""
    found = script.rest[:count]
    script.rest = script.rest[count:]
    return found + bytes(count - len(found))


def test_a_cut_with_64_digits_is_passed_at_equality(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uniform number that begins with the bits of one half has reached one half."""
    half = (Fraction(1, 2), Fraction(1, 2))
    script = Script(words(1 << 63, (1 << 63) - 1))
    monkeypatch.setattr(entropy, "source", lambda count: _padded(script, count))

    assert categorical_array(half, 2).tolist() == [1, 0]


def test_probabilities_must_sum_to_one() -> None:
    """Other numbers are an error."""
    for chances in ((THIRD, THIRD), (Fraction(3, 2), Fraction(-1, 2))):
        with pytest.raises(ValueError, match="sum to one"):
            categorical_array(chances, 10)
