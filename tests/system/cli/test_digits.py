"""People read the digits that an interval supports; programs read all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.cli import Command, table

SPEC = """\
dpcli: 1
dataset: incomes
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9}}
columns: {income: {type: number, bounds: [0, 10000], step: 0.01}}
statistics: [{name: total, statistic: sum, column: income, epsilon: 1}]
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec for a sum with cents, whose interval is some ten thousands wide."""
    (tmp_path / "data.csv").write_text("income\n" + "1234.56\n" * 500, "utf-8")
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC, "utf-8")
    return path


def row_of(line: str) -> list[str]:
    """The numbers of a line of a summary or of a Markdown table."""
    return re.findall(r"-?[0-9]+(?:\.[0-9]+)?", line.rsplit("total", maxsplit=1)[-1])[:3]


def test_people_read_fewer_digits_than_programs(dpcli: Command, spec: Path) -> None:
    """The summary and pages round outward; the table, JSON and `--digits all` do not."""
    folder = spec.parent
    reports = [
        word for name in ("r.md", "r.html", "r.json") for word in ("--report", folder / name)
    ]
    done = dpcli(
        "release", spec, folder / "data.csv", "-o", folder / "t.csv", *reports, "--release-id", "a"
    )
    assert done.status == 0 and "`--digits all` shows all" in done.err
    (published,) = table(folder / "t.csv")
    exact = [published[name] for name in ("value", "lower", "upper")]
    (stated,) = json.loads((folder / "r.json").read_text("utf-8"), parse_float=str)["statistics"]
    assert [stated["cells"][0][name] for name in ("value", "lower", "upper")] == exact

    summary = next(line for line in done.err.splitlines() if line.startswith("total"))
    markdown = (folder / "r.md").read_text("utf-8")
    page = (folder / "r.html").read_text("utf-8")
    assert all(re.fullmatch("-?[0-9]+000", number) for number in row_of(summary))
    assert not any(number in summary + markdown for number in exact)
    assert f">{int(row_of(summary)[0]):,}</td>" in page
    assert "Numbers have two digits" in markdown and "Numbers have two digits" in page
    value, lower, upper = map(float, row_of(summary))
    assert lower <= float(exact[1]) and float(exact[2]) <= upper
    assert abs(value - float(exact[0])) <= 500

    book = ("--ledger", folder / "dpcli-ledger.sqlite")
    dpcli(
        "ledger", "export", "a", "--report", folder / "all.md", "--digits", "all", *book
    ).succeeded()
    every = (folder / "all.md").read_text("utf-8")
    assert all(number in every for number in exact) and "two digits" not in every


def test_all_digits_can_be_asked_for(dpcli: Command, spec: Path) -> None:
    """`release --digits all` shows on a terminal and in a stored page what the table has."""
    folder = spec.parent
    words = ("release", spec, folder / "data.csv", "-o", folder / "t.csv", "--digits", "all")
    done = dpcli(*words, "--report", folder / "r.md", "--release-id", "b")
    (published,) = table(folder / "t.csv")

    assert done.status == 0 and "--digits" not in done.err
    assert published["value"] in done.err
    assert published["lower"] in (folder / "r.md").read_text("utf-8")
    page = (folder / "r.md").read_bytes()
    repeated = dpcli(*words, "--report", folder / "r.md", "--release-id", "b", "--force")
    assert repeated.status == 0 and (folder / "r.md").read_bytes() == page
    assert dpcli(*words[:-1], "some").status == 2
