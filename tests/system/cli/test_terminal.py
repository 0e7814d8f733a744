"""No name of a file, a column or a label controls the terminal that shows it."""

from __future__ import annotations

import io
import re
import shutil
import sys
import unicodedata
from pathlib import Path

import pytest

from dpcli.cli.console import (
    EscapedStream,
    emphasized,
    escaped,
    escaped_streams,
    print_line,
    raw_stream,
    wrapped,
)
from dpcli.cli.terminal import write_table
from dpcli.problems.messages import escape_controls
from tests.support.cli import LOCAL, PEOPLE, SPEC, Command, Outcome

ODD = "a\x1b[31m\x07\rb\nerror[forged]: c\u202ed\u2066\x9b2J\x7f"
"""ESC, BEL, CR, LF, turns of direction, a C1 control and DEL."""

ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def clean(outcome: Outcome) -> bool:
    """Whether a terminal shows an output as it is, without a forged line."""
    words = outcome.out + outcome.err
    return not ACTS.search(words) and not re.search(r"^error.forged", words, re.MULTILINE)


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder with an unusual name, which has files with unusual names."""
    folder = tmp_path / ODD
    folder.mkdir()
    spec = folder / f"{ODD}.yaml"
    spec.write_text(SPEC.replace("NEIGHBORS", "add-remove"), encoding="utf-8")
    shutil.copy(PEOPLE, folder / f"{ODD}.csv")
    (folder / f"{ODD}.good.csv").write_text(
        "age,income,sex,since\n30,100,f,2020-02-02\n", encoding="utf-8"
    )
    (folder / f"{ODD}.bad.yaml").write_text("dpcli: 1\ncolumns: {", encoding="utf-8")
    shutil.copy(LOCAL, folder / f"{ODD}.local.yaml")
    return folder / ODD


COMMANDS = (
    ("check", "O.yaml"),
    ("check", "O.yaml", "O.good.csv"),
    ("check", "O.yaml", "O.csv"),
    ("check", "O.bad.yaml"),
    ("check", "O.none.yaml"),
    ("check", "O.csv"),
    ("plan", "O.yaml"),
    ("plan", "O.yaml", "--hazards"),
    ("plan", "O.local.yaml", "--records", "100"),
    ("plan", "O.yaml", "--diff", "O.none.yaml"),
    ("init", "O.good.csv"),
    ("init", "O.none.csv"),
    ("init", "O.good.csv", "-o", "O.good.csv"),
    ("simulate", "O.yaml", "--rows", "10", "--runs", "2", "--seed", "1"),
    ("release", "O.yaml", "O.good.csv"),
    ("release", "O.yaml", "O.good.csv", "O.good.csv"),
    ("release", "O.yaml", "O.csv"),
    ("release", "O.yaml", "O.good.csv", "-o", "O.yaml"),
    ("release", "O.yaml", "O.good.csv", "-o", "O/none/o.csv"),
    ("release", "O.yaml", "O.good.csv", "--ledger", "O.none.sqlite"),
    ("release", "O.yaml", "O.good.csv", "--release-id", "O"),
    ("release", "O.yaml", "O.good.csv", "--period", "O"),
    ("release", "O.yaml", "O.good.csv", "--layout", "O"),
    ("sum", "O.csv"),
    ("sum", "O.good.csv", "--where", "O"),
    ("ledger", "init", "O.sqlite"),
    ("ledger", "show", "--ledger", "O.none.sqlite"),
    ("ledger", "export", "O"),
    ("local", "randomize", "O.local.yaml", "O.csv"),
    ("local", "estimate", "O.local.yaml", "O.csv"),
    ("local", "epsilon", "O.none.csv"),
    ("explain", "O"),
    ("O",),
    ("check", "--O"),
    ("check", "O.yaml", "O.good.csv", "--O"),
    ("explain", "count", "O"),
    ("schema", "O"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_names_of_files_are_escaped(
    words: tuple[str, ...], odd: Path, dpcli: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No message about arguments and files has a raw control character."""
    monkeypatch.chdir(odd.parent)
    outcome = dpcli(*(word.replace("O", ODD, 1) for word in words))

    assert clean(outcome), outcome
    assert outcome.status != 1


def test_labels_and_texts_of_specs_are_escaped(dpcli: Command, tmp_path: Path, data: Path) -> None:
    """Direction marks in labels, names and errors are shown as escapes."""
    spec = tmp_path / "spec.yaml"
    for old, new in (
        ("f: female", "f: fe\u202emale"),
        ("age:", "a\u2066ge:"),
        ("statistic: mean", 'statistic: "me\\x1ban"'),
        ("dataset: town", 'dataset: "to\\x1b\\nwn"'),
        ("name: people", "name: peo\u202eple"),
    ):
        spec.write_text(SPEC.replace("NEIGHBORS", "add-remove").replace(old, new), "utf-8")
        for words in (("check", spec), ("plan", spec), ("release", spec, data)):
            outcome = dpcli(*words)
            table = outcome.out if words[0] == "release" else ""
            assert clean(Outcome(outcome.status, outcome.out.removeprefix(table), outcome.err)), (
                outcome
            )


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x9b", "\u202e", "\u2028", "\ud800"])
def test_every_text_stream_is_escaped(character: str) -> None:
    """Text in an escaped stream arrives with escapes; line ends and tabs stay."""
    target = io.StringIO()
    EscapedStream(target).write(f"a\tb\n{character}")

    assert target.getvalue() == "a\tb\n" + ascii(character)[1:-1]


def test_commands_and_places_are_not_broken() -> None:
    """A command or a place in a message is never broken between words."""
    place = " --> a folder with spaces/and a long name.yaml:12:3"
    command = "`dpcli ledger export day-1 --report check.md`"
    lines = wrapped(f"error: something is wrong\n{place}\nhint: then use {command} again", 40)

    assert place in lines.split("\n")
    assert command in lines
    assert "\n  `dpcli" in lines


@pytest.mark.parametrize("begin", ["hint: ", "warning: ", "note: ", "error[a-code]: "])
def test_each_sentence_of_a_long_message_begins_a_line(begin: str) -> None:
    """On a terminal, parts of a message that does not fit a line have lines of their own."""
    words = "the first part says what is wrong; a second one says why. Write `a: 1; b: 2`"
    text = f"{begin}{words}; {'more ' * 20}"

    assert wrapped(text, 80).split("\n") == [
        f"{begin}the first part says what is wrong;",
        "  a second one says why.",
        "  Write `a: 1; b: 2`;",
        "  more more more more more more more more more more more more more more more",
        "  more more more more more",
    ]
    assert wrapped(f"{begin}one; two", 80) == f"{begin}one; two"
    assert wrapped(f"x {text}", 80).count("\n") == 2


def test_a_line_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A name with line ends does not begin a new line."""
    print_line("a\nb\r\u2028c")

    assert capsys.readouterr().err == "a\\nb\\r\\u2028c\n"


def test_invisible_characters_are_escaped() -> None:
    """Of all characters, those of the invisible categories are escaped in messages.

    Letters of all scripts, joiners of emoji and blanks are printed as they are.
    """
    for number in range(0x11000):
        kind = unicodedata.category(chr(number))
        assert (escape_controls(chr(number)) == chr(number)) == (
            kind not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        )
    text = "Größe 年齢 возраст \N{ZERO WIDTH JOINER} \N{NO-BREAK SPACE} \N{SLICE OF PIZZA}"
    assert escaped(text) == text


@pytest.mark.parametrize("columns", [24, 40, 60, 80])
def test_a_table_fits_a_terminal_without_breaking_a_number(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spare columns are left out first, then cells are wrapped, then each cell gets a line."""
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    row = {"statistic": "incomes", "query": "number of visits", "error 95%": "1234567.25"}
    shown = write_table(screen, "a title", [row | {"spare": "9" * 30, "": ""}], ["spare"])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue()).splitlines()

    assert shown == ["statistic", "query", "error 95%", *(["spare"] if columns == 80 else [])]
    assert max(map(len, lines)) <= columns
    assert "1234567.25" in " ".join(lines).split()
    assert any(re.fullmatch(r"  error 95%  1234567.25", line) for line in lines) == (columns == 24)


def test_a_table_on_a_terminal_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells are also escaped where lines are drawn to the terminal itself."""
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "300")
    with escaped_streams():
        write_table(sys.stdout, ODD, [{"name": ODD, ODD: "1"}])
        assert raw_stream(sys.stdout) is screen

    assert "\x07" not in screen.getvalue() and "\u202e" not in screen.getvalue()
    assert "\\u202e" in screen.getvalue()
    assert not re.search(r"^\s*error.forged", screen.getvalue(), re.MULTILINE)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("name a `word`, or `two words`: (`x`)", "name a word, or two words: (x)"),
        ("`type` is `cat`e`g`, no type", None),
        ("no file `a `b` c`.yaml`", None),
        ("`epsilon` is ``, no number", None),
        ("12 | `x`", None),
    ],
)
def test_backticks_of_a_user_are_shown(
    line: str, shown: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bold replaces backticks around a word only if the line has no others."""
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    bold = emphasized(line, screen)
    assert re.sub(r"\x1b\[[0-9;]*m", "", bold) == (shown or line)
    assert (bold == line) == (shown is None)

    monkeypatch.setenv("TERM", "dumb")
    assert emphasized(line, screen) == line
