"""Sentences about how the queries of a statistic were designed."""

from __future__ import annotations

from dpcli.planning.plan import CentralPlan


def design_notes(plan: CentralPlan) -> list[str]:
    """Why queries answer each statistic; a sentence that several share has all their names."""
    names: dict[str, list[str]] = {}
    for planned in plan.statistics:
        for sentence in planned.design.sentences(planned.noises, plan.spec.confidence):
            names.setdefault(sentence, []).append(planned.name)
    return [f"{', '.join(sharing)}: {sentence}" for sentence, sharing in names.items()]
