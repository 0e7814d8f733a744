"""Recompute a published release from its report, without data or ledger.

    python verify.py report.json table.csv [more tables] [--digest HEX] [--json]

This file uses the standard library alone, so that anyone can read and run it, and shares no code
with the program that made the release. It reads the spec in the report, recomputes sensitivities,
noise, losses and totals, hashes, and the place in the chain of the ledger, and compares each cell
of the tables. It cannot know what the data were, or whether the program did what the report states.
A consistent report of a release that never was is found by `--digest`, the digest of the content
on the page that was signed.

Sources: Dwork and Roth 2014; Bun and Steinke 2016 (rho); Canonne, Kamath and Steinke 2020 (discrete
noise, conversions); Balle and Wang 2018 (Gaussian delta); Kairouz, Oh and Viswanath 2015 (advanced
composition); Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022 (losses on a grid).

Exit codes: 0 consistent, 1 something is not, 2 wrong command line or a file that cannot be read.
"""
# fmt: off

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]
LIMITS, LOSS = ("max_rows_per_group", "max_rows", "max_groups"), ("epsilon", "delta")
ZERO, ROUNDED = Fraction(0), Fraction(1, 10**9)
"""Stated losses are rounded up: larger than recomputed ones by this share."""
GRID = Fraction(2, 1000)
"""Totals of `pld` on two different grids differ by less, relatively."""
UNREADABLE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, MemoryError, csv.Error)

# --- Reading: JSON by content, and the YAML of the spec

class Number(str):
    """A JSON number with its digits."""

    __slots__ = ()

def read_json(data: bytes) -> Any:
    """Parsed JSON with exact numbers; ValueError for a repeated key or for NaN."""
    def unique(pairs: list[tuple[str, Any]]) -> Json:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key is repeated")
        return dict(pairs)

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no number")

    text = data.decode("utf-8-sig")
    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse, parse_int=Number, parse_float=Number)

def exact(value: Any) -> Fraction:
    """A number, or a text with a decimal or a fraction, exactly."""
    if isinstance(value, Fraction):
        return value
    text = "" if isinstance(value, bool) or not isinstance(value, str | int) else str(value)
    if not 0 < len(text) < 4000 or ("e" in text.lower() and abs(Decimal(text).adjusted()) > 1000):
        raise ValueError("a number is missing or too long")
    return Fraction(text)

def whole(value: Any) -> int:
    """A whole number."""
    number = exact(value)
    if number.denominator != 1:
        raise ValueError("a number is not whole")
    return number.numerator

def number_text(digits: str) -> str:
    """A plain decimal; of more than 15 digits that of the nearest float, as in jq."""
    value = Decimal(digits)
    if abs(value.adjusted()) > 1000:
        raise ValueError("a number is too large or too small")
    if len(value.as_tuple().digits) > 15 and abs(value.adjusted()) < 300:
        value = Decimal(repr(float(value)))
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text

def canonical(value: Any) -> str:
    """Parsed JSON as a text that depends on its content alone."""
    if isinstance(value, Number):
        return number_text(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    return "[" + ",".join(map(canonical, value)) + "]" if isinstance(value, list) else json.dumps(value, ensure_ascii=False)

def content_digest(report: Json) -> str:
    """SHA-256 of all but `content_sha256`; numbers of statistics are hashed first."""
    stated = {key: value for key, value in report.items() if key != "content_sha256"}
    if "statistics" in stated:
        lines = ["".join(canonical(cell) + "\n" for cell in one["cells"]) for one in stated["statistics"]]
        stated["statistics"] = [one | {"cells": hashlib.sha256(text.encode()).hexdigest()}
                                for one, text in zip(stated["statistics"], lines, strict=True)]
    return hashlib.sha256(canonical(stated).encode("utf-8", "surrogatepass")).hexdigest()

QUOTED = r'"(?:\\.|[^"\\])*"|\'(?:\'\'|[^\'])*\''
COMMENT = re.compile(rf"((?:^|(?<=[\s\[{{,:(-]))(?:{QUOTED}))|(?:^|(?<=\s))#.*")
KEY = re.compile(rf"({QUOTED}|[^\s\[{{\"'#-][^#]*?|-\S[^#]*?)\s*:(?:\s+|$)")
TOKEN = re.compile(rf"\s*({QUOTED}|[\[\]{{}},]|:(?=[\s,\]}}\[{{\"']|$)|(?:[^\s,\[\]{{}}:]|:(?=\S)|\s+(?=[^\s,\[\]{{}}:#]))+)")
Lines = list[tuple[int, str]]

def read_yaml(text: str) -> Any:
    """The YAML of a spec, which has no anchors and no tags: every scalar is a text."""
    lines = [COMMENT.sub(lambda found: found[1] or "", line).rstrip() for line in text.lstrip("\ufeff").splitlines()]
    return block([(len(line) - len(line.lstrip()), line.strip()) for line in lines if line.strip() and line != "---"])

def block(lines: Lines) -> Any:
    """A value from lines with their indents: a list, pairs, or a scalar."""
    indent, first = lines[0] if lines else (0, "")
    is_list = first == "-" or first.startswith("- ")
    if not is_list and not KEY.match(first):
        return scalar(" ".join(line for _, line in lines))
    groups: list[tuple[str, Lines]] = []
    for at, line in lines:
        # Items of a list may stand as far left as the key before them.
        if at == indent and (is_list or not line.startswith("- ")):
            groups.append((line, []))
        else:
            groups[-1][1].append((at, line))
    if is_list:
        inner = [(indent + len(head) - len(head[1:].lstrip()), head[1:].lstrip(), rest) for head, rest in groups]
        return [block([(at, line)] * bool(line) + rest) for at, line, rest in inner]
    pairs: Json = {}
    for head, rest in groups:
        found = KEY.match(head)
        if found is None or plain_word(found[1]) in pairs:
            raise ValueError("a line is no pair, or its key is repeated")
        value, more = head[found.end():], " ".join(line for _, line in rest)
        is_text = re.fullmatch(r"[|>][-+0-9]*", value)
        pairs[plain_word(found[1])] = more if is_text else scalar(f"{value} {more}") if value else block(rest)
    return pairs

def plain_word(word: str) -> str:
    """A scalar without its quotes."""
    if word[:1] == '"':
        return str(json.loads(word))
    return word[1:-1].replace("''", "'") if word[:1] == "'" else word.strip()

def scalar(text: str) -> Any:
    """A text, or what is between brackets."""
    tokens = TOKEN.findall(text) if text[:1] in ("[", "{") else []
    value = flow(tokens) if tokens else plain_word(text.strip())
    if tokens:
        raise ValueError("a bracket is closed too early")
    return value

def flow(tokens: list[str]) -> Any:
    """The next value of a text between brackets; its tokens are taken away."""
    word, items = tokens.pop(0), list[tuple[Any, Any]]()
    if word not in ("[", "{"):
        return plain_word(word)
    while tokens[0] not in ("]", "}"):
        key, value, is_pair = flow(tokens), "", tokens[0] == ":"
        if is_pair:
            tokens.pop(0)
            value = flow(tokens) if tokens[0] not in (",", "]", "}") else ""
        items.append((key, {key: value} if word == "[" and is_pair else value))
        if tokens[0] == ",":
            tokens.pop(0)
    tokens.pop(0)
    return dict(items) if word == "{" else [value or key for key, value in items]

# --- Findings

class Findings:
    """What is inconsistent, what was not checked, and how much was."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.unchecked: dict[str, str] = {}
        self.checked, self.entries = 0, list[str]()

    def require(self, holds: Any, place: str, why: str) -> bool:
        """Count a check; a finding unless it holds."""
        self.checked += 1
        self.wrong += [] if holds else [f"{place}: {why}"]
        return bool(holds)

    def same(self, stated: Any, found: Any, place: str, what: str) -> None:
        """Two values must be equal; numbers count by value."""
        pair = [exact(str(one)) if type(one) in (Number, int) else one for one in (stated, found)]
        self.require(pair[0] == pair[1], place, f"{what}: {shown(pair[0])} is stated, and {shown(pair[1])} follows")

    def loss(self, stated: Any, found: Any, place: str, what: str, wide: Fraction = ROUNDED) -> None:
        """A stated number covers the recomputed one, and exceeds it by rounding alone."""
        value, least = exact(stated), exact(found)
        holds = least <= value * (1 + Fraction(1, 10**13)) and value <= least * (1 + wide) + Fraction(1, 10**60)
        self.require(holds, place, f"{what}: {shown(value)} is stated, and {shown(least)} follows")

    @contextmanager
    def reading(self, place: str) -> Iterator[None]:
        """Turn what cannot be read into a finding."""
        try:
            yield
        except UNREADABLE as error:
            self.require(False, place, f"a value is missing or of another kind: {type(error).__name__}, {str(error)[:80]}")

    def summary(self) -> Json:
        """The findings as data."""
        return {"consistent": not self.wrong, "checks": self.checked, "entries": len(self.entries),
                "problems": self.wrong, "unchecked": self.unchecked}

    def lines(self) -> Iterator[str]:
        """The findings in words."""
        yield from (f"wrong: {why}" for why in self.wrong)
        yield from (f"not checked: {place}: {why}" for place, why in self.unchecked.items())
        known, verdict = sum(name not in self.unchecked for name in self.entries), "inconsistent" if self.wrong else "consistent"
        yield f"{verdict}: {self.checked:,} checks; {known} of {len(self.entries)} entries were recomputed"

def shown(value: Any) -> str:
    """A value in a message."""
    if isinstance(value, Fraction):
        return str(value) if value.denominator < 1000 else f"{float(value):.12g}"
    return json.dumps(value, ensure_ascii=False, default=str)[:80]

# --- Sensitivities

class Sens(NamedTuple):
    """The most that one unit changes: cells, sum, sum of squares, and one cell."""

    l0: int
    l1: int
    squares: int
    linf: int

    @classmethod
    def read(cls, of: Json) -> Sens:
        """The sensitivity that an event of the ledger records."""
        return cls(*(whole(of[key]) for key in ("l0", "l1", "l2_squared", "linf")))

class Limits(NamedTuple):
    """The most rows of a unit in a group and in all, and the most of its groups."""

    rows: int
    total: int
    groups: int

    def among(self, cells: int | None) -> Limits:
        """The limits that hold with this number of cells."""
        groups = self.groups if cells is None else min(self.groups, cells)
        total = min(self.total, self.rows * groups)
        return Limits(min(self.rows, total), total, min(groups, total))

    def packed(self, cells: int) -> tuple[int, int]:
        """The most rows in some cells, and the largest sum of squares of their counts."""
        full, rest = divmod(min(self.total, self.rows * cells), self.rows)
        return full * self.rows + rest, full * self.rows**2 + rest**2

    def apart(self, cells: int | None) -> tuple[int, int]:
        """The most cells of each of two units that share none."""
        ends = (self.groups, self.groups) if cells is None else (cells - cells // 2, cells // 2)
        return min(self.groups, ends[0]), min(self.groups, ends[1])

    def two(self, cells: int | None) -> tuple[int, int]:
        """The most rows of two units that share no cell, and the largest sum of squares."""
        (one, squares), (other, more) = map(self.packed, self.apart(cells))
        return one + other, squares + more

class Unproven(Exception):
    """A bound that this file does not recompute; the message says which."""

class Terms:
    """What a report states about a query: the rule of sensitivity, and arguments."""

    def __init__(self, stated: Json) -> None:
        self.stated, self.rule, self.is_row = stated, str(stated["rule"]), stated["limits"] is None
        self.low, self.high, self.numbers = (whole(stated[key]) for key in ("low", "high", "numbers"))
        self.groups = None if stated["groups"] is None else whole(stated["groups"])
        self.cells = None if self.groups is None else self.groups * self.numbers
        self.limits = Limits(*map(whole, stated["limits"] or (1, 1, 1)))
        self.sizes, self.times = ([whole(one) for one in stated.get(key) or []] for key in ("sizes", "times"))
        self.counted = None if stated.get("counted") is None else whole(stated["counted"])
        self.of, self.factors = [Terms(one) for one in stated.get("of") or []], list[Json](stated.get("factors") or [])
        if min(self.limits) < 1 or self.numbers < 1:
            raise ValueError("a limit is below one")

    def contribution(self) -> tuple[int, int]:
        """The least and the most that a row adds, by interval arithmetic."""
        low = high = 1
        for factor in {canonical(one): one for one in self.factors}.values():
            times, offset, power = whole(factor.get("times", 1)), whole(factor.get("offset", 0)), self.factors.count(factor)
            ends = sorted(times * whole(factor[end]) - offset for end in ("lower", "upper"))
            powers = [end**power for end in ends]
            if power % 2 == 0 and ends[0] <= 0 <= ends[1]:
                powers.append(min(offset % times, times - offset % times) ** power)
            corners = [a * b for a in (low, high) for b in (min(powers), max(powers))]
            low, high = min(corners), max(corners)
        offset, clamp = whole(self.stated.get("offset", 0)), self.stated.get("clamp")
        low, high = map(whole, clamp) if clamp else (low - offset, high - offset)
        return (min(low, 0), max(high, 0)) if clamp or self.stated.get("skips") else (low, high)

    def of_score(self, candidates: Any) -> tuple[int, int]:
        """How far a row moves the difference of two scores."""
        if self.stated.get("score") == "rank":
            quantile = exact(self.stated["quantile"])
            part, rest = quantile.numerator, quantile.denominator - quantile.numerator
            return (-part, rest) if self.low == -part and whole(candidates) == 2 else (-2 * part, 2 * rest)
        return (self.low, self.high) if self.stated.get("score") == "revenue" else (-1, 1)

def sums(t: Terms, exchanged: bool, cells: int | None, limits: Limits | None = None) -> Sens:
    """Sums to which a row adds from low to high in one cell."""
    limit, most, span = (limits or t.limits).among(cells), max(-t.low, t.high, 0), max(t.high, 0) - min(t.low, 0)
    if not exchanged:
        _, squares = limit.packed(limit.groups)
        found = Sens(limit.groups, most * limit.total, most**2 * squares, most * limit.rows)
    elif t.is_row:
        change = t.high - t.low
        many = Sens(2, max(2 * most, change), max(2 * most**2, change**2), max(most, change))
        found = Sens(1, change, change**2, change) if cells == 1 else many
    else:
        greater, squares = limit.two(cells)
        l1, l2 = most * greater + (span - most) * (2 * limit.total - greater), most**2 * squares
        if span > most:
            l2 = min(of_both_signs(max(t.high, 0), max(-t.low, 0), limit), l1 * limit.rows * span)
        found = Sens(sum(limit.apart(cells)), l1, l2, limit.rows * span)
    return found if found.l1 else Sens(0, 0, 0, 0)

def of_both_signs(up: int, down: int, limit: Limits) -> int:
    """The largest sum of squares if two units meet in the same cells."""
    (full, rest), rows = divmod(limit.total, limit.rows), limit.rows

    def squares(one: int, other: int) -> int:
        together = max(up * one + down * other, down * one + up * other) ** 2
        return max(together, (one * max(up, down)) ** 2 + (other * max(up, down)) ** 2)

    straight = full * squares(rows, rows) + squares(rest, rest)
    return max(straight, (full - 1) * squares(rows, rows) + 2 * squares(rows, rest) if full else 0)

def indicators(t: Terms, exchanged: bool, tests: int, counted: int) -> Sens:
    """Counts of several tests in each group, of which a row counts for a few."""
    limit = t.limits.among(t.groups)
    l1, l2, cells = counted * limit.total, counted * limit.packed(limit.groups)[1], limit.groups
    if exchanged:
        greater, greatest = limit.two(t.groups)
        l1, l2, cells = min(2 * l1, tests * greater), min(2 * l2, tests * greatest), sum(limit.apart(t.groups))
    return Sens(min(l1, cells * tests), l1, l2, limit.rows)

def sensitivity(t: Terms, exchanged: bool, candidates: Any = None) -> Sens:
    """The sensitivity of a query by its rule; Unproven if this file has no such rule."""
    fixed = {"distinct": (0, 1), "indicators": (0, 1), "signed": (-1, 1), "tables": (0, 1)}.get(t.rule, (t.low, t.high))
    adds = t.contribution() if t.rule == "sums" else t.of_score(candidates) if t.rule == "choices" else fixed
    # A person is in one of several bins, whatever their rows are.
    if adds != (t.low, t.high) and not (adds == (1, 1) and (t.low, t.high) == (0, 1)):
        raise ValueError(f"a row adds from {adds[0]} to {adds[1]}, not from {t.low} to {t.high}")
    limit, twice, counted = t.limits.among(t.groups), 1 + exchanged, t.counted or 0
    touched = sum(limit.apart(t.groups)) if exchanged else limit.groups
    if t.rule in ("sums", "distinct"):
        return sums(t, exchanged, t.cells)
    if t.rule == "choices":
        one = sums(t, exchanged, t.groups)
        return Sens(counted * one.l0, counted * one.l1, counted * one.squares, one.linf)
    if t.rule == "indicators":
        return indicators(t, exchanged, t.numbers, counted)
    if t.rule == "signed":
        squares = twice**2 * t.numbers * limit.packed(limit.groups)[1]
        return Sens(touched * t.numbers, twice * t.numbers * limit.total, squares, twice * limit.rows)
    if t.rule == "divided":
        ((size,), degrees) = t.times, t.sizes or [1] * len(t.factors)
        wide = [(whole(one["upper"]) - whole(one["lower"])) ** degree if degree else whole(one["upper"])
                for one, degree in zip(t.factors, degrees, strict=True)]
        # A value is divided among all polynomials, or between the two points next to it.
        fits = t.numbers == 1 - (-wide[0] // size) if counted else size == math.prod(wide)
        if (t.low, t.high) != (0, size) or not fits or counted not in (0, 2):
            raise ValueError("what a row adds does not follow from the bounds")
        one, cells = indicators(t, exchanged, t.numbers, 1), touched * t.numbers
        cells = min(cells, 2 * limit.total * twice) if counted else cells
        return Sens(cells, size * one.l1, size**2 * one.squares, size * one.linf)
    if t.rule == "centered" and not exchanged and not t.is_row and t.cells:
        ((times, less), limit, l1, l2) = t.times, t.limits.among(t.cells), 0, 0
        full, rest = divmod(limit.packed(limit.groups)[0], limit.rows)
        for filled in ([], [limit.rows] * full, [limit.rows] * full + [rest]):
            moved = [abs(times * rows - less) for rows in filled[:t.cells]] + [less] * max(t.cells - len(filled), 0)
            l1, l2 = max(l1, sum(moved)), max(l2, sum(change * change for change in moved))
        return Sens(t.cells, l1, l2, max(less, abs(times * limit.rows - less)))
    if t.rule == "quadratic":
        (factor,) = t.factors
        width, rows = whole(factor["upper"]) - whole(factor["lower"]), t.limits.among(1).total
        # Both norms have their maximum at the whole width, or near a point between half of it and 3/4.
        near = [width, *range(width // 2, min(width, width // 2 + 200_000) + 1)] if exchanged else []
        most, linf = 2 * width**4, width**2
        for k in near:
            most, linf = max(most, 2 * k**2 * (width**2 + 16 * (width - k) ** 2)), max(linf, k * (5 * width - 4 * k))
        return Sens(3, rows * 2 * width**2, rows**2 * most, rows * linf)
    if t.rule == "objective" and t.times in ([4, 7], [25, 49]):
        loss = t.limits.total * t.times[exchanged]
        return Sens(1, loss, loss**2, loss)
    if t.rule == "nested":
        return nested(t, exchanged)
    return of_others(t, exchanged, [sensitivity(one, exchanged, candidates) for one in t.of])

def of_others(t: Terms, exchanged: bool, parts: list[Sens]) -> Sens:
    """The sensitivity of a query that is made of others, from theirs."""
    if t.rule == "pairs":
        (one,), (of,) = parts, t.of
        pairs, larger = -(-(of.cells or 0) // 2), sums(of, exchanged, of.groups).l1 if of.rule == "scaled" else one.l1
        return Sens(min(2 * one.l0, 2 * pairs), 2 * min(larger, pairs * one.linf), 2 * one.squares, min(one.l1, 2 * one.linf))
    if t.rule == "scaled":
        first, second = (Sens(s.l0, n * s.l1, n * n * s.squares, n * s.linf) for s, n in zip(parts, t.times, strict=True))
        return Sens(2 * max(first.l0, second.l0), first.l1 + second.l1, first.squares + second.squares, max(first.linf, second.linf))
    if t.rule == "root 180":
        coefficient, column, (one,) = Fraction(1), [256], parts
        for lag in range(1, 180):
            coefficient *= Fraction(2 * lag - 1, 2 * lag)
            column.append(round(256 * coefficient))
        return Sens(one.l0 * 180, one.l1 * sum(column), one.squares * sum(c * c for c in column), one.linf * 256)
    if t.rule == "blocks 20":
        (one,) = parts
        return Sens(2 * one.l0, 2 * one.l1, 2 * one.squares, one.linf)
    if t.rule == "vectors":
        return parts[0]._replace(l1=norm_change(t, exchanged, parts[0].l1))
    if t.rule == "tables":
        norm, added = t.stated["norm"], max(sensitivity(one, False).l1 for one in t.of)
        if norm == "exchanged-tables" and not (t.is_row and exchanged and t.groups == 1):
            raise ValueError("the sum of a table may change")
        added *= 2 if exchanged and (t.groups != 1 or norm == "tables") else 1
        return Sens(sum(s.l0 for s in parts), added, sum(s.squares for s in parts), max(s.linf for s in parts))
    raise Unproven(f"the bound `{t.rule}` is not recomputed here")

def norm_change(t: Terms, exchanged: bool, total: int) -> int:
    """The change in the norm of K-norm noise, summed over all vectors."""
    (of,), (size,), norm = t.of, t.sizes, t.stated["norm"]
    single, adds = size == of.cells, of.low >= 0
    if not single and size != of.numbers:
        raise ValueError("a vector has another size")

    def largest(relation: bool) -> int:
        if single:
            return sensitivity(of, relation).linf
        return (indicators(of, relation, 1, 1) if of.rule in ("indicators", "signed") else sensitivity(of, relation)).l1

    if norm == "zero-one":
        return (1 + exchanged) * largest(False) if adds else 2 * largest(exchanged)
    if norm == "cube":
        return largest(exchanged)
    if norm == "fixed-sum" and not (exchanged and t.is_row and single):
        raise ValueError("the sum of the numbers may change")
    if norm in ("exchange", "fixed-sum"):
        return sensitivity(of, False).l1 * (1 if single else 1 + exchanged) if adds else total
    raise Unproven(f"the norm `{norm}` is not recomputed here")

def nested(t: Terms, exchanged: bool) -> Sens:
    """Sums of the cells of another query: limits are on the cells."""
    sizes, groups = t.sizes, t.groups or 1
    rows, total, touched = t.limits.among(groups * sum(sizes))
    wide = Limits(min(total, rows * min(touched, sizes[0])), total, touched)
    bound, filled = sums(t, exchanged, groups * len(sizes), wide), -(-total // rows)
    if t.is_row or sizes[0] == sizes[-1] or rows == total or (exchanged and filled > 24):
        return bound
    if exchanged:
        raise Unproven("sums of unequal sizes are not recomputed where a person is exchanged")
    squares, left = 0, total
    for size in [size for size in sizes for _ in range(min(groups, filled))][:filled]:
        squares, left = squares + min(left, rows * size) ** 2, max(left - rows * size, 0)
    return bound._replace(squares=max(-t.low, t.high) ** 2 * squares)

# --- Losses of one answer

def compute(function: Callable[..., Decimal], *values: Fraction | int) -> Fraction:
    """A function of decimals, with 60 digits."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, 10**9, -(10**9)
        return Fraction(function(*(Decimal(Fraction(v).numerator) / Fraction(v).denominator for v in values)))

def pure_rho(epsilon: Fraction) -> Fraction:
    """The least rho of every answer with this epsilon: epsilon tanh(epsilon/2)."""
    return compute(lambda e: e * (1 - (-e).exp()) / (1 + (-e).exp()), epsilon)

def rho_of(mechanism: str, scale: Fraction, one: Sens) -> Fraction:
    """The zero-concentrated loss of an answer, for the worst change of its cells."""
    if mechanism == "gaussian":
        return one.squares / (2 * scale**2)
    if mechanism == "exponential":
        return min(one.squares / (8 * scale**2), pure_rho(one.l1 / scale))
    if mechanism not in ("laplace", "geometric", "permute_and_flip"):
        return pure_rho(one.l1 / scale)

    def rho(change: Fraction) -> Fraction:
        # Of Laplace noise, the mean loss of noise that is shifted.
        return pure_rho(change / scale) if mechanism == "permute_and_flip" else compute(
            lambda u, x: u - (1 - (-u).exp()) * 2 * x / (x.exp() - (-x).exp()), change / scale, 1 / scale)

    together = rho(Fraction(one.l1))
    equal = compute(Decimal.sqrt, Fraction(one.squares, one.l0))
    return together if one.l0 == 1 else min(one.l0 * rho(equal), together)

def renyi_epsilon(divergence: Callable[[Fraction], Fraction], delta: Fraction) -> Fraction:
    """Epsilon at delta from Renyi divergences: the least that an order proves."""
    target = math.log(delta.numerator) - math.log(delta.denominator)

    def at(power: float) -> float:
        above = float(2.0**power)
        size = float(divergence(Fraction(1 + above)))
        return size - math.log1p(1 / above) - (target + math.log1p(above)) / above

    found = []
    for start in sorted(range(-30, 100), key=at)[:3]:
        low, high = start - 1.0, start + 1.0
        for _ in range(70):
            first, second = low + (high - low) * 0.382, high - (high - low) * 0.382
            low, high = (low, second) if at(first) < at(second) else (first, high)
        found.append((low + high) / 2)
    above = Fraction(2.0 ** min(found, key=at))
    extra = compute(lambda u, d: (u / (1 + u)).ln() - (d.ln() + (1 + u).ln()) / u, above, delta)
    return max(divergence(1 + above) + extra, ZERO)

def gaussian_tail(sigma: float) -> Callable[[float], float]:
    """P[Y >= value] of discrete Gaussian noise, for whole values."""
    if sigma > 1000:
        return lambda first: math.erfc((first - 0.5) / sigma / math.sqrt(2)) / 2
    last, total, tails = int(40 * sigma) + 2, 0.0, [0.0][:0]
    for value in range(last, -last - 1, -1):
        total += math.exp(-(value**2) / (2 * sigma**2))
        tails.append(total)
    return lambda first: 0.0 if first > last else tails[int(min(last - first, 2 * last))] / total

def shifted_delta(tail: Callable[[float], float] | None, sigma: float, shift: float, epsilon: float) -> float:
    """Delta of one cell with discrete noise of this tail, or continuous noise."""
    first, grown = epsilon * sigma**2 / shift - shift / 2, math.exp(epsilon) if epsilon < 700 else 0.0
    if tail is None:
        near, far = (math.erfc(value / sigma / math.sqrt(2)) / 2 for value in (first, first + shift))
        return near - grown * far
    return tail(math.floor(first) + 1) - grown * tail(math.floor(first) + 1 + shift)

def gaussian_holds(answers: Sequence[tuple[Fraction, Sens]], epsilon: Fraction, delta: Fraction) -> bool:
    """Whether answers with Gaussian noise have this delta together, at this epsilon.

    For one cell it is that of discrete noise. For several it is that of continuous noise, from which
    discrete noise differs by little; or it follows from their rho.
    """
    (sigma, one), cells = answers[0], sum(one.l0 for _, one in answers)
    rho = sum((rho_of("gaussian", *each) for each in answers), ZERO)
    if delta <= 0 or cells == 1:
        found = shifted_delta(gaussian_tail(float(sigma)), float(sigma), one.linf, float(epsilon))
        return found <= float(delta) * (1 + 1e-6)
    strength = math.sqrt(2 * float(rho))
    by_rho = renyi_epsilon(lambda order: order * rho, delta) <= epsilon * (1 + ROUNDED)
    return by_rho or shifted_delta(None, 1 / strength, 1.0, float(epsilon)) <= float(delta) * 1.01

def count_tail(mechanism: str, scale: Fraction, value: int) -> float:
    """P[noise >= value] of the noise of a count, for a value above zero."""
    size = float(scale)
    return gaussian_tail(size)(value) if mechanism == "gaussian" else math.exp(-value / size) / (1 + math.exp(-1 / size))

# --- Totals

class Pair(NamedTuple):
    """Two distributions as distinguishable as an answer's: kind, scale and shift."""

    kind: str
    scale: Fraction
    shift: Fraction

    def profile(self) -> tuple[Callable[[float], float], float]:
        """Delta at each nonnegative epsilon, and the greatest loss that matters."""
        scale, shift = float(self.scale), float(self.shift)
        n = shift / scale

        def laplace(e: float) -> float:
            last = math.ceil((shift - e * scale) / 2) - 1
            near, far = (tail if value < 0 else 1 - tail for value in (last, last - shift)
                         for tail in [math.exp(-abs(value if value < 0 else value + 1) / scale) / (1 + math.exp(-1 / scale))])
            return near - math.exp(e) * far if e < n else 0.0

        if self.kind in ("gaussian", "rounded"):
            tail = gaussian_tail(scale) if self.kind == "gaussian" else None
            return lambda e: shifted_delta(tail, scale, shift, e), n * n / 2 + 10 * n
        return {"laplace": laplace, "response": lambda e: -math.expm1(min(e - n, 0)) / (1 + math.exp(-n)),
                "range": lambda e: math.expm1(min(e - n, 0) / 2) ** 2 / -math.expm1(-n)}[self.kind], n

class Answer(NamedTuple):
    """What an answer reveals; `fail` is the part of delta in which rho may fail."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    fail: Fraction
    pairs: tuple[Pair, ...]

    @classmethod
    def of(cls, mechanism: str, scale: Fraction, one: Sens, epsilon: Fraction, delta: Fraction, fail: Fraction = ZERO) -> Answer:
        """The guarantee of noise that is charged for epsilon and delta."""
        kind = {"geometric": "laplace", "exponential": "range", "permute_and_flip": "response"}.get(mechanism, mechanism)
        variance = scale**2 - (26 + one.l0.bit_length()) * Fraction(9, 256)
        pairs: tuple[Pair, ...] = (Pair("response", scale, Fraction(one.l1)),)
        if kind in ("laplace", "range", "response", "gaussian") and (one.l0 * one.linf == one.l1 or kind == "gaussian"):
            pairs = (Pair(kind, scale, Fraction(one.linf)),) * one.l0
        if kind == "gaussian" and one.squares * scale**2 < one.l0 * one.linf**2 * variance:
            pairs = (Pair("rounded", *(compute(Decimal.sqrt, square) for square in (variance, one.squares))),)
        return cls(epsilon, delta, rho_of(mechanism, scale, one), fail, pairs)

    @classmethod
    def joined(cls, answers: Sequence[Answer]) -> Answer:
        """Answers that count as one: the sum of each measure."""
        epsilon, delta, rho, fail = (sum((getattr(one, key) for one in answers), ZERO) for key in cls._fields[:4])
        return cls(epsilon, delta, rho, fail, tuple(pair for one in answers for pair in one.pairs))

Bounds = dict[str, tuple[Fraction, Fraction]]

def totals(composition: str, answers: list[Answer], delta: Fraction) -> Bounds:
    """The epsilon and the delta of each bound that a composition proves, by its name."""
    answers = [one for one in answers if one.epsilon or one.rho]
    every = Answer.joined(answers)
    found, left = {"plain sum": every[:2]}, delta - every.fail
    if composition == "advanced":
        found |= advanced(answers, delta)
    if composition not in ("zcdp", "pld") or left <= 0 or not answers:
        return found
    mixed = renyi_epsilon(lambda order: sum((order * a.rho if a.delta else min(a.epsilon, order * a.rho) for a in answers), ZERO), left)
    found["sum of rhos"] = renyi_epsilon(lambda order: order * every.rho, left), delta
    if mixed < found["sum of rhos"][0] * (1 - ROUNDED):
        found["sum of epsilons and rhos"] = mixed, delta
    variance = sum(float(pair.shift / pair.scale) ** 2 for pair in every.pairs)
    if composition == "pld" and variance / 2 + 10 * math.sqrt(variance) < 700:
        found["privacy loss distributions"] = grid_epsilon(every.pairs, float(left)), delta
    return found

def advanced(answers: list[Answer], delta: Fraction) -> Bounds:
    """Advanced composition (Kairouz, Oh and Viswanath 2015, theorems 3.3 and 3.5)."""
    found, kept = Bounds(), math.prod((1 - one.delta for one in answers), start=Fraction(1))
    counts = Counter(one.epsilon for one in answers if one.epsilon)
    if 1 - delta <= kept:
        found["sum of epsilons"] = sum((e * n for e, n in counts.items()), ZERO), delta
    left = 1 - (1 - delta) / kept if kept > 0 else ZERO
    if left <= 0 or not counts:
        return found
    squares, mean = (sum((f(e) * n for e, n in counts.items()), ZERO) for f in (lambda e: e * e, pure_rho))
    often = min(1 / left, compute(lambda s, d: Decimal(1).exp() + s.sqrt() / d, squares, left))
    name = "strong composition" + " of unequal losses" * (len(counts) > 1)
    found[name] = mean + compute(lambda o, s: (2 * s * o.ln()).sqrt(), often, squares), delta
    ((epsilon, times),) = counts.most_common(1)

    def optimal(e: Decimal, d: Decimal) -> Decimal:
        above, below, best = Decimal(0), Decimal(0), Decimal(1)
        weight, against = 1 / (1 + (-e).exp()) ** times, 1 / (1 + e.exp()) ** times
        for index in range(times // 2 + 1):
            above, below = above + weight, below + against
            best = (above - d) / below
            if best > (e * (times - 2 * index - 2)).exp():
                break
            factor = Decimal(times - index) / (index + 1)
            weight, against = weight * (-e).exp() * factor, against * e.exp() * factor
        return max(best, Decimal(1)).ln()

    if len(counts) == 1 and times <= 20_000:
        found["optimal for equal losses"] = compute(optimal, epsilon, left), delta
    return found

DIGITS = 30
"""Decimals of a probability on the grid of losses."""
Losses = tuple[int, list[int], float]
"""The first point, probabilities in 10^-DIGITS, and that of an infinite loss."""

def grid_epsilon(pairs: Iterable[Pair], delta: float) -> Fraction:
    """Epsilon of all pairs at delta, by convolving losses on a grid, rounded up."""
    counts = Counter(pairs)
    variance = sum(times * float(pair.shift / pair.scale) ** 2 for pair, times in counts.items())
    width = max(0.003 * math.sqrt(variance / counts.total()), (20 * math.sqrt(variance) + variance) / (1 << 15))
    sum_of: Losses = (0, [10**DIGITS], 0.0)
    for pair, times in counts.items():
        one = on_grid(pair, width)
        for at, digit in enumerate(f"{times:b}"[::-1]):
            one = convolved(one, one) if at else one
            sum_of = convolved(sum_of, one) if digit == "1" else sum_of
    (low, masses, above), against = sum_of, 0.0
    for index in range(len(masses) - 1, -1, -1):
        # Delta at a loss e is above - exp(e) against, with the masses of all greater losses.
        loss, mass = (low + index) * width, masses[index] / 10**DIGITS
        if loss <= 0 or above - math.exp(loss) * against > delta:
            break
        above, against = above + mass, against + mass * math.exp(-loss)
    return Fraction(math.log(max((above - delta) / against, 1.0))) if against else Fraction(10**9)

def on_grid(pair: Pair, width: float) -> Losses:
    """The losses of a pair: delta is exact at points of the grid, else larger."""
    profile, greatest = pair.profile()
    last = math.ceil(greatest / width)
    half = [min(max(profile(at * width), 0.0), 1.0) for at in range(last + 1)]
    deltas = [1 - math.exp(-at * width) * (1 - half[at]) for at in range(last, 0, -1)] + half
    for at in range(1, len(deltas)):
        deltas[at] = min(deltas[at], deltas[at - 1])
    steps, grown = [b - a for a, b in pairwise(deltas)], math.expm1(width)
    inner = [(b - a * math.exp(width)) / grown for a, b in pairwise(steps)]
    masses = [1 - deltas[0] + steps[0] / grown, *inner, steps[-1] / math.expm1(-width)]
    return -last, [int(max(mass, 0.0) * 10**DIGITS) for mass in masses], deltas[-1]

def convolved(first: Losses, second: Losses) -> Losses:
    """The distribution of the sum of two losses, by one product of large integers.

    Each probability stands in a field of digits that is wide enough for a sum of products.
    """
    (low, one, beyond), (lower, other, more) = first, second
    size = 2 * DIGITS + len(str(min(len(one), len(other)))) + 1
    with localcontext() as context:
        context.prec, context.Emax = size * (len(one) + len(other)), 10**12
        packed = [Decimal("".join(str(mass).zfill(size) for mass in masses)) for masses in (one, other)]
        digits = format(packed[0] * packed[1], "f").zfill(size * (len(one) + len(other) - 1))
    found = [int(digits[at:at + size]) // 10**DIGITS for at in range(0, len(digits), size)]
    kept = [at for at, mass in enumerate(found) if mass >= 10 ** (DIGITS - 26)] or [0]
    start, end = kept[0], kept[-1] + 1
    return low + lower + start, found[start:end], 1 - (1 - beyond) * (1 - more) + 1e-26 * (len(found) - end + start)

# --- The report

KINDS = {"laplace": "discrete-laplace", "geometric": "discrete-laplace", "gaussian": "discrete-gaussian", "k_norm": "discrete-k-norm",
         "exponential": "exponential", "permute_and_flip": "permute-and-flip", "objective": "objective", "none": "exact"}
"""What a report calls the noise of each mechanism."""

class Verifier:
    """The checks of one report, in the order in which a reader would make them."""

    def __init__(self, report: Json, findings: Findings) -> None:
        self.report, self.findings, self.privacy, self.ledger = report, findings, report["privacy"], report["ledger"]
        self.require, self.same, self.loss, self.spec = findings.require, findings.same, findings.loss, Json()
        quality = report.get("quality")
        self.parts: list[tuple[str, str, Json]] = [
            (kind, str(part.get("name") or part.get("column") or kind), part)
            for kind, parts in (("choice", report.get("choices")), ("quality", quality and [quality]),
                                ("entry", report.get("statistics")), ("response", report.get("responses")))
            for part in parts or []]
        self.answers: list[tuple[Answer, Answer, Any]] = []
        self.is_stopped, self.exchanged = (quality or {}).get("passed") is False, self.privacy["neighbors"] == "change-one"
        findings.entries, self.window = [name for _, name, _ in self.parts], self.ledger.get("window") or {}

    def run(self, raw: bytes, tables: Sequence[tuple[str, bytes]], signed: str | None) -> None:
        """Make all checks."""
        found, own = content_digest(self.report), self.report.get("content_sha256")
        if own is None:
            self.skip_earlier("report", "a digest of its content")
        self.require(own in (None, found), "report", "its content has another digest than it states")
        known = {None, found, hashlib.sha256(raw).hexdigest()}
        self.require((signed and signed.strip().lower()) in known, "report", "it does not have the digest that was signed")
        steps: list[tuple[str, Callable[..., None], tuple[Any, ...]]] = [("spec", self.check_spec, ())]
        steps += [(part[1], self.check_response if part[0] == "response" else self.check_entry, part) for part in self.parts]
        steps += [("total", self.check_totals, ()), ("account", self.check_account, ()), ("chain", self.check_chain, ())]
        for place, step, arguments in steps + [(name, self.check_table, (name, data)) for name, data in tables]:
            with self.findings.reading(place):
                step(*arguments)

    def skip(self, place: str, why: str) -> None:
        """Name what was not checked."""
        self.findings.unchecked.setdefault(place, why)

    def skip_earlier(self, place: str, what: str) -> None:
        """Name what an earlier version did not state; a part of it alone is a change."""
        states = [query.keys() & {"terms", "event"} for _, _, part in self.parts for query in part.get("queries") or [part]]
        self.require(not any([*states, "content_sha256" in self.report, "chain" in self.ledger]), place, f"it does not state {what}")
        self.skip(place, f"an earlier version wrote it without {what}")

    def check_spec(self) -> None:
        """The report states what the spec in it asks for."""
        stated, privacy, same = self.report["spec"], self.privacy, self.same
        files = [bytes.fromhex(file["sha256"]) for file in stated.get("files") or []]
        # A file may be named several times.
        orders = [order for more in range(3) for order in product(files, repeat=len(files) + more)][:5000]
        texts = [(mark + stated["text"]).encode() + b"".join(order) for mark in ("", "\ufeff") for order in orders]
        self.require(stated["digest"] in [hashlib.sha256(text).hexdigest() for text in texts], "spec", "its text has another digest")
        try:
            spec = self.spec = read_yaml(stated["text"])
        except UNREADABLE:
            self.skip("spec", "its text is written in a way that this file does not read")
            return
        asked, unit, budget = spec["privacy"], spec["privacy"]["unit"], spec["privacy"]["budget"]
        for what, one, other in (
            ("dataset", stated["dataset"], spec["dataset"]), ("name of rows", stated["rows_are"], spec.get("rows_are", "rows")),
            ("relation", privacy["neighbors"], asked["neighbors"]),
            ("composition", privacy["composition"], asked.get("composition", "sequential")), ("confidence", self.report["confidence"], exact(spec.get("confidence", "0.95"))),
            *((f"{key} of the budget", privacy["budget"][key], exact(budget[key])) for key in (*LOSS, "rho") if key in budget),
        ):
            same(one, other, "spec", f"the {what}")
        if "rho" in budget:
            converted = renyi_epsilon(lambda order: order * exact(budget["rho"]), exact(budget["delta"]))
            self.loss(privacy["budget"]["epsilon"], converted, "spec", "the epsilon of the budget")
        if isinstance(unit, str) or privacy["unit"] == "row":
            same(privacy["unit"], unit, "spec", "the unit")
        else:
            column, rows = unit.get("column") or ", ".join(unit["columns"]), unit.get("max_rows")
            same(privacy["unit"]["column"], column, "spec", "the unit")
            if isinstance(rows, dict):
                (rows,) = (one["upper"] for one in self.report["choices"] if "column" not in one)
            if rows is not None or "people" not in spec:
                found = own_limits(unit | {"max_rows": rows}, {}, 1)
                same([whole(privacy["unit"][key]) for key in LIMITS], list(found), "spec", "the limits on persons")
        names = [name for kind, name, _ in self.parts if kind == "entry"]
        if "statistics" in spec and not self.is_stopped:
            same(names, [str(one["name"]) for one in spec["statistics"]], "spec", "the entries")
        self.require(not isinstance(spec.get("quality"), dict) or self.report.get("quality"), "spec", "the quality check is missing")

    def check_entry(self, kind: str, name: str, part: Json) -> None:
        """An entry: what was asked, each answer, and what they cost together."""
        self.require(self.findings.entries.count(name) == 1, name, "another entry has this name")
        queries, asked = part["queries"], Json()
        if kind == "entry":
            asked = next((one for one in self.spec.get("statistics", []) if one.get("name") == name), asked)
        stated = [(key, asked[key]) for key in ("statistic", "column") if isinstance(asked.get(key), str)]
        stated += [(key, exact(asked[key])) for key in LOSS if key in asked]
        if isinstance(asked.get("by"), list) and all(isinstance(one, str) for one in asked["by"]):
            stated.append(("by", asked["by"]))
        for key, value in stated + [(key, queries[0][key]) for key in ("mechanism", "sensitivity")]:
            self.same(part[key], value, name, f"`{key}`")
        if any("event" not in query or "terms" not in query for query in queries):
            self.skip_earlier(name, "terms and events")
            self.answers.append((Answer(exact(part["epsilon"]), exact(part["delta"]), exact(part["rho"]), ZERO, ()),) * 2 + (None,))
            return
        answers, events = [self.check_query(kind, name, part, query, asked) for query in queries], [query["event"] for query in queries]
        joint, disjoint = [event["joint"] for event in events], [event.get("disjoint") for event in events]
        allowed = {"gaussian", "none"} if joint[0] else {*KINDS}
        is_right = all(event["mechanism"] in allowed and event["joint"] == joint[0] for event in events)
        self.require(is_right and joint[0] <= (len(events) > 1), name, "only Gaussian answers are protected together, and all of them")
        self.require(disjoint.count(disjoint[0]) == len(events), name, "its answers are about the same rows")
        noisy = [event for event in events if event["mechanism"] == "gaussian"]
        for group in ([noisy] if joint[0] else [[event] for event in noisy]) if noisy else []:
            epsilon, delta, fail = (sum((exact(event.get(key, 0)) for event in group), ZERO) for key in (*LOSS, "keys_delta"))
            holds = gaussian_holds([(exact(event["scale"]), Sens.read(event)) for event in group], epsilon, delta - fail)
            self.require(holds, name, "its noise has a greater delta at its epsilon")
        if joint[0]:
            answers = [(Answer.joined([one for one, _, _ in answers]), Answer.joined([one for _, one, _ in answers]), answers[0][2])]
        self.answers += answers
        self.loss(part["rho"], sum((one.rho for one, _, _ in answers), ZERO), name, "rho")
        in_rho = "rho" in asked or ("epsilon" not in asked and self.privacy["composition"] == "zcdp")
        for key in LOSS:
            spent = sum((getattr(one, key) for one, _, _ in answers), ZERO)
            self.require(spent <= exact(part[key]) * (1 + ROUNDED), name, f"its answers cost more {key} than it states")
            if not in_rho and all(event["mechanism"] != "none" for event in events):
                self.loss(part[key], spent, name, f"the {key}")

    def check_query(self, kind: str, name: str, part: Json, query: Json, asked: Json) -> tuple[Answer, Answer, Any]:
        """One answer: its sensitivity, its noise, and what it reveals."""
        where, event, stated, same = f"{name}, {query['role']}", query["event"], query["sensitivity"], self.same
        terms, one, mechanism = Terms(query["terms"]), Sens.read(event), event["mechanism"]
        scale, unit, epsilon, delta = (exact(event[key]) for key in ("scale", "unit", *LOSS))
        fail, single, of_noise = exact(event.get("keys_delta", 0)), event.get("single"), query["mechanism"]
        cells = terms.groups if terms.rule == "choices" else terms.cells
        for what, value, found in (
            ("entry", event["statistic"], name), ("role", event["question"], query["role"]), ("joint", event["joint"], query["joint"]),
            ("cells", event["cells"], query["cells"]), ("noise", of_noise["kind"], KINDS[mechanism]), ("grid", of_noise["grid"], unit),
            ("L0", stated["l0"], one.l0), ("number of cells", query["cells"], query["cells"] if terms.rule == "pairs" else cells),
        ):
            same(value, found, where, f"the {what}")
        for key, number, value in (
            ("scale", of_noise["scale"], scale * unit), ("L1", stated["l1"], one.l1 * unit), ("Linf", stated["linf"], one.linf * unit),
            ("L2", stated["l2"], compute(Decimal.sqrt, one.squares * unit**2)), *((key, query[key], exact(event[key])) for key in LOSS),
        ):
            self.loss(number, value, where, f"the {key}")
        for number, steps in zip(query["row_contribution"], (terms.low, terms.high), strict=True):
            self.require(abs(exact(number) - steps * unit) <= ROUNDED * abs(steps * unit), where, "what a row adds is another number")
        if terms.rule == "choices":
            # Several quantiles are chosen in levels, of which each halves those that are left.
            quantiles = [exact(one) for one in event.get("quantiles") or []]
            self.require(not quantiles or quantiles == [exact(one) for one in part["quantiles"]], where, "it has other quantiles")
            rounds = len(quantiles).bit_length() or whole(part.get("k", 1))
            self.require(whole(event["picks"]) == terms.counted and rounds <= terms.counted, where, "the number of its choices")
        for inner in (terms, *terms.of, *(deeper for of in terms.of for deeper in of.of)):
            self.check_terms(kind, part, inner, asked, where)
        try:
            found_one = sensitivity(terms, self.exchanged, event.get("candidates"))
            is_public = terms.is_row and self.exchanged and terms.low == terms.high and terms.cells == 1
            same(list(one), [0] * 4 if is_public else list(found_one), where, "the sensitivity")
            added = sensitivity(terms, False, event.get("candidates")) if single or fail else found_one
            self.require(not single or Sens.read(single) == added, where, "the sensitivity to one unit more is another one")
        except Unproven as why:
            self.skip(name, str(why))
            added = Sens.read(single) if single else one
        if not one.l1:
            same([epsilon, delta, mechanism], [ZERO, ZERO, "none"], where, "an answer that no one changes")
            same(query["rho"], ZERO, where, "rho")
            return (Answer(ZERO, ZERO, ZERO, ZERO, ()),) * 2 + (None,)
        self.require(scale > 0 and mechanism != "none" and delta >= fail, where, "it has no noise, or too small a delta")
        answer = less = Answer.of(mechanism, scale, one, epsilon, delta, fail)
        self.loss(query["rho"], answer.rho, where, "rho")
        if mechanism != "gaussian":
            self.loss(epsilon, one.l1 / scale, where, "the epsilon of its scale")
        if single:
            less = Answer.of(mechanism, scale, added, epsilon if mechanism == "gaussian" else min(epsilon, added.l1 / scale), delta, fail)
        self.check_tails(part, query, added, where)
        return answer, less, event.get("disjoint")

    def check_tails(self, part: Json, query: Json, added: Sens, where: str) -> None:
        """The half-width of the noise, and the threshold that hides groups of one person."""
        event, keys, is_first = query["event"], part.get("keys") or {}, query is part["queries"][0]
        mechanism, scale, fail = event["mechanism"], exact(event["scale"]), exact(event.get("keys_delta", 0))
        if mechanism in ("laplace", "geometric", "gaussian"):
            width, outside = exact(query["error95"]) / exact(event["unit"]), float(1 - exact(self.report["confidence"]))
            inner, outer = (2 * count_tail(mechanism, scale, max(round(width) + more, 1)) for more in (0, 1))
            is_least = outer <= outside * 1.0001 and (round(width) == 0 or inner >= outside * 0.9999)
            self.require(is_least and abs(width - round(width)) <= ROUNDED * (1 + width), where, "the half-width of its noise")
        if is_first and keys.get("threshold") is not None:
            self.same(keys["threshold"], exact(event["threshold"]), where, "the threshold")
            self.loss(keys["delta"], fail, where, "the delta of the threshold")
        is_hidden = is_first and keys.get("selected_by", "") == part.get("name")
        self.require(("threshold" in event) == (fail > 0) and (fail > 0 or not is_hidden), where, "nothing hides groups of one person")
        if fail:
            beyond = whole(event["threshold"]) - added.linf
            tails = [added.l0 * count_tail(mechanism, scale, value) for value in (beyond, beyond - 1) if value > 0]
            self.require(tails and tails[0] <= float(fail) * (1 + 1e-9), where, "the threshold is too low")
            self.require(len(tails) < 2 or tails[1] > float(fail) * (1 - 1e-9), where, "the threshold is not the least")

    def check_terms(self, kind: str, part: Json, terms: Terms, asked: Json, where: str) -> None:
        """Limits are those of the unit or the entry, and bounds those of columns."""
        unit, stated, columns = self.privacy["unit"], part.get("limits") or {}, self.spec.get("columns") or {}
        chosen = {one.get("column"): (one["lower"], one["upper"]) for one in self.report.get("choices") or []}
        for factor in terms.factors:
            places = [self.spec.get(section) or {} for section in ("columns", "derive", "people")]
            declared: Any = next((place[factor["column"]] for place in places if factor["column"] in place), {})
            bounds = chosen.get(factor["column"]) or (isinstance(declared, dict) and declared.get("bounds"))
            # Bounds of dates are no numbers.
            if isinstance(bounds, list | tuple) and all(NUMBER.fullmatch(str(end)) for end in bounds):
                found = [whole(factor[end]) * exact(factor["step"]) for end in ("lower", "upper")]
                self.same(found, [*map(exact, bounds)], where, f"the bounds of {factor['column']}")
        if unit == "row" or terms.is_row:
            self.require(unit == "row" and terms.is_row, where, "its unit is another one")
            return
        of_unit, own = (self.spec.get("privacy") or {}).get("unit"), Limits(*(whole(unit[key]) for key in LIMITS))
        by, of_people = part.get("by") or [], "people" in self.spec and "people" in (part.get("counts"), asked.get("of"))
        if self.spec and kind == "entry" and not of_people:
            one, other = ([of.get(key) and exact(of[key]) for key in LIMITS] for of in (stated, asked))
            self.same(one, other, where, "the limits that it states")
        entry = own_limits(stated, of_unit if isinstance(of_unit, dict) else {}, own.total) if any(stated.values()) else own
        allowed = [entry]
        if terms.groups == 1:
            has_axes = terms.numbers > 1 or by or part.get("bins") or part.get("hierarchy") or part.get("statistic") not in ("count", "sum")
            allowed = [Limits(entry.total, entry.total, 1)] + [entry] * bool(has_axes or terms.rule != "sums")
        if terms.stated.get("clamp"):
            allowed = [Limits(1, entry.groups, entry.groups)]
        if of_people:
            of_rows, most = [one for one in by if one in columns], asked.get("max_groups") and whole(asked["max_groups"])
            most = most or (terms.groups if len(of_rows) == len(by) else None)
            counts = [terms.limits.groups] if most is None and of_rows else [most, min(most, terms.groups or most)] if most else [1]
            allowed = [Limits(1, groups, groups) for groups in (counts if of_rows else [1, *counts])]
        if kind != "entry" or (part.get("column") == unit["column"] and not terms.factors):
            allowed.append(Limits(1, 1, 1))
        if terms.rule == "distinct" and terms.counted is not None:
            allowed = [one._replace(rows=min(one.rows, terms.counted)) for one in allowed]
        self.require(terms.limits in allowed, where, f"its limits {list(terms.limits)} are not those of its unit")

    def check_response(self, _: str, name: str, part: Json) -> None:
        """A response of the local model: its probabilities, or its noise."""
        event, of, mechanism, ratio = part["event"], part["parameters"], part["mechanism"], ZERO
        epsilon, delta = (exact(event[key]) for key in LOSS)
        for key, value in (*of.items(), ("mechanism", mechanism), ("statistic", part["column"])):
            self.same(event[key], value, name, f"`{key}` in the ledger")
        answer = Answer(epsilon, delta, pure_rho(epsilon), ZERO, (Pair("response", 1 / epsilon, Fraction(1)),))
        if "scale" in event:
            one, scale, declared = Sens.read(event), exact(event["scale"]), (self.spec.get("columns") or {}).get(part["column"]) or {}
            if isinstance(declared.get("bounds"), list) and declared["type"] in ("integer", "number"):
                low, high = map(exact, declared["bounds"])
                self.same(one.l1 * exact(event["unit"]), high - low, name, "the sensitivity")
            answer = Answer.of(mechanism, scale, one, epsilon, delta)
            holds = mechanism != "gaussian" or gaussian_holds([(scale, one)], epsilon, delta)
            self.require(holds and one == Sens(1, one.l1, one.l1**2, one.l1), name, "its delta or its sensitivity")
            if mechanism != "gaussian":
                self.loss(epsilon, one.l1 / scale, name, "the epsilon of its scale")
        elif "rows" in of:
            rows = [[exact(one) for one in row] for row in of["rows"]]
            self.require(all(sum(row) == 1 and min(row) >= 0 for row in rows), name, "its probabilities do not sum to one")
            ratio = max(max(column) / min(column) for column in zip(*rows, strict=True) if max(column))
        elif "truth" in of:
            lie = (1 - exact(of["truth"])) / (whole(of["categories"]) - 1)
            ratio = max(exact(of["truth"]) / lie, lie / exact(of["truth"]))
        else:
            self.skip(name, f"the protocol `{mechanism}` is not recomputed here")
        if ratio:
            self.loss(epsilon, compute(lambda value: value.ln(), ratio), name, "the epsilon of its probabilities")
        for key, value in (("epsilon", epsilon), ("delta", delta), ("rho", answer.rho)):
            self.loss(part[key], value, name, key)
        self.answers.append((answer, answer, None))

    def check_totals(self) -> None:
        """The plain sum of all entries, and their total by the composition."""
        privacy, spent, delta, bound = self.privacy, self.privacy["spent"], exact(self.privacy["budget"]["delta"]), self.privacy["bound"]
        for key in LOSS:
            asked = sum((exact(part[key]) for _, _, part in self.parts), ZERO)
            self.loss(privacy["requested"][key], asked, "total", f"the plain sum of {key}", Fraction(1, 10**8))
            self.require(exact(spent[key]) <= exact(privacy["budget"][key]), "total", f"its {key} is above the budget")
        if privacy["composition"] != "sequential" and any(one.rho and not one.pairs for one, _, _ in self.answers):
            self.skip("total", "entries without terms cannot be composed")
            return
        worst, rho, is_parallel = Bounds(), ZERO, any(part for _, _, part in self.answers)
        for answers in self.cases():
            rho = max(rho, sum((one.rho for one in answers), ZERO))
            for name, (epsilon, used) in totals(privacy["composition"], answers, delta).items():
                known = worst.get(name, (ZERO, ZERO))
                worst[name] = max(known[0], epsilon), max(known[1], used)
        if not self.require(bound in worst, "total", f"`{bound}` is no bound of this composition"):
            return
        (epsilon, used), is_grid = worst[bound], bound == "privacy loss distributions"
        # Bounds of several parts at once may be somewhat larger than that of the worst one.
        wide = 2 * GRID if is_grid else Fraction(1, 10**4) if privacy["composition"] == "zcdp" else Fraction(1, 10**6)
        loose = Fraction(1, 2) if is_parallel and bound != "plain sum" else wide
        smallest = min((one for one, other in worst.values() if other <= delta), default=epsilon)
        self.loss(spent["epsilon"], epsilon * (1 - GRID) if is_grid else epsilon, "total", "epsilon", loose)
        self.loss(spent["delta"], used, "total", "delta", loose)
        self.require(is_parallel or exact(spent["epsilon"]) <= smallest * (1 + 2 * wide), "total", "a smaller bound holds")
        self.require((spent["rho"] is None) == (privacy["composition"] != "zcdp"), "total", "only zcdp counts in rho")
        if spent["rho"] is not None:
            self.loss(spent["rho"], rho, "total", "rho", loose)

    def cases(self) -> Iterator[list[Answer]]:
        """All answers that one unit may change, for each of several disjoint parts."""
        columns: dict[str, dict[int, list[tuple[Answer, Answer]]]] = {}
        for one, single, part in self.answers:
            if part:
                columns.setdefault(str(part[0]), {}).setdefault(whole(part[1]), []).append((one, single))
        choices = []
        for parts in columns.values():
            singles = [[single for _, single in part] for part in parts.values()]
            moved = [first + second for first, second in combinations(singles, 2)] if self.exchanged else []
            choices.append([[one for one, _ in part] for part in parts.values()] + moved)
        if math.prod(map(len, choices)) > 2000:
            raise ValueError("there are too many cases of parts without common rows")
        for chosen in product(*choices):
            yield [one for one, _, part in self.answers if not part] + [one for case in chosen for one in case]

    def check_account(self) -> None:
        """What the account had spent before, after, and what is left."""
        before, spent, after, left, budget = (self.privacy[key] for key in ("before", "spent", "after", "remaining", "budget"))
        ledger, window, earlier, is_first = self.ledger, self.window, self.ledger.get("earlier") or [], self.ledger["first_release"]
        is_plain, wide = self.privacy["composition"] == "sequential", Fraction(1, 100)
        is_series = any("series" in query.get("event", {}) for _, _, part in self.parts for query in part.get("queries", []))
        self.same(is_first, not earlier, "account", "whether it is the first release")
        for key in LOSS:
            self.require(exact(after[key]) <= exact(budget[key]), "account", f"its {key} is above the budget")
            self.require(not is_first or exact(before[key]) == 0, "account", f"the {key} before the first release")
            if not (is_series or window) and (is_first or is_plain):
                total = exact(before[key]) + exact(spent[key])
                self.loss(after[key], total, "account", f"the {key} after it", ROUNDED if is_plain else wide)
            if is_plain and earlier and not (window or is_series or ledger.get("earlier_more") or ledger.get("after_check")):
                self.loss(before[key], sum((exact(one["loss"][key]) for one in earlier), ZERO), "account", f"the {key} of earlier releases")
            rests = [(budget, after, left)] * (is_plain or key == "epsilon")
            rests += [(one["budget"], one["spent"], one["remaining"]) for one in ledger.get("further_budgets") or [] if key == "epsilon"]
            for all_of_it, used, rest in rests:
                gap = exact(rest[key]) - max(exact(all_of_it[key]) - exact(used[key]), ZERO)
                self.require(abs(gap) <= ROUNDED * exact(all_of_it[key]), "account", f"the {key} that is left")
            if window:
                year = -(-365 // whole(window["periods"])) * exact(budget[key])
                holds = exact(window["per_year_at_most"][key]) == year and exact(window["lifetime"][key]) >= exact(after[key])
                self.require(holds and window["per_window"] == after, "account", f"the {key} of a window, a year or a lifetime")
        if not is_first and (not is_plain or is_series):
            self.skip("account", "what earlier releases cost together follows from the ledger alone")

    def check_chain(self) -> None:
        """The head of the entry is the hash of what the report states."""
        report, ledger, chain = self.report, self.ledger, self.ledger.get("chain")
        if chain is None:
            self.skip_earlier("chain", "the entry of the ledger")
            return
        payload, period = json.loads(chain["payload"]), report.get("reference_period") or self.window.get("period")
        for what, stated, found in (
            ("digest of the spec", report["spec"]["digest"], payload["digest"]), ("time", report["created"], payload["created"]),
            ("build", ledger["build"], {key: value for key, value in payload["build"].items() if value}),
            ("version", report["dpcli_version"], ledger["build"]["dpcli"]),
            ("failed check", self.is_stopped, payload.get("stopped", False)), ("period", chain["period"] and period, chain["period"]),
            ("release id", report["release_id"], re.split("[@+]", chain["name"])[0]),
            *((key, ledger.get(key), payload.get(key)) for key in ("recipient", "after_check")),
        ):
            self.same(stated, found, "chain", f"the {what} of the entry")
        events: list[Any] = []
        for kind, name, part in self.parts:
            # Choices, and a check before them, have an entry of their own.
            if kind == "choice" or (kind == "quality" and part.get("ledger")):
                self.require(whole(part["ledger"]["entry"]) < whole(ledger["entry"]), name, "it comes before the release")
            else:
                events += [part["event"]] if kind == "response" else [query["event"] for query in part["queries"]]
        text, digest = json.dumps(plain(events), sort_keys=True, separators=(",", ":")), hashlib.sha256()
        for piece in (chain["previous"], number_text(ledger["entry"]), "release", report["spec"]["dataset"],
                      chain["name"], chain["period"], text, chain["payload"]):
            encoded = b"" if piece is None else piece.encode("utf-8", "surrogatepass")
            digest.update(b"\xff" * 8 if piece is None else len(encoded).to_bytes(8, "big") + encoded)
        self.same(ledger["head"], digest.hexdigest(), "chain", "the head of the entry")

    def check_table(self, name: str, data: bytes) -> None:
        """Each cell of a long or a wide table is that of the report, and none is missing."""
        if "responses" in self.report:
            self.same(self.report["responses_sha256"], hashlib.sha256(data).hexdigest(), name, "SHA-256 of the responses")
            return
        self.check_intervals()
        header, *lines = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        statistics, optional = self.report["statistics"], [one["name"] for one in self.report.get("optional_columns") or []]
        if header[0] == "statistic" and "item" in header:
            keys = list(dict.fromkeys(key for one in statistics for key in one["layout"].get("keys") or one["by"]))
            words = ["statistic", *keys, "item", "value", "lower", "upper", "flag", "complete", "unit", *optional]
            # A number stands behind a name that is repeated.
            self.require(all(map(re.fullmatch, [re.escape(word) + r"(_\d+)?" for word in words], header)), name, "it has other columns")
            found = [[named, *(cell["keys"].get(key, "") for key in keys), *map(cell.get, words[len(keys) + 1:])]
                     for _, named, cell in self.cells()]
        else:
            headings = [one["layout"]["columns"] for one in statistics]
            width = max(len(columns) for columns in headings if columns == header[:len(columns)])
            by_line, ranks = dict[tuple[str, ...], Json](), list[Any]()
            for layout, plain_name, cell in self.cells():
                group, is_label = list(cell["keys"].values()), layout["chosen"] and not cell.get("raw")
                rank = (cell["value"] if is_label else ranks.pop(0)) if layout["chosen"] else cell["item"] or ""
                ranks += [rank] * bool(is_label)
                named, group = (f"{plain_name}.{group[1]}", group[:1]) if layout.get("across") else (plain_name, group)
                group += [rank] * (len(layout["columns"]) > len(group))
                if named in header and layout["columns"] == header[:width]:
                    line = by_line.setdefault(tuple(map(harmless, group)), {})
                    line |= {f"{named}_{key}": cell.get(key) for key in ("lower", "upper", "flag", "complete", *optional)}
                    line |= {named: cell["item"] if is_label else cell["value"], **{key: cell.get(key) for key in optional}}
            found = [[*group, *map(line.get, header[width:])] for group, line in by_line.items()]
        self.same(len(lines), len(found), name, "the number of lines")
        for at, (own, expected) in enumerate(zip(lines, found, strict=False), start=2):
            holds = len(own) == len(header) and all(map(agree, own, expected))
            self.require(holds, f"{name}, line {at}", f"{shown(own)} is not {shown(expected)} of the report")

    def check_intervals(self) -> None:
        """Intervals of numbers are as wide as their noise, or end at a limit."""
        for one in self.report["statistics"]:
            flags, error = {None, "suppressed", "no-information", "unreliable"}, one["error95"] and exact(one["error95"])
            self.require({cell["flag"] for cell in one["cells"]} <= flags, one["name"], "it has an unknown flag")
            is_plain = one.get("noise_of_numbers") == "own" and one["statistic"] in ("count", "sum", "histogram", "count_distinct")
            if not is_plain or one["post"] or one.get("percent") or one.get("rate") or len(one["queries"]) > 1 or error is None:
                continue
            ((least, most),) = one["layout"].get("possible") or [(None, None)]
            for cell in [cell for cell in one["cells"] if not cell.get("population")]:
                value, lower, upper = (exact(cell[key]) for key in ("value", "lower", "upper"))
                # It is that around the nearest value whose interval has something possible, cut to that, and widened to the value.
                low, high = exact(least or -(10**60)), exact(most or 10**60)
                middle = low if value + error <= low else high if value - error >= high else value
                ends = min(value, max(middle - error, low)), max(value, min(middle + error, high))
                holds = abs(lower - ends[0]) < 1 and abs(upper - ends[1]) < 1
                self.require(holds, one["name"], f"the interval of {shown(cell['keys'])} is not that of the noise")
                if one["layout"]["measure"] == "counts" and ends == (value - error, value + error) and cell["flag"] in (None, "unreliable"):
                    is_wide = error > exact(self.report["flags"]["unreliable_above"]) * abs(value)
                    self.require(is_wide == (cell["flag"] is not None), one["name"], f"the flag of {shown(cell['keys'])}")

    def cells(self) -> Iterator[tuple[Json, str, Json]]:
        """Each published number with its layout, its name and what is stated."""
        facts = {"confidence": self.report["confidence"], "release_id": self.report["release_id"],
                 "period": self.report.get("reference_period") or self.window.get("period") or ""}
        for one in self.report["statistics"]:
            for mark in ("", "raw", "population"):
                numbers = [cell for cell in one["cells"] if (cell.get(mark) if mark else not (cell.get("raw") or cell.get("population")))]
                is_count = mark == "raw" and (one["layout"]["chosen"] or one.get("percent"))
                units = [one["counts"]] if is_count else one["units"] or [""]
                for at, cell in enumerate(numbers):
                    own = {"complete": one["completeness"]["complete"], "unit": units[at % len(units)]}
                    yield one["layout"], one["name"] + (f".{mark}" if mark else ""), cell | facts | own

def own_limits(stated: Json, defaults: Json, rows: int) -> Limits:
    """The limits that an entry states, else those of the unit, else the rows."""
    named = {key: stated.get(key) or defaults.get(key) for key in LIMITS}
    given = {key: whole(value) for key, value in named.items() if value and not isinstance(value, dict)}
    rows = given.get("max_rows", rows)
    return Limits(min(given.get("max_rows_per_group", rows), rows), rows, given.get("max_groups", rows))

def plain(value: Any) -> Any:
    """Parsed JSON with whole numbers in place of their digits."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else whole(value) if isinstance(value, Number) else value

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")

def harmless(text: str) -> str:
    """A text of a table, which never begins like a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) and not NUMBER.fullmatch(text) else text

def agree(cell: str, stated: Any) -> bool:
    """Whether a cell of a table is a value of the report."""
    if isinstance(stated, Number):
        return bool(NUMBER.fullmatch(cell)) and number_text(cell) == number_text(stated)
    return cell == harmless(stated or "")

def verify(report: bytes, tables: Sequence[tuple[str, bytes]], digest: str | None = None) -> Findings:
    """All findings about a report and its tables, given the bytes of the files."""
    findings = Findings()
    with findings.reading("report"):
        Verifier(read_json(report), findings).run(report, tables, digest)
    findings.unchecked |= {} if tables else {"table": "no table is given"}
    return findings

def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", maxsplit=1)[0])
    parser.add_argument("report", type=Path, help="the JSON report of a release")
    parser.add_argument("tables", type=Path, nargs="*", help="its tables as CSV")
    parser.add_argument("--digest", help="the SHA-256 of the content, on the signed page")
    parser.add_argument("--json", action="store_true", help="findings as JSON")
    given = parser.parse_args(words)
    try:
        tables = [(str(path), path.read_bytes()) for path in given.tables]
        findings = verify(given.report.read_bytes(), tables, given.digest)
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(findings.summary(), indent=2) if given.json else "\n".join(findings.lines()))
    return 1 if findings.wrong else 0

if __name__ == "__main__":
    sys.exit(main())
