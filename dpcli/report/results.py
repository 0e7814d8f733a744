"""Each statistic of a release: its numbers and how they were protected."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from dpcli.columns import NumericColumn
from dpcli.plan.meaning import protection
from dpcli.plan.model import Part, PlannedEntry
from dpcli.plan.notes import capital, in_words, left_out
from dpcli.plan.numbers import Fact, brief, exact_or_up, plain, root_up, short
from dpcli.queries import Key
from dpcli.report.answers import columns_of, condition_text, mechanism_text, options
from dpcli.report.facts import Numbers, Section, Table, flags_of, meaning_of
from dpcli.report.table import Cell, cells, chooses_labels
from dpcli.spec.model import Spec

if TYPE_CHECKING:
    from dpcli.release import Released

FEW = 3
"""Questions of a statistic that are described in sentences, and not in a table alone."""

PARTS = ("question", "mechanism", "scale", "L1", "L2", "epsilon", "delta", "rho")
"""The columns of the table of questions; L1 and L2 are sensitivities."""


def statistic(released: Released, spec: Spec) -> Section:
    """One statistic: what it counts, its numbers, and how they were protected."""
    planned = released.planned
    limits = left_out(planned, spec)
    sentences = protection(planned, spec)
    if len(planned.parts) > FEW:
        count = len(planned.parts)
        sentences = (f"{count} questions were answered, each with noise of its own.",)
    protected = Section(
        "How it was protected",
        points=sentences,
        table=Table(PARTS, tuple(map(_part, planned.parts))),
    )
    return Section(
        f"{planned.name}: {in_words(planned, spec)}",
        (_asked(planned), *([f"{capital(limits)}."] if limits else [])),
        _numbers(released, spec.confidence),
        parts=(protected,),
    )


def _asked(planned: PlannedEntry) -> str:
    request = planned.entry.request
    column = request.column.name if request.column else ""
    others = [name for name in columns_of(request) if name != column]
    words = [planned.entry.statistic.name]
    words += [f"of {column}"] if column else []
    words += [f"{'on' if column else 'of'} {', '.join(others)}"] if others else []
    words += [f"with {name} {_in_words(fact)}" for name, fact in options(request).items()]
    words += [f"by {', '.join(key.column.name for key in request.by)}"] if request.by else []
    words += [f"where {' and '.join(map(condition_text, request.where))}"] if request.where else []
    return f"Requested: {' '.join(words)}."


def _in_words(fact: Fact) -> str:
    if isinstance(fact, tuple):
        return ", ".join(map(_in_words, fact))
    return plain(fact) if isinstance(fact, Fraction) else str(fact)


def _part(part: Part) -> tuple[str, ...]:
    unit, moved = part.question.unit, part.sensitivity
    return (
        part.question.role,
        mechanism_text(part).replace("-", " "),
        short(part.noise.scale * unit, 6),
        exact_or_up(moved.l1 * unit),
        short(root_up(moved.l2_squared * unit**2), 6),
        brief(part.loss.epsilon),
        brief(part.loss.delta),
        short(part.guarantee.rho, 6),
    )


def _numbers(released: Released, confidence: Fraction) -> Numbers:
    entry, shown = released.planned.entry, cells(released)
    drawn: Literal["bars", "points", "nothing"] = "points"
    if chooses_labels(released) or not any(cell.value for cell in shown):
        drawn = "nothing"
    elif entry.statistic.measure != "values":
        drawn = "bars"
    column = entry.request.column
    among: tuple[Fraction, ...] = ()
    if entry.statistic.chooses and isinstance(column, NumericColumn):
        among = tuple(bound * column.step for bound in column.limits)
    return Numbers(
        name=entry.request.name,
        headings=tuple(_headings(released)),
        cells=shown,
        percent=exact_or_up(confidence * 100),
        drawn=drawn,
        axis=_axis(released),
        shared=not entry.statistic.several_units,
        over=among,
        notes=tuple(_legend(shown, confidence)),
    )


def _headings(released: Released) -> Iterator[str]:
    request, used = released.planned.entry.request, released.planned.entry.statistic
    yield from (key.column.name for key in request.by)
    if chooses_labels(released):
        yield "chosen"
    elif any(used.items(request)):
        yield used.item_name(request) or "item"


def _axis(released: Released) -> Key | None:
    """The bins in whose order the numbers of each group lie: of a histogram, or the last key."""
    request, used = released.planned.entry.request, released.planned.entry.statistic
    key = request.bins
    if key is None and request.by and len(used.items(request)) == 1 and released.groups is None:
        key = request.by[-1]
    return key if key is not None and isinstance(key.column, NumericColumn) else None


def _legend(shown: tuple[Cell, ...], confidence: Fraction) -> Iterator[str]:
    if not shown:
        yield "No group was shown."
    elif not any(cell.lower for cell in shown):
        yield "A choice among candidates has no interval."
    elif all(cell.lower == cell.upper for cell in shown):
        yield "The numbers are exact."
    else:
        percent = exact_or_up(confidence * 100)
        yield f"The interval contains the noise-free number in {percent}% of cases."
    for flag in flags_of(shown):
        yield f"Flag {meaning_of(flag, confidence)}."
