"""Bernoulli samples have exactly their probability."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, sqrt

import mpmath
import numpy as np
import pytest

from dpcli.noise import bernoulli as module
from dpcli.noise import entropy
from dpcli.noise.bernoulli import Threshold, bernoulli_exp
from dpcli.numeric.interval_arithmetic import Interval, exp_down
from dpcli.numeric.interval_arithmetic import exp as certified_exp
from tests.support.streams import Script, Stream


class _Undecided(Exception):
    """A path through the tree of choices that is longer than the depth."""


def enumerate_choices(
    monkeypatch: pytest.MonkeyPatch, draw: Callable[[], bool], depth: int
) -> tuple[Fraction, Fraction]:
    """The exact probabilities of true and of not being decided, within `depth` choices."""
    true, undecided = Fraction(0), Fraction(0)
    waiting: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while waiting:
        path, chance = waiting.pop()
        limits: list[int] = []

        def choose(limit: int, path: tuple[int, ...] = path, seen: list[int] = limits) -> int:
            seen.append(limit)
            if len(seen) > len(path):
                raise _Undecided
            return path[len(seen) - 1]

        monkeypatch.setattr(module, "uniform_below", choose)
        try:
            true += chance if draw() else 0
        except _Undecided:
            if len(path) == depth:
                undecided += chance
            else:
                limit = limits[-1]
                waiting += [((*path, value), chance / limit) for value in range(limit)]
    return true, undecided


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_exponential_probability_is_exact(monkeypatch: pytest.MonkeyPatch, x: Fraction) -> None:
    """Summed over all short paths, exp(-x) lies between true and true or undecided."""
    true, undecided = enumerate_choices(
        monkeypatch, lambda: bernoulli_exp(*x.as_integer_ratio()), 5
    )
    assert true <= certified_exp(Interval.of(-x)).high
    assert exp_down(-x) <= true + undecided
    assert undecided <= Fraction(1, 20)


@pytest.mark.parametrize("x", [Fraction(5, 2), Fraction(7, 5), Fraction(10**30 + 1, 10**30)])
def test_large_exponents(stream: Stream, x: Fraction) -> None:
    """For exponents above one, the frequency of exp(-x) is within five standard errors."""
    count, wanted = 20_000, exp(-x)
    seen = sum(bernoulli_exp(*x.as_integer_ratio()) for _ in range(count)) / count
    assert abs(seen - wanted) < 5 * sqrt(wanted * (1 - wanted) / count)


def test_impossible_parameters_are_refused() -> None:
    """A probability outside [0, 1] and a negative exponent are errors."""
    with pytest.raises(ValueError, match="probability"):
        Threshold.rational(Fraction(11, 10))
    with pytest.raises(ValueError, match="probability"):
        bernoulli_exp(-1, 10)
    with pytest.raises(ValueError, match="probability"):
        Threshold.exponential(Fraction(-1))
    with pytest.raises(ValueError, match="probability"):
        Threshold.logistic(Fraction(-1))


@pytest.mark.parametrize(
    "x", [Fraction(text) for text in ("1e-9", "1/7", "1", "30", "700", "1e40")]
)
def test_digits_are_the_true_expansion(x: Fraction) -> None:
    """The digits of exp(-x) and 1/(1 + exp(x)) agree with a far more precise evaluation."""
    with mpmath.workprec(4000):
        power = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        for threshold, wanted in (
            (Threshold.exponential(x), power),
            (Threshold.logistic(x), power / (1 + power)),
        ):
            for length in (1, 8, 32, 72, 1000, 72):
                assert threshold.digits(length) == int(mpmath.floor(wanted * 2**length))


def test_a_comparison_ends_at_the_first_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits just below the digits are true, just above them false, and equal ones continue."""
    threshold = Threshold.exponential(Fraction(1))
    digits, longer = threshold.digits(32), threshold.digits(96) & (1 << 64) - 1
    assert threshold.exceeds(digits - 1, 32)
    assert not threshold.exceeds(digits + 1, 32)
    monkeypatch.setattr(entropy, "CHUNK", 1)
    for step, wanted in ((-1, True), (1, False)):
        monkeypatch.setattr(entropy, "source", Script((longer + step).to_bytes(8, "big")))
        assert threshold.exceeds(digits, 32) is wanted


def test_certain_events_are_certain() -> None:
    """exp(-0) is one: no random bits can be above it."""
    certain = Threshold.exponential(Fraction(0))
    assert certain.digits(8) == 256
    assert certain.exceeds((1 << 32) - 1, 32)
    assert module.bernoulli_array(certain, 1000).all()


def test_precision_grows_until_digits_are_certain() -> None:
    """If an interval is too wide for its digits, a more precise one is computed."""
    asked = []

    def enclose(bits: int) -> Interval:
        asked.append(bits)
        half, width = Fraction(1, 2), Fraction(1, 1 << bits)
        return Interval(half - (width if bits < 500 else 0), half + width, bits)

    assert Threshold(enclose).digits(8) == 128
    assert len(asked) > 1


def test_array_samples_are_exact_for_every_first_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the 256 first bytes, the digits decide how many are true, and one continues."""
    for x in (Fraction(1, 10), Fraction(1), Fraction(3)):
        threshold = Threshold.exponential(x)
        more = (threshold.digits(72) & (1 << 64) - 1).to_bytes(8, "little")
        for first_after, wanted in ((b"\x00", 1), (b"\xff", 0)):
            script = Script(bytes(range(256)), more, first_after * 8)
            monkeypatch.setattr(entropy, "CHUNK", 1)
            monkeypatch.setattr(entropy, "source", script)
            drawn = module.bernoulli_array(threshold, 256)
            assert int(drawn.sum()) == threshold.digits(8) + wanted
            assert not script.rest


def test_array_samples_are_decided_at_the_second_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of samples that tie on eight bits, those below the next 64 digits are true."""
    threshold = Threshold.exponential(Fraction(1))
    digits, tie = threshold.digits(72) & (1 << 64) - 1, bytes([threshold.digits(8)])
    script = Script(tie * 2, (digits - 1).to_bytes(8, "little"), (digits + 1).to_bytes(8, "little"))
    monkeypatch.setattr(entropy, "CHUNK", 1)
    monkeypatch.setattr(entropy, "source", script)
    assert module.bernoulli_array(threshold, 2).tolist() == [True, False]


@pytest.mark.parametrize("x", [Fraction(1, 1000), Fraction(1), Fraction(6)])
def test_array_samples_have_their_frequency(stream: Stream, x: Fraction) -> None:
    """A million samples of exp(-x) are true with the right frequency."""
    count, wanted = 1_000_000, exp(-x)
    seen = float(np.mean(module.bernoulli_array(Threshold.exponential(x), count)))
    assert abs(seen - wanted) < 5 * sqrt(wanted * (1 - wanted) / count)
