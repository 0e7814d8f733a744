"""A report format is one file and one registry line: everything else follows from the facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcli.plan.planner import make_plan
from dpcli.report import formats
from dpcli.report.facts import Facts, Section
from dpcli.report.simulation import simulation_facts
from dpcli.simulation.synthetic import SyntheticDataset
from dpcli.simulation.trials import simulate
from dpcli.spec.load import read_any
from tests.support.cli import LOCAL, PEOPLE, ROOT, Command


def as_toy(facts: Facts) -> bytes:
    """The headings alone, indented by their depth."""

    def headings(section: Section, depth: int) -> str:
        inner = "".join(headings(one, depth + 1) for one in section.parts)
        return f"{'  ' * depth}{section.title}\n{inner}"

    return (f"{facts.title}\n" + "".join(headings(one, 1) for one in facts.sections)).encode()


TOY = formats.Format("toy", (".toy",), as_toy)


@pytest.fixture(autouse=True)
def with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry with one more line."""
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, TOY))


def copied(spec: Path, folder: Path) -> Path:
    """A spec in a folder of its own, next to which its ledger is made."""
    copy = folder / spec.name
    copy.write_text(spec.read_text(encoding="utf-8"), encoding="utf-8")
    return copy


def test_a_release_and_its_export_take_the_new_format(dpcli: Command, tmp_path: Path) -> None:
    """It is chosen by its ending or its name, and the ledger keeps it with the release."""
    spec = copied(ROOT / "specs" / "minimal.yaml", tmp_path)
    first, again = tmp_path / "first.toy", tmp_path / "again.txt"
    done = dpcli("release", spec, PEOPLE, "-q", "--release-id", "one", "--report", first)
    assert done.status == 0, done.err
    book = tmp_path / "dpcli-ledger.sqlite"
    words = ("--report", again, "--format", "toy", "--ledger", book)
    exported = dpcli("ledger", "export", "one", *words)

    assert exported.status == 0, exported.err
    assert again.read_bytes() == first.read_bytes()
    assert first.read_text(encoding="utf-8").splitlines()[1] == "  Results"


def test_a_local_collection_takes_the_new_format(dpcli: Command, tmp_path: Path) -> None:
    """The local model has no formats of its own."""
    spec, report = copied(LOCAL, tmp_path), tmp_path / "r.toy"
    words = ("-q", "-o", tmp_path / "o.csv", "--report", report)
    done = dpcli("local", "randomize", spec, PEOPLE, *words)

    assert done.status == 0, done.err
    assert "  How each record responded\n" in report.read_text(encoding="utf-8")


def test_a_simulation_takes_every_format_for_people(tmp_path: Path) -> None:
    """Findings are facts as well, with the same tables in each format."""
    spec = read_any(copied(ROOT / "specs" / "minimal.yaml", tmp_path))
    with SyntheticDataset(spec, 200, 1) as invented:
        facts = simulation_facts(simulate(make_plan(spec), invented, 2))
    texts = {one.name: one.render(facts).decode() for one in formats.FORMATS if one != REGISTRY}

    assert texts["toy"].startswith("simulation: synthetic data made from the spec, no release\n")
    for name in ("markdown", "html", "toy"):
        assert "errors of the noise, as dpcli plan predicts them and as they were" in texts[name]
    assert '"simulation": true' in texts["json"]


REGISTRY = next(one for one in formats.FORMATS if one.name == "registry")
"""It registers what was published; a simulation publishes nothing."""


def test_an_unknown_format_lists_the_new_one(dpcli: Command, tmp_path: Path) -> None:
    """The error names every ending that there is."""
    spec = copied(ROOT / "specs" / "minimal.yaml", tmp_path)
    done = dpcli("release", spec, PEOPLE, "-q", "--report", tmp_path / "r.unknown")

    assert done.status == 2
    assert ".toy" in done.err
