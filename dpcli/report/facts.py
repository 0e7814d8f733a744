"""Plans, reports and differences of plans as plain data, for programs.

A report is a function of the spec, the released values, the version, and the release's name and
date, under stable keys. No row counts, no digests of the data, no timings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.ledger.balance import DAYS_A_YEAR
from dpcli.messages import note
from dpcli.numeric.number_text import exact_or_up
from dpcli.planning import notes
from dpcli.planning.compare import compare_compositions, statistic_changes
from dpcli.planning.guarantee_text import headline, meaning, promise
from dpcli.planning.plan import Plan
from dpcli.planning.risks import risks
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import RowUnit
from dpcli.report.document import Report
from dpcli.report.entry_facts import layout_facts, quality_facts, response_facts, statistic_facts
from dpcli.report.json_text import Facts, json_text
from dpcli.report.published_numbers import published_numbers
from dpcli.report.table import wide_layout
from dpcli.statistics.postprocessing import UNRELIABLE, Flag

if TYPE_CHECKING:
    from dpcli.ledger.account import BalanceForecast
    from dpcli.ledger.balance import Balance
    from dpcli.ledger.charge import Receipt
    from dpcli.local.randomize import RandomizedCollection
    from dpcli.privacy.amplification import ShuffledGuarantee
    from dpcli.releasing import NoisyRelease

STEWARDS = {
    "Publisher": "curator",
    "Contact": "contact",
    "Purpose": "intended_use",
    "Region": "region",
}
"""Who answers for a release, and under which key of `declarations` a spec says so."""

TIMES = ("asked", "fits", "needed", "most", "exact")
"""What is stated of many runs."""


def release_report(release: NoisyRelease, simulation: Facts | None = None) -> Report:
    """The report of a release; `simulation` is what it states about a simulation of the plan."""
    plan = release.plan
    tables = wide_layout(plan)
    answered: Facts = {
        "quality": quality_facts(plan, release.quality),
        "statistics": [
            statistic_facts(one.planned, plan.spec)
            | {"layout": layout_facts(one, *tables[one.planned.name])}
            for one in release.statistics
        ],
        **_notes(plan),
        **({"simulation": simulation} if simulation else {}),
    }
    return Report.compose(
        _report(release, answered), [published_numbers(one) for one in release.statistics]
    )


def collection_report(collection: RandomizedCollection) -> Report:
    """Everything that the report of a local collection states."""
    plan = collection.plan
    collected: Facts = {
        "responses": [response_facts(one) for one in plan.spec.responses],
        "shuffled": collection.shuffled,
        "responses_sha256": collection.digest,
        "unprotected": list(notes.exact_notes(plan)),
        "limits": notes.limitations(plan, shuffled=collection.shuffled),
    }
    return Report.compose(_report(collection, collected))


def _report(source: NoisyRelease | RandomizedCollection, answered: Facts) -> Facts:
    plan, receipt = source.plan, source.receipt
    return {
        **_version(plan),
        "release_id": source.release_id,
        "created": source.created,
        **_guarantee(plan, receipt.before, receipt.balance),
        **answered,
        **_stewardship(plan, receipt.terms.window),
        "ledger": {
            "name": receipt.ledger,
            "entry": receipt.entry,
            "head": receipt.head,
            "first_release": receipt.first,
            **_window(receipt),
        },
    }


def _version(plan: Plan) -> Facts:
    version: Facts = {"dpcli_version": __version__}
    return version | {"model": "local"} if plan.is_local else version


def _guarantee(plan: Plan, before: Loss | None, after: Balance | None) -> Facts:
    """The spec, what it asks for, and what that costs and means.

    What is spent `before` and `after`, and what is left then, are stated if they are known.
    """
    spec, privacy, unit = plan.spec, plan.spec.privacy, plan.spec.privacy.unit
    return {
        "spec": {
            "dataset": spec.dataset,
            "digest": spec.digest,
            "rows_are": spec.rows_are,
            "columns": [{"name": one.name, "type": one.kind} for one in spec.columns],
            "text": spec.text,
        },
        "privacy": {
            "unit": "row"
            if isinstance(unit, RowUnit)
            else {
                "column": unit.column,
                "max_rows": unit.max_rows,
                "max_groups": unit.max_groups,
                "max_rows_per_group": unit.max_rows_per_group,
            },
            "neighbors": privacy.neighbors.value,
            "composition": privacy.composition.name,
            "asked": plan.requested_loss,
            "spent": plan.cost,
            "bound": plan.bound.name,
            "budget": privacy.budget,
            "before": before,
            "after": after.spent if after else None,
            "remaining": after.remaining if after else None,
            "promise": promise(spec),
            "headline": headline(plan),
            "meaning": list(meaning(plan)),
        },
        "confidence": spec.confidence,
    }


def _window(receipt: Receipt) -> Facts:
    """What a window protects and what not, with the loss of each span of time; empty without."""
    days = receipt.terms.window
    if days is None:
        return {}
    # A number of windows cover a year.
    windows, budget = -(-DAYS_A_YEAR // days), receipt.terms.budget
    window: Facts = {
        "periods": days,
        "period": receipt.period,
        "per_window": receipt.balance.spent,
        "per_year_at_most": Loss(budget.epsilon * windows, budget.delta * windows),
        "lifetime": receipt.balance.lifetime,
        "protects": note("account.protects", days=days),
        "does_not_protect": note("account.does_not_protect"),
    }
    return {"window": window}


def _notes(plan: Plan) -> Facts:
    percent, share = exact_or_up(plan.spec.confidence * 100), exact_or_up(UNRELIABLE)
    return {
        "bounding": notes.bounding_notes(plan),
        "composition": notes.composition_notes(plan),
        "selections": notes.selection_notes(plan),
        "flags": {
            "unreliable_above": UNRELIABLE,
            **{
                flag.value: note(f"flag.{flag}", percent=percent, share=share)
                for flag in Flag
                if flag
            },
        },
        "post_processing": notes.post_processing_notes(plan),
        "unprotected": list(notes.exact_notes(plan)),
        "limits": notes.limitations(plan),
    }


def _stewardship(plan: Plan, window: int | None) -> Facts:
    """What is found of each risk, and what the data owner declares; None if nothing is."""
    declared = plan.spec.declarations
    population = {} if declared.population is None else {"population": declared.population}
    return {
        "hazards": [
            {
                "hazard": one.risk,
                "question": one.question,
                "verdict": one.verdict.value,
                "found": one.words,
                "warning": one.warning or None,
                "answer": one.declared or None,
                "declared_as": one.asks or None,
            }
            for one in risks(plan, window)
        ],
        "declarations": {**population, **dict(declared.answers)} or None,
    }


def plan_json(
    plan: Plan,
    found: BalanceForecast,
    *,
    compared: bool = False,
    records: int | None = None,
    amplified: ShuffledGuarantee | None = None,
) -> str:
    """What is known of a release or collection before any row is read, and of its account.

    If `compared`, also what it would cost under every composition. In the local model,
    `records` give the expected errors, and `amplified` is the central guarantee of responses
    in random order.
    """
    asked: Facts
    if plan.is_local:
        asked = {
            "records": records,
            "responses": [response_facts(one, records) for one in plan.spec.responses],
            "unprotected": list(notes.exact_notes(plan)),
            "limits": notes.limitations(plan, shuffled=amplified is not None),
        }
    else:
        asked = {
            "quality": quality_facts(plan),
            "statistics": [statistic_facts(planned, plan.spec) for planned in plan.statistics],
            **_notes(plan),
        }
    facts: Facts = {
        **_version(plan),
        **_outlook(plan, found),
        **asked,
        **_stewardship(plan, found.window),
    }
    if amplified is not None:
        facts["shuffled"] = {
            "records": amplified.records,
            "delta": amplified.delta,
            "epsilon": amplified.epsilon,
            "enough_records": amplified.needed_records,
            "condition": notes.shuffle_condition(plan),
        }
    if compared:
        facts["compared"] = [asdict(row) for row in compare_compositions(plan)]
    return json_text(facts)


def _outlook(plan: Plan, found: BalanceForecast) -> Facts:
    """The guarantee, whether a release would be allowed, and what its account says.

    What `remaining` is left is that after the release; nothing is known of it if it is refused.
    """
    before, times = found.before, found.runs
    refused = found.refused.problems if found.refused else ()
    return {
        **_guarantee(plan, before.spent if before else None, found.after),
        "fits": found.refused is None,
        "account": {
            "ledger": str(found.ledger),
            "ledger_exists": found.exists,
            "opened": found.terms is not None,
            "window": found.window,
            "refused": [{"code": one.code, "message": one.message} for one in refused],
            "shares_files_with": list(found.shared),
        },
        "times": None if times is None else {key: getattr(times, key) for key in TIMES},
    }


def difference_json(old: Plan, new: Plan, weaker: Sequence[str]) -> str:
    """What a change of the spec does to each statistic and in all, and why it is weaker."""
    statistics, spent = list(map(asdict, statistic_changes(old, new))), [old.cost, new.cost]
    return json_text({"statistics": statistics, "spent": spent, "weaker": weaker})
