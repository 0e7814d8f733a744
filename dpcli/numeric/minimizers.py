"""Minimizers of objectives of regressions: exact, or within a proven distance.

Least squares with a limit on the sum of absolute coefficients: the solutions for all limits are a
path of line segments, which is followed from zero until the limit is reached (Osborne, Presnell and
Turlach 2000). Logistic losses: near one of many nodes, the logistic function 1/(1 + exp(-m)) is a
polynomial whose coefficients come from a table, so that it takes a few multiplications and no
division. Its numbers are multiples of a power of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from dpcli.numeric.arrays import Array, Floats, np
from dpcli.numeric.interval_arithmetic import exp_down, sqrt_up

Vector = list[Fraction]
Matrix = Sequence[Sequence[Fraction]]


def constrained_least_squares(matrix: Matrix, vector: Sequence[Fraction]) -> Vector | None:
    """The minimizer of x'Ax/2 - v'x over all x with an L1 norm of at most one.

    The matrix A is symmetric and positive definite, so there is one minimizer. At each point of
    the path, the residual v - Ax has the absolute value `level` for all active coefficients, and a
    smaller one for the others. The result is None if two coefficients start or stop being zero at
    one point: this method cannot follow the path there. If v has random digits, that never happens.
    """
    size = len(vector)
    solution, residual = [Fraction(0)] * size, list(vector)
    level = max(map(abs, residual))
    signs = {index: _sign(value) for index, value in enumerate(residual) if abs(value) == level}
    while level > 0:
        inner = [[matrix[i][j] for j in signs] + [Fraction(signs[i])] for i in signs]
        steps = dict(zip(signs, solve_equations(inner), strict=True))
        growth = sum((signs[index] * step for index, step in steps.items()), start=Fraction(0))
        rates = [
            sum((row[index] * step for index, step in steps.items()), start=Fraction(0))
            for row in matrix
        ]
        events = [
            *_entries(residual, rates, level, signs),
            *((-solution[index] / step, index, 0) for index, step in steps.items() if step),
        ]
        last = min(level, (1 - sum(map(abs, solution))) / growth)
        length, index, sign = min(
            (event for event in events if 0 < event[0] < last), default=(last, -1, 0)
        )
        for moved, step in steps.items():
            solution[moved] += length * step
        residual = [value - length * rate for value, rate in zip(residual, rates, strict=True)]
        level -= length
        if length == last:
            break
        if sign:
            signs[index] = sign
        else:
            del signs[index]
            solution[index] = Fraction(0)
    return solution if _is_minimizer(solution, residual) else None


def _entries(
    residual: Sequence[Fraction],
    rates: Sequence[Fraction],
    level: Fraction,
    signs: Mapping[int, int],
) -> Iterator[tuple[Fraction, int, int]]:
    """The points where an inactive coefficient becomes active: step, index and sign.

    There its absolute residual reaches the level. The `residual` falls by `rates` per unit of the
    step. `signs` are those of the active coefficients.
    """
    for index, (value, rate) in enumerate(zip(residual, rates, strict=True)):
        for sign in (1, -1):
            if index not in signs and sign * rate != 1:
                yield (level - sign * value) / (1 - sign * rate), index, sign


def _is_minimizer(solution: Sequence[Fraction], residual: Sequence[Fraction]) -> bool:
    """Whether no direction that the limit allows decreases the objective.

    The residual is the negative gradient g. A point x is the minimizer if and only if the least
    <g, z> over all allowed z, which is -max |g_i|, is <g, x>.
    """
    allowed = sum(map(abs, solution)) <= 1
    pairs = zip(solution, residual, strict=True)
    return allowed and sum(x * g for x, g in pairs) == max(map(abs, residual))


def _sign(value: Fraction) -> int:
    return 1 if value > 0 else -1


def solve_equations(equations: Sequence[Sequence[Fraction]]) -> Vector:
    """Solve linear equations with a positive definite matrix (Gauss and Jordan).

    The last column of the equations is the right side.
    """
    rows = [list(row) for row in equations]
    for index in range(len(rows)):
        # The pivots of a positive definite matrix are positive.
        row = [value / rows[index][index] for value in rows[index]]
        for target, values in enumerate(rows):
            factor = values[index]
            rows[target] = [
                value - factor * pivot for value, pivot in zip(values, row, strict=True)
            ]
        rows[index] = row
    return [row[-1] for row in rows]


WORD_BITS = 57
"""Bits of a margin after the point for which all products fit machine words."""

EXTRA_BITS = 4
"""Bits of a value beyond those of a margin."""

NODE_BITS = 6
"""Nodes are 2^-6 apart, so that a margin is at most 2^-7 from the nearest one."""


def farthest(bits: int) -> int:
    """The margin from which on the logistic function is one, within one unit.

    For this margin m, e^(-m + 1) is below a unit.
    """
    return 7 * (bits + EXTRA_BITS) // 10 + 2


def logistic(margins: Array, bits: int) -> Array:
    """1/(1 + exp(-m)) in units of 2^-(bits + `EXTRA_BITS`), for margins m in 2^-bits.

    Results are within 8 units, for |m| up to `farthest(bits)`. Arrays are of int64 if `bits` are
    `WORD_BITS`, else of Python integers.

    The error: let c_n be the coefficients at a node. The function is at most 1.1 in absolute value
    where the imaginary part of its argument is at most 2, so |c_n| is at most 1.1/2^n (Cauchy).
    The distance d from the node is at most 2^-7. So all terms beyond those of the table add up to
    at most 1.2 units. Each step of the scheme of Horner has an error of at most one unit from its
    coefficient, 4 from its product, and 2^-7 of the error before it. This is 5.1 units.
    """
    table = _table(bits)
    size: Array = np.abs(margins)
    nodes: Array = (size + (1 << bits - NODE_BITS - 1)) >> bits - NODE_BITS
    distance = size - (nodes << bits - NODE_BITS)
    index = nodes.astype(np.int64)
    value = table[-1][index]
    for coefficients in reversed(table[:-1]):
        value = coefficients[index] + _product(value, distance, bits)
    # The function of -m is one minus that of m.
    signed: Array = np.where(margins < 0, (1 << bits + EXTRA_BITS) - value, value)
    return signed


def _product(value: Array, distance: Array, bits: int) -> Array:
    """value * distance / 2^bits, from which at most 4 are missing.

    In words, |value| is at most 2^60 and |distance| at most 2^50. Both are split in two, so that
    each partial product is at most 2^55.
    """
    product: Array
    if bits != WORD_BITS:
        product = value * distance >> bits
        return product
    high, low = value >> 30, value & (1 << 30) - 1
    above, below = distance >> 25, distance & (1 << 25) - 1
    # The last of the four partial products is below a quarter of a unit.
    product = (high * above >> 2) + (high * below >> 27) + (low * above >> 32)
    return product


@lru_cache(maxsize=4)
def _table(bits: int) -> list[Array]:
    """For each power of the distance, its coefficient at every node from zero on.

    With s' = s - s^2 for the function s, (n + 1) c_{n+1} = c_n - sum c_i c_{n-i}. Errors grow at
    most 4-fold with n: if that of c_i is at most 4^i e, the right side has at most (1 + 2.52) 4^n e
    plus one for rounding, for e at least 5. So 2 bits for each coefficient and 16 more make every
    coefficient exact to half a unit and a little more.
    """
    degree = -(-(bits + EXTRA_BITS) // 8) - 1
    guard = 2 * degree + 16
    fine = bits + EXTRA_BITS + guard
    one = 1 << fine
    nodes = range((farthest(bits) << NODE_BITS) + 2)
    powers = (exp_down(Fraction(-node, 1 << NODE_BITS), fine + 8) for node in nodes)
    first = [one * one // (one + int(power * one)) for power in powers]
    table = [np.array(first, object)]
    for n in range(degree):
        products = sum(table[i] * table[n - i] for i in range(n + 1))
        table.append((table[n] - (products >> fine)) // (n + 1))
    rounded = [(numbers + (1 << guard - 1)) >> guard for numbers in table]
    return [numbers.astype(np.int64 if bits == WORD_BITS else object) for numbers in rounded]


MAX_HALF_WIDTH = 1 << 30
"""The most steps of inputs from their middle: their products fit machine words."""

BLOCK = 1 << 14
"""The number of lines processed at a time, so that arrays stay in the cache."""

SPLIT = 28
"""Bits of a coefficient beyond a margin's, multiplied separately in words."""

SHORT = 1e-6
"""Newton's method in floating point stops after a step shorter than this."""

MAX_STEPS = 100
MAX_HALVINGS = 40

SAFE_SIZE = 1 << 40
"""Below this L1 norm of coefficients, floating-point margins err by under 2^-8."""


class Located(NamedTuple):
    """A point, and a bound on its distance from the minimizer."""

    point: Vector
    distance: Fraction


class Expansion(NamedTuple):
    """The objective and its first two derivatives at a point, in floating point."""

    value: float
    gradient: Floats
    curvature: Floats


class LogisticMinimizer:
    """Minimizes sum log(1 + exp(-s <theta, x>)) + <b, theta> + ridge |theta|^2 / 2.

    `lines` has a line for each combination of inputs that occurs: the inputs in steps, the number
    of rows that have them, and the number of those whose outcome is true; int64. Inputs are divided
    by their `half_widths`, of which the first is that of a column of ones.
    """

    def __init__(self, half_widths: Sequence[int], ridge: Fraction, lines: Array) -> None:
        if max(half_widths) > MAX_HALF_WIDTH:
            raise ValueError("an input has too many steps")
        self._inputs = np.hstack([np.ones((len(lines), 1), np.int64), lines[:, :-2]])
        self._rows, self._true = lines[:, -2], lines[:, -1]
        self._half_widths, self._ridge = tuple(half_widths), ridge
        self._point, self._bits = [Fraction(0)] * len(half_widths), 0

    def locate(self, slope: Sequence[Fraction]) -> Located:
        """A point near the minimizer for the slope b. Each call computes with more bits."""
        self._approach(np.array([float(part) for part in slope]))
        self._bits = 2 * self._bits if self._bits else WORD_BITS
        # Every probability is within 2^-bits, and no input is above one.
        rows = sum(self._rows.tolist())
        error = sqrt_up(Fraction(len(slope))) * Fraction(rows, 1 << self._bits)
        point, gradient, length = self._with_gradient(self._point, slope)
        for _ in range(MAX_STEPS):
            if length <= error:
                break
            step = _newton_step(self._expand(_floats(point), _floats(slope)), _floats(gradient))
            for halvings in range(MAX_HALVINGS):
                moved = [
                    at - Fraction(float(part)) / (1 << halvings)
                    for at, part in zip(point, step, strict=True)
                ]
                found = self._with_gradient(moved, slope)
                if found[-1] < length:
                    point, gradient, length = found
                    break
            else:
                break
        self._point = point
        return Located(point, (length + error) / self._ridge)

    def _approach(self, slope: Floats) -> None:
        """Move the point close to the minimizer, by Newton's method in floating point."""
        point = _floats(self._point)
        here = self._expand(point, slope)
        for _ in range(MAX_STEPS):
            step = _newton_step(here, here.gradient)
            is_short = abs(step).max() <= SHORT
            for _ in range(MAX_HALVINGS):
                there = self._expand(point - step, slope)
                if is_short or there.value < here.value:
                    break
                step = step / 2
            else:
                # Rounding hides the difference; the exact gradient shows where to go.
                break
            point, here = point - step, there
            if is_short:
                break
        self._point = [Fraction(float(part)) for part in point]

    def _expand(self, point: Floats, slope: Floats) -> Expansion:
        """The objective and its derivatives at a point, for finding better points only."""
        ridge = float(self._ridge)
        value = slope @ point + ridge * point @ point / 2
        gradient = slope + ridge * point
        curvature = ridge * np.eye(len(point))
        for inputs, rows, true in self._blocks():
            scaled = inputs / np.array(self._half_widths, np.float64)
            margins = scaled @ point
            shares = (1 + np.tanh(margins / 2)) / 2
            value += (rows * np.logaddexp(0, margins) - true * margins).sum()
            gradient = gradient + (rows * shares - true) @ scaled
            curvature += (scaled * (rows * shares * (1 - shares))[:, None]).T @ scaled
        return Expansion(float(value), gradient, curvature)

    def _with_gradient(
        self, point: Sequence[Fraction], slope: Sequence[Fraction]
    ) -> tuple[Vector, Vector, Fraction]:
        """The nearest point of the working precision, the gradient there, and its length.

        In L2, the gradient is exact to the square root of k times the rows times 2^-bits, for k
        coefficients: every row has an error of at most 2^-bits, times inputs of at most one.
        """
        unit = 1 << self._bits + SPLIT
        scaled = zip(point, self._half_widths, strict=True)
        multiples = [round(part * unit / half) for part, half in scaled]
        taken = zip(multiples, self._half_widths, strict=True)
        point = [Fraction(multiple * half, unit) for multiple, half in taken]
        sums: Array = np.zeros(len(point), object)
        for inputs, rows, true in self._blocks():
            shares = logistic(self._margins(inputs, multiples), self._bits).astype(object)
            missed = rows * shares - (true.astype(object) << self._bits + EXTRA_BITS)
            sums = sums + missed @ inputs.astype(object)
        gradient = [
            Fraction(total, half << self._bits + EXTRA_BITS) + part + self._ridge * at
            for total, half, part, at in zip(sums, self._half_widths, slope, point, strict=True)
        ]
        return point, gradient, sqrt_up(sum((part**2 for part in gradient), start=Fraction(0)))

    def _margins(self, inputs: Array, multiples: Sequence[int]) -> Array:
        """Each line's margin in units of 2^-bits, rounded down and limited to `farthest`.

        In words, sums of products are exact but for multiples of 2^64. Where floating point has a
        margin below the limit, it is below 2^63 units, so that no multiple is missing.
        """
        far = farthest(self._bits) << self._bits
        pairs = zip(multiples, self._half_widths, strict=True)
        size = sum(abs(multiple) * half for multiple, half in pairs) >> self._bits + SPLIT
        limited: Array
        if self._bits != WORD_BITS or size >= SAFE_SIZE:
            margins = inputs.astype(object) @ np.array(multiples, object) >> SPLIT
            limited = np.clip(margins, -far, far)
            return limited.astype(np.int64 if self._bits == WORD_BITS else object)
        high = np.array([multiple >> SPLIT & (1 << 64) - 1 for multiple in multiples], np.uint64)
        low = np.array([multiple & (1 << SPLIT) - 1 for multiple in multiples], np.int64)
        margins = inputs @ high.view(np.int64) + (inputs @ low >> SPLIT)
        about = inputs @ np.array([float(multiple) for multiple in multiples]) / (1 << SPLIT)
        limited = np.clip(np.where(about >= far, far, margins), -far, far)
        limited = np.where(about <= -far, -far, limited)
        return limited

    def _blocks(self) -> Iterator[tuple[Array, Array, Array]]:
        """Inputs, rows and rows with a true outcome, of some lines at a time."""
        for start in range(0, len(self._rows), BLOCK):
            lines = slice(start, start + BLOCK)
            yield self._inputs[lines], self._rows[lines], self._true[lines]


def _newton_step(here: Expansion, gradient: Floats) -> Floats:
    """The step to the minimizer of a quadratic of this curvature and gradient."""
    sizes, directions = np.linalg.eigh(here.curvature)
    # The least ones are positive, but rounding could make them zero or negative.
    step: Floats = directions @ (directions.T @ gradient / np.maximum(sizes, sizes[-1] * 1e-15))
    return step


def _floats(numbers: Sequence[Fraction]) -> Floats:
    return np.array([float(number) for number in numbers])
