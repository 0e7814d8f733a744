# fmt: off
"""Recompute a published release from its report, without data or ledger.

    python verify.py report.json table.csv [more tables] [--digest HEX] [--json]

It needs only Python, and shares no code with the program that made the release. From the spec in a report,
it recomputes sensitivities, noise, losses, totals and hashes, and compares all cells. It cannot know what
the data were; `--digest` finds a consistent report of what never was. Sources: Bun and Steinke 2016; Canonne,
Kamath and Steinke 2020; Balle and Wang 2018; Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022.
"""
import argparse
import csv
import hashlib
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import accumulate, islice, pairwise, product
from typing import Any, NamedTuple

Json = dict[str, Any]
LIMITS, LOSS = ("max_rows_per_group", "max_rows", "max_groups"), ("epsilon", "delta")
ZERO, ROUNDED = Fraction(0), Fraction(1, 10**9)  # stated losses are rounded up, by at most this share
NUMBER, WORD = re.compile(r"-?[0-9]{1,4000}(\.[0-9]{1,4000})?"), re.compile(r"[-+.]*\w[-+.\w]*")
COMMENT = re.compile(r"""(?<![^\s,:\[{])("[^"]*"|'[^']*')|(?<!\S)#.*""")
EXACT = re.compile(NUMBER.pattern + r"([eE][-+]?[0-9]{1,3})?(/[0-9]{1,4000})?")
# --- JSON by content: the order of keys and the form of numbers do not matter
def exact(value: Any) -> Fraction:
    """A number, or a text with a decimal or a fraction, exactly."""
    if isinstance(value, str) and not EXACT.fullmatch(value):
        raise ValueError("a text is no number")
    return Fraction(value)
def whole(value: Any) -> int:
    """A whole number."""
    if exact(value) % 1:
        raise ValueError("a number is not whole")
    return int(exact(value))
def read_json(data: bytes) -> Any:
    """Parsed JSON with exact numbers; ValueError for a repeated key or for NaN."""
    def unique(pairs: list[tuple[str, Any]]) -> Json:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key is repeated")
        return dict(pairs)
    return json.loads(data.decode("utf-8-sig"), object_pairs_hook=unique, parse_int=exact,
                      parse_float=exact, parse_constant=exact)
def number_text(value: Fraction) -> str:
    """A plain decimal; of more than 15 digits that of the nearest float, as in jq."""
    with localcontext(prec=10_000):
        decimal = Decimal(value.numerator) / value.denominator
    if len(decimal.as_tuple().digits) > 15 and abs(decimal.adjusted()) < 300:
        decimal = Decimal(repr(float(value)))
    text = format(decimal, "f") if decimal else "0"
    return text.rstrip("0").rstrip(".") if "." in text else text
def canonical(value: Any) -> str:
    """Parsed JSON as a text that depends on its content alone."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return number_text(value) if isinstance(value, Fraction) else json.dumps(value, ensure_ascii=False)
def content_digest(report: Json) -> str:
    """SHA-256 of all but `content_sha256`."""
    text = canonical({key: value for key, value in report.items() if key != "content_sha256"})
    return hashlib.sha256(text.encode()).hexdigest()  # an error, if a character is half of one
# --- Sensitivities: how far neighbors that differ most change an answer
class Sens(NamedTuple):
    """The most that one unit changes: cells, sum, sum of squares, and one cell."""

    l0: int
    l1: int
    squares: int
    linf: int
    @classmethod
    def read(cls, of: Json) -> "Sens":
        """The sensitivity that an event of the ledger records."""
        return cls(*(whole(of[key]) for key in ("l0", "l1", "l2_squared", "linf")))
    def times(self, *sizes: int) -> "Sens":
        """That of answers which are the same numbers, each times one of these sizes."""
        squares = self.squares * sum(size**2 for size in sizes)
        return Sens(self.l0 * len(sizes), self.l1 * sum(sizes), squares, self.linf * max(sizes))
Change = tuple[int, ...]  # how the numbers of one group change
STEPPED = "sums", "nested", "quadratic", "divided", "vectors", "distinct", "indicators", "signed"
RULES = *STEPPED, "choices", "scaled", "effects"
NORMS: dict[str, tuple[Callable[..., int], Callable[..., int]]] = {
    "zero-one": (max, sum), "cube": (max, max), "exchange": (sum, max), "fixed-sum": (sum, max),
    "tables": (sum, sum), "moved-tables": (sum, max), "exchanged-tables": (sum, max)}
class Terms:
    """What a report states about a query; limits are on rows, rows in all, groups."""

    def __init__(self, stated: Json) -> None:
        self.stated, self.rule, self.is_row = stated, stated["rule"], stated["limits"] is None
        self.low, self.high, self.numbers = (whole(stated[key]) for key in ("low", "high", "numbers"))
        self.groups = None if stated["groups"] is None else whole(stated["groups"])
        self.cells = None if self.groups is None else self.groups * self.numbers
        self.limits = [*map(whole, stated["limits"] or (1, 1, 1))]
        self.sizes, self.times = ([*map(whole, stated.get(key) or [])] for key in ("sizes", "times"))
        self.counted, self.of = whole(stated.get("counted") or 0), [*map(Terms, stated.get("of") or [])]
        self.factors: list[Json] = stated.get("factors") or []
        work = 4 ** min(len(self.sizes), 99) * math.prod(self.sizes) if self.rule == "effects" else 0
        sizes = self.numbers, self.cells or 0, self.counted, len(self.sizes) * (self.groups or 1), work
        if min(*self.limits, self.numbers) < 1 or min(self.limits[1:]) > 10**5 or max(sizes) > 4 * 10**6:
            raise ValueError("a limit or a size is below one, or too large")
    def contribution(self) -> tuple[int, int]:
        """The least and the most that a row adds to a sum of products."""
        low = high = 1
        for factor in {canonical(one): one for one in self.factors}.values():
            times, offset = whole(factor.get("times", 1)), whole(factor.get("offset", 0))
            ends = sorted(times * whole(factor[end]) - offset for end in ("lower", "upper"))
            powers = [end ** (power := self.factors.count(factor)) for end in ends]
            if power % 2 == 0 and ends[0] <= 0 <= ends[1]:
                powers.append(min(offset % times, times - offset % times) ** power)
            corners = [a * b for a in (low, high) for b in (min(powers), max(powers))]
            low, high = min(corners), max(corners)
        offset, clamp = whole(self.stated.get("offset", 0)), self.stated.get("clamp")
        low, high = map(whole, clamp) if clamp else (low - offset, high - offset)
        return (min(low, 0), max(high, 0)) if clamp or self.stated.get("skips") else (low, high)
    def placements(self, exchanged: bool) -> Iterator[list[tuple[int, int]]]:
        """The rows that leave and enter each group, or cell of sums, in the worst ways."""
        # A unit fills groups one after another, or has a row in each. Two units share few groups, or all.
        rows, total, groups = self.limits
        cells = (self.cells if self.rule in ("sums", "distinct") else self.groups) or 10**6
        room = [rows] * min(cells, 2 * min(groups, total))
        if self.rule == "nested":
            room = [rows * size for size in self.sizes for _ in range(self.groups or 1)]
        def fill(room: list[int], left: int) -> list[int]:
            return [*map(lambda most, after: min(most, max(left - after + most, 0)), room, accumulate(room))]
        for most, left in ((room, min(total, rows * groups)), ([1] * len(room), min(total, groups))):
            one, others = fill(most, left), [fill(most[::-1], left)[::-1], fill(most, left)]
            for other in others if exchanged else [[0] * len(one)]:
                yield [pair for pair in zip(other, one, strict=True) if any(pair)]
    def changes(self, leave: int, enter: int) -> list[Change]:
        """How the numbers of a group may change, if so many rows leave it and enter it."""
        n, several = self.numbers, self.counted
        rows: Sequence[Change] = [(self.low,), (self.high,), (0,)][:3 - self.is_row]
        if self.rule == "indicators":
            few = min(several, n - several)
            return [(-leave,) * one + (enter,) * other for one, other in ((several, few), (few, several))]
        if self.rule == "signed":
            return [(leave + enter,) * n, (leave + enter,) * (n - 1) + (-leave - enter,)]
        if self.rule in ("divided", "tables"):  # all of a value may be in one number
            several = n > 1 or self.rule == "tables"
            return [(-leave * self.high, enter * self.high) if several else (max(leave, enter) * self.high,)]
        if self.rule == "scaled":
            one, other = (of.changes(leave, enter) for of in self.of)
            return [(self.times[0] * x[0], self.times[1] * y[0]) for x in one for y in other]
        if self.rule == "effects":
            axes = [[[size - 1] + [-1] * (size - 1), [-1] * (size - 1) + [size - 1]] for size in self.sizes]
            rows = [tuple(map(math.prod, product(*labels))) for labels in product(*axes)]
        if self.rule == "quadratic":  # largest at the ends of a value, or next to a zero of a derivative
            w = whole(self.factors[0]["upper"]) - whole(self.factors[0]["lower"])
            zeros = 0, 3 * w // 8, w // 2, 5 * w // 8, (2 * w + math.isqrt(2 * w * w)) // 8, w
            near = {at + more for at in zeros for more in (-1, 0, 1) if 0 <= at + more <= w}
            rows = [(z * (4 * z - 3 * w), 4 * z * z - 5 * w * z + w * w, w * w) for z in near]
        return [tuple(enter * b - leave * a for a, b in zip(one, other, strict=True))
                for one in rows for other in rows]
    def largest(self, exchanged: bool, measure: Callable[..., int], join: Callable[..., int] = sum) -> int:
        """The largest change, as measured in a group and joined over all groups."""
        return max(join(max(map(measure, self.changes(*rows))) for rows in place)
                   for place in self.placements(exchanged))
    def norm(self, exchanged: bool, name: str, single: bool) -> int:
        """The largest K-norm: increases and decreases are folded, and then joined."""
        fold, join = NORMS[name]
        def side(sign: int) -> Callable[[Change], int]:
            return lambda change: fold([max(sign * x, 0) for x in change])
        if single:
            return join([self.largest(exchanged, side(sign), fold) for sign in (1, -1)])
        return self.largest(exchanged, lambda change: join([side(1)(change), side(-1)(change)]))
def sensitivity(t: Terms, exchanged: bool, candidates: Any = None) -> Sens:
    """The most that a unit changes; NotImplementedError without such a rule."""
    ends = {"distinct": (0, 1), "indicators": (0, 1), "signed": (-1, 1), "tables": (0, 1),
            "choices": (t.low, t.high) if t.stated.get("score") == "revenue" else (-1, 1)}
    low, high = ends.get(t.rule, (t.low, t.high))  # or 1 and 1: a person is in one of several bins
    if t.rule == "choices" and t.stated.get("score") == "rank":
        part, whole_of_it = exact(t.stated["quantile"]).as_integer_ratio()
        size = 1 if t.low == -part and candidates == 2 else 2
        low, high = -size * part, size * (whole_of_it - part)
    elif t.rule == "sums":
        low, high = t.contribution()
    fits = t.rule not in ("nested", "repeated", "vectors") or (t.of[0].low, t.of[0].high) == (t.low, t.high)
    fits &= not t.factors or t.rule in ("sums", "divided", "quadratic", "objective")
    fits &= not t.stated.get("offset") or bool(t.factors)
    if not fits or ((low, high) != (t.low, t.high) and (low, high, t.low, t.high) != (1, 1, 0, 1)):
        raise ValueError(f"a row adds from {low} to {high}, not from {t.low} to {t.high}")
    if t.rule == "objective" and t.times in ([4, 7], [25, 49]):
        return Sens(1, 1, 1, 1).times(t.limits[1] * t.times[exchanged])
    if t.rule == "divided":  # a value, among all polynomials or between the two points next to it
        wide = [(whole(one["upper"]) - whole(one["lower"])) ** degree if degree else whole(one["upper"])
                for one, degree in zip(t.factors, t.sizes or [1] * len(t.factors), strict=True)]
        fits = t.numbers == 1 - (-wide[0] // t.high) if t.counted else t.high == math.prod(wide)
        if t.low != 0 or not fits:
            raise ValueError("what a row adds does not follow from the bounds")
    parts = [sensitivity(one, exchanged, candidates) for one in t.of]
    if t.rule == "pairs":  # the difference and the sum of two cells
        (one,), (of,) = parts, t.of
        pairs = -(-(of.cells or 0) // 2)
        larger = of.largest(exchanged, lambda x: max(map(abs, x))) if of.rule == "scaled" else one.l1
        return Sens(2 * min(one.l0, pairs), 2 * min(larger, pairs * one.linf), 2 * one.squares,
                    min(one.l1, 2 * one.linf))
    if t.rule == "repeated":  # a number of a period adds to several answers of a series
        return parts[0].times(*t.times)
    if t.rule == "vectors":
        return parts[0]._replace(l1=t.of[0].norm(exchanged, t.stated["norm"], t.sizes == [t.of[0].cells]))
    if t.rule == "tables":
        l0, _, squares, _ = map(sum, zip(*parts, strict=True))
        return Sens(l0, t.norm(exchanged, t.stated["norm"], False), squares, max(one.linf for one in parts))
    if t.rule not in RULES:
        raise NotImplementedError(f"the bound `{t.rule}` is not recomputed here")
    found = Sens(t.largest(exchanged, lambda change: sum(map(bool, change))),
                 t.largest(exchanged, lambda change: sum(map(abs, change))),
                 t.largest(exchanged, lambda change: sum(x * x for x in change)),
                 t.largest(exchanged, lambda change: max(map(abs, change)), max))
    return found.times(*[1] * t.counted) if t.rule == "choices" else found
# --- Losses of one answer
def compute(function: Callable[..., Decimal], *values: Fraction | int) -> Fraction:
    """A function of decimals, with 60 digits."""
    with localcontext(prec=60, Emax=10**9, Emin=-(10**9)):
        return Fraction(function(*(Decimal(v.numerator) / v.denominator for v in values)))
def pure_rho(epsilon: Fraction) -> Fraction:
    """The least rho of every answer with this epsilon: epsilon tanh(epsilon/2)."""
    return compute(lambda e: e * (1 - (-e).exp()) / (1 + (-e).exp()), epsilon)
def rho_of(mechanism: str, scale: Fraction, one: Sens) -> Fraction:
    """The zero-concentrated loss of an answer, for the worst change of its cells."""
    if mechanism in ("gaussian", "exponential"):
        rho = one.squares / ((2 if mechanism == "gaussian" else 8) * scale**2)
        return rho if mechanism == "gaussian" else min(rho, pure_rho(one.l1 / scale))
    def rho_at(change: Fraction) -> Fraction:
        if mechanism not in ("laplace", "geometric"):
            return pure_rho(change / scale)
        u = change / scale  # less the mean loss of noise that is shifted
        return u - compute(lambda u, x: (1 - (-u).exp()) * 2 * x / (x.exp() - (-x).exp()), u, 1 / scale)
    if one.l0 == 1 or mechanism not in ("laplace", "geometric", "permute_and_flip"):
        return rho_at(Fraction(one.l1))
    equal = compute(Decimal.sqrt, Fraction(one.squares, one.l0))
    return min(one.l0 * rho_at(equal), rho_at(Fraction(one.l1)))
def renyi_epsilon(divergence: Callable[[Fraction], Fraction], delta: Fraction) -> Fraction:
    """Epsilon at delta from Renyi divergences: the least that an order proves."""
    target = math.log(delta.numerator) - math.log(delta.denominator)
    def at(power: float) -> float:
        n = float(2.0**power)
        return float(divergence(Fraction(1 + n))) - math.log1p(1 / n) - (target + math.log1p(n)) / n
    best = 34.0
    for n in range(11):
        best = min((best + 66 / 8**n * step / 32 for step in range(-32, 33)), key=at)
    return Fraction(max(at(best), 0.0))
@cache
def gaussian_tail(sigma: float) -> Callable[[float], float]:
    """P[Y >= value] of discrete Gaussian noise, for whole values."""
    if sigma > 1000:
        return lambda first: math.erfc((first - 0.5) / sigma / math.sqrt(2)) / 2
    last = int(40 * sigma) + 2
    tails = [*accumulate(math.exp(-(value**2) / (2 * sigma**2)) for value in range(last, -last - 1, -1))]
    return lambda first: 0.0 if first > last else tails[int(min(last - first, 2 * last))] / tails[-1]
def laplace_tail(scale: float) -> Callable[[float], float]:
    """P[Y >= value] of discrete Laplace noise, for whole values."""
    return lambda n: abs((n <= 0) - math.exp(-max(n, 1 - n) / scale) / (1 + math.exp(-1 / scale)))
TAILS: dict[str, Callable[[float], Callable[[float], float]]] = {
    "laplace": laplace_tail, "geometric": laplace_tail, "gaussian": gaussian_tail,
    "smooth": lambda sigma: lambda first: math.erfc(first / sigma / math.sqrt(2)) / 2}  # not discrete
def delta_at(kind: str, scale: float, shift: float, epsilon: float) -> float:
    """Delta at an epsilon, of noise or a choice that is shifted by so much."""
    n, grown = shift / scale, math.exp(min(epsilon, 700))
    if kind == "response":
        return -math.expm1(min(epsilon - n, 0)) / (1 + math.exp(-n))
    if kind == "range":
        return math.expm1(min(epsilon - n, 0) / 2) ** 2 / -math.expm1(-n)
    # The loss is above epsilon for noise of this value or more.
    first = epsilon * scale * scale / shift - shift / 2
    if kind != "smooth":
        first = 1.0 - math.ceil((shift - epsilon * scale) / 2) if kind == "laplace" else math.floor(first) + 1
    tail = TAILS[kind](scale)
    return tail(first) - grown * tail(first + shift)
def gaussian_holds(answers: Sequence[tuple[Fraction, Sens]], epsilon: Fraction, delta: Fraction) -> bool:
    """Whether answers have this delta: several by continuous noise, or by rho."""
    (sigma, one), rho = answers[0], sum(rho_of("gaussian", *each) for each in answers)
    if delta <= 0 or sum(each.l0 for _, each in answers) == 1:
        return delta_at("gaussian", float(sigma), one.linf, float(epsilon)) <= float(delta) * (1 + 1e-6)
    found = delta_at("smooth", 1 / math.sqrt(2 * float(rho)), 1.0, float(epsilon)) <= float(delta) * 1.01
    return found or renyi_epsilon(lambda order: order * rho, delta) <= epsilon * (1 + ROUNDED)
# --- Totals
Pair = tuple[str, Fraction, Fraction]  # that dominates an answer: the kind of noise, its scale and its shift
class Answer(NamedTuple):
    """What an answer reveals; `fail` is the part of delta in which rho may fail."""

    epsilon: Fraction = ZERO
    delta: Fraction = ZERO
    rho: Fraction = ZERO
    fail: Fraction = ZERO
    pairs: tuple[Pair, ...] = ()
    @classmethod
    def of(cls, mechanism: str, scale: Fraction, one: Sens, epsilon: Fraction, delta: Fraction,
           fail: Fraction = ZERO) -> "Answer":
        """The guarantee of noise that is charged for epsilon and delta."""
        kinds = {"geometric": "laplace", "exponential": "range", "permute_and_flip": "response"}
        kind = kinds.get(mechanism, mechanism)
        variance = scale**2 - (26 + one.l0.bit_length()) * Fraction(9, 256)
        pairs: tuple[Pair, ...] = (("response", scale, Fraction(one.l1)),)
        if kind == "gaussian" or (one.l0 * one.linf == one.l1 and kind in ("laplace", "range", "response")):
            pairs = ((kind, scale, Fraction(one.linf)),) * min(one.l0, 10**6)
        if kind == "gaussian" and one.squares * scale**2 < one.l0 * one.linf**2 * variance:
            pairs = (("smooth", compute(Decimal.sqrt, variance), compute(Decimal.sqrt, one.squares)),)
        return cls(epsilon, delta, rho_of(mechanism, scale, one), fail, pairs)
    @classmethod
    def joined(cls, answers: Sequence["Answer"]) -> "Answer":
        """Answers that count as one: the sum of each measure."""
        e, d, rho, fail = (sum((exact(one[at]) for one in answers), ZERO) for at in range(4))
        return cls(e, d, rho, fail, tuple(pair for one in answers for pair in one.pairs))
GRID, DIGITS = Fraction(2, 1000), 30  # totals of losses on different grids differ by less, relatively
def total(rule: str, bound: str, answers: Sequence[Answer], delta: Fraction) -> Sequence[Fraction]:
    """Epsilon and delta of all answers; how far a stated epsilon may be off."""
    every, answers = Answer.joined(answers), [one for one in answers if one.epsilon or one.rho]
    left, pairs, wide = delta - every.fail, every.pairs, 2 * GRID
    if bound == "plain sum" or not answers:
        return *every[:2], ROUNDED, ROUNDED
    if rule in ("zcdp", "pld") and bound in ("sum of rhos", "sum of epsilons and rhos"):
        pure = () if bound == "sum of rhos" else [one for one in answers if not one.delta]
        def divergence(order: Fraction) -> Fraction:
            return sum((min([order * one.rho] + [one.epsilon] * (one in pure)) for one in answers), ZERO)
        return renyi_epsilon(divergence, left), delta, Fraction(1, 10**4), ROUNDED
    if rule == "advanced":  # it may state any bound that is above the least epsilon of such losses
        left, wide = 1 - (1 - delta) / math.prod(1 - one.delta for one in answers), Fraction(10**9)
        pairs = tuple(("response", 1 / one.epsilon, Fraction(1)) for one in answers if one.epsilon)
    elif (rule, bound) != ("pld", "privacy loss distributions"):
        raise ValueError(f"`{bound}` is no bound of `{rule}`")
    return grid_epsilon(pairs, float(left)), delta, wide, GRID
Losses = tuple[int, list[int], float]  # first point of a grid, probabilities, and that of an infinite loss
def grid_epsilon(pairs: Iterable[Pair], delta: float) -> Fraction:
    """Epsilon of all pairs at delta, by convolving losses on a grid, rounded up."""
    times_of = Counter(pairs)
    variance = sum(times * float(shift / scale) ** 2 for (_, scale, shift), times in times_of.items())
    sigma = math.sqrt(variance)
    width = max(0.003 * sigma / math.sqrt(times_of.total()), (20 * sigma + variance) / (1 << 15))
    sum_of: Losses = (0, [10**DIGITS], 0.0)
    for pair, times in times_of.items():
        one = on_grid(pair, width)
        for at, digit in enumerate(f"{times:b}"[::-1]):
            one = convolved(one, one) if at else one
            sum_of = convolved(sum_of, one) if digit == "1" else sum_of
    (low, masses, above), against = sum_of, 0.0  # delta at a loss e is above - exp(e) against
    for index in range(len(masses) - 1, -1, -1):
        loss, mass = (low + index) * width, masses[index] / 10**DIGITS
        if loss <= 0 or above - math.exp(loss) * against > delta:
            break
        above, against = above + mass, against + mass * math.exp(-loss)
    return Fraction(math.log(max((above - delta) / against, 1.0))) if against else Fraction(10**9)
def on_grid(pair: Pair, width: float) -> Losses:
    """The losses of a pair: delta is exact at points of the grid, else larger."""
    kind, scale, shift = pair[0], float(pair[1]), float(pair[2])
    n = shift / scale
    last = math.ceil((n * n / 2 + 10 * n if kind in ("gaussian", "smooth") else n) / width)
    half = [min(max(delta_at(kind, scale, shift, at * width), 0.0), 1.0) for at in range(last + 1)]
    below = [1 - math.exp(-at * width) * (1 - half[at]) for at in range(last, 0, -1)]
    deltas = [*accumulate(below + half, min)]
    steps, grown = [b - a for a, b in pairwise(deltas)], math.expm1(width)
    inner = [(b - a * math.exp(width)) / grown for a, b in pairwise(steps)]
    masses = [1 - deltas[0] + steps[0] / grown, *inner, steps[-1] / math.expm1(-width)]
    return -last, [int(max(mass, 0.0) * 10**DIGITS) for mass in masses], deltas[-1]
def convolved(first: Losses, second: Losses) -> Losses:
    """The distribution of the sum of two losses, by one product of integers."""
    (low, one, beyond), (lower, other, more) = first, second
    size = 2 * DIGITS + len(str(min(len(one), len(other)))) + 1
    with localcontext(prec=size * (len(one) + len(other)), Emax=10**12):
        packed, also = (Decimal("".join(str(mass).zfill(size) for mass in masses)) for masses in (one, other))
        digits = format(packed * also, "f").zfill(size * (len(one) + len(other) - 1))
    found = [int(digits[at:at + size]) // 10**DIGITS for at in range(0, len(digits), size)]
    kept = [at for at, mass in enumerate(found) if mass >= 10 ** (DIGITS - 26)] or [0]
    start, end = kept[0], kept[-1] + 1
    beyond = 1 - (1 - beyond) * (1 - more) + 1e-26 * (len(found) - end + start)
    return low + lower + start, found[start:end], beyond
# --- The report
KINDS = {"laplace": "discrete-laplace", "geometric": "discrete-laplace",
         "gaussian": "discrete-gaussian", "k_norm": "discrete-k-norm", "exponential": "exponential",
         "permute_and_flip": "permute-and-flip", "objective": "objective", "none": "exact"}
class Verifier:
    """The checks of one report in the order of a reader, and what they found."""

    def __init__(self) -> None:
        self.checks: list[tuple[str, Callable[..., None], Any]] = []
        self.wrong, self.unchecked = list[str](), dict[str, str]()
        self.checked, self.intervals, self.entries, self.branches = 0, 0, list[str](), dict[str, Any]()
    def require(self, holds: Any, place: str, why: str) -> None:
        """Count a check; a finding unless it holds."""
        self.checked += 1
        self.wrong += [] if holds else [f"{place}: {why}"]
    def states(self, at: str, stated: Any, found: Any, up: Fraction = ROUNDED, less: Fraction = ZERO) -> None:
        """What is stated is what follows; a number may be larger by a share."""
        if isinstance(found, dict):
            for key, value in found.items():
                self.states(f"{at}, {key}", stated.get(key), value, up, less)
        elif isinstance(found, list) and isinstance(stated, list):
            for one, other in zip(stated, found, strict=True):
                self.states(at, one, other, up, less)
        else:
            holds = stated == found and isinstance(stated, bool) == isinstance(found, bool)
            if type(found) is type(stated) is Fraction and stated * found >= 0 and not holds:
                slack = Fraction(1, 10**60) + abs(found) * Fraction(1, 10**13)
                holds = abs(found) * (1 - less) - slack <= abs(stated) <= abs(found) * (1 + up) + slack
            self.require(holds, at, f"{stated!s:.40} is stated, and {found!s:.40} follows")
    def summary(self) -> Json:
        """The findings as data."""
        return {"consistent": not self.wrong, "checks": self.checked, "entries": len(self.entries),
                "recomputed": len({*self.entries} - self.unchecked.keys()), "intervals": self.intervals,
                "problems": self.wrong, "unchecked": self.unchecked}
    def lines(self) -> Iterator[str]:
        """The findings in words."""
        yield from (f"wrong: {why}" for why in self.wrong)
        yield from (f"not checked: {place}: {why}" for place, why in self.unchecked.items())
        right = "consistent, as far as it was checked" if self.unchecked else "consistent"
        yield ("{}: {checks:,} checks; {recomputed} of {entries} entries were recomputed, and the intervals "
               "of {intervals} of them").format("inconsistent" if self.wrong else right, **self.summary())
    def start(self, raw: bytes, tables: Sequence[tuple[str, bytes]], signed: str | None) -> None:
        """Read the report, compare its digest, and list all other checks."""
        self.report = report = read_json(raw)
        self.privacy, self.ledger = report["privacy"], report["ledger"]
        self.spec, quality = report["spec"].get("content"), report.get("quality")
        lists = {"choice": report.get("choices"), "quality": [quality] * bool(quality),
                 "entry": report.get("statistics"), "response": report.get("responses")}
        self.parts: list[tuple[str, str, Json]] = [
            (kind, str(part.get("name") or part.get("column") or kind), part)
            for kind, parts in lists.items() for part in parts or []]
        self.entries, self.answers = [name for _, name, _ in self.parts], list[tuple[Answer, Any]]()
        self.is_stopped = bool(quality) and not quality["passed"]
        self.asked = {one["name"]: one for one in (self.spec or {}).get("statistics") or []}
        self.exchanged, self.window = self.privacy["neighbors"] != "add-remove", self.ledger.get("window", {})
        found, own, of = content_digest(report), report.get("content_sha256"), hashlib.sha256(raw).hexdigest()
        self.require(own in (None, found), "report", "its content has another digest than it states")
        self.require((signed or found).strip().lower() in (found, of), "report", "another digest was signed")
        queries = [query for _, _, part in self.parts for query in part.get("queries") or [part]]
        new = [self.spec, own, self.ledger.get("chain"), *(query.get("event") for query in queries)]
        is_new = report["report_version"] == 3
        self.require(not any(new) or (all(new) and is_new), "report", "a part of what it states was removed")
        checks: list[Any] = [("spec", self.check_spec, ()), ("chain", self.check_chain, ()), *(
            (part[1], self.check_response if part[0] == "response" else self.check_part, part)
            for part in self.parts), ("total", self.check_totals, ())]
        if not any(new):
            why = "an earlier version wrote this report, or what it follows from was removed"
            checks, self.unchecked = [], {at: why for at, *_ in (*checks, *tables[:0 if is_new else None])}
        self.checks += [*checks, ("account", self.check_account, ()),
                        *((part[1], self.check_intervals, part) for part in self.parts),
                        *((name, self.check_table, (name, data)) for name, data in tables if is_new)]
        self.unchecked |= {f"numbers of {one['name']}": "in no table that was given"
                           for one in report.get("statistics") or [] if one["cells"] and is_new}
    def check_spec(self) -> None:
        """The report states what the spec in it asks for."""
        stated, spec, text = self.report["spec"], self.spec, self.report["spec"]["text"]
        files = b"".join(bytes.fromhex(file["sha256"]) for file in stated.get("files") or [])
        digests = [hashlib.sha256(text.encode(code) + files).hexdigest() for code in ("utf-8", "utf-8-sig")]
        self.require(stated["digest"] in digests, "spec", "its text has another digest")
        bare = COMMENT.sub(lambda found: found[1] or "", text)
        own, said = (Counter(WORD.findall(one)) for one in (canonical(spec).replace("\\n", " "), bare))
        if own != said and re.search(r"\\|[|>][-+0-9]*\s*$|^%", bare, re.MULTILINE):
            self.unchecked["spec"], own = "its text has escapes or blocks, which are not read", said
        self.require(own == said, "spec", "its text does not say what its content says")
        asked, unit, budget = spec["privacy"], spec["privacy"]["unit"], spec["privacy"]["budget"]
        found: Json = {k: exact(v) for k, v in ({"delta": 0} | budget).items() if k in (*LOSS, "rho")}
        if "rho" in budget:
            found["epsilon"] = renyi_epsilon(lambda order: order * found["rho"], found["delta"])
        if not isinstance(unit, str):
            rows, unit = unit.get("max_rows"), {"column": ", ".join(unit.get("columns") or [unit["column"]])}
            if isinstance(rows, dict):
                (rows,) = (one["upper"] for one in self.report["choices"] if "column" not in one)
            if rows is not None or "people" not in spec:
                unit |= dict(zip(LIMITS, own_limits(asked["unit"] | {"max_rows": rows}, {}, 1), strict=True))
        self.states("spec", self.report, {
            "spec": {"dataset": spec["dataset"], "rows_are": spec.get("rows_are", "rows")},
            "confidence": exact(spec.get("confidence", "0.95")),
            "privacy": {"unit": unit, "budget": found, "neighbors": asked["neighbors"],
                        "composition": asked.get("composition", "sequential")}}, less=ROUNDED)
        least = ZERO if self.is_stopped else exact(spec.get("epsilon", 0)) * (1 - ROUNDED)
        self.require(self.privacy["spent"]["epsilon"] >= least, "spec", "it costs another epsilon")
        self.require(self.window.get("periods", 0) == exact(budget.get("window", 0)), "spec", "its window")
        names = [] if self.is_stopped else [one["name"] for one in spec.get("statistics") or []]
        self.states("spec, entries", [name for kind, name, _ in self.parts if kind == "entry"], names)
        self.require(self.report.get("quality") or spec.get("quality", "none") == "none", "spec", "no check")
    def declared(self, column: Any) -> Json:
        """What the spec declares of a column, which may be declared where it is used."""
        places = (self.spec.get(section) or {} for section in ("columns", "derive", "people"))
        found = column if isinstance(column, dict) else next((p[column] for p in places if column in p), None)
        return found if isinstance(found, dict) else {}
    def bounds(self, column: Any) -> list[Fraction]:
        """The bounds of a column, declared or chosen, of dates in days; or none."""
        declared, of = self.declared(column), {"min", "max", "first", "last", "most", "median", "mean"}
        ends: Any = declared.get("bounds", next(map(declared.get, sorted(of & declared.keys())), None))
        for one in self.report.get("choices") or []:
            ends = [one["lower"], one["upper"]] if column and one.get("column") == column else ends
        if ends is None and "difference" in declared:
            one, other = map(self.bounds, declared["difference"])
            return [a - b for a, b in zip(one, other[::-1], strict=False)]
        if not isinstance(ends, list):
            return self.bounds(ends) if isinstance(ends, str) else []
        return [exact(one) if EXACT.fullmatch(str(one)) else
                Fraction(date.fromisoformat(one).toordinal() - 719163) for one in ends]
    def allowed(self, column: str, where: Json) -> list[tuple[Any, Any]]:
        """Ranges (labels, or steps) of what meets conditions; none if not understood."""
        declared, asked, ends = self.declared(column), where.get(column, {}), self.bounds(column)
        if canonical(column) in canonical([one for key, one in where.items() if key != column]):
            return []  # also within `not`, `any` or `all`
        if not isinstance(asked, dict) and declared.get("type") in ("category", "boolean"):
            return [(one, one) for one in (asked if isinstance(asked, list) else [asked])]
        if isinstance(asked, list) or not ends or declared.get("type") not in ("integer", "number", "date"):
            return []
        limits = (asked if isinstance(asked, dict) else {"min": asked, "max": asked}).items()
        step = exact(declared.get("step", 1))
        at = {key: self.bounds({"bounds": [end]})[0] / step for key, end in limits if str(end) == end}
        low, high = at.get("above", -10**60) // 1 + 1, -(-at.get("below", 10**60) // 1) - 1
        return [(math.ceil(at.get("min", low)), math.floor(at.get("max", high)))]
    def check_part(self, kind: str, name: str, part: Json) -> None:
        """An entry: what was asked, each answer, and what they cost together."""
        self.require(self.entries.count(name) == 1, name, "another entry has this name")
        asked: Json = (self.asked[name] if kind == "entry" else self.spec["quality"] if kind == "quality" else
                       self.declared(part["column"])["bounds"] if "column" in part else
                       self.spec["privacy"]["unit"]["max_rows"])
        queries, least, where = part["queries"], asked.get("min_readable"), asked.get("where") or {}
        found: Json = {key: asked[key] for key in ("statistic", "column") if isinstance(asked.get(key), str)}
        found |= {key: exact(asked[key]) for key in (*LOSS, "min_rows", "min_people", "k") if key in asked}
        found |= {key: queries[0][key] for key in ("mechanism", "sensitivity")}
        found["min_readable"] = {key: exact(least[key] if isinstance(least, dict) else least)
                                 for key in part.get("min_readable") or []}
        if kind == "entry":
            found["by"] = [one if isinstance(one, str) else one["column"] for one in asked.get("by") or []]
            self.require(bool(part["where"]) == bool(where), name, "the rows that it is about")
            self.check_groups(name, part, asked)
        if isinstance((part.get("bounds") or [""])[0], Fraction):
            found["bounds"] = self.bounds(part["column"]) or part["bounds"]
        self.states(name, part, found)
        for ends, n in zip(part["bins"], part["counts"], strict=True) if kind == "choice" else ():
            is_in = part["lower"] <= ends[0] <= ends[1] <= part["upper"]
            self.require(is_in or n <= part["threshold"] or part["cover"] < 1, name, "a bin is beyond it")
        answers = [self.check_query(kind, name, part, query, asked) for query in queries]
        events = [query["event"] for query in queries]
        joint, disjoint, unit = events[0]["joint"], events[0].get("disjoint"), self.privacy["unit"]
        allowed = {"gaussian", "none"} if joint else KINDS
        if disjoint:
            self.branches.setdefault(disjoint[0], []).append((disjoint[1], where))
            is_one = unit == "row" or disjoint[0] in self.spec.get("people", {}) or (
                whole(asked.get("max_rows", unit["max_rows"])) == 1 and asked.get("of") != "people")
            self.require(is_one and canonical(disjoint[0]) in canonical(where), name, "its part of the rows")
        self.require(joint <= (len(events) > 1) and all(
            event["mechanism"] in allowed and event["joint"] is joint and event.get("disjoint") == disjoint
            for event in events), name, "only Gaussian answers about the same rows are protected together")
        noisy = [event for event in events if event["mechanism"] == "gaussian"]
        for group in ([noisy] if joint else [[event] for event in noisy]) if noisy else []:
            of_group = [(exact(event["scale"]), Sens.read(event)) for event in group]
            epsilon, delta, fail = (exact(sum(exact(one.get(key, 0)) for one in group))
                                    for key in (*LOSS, "keys_delta"))
            self.require(gaussian_holds(of_group, epsilon, delta - fail), name, "its noise has another delta")
        spent = Answer.joined(answers)
        self.answers += [(one, disjoint) for one in ([spent] if joint else answers)]
        is_more = "rho" in asked or ("epsilon" not in asked and self.privacy["composition"] == "zcdp")
        is_more |= any(event["mechanism"] == "none" for event in events)
        found = {key: max(spent[at], part[key]) if is_more else spent[at] for at, key in enumerate(LOSS)}
        self.states(name, part, {"rho": spent.rho} | found, less=ROUNDED)
    def check_groups(self, name: str, part: Json, asked: Json) -> None:
        """It sums the columns asked for, in no fewer groups than are published."""
        terms, statistic = [one["terms"] for one in part["queries"]], part["statistic"]
        summed = {*re.findall(r'"column":"([^"]+)"', canonical(terms))}
        values = [asked.get(key) for key in ("column", "numerator", "denominator", "columns", "on")]
        of = asked.get("of") if statistic == "comparison" else statistic
        is_summed = re.search("sum|mean|varia|std|describe|ratio|corr|inequal|regress", str(of))
        missed = [one for one in {*re.findall(r'"([^"]+)"', canonical(values))} - summed if self.bounds(one)]
        self.require(not (missed and is_summed), name, f"it does not sum {missed}")
        is_free = statistic in ("comparison", "marginals") or {"hierarchy", "series"} & asked.keys()
        groups = {(*one["keys"].values(),) for one in part["cells"]}
        few = 0 if is_free else sum(part["layout"].get("totals") not in one for one in groups)
        holds = all(one["groups"] is None or one["groups"] >= few for one in terms)
        self.require(holds and ("series" in asked) == (terms[0]["rule"] == "repeated"), name, "its groups")
        hidden = [one for one in (*part["by"], part["column"]) if one in self.spec["columns"] and
                  self.declared(one).get("type") == "category" and "values" not in self.declared(one)]
        is_open, keys = all(one["groups"] is None for one in terms), part.get("keys")
        holds = is_open == bool(keys) and (not keys or keys["selected_by"] in (None, *self.entries))
        self.require(holds and (is_open or not hidden), name, "who chose its groups")
    def check_query(self, kind: str, name: str, part: Json, query: Json, asked: Json) -> Answer:
        """One answer: its sensitivity, its noise, and what it reveals."""
        where, event, terms = f"{name}, {query['role']}", query["event"], Terms(query["terms"])
        one, mechanism, cells = Sens.read(event), event["mechanism"], query["cells"]
        keys = "scale", "unit", *LOSS, "keys_delta"
        scale, unit, epsilon, delta, fail = (exact(event.get(key, 0)) for key in keys)
        self.states(where, event, {"statistic": name, "question": query["role"], "cells": cells})
        self.states(where, query, {"row_contribution": [terms.low * unit, terms.high * unit]}, less=ROUNDED)
        self.states(where, query, {
            "joint": event["joint"], "epsilon": epsilon, "delta": delta,
            "mechanism": {"kind": KINDS[mechanism], "scale": scale * unit, "grid": unit},
            "sensitivity": {"l0": one.l0, "l1": one.l1 * unit, "linf": one.linf * unit,
                            "l2": compute(Decimal.sqrt, one.squares * unit**2)}})
        of = (terms.of or [terms])[0].factors
        powers = terms.sizes if terms.rule == "divided" else [1 + (terms.rule == "quadratic")] * len(of)
        step = [(exact(f["step"]) / f.get("times", 1)) ** max(n, 1) for f, n in zip(of, powers, strict=False)]
        is_step = terms.rule not in STEPPED or len(powers) != len(of) or math.prod(step) == unit
        own = terms.groups if terms.rule == "choices" else cells if terms.rule == "pairs" else terms.cells
        self.require(cells == own and is_step, where, "the number of its cells, or its step")
        if terms.rule == "choices":
            self.check_choice(name, part, query, terms, asked)
        for inner in (terms, *terms.of, *(deeper for of in terms.of for deeper in of.of)):
            self.check_terms(kind, part, inner, asked, unit, where)
        try:
            found = sensitivity(terms, self.exchanged, event.get("candidates"))
            wide = 2 if terms.rule in ("vectors", "nested", "effects") else 1
            holds = all(least <= own <= wide * least for own, least in zip(one[1:], found[1:], strict=True))
            self.require(holds and one.l0 >= found.l0, where, f"{[*one]} is stated, {[*found]} follows")
            added = sensitivity(terms, False, event.get("candidates")) if fail else one
        except NotImplementedError as why:
            self.unchecked[name], added = str(why), one
        if not one.l1:
            is_open = terms.factors or terms.stated.get("skips") or any(map(asked.get, ("where", "by")))
            self.require(not is_open, where, "it has no noise")
            self.states(where, query, {"epsilon": 0, "delta": 0, "rho": 0, "mechanism": {"kind": "exact"}})
            return Answer()
        self.require(scale > 0 and mechanism != "none" and delta >= fail, where, "it has no noise")
        answer = Answer.of(mechanism, scale, one, epsilon, delta, fail)
        pure = epsilon if mechanism == "gaussian" else one.l1 / scale
        self.states(where, query, {"rho": answer.rho, "epsilon": pure})
        self.check_tails(part, query, added, where)
        return answer
    def check_choice(self, name: str, part: Json, query: Json, terms: Terms, asked: Json) -> None:
        """How often it is chosen, and by which score."""
        event, share = query["event"], terms.stated.get("quantile")
        parts, is_revenue = asked.get("quantiles") or [share], asked.get("utility") == "revenue"
        several = 1 if share else len(max(event.get("quantiles", []), parts, key=len)).bit_length()
        holds = event["picks"] == terms.counted >= whole(asked.get("k", several))
        holds &= is_revenue == (terms.stated.get("score") == "revenue")
        holds &= not is_revenue or query["row_contribution"][1] == self.bounds(part["column"])[1]
        self.require(holds and (not share or exact(share) in map(exact, parts)), name, "its choices")
        self.unchecked |= {name: "whether it has two candidates"} if event["candidates"] == 2 else {}
    def check_tails(self, part: Json, query: Json, added: Sens, where: str) -> None:
        """The half-width of the noise, and the threshold that hides groups of one person."""
        event, keys, is_first = query["event"], part.get("keys") or {}, query is part["queries"][0]
        fail, threshold = exact(event.get("keys_delta", 0)), whole(event.get("threshold", 0))
        if event["mechanism"] in TAILS:
            tail = TAILS[event["mechanism"]](float(exact(event["scale"])))
            width, outside = query["error95"] / exact(event["unit"]), float(1 - self.report["confidence"])
            at, beyond = round(width), threshold - added.linf
            holds = 2 * tail(at + 1) <= outside * 1.0001 and (at == 0 or 2 * tail(at) >= outside * 0.9999)
            self.require(holds and abs(width - at) <= ROUNDED * (1 + at), where, "the width of its noise")
            holds = beyond > 0 and added.l0 * tail(beyond) <= float(fail) * (1 + 1e-9)
            self.require(holds or not fail, where, "a group of one person may pass the threshold")
        if is_first and keys.get("selected_by") == part.get("name", ""):
            self.states(where, keys, {"threshold": Fraction(threshold), "delta": fail or "more than zero"})
    def check_terms(self, kind: str, part: Json, of: Terms, asked: Json, unit: Fraction, where: str) -> None:
        """Limits are at least those of unit or entry, and bounds those of columns."""
        protected, by = self.privacy["unit"], part.get("by") or []
        for factor in of.factors:
            column, step = factor["column"], exact(factor["step"])
            ends = [factor["lower"] * step, factor["upper"] * step]
            is_weight = column.startswith("weight of ") and "standard" in asked.get("rate", {})
            bounds = [ends[0], Fraction(1)] if is_weight else self.bounds(column)
            self.states(f"{where}, {column}", ends, bounds or ends)
            self.require(is_weight or f'"{column}"' in canonical(asked), where, f"it is not about {column}")
            self.unchecked |= {} if bounds else {part["name"]: f"the bounds of {column}"}
        statistic, clamp = part.get("statistic"), [one * unit for one in of.stated.get("clamp") or []]
        right = [*map(exact, asked.get("unit_bounds", ["0", "1"] * (statistic == "count_distinct")))]
        self.require(clamp in ([], right), where, "a clamp that was not asked for")
        self.require(of.is_row == (protected == "row"), where, "its unit is another one")
        if of.is_row:
            return
        of_people = asked.get("of") == "people" or (part.get("counts") == "people" and any(
            f'"{key}"' in canonical(asked) for key in self.spec.get("people") or ()))
        rows, most, groups = own_limits(asked, self.spec["privacy"]["unit"], whole(protected["max_rows"]))
        if kind != "entry" or (statistic == "count_distinct" and part["column"] == protected["column"]):
            rows = most = groups = 1
        elif of_people:  # a person counts once, but in several groups if these are about its rows
            of_rows, every = [one for one in by if one in self.spec["columns"]], of.groups or 10**6
            most = whole(asked.get("max_groups") or (every if of_rows == by else 1)) if of_rows else 1
            rows, most, groups = 1, min(most, every), min(most, every)
        elif of.stated.get("clamp"):
            rows, most = 1, groups
        elif not (by or "bins" in asked or "hierarchy" in asked) and of.rule == "sums":
            rows, groups = most if of.numbers == 1 else rows, 1
        rows = min(rows, of.counted or rows) if of.rule == "distinct" else rows
        least = rows, most, min(groups, of.groups or groups)
        holds = all(own >= one for own, one in zip(of.limits, least, strict=True))
        several = whole(asked.get("max_selected", of.numbers))
        is_some = statistic in ("selections", "count_missing") and 0 < of.counted < several
        self.require(holds and not is_some, where, f"limits {[*of.limits]}: {[*least]}")
    def check_response(self, _: str, name: str, part: Json) -> None:
        """A response of the local model: its probabilities, or its noise."""
        event, of, mechanism, ratio = part["event"], part["parameters"], part["mechanism"], ZERO
        epsilon, delta = (exact(event[key]) for key in LOSS)
        self.states(name, event, of | {"mechanism": mechanism, "statistic": part["column"]})
        answer = Answer(epsilon, delta, pure_rho(epsilon), ZERO, (("response", 1 / epsilon, Fraction(1)),))
        if "scale" in event:
            one, scale, ends = Sens.read(event), exact(event["scale"]), self.bounds(part["column"])
            answer, l1 = Answer.of(mechanism, scale, one, epsilon, delta), one.l1 * exact(event["unit"])
            self.require(l1 == (ends[1] - ends[0] if ends else l1), name, "its sensitivity")
            is_pure = mechanism != "gaussian"
            self.require(is_pure or gaussian_holds([(scale, one)], epsilon, delta), name, "its delta")
            self.states(f"{name}, scale", epsilon, one.l1 / scale if is_pure else epsilon)
        elif "rows" in of:
            rows = [[exact(one) for one in row] for row in of["rows"]]
            self.require(all(sum(row) == 1 and min(row) >= 0 for row in rows), name, "its probabilities")
            ratio = max(max(column) / min(column) for column in zip(*rows, strict=True) if max(column))
        elif "truth" in of:
            truth, others = exact(of["truth"]), whole(of["categories"]) - 1
            ratio = max(truth * others / (1 - truth), (1 - truth) / others / truth)
        else:
            self.unchecked[name] = f"the protocol `{mechanism}` is not recomputed here"
        if ratio:
            self.states(f"{name}, probabilities", epsilon, compute(Decimal.ln, ratio))
        self.states(name, part, {"epsilon": epsilon, "delta": delta, "rho": answer.rho})
        self.answers.append((answer, None))
    def check_totals(self) -> None:
        """The plain sum of all entries, and their total by the composition."""
        privacy, limit = self.privacy, self.privacy["budget"]["delta"]
        bound, rule = privacy["bound"], privacy["composition"]
        asked = {key: sum(part[key] for *_, part in self.parts) for key in LOSS}
        self.states("total, requested", privacy["requested"], asked, Fraction(1, 10**8))
        columns, common = dict[str, dict[Fraction, list[Answer]]](), list[Answer]()
        for column, branches in self.branches.items():
            of_branch = [[(at, *span) for span in self.allowed(column, where)] for at, where in branches]
            both = product([span for spans in of_branch for span in spans], repeat=2)
            holds = all(at == by or high < least or most < low for (at, low, high), (by, least, most) in both)
            self.require(holds, "total", f"parts of the rows that {column} divides have rows in common")
            self.unchecked |= {} if all(of_branch) else {"total": f"whether rows by {column} are disjoint"}
        for one, part in self.answers:
            (columns.setdefault(part[0], {}).setdefault(part[1], []) if part else common).append(one)
        # A unit is in one of the parts that have no common rows, for each column that divides them.
        chosen = product(*(parts.values() for parts in columns.values()))
        cases = [sum(case, common) for case in islice(chosen, 2000)]
        self.unchecked |= {"total": "too many parts"} if math.prod(map(len, columns.values())) > 2000 else {}
        every = [(*total(rule, bound, case, limit), Answer.joined(case).rho) for case in cases]
        epsilon, delta, wide, less, rho = map(max, zip(*every, strict=True))
        if columns and self.exchanged:
            wide, self.unchecked["total"] = Fraction(10**9), "who moves to other rows"
        found = {"epsilon": epsilon, "delta": delta, "rho": rho if rule == "zcdp" else None}
        self.states("total", privacy["spent"], found, wide, less)
    def check_account(self) -> None:
        """What the account had spent before, after, and what is left."""
        privacy, ledger, window = self.privacy, self.ledger, self.window
        before, spent, after, budget = (privacy[key] for key in ("before", "spent", "after", "budget"))
        earlier, is_first = ledger.get("earlier") or [], ledger["first_release"]
        is_plain = privacy["composition"] == "sequential"
        is_series = any(one.get("series") for one in self.report.get("statistics") or [])
        is_cut = is_series or any(map(ledger.get, ("window", "earlier_more", "after_check")))
        self.states("account, first release", is_first, not earlier)
        for key in LOSS:
            if is_first or (is_plain and not is_cut):
                self.states("account", before, {key: sum((one["loss"][key] for one in earlier), ZERO)})
            if not (is_series or window) and (is_first or is_plain):
                wide = ROUNDED if is_plain else Fraction(1, 100)
                self.states("account, after", after, {key: before[key] + spent[key]}, wide)
            budgets = [privacy | {"spent": after}, *(ledger.get("further_budgets") or [])]
            for one in budgets[:None if key == "epsilon" else int(is_plain)]:
                rest = max(one["budget"][key] - one["spent"][key], ZERO)
                holds = abs(one["remaining"][key] - rest) <= ROUNDED * one["budget"][key]
                self.require(holds, "account", f"the {key} left")
            holds = spent[key] * Fraction(99, 100) <= after[key] <= budget[key] >= spent[key]
            self.require(holds, "account", f"{key} after is below what was spent, or above the budget")
        year = {key: -(-365 // whole(window.get("periods", 365))) * budget[key] for key in LOSS}
        self.states("window", window, {"per_window": after, "per_year_at_most": year} if window else {})
        if not is_first and (not is_plain or is_cut):
            self.unchecked["account"] = "what earlier releases cost together, the ledger says"
    def check_chain(self) -> None:
        """The head of the entry is the hash of what the report states."""
        report, ledger, chain = self.report, self.ledger, self.ledger["chain"]
        payload, period, events = json.loads(chain["payload"]), chain["period"], list[Any]()
        build = {key: one for key, one in payload["build"].items() if one}
        found = {key: payload.get(key) for key in ("recipient", "after_check")} | {"build": build}
        self.states("chain", report, {
            "created": payload["created"], "release_id": re.split("[@+]", chain["name"])[0],
            "dpcli_version": build["dpcli"], "spec": {"digest": payload["digest"]}, "ledger": found})
        is_right = period in (None, report.get("reference_period") or self.window.get("period"))
        is_right &= self.is_stopped == payload.get("stopped", False)
        self.require(is_right, "chain", "its period, or that a check has failed, is not that of the entry")
        for kind, name, part in self.parts:  # choices, and a check before them, have an entry of their own
            if kind == "choice" or (kind == "quality" and part.get("ledger")):
                self.require(part["ledger"]["entry"] < ledger["entry"], name, "it comes before the release")
            else:
                events += [query["event"] for query in part.get("queries") or [part]]
        text = json.dumps(events, sort_keys=True, separators=(",", ":"), default=whole)
        digest = hashlib.sha256()
        for piece in (chain["previous"], str(ledger["entry"]), "release", report["spec"]["dataset"],
                      chain["name"], period, text, chain["payload"]):
            encoded = (piece or "").encode("utf-8", "surrogatepass")
            digest.update(b"\xff" * 8 if piece is None else len(encoded).to_bytes(8, "big") + encoded)
        self.states("chain, head", ledger["head"], digest.hexdigest())
    def check_intervals(self, kind: str, name: str, part: Json) -> None:
        """Intervals of numbers with own noise are as wide as it, or end at a limit."""
        cells = [*(part.get("counts") or {}).values()] if kind == "quality" else []
        error, possible = part["queries"][0]["error95"] if kind != "response" else ZERO, [ZERO, None]
        asked, own = self.asked.get(name, part), part.get("noise_of_numbers") == "own"
        is_own = (statistic := part.get("statistic")) in ("count", "sum", "histogram", "count_distinct")
        rules = [one.get("terms", {"rule": "sums" * own})["rule"] for one in part.get("queries") or []]
        steps = "post", "percent", "rate", "hierarchy", "known", "totals"
        if is_own and rules == ["sums"] and not any(map(asked.get, steps)):
            cells = [cell for cell in part["cells"] if not cell.get("population")]
            (possible,), n = part["layout"].get("possible", [[None, None]]), part["queries"][0]["cells"] or 0
            sides = map(exact, (asked.get("unit_bounds") or part["bounds"]) if statistic == "sum" else "01")
            known = [None if next(sides) < 0 else ZERO, None if next(sides) > 0 else ZERO]
            holds = own and not part["post"] and (possible == known or not self.spec)
            self.require(holds and error == part["error95"] and len(cells) >= n, name, "its error, or a step")
        self.intervals += bool(cells)
        ends = [[one[key] for key in ("lower", "value", "upper")] for one in part.get("cells") or []]
        self.require(all(None in one or one == sorted(one) for one in ends), name, "its intervals")
        low, high = (far if at is None else at for at, far in zip(possible, (-(10**60), 10**60), strict=True))
        for cell in cells:
            value = cell["value"]  # around the nearest possible value, cut to what is possible, widened to it
            middle = low if value + error <= low else high if value - error >= high else value
            least, most = min(value, max(middle - error, low)), max(value, min(middle + error, high))
            holds = abs(cell["lower"] - least) < 1 and abs(cell["upper"] - most) < 1
            self.require(holds, name, f"the interval of {value!s:.40} is not that of its noise")
    def cells(self) -> Iterator[tuple[Json, str, Json]]:
        """Each published number with its layout, its name and what is stated."""
        facts = {"confidence": self.report["confidence"], "release_id": self.report["release_id"],
                 "period": self.report.get("reference_period") or self.window.get("period")}
        for one in self.report["statistics"]:
            seen, layout, complete = Counter[str](), one["layout"], one["completeness"]["complete"]
            for cell in one["cells"]:
                mark = ".raw" if cell.get("raw") else ".population" if cell.get("population") else ""
                is_count = mark == ".raw" and (layout["chosen"] or one.get("percent"))
                units = [one["counts"]] if is_count else one["units"] or [""]
                own = {"complete": complete, "unit": units[seen[mark] % len(units)]}
                seen[mark] += 1
                yield layout, one["name"] + mark, cell | facts | own
    def check_table(self, name: str, data: bytes) -> None:
        """Each cell of a long or a wide table is that of the report, and none is missing."""
        if "responses" in self.report:
            self.states(name, self.report, {"responses_sha256": hashlib.sha256(data).hexdigest()})
            return
        header, *lines = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        optional = [one["name"] for one in self.report.get("optional_columns") or []]
        for one in self.entries if header[0] == "statistic" else {one.partition(".")[0] for one in header}:
            self.unchecked.pop(f"numbers of {one}", None)
        if header[0] != "statistic" or "item" not in header:
            found = self.wide_lines(header, optional)
        else:
            keys = [*dict.fromkeys(key for one in self.report["statistics"]
                                   for key in one["layout"].get("keys") or one["by"])]
            facts = ["item", "value", "lower", "upper", "flag", "complete", "unit", *optional]
            names = [re.escape(one) + r"(_\d+)?" for one in ("statistic", *keys, *facts)]  # or repeated
            self.require(all(map(re.fullmatch, names, header)), name, "it has other columns")
            found = [[named, *map(cell["keys"].get, keys), *map(cell.get, facts)]
                     for _, named, cell in self.cells()]
        self.require(len(lines) == len(found), name, "it has more lines, or fewer")
        for at, (own, expected) in enumerate(zip(lines, found, strict=False), start=2):
            holds = len(own) == len(header) == len(expected) and all(map(agree, own, expected))
            self.require(holds, f"{name}, line {at}", f"{own!s:.80} is not {[*map(str, expected)]!s:.80}")
    def wide_lines(self, header: list[str], optional: list[str]) -> list[list[Any]]:
        """The lines of a wide table: one for each group, with columns for each statistic."""
        headings = [one["layout"]["columns"] for one in self.report["statistics"]]
        width = max([len(one) for one in headings if one == header[:len(one)]], default=0)
        found, ranks, missing = dict[Any, Json](), Counter[Any](), set[str]()
        names = [(one, re.sub(r"_\d+$", "", one)) for one in header[width:]]
        both = {one for pair in names for one in pair}
        first = {one.partition(".")[0] for one in both}
        tables = {layout["table"] for layout, name, _ in self.cells() if name.partition(".")[0] in first}
        for layout, name, cell in self.cells():
            named, item, order = name, cell["item"], [*layout["columns"], *cell["keys"]]
            group = [cell["keys"][key] for key in sorted(cell["keys"], key=order.index)]
            ranks[named, *group] += 1
            item = str(ranks[named, *group]) if layout["chosen"] else item
            if layout.get("across"):
                named, group = f"{named}.{group[1]}", group[:1]
            group += [item] * (len(layout["columns"]) > len(group))
            if layout["table"] in tables and layout["columns"] == header[:width]:
                line = found.setdefault(tuple(group), {key: cell.get(key) for key in optional})
                own = {f"{named}_{key}": cell.get(key) for key in ("lower", "upper", "flag", "complete")}
                missing |= {named, *own} - both
                line |= own | {f"{named}_{key}": cell.get(key) for key in optional}
                line[named] = cell["item" if layout["chosen"] and not cell.get("raw") else "value"]
        self.require(found and not missing, "table", f"columns are missing: {', '.join(sorted(missing))}")
        return [[*group, *(line.get(a, line.get(b)) for a, b in names)] for group, line in found.items()]
def own_limits(stated: Json, defaults: Json, rows: int) -> list[int]:
    """The limits that an entry states, else those of the unit, else the rows."""
    given = {key: whole(one) for key in LIMITS
             if (one := stated.get(key) or defaults.get(key)) and not isinstance(one, dict)}
    rows = given.get("max_rows", rows)
    return [min(given.get("max_rows_per_group", rows), rows), rows, given.get("max_groups", rows)]
def agree(cell: str, stated: Any) -> bool:
    """Whether a cell is a value of the report; no text begins like a formula."""
    if isinstance(stated, Fraction):
        return bool(NUMBER.fullmatch(cell)) and number_text(exact(cell)) == number_text(stated)
    is_formula = re.match(r"[=+@\t\r-]", stated or "") and not NUMBER.fullmatch(stated)
    return cell == "'" * bool(is_formula) + (stated or "")
def verify(report: bytes, tables: Sequence[tuple[str, bytes]], digest: str | None = None) -> Verifier:
    """All findings about a report and its tables, given the bytes of the files."""
    findings = Verifier()
    findings.checks.append(("report", findings.start, (report, tables, digest)))
    for place, check, arguments in findings.checks:
        try:
            check(*arguments)
        except Exception as error:  # whatever a report may state, it is a finding
            findings.require(False, place, f"it cannot be read: {type(error).__name__}, {str(error)[:80]}")
    return findings
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 0 if all is consistent, else 1."""
    parser, file = argparse.ArgumentParser(description=str(__doc__).split("\n")[0]), argparse.FileType("rb")
    parser.add_argument("report", type=file, help="the JSON report of a release")
    parser.add_argument("tables", type=file, nargs="+", help="its tables as CSV")
    parser.add_argument("--digest", help="the SHA-256 of the content, on the signed page")
    parser.add_argument("--json", action="store_true", help="findings as JSON")
    given = parser.parse_args(arguments)
    findings = verify(given.report.read(), [(one.name, one.read()) for one in given.tables], given.digest)
    print(json.dumps(findings.summary(), indent=2) if given.json else "\n".join(findings.lines()))
    return 1 if findings.wrong else 0
if __name__ == "__main__":
    raise SystemExit(main())
