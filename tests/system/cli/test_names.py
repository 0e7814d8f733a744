"""Dataset names in any script, from the spec to the ledger and the reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Command, reported, written

COMPOSED = "caf\N{LATIN SMALL LETTER E WITH ACUTE}"
DECOMPOSED = "cafe\N{COMBINING ACUTE ACCENT}"

SPEC = """\
dpcli: 1
dataset: NAME
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}
columns: {age: {type: integer, bounds: [0, 9]}}
statistics: [{name: n, statistic: count, epsilon: 1}]
"""


def write(folder: Path, name: str) -> Path:
    """A spec of that dataset, next to a data file."""
    return written(folder, SPEC.replace("NAME", name), "age\n1\n2\n")[0]


def test_a_name_of_letters_of_any_script_pays_for_releases(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Release, ledger, completion and reports have the name unchanged."""
    from dpcli.cli.ledger_show import datasets

    monkeypatch.chdir(tmp_path)
    spec = write(tmp_path, COMPOSED)
    reports = [word for end in ("json", "html", "md") for word in ("--report", f"r.{end}")]
    dpcli("release", spec, "data.csv", "-q", "-o", "out.csv", *reports).succeeded()

    assert COMPOSED in dpcli("ledger", "show").out
    assert list(datasets("caf")) == [COMPOSED]
    assert reported(Path("r.json"))["spec"]["dataset"] == COMPOSED
    assert all(COMPOSED in Path(f"r.{end}").read_text("utf-8") for end in ("html", "md"))


def test_a_decomposed_name_finds_its_account(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history of an account is found in either form of its name; no second one is opened."""
    monkeypatch.chdir(tmp_path)
    assert dpcli("ledger", "init", "dpcli-ledger.sqlite").status == 0
    assert dpcli("ledger", "open", COMPOSED, "--epsilon", "1").status == 0
    refused = dpcli("ledger", "open", DECOMPOSED, "--epsilon", "1")

    assert refused.status == 2
    assert f"write `{COMPOSED}`" in refused.err
    assert dpcli("ledger", "history", DECOMPOSED).status == 0


def test_a_draft_composes_the_name_of_a_file(dpcli: Command, tmp_path: Path) -> None:
    """Some systems decompose file names; the dataset of a draft is composed."""
    path = tmp_path / f"{DECOMPOSED}.csv"
    path.write_text("age\n1\n", encoding="utf-8")

    assert f'dataset: "{COMPOSED}"' in dpcli("init", path).out
