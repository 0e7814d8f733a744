"""The findings of a simulation as plain data and in sentences; it is no release."""

from __future__ import annotations

from fractions import Fraction

from dpcli import __version__
from dpcli.plan.model import Plan
from dpcli.privacy.relation import PersonUnit
from dpcli.report.entries import mechanism_text
from dpcli.report.notes import SELECTED
from dpcli.report.numbers import (
    Fact,
    Number,
    exact_or_up,
    json_text,
    number,
    plain_short,
    short,
)
from dpcli.simulation.noise_test import Asked, Errors
from dpcli.simulation.trials import Findings, Shown, Told

HEADING = "simulation: dummy data made from the spec, no release"
"""What stands above everything that a simulation tells."""

WHOSE = (
    (
        "predicted: the error as `dpcli plan` tells it; observed: what so many percent of errors "
        "did not exceed; within: how many did not exceed the predicted one"
    ),
    (
        "stated: the median half-width of published intervals; held: how many of the intervals "
        "held the number without noise; bias: the mean error, with its standard error"
    ),
    (
        "errors are those of the noise: noisy numbers less the same without noise, of the same "
        "dummy rows, equally drawn by lot, clamped to bounds and filled where they are missing"
    ),
    (
        "the rows are invented: errors of counts and sums will be like these with any data, those "
        "of means, quantiles and whatever else is made of several answers depend on the data"
    ),
)
"""What every reader of findings must know."""

DIGITS = 6
"""Significant digits of what was observed."""


def simulation_json(findings: Findings) -> str:
    """The findings as JSON, for scripts."""
    plan = findings.plan
    return json_text(
        {
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
            "confidence": number(plan.spec.confidence),
            "fits": plan.fits,
            "kept": not findings.broken,
            "statistics": [
                {
                    "name": entry.name,
                    "statistic": entry.statistic,
                    "groups": _shown(entry.shown),
                    "answers": [_asked(asked) for asked in entry.asked],
                    "published": [_told(told) for told in entry.told],
                }
                for entry in findings.entries
            ],
            "notes": list(notes(findings)),
        }
    )


def _asked(asked: Asked) -> Fact:
    """The answers to a question."""
    return {
        "role": asked.part.question.role,
        "mechanism": mechanism_text(asked.part),
        "predicted95": number(asked.predicted),
        **_errors(asked.errors),
        "within": _observed(asked.within),
        "best": _observed(asked.best),
        "verdict": asked.verdict.value if asked.verdict else None,
    }


def _told(told: Told) -> Fact:
    """Published numbers."""
    return {
        "item": told.item or None,
        "stated95": _observed(told.stated),
        **_errors(told.errors),
        "held": _observed(told.held),
        "suppressed": _observed(told.left_out),
        "without_interval": _observed(told.without),
        "limits": _observed(told.limits),
    }


def _errors(errors: Errors) -> dict[str, Fact]:
    """How far numbers were off."""
    return {
        "compared": errors.compared,
        "observed95": _observed(errors.quantile),
        "bias": _observed(errors.bias),
        "bias_standard_error": _observed(errors.spread),
    }


def _shown(shown: Shown | None) -> Fact:
    """How many private groups were shown."""
    if shown is None:
        return None
    return {"in_dummy": shown.groups, "shown_on_average": _observed(shown.shown)}


def _observed(value: Fraction | None) -> Fact:
    """What was observed, to a few digits."""
    return None if value is None else Number(plain_short(value, DIGITS))


def notes(findings: Findings) -> tuple[str, ...]:
    """What the findings mean, and what not."""
    plan = findings.plan
    told = [*WHOSE]
    unit = plan.spec.privacy.unit
    if isinstance(unit, PersonUnit):
        told.append(
            "limits: what the limits on people change on average, before any noise; "
            f"{findings.above or 0:,} of {findings.people or 0:,} invented people have more rows "
            f"than max_rows ({unit.rows:,}), and up to twice as many: how many of yours do?"
        )
    if findings.stopped is not None:
        told.append(
            f"quality: the check would have stopped {findings.stopped:,} of {findings.runs:,} runs "
            f"with {findings.rows:,} rows, all of them readable where no constant is declared"
        )
    if any(entry.entry.statistic.chooses for entry in plan.entries):
        told.append(
            "the error of a choice is by how much its utility falls short of the best; the plan "
            "bounds it for the worst data, and it is usually much smaller; best: how many choices "
            "nothing was better than"
        )
    if any(entry.entry.selects for entry in plan.entries):
        told.append(
            f"private keys: compared on the groups that were shown; {SELECTED}, so noise is not "
            "judged where it selects"
        )
    if any(entry.entry.post for entry in plan.entries):
        told.append(
            "published numbers are compared after all steps of `post`, with what they would be "
            "without noise and without these steps"
        )
    return (*told, *(broken_text(name, asked, plan) for name, asked in findings.broken))


def broken_text(name: str, asked: Asked, plan: Plan) -> str:
    """That noise is not what the plan says."""
    assert asked.verdict is not None
    percent = exact_or_up(plan.spec.confidence * 100)
    seen = asked.errors.quantile
    assert seen is not None
    return (
        f"{name}: the error of `{asked.part.question.role}` is {asked.verdict.value}: "
        f"{short(asked.predicted, DIGITS)} with {percent}% confidence, observed "
        f"{short(seen, DIGITS)} on {asked.errors.compared:,} answers"
    )
