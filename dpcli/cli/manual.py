"""Pages of `--help`: from the docstring of a command to what the parser prints.

A docstring is prose in paragraphs, and blocks whose lines are moved in, such as examples.
The parser fills paragraphs, and keeps a block that has a mark on the line before.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence

import typer
from typer.core import TyperGroup
from typer.models import CommandInfo

KEEP = "\b"
"""The line that tells the parser to keep the lines of a paragraph."""


def in_order(names: Sequence[str]) -> type[TyperGroup]:
    """A group that lists its commands in this order; others come last."""

    class InOrder(TyperGroup):
        """Commands as they are needed one after the other."""

        def list_commands(self, _ctx: object) -> list[str]:
            """The names, in their order."""
            return sorted(self.commands, key=lambda one: (one not in names, _place(one, names)))

    return InOrder


def _place(name: str, names: Sequence[str]) -> int:
    """Where a name stands."""
    return names.index(name) if name in names else 0


def page(text: str | None) -> str:
    """The help that a docstring is, with its blocks kept."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(
        f"{KEEP}\n{one}" if any(line.startswith(" ") for line in one.splitlines()) else one
        for one in paragraphs
    )


def with_pages(app: typer.Typer) -> None:
    """Gives every command of an application, and of its groups, its page."""
    for command in _commands(app):
        told = inspect.getdoc(command.callback) or ""
        command.help = page(told)
        # Lists of commands would cut it after a few words otherwise.
        command.short_help = command.short_help or told.split("\n", 1)[0].rstrip(".")


def _commands(app: typer.Typer) -> Iterator[CommandInfo]:
    """All commands, those of groups too."""
    yield from app.registered_commands
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from _commands(group.typer_instance)


def examples(text: str) -> list[str]:
    """The lines of a help that are typed as they stand there."""
    found = []
    block = False
    for line in text.splitlines():
        block = line.strip() == "Examples:" or (block and bool(line.strip()))
        if block and line.strip() not in {"Examples:", ""} and not line.lstrip().startswith("#"):
            found.append(line.strip().removeprefix("$ "))
    return found
