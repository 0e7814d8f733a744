"""What randomizing a file is charged for: the responses of one record."""

from __future__ import annotations

from dpcli.ledger.charge import Charge
from dpcli.ledger.terms import Payload, terms_of
from dpcli.plan.local import LocalPlan
from dpcli.spec.local_model import Response


def charge_for(plan: LocalPlan, release_id: str, created: str, period: str | None) -> Charge:
    """The responses of one record: each record pays for its own, and the worst pays this."""
    parts = tuple(_part(response) for response in plan.spec.responses)
    spec = plan.spec
    terms, opens = terms_of(spec), not spec.must_exist
    return Charge(terms, release_id, spec.digest, created, period, parts, opens=opens)


def _part(response: Response) -> Payload:
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
