"""`simulate --into` and `release --simulation`: the bias of limits in the report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dpcli.report.formats import report_schema
from tests.support.cli import Command

SPEC = """\
dpcli: 1
dataset: limits
rows_are: visits
privacy:
  unit: {column: who, max_rows: 2}
  neighbors: add-remove
  budget: {epsilon: 100}
columns:
  who: {type: id}
  sex: {type: category, values: [f, m]}
statistics:
  - {name: people, statistic: count_distinct, epsilon: 1}
  - {name: visits, statistic: count, by: [sex], epsilon: 1}
"""

DATA = "who,sex\n" + "".join(f"{n % 50},f\n" for n in range(400))


class Place:
    """A folder with a spec, its data and a simulation."""

    def __init__(self, folder: Path, dpcli: Command) -> None:
        self.spec, self.data = folder / "spec.yaml", folder / "data.csv"
        self.found, self.report = folder / "found.json", folder / "r.json"
        self.spec.write_text(SPEC, encoding="utf-8")
        self.data.write_text(DATA, encoding="utf-8")
        self.dpcli = dpcli

    def simulate(self) -> None:
        """Save a short simulation."""
        done = self.dpcli(
            "simulate", self.spec, "--rows", 200, "--runs", 2, "--seed", 1, "--into", self.found
        )
        assert done.status == 0, done.err

    def release(self, *words: str | Path) -> tuple[int, str]:
        """The exit status and the messages of a release with the simulation."""
        done = self.dpcli("release", self.spec, self.data, "-q", "--simulation", self.found, *words)
        return done.status, done.err

    def read_report(self) -> dict[str, Any]:
        """The report of a release with the simulation."""
        status, err = self.release("--report", self.report, "--force")
        assert status == 0, err
        report: dict[str, Any] = json.loads(self.report.read_text(encoding="utf-8"))
        return report


@pytest.fixture
def place(tmp_path: Path, dpcli: Command) -> Place:
    """A folder with a simulation."""
    folder = Place(tmp_path, dpcli)
    folder.simulate()
    return folder


def test_the_report_has_the_bias_that_the_simulation_found(place: Place) -> None:
    """It has every number that the limits changed, with the digits of the simulation."""
    findings = json.loads(place.found.read_text(encoding="utf-8"))
    report = place.read_report()

    Draft202012Validator(json.loads(report_schema())).validate(report)
    limits = {limit["statistic"]: limit["change"] for limit in report["simulation"]["limits"]}
    assert limits == {
        entry["name"]: entry["published"][0]["limits"] for entry in findings["statistics"]
    }
    assert limits["people"] == 0
    assert limits["visits"] < 0
    assert report["simulation"]["people"] == findings["synthetic"]["people"]
    assert report["spec"]["digest"] == findings["spec"]["digest"]


@pytest.mark.parametrize("ending", ["md", "html"])
def test_other_formats_have_the_bias_too(place: Place, ending: str, tmp_path: Path) -> None:
    """Only reports of a release with a simulation have the section."""
    with_it, without = tmp_path / f"with.{ending}", tmp_path / f"without.{ending}"
    assert place.release("--report", with_it)[0] == 0
    done = place.dpcli("release", place.spec, place.data, "-q", "--report", without)

    assert done.status == 0
    assert "What the limits change on invented rows" in with_it.read_text("utf-8")
    assert "200 invented visits" in with_it.read_text("utf-8").replace("\xa0", " ")
    assert "invented rows" not in without.read_text("utf-8")


def test_a_simulation_of_another_text_of_the_spec_is_refused(place: Place) -> None:
    """Exit 2, before anything is charged."""
    place.spec.write_text(SPEC.replace("max_rows: 2", "max_rows: 3"), encoding="utf-8")
    status, err = place.release()

    assert status == 2
    assert "error[simulation-of-another-spec]" in err
    assert not (place.spec.parent / "dpcli-ledger.sqlite").exists()


def _without_people(findings: dict[str, Any]) -> None:
    del findings["synthetic"]["people"]


def _formula(findings: dict[str, Any]) -> None:
    findings["statistics"][0]["published"][0]["limits"] = "=1+1"


def _exponent(findings: dict[str, Any]) -> None:
    findings["synthetic"]["rows"] = 1e300


def _other_name(findings: dict[str, Any]) -> None:
    findings["statistics"][0]["name"] = "elsewhere"


def _a_list(findings: dict[str, Any]) -> None:
    findings["synthetic"] = [1, 2]


@pytest.mark.parametrize("spoil", [_without_people, _formula, _exponent, _other_name, _a_list])
def test_a_file_that_is_not_a_simulation_is_refused(
    place: Place, spoil: Callable[[dict[str, Any]], None]
) -> None:
    """A public report contains only what a simulation could have written."""
    findings = json.loads(place.found.read_text(encoding="utf-8"))
    spoil(findings)
    place.found.write_text(json.dumps(findings), encoding="utf-8")
    status, err = place.release()

    assert status == 2
    assert "error[simulation-unreadable]" in err


@pytest.mark.parametrize("text", ["", "[" * 100_000, '{"simulation": true}', "who,sex\n1,f\n"])
def test_odd_files_are_refused_without_being_quoted(place: Place, text: str) -> None:
    """For any content of the file, the message has only the name of the file."""
    place.found.write_text(text, encoding="utf-8")
    status, err = place.release()

    assert status == 2
    assert f"error[simulation-unreadable]: `{place.found}` holds no findings" in err


def test_a_simulation_replaces_a_simulation_and_nothing_else(place: Place) -> None:
    """The command can be repeated; data and specs are not replaced."""
    place.simulate()
    before = place.data.read_bytes()
    done = place.dpcli("simulate", place.spec, "--rows", 10, "--runs", 1, "--into", place.data)

    assert done.status == 2
    assert "error[output-exists]" in done.err
    assert place.data.read_bytes() == before


def test_the_same_id_publishes_what_is_stored(place: Place, tmp_path: Path) -> None:
    """Another simulation under the same id changes no byte of the stored report."""
    reports = [tmp_path / "a.json", tmp_path / "b.json"]
    for report in reports:
        assert place.release("--release-id", "one", "--report", report)[0] == 0
        place.dpcli(
            "simulate", place.spec, "--rows", 500, "--runs", 1, "--seed", 9, "--into", place.found
        )

    assert reports[0].read_bytes() == reports[1].read_bytes()
