"""The facts of a release or local collection: the summary, then the methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.messages import note
from dpcli.plan import notes
from dpcli.plan.meaning import headline, meaning, promise, protection
from dpcli.plan.model import Plan
from dpcli.plan.numbers import Fact, brief
from dpcli.plan.quality import counted_note, rule
from dpcli.plan.risks import risks
from dpcli.privacy.loss import loss_text
from dpcli.privacy.relation import RowUnit
from dpcli.report.answers import HEADER, missed_sentences, rows_of
from dpcli.report.data import a_year_at_most, collection_data, release_data, window_facts
from dpcli.report.facts import Facts, Pair, Section, Table
from dpcli.report.results import statistic

if TYPE_CHECKING:
    from dpcli.ledger.charge import Standing
    from dpcli.local.randomize import Randomized
    from dpcli.release import Checked, Release

MOST_NAMED = 8
"""Statistics that the summary names."""

NOTED = (
    ("bounding", "How much one person can add"),
    ("simulation", "What the limits change on invented rows"),
    ("composition", "How losses were added up"),
    ("selections", "Which groups are shown"),
    ("post_processing", "What was done to the noisy answers"),
    ("unprotected", "What is published exactly"),
    ("limits", "What is not protected"),
)
"""Sentences of the data, in the order of a report, and their headings."""

STEWARDS = {
    "Publisher": "curator",
    "Contact": "contact",
    "Purpose": "intended_use",
    "Region": "region",
}
"""Who answers for a release, and under which key of `declarations` a spec says so."""


def release_facts(release: Release) -> Facts:
    """What the report of a release states."""
    plan, checked, data = release.plan, release.checked, release_data(release)
    results = Section("Results", parts=tuple(statistic(one, plan.spec) for one in release.entries))
    if not release.entries:
        results = Section("Results", (note("published.nothing"),))
    quality = [_quality(plan, checked)] if checked is not None else []
    return _facts(release, data, _published(release), [results, *quality])


def collection_facts(collection: Randomized) -> Facts:
    """What the report of a local collection states."""
    plan, data = collection.plan, collection_data(collection)
    order = "random order" if collection.shuffled else "the order of the file"
    published = (
        note("published.responses", day=collection.created[:10], order=order),
        f"Protected: {_unit(plan)}, also against those who collect the responses.",
    )
    rows = tuple(
        (
            one.column.name,
            one.randomizer.name.replace("_", " "),
            one.channel.describe(),
            ", ".join(one.steps),
            brief(one.channel.loss.epsilon),
            brief(one.channel.loss.delta),
        )
        for one in plan.spec.responses
    )
    header = ("column", "mechanism", "how", "post", "epsilon", "delta")
    responded = Section("How each record responded", table=Table(header, rows))
    digest = ("Responses, SHA-256", collection.digest)
    return _facts(collection, data, published, [responded], digest)


def _facts(
    source: Release | Randomized,
    data: dict[str, Fact],
    published: Iterable[str],
    results: Iterable[Section],
    *recorded: Pair,
) -> Facts:
    """The summary, the results, and the sections that every report ends with."""
    plan, standing = source.plan, source.standing
    declared = plan.spec.declarations
    found = risks(plan, standing.terms.window)
    missing = [key for key in STEWARDS.values() if not declared.answer(key)]
    local = ", randomized record by record" if plan.is_local else ""
    declarations = declared.answers
    if declared.population is not None:
        declarations = (("population", f"{declared.population:,}"), *declarations)
    return Facts(
        title=f"Privacy report: {plan.spec.dataset}{local}",
        data=data,
        published=tuple(filter(None, (declared.answer("description"), *published))),
        sections=(
            *results,
            _promised(plan),
            *_noted(data),
            Section("Risks", risks=found),
            *([Section("Declarations", pairs=declarations)] if declarations else []),
            _account(source, standing, recorded),
            Section("The spec", code=plan.spec.text),
        ),
        stewards=tuple((one, declared.answer(key)) for one, key in STEWARDS.items()),
        undeclared=note("published.undeclared", keys=missing) if missing else "",
        headline=headline(plan),
        loss=_loss(plan, standing),
        risks=found,
        source=source,
    )


def _published(release: Release) -> Iterator[str]:
    plan, day = release.plan, release.created[:10]
    if not release.entries:
        yield note("published.failed", day=day)
        return
    amounts = [
        (len(one.estimates), all(part.public for part in one.planned.parts))
        for one in release.entries
    ]
    numbers = sum(count for count, _ in amounts)
    exact = sum(count for count, public in amounts if public)
    how = "exact" if exact == numbers else "some" if exact else "noisy"
    yield note(
        f"published.{how}",
        day=day,
        numbers=notes.many(numbers, "number"),
        statistics=notes.many(len(amounts), "statistic"),
        were="was" if numbers == 1 else "were",
        one=plan.spec.one,
        exact=exact,
    )
    yield f"Protected: {_unit(plan)}."
    named = [
        f"{one.planned.name} ({notes.in_words(one.planned, plan.spec)})"
        for one in release.entries[:MOST_NAMED]
    ]
    more = len(release.entries) - len(named)
    yield f"Statistics: {', '.join(named)}{f', and {more:,} more' if more else ''}."


def _unit(plan: Plan) -> str:
    unit = plan.spec.privacy.unit
    if isinstance(unit, RowUnit):
        return "each record" if plan.is_local else f"each row ({plan.spec.rows_are})"
    return f"each person, identified by {unit.column}"


def _loss(plan: Plan, standing: Standing) -> Table:
    after, budget = standing.balance.spent, standing.balance.budget
    losses = (standing.before, plan.spent, after, budget)
    rows = [("epsilon", *(brief(one.epsilon) for one in losses))]
    if any(one.delta for one in losses):
        rows.append(("delta", *(brief(one.delta) for one in losses)))
    if budget.rho is not None:
        rows.append(("rho", *("" if one.rho is None else brief(one.rho) for one in losses)))
    return Table(("privacy loss", "before", "this release", "after", "budget"), tuple(rows))


def _quality(plan: Plan, checked: Checked) -> Section:
    assert plan.quality is not None
    verdict = note("checked.failed" if checked.missed else "checked.passed")
    missed = (f"{notes.capital(words)}." for words in missed_sentences(checked, plan))
    protected = protection(plan.quality, plan.spec)
    points = filter(None, (*rule(plan), counted_note(plan), *protected))
    return Section(
        "Was the file complete and readable?",
        (verdict, *missed),
        points=tuple(map(notes.capital, points)),
        table=Table(HEADER, tuple(rows_of(plan, checked))),
    )


def _promised(plan: Plan) -> Section:
    privacy = plan.spec.privacy
    how = note(
        "published.composed",
        neighbors=privacy.neighbors.value,
        asked=loss_text(plan.asked),
        rule=privacy.composition.name,
        spent=loss_text(plan.spent),
    )
    return Section("What is promised", (promise(plan.spec), how), points=tuple(meaning(plan)))


def _noted(data: Mapping[str, Fact]) -> Iterator[Section]:
    for key, title in NOTED:
        found = data.get(key)
        sentences = found["notes"] if isinstance(found, Mapping) else found
        if isinstance(sentences, list) and sentences:
            yield Section(title, points=tuple(notes.capital(str(one)) for one in sentences))


def _account(source: Release | Randomized, standing: Standing, more: Iterable[Pair]) -> Section:
    window = window_facts(standing)
    pairs = [
        ("Release", source.release_id),
        ("Created", source.created),
        ("Made by", f"dpcli {__version__}"),
        ("Spec, SHA-256", source.plan.spec.digest),
        *more,
        ("Ledger", f"{standing.ledger}, entry {standing.entry}"),
        ("Head", standing.head),
        ("First release of this account in this ledger", "yes" if standing.first else "no"),
        ("Left of the budget", loss_text(standing.balance.remaining)),
    ]
    text = note("account.whole")
    if window is not None:
        pairs += [
            ("Period", str(window["period"])),
            ("Window", f"{window['periods']} days"),
            ("Spent in the worst window", loss_text(standing.balance.spent)),
            ("At most in a year", loss_text(a_year_at_most(standing))),
            ("Spent in all", loss_text(standing.balance.lifetime)),
        ]
        text = note("account.window", days=window["periods"], **window)
    return Section("The account that paid", (text,), pairs=tuple(pairs))
