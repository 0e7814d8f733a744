"""Commands that are imported on use; their docstrings are their help.

A docstring has paragraphs and indented blocks, such as examples. The parser fills paragraphs and
keeps the lines of a block after a mark.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from inspect import getdoc
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from dpcli.cli.console import is_for_programs, print_failure
from dpcli.problems.errors import Problem, UsageError, make_problem
from dpcli.problems.messages import did_you_mean, quote, quoted_list

PARSER_ERROR: Any = typer.BadParameter.__mro__[2]
"""The class of the parser's errors, whichever library it belongs to."""

GROUP = "commands"
"""Stands for module and function of a group of commands, which has neither."""

TABLE = {
    "init": ("init:init", "Draft a spec from the header of DATA alone"),
    "check": ("check:check", "Report every problem of SPEC at once; with DATA, of the file too"),
    "plan": ("plan:plan", "Print what a release would ask, hide and reveal; reads no data"),
    "simulate": ("simulate:simulate", "Try SPEC on synthetic rows; reads no data"),
    "release": (
        "release:release",
        "Write a noisy table of DATA, as SPEC asks, and a privacy report",
    ),
    "aggregate": ("release:aggregate", "Add up DATA as SPEC asks, and seal it for a later release"),
    "sum": ("sum:sum_numbers", "Add published numbers, with an interval that holds"),
    "audit": ("audit:audit", "Attack the promises of SPEC; reads no data"),
    "verify": ("verify:verify_release", "Recompute a published release, without data or ledger"),
    "ledger": ("commands", "Show what was spent and what is left; publish releases again"),
    "ledger show": ("ledger_show:show", "Print what every account has spent and what is left"),
    "ledger history": ("ledger_show:history", "Print what was charged, entry by entry"),
    "ledger export": ("ledger:export", "Publish a past release again, byte for byte, at no cost"),
    "ledger verify": ("ledger:verify", "Check that a ledger is unchanged, and that reports agree"),
    "ledger recover": (
        "ledger:recover",
        "Charge a restored or new ledger what published reports prove",
    ),
    "ledger init": ("ledger:init", "Create a ledger without accounts, and its anchor"),
    "ledger open": ("ledger:open_account", "Open an account with a fixed guarantee and budget"),
    "local": ("commands", "Randomize each record before it is collected, and estimate"),
    "local randomize": (
        "local:randomize",
        "Write a response for every record of DATA, as SPEC asks",
    ),
    "local estimate": ("local:estimate", "Estimate frequencies and means from responses"),
    "local epsilon": ("local:epsilon", "Print the epsilon of a table of probabilities"),
    "explain": ("explain:explain", "Explain a word: a key of specs, a statistic, an error code"),
    "schema": ("init:schema", "Print the JSON Schema of specs, for editors, or of reports"),
    "help": ("commands", "Show the help of a command"),
}
"""Each command's module, function and line in lists, in the order of a new user."""

PLACES = {name: place for name, (place, _) in TABLE.items()}
"""Module and function of each command; `commands` for a group."""

COMMANDS = tuple(name for name in PLACES if " " not in name)

GROUPS = {
    "ledger": """Show what was spent and what is left; publish releases again.

A ledger is a file with an account for each dataset: its guarantee, its budget, and every
release that was charged, with the bytes of its outputs. `dpcli release` makes one
next to the spec. These commands use the one that --ledger or DPCLI_LEDGER names, else
`dpcli-ledger.sqlite` in this folder. None of them reads data or spends anything.

Examples:
    dpcli ledger show
    dpcli ledger history --json
    dpcli ledger export 2026-11-21 -o noisy.csv
    # every morning, by cron:
    0 6 * * *  dpcli ledger verify --against published/*.report.json

See also: dpcli release, dpcli explain ledger
""",
    "local": """Randomize each record before it is collected, and estimate.

The local model is for data for which no one is trusted: each record is randomized by
itself, and only frequencies and means of many records can be estimated. It needs a spec with
`model: local` (such as specs/local-survey.yaml); `dpcli check` and `dpcli plan` accept
one too. Collecting is charged to the ledger; planning and estimating are not.

Examples:
    dpcli plan local.yaml --records 3000
    dpcli local randomize local.yaml sample_data/people.csv -o day.csv
    dpcli local estimate local.yaml collected.csv

See also: dpcli explain model, dpcli explain randomized_response
""",
}


def help_prose(name: str) -> str:
    """The help of a command without its options: its docstring."""
    is_group = PLACES[name] == GROUP
    return GROUPS.get(name, help_brief(name)).strip() if is_group else getdoc(_function(name)) or ""


def help_page(prose: str) -> str:
    """The help of a command for the parser, with a mark before each block."""
    blocks = prose.split("\n\n")
    return "\n\n".join(f"\b\n{block}" if "\n " in block else block for block in blocks)


def help_brief(name: str) -> str:
    """The first line of the help of a command, for lists of commands."""
    return TABLE[name][1]


class LazyGroup(TyperGroup):
    """Commands whose modules are imported on use; a list of commands imports none."""

    @property
    def prefix(self) -> str:
        """The prefix of the names of the group's commands."""
        return "" if self.name in (None, "dpcli") else f"{self.name} "

    def list_commands(self, _ctx: object) -> list[str]:
        """The names of the group's commands, in order."""
        names = (name.removeprefix(self.prefix) for name in PLACES if name.startswith(self.prefix))
        return [name for name in names if " " not in name]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command for lists and shells, which cannot be run."""
        if cmd_name not in self.list_commands(ctx):
            return None
        return TyperCommand(cmd_name, short_help=help_brief(self.prefix + cmd_name))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Without a command, print an error and, unless errors are JSON, the commands."""
        if args or ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        print_failure(UsageError.about("command-line.none", where=ctx.command_path))
        if not is_for_programs(sys.stderr):
            names = self.list_commands(ctx)
            width = max(map(len, names))
            listed = (f"  {name:{width}}  {help_brief(self.prefix + name)}" for name in names)
            print("\ncommands:", *listed, sep="\n", file=sys.stderr)
        raise typer.Exit(2)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command itself; UsageError if there is no command of that name."""
        names = self.list_commands(ctx)
        if args[0] in names:
            return args[0], _load(self.prefix + args[0]), args[1:]
        if ctx.resilient_parsing:
            return None, None, args[1:]
        near = did_you_mean(get_close_matches(args[0], names, n=2))
        raise UsageError.about("unknown-command", where=ctx.command_path, word=args[0], near=near)


class Command(TyperCommand):
    """A command; `hints` are the types of its parameters."""

    hints: Mapping[str, Any]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words; UsageError with each value that its parameter does not accept."""
        try:
            return super().parse_args(ctx, list(args))
        except PARSER_ERROR as error:
            error.ctx = error.ctx or ctx
            if type(error) is not typer.BadParameter:
                raise
            given, _, _ = self.make_parser(ctx).parse_args(args)
            refused = [param for param in self.get_params(ctx) if _refuses(param, ctx, given)]
        raise UsageError(self._refusal(param, ctx.command_path) for param in refused)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words after the name in the line `Usage:`."""
        arguments: list[Any] = [param for param in self.get_params(ctx) if _is_argument(param)]
        return ["[OPTIONS]", *(param.metavar + "..." * (param.nargs < 0) for param in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write how each argument and option is written, and what it means."""
        for title, arguments in (("Arguments", True), ("Options", False)):
            params: list[Any] = self.get_params(ctx)
            params = [
                param for param in params if _is_argument(param) is arguments and not param.hidden
            ]
            if params:
                with formatter.section(title):
                    formatter.write_dl([(self._syntax(param), param.help) for param in params])

    def _syntax(self, param: Any) -> str:
        if _is_argument(param):
            return _label(param)
        names = " / ".join([", ".join(sorted(param.opts, key=len)), *param.secondary_opts])
        choices = "|".join(_choices(self.hints.get(param.name)))
        return names if param.is_flag else f"{names} {param.metavar or choices}"

    def _refusal(self, param: Any, where: str) -> Problem:
        option, choices = _label(param), _choices(self.hints.get(param.name))
        if choices:
            message = f"`{option}` takes {quoted_list(choices, 'or')}"
            return make_problem("command-line", message=message, where=where)
        info = get_args(self.hints[param.name])[-1]
        return make_problem("number-beyond-limits", option=option, least=info.min, most=info.max)


def _refuses(param: Any, ctx: Any, given: Mapping[str, Any]) -> bool:
    try:
        param.handle_parse_result(ctx, given, [])
    except typer.BadParameter as error:
        return type(error) is typer.BadParameter
    return False


def _is_argument(param: Any) -> bool:
    return bool(param.param_type_name == "argument")


def _label(param: Any) -> str:
    """The name of a parameter in help texts; of an option, its long name."""
    names = [option for option in param.opts if option.startswith("--")]
    return names[0] if names else (param.metavar or param.name or "").strip("[].")


def _choices(hint: Any) -> tuple[str, ...]:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return get_args(hint) if get_origin(hint) is Literal else ()


@cache
def _load(name: str) -> Any:
    if PLACES[name] == GROUP:
        return LazyGroup(name=name, help=help_page(help_prose(name)), rich_markup_mode=None)
    callback = _function(name)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    page = help_page(help_prose(name))
    single.command(name.rpartition(" ")[2], cls=Command, help=page)(callback)
    command: Any = typer.main.get_command(single)
    command.hints = get_type_hints(callback, include_extras=True)
    return command


def _function(name: str) -> Callable[..., None]:
    module, _, function = PLACES[name].partition(":")
    command: Callable[..., None] = getattr(import_module(f"dpcli.cli.{module}"), function)
    return command


REMOVED = {
    "dpcli simulate --into": "run `dpcli simulate SPEC --rows N --json > FILE`; ",
    "dpcli release --simulation": (
        "leave it out; `dpcli simulate SPEC --rows N` shows what the limits change; "
    ),
}
"""Hints for options that earlier versions had: what to write instead."""


def _unknown_option(option: str, params: Sequence[Any], where: str) -> UsageError:
    """The error for an unknown option, with the argument meant or similar options."""
    arguments = {"where": where, "word": option}
    for param in params:
        if _is_argument(param) and option == f"--{param.name}":
            fix = f"give it without an option: `{where} {_label(param)}`; "
            return UsageError.about("unknown-option", **arguments, fix=fix)
    names = [name for param in params if not _is_argument(param) for name in param.opts]
    # The dashes, which all have, would make options alike that are not.
    bare = {name.lstrip("-"): name for name in names}
    near = [bare[word] for word in get_close_matches(option.lstrip("-"), bare, n=2)]
    fix = REMOVED.get(f"{where} {option}", did_you_mean(near))
    return UsageError.about("unknown-option", **arguments, fix=fix)


EXTRA = r"(?s)^Got unexpected extra argument\S* \((.*)\)$"
"""The parser's message about words that it does not expect."""


def usage_error(error: Any) -> UsageError:
    """The UsageError for an error of the parser."""
    command, kind = error.ctx and error.ctx.command, type(error).__name__
    where = error.ctx.command_path if error.ctx else "dpcli"
    if kind == "NoSuchOption":
        return _unknown_option(error.option_name, command.get_params(error.ctx), where)
    message = error.format_message().rstrip(".").replace("'", "`")
    if extra := re.match(EXTRA, message):
        message = f"unexpected {quote(extra[1])}"
    return UsageError.about("command-line", message=message[:1].lower() + message[1:], where=where)
