"""The schema of reports: every report keeps to it, and nothing else does."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dpcli.report.collection import CollectionReport
from dpcli.report.first_counts import ChoiceReport
from dpcli.report.formats import render_output
from dpcli.report.plan import LocalPlanReport, PlanReport
from dpcli.report.release import AnyReport, ReleaseReport
from dpcli.report.report import Report, without_numbers
from tests.support.cli import Command
from tests.support.report_keys import version_1, version_2, without_version_3
from tests.support.reports import Reports


@pytest.fixture(scope="session")
def schema() -> dict[str, Any]:
    """The schema of reports, made once though the tests of each report run together."""
    from dpcli.report.formats import report_schema

    stated: dict[str, Any] = json.loads(report_schema())
    return stated


def objects(node: Any) -> Iterator[dict[str, Any]]:
    """Every schema of an object with named properties."""
    if isinstance(node, dict):
        if "properties" in node and node.get("type") == "object":
            yield node
        for value in node.values():
            yield from objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from objects(value)


def test_every_report_matches_the_schema(reports: Reports, schema: dict[str, Any]) -> None:
    """Published reports are valid."""
    assert Draft202012Validator(schema).is_valid(json.loads(reports.text(".json")))


def test_a_report_is_read_as_it_was_written(reports: Reports) -> None:
    """Read into types and written again, a report is the same byte for byte."""
    content = reports.path(".json").read_bytes()
    report = Report.parse(content)
    assert Report.compose(report.stated, report.numbers).content == content


def test_the_schema_has_keys_in_the_order_of_reports(
    reports: Reports, schema: dict[str, Any]
) -> None:
    """Inherited keys stand where `order` says, with their descriptions."""
    text = json.loads(reports.text(".json"))
    (stated,) = (
        made
        for name in ("ReleaseReport", "CollectionReport")
        if text.keys() <= (made := schema["$defs"][name]["properties"]).keys()
    )

    assert [key for key in stated if key in text] == list(text)
    assert stated["unprotected"]["description"] == "What is published exactly."


def test_an_order_names_fields_alone() -> None:
    """No key of an order is one that no report has."""
    kinds = (ReleaseReport, CollectionReport, PlanReport, LocalPlanReport)

    assert {*AnyReport.order} <= {name for kind in kinds for name in kind.__dataclass_fields__}
    assert {*ChoiceReport.order} <= ChoiceReport.__dataclass_fields__.keys()


def test_a_report_of_version_1_is_read_and_shown_as_before(reports: Reports) -> None:
    """Its keys are not those of version 2; what it states and its pages are the same."""
    text = without_version_3(reports.text(".json"))
    report, former = Report.parse(text.encode()), Report.parse(version_1(text).encode())
    stated = json.loads(without_numbers(version_1(text).encode()))
    now = json.loads(without_numbers(text.encode()))

    assert "hazards" in stated and "asked" in stated["privacy"]
    assert version_2(stated) == {key: now[key] for key in now if key != "report_version"}
    for ending in (".md", ".html", ".yaml"):
        pages = [undated(render_output(one, f"report{ending}"), one) for one in (former, report)]
        assert pages[0] == pages[1]


def undated(page: bytes, report: Report) -> bytes:
    """A page without the digest of the report that it is made of."""
    return page.replace(hashlib.sha256(report.content).hexdigest().encode(), b"")


def test_the_schema_states_which_values_may_be_null(schema: dict[str, Any]) -> None:
    """What has a default is absent rather than null; keys and forms are those of reports."""
    parts = schema["$defs"]
    risk, spec, flags = (parts[name] for name in ("Finding", "SpecReport", "FlagsReport"))

    assert "warning" in risk["required"]
    assert {"type": "null"} in risk["properties"]["warning"]["anyOf"]
    assert "title" not in spec["required"]
    assert spec["properties"]["title"]["type"] == "string"
    assert spec["properties"]["digest"]["pattern"] == "^[0-9a-f]{64}$"
    assert "no-information" in flags["required"]


def test_the_schema_allows_no_unknown_key(schema: dict[str, Any]) -> None:
    """Every key of a report is listed in the schema, so a new key fails here."""
    Draft202012Validator.check_schema(schema)
    for node in objects(schema):
        assert node["additionalProperties"] is False


def test_an_unknown_key_and_a_missing_key_are_refused(
    reports: Reports, schema: dict[str, Any]
) -> None:
    """The schema refuses a row count, and a report without its risks."""
    stated = json.loads(reports.text(".json"))
    more, less, deep = (copy.deepcopy(stated) for _ in range(3))
    more["rows"] = 4000
    del less["risks"]
    deep["privacy"]["rows"] = 4000
    validator = Draft202012Validator(schema)

    assert not validator.is_valid(more)
    assert not validator.is_valid(less)
    assert not validator.is_valid(deep)


def test_the_command_prints_the_schema(dpcli: Command, schema: dict[str, Any]) -> None:
    """`dpcli schema report` is the schema that tests use."""
    assert json.loads(dpcli("schema", "report").out) == schema
