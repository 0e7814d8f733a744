"""What plans and reports state about the quality check: rule, counts, verdict.

Functions of the spec and of noisy counts alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from dpcli.plan.model import Plan
from dpcli.plan.quality import FALSE_STOP, Minimum, Missed, minimums, names
from dpcli.privacy.decimals import decimal_text
from dpcli.privacy.relation import PersonUnit
from dpcli.report.entries import statistic_facts
from dpcli.report.meaning import protection
from dpcli.report.numbers import Fact, Number, number, short
from dpcli.statistics.base import Estimate

if TYPE_CHECKING:
    from dpcli.release import Checked

ABSENT = (
    "this spec has no `quality:`: if the cells of a column cannot be read as declared, or most of "
    "the file is missing, noise is published without a warning and the budget is spent. Add "
    "`quality: {epsilon: 0.02, min_rows: N, min_readable: 0.8}`"
)
"""The warning of a plan without a check."""


def percent(share: Fraction) -> str:
    """A share in percent, to one decimal."""
    return f"{short(share * 100, 3)}%"


BLIND = (
    "the noise of `quality:` is so large that a minimum notices nothing in a file of `min_rows` "
    "rows; give it a larger epsilon, or check fewer columns: `dpcli plan` states what is noticed"
)
"""The warning of a check that is as good as none."""


def is_blind(plan: Plan) -> bool:
    """Whether the noise of the check hides that a file is empty or no cell can be read."""
    rows = plan.spec.quality.min_rows if plan.spec.quality else None
    return any(
        minimum.noticed <= 0
        if minimum.column is None
        else rows is not None and minimum.noticed_share(rows) <= 0
        for minimum in minimums(plan)
    )


def rule(plan: Plan) -> list[str]:
    """When a release stops before any statistic is answered, and how sure that is."""
    found = minimums(plan)
    if not found or plan.quality is None:
        return []
    if all(part.public for part in plan.quality.parts):
        what = plan.spec.rows_are
        exact = f"the number of {what} is public under change-one, so `min_rows` is checked exactly"
        return [f"quality: {exact}, at no privacy cost"]
    sure = percent(1 - FALSE_STOP)
    which, all_of = "the minimum", "the minimum"
    if len(found) > 1:
        which, all_of = f"one of {len(found):,} minimums", "all minimums"
    first = (
        f"quality: noisy counts of {plan.spec.rows_are} and of readable cells come first; if "
        f"{which} is missed by more than the noise explains, no statistic is answered, only the "
        f"loss of the check is charged, and the exit status is 8. A file that meets {all_of} is "
        f"stopped with a probability of at most {percent(FALSE_STOP)}"
    )
    return [first, *(_noticed(minimum, plan, sure) for minimum in _distinct(found))]


def _distinct(found: tuple[Minimum, ...]) -> Iterator[Minimum]:
    """The minimum of rows, and one column for each different share."""
    seen: set[Fraction] = set()
    for minimum in found:
        if minimum.column is None:
            yield minimum
        elif minimum.least not in seen:
            seen.add(minimum.least)
            yield minimum


def _noticed(minimum: Minimum, plan: Plan, sure: str) -> str:
    """What is noticed for sure, or that the epsilon is too small to notice anything."""
    quality, what = plan.spec.quality, plan.spec.rows_are
    assert quality is not None
    if minimum.column is None:
        least = f"`min_rows: {int(minimum.least)}`"
        if minimum.noticed <= 0:
            return (
                f"quality: {least} is within the noise ({short(2 * minimum.margin)} {what}), so "
                "even an empty file may pass; give `quality` a larger epsilon"
            )
        return (
            f"quality: {least} stops a file with fewer than {short(minimum.noticed)} {what} "
            f"in {sure} of runs"
        )
    least = f"`min_readable: {short(minimum.least, 3)}`"
    rows = quality.min_rows
    if rows is None or minimum.noticed_share(rows) <= 0:
        return (
            f"quality: {least} notices that no cell of a column can be read in files of "
            f"{minimum.rows_needed:,} {what} or more, in {sure} of runs"
            + ("" if rows is None else "; give `quality` a larger epsilon for smaller files")
        )
    return (
        f"quality: {least} stops a file of {rows:,} {what} when less than "
        f"{percent(minimum.noticed_share(rows))} of the cells of a column can be read, "
        f"in {sure} of runs"
    )


def counted_note(plan: Plan) -> str:
    """Which rows are counted, where people have limits; else empty."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return ""
    return f"Counted are the {plan.spec.rows_are} that the limits on people let in" + (
        ", and none without an id." if not unit.each else "."
    )


def missed_sentences(checked: Checked, plan: Plan) -> list[str]:
    """Why the check failed, a sentence for each minimum."""
    return [_missed(one, plan.spec.rows_are) for one in checked.missed]


def _missed(missed: Missed, what: str) -> str:
    minimum, value = missed.minimum, missed.value
    if minimum.column is None:
        noise = f", give or take {short(minimum.margin)}," if minimum.margin else ""
        return (
            f"the number of {what} is about {floor(value):,}{noise} and `min_rows` is "
            f"{int(minimum.least):,}"
        )
    return (
        f"about {percent(value)} of the cells of `{minimum.column}` can be read as declared, and "
        f"`min_readable` is {percent(minimum.least)}"
    )


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
    protected = protection(plan.quality, plan.spec.privacy, plan.spec.confidence)
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
            name: _estimate(one) for name, one in zip(names(quality), columns, strict=True)
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
    for name, estimate in zip(names(quality), columns, strict=True):
        share = quality.min_readable[name]
        texts = _texts(estimate, max(count, Fraction(1)))
        below = (estimate.value or Fraction(0)) < share * count
        words = _verdict(percent(share), missed=name in missed, below=below)
        lines.append((f"readable: {name}", *texts, percent(share), words))
    return lines


def _texts(estimate: Estimate, whole: Fraction | None) -> tuple[str, str, str]:
    """A noisy count, or what share of the noisy number of rows it is."""
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
    """How a noisy number compares with its minimum."""
    if not least:
        return "not checked"
    return "missed" if missed else "below, within the noise" if below else "met"
