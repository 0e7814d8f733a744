"""What a release is charged for, as the ledger records it."""

from __future__ import annotations

import datetime

from dpcli.ledger.charge import Charge
from dpcli.ledger.terms import Payload, terms_of
from dpcli.plan.model import Part, Plan, PlannedEntry
from dpcli.privacy.noise import CHOICE
from dpcli.queries import ScoreQuery
from dpcli.spec.model import Response


def now() -> str:
    """The date and time of a release in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def charge_for(plan: Plan, release_id: str, period: str | None) -> Charge:
    """What a release of a plan will be charged for, now."""
    spec, parts = plan.spec, charged_parts(plan)
    terms, opens = terms_of(spec), not spec.must_exist
    return Charge(terms, release_id, spec.digest, now(), period, parts, opens=opens)


def charged_parts(plan: Plan) -> tuple[Payload, ...]:
    """Every answer of a plan, as the ledger records it.

    In the local model, the responses of one record: each record is charged for its own.
    """
    if plan.is_local:
        return tuple(_response(response) for response in plan.spec.responses)
    return tuple(_part(planned, part) for planned in plan.priced for part in planned.parts)


def _part(planned: PlannedEntry, part: Part) -> Payload:
    """One answer, with its query, sensitivities, noise and loss."""
    query, rule, loss = part.question.query, part.selection, part.loss
    choice = part.noise.distribution == CHOICE
    return {
        "statistic": planned.name,
        "question": part.question.role,
        "mechanism": part.mechanism.name if choice else part.noise.kind,
        "joint": planned.joint,
        **({"disjoint": list(planned.branch)} if planned.branch else {}),
        "scale": str(part.noise.scale),
        "unit": str(part.question.unit),
        "cells": query.cells,
        "l0": part.sensitivity.l0,
        "l1": str(part.sensitivity.l1),
        "l2_squared": str(part.sensitivity.l2_squared),
        "linf": str(part.sensitivity.linf),
        "epsilon": str(loss.epsilon),
        "delta": str(loss.delta),
        **(
            {"candidates": query.width, "picks": query.picks}
            if isinstance(query, ScoreQuery)
            else {}
        ),
        **({"threshold": str(rule.threshold), "keys_delta": str(rule.delta)} if rule else {}),
    }


def _response(response: Response) -> Payload:
    """One response, with the exact parameters of its channel."""
    loss = response.channel.loss
    return {
        "statistic": response.column.name,
        "question": "response",
        "mechanism": response.randomizer.name,
        "joint": False,
        "epsilon": str(loss.epsilon),
        "delta": str(loss.delta),
        **response.channel.record(),
    }
