"""The JSON of plans and of their differences, and the schema of reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.plan.compare import Pair, changes, compare
from dpcli.plan.model import Plan
from dpcli.plan.notes import limits, shuffle_condition, unprotected
from dpcli.plan.numbers import Fact, json_text, number
from dpcli.privacy.amplification import Shuffled
from dpcli.report.entries import response_facts, statistic_facts
from dpcli.report.plain import guarantee_facts, loss_fact, notes_facts, stewardship_facts
from dpcli.report.quality import quality_facts

if TYPE_CHECKING:
    from dpcli.ledger.account import Outlook


def report_schema() -> str:
    """The JSON Schema of the reports of releases and of local collections."""
    return Path(__file__).with_name("report.schema.json").read_text(encoding="utf-8")


def plan_json(
    plan: Plan,
    found: Outlook,
    *,
    compared: bool = False,
    records: int | None = None,
    amplified: Shuffled | None = None,
) -> str:
    """What is known of a release or collection before any row is read, and of its account.

    If `compared`, also what it would cost under every composition. In the local model,
    `records` give the expected errors, and `amplified` is the central guarantee of responses
    in random order.
    """
    start: dict[str, Fact] = {"dpcli_version": __version__}
    rest: dict[str, Fact]
    if plan.is_local:
        start["model"] = "local"
        rest = {
            "records": records,
            "responses": [response_facts(one, records) for one in plan.spec.responses],
            "unprotected": list(unprotected(plan)),
            "limits": list(limits(plan, shuffled=amplified is not None)),
        }
    else:
        rest = {
            "quality": quality_facts(plan),
            "statistics": [statistic_facts(planned, plan.spec) for planned in plan.entries],
            **notes_facts(plan),
        }
    stewardship = stewardship_facts(plan, found.window)
    data = {**start, **_outlook(plan, found), **rest, **stewardship}
    if amplified is not None:
        epsilon = amplified.epsilon
        data["shuffled"] = {
            "records": amplified.records,
            "delta": number(amplified.delta),
            "epsilon": None if epsilon is None else number(epsilon),
            "enough_records": amplified.enough,
            "condition": shuffle_condition(plan),
        }
    return json_text({**data, **({"compared": _comparison(plan)} if compared else {})})


def difference_json(old: Plan, new: Plan, weaker: Sequence[str]) -> str:
    """What a change of the spec does to each statistic and in all, and why it is weaker."""

    def both(values: Pair) -> Fact:
        return [None if value is None else number(value) for value in values]

    return json_text(
        {
            "statistics": [
                {
                    "name": one.name,
                    "change": one.kind or None,
                    "epsilon": both(one.epsilon),
                    "rho": both(one.rho),
                    "error95": both(one.error),
                }
                for one in changes(old, new)
            ],
            "spent": [loss_fact(old.spent), loss_fact(new.spent)],
            "weaker": list(weaker),
        }
    )


def _outlook(plan: Plan, found: Outlook) -> dict[str, Fact]:
    """The guarantee, whether a release would be allowed, and what its account says.

    What `remaining` is left is that after the release; nothing is known of it if it is refused.
    """
    before, after, times = found.before, found.after, found.repeated
    refused = found.refused.problems if found.refused else ()
    left, spent = after.remaining if after else None, before.spent if before else None
    return {
        **guarantee_facts(plan, left, spent),
        "fits": found.refused is None,
        "account": {
            "ledger": str(found.ledger),
            "ledger_exists": found.exists,
            "opened": found.terms is not None,
            "window": found.window,
            "refused": [{"code": one.code, "message": one.message} for one in refused],
            "shares_files_with": list(found.shared),
        },
        "times": None
        if times is None
        else {
            "asked": times.asked,
            "fits": times.fits,
            "needed": loss_fact(times.needed),
            "most": times.most,
            "exact": times.exact,
        },
    }


def _comparison(plan: Plan) -> list[Fact]:
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
