"""Plans, reports and comparisons of plans as data with stable JSON keys.

A report depends on the spec, the released numbers, the version, the ledger entry, and the name and
date of the release. It has no exact row count, no digest of the data and no timing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from dpcli.ledger.balance import DAYS_A_YEAR
from dpcli.messages import note
from dpcli.numeric.number_text import exact_or_up
from dpcli.planning import notes
from dpcli.planning.guarantee_text import headline, meaning, promise
from dpcli.planning.limit_notes import bounding_notes, counts_left_out, limit_warnings
from dpcli.planning.plan import Plan
from dpcli.planning.quality_check import kept_rows_warnings
from dpcli.planning.risks import risks
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import RowUnit
from dpcli.report.bounds_facts import bounds_facts
from dpcli.report.captions import spec_facts
from dpcli.report.document import Report
from dpcli.report.entry_facts import layout_facts, quality_facts, response_facts, statistic_facts
from dpcli.report.json_text import Facts, json_text
from dpcli.report.published_numbers import published_numbers
from dpcli.report.table import wide_layout
from dpcli.statistics.postprocessing import IMPRECISE_SHARE, LIMITED_SHARE, UNRELIABLE, Flag
from dpcli.version import __version__

if TYPE_CHECKING:
    from dpcli.ledger.account import BalanceForecast
    from dpcli.ledger.balance import Balance
    from dpcli.ledger.charge import Receipt
    from dpcli.local.randomize import RandomizedCollection
    from dpcli.privacy.amplification import ShuffledGuarantee
    from dpcli.releasing import NoisyRelease

RESPONSIBLE = {
    "Publisher": "curator",
    "Contact": "contact",
    "Purpose": "intended_use",
    "Region": "region",
}
"""Who is responsible for a release: titles, and the keys of `declarations` that state it."""

TIMES = ("asked", "fits", "needed", "most", "exact")
"""Keys of what is stated about repeated releases."""


def release_report(release: NoisyRelease, simulation: Facts | None = None) -> Report:
    """The report of a release; `simulation` is what it states about a simulation of the plan."""
    plan = release.plan
    tables = wide_layout(plan)
    contents: Facts = {
        **bounds_facts(plan),
        "quality": quality_facts(plan, release.quality),
        **_unchecked(plan),
        "statistics": [
            statistic_facts(published.planned, plan.spec)
            | {"layout": layout_facts(published, *tables[published.planned.name])}
            for published in release.statistics
        ],
        **_notes(plan),
        "limits": [*notes.limitations(plan), *release.warnings],
        **({"simulation": simulation} if simulation else {}),
    }
    return Report.compose(
        _report(release, contents), list(map(published_numbers, release.statistics))
    )


def collection_report(collection: RandomizedCollection) -> Report:
    """The report of a local collection."""
    plan = collection.plan
    contents: Facts = {
        "responses": [response_facts(response) for response in plan.spec.responses],
        "shuffled": collection.shuffled,
        "responses_sha256": collection.digest,
        "unprotected": list(notes.exact_notes(plan)),
        "limits": notes.limitations(plan, shuffled=collection.shuffled),
    }
    return Report.compose(_report(collection, contents))


def _report(source: NoisyRelease | RandomizedCollection, contents: Facts) -> Facts:
    plan, receipt = source.plan, source.receipt
    return {
        **_version(plan),
        "release_id": source.release_id,
        "created": source.created,
        **_guarantee(plan, receipt.before, receipt.balance),
        **contents,
        **_stewardship(plan, receipt.terms.window),
        "ledger": {
            "name": receipt.ledger,
            "entry": receipt.entry,
            "head": receipt.head,
            "first_release": receipt.first,
            **({"after_check": receipt.after_check} if receipt.after_check else {}),
            **_window(receipt),
        },
    }


def _version(plan: Plan) -> Facts:
    version: Facts = {"dpcli_version": __version__}
    return version | {"model": "local"} if plan.is_local else version


def _guarantee(plan: Plan, before: Loss | None, after: Balance | None) -> Facts:
    """The spec, its guarantee, and what the guarantee costs and means.

    The losses `before` and `after`, and what remains, are stated if they are known.
    """
    spec, privacy, unit = plan.spec, plan.spec.privacy, plan.spec.privacy.unit
    return {
        "spec": spec_facts(spec),
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
    """What a window protects, and the loss of each span of time; empty without a window."""
    days = receipt.terms.window
    if days is None:
        return {}
    # This number of windows covers a year.
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
    limited = exact_or_up(LIMITED_SHARE * 100)
    choices: dict[Flag, str] = {}
    keys = {flag: flag.value for flag in Flag} | {Flag.LIMITED: _limited_key(plan)}
    if any(planned.entry.statistic.chooses for planned in plan.statistics):
        flagged, rows = (Flag.UNRELIABLE, Flag.NO_INFORMATION), exact_or_up(IMPRECISE_SHARE)
        choices = {flag: note(f"flag.{flag}-choice", share=rows) for flag in flagged}
    return {
        **({"derived": derived} if (derived := notes.derived_notes(plan)) else {}),
        "bounding": bounding_notes(plan),
        "composition": notes.composition_notes(plan),
        "selections": notes.selection_notes(plan),
        "flags": {
            "unreliable_above": UNRELIABLE,
            **{
                flag.value: note(
                    f"flag.{keys[flag]}", percent=percent, share=share, limited=limited
                )
                + choices.get(flag, "")
                for flag in Flag
                if flag
            },
        },
        **_sample(plan),
        "post_processing": notes.post_processing_notes(plan),
        "unprotected": list(notes.exact_notes(plan)),
        "limits": notes.limitations(plan),
    }


def _limited_key(plan: Plan) -> str:
    """The meaning of the flag `limited`: of the two reasons for it, those that the spec allows."""
    if not plan.spec.clamped_by_choice:
        return "limited_by_rows"
    return "limited" if counts_left_out(plan) else "limited_by_bounds"


def _unchecked(plan: Plan) -> Facts:
    """That no check was asked for, unless the spec states that none is meant."""
    return {"unchecked": note("quality.unchecked")} if notes.lacks_check(plan) else {}


def _sample(plan: Plan) -> Facts:
    """The declared sample, and what is estimated from it; empty without one."""
    design = plan.spec.sample
    if design is None:
        return {}
    size = {"population": design.population, "size": design.size}
    return {"sample": {"design": "simple-random", **size, "notes": notes.population_notes(plan)}}


def _stewardship(plan: Plan, window: int | None) -> Facts:
    """The findings on risks, and what the data owner declares; None without declarations."""
    declared = plan.spec.declarations
    population = {} if declared.population is None else {"population": declared.population}
    return {
        "hazards": [
            {
                "hazard": finding.risk,
                "question": finding.question,
                "verdict": finding.verdict.value,
                "found": finding.words,
                "warning": finding.warning or None,
                "answer": finding.declared or None,
                "declared_as": finding.asks or None,
            }
            for finding in risks(plan, window)
        ],
        "declarations": {**population, **dict(declared.answers)} or None,
    }


def plan_json(
    plan: Plan,
    forecast: BalanceForecast,
    *,
    compared: bool = False,
    records: int | None = None,
    amplified: ShuffledGuarantee | None = None,
) -> str:
    """The JSON of a plan and its account, known before any row is read.

    With `compared`, it has the cost under every composition. In the local model, `records` gives
    expected errors, and `amplified` is the central guarantee of responses in random order.
    """
    contents: Facts
    if plan.is_local:
        contents = {
            "records": records,
            "responses": [response_facts(response, records) for response in plan.spec.responses],
            "unprotected": list(notes.exact_notes(plan)),
            "limits": notes.limitations(plan, shuffled=amplified is not None),
        }
    else:
        contents = {
            **bounds_facts(plan),
            "quality": quality_facts(plan),
            **_unchecked(plan),
            "statistics": [statistic_facts(planned, plan.spec) for planned in plan.statistics],
            **_notes(plan),
            "limits": [*notes.limitations(plan), *limit_warnings(plan)],
            "warnings": [
                *notes.unit_warnings(plan),
                *limit_warnings(plan),
                *notes.quality_warnings(plan),
                *kept_rows_warnings(plan),
            ],
        }
    facts: Facts = {
        **_version(plan),
        **_outlook(plan, forecast),
        **contents,
        **_stewardship(plan, forecast.window),
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
        from dpcli.planning.compare import compare_compositions

        facts["compared"] = [asdict(row) for row in compare_compositions(plan)]
    return json_text(facts)


def _outlook(plan: Plan, forecast: BalanceForecast) -> Facts:
    """The guarantee, whether a release would be allowed, and what its account says.

    The remaining budget is that after the release; it is null if the release is refused.
    """
    before, times = forecast.before, forecast.runs
    refused = forecast.refused.problems if forecast.refused else ()
    return {
        **_guarantee(plan, before.spent if before else None, forecast.after),
        "fits": forecast.refused is None,
        "account": {
            "ledger": str(forecast.ledger),
            "ledger_exists": forecast.exists,
            "opened": forecast.terms is not None,
            "window": forecast.window,
            "refused": [{"code": problem.code, "message": problem.message} for problem in refused],
            "shares_files_with": list(forecast.shared),
        },
        "times": None if times is None else {key: getattr(times, key) for key in TIMES},
    }


def difference_json(old: Plan, new: Plan, weaker: Sequence[str]) -> str:
    """The JSON of a change from one plan to another, with the reasons why it is weaker."""
    from dpcli.planning.compare import statistic_changes

    statistics, spent = list(map(asdict, statistic_changes(old, new))), [old.cost, new.cost]
    return json_text({"statistics": statistics, "spent": spent, "weaker": weaker})
