"""What a report says of hazards, and what the steward declares."""

from __future__ import annotations

from collections.abc import Iterator

from dpcli.plan.judging import Verdict
from dpcli.plan.model import Plan
from dpcli.plan.risks import Finding, hazards
from dpcli.report.numbers import Fact
from dpcli.spec.model import Declarations


def stewardship_facts(plan: Plan, window: int | None = None) -> dict[str, Fact]:
    """What is found of each hazard, and what the steward declares."""
    return {
        "hazards": _hazards(plan, window),
        "declarations": _declarations(plan.spec.declarations),
    }


def _hazards(plan: Plan, window: int | None) -> list[Fact]:
    """What is found of each hazard; `answer` is what the steward declares."""
    return [
        {
            "hazard": one.hazard,
            "question": one.question,
            "verdict": one.verdict.value,
            "found": one.words,
            "answer": one.declared or None,
            "declared_as": one.asks or None,
        }
        for one in hazards(plan, window)
    ]


def _declarations(declared: Declarations) -> Fact:
    """What the spec declares beside what it asks; None if it declares nothing."""
    told: dict[str, Fact] = {}
    if declared.population is not None:
        told["population"] = declared.population
    told.update(declared.answers)
    return told or None


def descriptions(declared: Declarations) -> list[tuple[str, str]]:
    """Who publishes, for what and of which place, where the spec says so."""
    told = (
        ("Published by", declared.answer("curator")),
        ("Meant for", declared.answer("intended_use")),
        ("Region", declared.answer("region")),
    )
    return [(words, text) for words, text in told if text]


def sentences(found: Finding) -> Iterator[str]:
    """What is found of a hazard, and the answer to it or how to give one."""
    yield f"{capital(found.words)}."
    if found.declared:
        yield f"The steward declares: {found.declared}"
    elif found.verdict is Verdict.OPEN:
        yield f"To answer it, declare `{found.asks or 'population'}` in the spec."


def capital(sentence: str) -> str:
    """A sentence with a capital, unless it begins with the names of what it is about."""
    named = sentence.split(" ", maxsplit=1)[0].endswith((":", ","))
    return sentence if named else sentence[:1].upper() + sentence[1:]
