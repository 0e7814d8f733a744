"""The facts of a simulation: findings as plain data and as tables; no release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from dpcli.simulation.trials import Findings, PublishedItem

HEADING = "simulation: synthetic data made from the spec, no release"
"""What stands above everything that a simulation states."""

DIGITS = 6
"""Significant digits of what was observed."""

ANSWERS = {
    "role": "question", "mechanism": "mechanism", "compared": "answers",
    "predicted95": "predicted {}%", "observed95": "observed {}%", "within": "within",
    "best": "best", "bias": "bias", "bias_standard_error": "std error", "verdict": "verdict",
}  # fmt: skip
PUBLISHED = {
    "item": "item", "compared": "numbers", "stated95": "stated {}%",
    "observed95": "observed {}%", "held": "held", "bias": "bias",
    "bias_standard_error": "std error", "limits": "limits", "suppressed": "suppressed",
}  # fmt: skip
"""The columns of both tables: which fact each shows, and how it is headed."""

SHARES = frozenset({"within", "best", "held", "suppressed"})
"""Facts that tables show as percentages."""

BIAS = frozenset({"bias", "bias_standard_error"})

Row = dict[str, int | str | Fraction | None]


def simulation_facts(findings: Findings) -> Facts:
    """What is stated about a simulation: data for programs, and both tables for people."""
    plan = findings.plan
    answers = [[_answer(asked) for asked in entry.asked] for entry in findings.entries]
    numbers = [[_number(item) for item in entry.published] for entry in findings.entries]
    explained = list(notes(findings))
    data: dict[str, Fact] = {
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
                    "shown_on_average": _fact("shown_on_average", entry.shown.shown),
                },
                "answers": [{key: _fact(key, row[key]) for key in row} for row in asked],
                "published": [{key: _fact(key, row[key]) for key in row} for row in published],
            }
            for entry, asked, published in zip(findings.entries, answers, numbers, strict=True)
        ],
        "notes": list(explained),
    }
    what = note(
        "simulation.what",
        dataset=plan.spec.dataset,
        rows=findings.rows,
        people="" if findings.people is None else f" of {findings.people:,} people",
        seed=str(findings.seed),
        runs=many(findings.runs, "run"),
    )
    groups = [
        note(
            "simulation.groups",
            name=one.name,
            shown=short(one.shown.shown),
            groups=one.shown.groups,
        )
        for one in findings.entries
        if one.shown is not None
    ]
    sections = (
        Section(note("simulation.answers"), table=_table(ANSWERS, findings, answers)),
        Section(note("simulation.published"), table=_table(PUBLISHED, findings, numbers)),
        Section(note("simulation.meaning"), points=(*groups, *explained)),
    )
    shown = tuple(one for one in sections if one.table is None or one.table.rows)
    return Facts(HEADING, data, (what,), shown)


def _answer(asked: Asked) -> Row:
    return {
        "role": asked.part.question.role,
        "mechanism": mechanism_text(asked.part),
        "predicted95": asked.predicted,
        **_errors(asked.errors),
        "within": asked.within,
        "best": asked.best,
        "verdict": asked.verdict.value if asked.verdict else None,
    }


def _number(published: PublishedItem) -> Row:
    return {
        "item": published.item or None,
        "stated95": published.stated,
        **_errors(published.errors),
        "held": published.held,
        "suppressed": published.left_out,
        "without_interval": published.without,
        "limits": published.limits,
    }


def _errors(errors: Errors) -> Row:
    return {
        "compared": errors.compared,
        "observed95": errors.quantile,
        "bias": errors.bias,
        "bias_standard_error": errors.spread,
    }


def _fact(key: str, value: int | str | Fraction | None) -> Fact:
    """A value for programs: what was observed, to a few digits; what was predicted, exactly."""
    if isinstance(value, Fraction) and key != "predicted95":
        return Number(plain(value, DIGITS))
    return value


def _table(columns: Mapping[str, str], findings: Findings, rows: Sequence[Sequence[Row]]) -> Table:
    """The rows of all entries, each named once, without the columns that are empty."""
    cells = [
        [entry.name if place == 0 else "", *(_cell(key, row) for key in columns)]
        for entry, own in zip(findings.entries, rows, strict=True)
        for place, row in enumerate(own)
    ]
    percent = exact_or_up(findings.plan.spec.confidence * 100)
    header = ["statistic", *(heading.format(percent) for heading in columns.values())]
    kept = [place for place in range(len(header)) if any(row[place] for row in cells)]
    return Table(
        tuple(header[place] for place in kept),
        tuple(tuple(row[place] for place in kept) for row in cells),
    )


def _cell(key: str, row: Row) -> str:
    value = row[key]
    if key == "verdict":
        return str(value or "not judged")
    if value is None or (key == "suppressed" and not value):
        return ""
    # The error of a choice is never below zero: its mean is no bias.
    if key in BIAS and row.get("best") is not None:
        return ""
    if isinstance(value, Fraction):
        return f"{float(value * 100):.1f}%" if key in SHARES else short(value)
    return f"{value:,}" if isinstance(value, int) else value


def notes(findings: Findings) -> Iterator[str]:
    """What the findings mean, and what not."""
    plan = findings.plan
    unit, entries = plan.spec.privacy.unit, [planned.entry for planned in plan.entries]
    yield from (note(f"simulation.{key}") for key in ("errors", "intervals", "noise", "synthetic"))
    if isinstance(unit, PersonUnit):
        above, people = findings.above or 0, findings.people or 0
        yield note("simulation.limits", above=above, people=people, rows=unit.rows)
    if findings.stopped is not None:
        stopped, runs, rows = findings.stopped, findings.runs, findings.rows
        yield note("simulation.stopped", stopped=stopped, runs=runs, rows=rows)
    if any(entry.statistic.chooses for entry in entries):
        yield note("simulation.choices")
    if any(entry.selects for entry in entries):
        yield note("simulation.selected", too_large=note("selections.too_large"))
    if any(entry.post for entry in entries):
        yield note("simulation.post")
    yield from (one.message for one in broken_problems(findings))


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
            observed=short(asked.errors.quantile or Fraction(0), DIGITS),
            count=asked.errors.compared,
        )
        for name, asked in findings.broken
    ]
