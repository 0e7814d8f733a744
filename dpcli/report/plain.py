"""Facts as plain data with stable keys, as the JSON report holds them.

A function of the spec, the released values, the version, and the release's name and date. No
row counts, no digests of the data, no timings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.ledger.balance import DAYS_A_YEAR
from dpcli.plan.meaning import meaning, promise
from dpcli.plan.model import Plan
from dpcli.plan.notes import bounding, composing, limits, post_processing, selections, unprotected
from dpcli.plan.numbers import Fact, number
from dpcli.plan.risks import risks
from dpcli.privacy.loss import Loss
from dpcli.privacy.relation import RowUnit, Unit
from dpcli.report.entries import cell_facts, response_facts, statistic_facts
from dpcli.report.quality import quality_facts
from dpcli.report.table import flag_facts
from dpcli.stored_simulation import simulation_facts

if TYPE_CHECKING:
    from dpcli.ledger.charge import Standing
    from dpcli.local.randomize import Randomized
    from dpcli.release import Release


def release_data(release: Release) -> dict[str, Fact]:
    """Everything that the report of a release states."""
    plan = release.plan
    statistics: list[Fact] = [
        {**statistic_facts(released.planned, plan.spec), "cells": cell_facts(released)}
        for released in release.entries
    ]
    simulated = release.simulated
    return {
        "dpcli_version": __version__,
        "release_id": release.release_id,
        "created": release.created,
        **guarantee_facts(plan, release.standing.balance.remaining, release.standing.before),
        "quality": quality_facts(plan, release.checked),
        "statistics": statistics,
        **notes_facts(plan),
        **({"simulation": simulation_facts(simulated, plan)} if simulated else {}),
        **stewardship_facts(plan, release.standing.terms.window),
        "ledger": _ledger(release.standing),
    }


def collection_data(collection: Randomized) -> dict[str, Fact]:
    """Everything that the report of a local collection states."""
    plan = collection.plan
    return {
        "dpcli_version": __version__,
        "model": "local",
        "release_id": collection.release_id,
        "created": collection.created,
        **guarantee_facts(plan, collection.standing.balance.remaining, collection.standing.before),
        "responses": [response_facts(one) for one in plan.spec.responses],
        "shuffled": collection.shuffled,
        "responses_sha256": collection.digest,
        "unprotected": list(unprotected(plan)),
        "limits": list(limits(plan, shuffled=collection.shuffled)),
        **stewardship_facts(plan, collection.standing.terms.window),
        "ledger": _ledger(collection.standing),
    }


def guarantee_facts(plan: Plan, left: Loss | None, before: Loss | None = None) -> dict[str, Fact]:
    """The spec, what it asks for, and what that costs and means.

    What was spent `before` and what is `left` of the budget are stated if they are known.
    """
    spec, privacy = plan.spec, plan.spec.privacy
    return {
        "spec": {"dataset": spec.dataset, "digest": spec.digest, "text": spec.text},
        "privacy": {
            "unit": _unit(privacy.unit),
            "neighbors": privacy.neighbors.value,
            "composition": privacy.composition.name,
            "asked": loss_fact(plan.asked),
            "spent": loss_fact(plan.spent),
            "bound": plan.bound.name,
            "budget": loss_fact(privacy.budget),
            "before": loss_fact(before) if before else None,
            "remaining": loss_fact(left) if left else None,
            "promise": promise(spec),
            "meaning": list(meaning(plan)),
        },
        "confidence": number(spec.confidence),
    }


def window_facts(standing: Standing) -> dict[str, Fact] | None:
    """What a window protects and what not, with the loss of each span of time."""
    window = standing.terms.window
    if window is None:
        return None
    return {
        "periods": window,
        "period": standing.period,
        "per_window": loss_fact(standing.balance.spent),
        "per_year_at_most": loss_fact(a_year_at_most(standing)),
        "lifetime": loss_fact(standing.balance.lifetime),
        "protects": (
            f"what any person did within any {window} consecutive days, whatever is known of "
            "the other days, provided that the data of each release contain only what was done on "
            "the day that it names"
        ),
        "does_not_protect": (
            "a person who is in the data in every window: what they reveal adds up over windows, "
            "to the loss per year and over the lifetime"
        ),
    }


def a_year_at_most(standing: Standing) -> Loss:
    """What the budget of a window allows in a year, which a number of windows cover."""
    windows, budget = -(-DAYS_A_YEAR // (standing.terms.window or 1)), standing.terms.budget
    return Loss(budget.epsilon * windows, budget.delta * windows)


def loss_fact(loss: Loss) -> dict[str, Fact]:
    """Epsilon and delta; rho where the composition counts in it."""
    rho = None if loss.rho is None else number(loss.rho)
    return {"epsilon": number(loss.epsilon), "delta": number(loss.delta), "rho": rho}


def notes_facts(plan: Plan) -> dict[str, Fact]:
    """What is said in sentences."""
    return {
        "bounding": list(bounding(plan)),
        "composition": list(composing(plan)),
        "selections": list(selections(plan)),
        "flags": flag_facts(plan.spec.confidence),
        "post_processing": list(post_processing(plan)),
        "unprotected": list(unprotected(plan)),
        "limits": list(limits(plan)),
    }


def stewardship_facts(plan: Plan, window: int | None) -> dict[str, Fact]:
    """What is found of each risk, and what the data owner declares; None if nothing is."""
    declared = plan.spec.declarations
    declarations: dict[str, Fact] = dict(declared.answers)
    if declared.population is not None:
        declarations = {"population": declared.population, **declarations}
    return {
        "hazards": [
            {
                "hazard": one.risk,
                "question": one.question,
                "verdict": one.verdict.value,
                "found": one.words,
                "answer": one.declared or None,
                "declared_as": one.asks or None,
            }
            for one in risks(plan, window)
        ],
        "declarations": declarations or None,
    }


def _ledger(standing: Standing) -> dict[str, Fact]:
    window = window_facts(standing)
    return {
        "name": standing.ledger,
        "entry": standing.entry,
        "head": standing.head,
        "first_release": standing.first,
        **({"window": window} if window is not None else {}),
    }


def _unit(unit: Unit) -> Fact:
    """Who is protected, as a spec says it."""
    if isinstance(unit, RowUnit):
        return "row"
    return {
        "column": unit.column,
        "max_rows": unit.rows,
        "max_groups": unit.cells,
        "max_rows_per_group": unit.rows_per_cell,
    }
