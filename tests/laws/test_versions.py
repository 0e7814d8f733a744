"""Versions: the changelog and the page about upgrading know those that the code has."""

from __future__ import annotations

import json
import re
import tomllib

from dpcli.engine.sums.partials import FORMAT
from dpcli.fields.json import REPORT_VERSION
from dpcli.ledger.store import VERSION as LEDGER
from dpcli.version import LIBRARIES, __version__, this_build
from tests.support.cli import ROOT, Command

CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
UPGRADING = (ROOT / "docs" / "upgrading.md").read_text(encoding="utf-8")


def test_the_changelog_begins_with_this_version() -> None:
    """Each version has its date, and none is unreleased."""
    versions = re.findall(r"^## (\S+) - (\d{4}-\d\d-\d\d)$", CHANGES, re.MULTILINE)
    assert versions[0][0] == __version__
    assert [day for _, day in versions] == sorted((day for _, day in versions), reverse=True)
    assert len(re.findall("^## ", CHANGES, re.MULTILINE)) == len(versions)


def test_entries_of_the_changelog_are_short() -> None:
    """Two lines at most, of at most 150 characters."""
    entries = re.split(r"^(?=- )", CHANGES, flags=re.MULTILINE)[1:]
    for entry in entries:
        lines = [line for line in entry.partition("\n\n")[0].splitlines() if line]
        assert len(lines) <= 2 and max(map(len, lines)) <= 150, entry


def test_formats_are_in_the_page_about_upgrading() -> None:
    """A format that changes needs a line that says what to do."""
    rows = dict[str, set[str]]()
    for line in UPGRADING.splitlines():
        if found := re.match(r"\| (spec|report|ledger|partial) .*?\| (\w+) \| [\d.]+ \|$", line):
            rows.setdefault(found[1], set()).add(found[2])
    partial, _, made_by = FORMAT.partition(" of dpcli ")
    assert made_by == __version__
    newest = {kind: max(filter(str.isdigit, numbers)) for kind, numbers in rows.items()}
    assert newest == {
        "spec": "1", "report": str(REPORT_VERSION), "ledger": str(LEDGER), "partial": partial,
    }  # fmt: skip
    assert f"## {__version__}\n" in UPGRADING


def test_versions_of_python_are_tried_before_they_are_claimed() -> None:
    """A release is made on each that the metadata name, from the lowest that is allowed on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    script = (ROOT / ".ci" / "distribution").read_text("utf-8")
    (tried,) = re.findall(r"^for version in (.*); do$", script, re.MULTILINE)
    claimed = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))

    assert f">={claimed[0]}" == project["requires-python"]
    assert claimed == tried.split()[: len(claimed)]


def test_the_environment_is_stated(dpcli: Command) -> None:
    """With `--json`, the version names Python, the platform and each library."""
    stated = json.loads(dpcli("--version", "--json").succeeded().out)
    assert stated["dpcli"] == __version__
    assert this_build()._asdict().items() < stated.items()
    assert stated["libraries"].keys() == {*LIBRARIES}
    assert "error[bad-option]" in dpcli("--json", "plan", "spec.yaml").err
