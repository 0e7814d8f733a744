"""The draft of a record for the public register: its form, and what is marked in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from dpcli.report.render import yaml_scalar
from tests.support.cli import Command
from tests.support.reports import Reports

REGISTER = yaml.safe_load(
    (Path(__file__).parent / "register.schema.yaml").read_text(encoding="utf-8")
)
CHECK = Draft7Validator(REGISTER, format_checker=Draft7Validator.FORMAT_CHECKER)

TO_FILL = "TO FILL IN"

DECLARED = """\
declarations:
  population: 30000
  curator: The Town
  description: "Visits: who came"
  intended_use: |
    Planning.

      And more planning.
  region: "yes"
  bounds: from the form
  access: the office
  collection: at the desk
  other_releases: none
  timing: nobody
  privacy_unit: nobody has two rows
  sector: Healthcare
  justification: the board
  legal_basis: the law
"""


def record(reports: Reports) -> dict[str, Any]:
    """A record as the register reads it."""
    stated: dict[str, Any] = yaml.safe_load(reports.text(".yaml"))
    return stated


def test_a_draft_has_the_form_of_the_register(reports: Reports) -> None:
    """The register's own schema accepts it, but for choices that no one has made."""
    errors = [*CHECK.iter_errors(record(reports))]

    assert {error.validator for error in errors} <= {"enum"}
    assert all(str(error.instance).startswith(TO_FILL) for error in errors), errors


def test_a_draft_states_what_the_report_states(reports: Reports) -> None:
    """Parameters and unit are those of the JSON report."""
    stated, draft = json.loads(reports.text(".json")), record(reports)["deployment"]
    parameters = draft["privacy_loss"]["privacy_parameters"]
    spent = stated["privacy"]["spent"]

    assert parameters["epsilon"] == spent["epsilon"]
    assert parameters.get("delta", 0) == spent["delta"]
    assert draft["dp_variant"]["variant_name"] == (
        "Approximate DP" if spent["delta"] else "Pure DP"
    )
    person = "Person-level" if stated["privacy"]["unit"] != "row" else "Row-level (one record)"
    assert draft["privacy_loss"]["privacy_unit"] == person
    assert draft["deployment_model"]["model_name"] == (
        "Local" if stated.get("model") == "local" else "Central"
    )
    charged = [
        *stated.get("statistics", ()), *stated.get("choices", ()),
        *([stated["quality"]] if stated.get("quality") else []),
    ]  # fmt: skip
    lines = draft["implementation"]["mechanisms"].split("- ")
    for entry in charged:
        named = [
            line for line in lines if line.startswith(f"{entry.get('name', 'quality check')}, ")
        ]
        assert len(named) == len(entry["queries"])
    for note in stated["unprotected"]:
        assert note in draft["dp_variant"]["unprotected_quantities"]


def test_what_only_people_know_is_marked_in_the_draft(reports: Reports) -> None:
    """Each choice that a person must check is marked at its place."""
    text = reports.text(".yaml")

    for field in ("data_curator_type", "data_product_sector", "justification"):
        line = next(line for line in text.splitlines() if f"{field}:" in line)
        assert TO_FILL in line


def test_declarations_fill_the_draft(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """The record has all lines of what the spec declares."""
    with spec.open("a", encoding="utf-8") as file:
        file.write(DECLARED)
    target = tmp_path / "record.txt"
    done = dpcli("release", spec, data, "-q", "--report", target, "--format", "registry")
    assert done.status == 0, done.err
    draft = yaml.safe_load(target.read_text(encoding="utf-8"))

    publisher, source = sorted(error.instance for error in CHECK.iter_errors(draft))
    assert publisher.endswith("Nonprofit") and source.endswith("one of Static, Dynamic")
    basic = draft["deployment"]["basic"]
    assert basic["data_curators"][0]["data_curator_name"] == "The Town"
    assert basic["intended_use"] == "Planning.\n\n  And more planning."
    assert basic["data_product_region"] == "yes"
    assert basic["data_product_sector"] == "Healthcare"
    assert "legal basis: the law" in draft["deployment"]["implementation"]["additional_information"]
    # Thirty thousand people are no number of rows.
    assert "number_of_privacy_units" not in draft["deployment"]["privacy_loss"]
    # The first line names the mark. Three stay open: what kind of organization publishes, whether
    # data change, and who wrote the record.
    assert target.read_text(encoding="utf-8").count(TO_FILL) == 4


def test_the_ledger_says_whether_there_are_several_releases(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """The second release of an account is one of many."""
    spec.write_text(spec.read_text("utf-8").replace("epsilon: 10", "epsilon: 20"), "utf-8")
    found = []
    for name in ("a", "b"):
        words = ("--report", tmp_path / f"{name}.yaml", "--release-id", name)
        assert dpcli("release", spec, data, "-q", *words).status == 0
        draft = yaml.safe_load((tmp_path / f"{name}.yaml").read_text(encoding="utf-8"))
        found.append(draft["deployment"]["deployment_model"]["release_type"])

    assert found == ["One release", "Many releases"]


TEXTS = (
    *("\x7f", "\x85", "a\x85b", "\u200b", "\U0001f600", "\ufeff", "\ufffe"),
    *("a: b", "yes", "1e3", "#", "'", "- x\n- y", "- x\n\n- y"),
    *(" x\ny", "a\n b", "\u2028\n1", "x \ny"),
)


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_survives_a_round_trip_through_yaml(text: str) -> None:
    """A text that is written and read again is unchanged."""
    assert yaml.safe_load(f"key: {yaml_scalar(text, 1)}\n") == {"key": text}


def test_the_check_against_the_registry_schema_can_fail(reports: Reports) -> None:
    """A record with another key, or another choice, is refused."""
    added, other = record(reports), record(reports)
    added["deployment"]["rows"] = 1
    other["deployment"]["administrative"]["status"] = "Done"

    assert list(CHECK.iter_errors(added))
    assert list(CHECK.iter_errors(other))
