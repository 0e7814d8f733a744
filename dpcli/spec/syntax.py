"""What a YAML parser's complaint means, in plain words."""

from __future__ import annotations

import yaml

from dpcli.messages import shown
from dpcli.spec.nodes import Span

PHRASES: tuple[tuple[str, str, str], ...] = (
    ("tab character", "a tab is used for indentation", "indent with spaces"),
    (
        "mapping values are not allowed",
        "a `:` is not expected here",
        "check the indentation; put texts that hold a `:` in quotes",
    ),
    (
        "block sequence entries are not allowed",
        "a list item is not expected here",
        "begin the list on a line of its own, below its key",
    ),
    (
        "block mapping",
        "this line does not fit the lines above it",
        "indent the keys of one mapping alike, with spaces",
    ),
    (
        "block collection",
        "this line does not fit the lines above it",
        "indent the items of one list alike, with spaces",
    ),
    ("escape", "an unknown escape in a double-quoted text", "use single quotes"),
    ("hexdecimal", "an incomplete escape in a double-quoted text", "use single quotes"),
    ("quoted scalar", "a quoted text is not closed", "close it with the same quote"),
    ("expected ',' or ']'", "a `,` or `]` is expected here", "close the list, or quote its texts"),
    (
        "expected ',' or '}'",
        "a `,` or `}` is expected here",
        "close the mapping, or quote its texts",
    ),
    ("expected ':'", "a `:` is expected after this key", "write `key: value`"),
    ("alphabetic or numeric", "`&` or `*` begins a text here", "put the text in quotes"),
    ("node content", "a value is expected here", "give a value, or omit the key"),
    ("<document start>", "the spec has ended above this line", "remove this line"),
    ("tag", "`!` begins a text here", "put the text in quotes"),
    ("block scalar", "a text after `|` or `>` must begin on the next line", "put it in quotes"),
)
"""Parts of the parser's words, most telling first, with ours."""


def in_plain_words(error: yaml.MarkedYAMLError, lines: list[str]) -> tuple[str, str, Span]:
    """The message, hint and place of a syntax error."""
    complaint = f"{error.problem or ''} {error.context or ''}"
    mark = error.problem_mark or error.context_mark
    open_quote = "quoted scalar" in complaint and "end of stream" in complaint
    if (open_quote or "alphabetic or numeric" in complaint) and error.context_mark:
        mark = error.context_mark
    if mark is None:
        return "the text is not YAML", "check its quotes and brackets", Span(1, 1, 1)
    span = Span(mark.line + 1, mark.column + 1, 1)
    if "cannot start any token" in complaint:
        return *_bad_start(span, lines), span
    opened = error.context_mark
    if "flow" in complaint and "','" in complaint and opened and opened.line != mark.line:
        bracket = "[" if "flow sequence" in complaint else "{"
        message = f"this {shown(bracket)} is not closed where the next lines expect it"
        return message, "close it", Span(opened.line + 1, opened.column + 1, 1)
    ended = "block mapping" in complaint or "block collection" in complaint
    if ended and _before(span, lines).strip():
        return "more text follows a value that has ended", "quote the whole text", span
    for part, message, hint in PHRASES:
        if part in complaint:
            return message, hint, span
    return "the text is not YAML here", "check quotes, brackets and indentation", span


def _before(span: Span, lines: list[str]) -> str:
    """What stands on the line before a place."""
    return lines[span.line - 1][: span.column - 1] if span.line <= len(lines) else ""


def _bad_start(span: Span, lines: list[str]) -> tuple[str, str]:
    """Why no text can begin with the character at this place."""
    line = lines[span.line - 1] if span.line <= len(lines) else ""
    character = line[span.column - 1 : span.column]
    if character == "\t":
        return "a tab is used for indentation", "indent with spaces"
    if not character:
        return "the text is not YAML here", "check quotes, brackets and indentation"
    return f"a text cannot begin with {shown(character)}", "put the text in quotes"
