"""No module uses what macOS lacks, or needs what Windows lacks to be imported, but for one."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator

import pytest

from tests.benchmarks.coupling import module_name, sources, walked
from tests.support.rules import for_each
from tests.support.syntax import trees
from tests.support.systems import missing, names

HOME = "dpcli/problems/system.py"
"""The module that asks which names there are."""


def at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when a module is imported: all but the bodies of functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            parts = [*getattr(node, "decorator_list", []), node.args]
            yield from (inner for part in parts for inner in ast.walk(part))
        else:
            yield node
            yield from at_import(node)


def used(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Each module of Python that is imported, and each name that is taken from one."""
    for node in nodes:
        match node:
            case ast.Import(names=imported):
                yield from ((alias.name, "") for alias in imported)
            case ast.ImportFrom(module=str(module), names=imported, level=0):
                yield from ((module, alias.name) for alias in imported)
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                yield module, name


def lacking(nodes: Iterable[ast.AST], platform: str) -> list[str]:
    """What Linux has and a system lacks: names, and whole modules that are imported."""
    return [
        f"{module}.{name}"
        for module, name in used(nodes)
        if module.partition(".")[0] in sys.stdlib_module_names
        and (name in missing(module, platform) or not (name or names(module, platform)))
    ]


@for_each(sorted({*sources()} - {HOME}))
def test_a_module_runs_on_macos_and_is_imported_on_windows(path: str) -> None:
    """It uses no name that only Linux has, and none while it is imported that Windows lacks."""
    tree = trees()[path]

    assert lacking(walked(tree), "darwin") == []
    assert lacking(at_import(tree), "win32") == []


@pytest.mark.parametrize(
    ("text", "macos", "windows"),
    [
        ("import os\nos.sched_getaffinity(0)", ["os.sched_getaffinity"], ["os.sched_getaffinity"]),
        ("def late():\n    os.O_TMPFILE", ["os.O_TMPFILE"], []),
        ("def late():\n    os.pread(0, 1, 2)", [], []),
        ("def late(number=signal.SIGHUP): pass", [], ["signal.SIGHUP"]),
        ("class Late:\n    mode = os.O_NONBLOCK", [], ["os.O_NONBLOCK"]),
        ("from signal import SIGKILL", [], ["signal.SIGKILL"]),
        ("import fcntl, resource", [], ["fcntl.", "resource."]),
        ("import os, signal\nos.replace; signal.SIGINT", [], []),
    ],
)
def test_a_planted_name_is_found(text: str, macos: list[str], windows: list[str]) -> None:
    """Each form of a use is found; on Windows, what is in a function is refused before it runs."""
    tree = ast.parse(text)

    assert lacking(ast.walk(tree), "darwin") == macos
    assert lacking(at_import(tree), "win32") == windows


IMPORTS = """
import importlib, json, os, signal, sys
import concurrent.futures, gzip, inspect, jinja2, numpy, pathlib, platform, polars, pydantic
import rich.console, rich.progress, rich.table, shutil, sqlite3, tempfile, typer, typer.main, yaml
absent, modules = json.loads(sys.stdin.read())
for name in absent["os"]: vars(os).pop(name, None)
for name in absent["signal"]: vars(signal).pop(name, None)
for name in ("fcntl", "pwd", "grp", "resource", "termios"): sys.modules[name] = None
for name in modules: importlib.import_module(name)
from dpcli.problems import system
system.PLATFORM = "win32"
from dpcli import DpcliError, load_spec
try: load_spec("specs/town.yaml")
except DpcliError as error: print(error.status, *(problem.code for problem in error.problems))
"""


def test_every_module_is_imported_without_what_windows_lacks() -> None:
    """A program imports dpcli there, and is refused when it uses it."""
    optional = ("dpcli.spark", "dpcli.__main__")
    modules = [name for name in map(module_name, sources()) if not name.startswith(optional)]
    absent = {module: sorted(missing(module, "win32")) for module in ("os", "signal")}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], input=json.dumps([absent, modules]),
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.stdout, done.returncode) == ("2 unsupported-system\n", 0), done.stderr
