"""A new member of a registry is a file and a line: the whole command follows from it.

The toys are a statistic and a type of column, a query whose answers are not linear and its
statistic, a mechanism and its noise, and an option of columns and a type with its own cells.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from dpcli.numeric.arrays import integer_array
from tests.support.cli import ROOT
from tests.support.spark import QUICK_JAVA
from tests.support.terminal import on_terminal
from tests.support.toy_command import run_toy as run
from tests.support.toy_mechanism import TwoLaplaces, TwoLaplacesMechanism

pytestmark = pytest.mark.extended


@dataclass(frozen=True)
class Toy:
    """A spec with new members, its data, and what the command says of both."""

    spec: str
    data: str
    wrong: Sequence[tuple[str, str, str]]
    """A part of the spec, what stands in its place, and a part of the message."""
    explained: Mapping[str, Sequence[str]]
    """Words, and parts of their pages."""
    refused: Sequence[tuple[str, str]]
    """A part of the spec, and what the schema refuses in its place."""
    described: Sequence[str] = ()
    """Parts of the schema."""


STATISTIC = Toy(
    """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 10}}
columns:
  sex: {type: category, values: [f, m]}
  score: {type: percentage, decimals: 1}
statistics:
  - {name: best, statistic: high_count, column: score, top: 500, by: [sex], epsilon: 1}
  - {name: mean, statistic: mean, column: score, epsilon: 1}
""",
    "sex,score\n" + "f,30.04\nm,80\nm,150\n" * 200,
    wrong=[
        ("high_count", "high_cuont", "did you mean `high_count`?"),
        ("top: 500", "tpo: 500", "did you mean `top`?"),
        ("top: 500, ", "", "the `high_count` `best` has no `top`"),
        ("top: 500", "top: -1", "`top` is `-1`, expected a whole number above zero"),
        ("top: 500", "top: 1002", "expected a whole number from 1 to 1,001"),
        ("column: score", "column: scoer", "`scoer` is not a declared column"),
        ("statistic: mean", "statistic: mean, top: 3", "omit `top`, or use `high_count`"),
        ("percentage", "percentages", "did you mean `percentage`?"),
        ("decimals: 1", "decimals: 9", "`decimals` is `9`, expected a whole number from 1 to 3"),
        ("decimals: 1", "step: 1", "`step` is not a field of a `percentage` column"),
    ],
    explained={
        "high_count": ["public condition"],
        "top": ["How many of the greatest values are high."],
        "percentage": ["type of a column"],
        "decimals": ["decimals: 1"],
    },
    refused=[("top: 500", "topp: 500"), ("top: 500, ", ""), ("decimals: 1", "decimals: x")],
    described=[
        "How many of the greatest values are high.",
        "How many decimals percentages are rounded to.",
    ],
)

QUERY = Toy(
    """\
dpcli: 1
dataset: town
privacy: {unit: {column: who, max_rows: 3}, neighbors: add-remove, budget: {epsilon: 10}}
columns:
  who: {type: id}
  sex: {type: category, values: [f, m]}
statistics:
  - {name: few, statistic: capped_count, cap: 300, by: [sex], epsilon: 3}
  - {name: lone, statistic: capped_count, cap: 1, by: [sex], epsilon: 1}
  - {name: all, statistic: count, by: [sex], epsilon: 3}
""",
    # Of each person, three rows are kept.
    "who,sex\n"
    + "".join(f"{place},{sex}\n" for place in range(200) for sex in ("f", "m", "m", "m")),
    wrong=[
        ("capped_count", "caped_count", "did you mean `capped_count`?"),
        ("cap: 300, ", "", "the `capped_count` `few` has no `cap`"),
        ("cap: 300", "cap: 0", "`cap` is `0`, expected a whole number above zero"),
        ("statistic: count", "statistic: count, cap: 3", "omit `cap`, or use `capped_count`"),
    ],
    explained={"capped_count": ["has reached the cap"], "cap": ["How many rows of a group"]},
    refused=[("cap: 300, ", "")],
)

MECHANISM = Toy(
    """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 10, delta: 1e-5}}
columns:
  sex: {type: category, values: [f, m]}
  age: {type: integer, bounds: [0, 110]}
statistics:
  - {name: n, statistic: count, by: [sex], epsilon: 1, mechanism: two_laplaces}
  - {name: age, statistic: mean, column: age, epsilon: 1, mechanism: two_laplaces}
""",
    "sex,age\n" + "f,30\nm,40\n" * 200,
    wrong=[("two_laplaces", "two_laplace", "did you mean `two_laplaces`?")],
    explained={"two_laplaces": ["post-processing"]},
    refused=[("two_laplaces", "three_laplaces")],
)

ROWS = [("AB-north", "1:30"), (" AB-south", "2:30 "), ("north", "-"), ("XY-north", "99:00")]
ROWS += [("AB-none", "1:75")]

COLUMN = Toy(
    """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 100}}
quality: none
columns:
  site: {type: category, values: [north, south], prefix: AB-, na: AB-none}
  spent: {type: duration, hours: 10, na: "-"}
derive:
  away: {distance: [spent, 100]}
statistics:
  - {name: sites, statistic: count, by: [site], epsilon: 20}
  - {name: away, statistic: mean, column: away, epsilon: 20}
  - {name: mean, statistic: mean, column: spent, epsilon: 20}
  - {name: long, statistic: count, where: {spent: {min: "2:00"}}, epsilon: 20}
""",
    "site,spent\n" + "".join(f"{site},{spent}\n" for site, spent in ROWS * 100),
    wrong=[
        ("prefix", "perfix", "did you mean `prefix`?"),
        ("prefix: AB-", "prefix: [AB-]", "`prefix` is a list"),
        ("hours: 10", "hours: 0", "expected a whole number from 1 to 1,000"),
        ("duration", "durations", "did you mean `duration`?"),
        ("hours: 10", "hours: 10, prefix: x", "`prefix` is not a field of a `duration` column"),
        ("distance", "distence", "`is` or `distance`"),
        ("[spent, 100]", "[spent]", "`distance` has 1 item"),
    ],
    explained={"prefix": ["is removed", "prefix: AB-"], "duration": ["hours and minutes"]},
    refused=[
        ("AB-,", "[AB-],"),
        ("hours: 10", "hours: x"),
        ("hours:", "prefix:"),
        ("[spent, 100]", "spent"),
    ],
    described=["is removed"],
)

TOYS = {"statistic": STATISTIC, "query": QUERY, "mechanism": MECHANISM, "column": COLUMN}
EACH = pytest.mark.parametrize("toy", TOYS.values(), ids=TOYS)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Toy], Path]:
    """A folder with the spec and the file of a toy."""

    def written(toy: Toy) -> Path:
        (tmp_path / "spec.yaml").write_text(toy.spec, encoding="utf-8")
        (tmp_path / "data.csv").write_text(toy.data, encoding="utf-8")
        return tmp_path

    return written


Write = Callable[[Toy], Path]


@EACH
def test_its_fields_are_checked(toy: Toy, write: Write) -> None:
    """Every mistake in a field is reported with its place and a hint."""
    folder = write(toy)
    assert "no problems" in run(folder, "check", "spec.yaml")
    for right, wrong, problem in toy.wrong:
        assert right in toy.spec
        (folder / "wrong.yaml").write_text(toy.spec.replace(right, wrong), encoding="utf-8")
        output = run(folder, "check", "wrong.yaml", status=3)

        assert problem in output
        assert "--> wrong.yaml:" in output


@EACH
def test_it_is_explained_and_in_the_schema(toy: Toy, write: Write) -> None:
    """`explain` has its pages; editors accept its fields, refuse wrong ones, and describe them."""
    folder = write(toy)
    text = run(folder, "schema")
    schema = Draft202012Validator(json.loads(text))

    for word, parts in toy.explained.items():
        page = " ".join(run(folder, "explain", word).split())
        assert all(part in page for part in parts)
    assert schema.is_valid(yaml.safe_load(toy.spec))
    for right, wrong in toy.refused:
        assert not schema.is_valid(yaml.safe_load(toy.spec.replace(right, wrong)))
    assert all(part in text for part in toy.described)


@pytest.mark.parametrize(
    ("toy", "rows", "runs"), [(STATISTIC, 400, 100), (QUERY, 900, 100), (MECHANISM, 400, 200)]
)
def test_it_is_simulated_as_predicted(toy: Toy, rows: int, runs: int, write: Write) -> None:
    """A simulation finds the errors that the plan predicts, those of capped answers too."""
    words = ("simulate", "spec.yaml", "--rows", f"{rows}", "--runs", f"{runs}", "--json")
    statistics = json.loads(run(write(toy), *words))["statistics"]
    answers = [answer for one in statistics for answer in one["answers"]]

    assert answers
    # 95% of errors are within what is predicted; that of 100 answers is known to 2.2%.
    assert all(answer["within"] > 0.85 for answer in answers)


def released(folder: Path) -> tuple[dict[tuple[str, str], float], list[str]]:
    """The values of a release by statistic and group, and its reports in JSON, Markdown, HTML."""
    names = [f"r.{ending}" for ending in ("json", "md", "html", "yaml")]
    reports = [word for name in names for word in ("--report", name)]
    run(folder, "check", "spec.yaml", "data.csv")
    run(folder, "release", "spec.yaml", "data.csv", "-o", "t.csv", *reports)
    rows = [line.split(",") for line in (folder / "t.csv").read_text("utf-8").splitlines()[1:]]
    texts = [(folder / name).read_text("utf-8").replace("\\", "") for name in names[:3]]
    return {(row[0], row[1]): float(row[3]) for row in rows}, texts


def test_a_statistic_is_planned_released_and_reported(write: Write) -> None:
    """Plan, table and all reports have the statistic, with values of the type's own bounds."""
    folder = write(STATISTIC)
    plan = run(folder, "plan", "spec.yaml")
    values, reports = released(folder)

    assert "best" in plan
    assert abs(values["best", "f"]) < 60
    assert abs(values["best", "m"] - 400) < 60
    # Percentages above 100 are clamped: (30 + 80 + 100) / 3.
    assert abs(values["mean", ""] - 70) < 10
    assert all("high_count" in text for text in reports)


def test_init_asks_for_the_fields_of_the_type(write: Write) -> None:
    """`init --ask` offers the type and asks for its own field, with its example."""
    folder = write(STATISTIC)
    answers = "yes\ntown\nrow\nadd-remove\n1\nskip\npercentage\n9\n2\n" + "\n" * 20
    output = run(folder, "init", "data.csv", "--ask", stdin=answers)

    assert "How many decimals percentages are rounded to. [1]: 9" in output
    assert "expected a whole number from 1 to 3" in output
    assert "score: {type: percentage, decimals: 2}" in output


def test_a_query_is_planned_and_released(write: Write) -> None:
    """A person changes counts by three rows, and capped counts by one in each group."""
    folder = write(QUERY)
    planned = json.loads(run(folder, "plan", "spec.yaml", "--json"))
    changes = {entry["name"]: entry["sensitivity"]["l1"] for entry in planned["statistics"]}
    values, reports = released(folder)
    with sqlite3.connect(folder / "dpcli-ledger.sqlite") as ledger:
        history = "".join(map(str, ledger.iterdump()))

    assert changes == {"few": 3, "lone": 2, "all": 3}
    # No number is far above its cap.
    assert abs(values["few", "m"] - 300) < 40 < values["all", "m"] - values["few", "m"]
    assert abs(values["lone", "f"] - 1) < 40
    names = [entry["name"] for entry in json.loads((folder / "r.json").read_text())["statistics"]]
    assert names == ["few", "lone", "all"]
    assert all("capped_count" in text for text in reports)
    assert '"cap":300' in history.replace(" ", "").replace('\\"', '"')


def test_a_mechanism_is_planned_released_and_charged(write: Write) -> None:
    """Plan, table, all reports and the ledger have it, with its own width and its loss."""
    folder = write(MECHANISM)
    plan = run(folder, "plan", "spec.yaml")
    _, reports = released(folder)
    history = json.loads(run(folder, "ledger", "history", "town", "--json"))

    assert "two_laplaces" in plan
    assert "discrete-two-laplaces" in reports[0]
    assert all("Two Laplaces noise" in text for text in reports[1:])
    assert "two_laplaces" in json.dumps(history)
    assert run(folder, "ledger", "verify")
    (account,) = json.loads(run(folder, "ledger", "show", "--json"))
    assert account["spent_epsilon"] == 2


@pytest.mark.parametrize("scale", [0.5, 2, 30])
def test_widths_follow_from_its_tail(scale: float) -> None:
    """Half-widths, quantiles and variances agree with draws of the mechanism."""
    noise = TwoLaplaces(Fraction(scale))
    draws = TwoLaplacesMechanism().add_noise(noise, integer_array([0] * 20_000))
    width = noise.half_width(Fraction(9, 10))

    assert sum(abs(draw) <= width for draw in draws) >= 18_000 - 6 * 42
    assert sum(abs(draw) < width for draw in draws) <= 18_000 + 6 * 42
    assert noise.tail_bound(5) >= noise.approximate_tail(5)


def test_cells_of_a_column_are_released(write: Write) -> None:
    """A prefix is removed before texts and marks are compared; durations are minutes."""
    values, _ = released(write(COLUMN))

    assert abs(values["sites", "north"] - 200) < 5
    assert abs(values["sites", "south"] - 100) < 5
    # Ten hours at most: (90 + 150 + 600) / 3.
    assert abs(values["mean", ""] - 280) < 5
    # (10 + 50 + 500) / 3.
    assert abs(values["away", ""] - 560 / 3) < 5
    assert abs(values["long", ""] - 200) < 5


def test_the_check_of_cells_proposes_them(write: Write) -> None:
    """The option is proposed in the words of its class, a mark for a column of the type."""
    folder = write(COLUMN)
    bare = COLUMN.spec.replace(", prefix: AB-, na: AB-none", "").replace(', na: "-"', "")
    (folder / "bare.yaml").write_text(bare, encoding="utf-8")
    words, toys = ("check", "bare.yaml", "data.csv", "--cells"), "tests.support.toy_registry"
    screen = on_terminal(*words, columns=100, cwd=folder, module=toys)

    assert screen.status == 0, screen.text
    assert 'prefix: "AB-" would read some of them' in screen.text
    assert 'na: "-" would read' in screen.text
    assert "written like 10:00" in screen.text


ANSWERS = "[[200, 100], [84000]]"
"""Rows by site, and the sum of minutes, of which a row has 600 at most."""


def test_spark_reads_them(write: Write) -> None:
    """The integers are those of the local engine."""
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install -e '.[spark]'")
    if not shutil.which("java") and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none")
    script = "from tests.support.toy_spark import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "data.csv"],
        cwd=write(COLUMN),
        env=os.environ | {"PYTHONPATH": str(ROOT), "JAVA_TOOL_OPTIONS": QUICK_JAVA},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert [line.split(": ")[1] for line in done.stdout.splitlines()] == [ANSWERS, ANSWERS]


CHOSEN = (
    "(high_count and not docstring) or capped_count or CappedCountQuery or thousands"
    " or (two_laplaces and not pure_ratios and not brute_force)"
)
"""The toys of `toy_registry`; `high_count` has no example, two laws need a formula of their own."""

LAWS = {
    "tests/laws/test_statistics.py": 8,
    "tests/laws/test_mechanisms.py": 8,
    "tests/laws/test_claims.py": 2,
    "tests/laws/test_answers.py": 4,
    "tests/laws/test_audit.py": 2,
    "tests/unit/statistics/test_people_laws.py": 1,
    "tests/unit/engine/sums/test_oracle.py": 1,
}
"""Files of laws, and how many tests of them there are at least."""


def test_laws_include_new_members() -> None:
    """Brute force over neighbors, audits of whole releases and files for the engine cover them."""
    command = [sys.executable, "-m", "pytest", "-vv", "-p", "tests.support.toy_registry"]
    done = subprocess.run(
        [*command, "-k", CHOSEN, *LAWS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    passed = [line.split("::")[0] for line in done.stdout.splitlines() if " PASSED" in line]

    assert done.returncode == 0, done.stdout
    assert all(Counter(passed)[file] >= least for file, least in LAWS.items()), done.stdout
