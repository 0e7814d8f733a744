"""Commands, which load when they are used, and their helps from `help.md`.

The head of a page names a command and its function. A page is prose in paragraphs, and blocks whose
lines are indented, such as examples. The parser fills paragraphs, and keeps a block that has a mark
on the line before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from dpcli.cli.console import is_json, print_failure
from dpcli.errors import Problem, UsageError, make_problem
from dpcli.messages import quote

PARSER_ERROR: Any = typer.BadParameter.__mro__[2]
"""What the parser raises, of whichever library it is a part."""

GROUP = "commands"
"""What stands in place of a module for a group of commands."""

OPTIONS = "\n\nOptions:\n"
"""What separates the prose of a page from the texts of its options and arguments."""


def _pages() -> Iterator[tuple[str, tuple[str, dict[str, str], str]]]:
    """The name of each page with its prose, the texts of its options, and what it is about."""
    text = Path(__file__).with_name("help.md").read_text(encoding="utf-8")
    for part in ("\n" + text).split("\n# ")[1:]:
        head, _, body = part.partition("\n")
        name, _, place = head.partition(" -> ")
        help_prose, _, options = body.strip("\n").partition(OPTIONS)
        lines = (line.strip().partition(": ") for line in options.splitlines())
        yield name, (help_prose, {label: words for label, _, words in lines}, place)


PAGES = dict(_pages())
"""The pages, commands in the order in which a newcomer needs them."""

PLACES = {name: place for name, (_, _, place) in PAGES.items() if place}
"""Module and function of every command; of groups that they are some."""

COMMANDS = tuple(name for name in PLACES if " " not in name)
"""The commands that `dpcli --help` lists."""


def help_prose(name: str) -> str:
    """The help of a command line without its options."""
    return PAGES[name][0]


def help_page(name: str) -> str:
    """The same for the parser: a mark tells it to keep the lines of a block."""
    blocks = help_prose(name).split("\n\n")
    return "\n\n".join(f"\b\n{one}" if "\n " in one else one for one in blocks)


def option_help(name: str, option: str) -> str:
    """What an option or argument means for a command, for its group, or for several commands."""
    places = (name, name.split(" ", maxsplit=1)[0], "options of several commands")
    return next(PAGES[one][1][option] for one in places if option in PAGES[one][1])


def help_brief(name: str) -> str:
    """The first line of a page, which lists of commands show."""
    return help_prose(name).split("\n", 1)[0].rstrip(".")


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
        return TyperCommand(cmd_name, short_help=help_brief(self.prefix + cmd_name))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Without a command: an error and, for people, the list of commands."""
        if args or ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        print_failure(UsageError.about("command-line.none", where=ctx.command_path))
        if not is_json(sys.stderr):
            names = self.list_commands(ctx)
            width = max(map(len, names))
            listed = (f"  {name:{width}}  {help_brief(self.prefix + name)}" for name in names)
            print("\ncommands:", *listed, sep="\n", file=sys.stderr)
        raise typer.Exit(2)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command itself; UsageError if there is none of that name."""
        names = self.list_commands(ctx)
        if args[0] in names:
            return args[0], _load(self.prefix + args[0]), args[1:]
        if ctx.resilient_parsing:
            return None, None, args[1:]
        near = get_close_matches(args[0], names, n=2)
        code = "unknown-command.near" if near else "unknown-command"
        raise UsageError.about(code, where=ctx.command_path, word=args[0], near=near)


class Command(TyperCommand):
    """A command whose help has the texts of `help.md`; `hints` are the types of its parameters."""

    hints: Mapping[str, Any]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words; UsageError with every value that its parameter does not take."""
        try:
            return super().parse_args(ctx, list(args))
        except PARSER_ERROR as error:
            error.ctx = error.ctx or ctx
            if type(error) is not typer.BadParameter:
                raise
            given, _, _ = self.make_parser(ctx).parse_args(args)
            refused = [one for one in self.get_params(ctx) if _refuses(one, ctx, given)]
        raise UsageError(self._refusal(one, ctx.command_path) for one in refused)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What follows the name in the line `Usage:`."""
        arguments: list[Any] = [one for one in self.get_params(ctx) if _is_argument(one)]
        return ["[OPTIONS]", *(one.metavar + "..." * (one.nargs < 0) for one in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options: how each is written, and what it means."""
        for title, arguments in (("Arguments", True), ("Options", False)):
            params: list[Any] = self.get_params(ctx)
            params = [one for one in params if _is_argument(one) is arguments and not one.hidden]
            if params:
                with formatter.section(title):
                    formatter.write_dl([(self._written(one), one.help) for one in params])

    def _written(self, param: Any) -> str:
        if _is_argument(param):
            return _label(param)
        names = " / ".join([", ".join(sorted(param.opts, key=len)), *param.secondary_opts])
        choices = "|".join(_choices(self.hints.get(param.name)))
        return names if param.is_flag else f"{names} {param.metavar or choices}"

    def _refusal(self, param: Any, where: str) -> Problem:
        option, choices = _label(param), _choices(self.hints.get(param.name))
        if choices:
            facts = {"option": option, "choices": choices, "where": where}
            return make_problem("command-line.choice", **facts)
        info = get_args(self.hints[param.name])[-1]
        return make_problem("number-beyond-limits", option=option, least=info.min, most=info.max)


def _refuses(param: Any, ctx: Any, given: Mapping[str, Any]) -> bool:
    """Whether a parameter does not take the value that is given for it."""
    try:
        param.handle_parse_result(ctx, given, [])
    except typer.BadParameter as error:
        return type(error) is typer.BadParameter
    return False


def _is_argument(param: Any) -> bool:
    return bool(param.param_type_name == "argument")


def _label(param: Any) -> str:
    """The name of a parameter in helps: of an option the long one."""
    names = [option for option in param.opts if option.startswith("--")]
    return names[0] if names else (param.metavar or param.name or "").strip("[].")


def _choices(hint: Any) -> tuple[str, ...]:
    """The choices of a parameter of a literal type."""
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return get_args(hint) if get_origin(hint) is Literal else ()


def _load(name: str) -> Any:
    """A command with all that it imports, or a group."""
    if PLACES[name] == GROUP:
        return LazyGroup(name=name, help=help_page(name), rich_markup_mode=None)
    module, _, function = PLACES[name].partition(":")
    callback = getattr(import_module(f"dpcli.cli.{module}"), function)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name.rpartition(" ")[2], cls=Command, help=help_page(name))(callback)
    command: Any = typer.main.get_command(single)
    command.hints = get_type_hints(callback, include_extras=True)
    for one in command.params:
        one.help = "" if one.hidden else option_help(name, _label(one))
    return command


def _unknown_option(option: str, known: Sequence[Any], where: str) -> UsageError:
    """An option that does not exist: the argument of that name, or the nearest that do."""
    facts = {"where": where, "word": option}
    for one in known:
        if _is_argument(one) and option == f"--{one.name}":
            return UsageError.about("unknown-option.argument", **facts, name=_label(one))
    names = [name for one in known if not _is_argument(one) for name in one.opts]
    near = get_close_matches(option, names, n=2)
    code = "unknown-option.near" if near else "unknown-option"
    return UsageError.about(code, **facts, near=near)


EXTRA = re.compile(r"^Got unexpected extra argument\S* \((.*)\)$", re.DOTALL)
"""How the parser reports words that it does not expect."""


def usage_error(error: Any) -> UsageError:
    """An error of the parser, in our words."""
    command, kind = error.ctx and error.ctx.command, type(error).__name__
    where = error.ctx.command_path if error.ctx else "dpcli"
    if kind == "NoSuchOption":
        return _unknown_option(error.option_name, command.get_params(error.ctx), where)
    message = error.format_message().rstrip(".").replace("'", "`")
    if extra := EXTRA.match(message):
        message = f"unexpected {quote(extra[1])}"
    return UsageError.about("command-line", message=message[:1].lower() + message[1:], where=where)
