"""Epsilon, delta and confidence: exact numbers within limits of sense."""

from __future__ import annotations

from fractions import Fraction

from dpcli.spec.findings import Findings
from dpcli.spec.nodes import Word
from dpcli.spec.scope import read_number
from dpcli.spec.wording import shown

LEAST_EPSILON = Fraction(1, 10**12)
"""Below it no answer could be told from noise."""

LEAST_RHO = Fraction(1, 10**18)
"""Below it no answer could be told from noise."""

MOST_EPSILON = Fraction(20)
"""Above it an answer protects nobody; e^20 is half a billion."""

MOST_BUDGET = Fraction(1000)
"""A budget may outlast many releases, but not mean `no limit`."""


def read_epsilon(word: Word, findings: Findings, most: Fraction = MOST_EPSILON) -> Fraction | None:
    """An epsilon that protects somebody and tells something."""
    hint = "use `1` or less; the smaller epsilon is, the more it protects"
    return _read_within(word, "epsilon", (LEAST_EPSILON, most), hint, findings)


def read_rho(word: Word, findings: Findings, most: Fraction = MOST_EPSILON) -> Fraction | None:
    """A rho that protects somebody and tells something."""
    hint = "use `0.1` or less; about epsilon squared, divided by two"
    return _read_within(word, "rho", (LEAST_RHO, most), hint, findings)


def _read_within(
    word: Word, measure: str, limits: tuple[Fraction, Fraction], hint: str, findings: Findings
) -> Fraction | None:
    """A loss in some measure within limits of sense."""
    value = read_number(word, f"`{measure}`", findings)
    least, most = limits
    if value is None or least <= value <= most:
        return value
    findings.add(
        "epsilon-out-of-range" if measure == "epsilon" else "rho-out-of-range",
        f"`{measure}` is {shown(word.text)}, expected a number from "
        f"`1e-{len(str(least.denominator)) - 1}` to `{most}`",
        hint,
        word.span,
    )
    return None


def read_above_zero(
    word: Word, name: str, most: Fraction, example: str, findings: Findings
) -> Fraction | None:
    """A number above zero."""
    value = read_number(word, name, findings)
    if value is None or 0 < value <= most:
        return value
    findings.add(
        "not-above-zero",
        f"{name} is {shown(word.text)}, expected a number above 0, at most {int(most):,}",
        f"write `{name.strip('`')}: {example}` or so",
        word.span,
    )
    return None


def read_delta(word: Word, findings: Findings, *, zero: bool = False) -> Fraction | None:
    """A delta between zero and one; zero itself only where `zero` says so."""
    value = read_number(word, "`delta`", findings)
    if value is None or 0 < value < 1 or (zero and value == 0):
        return value
    expected = "at least 0 and below 1" if zero else "above 0 and below 1"
    findings.add(
        "delta-out-of-range",
        f"`delta` is {shown(word.text)}, expected a number {expected}",
        "use `1e-6` or so, far below one divided by the number of people",
        word.span,
    )
    return None


def read_confidence(word: Word | None, findings: Findings) -> Fraction:
    """The confidence of intervals; 0.95 when none is asked for."""
    default = Fraction(19, 20)
    value = default if word is None else read_number(word, "`confidence`", findings)
    if value is None or Fraction(1, 2) <= value <= Fraction(999_999, 1_000_000):
        return value or default
    assert word is not None
    findings.add(
        "confidence-out-of-range",
        f"`confidence` is {shown(word.text)}, expected a number from `0.5` to `0.999999`",
        f"write `confidence: 0.{word.text}`"
        if word.text.isdigit() and len(word.text) == 2
        else "write `confidence: 0.95`",
        word.span,
    )
    return default
