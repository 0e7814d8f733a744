"""The page of a release: what was published, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.privacy.loss import loss_text
from dpcli.report.counted import in_words, left_out
from dpcli.report.entries import asked, part_line
from dpcli.report.facts import a_year_at_most, beginning, window_facts
from dpcli.report.html import sections
from dpcli.report.html.charts import drawn
from dpcli.report.html.element import Part, element, label
from dpcli.report.html.meter import meters
from dpcli.report.meaning import one_of, protection
from dpcli.report.notes import (
    bounding,
    composing,
    limits,
    many,
    post_processing,
    selections,
    unprotected,
)
from dpcli.report.quality import HEADER, explained, plain, rows_of, verdict
from dpcli.report.simulated import simulation_notes
from dpcli.report.stewardship import capital, descriptions

if TYPE_CHECKING:
    from dpcli.ledger.charge import Standing
    from dpcli.plan.model import Plan
    from dpcli.release import Release, Released
    from dpcli.spec.model import Spec

ALL_TOGETHER = (
    "The budget bounds what all releases from these data reveal together. What is spent never "
    "comes back."
)

FEW = 3
"""Questions of a statistic that are told in sentences, and not in a table alone."""

PARTS = ("question", "mechanism", "scale", "L1", "L2", "epsilon", "delta", "rho")


def html_report(release: Release) -> bytes:
    """The report as a page."""
    return sections.page(f"Privacy report: {release.plan.spec.dataset}", _parts(release))


def _parts(release: Release) -> Iterator[Part]:
    """Everything on the page."""
    plan = release.plan
    spec = plan.spec
    yield from opening(plan, _published(release))
    yield from sections.what_it_means(plan)
    yield from budget(release.standing)
    yield from _quality(release)
    yield from sections.section("What was published")
    if not release.entries:
        yield element("p", "Nothing: the quality check failed, and no statistic was answered.")
    for released in release.entries:
        yield from _entry(released, spec)
    for title, notes in (
        ("How much one person can add", bounding(plan)),
        ("What the limits change on invented rows", simulation_notes(release.simulated, plan)),
        ("How losses were added up", composing(plan)),
        ("Which groups are shown", selections(plan)),
        ("What was done to the noisy answers", post_processing(plan)),
        ("What is published exactly", unprotected(plan)),
        ("What is not protected", limits(plan)),
    ):
        yield from sections.notes(title, list(notes))
    yield from sections.risks(plan, release.standing.terms.window)
    yield from record(release.release_id, release.created, spec.digest, release.standing)
    yield from sections.the_spec(spec.text)


def _quality(release: Release) -> Iterator[Part]:
    """The quality check: its verdict, its noisy counts, its rule."""
    if release.checked is not None:
        yield from sections.section(
            "Was the file complete and readable?",
            sections.paragraphs(map(plain, verdict(release.checked, release.plan))),
            sections.plain_table(HEADER, rows_of(release.plan, release.checked)),
            sections.paragraphs(map(plain, explained(release.plan))),
        )


def _published(release: Release) -> str:
    """What was published, when, and what hides whom."""
    if not release.entries:
        return (
            f"On {release.created[:10]}, the file failed the quality check: no statistic was "
            "answered, and only the check was charged."
        )
    numbers = sum(len(released.estimates) for released in release.entries)
    exact = sum(
        len(released.estimates)
        for released in release.entries
        if all(part.public for part in released.planned.parts)
    )
    verb = "was" if numbers == 1 else "were"
    told = (
        f"On {release.created[:10]}, {many(numbers, 'number')} of "
        f"{many(len(release.entries), 'statistic')} {verb} published"
    )
    who = one_of(release.plan.spec.privacy)
    if exact == numbers:
        return f"{told}, exactly, because no change of {who} can change them."
    hiding = f"noise that hides what {who} adds"
    return (
        f"{told} with {hiding}."
        if not exact
        else f"{told}, {exact:,} exactly, others with {hiding}."
    )


def opening(plan: Plan, told: str) -> Iterator[Part]:
    """The title, what the steward says of it, and the facts that matter most."""
    spec = plan.spec
    yield element("h1", "Privacy report: ", label(spec.dataset))
    description = spec.declarations.answer("description")
    if description:
        yield element("p", label(description))
    yield element("p", told)
    declared = descriptions(spec.declarations)
    if declared:
        yield sections.pairs(declared)
    yield sections.tiles(sections.headline(plan))


def budget(standing: Standing) -> Iterator[Part]:
    """The budget before and after."""
    window = window_facts(standing) if standing.terms.window is not None else None
    said: list[Part] = []
    if window is not None:
        said = [
            element(
                "p",
                f"The budget bounds any {window['periods']} consecutive days together, and the bar "
                f"shows the worst of them. Protected is {window['protects']}. Not protected is "
                f"{window['does_not_protect']}.",
            ),
            sections.pairs(
                (
                    ("At most in a year", loss_text(a_year_at_most(standing))),
                    ("Spent in all", loss_text(standing.balance.lifetime)),
                )
            ),
        ]
    yield from sections.section(
        "The budget",
        said or element("p", ALL_TOGETHER),
        meters(standing),
    )


def record(release_id: str, created: str, digest: str, standing: Standing) -> Iterator[Part]:
    """Where all this can be looked up."""
    yield from sections.section(
        "Where it is recorded",
        sections.pairs(
            (
                ("Release", release_id),
                ("Created", created),
                ("Made by", f"dpcli {__version__}"),
                ("Spec, SHA-256", digest),
                ("Ledger", f"{standing.ledger}, entry {standing.entry}"),
                ("Head", standing.head),
                beginning(standing),
                *([("Period", standing.period)] if standing.period else []),
                ("Left of the budget", loss_text(standing.balance.remaining)),
            )
        ),
    )


def _entry(released: Released, spec: Spec) -> Iterator[Part]:
    """One statistic."""
    planned, confidence = released.planned, spec.confidence
    yield element("h3", label(planned.entry.request.name), ": ", label(in_words(planned, spec)))
    yield element("p", label(asked(released)))
    limits = left_out(planned, spec)
    if limits:
        yield element("p", label(f"{capital(limits)}."))
    yield from drawn(released, confidence)
    yield element("h4", "How it was protected")
    if len(planned.parts) <= FEW:
        yield sections.paragraphs(protection(planned, spec.privacy, confidence))
    else:
        words = f"{len(planned.parts)} questions were answered, each with noise of its own."
        yield element("p", words)
    yield sections.plain_table(PARTS, [part_line(part) for part in planned.parts])
