"""Reports of a simulation: data for programs, tables for people; no release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.fields.json import REPORT_VERSION, Fact, Facts, JsonNumber
from dpcli.numeric.exact import exact_or_up, rounded_text
from dpcli.planning.words.choices import simulated_bounds
from dpcli.planning.words.statistics import SELECTION_BIAS
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import count_text
from dpcli.version import __version__

if TYPE_CHECKING:
    from dpcli.simulation.errors import Observed
    from dpcli.simulation.trials import SelectedGroups, SimulationResult

HEADING = "simulation: synthetic data made from the spec, no release"
"""The title of the report of a simulation."""

DIGITS = 6
"""Significant digits of observed numbers."""

ANSWERS = {
    "role": "question", "mechanism": "mechanism", "compared": "answers",
    "predicted95": "predicted {}%", "observed95": "observed {}%", "within": "within",
    "best": "best", "bias": "bias", "bias_standard_error": "std error",
}  # fmt: skip
PUBLISHED = {
    "item": "item", "compared": "numbers", "stated95": "stated {}%",
    "observed95": "observed {}%", "held": "held", "bias": "bias",
    "bias_standard_error": "std error", "limits": "limits", "suppressed": "suppressed",
}  # fmt: skip
"""The columns of both tables: keys of facts, and their headings."""

SHARES = frozenset({"within", "best", "held", "suppressed"})
"""Facts that tables show as percentages."""

TextTable = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """The report of a simulation: `document` for programs, other fields for people.

    `what` states what was done, and what was not; `tables` are by their titles; `captions` explain.
    """

    document: Facts
    what: str
    tables: dict[str, TextTable]
    captions: list[str]


def simulation_report(findings: SimulationResult) -> SimulationReport:
    """The report of a simulation."""
    plan, entries = findings.plan, findings.statistics
    answers = [[trial.observed for trial in entry.query_trials] for entry in entries]
    numbers = [[item.observed for item in entry.published] for entry in entries]
    explained, assumed = list(_captions(findings)), list(simulated_bounds(findings.plan))
    document: Facts = {
        "simulation": True,
        "release": False,
        "dpcli_version": __version__,
        "report_version": REPORT_VERSION,
        "spec": {"dataset": plan.spec.dataset, "digest": plan.spec.digest},
        "synthetic": {
            "rows": findings.rows,
            "people": findings.people,
            "people_above_max_rows": findings.people_above_limit,
            "seed": findings.seed,
        },
        "runs": findings.runs,
        "samplings": findings.samplings,
        "stopped_by_quality": findings.stopped,
        "confidence": plan.spec.confidence,
        "fits": plan.fits,
        "statistics": [
            {
                "name": entry.name,
                "statistic": entry.statistic,
                "groups": _group_report(entry.selected_groups),
                "answers": [_row_report(row) for row in answered],
                "published": [_row_report(row) for row in published],
            }
            for entry, answered, published in zip(entries, answers, numbers, strict=True)
        ],
        "notes": [*assumed, *explained],
    }
    people = "" if findings.people is None else f" of {findings.people:,} people"
    runs, rows = count_text(findings.runs, "run"), f"{findings.rows:,} rows{people}"
    what = f"{plan.spec.dataset}: {rows}, seed {findings.seed}, {runs}"
    tables = {
        "errors of the noise, as dpcli plan predicts them and as they were": _table(
            ANSWERS, findings, answers
        ),
        "published numbers, less what they would be without noise": _table(
            PUBLISHED, findings, numbers
        ),
    }
    groups = [
        f"{entry.name}: {rounded_text(g.average)} of {g.groups:,} groups shown on average"
        for entry in entries
        if (g := entry.selected_groups) is not None
    ]
    return SimulationReport(document, "\n".join([what, *assumed]), tables, [*groups, *explained])


def _group_report(groups: SelectedGroups | None) -> Fact:
    return groups and {"in_synthetic": groups.groups, "shown_on_average": _value(groups.average)}


def _row_report(row: Observed) -> Facts:
    """A row of the report: predicted numbers exact, observed ones with few digits."""
    exact = {key: value for key, value in row.items() if key == "predicted95"}
    return {key: _value(value) for key, value in row.items()} | exact


def _value(value: int | str | Fraction | None) -> Fact:
    if not isinstance(value, Fraction):
        return value
    return JsonNumber(rounded_text(value, DIGITS, plain=True))


def _table(
    columns: Mapping[str, str], findings: SimulationResult, rows: Sequence[Sequence[Observed]]
) -> TextTable:
    """The rows of all statistics without empty columns; each name is shown once."""
    percent = exact_or_up(findings.plan.spec.confidence * 100)
    lines = [
        {
            "statistic": entry.name if index == 0 else "",
            **{heading.format(percent): _cell(key, row) for key, heading in columns.items()},
        }
        for entry, own in zip(findings.statistics, rows, strict=True)
        for index, row in enumerate(own)
    ]
    keys = [key for key in (lines[0] if lines else ()) if any(line[key] for line in lines)]
    return [{key: line[key] for key in keys} for line in lines]


def _cell(key: str, row: Observed) -> str:
    value = row[key]
    if value is None or (key == "suppressed" and not value):
        return ""
    # The error of a choice is never negative, so its mean is no bias.
    if key.startswith("bias") and row.get("best") is not None:
        return ""
    if isinstance(value, Fraction):
        return f"{float(value * 100):.1f}%" if key in SHARES else rounded_text(value)
    return f"{value:,}" if isinstance(value, int) else value


def _captions(findings: SimulationResult) -> Iterator[str]:
    """What the findings mean, and what they do not mean."""
    plan = findings.plan
    unit, entries = plan.spec.privacy.unit, [planned.entry for planned in plan.statistics]
    yield (
        "predicted: the error that `dpcli plan` states; observed: the error that this "
        "percentage of errors did not exceed; within: the share that did not exceed the "
        "predicted one; errors of dates are in days"
    )
    yield (
        "stated: the median half-width of published intervals; held: the share of intervals "
        "that contained the number without noise; bias: the mean error, with its standard "
        "error"
    )
    yield (
        "errors are those of the noise: noisy numbers minus the same without noise, of the "
        "same synthetic rows, sampled alike, clamped to bounds and filled where they are "
        "missing"
    )
    yield (
        "the rows are synthetic: errors of counts and sums will be like these with any data; "
        "those of means, quantiles and other numbers made of several answers depend on the "
        "data"
    )
    if isinstance(unit, PersonUnit) and findings.people_above_limit is not None:
        above, people = findings.people_above_limit, findings.people or 0
        units = [one.unit for one in plan.statistics]
        own = [
            unit.max_rows for unit in units if isinstance(unit, PersonUnit) and not unit.of_people
        ]
        limit = f"max_rows ({unit.max_rows:,})"
        if max(own, default=0) > unit.max_rows:
            limit = f"the largest max_rows ({max(own):,})"
        yield (
            "limits: what the limits on people change on average, before any noise; "
            f"{above:,} of {people:,} synthetic people have more rows than {limit}, and up to "
            "twice as many. Compare that with what you know of your data"
        )
    if findings.stopped is not None:
        runs = f"{findings.stopped:,} of {findings.runs:,} runs"
        yield (
            f"quality: the check would have stopped {runs} with {findings.rows:,} rows, all of "
            "them readable where no constant is declared"
        )
    if any(entry.statistic.chooses for entry in entries):
        yield (
            "the error of a choice is by how much its utility falls short of the best; the "
            "plan bounds it for the worst data, and it is usually much smaller; that of "
            "quantiles is for values that lie densely and evenly; best: the share of choices that "
            "no candidate was better than"
        )
    if any(entry.selects_partitions for entry in entries):
        yield (f"private keys: compared on the groups that were shown; {SELECTION_BIAS}")
    if any(entry.post for entry in entries):
        yield (
            "published numbers are compared after all steps of `post`, with what they would "
            "be without noise and without these steps"
        )
