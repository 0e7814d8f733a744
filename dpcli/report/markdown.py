"""The privacy report as Markdown: the same facts, for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.plan.model import Plan
from dpcli.plan.risks import hazards
from dpcli.privacy.loss import Loss, loss_text
from dpcli.report.counted import in_words, left_out
from dpcli.report.entries import asked, part_line
from dpcli.report.facts import a_year_at_most, beginning, facts, window_facts
from dpcli.report.flags import flag_meanings
from dpcli.report.meaning import meaning, promise, protection
from dpcli.report.notes import limits
from dpcli.report.numbers import exact_or_up
from dpcli.report.quality import HEADER, explained, rows_of, verdict
from dpcli.report.simulated import simulation_notes
from dpcli.report.stewardship import capital, descriptions, sentences
from dpcli.report.table import cells, visible
from dpcli.spec.model import Declarations, Spec

if TYPE_CHECKING:
    from dpcli.ledger.charge import Standing
    from dpcli.release import Release, Released


def markdown_report(release: Release) -> bytes:
    """The report as UTF-8 text."""
    return ("\n".join(_lines(release)) + "\n").encode()


def _lines(release: Release) -> Iterator[str]:
    """Every line of the report."""
    told = facts(release)
    plan = release.plan
    spec = plan.spec
    yield from heading(
        spec.dataset,
        release.release_id,
        release.created,
        spec.digest,
        *descriptions(spec.declarations),
    )
    yield from described(spec.declarations)
    yield from cost(plan, release.standing.before)
    yield from account(release.standing)
    yield from _quality(release)
    yield "## What was released"
    yield ""
    if not release.entries:
        yield "Nothing: the quality check failed, and no statistic was answered."
    else:
        yield from (f"- {escaped(one)}" for one in flag_meanings(spec.confidence))
    yield ""
    for released in release.entries:
        yield from _entry(released, spec)
    for title, notes in (
        ("How much one person can add", told["bounding"]),
        ("What the limits change on invented rows", [*simulation_notes(release.simulated, plan)]),
        ("How losses were added up", told["composition"]),
        ("Which groups are shown", told["selections"]),
        ("What was done to the noisy answers", told["post_processing"]),
        ("What is published exactly", told["unprotected"]),
    ):
        if isinstance(notes, list) and notes:
            yield f"## {title}"
            yield ""
            yield from (f"- {escaped(str(note))}" for note in notes)
            yield ""
    yield "## What is not protected"
    yield ""
    yield from (f"- {note}" for note in limits(plan))
    yield ""
    yield from risks(plan, release.standing.terms.window)
    yield from the_spec(spec.text)


def _quality(release: Release) -> Iterator[str]:
    """The quality check: its verdict, its noisy counts, its rule."""
    if release.checked is None:
        return
    yield "## Was the file complete and readable?"
    yield ""
    yield from (f"- {escaped(words)}" for words in verdict(release.checked, release.plan))
    yield ""
    yield from table_lines(HEADER, rows_of(release.plan, release.checked))
    yield from (f"- {escaped(words)}" for words in explained(release.plan))
    yield ""


def risks(plan: Plan, window: int | None) -> Iterator[str]:
    """What is found of each hazard, and what the steward declares of it."""
    yield "## Hazards"
    yield ""
    rows = [
        (one.hazard, one.verdict.value, f"{one.question} {' '.join(sentences(one))}")
        for one in hazards(plan, window)
    ]
    yield from table_lines(("hazard", "verdict", "why"), rows)


def the_spec(text: str) -> Iterator[str]:
    """The spec as it was written."""
    yield "## The spec"
    yield ""
    yield from (f"    {line}" for line in text.splitlines())


def heading(
    title: str, release_id: str, created: str, digest: str, *more: tuple[str, str]
) -> Iterator[str]:
    """What the report is about, who made it, when, and from which spec."""
    yield f"# Privacy report: {escaped(title)}"
    yield ""
    yield from table_lines(
        ("", ""),
        [
            ("Release", release_id),
            ("Created", created),
            ("Made by", f"dpcli {__version__}"),
            ("Spec", f"SHA-256 {digest}"),
            *more,
        ],
    )


def described(declared: Declarations) -> Iterator[str]:
    """What is published, in the words of the spec."""
    if declared.answer("description"):
        yield escaped(declared.answer("description"))
        yield ""


def cost(plan: Plan, before: Loss) -> Iterator[str]:
    """What is protected, and what the answers reveal."""
    privacy = plan.spec.privacy
    yield "## What it cost"
    yield ""
    yield promise(privacy)
    yield ""
    yield from (f"- {sentence}" for sentence in meaning(plan))
    yield ""
    rows = [
        (word, exact_or_up(loss.epsilon), exact_or_up(loss.delta), _rho(loss.rho))
        for word, loss in (
            ("asked, as a plain sum", plan.asked),
            ("this release", plan.spent),
            ("spent before it", before),
            ("budget", privacy.budget),
        )
    ]
    yield from table_lines(
        (f"{privacy.composition.name} composition", "epsilon", "delta", "rho"), rows
    )


def account(standing: Standing) -> Iterator[str]:
    """Where a release is recorded, and what its account has left."""
    left = standing.balance.remaining
    yield "## The account that paid"
    yield ""
    rows = [
        ("Ledger", standing.ledger),
        ("Entry", str(standing.entry)),
        ("Head", standing.head),
        beginning(standing),
        ("Left of the budget", loss_text(left)),
    ]
    window = window_facts(standing) if standing.terms.window is not None else None
    if window is not None:
        rows += [
            ("Period", str(window["period"])),
            ("Window", f"{window['periods']} days"),
            ("Spent in the worst window", loss_text(standing.balance.spent)),
            ("At most in a year", loss_text(a_year_at_most(standing))),
            ("Spent in all", loss_text(standing.balance.lifetime)),
        ]
    yield from table_lines(("", ""), rows)
    if window is not None:
        yield f"Protected is {window['protects']}. Not protected is {window['does_not_protect']}."
        yield ""


def _entry(released: Released, spec: Spec) -> Iterator[str]:
    """One statistic: what it is, how it was answered, and its numbers."""
    request, confidence = released.planned.entry.request, spec.confidence
    yield f"### {escaped(f'{request.name}: {in_words(released.planned, spec)}')}"
    yield ""
    limits = left_out(released.planned, spec)
    yield escaped(f"{asked(released)} {capital(limits)}.") if limits else escaped(asked(released))
    yield ""
    protected = protection(released.planned, spec.privacy, confidence)
    yield from (f"- {escaped(sentence)}" for sentence in protected)
    yield ""
    header: tuple[str, ...]
    header = ("question", "mechanism", "scale", "sensitivity L1", "L2", "epsilon", "delta", "rho")
    yield from table_lines(header, [part_line(part) for part in released.planned.parts])
    keys = [key.column.name for key in request.by]
    both = released.raw is not None
    lines = [
        (
            *([cell.statistic] * both),
            *(cell.keys[key] for key in keys),
            *(cell.item, cell.value, cell.lower, cell.upper, cell.flag.value),
        )
        for cell in cells(released)
    ]
    percent = exact_or_up(confidence * 100)
    ends = (f"lower {percent} %", f"upper {percent} %")
    header = (*(["statistic"] * both), *keys, "item", "value", *ends, "flag")
    yield from table_lines(header, lines)


def _rho(rho: Fraction | None) -> str:
    """A total in rho, where there is one."""
    return "" if rho is None else exact_or_up(rho)


def table_lines(header: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A Markdown table and a blank line."""
    names = [escaped(name) for name in header]
    yield f"| {' | '.join(names)} |"
    yield f"|{'|'.join(' --- ' for _ in names)}|"
    for row in rows:
        yield f"| {' | '.join(escaped(text) for text in row)} |"
    yield ""


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, without links and in its own direction."""
    text = visible(text.replace("&", "&amp;"))
    for character in "\\`*_[]<>|#~@":
        text = text.replace(character, "\\" + character)
    for start in ("://", "www."):
        # A bare address would become a link.
        text = text.replace(start, f"{start[:-1]}\\{start[-1]}")
    return text.replace("\n", " ")
