"""Every command is readable on a terminal of 80 columns, and on one of 200."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpcli.cli.plan_text import SPARE
from tests.support.cli import ROOT, Command
from tests.support.fork_server import fast_dpcli
from tests.support.terminal import on_terminal

pytestmark = pytest.mark.extended

NARROW, WIDE = 80, 200

GAP = re.compile(r"\n\n\n+\S")
"""Two or more empty lines above a text."""

SAME = (
    "plan specs/local-survey.yaml",
    "check specs/town.yaml sample_data/people.csv",
    "check specs/town.yaml sample_data/people.csv --cells",
    "check specs/local-survey.yaml",
    "check broken.yaml",
    "check missing.yaml",
    "plan specs/town.yaml",
    "plan specs/gaussian-zcdp.yaml",
    "plan specs/relations.yaml",
    "plan specs/town.yaml --details",
    "plan specs/relations.yaml --details",
    "plan specs/town.yaml --risks",
    "plan specs/town.yaml --compare",
    "plan specs/town.yaml --diff specs/town-people.yaml",
    "plan specs/town.yaml --times 400",
    "plan specs/local-survey.yaml --shuffle 100000 --delta 1e-7",
    "plan specs/local-survey.yaml --risks",
    "release specs/town.yaml sample_data/people.csv --dry-run",
    "ledger show --ledger book.sqlite",
    "ledger show --ledger book.sqlite --spec specs/town.yaml",
    "ledger history --ledger book.sqlite",
    "ledger verify --ledger book.sqlite",
    "ledger export none --ledger book.sqlite",
    "local epsilon --scale 3 --bounds 18 100",
    "explain",
    "explain bounds",
    "explain median",
    "explain zcdp",
    "explain privacy --epsilon 1 --delta 1e-6",
    "explain nothing-of-that-name",
    "release specs/town.yaml",
    "relaese specs/town.yaml",
    "--help",
    "release --help",
    "help ledger recover",
)
"""Commands whose words are the same each time."""

NOISY = (
    "release specs/town.yaml sample_data/people.csv --ledger book.sqlite",
    "simulate specs/town.yaml --rows 300 --seed 1 --runs 3",
)
"""Commands with noise."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with specs, data and a ledger with accounts of every kind."""
    folder = tmp_path_factory.mktemp("place")
    shutil.copytree(ROOT / "specs", folder / "specs")
    shutil.copytree(ROOT / "sample_data", folder / "sample_data")
    (folder / "broken.yaml").write_text(
        "dpcli: 1\ndataset: d\nprivacy: {unit: row, neighbours: add-remove, budget: {epsilon: "
        "1}}\ncolumns: {age: {type: integer}}\nstatistics: []\n",
        encoding="utf-8",
    )
    for line in (
        "ledger init book.sqlite",
        "ledger open visits --epsilon 1 --window 7 --ledger book.sqlite",
        "ledger open people --rho 0.1 --delta 1e-6 --composition zcdp --ledger book.sqlite",
        "release specs/town.yaml sample_data/people.csv -q -o t.csv --ledger book.sqlite",
    ):
        subprocess.run(
            [fast_dpcli(), *line.split()],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        )
    return folder


PROGRESS = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h", re.DOTALL)
"""What is shown while the cursor is hidden."""


def words(text: str) -> set[str]:
    """The words and numbers of a text, without the marks around them."""
    return {
        word
        for piece in text.split()
        for word in [piece.strip(";:,.()")]
        if re.search(r"\w", word) and not re.search("[\u2500-\u25ff]", word)
    }


@pytest.mark.parametrize("line", SAME)
def test_a_narrow_terminal_shows_every_word(line: str, place: Path) -> None:
    """At 80 columns no line is wider, no word is broken or cut, and the status is the same."""
    narrow = on_terminal(*line.split(), columns=NARROW, cwd=place)
    wide = on_terminal(*line.split(), columns=WIDE, cwd=place)

    assert narrow.status == wide.status
    assert max(map(len, narrow.lines)) <= NARROW
    assert max(map(len, wide.lines)) <= WIDE
    assert not GAP.search("\n".join(narrow.lines)) and not GAP.search("\n".join(wide.lines))
    assert "\N{HORIZONTAL ELLIPSIS}" not in narrow.text + wide.text
    # A run that takes long shows its progress, until it ends.
    left_out = words(PROGRESS.sub("", wide.text)) - words(narrow.text)
    if line.startswith("plan"):
        # Some columns of a plan are only in its JSON and on wider terminals.
        spare = set(SPARE)
        left_out -= {word for word in left_out if word in spare or re.match(r"-?\d", word)}
    assert not left_out


@pytest.mark.parametrize("columns", [NARROW, WIDE])
@pytest.mark.parametrize("line", NOISY)
def test_tables_with_noise_fit(line: str, columns: int, place: Path) -> None:
    """No line is wider than the terminal, and names of statistics and columns are not broken."""
    seen = on_terminal(*line.split(), columns=columns, cwd=place)

    assert seen.status == 0
    assert max(map(len, seen.lines)) <= columns
    assert not GAP.search("\n".join(seen.lines))
    assert "\N{HORIZONTAL ELLIPSIS}" not in seen.text
    assert {"statistic", "people", "visits", "ages", "how_often"} <= words(seen.text)


def test_a_terminal_shows_the_summary_in_place_of_csv(place: Path) -> None:
    """Without -o, the values are on a terminal once, and not as CSV."""
    line = "release specs/town.yaml sample_data/people.csv --ledger book.sqlite"
    seen = on_terminal(*line.split(), columns=WIDE, cwd=place)

    assert "statistic,home" not in seen.text
    assert sum(line.startswith("how_often ") for line in seen.lines) == 1
    assert "left of" in seen.text


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("line", [["check", "broken.yaml"], ["plan", "specs/town.yaml"]])
def test_color_can_be_refused(line: list[str], where: str, place: Path) -> None:
    """With `--no-color`, before or after the command, no color and no bold are written."""
    given = ["--no-color", *line] if where == "before" else [*line, "--no-color"]
    script = (
        "import os, pty, sys; "
        f"os.environ['PYTHONPATH'] = {str(ROOT)!r}; "
        f"pty.spawn([sys.executable, '-m', 'dpcli', *{given!r}])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script], cwd=place, capture_output=True, check=True
    ).stdout

    assert b"error[" in shown or b"epsilon" in shown
    assert not re.search(rb"\x1b\[[0-9;]*m", shown)


def test_carets_stay_below_their_words(place: Path) -> None:
    """A source line that is wider than the terminal is shown around the problem, unwrapped."""
    names = ", ".join(f"column_{number}: {{type: id}}" for number in range(9))
    long = (
        "dpcli: 1\ndataset: d\nprivacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}\n"
        f"columns: {{{names}, sex: {{type: categroy}}, {names.replace('_', '-')}}}\n"
        "statistics: [{name: n, statistic: count, epsilon: 1}]\n"
    )
    (place / "long.yaml").write_text(long, encoding="utf-8")
    for columns in (NARROW, WIDE):
        lines = on_terminal("check", "long.yaml", columns=columns, cwd=place).lines
        below = [number for number, line in enumerate(lines) if re.fullmatch(r" +\| +\^+", line)]

        assert max(map(len, lines)) <= columns
        assert any("categroy" in lines[number - 1] for number in below)
        assert all(len(lines[number]) <= len(lines[number - 1]) for number in below)
        assert all(re.match(r"\d+ \| ", lines[number - 1]) for number in below)


def test_a_plan_shows_queries_only_as_details(place: Path) -> None:
    """With `--details`, sentences stand above the table, once for all statistics they are about."""
    line = ("plan", "specs/relations.yaml", "--details")
    lines = on_terminal(*line, columns=NARROW, cwd=place).lines
    at = next(number for number, text in enumerate(lines) if " query " in text)

    assert any(
        text.startswith("together, spread, income_of: the number of rows, and the sums")
        for text in lines[:at]
    )
    assert " ".join(lines).count("sums of the distances") == 1

    short = on_terminal(*line[:2], columns=NARROW, cwd=place).lines
    assert not {"query", "scale", "L1", "L2"} & words(" ".join(short))


def test_piped_text_is_not_wrapped(dpcli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Piped output has one line for each row and each note, at any width."""
    outputs = []
    for columns in ("40", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        outputs.append(dpcli("plan", ROOT / "specs" / "town.yaml").out)

    assert outputs[0] == outputs[1]
    assert max(map(len, outputs[0].splitlines())) > WIDE
