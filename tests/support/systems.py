"""Which names of Python's own modules an operating system has, by the stubs that mypy ships."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import mypy

STUBS = Path(mypy.__file__).parent / "typeshed" / "stdlib"


def _chosen(statements: Iterable[ast.stmt], platform: str) -> Iterator[ast.stmt]:
    """The statements of a stub that hold on a system, and with this Python."""
    for statement in statements:
        if isinstance(statement, ast.If):
            condition = ast.unparse(statement.test)
            # The conditions of stubs compare the system, and the version of Python.
            holds = "sys." not in condition or eval(condition, {"sys": _System(platform)})
            yield from _chosen(statement.body if holds else statement.orelse, platform)
        else:
            yield statement


class _System:
    """What conditions of stubs ask `sys` for."""

    def __init__(self, platform: str) -> None:
        self.platform, self.version_info = platform, sys.version_info


@cache
def names(module: str, platform: str) -> frozenset[str]:
    """The names that a module of Python has on a system; empty if the system lacks the module."""
    name = module.replace(".", "/")
    places = [STUBS / f"{name}.pyi", STUBS / name / "__init__.pyi"]
    stubs = [place.read_text("utf-8") for place in places if place.is_file()]
    found: set[str] = set()
    for statement in _chosen(ast.parse("".join(stubs)).body, platform):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Assign(targets=targets):
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.ImportFrom(module=source, names=[ast.alias(name="*")]) if source:
                found |= names(source, platform)
    return frozenset(found)


@cache
def missing(module: str, platform: str) -> frozenset[str]:
    """The names of a module that Linux has and another system lacks."""
    return names(module, "linux") - names(module, platform)
