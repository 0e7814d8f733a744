"""Problems are shown with a caret under what is wrong, on every terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dpcli.problems.errors import Place, Problem
from dpcli.problems.excerpts import WIDTH, render_problem


def shown(text: str, column: int, length: int, line: int = 7) -> list[str]:
    """The lines of a problem at a place."""
    place = Place("s.yaml", line, column, length, text)
    return render_problem(Problem("code", "message", "hint", place)).split("\n")


def test_without_place_or_hint() -> None:
    """A problem without place and hint is one line."""
    assert render_problem(Problem("usage", "no such file")) == "error[usage]: no such file"
    assert render_problem(Problem("usage", "no", "try")) == "error[usage]: no\nhint: try"


def test_the_whole() -> None:
    """Message, arrow, gutter, source line, caret and hint stand in this order."""
    assert shown("epsilon: yes", 10, 3, line=12) == [
        "error[code]: message",
        "  --> s.yaml:12:10",
        "   |",
        "12 | epsilon: yes",
        "   |          ^^^",
        "hint: hint",
    ]


def test_tabs() -> None:
    """Tabs are shown as spaces, and the caret still fits."""
    assert shown("\ta\tb", 4, 1)[3:5] == ["7 |     a    b", "  |          ^"]


def test_wide_characters() -> None:
    """Wide characters take two columns, combining marks none."""
    assert shown("\u5e74\u9f62: x", 5, 1)[3:5] == ["7 | \u5e74\u9f62: x", "  |       ^"]
    assert shown("\u5e74\u9f62: x", 1, 2)[4] == "  | ^^^^"
    assert shown("e\u0301: x", 5, 1)[4] == "  |    ^"


def test_invisible_characters() -> None:
    """What could act on a terminal is shown as a replacement character."""
    assert shown("a\x1b[31m\u202eb", 2, 1)[3:5] == ["7 | a\ufffd[31m\ufffdb", "  |  ^"]
    place = Place("a\x1bb\n.yaml", 1, 1, 1, "x")
    assert "\x1b" not in render_problem(Problem("c", "m", "h", place))


def test_the_end_of_a_line() -> None:
    """A place behind the last character has a caret there."""
    assert shown("ab", 3, 1)[3:5] == ["7 | ab", "  |   ^"]
    assert shown("", 1, 1)[3:5] == ["7 |", "  | ^"]


def test_long_lines() -> None:
    """A long line is cut around the span, which stays in view."""
    text = "a" * 5000 + "WRONG" + "b" * 5000
    line, caret = shown(text, 5001, 5)[3:5]
    start = caret.index("^")
    assert line[start : start + 5] == "WRONG" and caret.count("^") == 5
    assert line.startswith("7 | ...a") and line.endswith("b...") and len(line) < WIDTH + 12


@given(st.text(max_size=300), st.integers(1, 320), st.integers(1, 320))
def test_any_place(text: str, column: int, length: int) -> None:
    """Any place is shown in six lines of bounded width, with a caret inside."""
    column = min(column, len(text) + 1)
    lines = shown(text, column, length)
    assert len(lines) == 6 and "^" in lines[4]
    assert len(lines[4]) <= WIDTH + 20
