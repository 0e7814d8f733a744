"""The templates of messages: each is used, and gets every fact that it names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

import dpcli
from dpcli.problems import messages, reference
from tests.benchmarks.coupling import walked
from tests.support.rules import for_each
from tests.support.syntax import trees

PACKAGE = sorted(Path(dpcli.__file__).parent.rglob("*.py"))

OF_VALUE = {"name", "found", "key"}
OF_SECTION = {"what", "subject"}
GIVEN: dict[str, set[str]] = {
    "about": set(),
    "make_problem": set(),
    "message_and_hint": set(),
    "CannotRandomize": set(),
    "report_and_suppress": set(),
    "report": OF_VALUE | OF_SECTION,
    "span.report": set(),
    "report_key": OF_SECTION,
    "FieldFault": OF_VALUE | OF_SECTION,
    "invalid_value": OF_VALUE,
    "ExactNumber": OF_VALUE,
    "Choice": OF_VALUE | {"word", "choices"},
}
"""Calls whose first argument is a code and whose keywords are arguments; and those they add."""


def templates() -> Iterator[str]:
    """Every code and variant that has a message of its own."""
    for name, table in reference.code_tables().items():
        if "message" in table or "expected" in table:
            yield name
        yield from (f"{name}.{key}" for key, value in table.items() if isinstance(value, dict))


@cache
def text_of_package() -> str:
    """Everything that may name a code."""
    places = [*PACKAGE, reference.FOLDER / "syntax_advice.toml"]
    return "\n".join(path.read_text(encoding="utf-8") for path in places)


def calls() -> Iterator[tuple[str, str, set[str] | None]]:
    """Where each code is reported with which arguments; None where they are collected before."""
    for path, tree in trees().items():
        for node in walked(tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = ast.unparse(node.func).split(".")
            name = ".".join(called[-2:]) if called[-2:] == ["span", "report"] else called[-1]
            if name not in GIVEN:
                continue
            arguments = {word.arg for word in node.keywords if word.arg} | GIVEN[name]
            if name == "ExactNumber" and "max_value" in arguments:
                arguments.add("most")
            is_complete = all(word.arg for word in node.keywords)
            for leaf in ast.walk(node.args[0]):
                if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
                    yield (f"{path}:{node.lineno}", leaf.value, arguments if is_complete else None)


def arguments_of(code: str) -> dict[str, object]:
    """The arguments in the message of a code, each with a value of the right type."""
    template = reference.template(code)
    texts = [template.get(key, "") for key in ("message", "expected", "hint")]
    fitting: dict[str, object] = {"text": "", "or": ["a", "b"], "and": ["a", "b"]}
    return {
        field: fitting.get(form or "", 2)
        for text in texts
        for _, field, form, _ in Formatter().parse(text)
        if field
    }


@for_each(list(templates()))
def test_a_template_has_a_message_and_is_used(code: str) -> None:
    """Every code and variant occurs in the package, and its message can be filled."""
    name, _, variant = code.partition(".")
    uses = [f'"{code}"', *([f'f"{name}.{{', f'variant_code("{name}"'] if variant else [])]
    assert any(use in text_of_package() for use in uses)
    message, hint = messages.message_and_hint(
        code, **{"name": "", "found": "", **arguments_of(code)}
    )
    assert message and not message.endswith(".") and not hint.endswith(".")


LONGEST_MESSAGE, LONGEST_HINT, LONGEST_CLAUSE = 160, 330, 170
"""Characters: a message has two lines of a terminal of 80 columns, and a hint four."""

LONGEST_SENTENCE = 265
"""Characters of a sentence of a plan or report, or of a part of it that a semicolon ends."""


@for_each(list(templates()))
def test_a_message_is_read_at_a_glance(code: str) -> None:
    """A message is one short sentence; a hint has few, each of which begins on its own line."""
    message, hint = messages.message_and_hint(
        code, **{"name": "", "found": "", **arguments_of(code)}
    )
    parts = messages.clauses(hint)

    assert len(message) <= LONGEST_MESSAGE and len(hint) <= LONGEST_HINT
    assert all(len(part) <= LONGEST_CLAUSE for part in parts)
    assert " ".join(parts) == hint


def sentences() -> Iterator[tuple[str, str]]:
    """Each text of the package with its file and line: of risks, and strings on several lines."""
    for risk, table in reference.texts("risks").items():
        yield from ((f"{risk}.{key}", text) for key, text in table.items())
    for path, tree in trees().items():
        documented = {node.value for node in walked(tree) if isinstance(node, ast.Expr)}
        for node in walked(tree):
            if not isinstance(node, ast.JoinedStr | ast.Constant) or node in documented:
                continue
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            values = [part.value if isinstance(part, ast.Constant) else "x" for part in parts]
            text = "".join(map(str, values))
            if node.end_lineno != node.lineno and "\n" not in text:
                yield f"{path}:{node.lineno}", text


def test_a_sentence_is_short() -> None:
    """Warnings and reasons have no long sentences: on a terminal, each begins on its own line."""
    stated = dict(sentences())
    long = [
        (place, part)
        for place, text in stated.items()
        for part in messages.clauses(text)
        if len(part) > LONGEST_SENTENCE
    ]
    assert long == [] and len(stated) > 200


def test_a_long_list_is_cut_in_a_message() -> None:
    """Of many names, a message has fourteen and the number of the others."""
    message, hint = messages.message_and_hint(
        "unknown-field", word="x", owner="the spec", choices=[f"key_{n:02}" for n in range(30)]
    )
    assert "x" in message and len(hint) < LONGEST_CLAUSE
    assert "`key_13`" in hint and "`key_14`" not in hint and hint.endswith("and 16 more")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("one", ["one"]),
        ("One. Two; three", ["One.", "Two;", "three"]),
        ("a `b; c. D` e; f", ["a `b; c. D` e;", "f"]),
        ("such as 0.5 or 1.5", ["such as 0.5 or 1.5"]),
        ("values [..., ...] and more", ["values [..., ...] and more"]),
    ],
)
def test_a_text_is_split_after_its_clauses(text: str, parts: list[str]) -> None:
    """Sentences and parts that a semicolon ends are separate; words in backticks stay whole."""
    assert messages.clauses(text) == parts


def test_every_call_gives_the_arguments_that_its_template_names() -> None:
    """No placeholder stays empty."""
    codes, every_call = set(templates()), list(calls())
    incomplete = [
        (place, code, missing)
        for place, code, arguments in every_call
        if arguments is not None
        and code in codes
        and (missing := arguments_of(code).keys() - arguments)
    ]
    assert not incomplete
    assert sum(code in codes for _, code, _ in every_call) > 200
