"""The schema of reports: every report keeps to it, and nothing else does."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.cli import Command
from tests.support.reports import Reports


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The schema that the package ships."""
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


def test_the_schema_allows_no_unknown_key(schema: dict[str, Any]) -> None:
    """Every key of a report is listed in the schema, so a new key fails here."""
    Draft202012Validator.check_schema(schema)
    for node in objects(schema):
        assert node["additionalProperties"] is False


def test_an_unknown_key_and_a_missing_key_are_refused(
    reports: Reports, schema: dict[str, Any]
) -> None:
    """The schema refuses a row count, and a report without its hazards."""
    stated = json.loads(reports.text(".json"))
    more, less, deep = (copy.deepcopy(stated) for _ in range(3))
    more["rows"] = 4000
    del less["hazards"]
    deep["privacy"]["rows"] = 4000
    validator = Draft202012Validator(schema)

    assert not validator.is_valid(more)
    assert not validator.is_valid(less)
    assert not validator.is_valid(deep)


def test_the_command_prints_the_schema(dpcli: Command, schema: dict[str, Any]) -> None:
    """`dpcli schema report` is what the package ships."""
    assert json.loads(dpcli("schema", "report").out) == schema
