"""The facts of a release or local collection: the summary, then the methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.plan import notes
from dpcli.plan.meaning import headline, meaning, promise
from dpcli.plan.model import Plan
from dpcli.plan.numbers import Fact, brief
from dpcli.plan.risks import risks
from dpcli.privacy.loss import loss_text
from dpcli.privacy.relation import RowUnit
from dpcli.report import quality
from dpcli.report.facts import Facts, Pair, Section, Table
from dpcli.report.plain import a_year_at_most, collection_data, release_data, window_facts
from dpcli.report.results import statistic

if TYPE_CHECKING:
    from dpcli.ledger.charge import Standing
    from dpcli.local.randomize import Randomized
    from dpcli.release import Release

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

STEWARDS = (
    ("Publisher", "curator"),
    ("Contact", "contact"),
    ("Purpose", "intended_use"),
    ("Region", "region"),
)
"""Who answers for a release, and under which key of `declarations` a spec says so."""


def release_facts(release: Release) -> Facts:
    """What the report of a release states."""
    plan = release.plan
    results = Section("Results", parts=tuple(statistic(one, plan.spec) for one in release.entries))
    if not release.entries:
        words = "Nothing: the quality check failed, and no statistic was answered."
        results = Section("Results", (words,))
    data = release_data(release)
    methods = [results, *_quality(release), _promised(plan), *_noted(data)]
    return _facts(release, data, _published(release), methods)


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
    methods = [
        Section(
            "How each record responded",
            table=Table(("column", "mechanism", "how", "post", "epsilon", "delta"), rows),
        ),
        _promised(plan),
        *_noted(data),
    ]
    responses = ("Responses, SHA-256", collection.digest)
    return _facts(collection, data, published, methods, responses)


def _facts(
    source: Release | Randomized,
    data: dict[str, Fact],
    published: Iterable[str],
    methods: Iterable[Section],
    *recorded: Pair,
) -> Facts:
    """The summary, the methods, and the sections that every report ends with."""
    plan, standing = source.plan, source.standing
    declared = plan.spec.declarations
    found = risks(plan, standing.terms.window)
    people = declared.population
    local = ", randomized record by record" if plan.is_local else ""
    declarations = (
        *([("population", f"{people:,}")] if people is not None else []),
        *declared.answers,
    )
    sections = [*methods, Section("Risks", risks=found)]
    if declarations:
        sections.append(Section("Declarations", pairs=declarations))
    sections += [_account(source, standing, recorded), Section("The spec", code=plan.spec.text)]
    return Facts(
        title=f"Privacy report: {plan.spec.dataset}{local}",
        data=data,
        published=tuple(filter(None, (declared.answer("description"), *published))),
        sections=tuple(sections),
        stewards=tuple((name, declared.answer(key)) for name, key in STEWARDS),
        headline=headline(plan),
        loss=_loss(plan, standing),
        risks=found,
        source=source,
    )


def _published(release: Release) -> Iterator[str]:
    """What was published, when, about whom, and what hides them."""
    plan = release.plan
    if not release.entries:
        yield (
            f"On {release.created[:10]}, the file failed the quality check: no statistic was "
            "answered, and only the check was charged."
        )
        return
    amounts = [
        (len(one.estimates), all(part.public for part in one.planned.parts))
        for one in release.entries
    ]
    numbers = sum(count for count, _ in amounts)
    exact = sum(count for count, public in amounts if public)
    what = (
        f"On {release.created[:10]}, {notes.many(numbers, 'number')} of "
        f"{notes.many(len(amounts), 'statistic')} {'was' if numbers == 1 else 'were'} published"
    )
    who = f"one {plan.spec.one}"
    noise = f"with noise that hides what {who} adds"
    if exact == numbers:
        yield f"{what}, exactly, because no change of {who} can change them."
    else:
        yield f"{what}, {exact:,} exactly, others {noise}." if exact else f"{what} {noise}."
    yield f"Protected: {_unit(plan)}."
    named = [
        f"{one.planned.entry.request.name} ({notes.in_words(one.planned, plan.spec)})"
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
    before, after, budget = standing.before, standing.balance.spent, standing.balance.budget
    losses = (before, plan.spent, after, budget)
    rows = [("epsilon", *(brief(one.epsilon) for one in losses))]
    if any(one.delta for one in losses):
        rows.append(("delta", *(brief(one.delta) for one in losses)))
    if budget.rho is not None:
        rows.append(("rho", *("" if one.rho is None else brief(one.rho) for one in losses)))
    header = ("privacy loss", "before", "this release", "after", "budget")
    return Table(header, tuple(rows))


def _promised(plan: Plan) -> Section:
    """The promise, and what it comes to in numbers."""
    privacy = plan.spec.privacy
    asked, spent = loss_text(plan.asked), loss_text(plan.spent)
    how = (
        f"Neighbors: {privacy.neighbors.value}. Requested, as a plain sum: {asked}; spent by "
        f"{privacy.composition.name} composition: {spent}."
    )
    return Section("What is promised", (promise(plan.spec), how), points=tuple(meaning(plan)))


def _noted(data: Mapping[str, Fact]) -> Iterator[Section]:
    """The sentences of the data under their headings."""
    for key, title in NOTED:
        found = data.get(key)
        sentences = found["notes"] if isinstance(found, dict) else found
        if isinstance(sentences, list) and sentences:
            yield Section(title, points=tuple(notes.capital(str(one)) for one in sentences))


def _quality(release: Release) -> Iterator[Section]:
    if release.checked is not None:
        plan, checked = release.plan, release.checked
        yield Section(
            "Was the file complete and readable?",
            tuple(f"{notes.capital(words)}." for words in quality.verdict(checked, plan)),
            points=tuple(map(notes.capital, quality.explained(plan))),
            table=Table(quality.HEADER, tuple(quality.rows_of(plan, checked))),
        )


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
