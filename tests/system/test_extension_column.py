"""An option of columns is one file and one word in a column; so is a type with its own cells."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.support.spark import QUICK_JAVA
from tests.support.terminal import on_terminal
from tests.support.toy_command import run_toy as run

pytestmark = pytest.mark.extended

ROOT = Path(__file__).parents[2]

SPEC = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 100}}
quality: none
columns:
  site: {type: category, values: [north, south], prefix: AB-, na: AB-none}
  spent: {type: duration, hours: 10, na: "-"}
statistics:
  - {name: sites, statistic: count, by: [site], epsilon: 20}
  - {name: mean, statistic: mean, column: spent, epsilon: 20}
  - {name: long, statistic: count, where: {spent: {min: "2:00"}}, epsilon: 20}
"""
ROWS = [("AB-north", "1:30"), (" AB-south", "2:30 "), ("north", "-"), ("XY-north", "99:00")]
ROWS += [("AB-none", "1:75")]
DATA = "site,spent\n" + "".join(f"{site},{spent}\n" for site, spent in ROWS * 100)

ANSWERS = "[[200, 100], [84000]]"
"""Rows by site, and the sum of minutes, of which a row has 600 at most."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a spec that uses both, and a file."""
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "data.csv").write_text(DATA, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("prefix", "perfix", "did you mean `prefix`?"),
        ("prefix: AB-", "prefix: [AB-]", "`prefix` is a list"),
        ("hours: 10", "hours: 0", "expected a whole number from 1 to 1,000"),
        ("duration", "durations", "did you mean `duration`?"),
        ("hours: 10", "hours: 10, prefix: x", "`prefix` is not a field of a `duration` column"),
    ],
)
def test_their_keys_are_checked(folder: Path, right: str, wrong: str, problem: str) -> None:
    """Every mistake in a key of either is reported with its place."""
    (folder / "wrong.yaml").write_text(SPEC.replace(right, wrong), encoding="utf-8")
    output = run(folder, "check", "wrong.yaml", status=3)

    assert problem in output
    assert "--> wrong.yaml:" in output


def test_they_are_explained_and_in_the_schema(folder: Path) -> None:
    """The docstring of the option is its page, and the schema accepts its key where it is taken."""
    text = run(folder, "schema")
    schema = Draft202012Validator(json.loads(text))

    assert "is removed" in run(folder, "explain", "prefix")
    assert "prefix: AB-" in run(folder, "explain", "prefix")
    assert "hours and minutes" in run(folder, "explain", "duration")
    assert "is removed" in text
    assert schema.is_valid(yaml.safe_load(SPEC))
    for one, other in (("AB-,", "[AB-],"), ("hours: 10", "hours: x"), ("hours:", "prefix:")):
        assert not schema.is_valid(yaml.safe_load(SPEC.replace(one, other)))


def test_their_cells_are_released(folder: Path) -> None:
    """A prefix is removed before texts and marks are compared; durations are minutes."""
    run(folder, "check", "spec.yaml", "data.csv")
    run(folder, "release", "spec.yaml", "data.csv", "-o", "t.csv")
    rows = [line.split(",") for line in (folder / "t.csv").read_text("utf-8").splitlines()[1:]]
    values = {(row[0], row[1]): float(row[3]) for row in rows}

    assert abs(values["sites", "north"] - 200) < 5
    assert abs(values["sites", "south"] - 100) < 5
    # Ten hours at most: (90 + 150 + 600) / 3.
    assert abs(values["mean", ""] - 280) < 5
    assert abs(values["long", ""] - 200) < 5


def test_the_check_of_cells_proposes_them(folder: Path) -> None:
    """The option is proposed in the words of its class, a mark for a column of the type."""
    bare = SPEC.replace(", prefix: AB-, na: AB-none", "").replace(', na: "-"', "")
    (folder / "bare.yaml").write_text(bare, encoding="utf-8")
    words, toys = ("check", "bare.yaml", "data.csv", "--cells"), "tests.support.toy_registry"
    screen = on_terminal(*words, columns=100, cwd=folder, module=toys)

    assert screen.status == 0, screen.text
    assert 'prefix: "AB-" would read some of them' in screen.text
    assert 'na: "-" would read' in screen.text
    assert "written like 10:00" in screen.text


def test_spark_reads_them(folder: Path) -> None:
    """The integers are those of the local engine."""
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install -e '.[spark]'")
    if not shutil.which("java") and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none")
    script = "from tests.support.toy_spark import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "data.csv"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "JAVA_TOOL_OPTIONS": QUICK_JAVA},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert [line.split(": ")[1] for line in done.stdout.splitlines()] == [ANSWERS, ANSWERS]
