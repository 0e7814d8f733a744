"""What a privacy report says, as plain data: the one source of every format.

A function of the spec, the released values, the version, and the release's name
and date. No row counts, no digests of the data, no timings.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.ledger.balance import DAYS_A_YEAR
from dpcli.plan.compare import changes, compare, error_of, kind_of, loss_of, rho_of
from dpcli.plan.model import Plan
from dpcli.privacy.loss import Loss
from dpcli.privacy.relation import RowUnit, Unit
from dpcli.report.entries import cell_facts, statistic_facts
from dpcli.report.flags import flag_facts
from dpcli.report.meaning import meaning, promise
from dpcli.report.notes import bounding, composing, limits, post_processing, selections, unprotected
from dpcli.report.numbers import Fact, number
from dpcli.report.quality import quality_facts
from dpcli.report.simulated import simulation_facts
from dpcli.report.stewardship import stewardship_facts

if TYPE_CHECKING:
    from dpcli.ledger.charge import Standing
    from dpcli.ledger.outlook import Outlook, Repeated
    from dpcli.release import Release


def facts(release: Release) -> dict[str, Fact]:
    """Everything that the report of a release tells."""
    plan = release.plan
    statistics: list[Fact] = [
        {**statistic_facts(released.planned, plan.spec), "cells": cell_facts(released)}
        for released in release.entries
    ]
    return {
        "dpcli_version": __version__,
        "release_id": release.release_id,
        "created": release.created,
        **guarantee_facts(plan, release.standing.balance.remaining, release.standing.before),
        "quality": quality_facts(plan, release.checked),
        "statistics": statistics,
        **_notes(plan),
        **({"simulation": simulation_facts(release.simulated, plan)} if release.simulated else {}),
        **stewardship_facts(plan, release.standing.terms.window),
        "ledger": ledger_facts(release.standing),
    }


def plan_facts(plan: Plan, found: Outlook, *, compared: bool = False) -> dict[str, Fact]:
    """What is known of a release before any row is read, and what the ledger says to it.

    If `compared`, also what it would cost under every composition.
    """
    return {
        "dpcli_version": __version__,
        **outlook_facts(plan, found),
        "quality": quality_facts(plan),
        "statistics": [statistic_facts(planned, plan.spec) for planned in plan.entries],
        **_notes(plan),
        **stewardship_facts(plan, found.window),
        **({"compared": comparison_facts(plan)} if compared else {}),
    }


def outlook_facts(plan: Plan, found: Outlook) -> dict[str, Fact]:
    """The guarantee, whether a release would be allowed, and what its account says.

    What `remaining` is left is that after the release; nothing is known of it if it is refused.
    """
    before, after, times = found.before, found.after, found.repeated
    refused = found.refused.problems if found.refused else ()
    return {
        **guarantee_facts(
            plan, after.remaining if after else None, before.spent if before else None
        ),
        "fits": found.refused is None,
        "account": {
            "ledger": str(found.ledger),
            "ledger_exists": found.exists,
            "opened": found.terms is not None,
            "window": found.window,
            "refused": [{"code": one.code, "message": one.message} for one in refused],
            "shares_files_with": list(found.shared),
        },
        "times": None if times is None else _times(times),
    }


def _times(found: Repeated) -> Fact:
    """How many runs were asked about, and how many the account allows."""
    return {
        "asked": found.asked,
        "fits": found.fits,
        "needed": loss_fact(found.needed),
        "most": found.most,
        "exact": found.exact,
    }


def comparison_facts(plan: Plan) -> list[Fact]:
    """What the answers cost under every composition."""
    return [
        {
            "composition": one.name,
            "total": None if one.bound is None else loss_fact(one.bound.loss),
            "bound": None if one.bound is None else one.bound.name,
            "fits": one.fits,
            "cheapest": one.cheapest,
            "needs": one.needs or None,
        }
        for one in compare(plan)
    ]


def difference_facts(old: Plan, new: Plan, weaker: Sequence[str]) -> dict[str, Fact]:
    """What a change of the spec does to each statistic and in all."""

    def both(values: tuple[Fraction | None, Fraction | None]) -> Fact:
        return [None if value is None else number(value) for value in values]

    pairs = changes(old, new)
    confidences = (old.spec.confidence, new.spec.confidence)
    return {
        "statistics": [
            {
                "name": one.name,
                "change": kind_of(one) or None,
                "epsilon": both((loss_of(one.before), loss_of(one.after))),
                "rho": both((rho_of(one.before), rho_of(one.after))),
                "error95": both(
                    (error_of(one.before, confidences[0]), error_of(one.after, confidences[1]))
                ),
            }
            for one in pairs
        ],
        "spent": [loss_fact(old.spent), loss_fact(new.spent)],
        "weaker": list(weaker),
    }


def _notes(plan: Plan) -> dict[str, Fact]:
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


def ledger_facts(standing: Standing) -> dict[str, Fact]:
    """Where the release is recorded, and what its account has spent with it."""
    told: dict[str, Fact] = {
        "name": standing.ledger,
        "entry": standing.entry,
        "head": standing.head,
        "first_release": standing.first,
    }
    if standing.terms.window is not None:
        told["window"] = window_facts(standing)
    return told


def beginning(standing: Standing) -> tuple[str, str]:
    """Whether the history of the account begins here: also where a ledger was lost before."""
    return "First release of this account in this ledger", "yes" if standing.first else "no"


def window_facts(standing: Standing) -> dict[str, Fact]:
    """What a window protects and what not, with the loss of each span of time."""
    window = standing.terms.window or 1
    return {
        "periods": window,
        "period": standing.period,
        "per_window": loss_fact(standing.balance.spent),
        "per_year_at_most": loss_fact(a_year_at_most(standing)),
        "lifetime": loss_fact(standing.balance.lifetime),
        "protects": (
            f"what anybody did within any {window} consecutive days, whatever is known of "
            "the other days, provided that the data of each release hold only what was done on "
            "the day that it names"
        ),
        "does_not_protect": (
            "somebody who is in the data in every window: what they reveal adds up over "
            "windows, to the loss per year and for ever"
        ),
    }


def a_year_at_most(standing: Standing) -> Loss:
    """What the budget of a window allows in a year: so many windows cover it."""
    windows, budget = -(-DAYS_A_YEAR // (standing.terms.window or 1)), standing.terms.budget
    return Loss(budget.epsilon * windows, budget.delta * windows)


def guarantee_facts(plan: Plan, left: Loss | None, before: Loss | None = None) -> dict[str, Fact]:
    """The spec, what it asks for, and what that costs and means.

    What was spent `before` and what is `left` of the budget are told if they are known.
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
            "promise": promise(privacy),
            "meaning": list(meaning(plan)),
        },
        "confidence": number(spec.confidence),
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


def loss_fact(loss: Loss) -> dict[str, Fact]:
    """Epsilon and delta; rho where the composition counts in it."""
    rho = None if loss.rho is None else number(loss.rho)
    return {"epsilon": number(loss.epsilon), "delta": number(loss.delta), "rho": rho}
