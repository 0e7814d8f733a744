"""The facts of a release or local collection: the summary, then the methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.messages import listed
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
        words = "Nothing: the quality check failed, and no statistic was answered."
        results = Section("Results", (words,))
    quality = [_quality(plan, checked)] if checked is not None else []
    return _facts(release, data, _published(release), [results, *quality])


def collection_facts(collection: Randomized) -> Facts:
    """What the report of a local collection states."""
    plan, data = collection.plan, collection_data(collection)
    order = "in random order" if collection.shuffled else "in the order of the file"
    published = (
        (
            f"On {collection.created[:10]}, each record was randomized by itself, before it was "
            f"collected. The responses are published {order}."
        ),
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
        undeclared=_undeclared([key for key in STEWARDS.values() if not declared.answer(key)]),
        headline=headline(plan),
        loss=_loss(plan, standing),
        risks=found,
        source=source,
    )


def _undeclared(keys: list[str]) -> str:
    named = f"To state what is not, write {listed(keys)} under `declarations:` in the spec."
    return named if keys else ""


def _published(release: Release) -> Iterator[str]:
    plan, day = release.plan, release.created[:10]
    if not release.entries:
        yield (
            f"On {day}, the file failed the quality check: no statistic was answered, and only "
            "the check was charged."
        )
        return
    amounts = [
        (len(one.estimates), all(part.public for part in one.planned.parts))
        for one in release.entries
    ]
    numbers = sum(count for count, _ in amounts)
    exact = sum(count for count, public in amounts if public)
    who = f"one {plan.spec.one}"
    how = f" with noise that hides what {who} adds"
    if exact == numbers:
        how = f", exactly, because no change of {who} can change them"
    elif exact:
        how = f", {exact:,} exactly, others{how}"
    yield (
        f"On {day}, {notes.many(numbers, 'number')} of {notes.many(len(amounts), 'statistic')} "
        f"{'was' if numbers == 1 else 'were'} published{how}."
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
    verdict = ["No minimum was missed by more than the noise explains."]
    if checked.missed:
        verdict = [
            "The release was stopped: no statistic was answered, and only the check was charged.",
            *(f"{notes.capital(words)}." for words in missed_sentences(checked, plan)),
        ]
    protected = protection(plan.quality, plan.spec)
    points = filter(None, (*rule(plan), counted_note(plan), *protected))
    return Section(
        "Was the file complete and readable?",
        tuple(verdict),
        points=tuple(map(notes.capital, points)),
        table=Table(HEADER, tuple(rows_of(plan, checked))),
    )


def _promised(plan: Plan) -> Section:
    privacy = plan.spec.privacy
    asked, spent = loss_text(plan.asked), loss_text(plan.spent)
    how = (
        f"Neighbors: {privacy.neighbors.value}. Requested, as a plain sum: {asked}; spent by "
        f"{privacy.composition.name} composition: {spent}."
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
    text = (
        "The budget bounds what all releases from these data reveal together. Spending is never "
        "reversed."
    )
    if window is not None:
        pairs += [
            ("Period", str(window["period"])),
            ("Window", f"{window['periods']} days"),
            ("Spent in the worst window", loss_text(standing.balance.spent)),
            ("At most in a year", loss_text(a_year_at_most(standing))),
            ("Spent in all", loss_text(standing.balance.lifetime)),
        ]
        text = (
            f"The budget bounds any {window['periods']} consecutive days together; the losses "
            f"before and after are those of the worst of them. Protected is {window['protects']}. "
            f"Not protected is {window['does_not_protect']}."
        )
    return Section("The account that paid", (text,), pairs=tuple(pairs))
