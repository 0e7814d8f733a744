"""Reports of every sample spec, made once for all tests of this folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from dpcli.cli.main import run
from tests.support.cli import LOCAL, SPECS, copied_spec, sample_of
from tests.support.rules import mostly_extended
from tests.support.shared import made_once

COMMANDS = {path: ["release"] for path in SPECS} | {LOCAL: ["local", "randomize"]}
"""The command that makes the reports of each sample spec."""


@dataclass(frozen=True)
class Reports:
    """The outputs of one release, and its spec."""

    spec: Path
    folder: Path

    def path(self, ending: str) -> Path:
        """The report of that format."""
        return self.folder / f"report{ending}"

    def text(self, ending: str) -> str:
        """The report of that format as text."""
        return self.path(ending).read_text(encoding="utf-8")


def make_reports(spec: Path, folder: Path, data: Path | None = None) -> Reports:
    """Release a spec once, with every report."""
    copy = copied_spec(spec, folder)
    command = COMMANDS.get(spec, ["release"])
    endings = (".json", ".md", ".html", ".yaml")
    reports = [word for ending in endings for word in ("--report", folder / f"report{ending}")]
    words = [
        *command,
        copy,
        data or sample_of(spec),
        "-q",
        "-o",
        folder / "out.csv",
        "--release-id",
        "first",
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["dpcli", *map(str, [*words, *reports])])
        assert run() == 0
    return Reports(copy, folder)


SAMPLES = [path for path in COMMANDS if path.name != "pums.yaml"]
"""Sample specs for the sample file; the other one is for a file from elsewhere."""


BY_DEFAULT = {"choices", "clinic-visits", "dates", "local-survey", "relations", "tables", "town"}
"""Samples that default tests read: all families of statistics, people, and the local model."""


@pytest.fixture(
    scope="session",
    params=mostly_extended(SAMPLES, *(path for path in SAMPLES if path.stem in BY_DEFAULT)),
    ids=lambda path: path.stem,
)
def reports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """The reports of each sample spec in turn."""
    spec: Path = request.param
    folder = made_once(tmp_path_factory, spec.stem, partial(make_reports, spec))
    return Reports(folder / spec.name, folder)
