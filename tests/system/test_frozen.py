"""What version 0.2.0 released is released again, number by number, by every later version."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from dpcli import __version__
from dpcli.noise import entropy
from dpcli.report.formats import render_output
from dpcli.report.privacy import BuildReport
from dpcli.report.report import Report
from dpcli.version import this_build
from tests.support.cli import Command, reported
from tests.support.frozen import (
    COMPLETE,
    FROZEN,
    SPECS,
    WORDS,
    as_text,
    entries_of,
    kept_outputs,
    known_keys,
    visible_text,
    without_prose,
)
from tests.support.priorities import freeze_priorities
from tests.support.report_keys import version_2
from tests.support.rules import mostly_extended
from tests.support.streams import Stream

LARGE = {"planning", "incomes", "tables", "town", "advanced"}
"""Specs of which each part is in another one, too."""

UPDATE = bool(os.environ.get("UPDATE_FROZEN"))


def _outputs(
    name: str, dpcli: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Everything that one spec gives."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    data = "pums.csv" if name == "pums" else "people.csv"
    shutil.copy(FROZEN / name / "spec.yaml", "spec.yaml")
    shutil.copy(FROZEN / data, data)

    def call(*words: str) -> str:
        monkeypatch.setattr(entropy, "source", Stream("frozen"))
        if words[0] == "release":
            freeze_priorities(monkeypatch)
        monkeypatch.setattr("dpcli.ledger.charge.now", lambda: "2026-01-01T00:00:00Z")
        done = dpcli(*words).succeeded()
        return done.out

    local = name == "local-survey"
    sizes = ("--records", "3000") if local else ()
    plan, plan_json = (
        (call("plan", "spec.yaml", *sizes), call("plan", "spec.yaml", "--json", *sizes))
        if name in COMPLETE
        else ("", "{}")
    )
    reports = [word for end in ("json", "md", "html", "yaml") for word in ("--report", f"r.{end}")]
    if local:
        words = ("local", "randomize", "spec.yaml", data, "-o", "table.csv", *reports)
        call(*words, "--release-id", "frozen", "-q")
        table = call("local", "estimate", "spec.yaml", "table.csv", "-o", "-")
        wide = hashlib.sha256(Path("table.csv").read_bytes()).hexdigest()
    else:
        call("release", "spec.yaml", data, "-o", "t.csv", *reports, "--release-id", "frozen", "-q")
        table = Path("t.csv").read_text(encoding="utf-8")
        call("ledger", "export", "frozen", "-o", "wide.csv", "--layout", "wide", "--force")
        files = sorted(Path().glob("wide*.csv"))
        wide = "\n".join(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    _made_of_the_facts(wide=sorted(Path().glob("wide*.csv")), local=local)
    head = reported(Path("r.json"))["ledger"]["head"]
    digest = hashlib.sha256(Path("r.json").read_bytes()).hexdigest()
    outputs = {
        "table.csv": table,
        "wide.sha256": wide + "\n",
        "plan.json": as_text(without_prose(json.loads(plan_json))),
        "plan.txt": plan,
        "report.json": as_text(without_prose(reported(Path("r.json")))),
        "report.md": Path("r.md").read_text("utf-8"),
        "page.txt": visible_text(Path("r.html").read_text("utf-8")),
        "record.txt": Path("r.yaml").read_text("utf-8"),
        "entries.json": as_text(entries_of(Path("dpcli-ledger.sqlite"))),
    }
    made_by = BuildReport.read(this_build()).text
    written = {made_by: "dpcli", made_by.replace("_", r"\_"): "dpcli"}
    versions = {f'"{__version__}"': '"(version)"', f"dpcli {__version__}": "dpcli"}
    content = str(json.loads(Path("r.json").read_bytes())["content_sha256"])
    steady = {head: "(head)", digest: "(report)", content: "(content)", **written, **versions}
    for changing, mark in steady.items():
        outputs = {key: text.replace(changing, mark) for key, text in outputs.items()}
    return outputs


def _made_of_the_facts(*, wide: list[Path], local: bool) -> None:
    """Every page and table is a function of the JSON report alone: made of it, it is the same."""
    report = Report.parse(Path("r.json").read_bytes())
    for ending in ("md", "html", "yaml"):
        assert render_output(report, f"report.{ending}") == Path(f"r.{ending}").read_bytes(), ending
    if not local:
        assert render_output(report, "table.csv") == Path("t.csv").read_bytes()
        tables = dict.fromkeys(one.layout.table for one in report.release.statistics)
        made = {render_output(report, f"wide/{name}") for name in tables}
        assert made == {file.read_bytes() for file in wide}


@pytest.mark.parametrize(
    "name", mostly_extended(SPECS, *(name for name in SPECS if name not in LARGE))
)
def test_every_output_is_unchanged(
    name: str, dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables, reports and ledger entries hold the same values, and texts are as reviewed last."""
    outputs = _outputs(name, dpcli, tmp_path, monkeypatch)
    for kind in kept_outputs(name):
        path, now = FROZEN / name / kind, outputs[kind]
        if kind.endswith(".json"):
            now = as_text(json.loads(now))
        if UPDATE and (kind in WORDS or not path.exists()):
            path.write_text(now, encoding="utf-8")
        frozen = path.read_text(encoding="utf-8")
        if kind in {"report.json", "plan.json"}:
            stated = version_2(json.loads(frozen))
            now, frozen = as_text(known_keys(json.loads(now), stated)), as_text(stated)
        assert now == frozen, kind
