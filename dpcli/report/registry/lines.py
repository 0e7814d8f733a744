"""A record as lines of YAML, with a mark beside what somebody must check."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dpcli.report.numbers import plain_or_up

TO_FILL = "TO FILL IN"
"""What marks a field that only people can fill in."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A value that the register allows, and that somebody must check."""

    value: str
    choices: str


Value = str | int | Fraction | Marked | list["Value"] | dict[str, "Value"]


def yaml_lines(value: dict[str, Value], depth: int) -> Iterator[str]:
    """A mapping, line by line; a choice that must be checked has a comment beside."""
    indent = "  " * depth
    for key, item in value.items():
        match item:
            case dict():
                yield f"{indent}{key}:"
                yield from yaml_lines(item, depth + 1)
            case list():
                yield f"{indent}{key}:"
                for one in item:
                    if isinstance(one, dict):
                        first, *rest = yaml_lines(one, depth + 2)
                        yield f"{indent}  - {first.lstrip()}"
                        yield from rest
                    else:
                        yield f"{indent}  - {_scalar(one)}"
            case Marked():
                yield f"{indent}{key}: {item.value}  # {TO_FILL}: one of {item.choices}"
            case str() if _is_block(item):
                yield f"{indent}{key}: |-"
                yield from (f"{indent}  {line}" for line in item.split("\n"))
            case _:
                yield f"{indent}{key}: {_scalar(item)}"


def _is_block(text: str) -> bool:
    """Whether a text can stand line by line, where people edit it best."""
    lines = text.split("\n")
    return len(lines) > 1 and all(
        line.isprintable() and line.strip() == line != "" for line in lines
    )


def _scalar(value: Value) -> str:
    """A text in double quotes, or a plain number."""
    if isinstance(value, Fraction):
        return plain_or_up(value)
    return str(value) if isinstance(value, int) else _quoted(str(value))


def _quoted(text: str) -> str:
    """A text in double quotes, of characters that every reader of YAML takes."""
    return "".join(
        character if character.isprintable() else rf"\U{ord(character):08x}"
        for character in json.dumps(text, ensure_ascii=False)
    )
