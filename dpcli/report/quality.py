"""What reports state about the quality check: noisy counts and verdict."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.plan.meaning import protection
from dpcli.plan.model import Plan
from dpcli.plan.numbers import Fact, Number, number
from dpcli.plan.quality import FALSE_STOP, counted_note, missed_sentence, percent, rule
from dpcli.privacy.decimals import decimal_text
from dpcli.report.entries import statistic_facts
from dpcli.statistics.base import Estimate

if TYPE_CHECKING:
    from dpcli.release import Checked


def missed_sentences(checked: Checked, plan: Plan) -> list[str]:
    """Why the check failed, a sentence for each minimum."""
    return [missed_sentence(one, plan.spec.rows_are) for one in checked.missed]


def verdict(checked: Checked, plan: Plan) -> list[str]:
    """What came of the check, in sentences."""
    if not checked.missed:
        return ["no minimum was missed by more than the noise explains"]
    stopped = "the release was stopped: no statistic was answered, and only the check was charged"
    return [stopped, *missed_sentences(checked, plan)]


def explained(plan: Plan) -> list[str]:
    """The rule of the check, which rows it counts, and how its counts were protected."""
    assert plan.quality is not None
    note = counted_note(plan)
    protected = protection(plan.quality, plan.spec)
    return [*rule(plan), *([note] if note else []), *protected]


def quality_facts(plan: Plan, checked: Checked | None = None) -> dict[str, Fact] | None:
    """The check as data; with its noisy counts once it was made. None without a check."""
    quality = plan.spec.quality
    if plan.quality is None or quality is None:
        return None
    asked = statistic_facts(plan.quality, plan.spec)
    kept = ("mechanism", "sensitivity", "epsilon", "delta", "rho", "protected", "parts")
    facts: dict[str, Fact] = {key: asked[key] for key in kept}
    facts |= {
        "min_rows": quality.min_rows,
        "min_readable": {name: number(least) for name, least in quality.min_readable.items()},
        "false_stop": number(FALSE_STOP),
        "rule": list(rule(plan)),
    }
    if checked is None:
        return facts
    rows, *columns = checked.estimates
    return facts | {
        "passed": not checked.missed,
        "missed": list(missed_sentences(checked, plan)),
        "rows": _estimate(rows),
        "readable": {
            name: _estimate(one) for name, one in zip(quality.min_readable, columns, strict=True)
        },
    }


def _estimate(estimate: Estimate) -> Fact:
    value, lower, upper = (
        Number(decimal_text(one or Fraction(0), estimate.places))
        for one in (estimate.value, estimate.lower, estimate.upper)
    )
    return {"value": value, "lower": lower, "upper": upper}


HEADER = ("what", "about", "lower", "upper", "minimum", "verdict")
"""The columns of the table of noisy counts."""


def rows_of(plan: Plan, checked: Checked) -> list[tuple[str, ...]]:
    """The noisy counts as a table: rows, then the readable share of each column."""
    quality = plan.spec.quality
    assert quality is not None
    missed = {one.minimum.column for one in checked.missed}
    rows, *columns = checked.estimates
    least = "" if quality.min_rows is None else f"{quality.min_rows:,}"
    lines: list[tuple[str, ...]]
    count = rows.value or Fraction(0)
    below = quality.min_rows is not None and count < quality.min_rows
    words = _verdict(least, missed=None in missed, below=below)
    lines = [(plan.spec.rows_are, *_texts(rows, None), least, words)]
    for name, estimate in zip(quality.min_readable, columns, strict=True):
        share = quality.min_readable[name]
        texts = _texts(estimate, max(count, Fraction(1)))
        below = (estimate.value or Fraction(0)) < share * count
        words = _verdict(percent(share), missed=name in missed, below=below)
        lines.append((f"readable: {name}", *texts, percent(share), words))
    return lines


def _texts(estimate: Estimate, whole: Fraction | None) -> tuple[str, str, str]:
    found = (estimate.value or Fraction(0), estimate.lower, estimate.upper)
    if whole is None:
        one, two, three = (f"{max(0, round(number_ or 0)):,}" for number_ in found)
    else:
        one, two, three = (
            percent(min(max((number_ or Fraction(0)) / whole, Fraction(0)), Fraction(1)))
            for number_ in found
        )
    return one, two, three


def _verdict(least: str, *, missed: bool, below: bool) -> str:
    if not least:
        return "not checked"
    return "missed" if missed else "below, within the noise" if below else "met"
