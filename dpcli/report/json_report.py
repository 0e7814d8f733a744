"""The privacy report as JSON: every number with the digits that were published."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from dpcli.plan.model import Plan
from dpcli.report.facts import difference_facts, facts, plan_facts
from dpcli.report.numbers import Fact, Number

if TYPE_CHECKING:
    from dpcli.ledger.outlook import Outlook
    from dpcli.release import Release

_MARK = "\u0000number:"
_MARKED = re.compile(r'"\\u0000number:(-?[0-9]+(?:\.[0-9]+)?)"')


def json_report(release: Release) -> bytes:
    """The facts of a release."""
    return json_text(facts(release)).encode()


def plan_json(plan: Plan, found: Outlook, *, compared: bool = False) -> str:
    """The facts of a plan, and what the ledger says to it."""
    return json_text(plan_facts(plan, found, compared=compared))


def difference_json(old: Plan, new: Plan, weaker: Sequence[str]) -> str:
    """What a change of the spec does, statistic by statistic, and why it is weaker if it is."""
    return json_text(difference_facts(old, new, weaker))


def json_text(fact: Fact) -> str:
    """Indented JSON in a fixed order."""
    text = json.dumps(_marked(fact), indent=2, ensure_ascii=False)
    return _MARKED.sub(r"\1", text) + "\n"


def _marked(fact: Fact) -> Fact:
    """Numbers as marked texts, so that no float ever stands between."""
    if isinstance(fact, Number):
        return _MARK + fact
    if isinstance(fact, dict):
        return {key: _marked(value) for key, value in fact.items()}
    if isinstance(fact, list):
        return [_marked(value) for value in fact]
    return fact


def report_schema() -> str:
    """The JSON Schema of the reports of releases and of local collections."""
    return files("dpcli.report").joinpath("report.schema.json").read_text(encoding="utf-8")
