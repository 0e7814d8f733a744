"""The facts of a simulation: findings as plain data and as tables; no release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dpcli import __version__
from dpcli.errors import Problem, problem
from dpcli.messages import note
from dpcli.plan.notes import many
from dpcli.plan.numbers import Fact, Number, exact_or_up, plain, short
from dpcli.privacy.relation import PersonUnit
from dpcli.report.answers import mechanism_text
from dpcli.report.facts import Facts, Section, Table
from dpcli.simulation.noise_test import Asked, Errors
from dpcli.simulation.trials import Findings, PublishedItem, Tried

HEADING = "simulation: synthetic data made from the spec, no release"
"""What stands above everything that a simulation states."""

WHOSE = (
    (
        "predicted: the error that `dpcli plan` states; observed: the error that this percentage "
        "of errors did not exceed; within: the share that did not exceed the predicted one"
    ),
    (
        "stated: the median half-width of published intervals; held: the share of intervals that "
        "contained the number without noise; bias: the mean error, with its standard error"
    ),
    (
        "errors are those of the noise: noisy numbers minus the same without noise, of the same "
        "synthetic rows, sampled alike, clamped to bounds and filled where they are missing"
    ),
    (
        "the rows are synthetic: errors of counts and sums will be like these with any data; those "
        "of means, quantiles and other numbers made of several answers depend on the data"
    ),
)
"""What every reader of findings must know."""

DIGITS = 6
"""Significant digits of what was observed."""

WORDS = frozenset({"statistic", "question", "mechanism", "verdict", "item"})
"""Columns of texts; all others hold numbers."""


def simulation_facts(findings: Findings) -> Facts:
    """What is stated about a simulation: data for programs, and both tables for people."""
    plan = findings.plan
    percent = exact_or_up(plan.spec.confidence * 100)
    whose = "" if findings.people is None else f" of {findings.people:,} people"
    what = (
        f"{plan.spec.dataset}: {findings.rows:,} rows{whose}, seed {findings.seed}, "
        f"{many(findings.runs, 'run')}"
    )
    groups = [
        f"{entry.name}: {_few(entry.shown.shown)} of {entry.shown.groups:,} groups shown on average"
        for entry in findings.entries
        if entry.shown is not None
    ]
    answers = (
        "statistic", "question", "mechanism", "answers", f"predicted {percent}%",
        f"observed {percent}%", "within", "best", "bias", "std error", "verdict",
    )  # fmt: skip
    published = (
        "statistic", "item", "numbers", f"stated {percent}%", f"observed {percent}%", "held",
        "bias", "std error", "limits", "suppressed",
    )  # fmt: skip
    sections = [
        Section(
            "errors of the noise, as dpcli plan predicts them and as they were",
            table=_filled(answers, [row for one in findings.entries for row in _answers(one)]),
        ),
        Section(
            "published numbers, less what they would be without noise",
            table=_filled(published, [row for one in findings.entries for row in _published(one)]),
        ),
        Section("what this means", points=(*groups, *notes(findings))),
    ]
    shown = tuple(one for one in sections if one.table is None or one.table.rows)
    return Facts(HEADING, _data(findings), (what,), shown)


def _filled(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table without the columns that are empty."""
    kept = [place for place in range(len(header)) if any(row[place] for row in rows)]
    cells = tuple(tuple(row[place] for place in kept) for row in rows)
    return Table(tuple(header[place] for place in kept), cells)


def _answers(entry: Tried) -> Iterator[tuple[str, ...]]:
    for place, asked in enumerate(entry.asked):
        errors = asked.errors
        yield (
            "" if place else entry.name,
            asked.part.question.role,
            mechanism_text(asked.part),
            f"{errors.compared:,}",
            *(_few(asked.predicted), _few(errors.quantile)),
            *(_percent(asked.within), _percent(asked.best)),
            *(("", "") if asked.best is not None else (_few(errors.bias), _few(errors.spread))),
            asked.verdict.value if asked.verdict else "not judged",
        )


def _published(entry: Tried) -> Iterator[tuple[str, ...]]:
    for place, published in enumerate(entry.published):
        errors = published.errors
        yield (
            "" if place else entry.name,
            published.item,
            f"{errors.compared:,}",
            *(_few(published.stated), _few(errors.quantile), _percent(published.held)),
            *(_few(errors.bias), _few(errors.spread), _few(published.limits)),
            _percent(published.left_out) if published.left_out else "",
        )


def _few(value: Fraction | None, digits: int = 4) -> str:
    return "" if value is None else short(value, digits)


def _percent(share: Fraction | None) -> str:
    return "" if share is None else f"{float(share * 100):.1f}%"


def _data(findings: Findings) -> dict[str, Fact]:
    plan = findings.plan
    return {
        "simulation": True,
        "release": False,
        "dpcli_version": __version__,
        "spec": {"dataset": plan.spec.dataset, "digest": plan.spec.digest},
        "dummy": {
            "rows": findings.rows,
            "people": findings.people,
            "people_above_max_rows": findings.above,
            "seed": findings.seed,
        },
        "runs": findings.runs,
        "readings": findings.readings,
        "stopped_by_quality": findings.stopped,
        "confidence": plan.spec.confidence,
        "fits": plan.fits,
        "kept": not findings.broken,
        "statistics": [
            {
                "name": entry.name,
                "statistic": entry.statistic,
                "groups": None
                if entry.shown is None
                else {
                    "in_dummy": entry.shown.groups,
                    "shown_on_average": _observed(entry.shown.shown),
                },
                "answers": [_asked(asked) for asked in entry.asked],
                "published": [_item_fact(item) for item in entry.published],
            }
            for entry in findings.entries
        ],
        "notes": list(notes(findings)),
    }


def _asked(asked: Asked) -> Fact:
    return {
        "role": asked.part.question.role,
        "mechanism": mechanism_text(asked.part),
        "predicted95": asked.predicted,
        **_errors(asked.errors),
        "within": _observed(asked.within),
        "best": _observed(asked.best),
        "verdict": asked.verdict.value if asked.verdict else None,
    }


def _item_fact(published: PublishedItem) -> Fact:
    return {
        "item": published.item or None,
        "stated95": _observed(published.stated),
        **_errors(published.errors),
        "held": _observed(published.held),
        "suppressed": _observed(published.left_out),
        "without_interval": _observed(published.without),
        "limits": _observed(published.limits),
    }


def _errors(errors: Errors) -> dict[str, Fact]:
    return {
        "compared": errors.compared,
        "observed95": _observed(errors.quantile),
        "bias": _observed(errors.bias),
        "bias_standard_error": _observed(errors.spread),
    }


def _observed(value: Fraction | None) -> Fact:
    """What was observed, to a few digits."""
    return None if value is None else Number(plain(value, DIGITS))


def notes(findings: Findings) -> tuple[str, ...]:
    """What the findings mean, and what not."""
    plan = findings.plan
    found = [*WHOSE]
    unit = plan.spec.privacy.unit
    if isinstance(unit, PersonUnit):
        found.append(
            "limits: what the limits on people change on average, before any noise; "
            f"{findings.above or 0:,} of {findings.people or 0:,} synthetic people have more rows "
            f"than max_rows ({unit.rows:,}), and up to twice as many. Compare that with what you "
            "know of your data"
        )
    if findings.stopped is not None:
        found.append(
            f"quality: the check would have stopped {findings.stopped:,} of {findings.runs:,} runs "
            f"with {findings.rows:,} rows, all of them readable where no constant is declared"
        )
    if any(entry.entry.statistic.chooses for entry in plan.entries):
        found.append(
            "the error of a choice is by how much its utility falls short of the best; the plan "
            "bounds it for the worst data, and it is usually much smaller; best: the share of "
            "choices that no candidate was better than"
        )
    if any(entry.entry.selects for entry in plan.entries):
        found.append(
            "private keys: compared on the groups that were shown; "
            f"{note('selections.too_large')}, so noise is not judged where it selects"
        )
    if any(entry.entry.post for entry in plan.entries):
        found.append(
            "published numbers are compared after all steps of `post`, with what they would be "
            "without noise and without these steps"
        )
    return (*found, *(one.message for one in broken_problems(findings)))


def broken_problems(findings: Findings) -> list[Problem]:
    """For each question whose noise is not what the plan states: what was observed instead."""
    return [
        problem(
            "promise-broken",
            entry=name,
            role=asked.part.question.role,
            verdict=asked.verdict.value if asked.verdict else "",
            predicted=short(asked.predicted, DIGITS),
            percent=exact_or_up(findings.plan.spec.confidence * 100),
            observed=_few(asked.errors.quantile, DIGITS),
            count=asked.errors.compared,
        )
        for name, asked in findings.broken
    ]
