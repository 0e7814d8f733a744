"""Certified arithmetic: intervals that contain the exact real number.

The ends are rationals, rounded outwards to a chosen number of significant bits. Each end comes
from a series in scaled whole numbers, with every step rounded down (`up` is 0) or up (`up` is 1),
so that no error estimate is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt

PRECISION = 192
"""Significant bits of the ends of an interval by default: ample for a delta."""

GUARD = 40
"""Extra bits in a series, whose rounding errors add up to less than 2^20 units."""


@dataclass(frozen=True, slots=True)
class Interval:
    """All reals from `low` to `high`, with the exact number among them.

    Every operation returns an interval that contains the exact result for all numbers in its
    operands. `bits` is the precision of the ends.
    """

    low: Fraction
    high: Fraction
    bits: int = PRECISION

    @classmethod
    def of(cls, value: Fraction | int, bits: int = PRECISION) -> Interval:
        """The interval that contains `value` alone, without rounding."""
        return cls(Fraction(value), Fraction(value), bits)

    @classmethod
    def around(cls, low: Fraction, high: Fraction, bits: int = PRECISION) -> Interval:
        """The interval from `low` to `high`, rounded outwards to `bits` significant bits."""
        return cls(round_down(low, bits), round_up(high, bits), bits)

    def __add__(self, other: Interval | Fraction | int) -> Interval:
        other = self._lift(other)
        return self.around(self.low + other.low, self.high + other.high, self._finer(other))

    def __sub__(self, other: Interval | Fraction | int) -> Interval:
        other = self._lift(other)
        return self.around(self.low - other.high, self.high - other.low, self._finer(other))

    def __mul__(self, other: Interval | Fraction | int) -> Interval:
        other = self._lift(other)
        if self.low >= 0 and other.low >= 0:
            return self.around(self.low * other.low, self.high * other.high, self._finer(other))
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return self.around(min(corners), max(corners), self._finer(other))

    def __truediv__(self, other: Interval | Fraction | int) -> Interval:
        other = self._lift(other)
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError("the divisor may be zero")
        if self.low >= 0 and other.low > 0:
            return self.around(self.low / other.high, self.high / other.low, self._finer(other))
        return self * Interval(1 / other.high, 1 / other.low, other.bits)

    def _lift(self, other: Interval | Fraction | int) -> Interval:
        return other if isinstance(other, Interval) else Interval.of(other, self.bits)

    def _finer(self, other: Interval) -> int:
        return max(self.bits, other.bits)


def round_down(value: Fraction, bits: int = PRECISION) -> Fraction:
    """The greatest number of `bits` significant bits that is at most `value`."""
    above, below = value.numerator, value.denominator
    if above.bit_length() <= bits and below & (below - 1) == 0:
        return value
    shift = bits - above.bit_length() + below.bit_length()
    scaled = (above << shift) // below if shift >= 0 else above // (below << -shift)
    if scaled.bit_length() > bits:
        scaled, shift = scaled >> 1, shift - 1
    return Fraction(scaled, 1 << shift) if shift >= 0 else Fraction(scaled << -shift)


def round_up(value: Fraction, bits: int = PRECISION) -> Fraction:
    """The least number of `bits` significant bits that is at least `value`."""
    return -round_down(-value, bits)


def exp(x: Interval) -> Interval:
    """exp(x); for x below about -11,000, an end may be zero or 2^-16,384.

    Raises OverflowError for x above 16,384, or above 4 times the bits if that is more.
    """
    return Interval.around(_exp_end(x.low, x.bits, 0), _exp_end(x.high, x.bits, 1), x.bits)


def log(x: Interval) -> Interval:
    """The natural logarithm; raises ValueError unless the interval is positive."""
    if x.low <= 0:
        raise ValueError("a logarithm needs a positive number")
    return Interval.around(_log_end(x.low, x.bits, 0), _log_end(x.high, x.bits, 1), x.bits)


def sqrt(x: Interval) -> Interval:
    """The square root; raises ValueError for a negative number."""
    if x.low < 0:
        raise ValueError("a square root needs a number that is not negative")
    return Interval(sqrt_down(x.low, x.bits), sqrt_up(x.high, x.bits), x.bits)


def erfc(x: Interval) -> Interval:
    """2/sqrt(pi) times the integral of exp(-t^2) from x to infinity."""
    return Interval.around(_erfc_end(x.high, x.bits, 0), _erfc_end(x.low, x.bits, 1), x.bits)


@lru_cache(maxsize=64)
def pi(bits: int = PRECISION) -> Interval:
    """The number pi, by Machin 1706: 16 atan(1/5) - 4 atan(1/239)."""
    scale = bits + GUARD
    total, steps = 0, 0
    for factor, inverse in ((16, 5), (-4, 239)):
        power, n = (1 << scale) // inverse, 1
        while power:
            total += factor * (power // n) * (1 if n % 4 == 1 else -1)
            power //= inverse * inverse
            n, steps = n + 2, steps + 1
    # The errors of each term and of the rest of the series are below 3 units, times 16.
    error = 48 * (steps + 2)
    unit = 1 << scale
    return Interval.around(Fraction(total - error, unit), Fraction(total + error, unit), bits)


def exp_down(x: Fraction, bits: int = PRECISION) -> Fraction:
    """exp(x), rounded down."""
    return exp(Interval.of(x, bits)).low


def log_up(x: Fraction, bits: int = PRECISION) -> Fraction:
    """The natural logarithm of x, rounded up."""
    return log(Interval.of(x, bits)).high


def sqrt_up(x: Fraction, bits: int = PRECISION) -> Fraction:
    """The square root of x, rounded up."""
    root = sqrt_down(x, bits)
    return root if root * root == x else root + Fraction(2) ** (_exponent(x) // 2 - bits)


def sqrt_down(x: Fraction, bits: int = PRECISION) -> Fraction:
    """The square root of x, rounded down to a multiple of 2^(exponent/2 - bits)."""
    if not x:
        return Fraction(0)
    shift = bits - _exponent(x) // 2
    above, below = x.numerator, x.denominator
    square = (above << 2 * shift) // below if shift >= 0 else above // (below << -2 * shift)
    return isqrt(square) * Fraction(2) ** -shift


def _exponent(x: Fraction) -> int:
    """About the binary logarithm of a positive number, within one."""
    return x.numerator.bit_length() - x.denominator.bit_length()


def _atanh(x: int, scale: int, up: int) -> int:
    """atanh of a number in [0, 1/3], all scaled by 2^`scale`."""
    square, total, n = (x * x >> scale) + up, 0, 1
    while x > 1:
        total, x, n = total + x // n + up, (x * square >> scale) + up, n + 2
    # The remaining terms are below a geometric series of ratio 1/9 that starts below one unit.
    return total + 2 * up


@lru_cache(maxsize=128)
def _log_two(scale: int, up: int) -> int:
    return 2 * _atanh((1 << scale) // 3 + up, scale, up)


def _log_end(x: Fraction, bits: int, up: int) -> Fraction:
    """log x = k log 2 + 2 atanh((m - 1)/(m + 1)) for x = m 2^k, with 1 <= m < 2."""
    if x == 1:
        return Fraction(0)
    k = _exponent(x)
    # Near one the logarithm is as small as x - 1, so the unit must be smaller as well.
    near = max(0, -_exponent(abs(x - 1)))
    scale = bits + GUARD + abs(k).bit_length() + near
    mantissa = x / Fraction(2) ** k
    if mantissa < 1:
        mantissa, k = mantissa * 2, k - 1
    ratio = (mantissa - 1) / (mantissa + 1)
    scaled = (ratio.numerator << scale) // ratio.denominator + up
    two = _log_two(scale, up if k > 0 else 1 - up)
    return Fraction(2 * _atanh(scaled, scale, up) + k * two, 1 << scale)


def _exp_end(x: Fraction, bits: int, up: int) -> Fraction:
    """exp(x) as 2^k exp(r), 0 <= r < 1: Taylor's series at r/2^h, squared h times."""
    if not x:
        return Fraction(1)
    limit = max(1 << 14, 4 * bits)
    # 16/23 is above log 2, so exp(x) is below 2^-limit here.
    if x < Fraction(-16 * limit, 23):
        return Fraction(up, 1 << limit)
    if x > limit:
        raise OverflowError("an exponential too large to enclose")
    scale, halvings = bits + GUARD + 16, 8
    scaled = (x.numerator << scale) // x.denominator + up
    # A larger log 2 gives a smaller remainder if k is positive, and a larger one if negative.
    k, remainder = divmod(scaled, _log_two(scale, up if scaled < 0 else 1 - up))
    remainder = (remainder >> halvings) + up
    total = term = 1 << scale
    n = 1
    while term > 1:
        term = (term * remainder >> scale) // n + up
        total, n = total + term, n + 1
    # Each remaining term is below half of the one before it.
    total += 2 * up
    for _ in range(halvings):
        total = (total * total >> scale) + up
    return total * Fraction(2) ** (k - scale)


def _erfc_end(x: Fraction, bits: int, up: int) -> Fraction:
    """erfc by its series (DLMF 7.6.2), or by its expansion (DLMF 7.12.1) for large x."""
    if x < 0:
        return 2 - _erfc_end(-x, bits, 1 - up)
    # erfc is 1 - erf, so the series is rounded in the other direction.
    square, upward = x * x, 1 - up
    if square > 512:
        far = _erfc_far(x, bits)
        return far.high if up else far.low
    # erfc is near exp(-x^2), so 1 - erf loses about 1.45 x^2 bits.
    fine = bits + 2 * int(square) + GUARD
    scale = fine + GUARD
    term = (x.numerator << scale) // x.denominator + upward
    twice = (2 * square.numerator << scale) // square.denominator + upward
    total, n = 0, 1
    while term > 2 or n <= 4 * square:
        total, n = total + term, n + 2
        term = (term * twice >> scale) // n + upward
    # From here on each term is below half of the one before it.
    series = Fraction(total + 2 * term * upward, 1 << scale)
    erf = exp(Interval.of(-square, fine)) * series * 2 / sqrt(pi(fine))
    return 1 - erf.low if up else max(1 - erf.high, Fraction(0))


def _erfc_far(x: Fraction, bits: int) -> Interval:
    """The alternating expansion: two consecutive partial sums enclose the value."""
    square, fine = x * x, bits + GUARD
    before, total, term = Interval.of(0, fine), Interval.of(1, fine), Interval.of(1, fine)
    n = 1
    while term.high > Fraction(1, 1 << fine) and n < square:
        term = term * (2 * n - 1) / (2 * square)
        before, total = total, total - term if n % 2 else total + term
        n += 1
    both = Interval(min(before.low, total.low), max(before.high, total.high), fine)
    return exp(Interval.of(-square, fine)) * both / (sqrt(pi(fine)) * x)
