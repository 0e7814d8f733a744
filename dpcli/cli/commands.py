"""Commands, which load when they are used, and their helps from `help.md`.

A page is prose in paragraphs, and blocks whose lines are indented, such as examples. The parser
fills paragraphs, and keeps a block that has a mark on the line before.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from dpcli.errors import Problem, UsageError

PLACES = {
    "init": "init:init",
    "check": "check:check",
    "plan": "plan:plan",
    "simulate": "simulate:simulate",
    "release": "release:release",
    "ledger": "",
    "ledger show": "ledger_show:show",
    "ledger history": "ledger_show:history",
    "ledger export": "ledger:export",
    "ledger verify": "ledger:verify",
    "ledger recover": "ledger:recover",
    "ledger init": "ledger:init",
    "ledger open": "ledger:open_account",
    "local": "",
    "local randomize": "local:randomize",
    "local estimate": "local:estimate",
    "local epsilon": "local_epsilon:epsilon",
    "explain": "explain:explain",
    "schema": "init:schema",
}
"""Module and function of every command, in the order in which a newcomer needs them."""

COMMANDS = tuple(name for name in PLACES if " " not in name)
"""The commands that `dpcli --help` lists."""

KEEP = "\b"
"""The line that tells the parser to keep the lines of a paragraph."""

OPTIONS = "\n\nOptions:\n"
"""What separates the prose of a page from the texts of its options and arguments."""

SHARED = "options of several commands"
"""The page of options that have the same text for several commands."""


@cache
def _pages() -> dict[str, str]:
    """The text of each command line; that of `dpcli` alone is the first."""
    text = Path(__file__).with_name("help.md").read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in ("\n" + text).split("\n# ")[1:])
    return {name: body.strip("\n") for name, _, body in parts}


def page(name: str) -> str:
    """The help of a command line, with its blocks kept."""
    prose, _, _ = _pages()[name].partition(OPTIONS)
    return "\n\n".join(
        f"{KEEP}\n{one}" if any(line.startswith(" ") for line in one.splitlines()) else one
        for one in prose.split("\n\n")
    )


def option_help(name: str, option: str) -> str:
    """What an option or argument means for a command, for its group, or for several commands."""
    for place in (name, name.split(" ", maxsplit=1)[0], SHARED):
        for line in _pages()[place].partition(OPTIONS)[2].splitlines():
            label, _, text = line.strip().partition(": ")
            if label == option:
                return text
    raise KeyError(option)


def brief(name: str) -> str:
    """The first line of a page, which lists of commands show."""
    return _pages()[name].split("\n", 1)[0].rstrip(".")


def examples(text: str) -> list[str]:
    """The lines of a help that can be typed as they are."""
    found = []
    block = False
    for line in text.splitlines():
        block = line.strip() == "Examples:" or (block and bool(line.strip()))
        if block and line.strip() not in {"Examples:", ""} and not line.lstrip().startswith("#"):
            found.append(line.strip().removeprefix("$ "))
    return found


class LazyGroup(TyperGroup):
    """Commands whose modules are imported when one of them is used, not when they are listed."""

    @property
    def prefix(self) -> str:
        """What stands before the names of its commands."""
        return "" if self.name in (None, "dpcli") else f"{self.name} "

    def list_commands(self, _ctx: object) -> list[str]:
        """The names, in their order."""
        names = (name.removeprefix(self.prefix) for name in PLACES if name.startswith(self.prefix))
        return [name for name in names if " " not in name]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command as lists and shells show it; it cannot be run."""
        if cmd_name not in self.list_commands(ctx):
            return None
        return TyperCommand(cmd_name, short_help=brief(self.prefix + cmd_name))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command itself; UsageError if there is none of that name."""
        name = self.prefix + args[0]
        if args[0] not in self.list_commands(ctx):
            if ctx.resilient_parsing:
                return None, None, args[1:]
            raise UsageError(
                [unknown("command", args[0], self.list_commands(ctx), ctx.command_path)]
            )
        return args[0], _load(name), args[1:]


def _load(name: str) -> Any:
    """A command with all that it imports, or a group."""
    if not PLACES[name]:
        return LazyGroup(name=name, help=page(name), no_args_is_help=True, rich_markup_mode=None)
    module, _, function = PLACES[name].partition(":")
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    callback = getattr(import_module(f"dpcli.cli.{module}"), function)
    single.command(name.rpartition(" ")[2], help=page(name), short_help=brief(name))(callback)
    command = typer.main.get_command(single)
    for one in command.params:
        names = [option for option in one.opts if option.startswith("--")]
        label = names[0] if names else (one.metavar or one.name or "").strip("[].")
        setattr(one, "help", option_help(name, label))  # noqa: B010 - of two kinds
    return command


def unknown(what: str, word: str, known: Sequence[str], where: str) -> Problem:
    """A command or option that does not exist, and the nearest that do."""
    near = " or ".join(f"`{name}`" for name in get_close_matches(word, known, n=2))
    hint = f"did you mean {near}? " if near else ""
    return Problem(
        "unknown-command" if what == "command" else "unknown-option",
        f"`{where}` has no {what} `{word}`",
        f"{hint}`{where} --help` lists them",
    )
