"""The surroundings: style, types, layers, and rules of the project."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from dpcli.mechanisms import MECHANISMS
from dpcli.problems.reference import code_pages
from dpcli.statistics import STATISTICS
from tests.benchmarks.coupling import sources, walked
from tests.support.rules import for_each
from tests.support.syntax import trees

ROOT = Path(__file__).parents[2]
PACKAGE = sorted((ROOT / "dpcli").rglob("*.py"))

CHECKS = {
    "ruff check": [sys.executable, "-m", "ruff", "check", "."],
    "ruff format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "mypy": [sys.executable, "-m", "mypy"],
    "import-linter": [str(Path(sys.executable).with_name("lint-imports"))],
}


@pytest.mark.extended
@pytest.mark.parametrize("check", CHECKS)
def test_style_types_and_layers_pass(check: str) -> None:
    """Style, format, types and layers pass as configured."""
    done = subprocess.run(CHECKS[check], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


USER_TEXTS = {
    "mechanisms/local/labels.py": {"Matrix", "GeneralizedRandomizedResponse", "UnaryEncoding"},
    "privacy/accounting/advanced.py": {"AdvancedComposition"},
    "privacy/accounting/zcdp.py": {"ZcdpComposition"},
    "report/statistic.py": {
        *("BinsReport", "CellReport", "PublishedStatisticReport"),
        *("scale", "possible"),
    },
    "report/first_counts.py": {"table"},
    "report/release.py": {"unreliable_above"},
    "report/privacy.py": {"first_release", "after_check"},
    "data/conditions.py": {"ConditionModel"},
    "statistics/means/ratio.py": {"Ratio"},
    "statistics/means/spread.py": {"Covariance"},
    "statistics/postprocessing.py": {"Clamp", "Integer", "Consistent"},
    "statistics/quantiles/quantile.py": {"Quantile"},
    "statistics/choices/top_values.py": {"Choose"},
}
"""Docstrings that `dpcli explain` or a schema prints, with a longer first line."""


def first_lines(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The first line of each docstring, with the name of what it documents."""
    for node in walked(tree):
        name = getattr(node, "name", "")
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target):
                    name = ast.unparse(target)
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield name, inspect.cleandoc(text).partition("\n")[0]


def faulty_first_lines(tree: ast.Module) -> set[str]:
    """The names of what has a docstring whose first line is long or no whole sentence."""
    return {name for name, line in first_lines(tree) if len(line) >= 80 or not line.endswith(".")}


@for_each(sources())
def test_docstrings_begin_with_a_short_sentence(path: str) -> None:
    """A file has a docstring, and the first line of each docstring is one short sentence."""
    tree, name = trees()[path], path.removeprefix("dpcli/")

    assert ast.get_docstring(tree)
    assert faulty_first_lines(tree) == USER_TEXTS.get(name, set())


def test_a_long_or_broken_first_line_is_found() -> None:
    """A long first line is found below a class, a function and a value; so is half a sentence."""
    planted = f"""
class Long:
    "{"x" * 79}."
    def method(self): "{"x" * 79}."
    short = 1
    "{"x" * 78}."
if True:
    VALUE: int = 1
    "{"x" * 79}."
def broken():
    '''A sentence
    in two lines.'''
"""

    assert faulty_first_lines(ast.parse(planted)) == {"Long", "method", "VALUE", "broken"}


def undocumented(module: ModuleType) -> list[str]:
    """The methods of public classes without a docstring, but for those that override others."""
    return [
        f"{kind.__name__}.{name}"
        for kind in vars(module).values()
        if inspect.isclass(kind)
        and kind.__module__ == module.__name__
        and not kind.__name__.startswith("_")
        for name, method in vars(kind).items()
        if isinstance(method, FunctionType | property | classmethod | staticmethod)
        and not name.startswith("_")
        and not method.__doc__
        and not any(
            name in {*dir(base), *inspect.get_annotations(base)} for base in kind.__mro__[1:-1]
        )
    ]


@for_each(PACKAGE)
def test_public_methods_say_what_they_do(path: Path) -> None:
    """A public method has a docstring, unless it overrides another one."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)

    if name != "dpcli.__main__":
        assert not undocumented(importlib.import_module(name.removesuffix(".__init__")))


def test_a_method_without_a_docstring_is_found() -> None:
    """A method that says nothing is found, also in a class that extends another one."""
    planted = ModuleType("planted")
    text = """
class First:
    def known(self): "What it is."
class Second(First):
    def known(self): return 1
    def new(self): return 2
"""
    exec(text, vars(planted))

    assert undocumented(planted) == ["Second.new"]


def test_every_dependency_states_its_lowest_version() -> None:
    """What users install has a lowest version, which the tests of a submission install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    used = {*project["dependencies"], *extras["spark"], *extras["excel"], *extras["pld"]}
    script = [sys.executable, str(ROOT / ".ci" / "lowest.py")]
    printed = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert set(extras) == {"spark", "excel", "pld", "oracles", "notebook", "site", "dev"}
    assert {*printed.split()} == {one.partition(",")[0].replace(">=", "==") for one in used}
    assert "lowest.py" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def used_codes() -> Iterator[str]:
    """Every error code that the package raises."""
    for tree in trees().values():
        for node in walked(tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            first = node.args[0]
            if name in ("of", "Problem") and isinstance(first, ast.Constant):
                code = first.value
                if isinstance(code, str):
                    yield code


def test_every_code_can_be_explained() -> None:
    """A code that can be printed is in the catalogue."""
    used = set(used_codes())

    assert used and used <= {page.name for page in code_pages()}


def test_every_explained_code_can_be_raised() -> None:
    """A code in the catalogue is a text in the package, or begins like a composed one."""
    texts: set[str] = set()
    beginnings: set[str] = set()
    for tree in trees().values():
        for node in walked(tree):
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                beginnings.add(str(node.values[0].value))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                # A variant is named `code.variant`.
                texts |= {node.value, node.value.partition(".")[0]}
    composed = tuple(text for text in beginnings if re.fullmatch(r"[a-z]+-([a-z]+-)+", text))
    unused = {code.name for code in code_pages()} - texts

    assert {name for name in unused if not name.startswith(composed)} == set()


def test_codes_are_unique_words() -> None:
    """Every code is one kebab-case word that no statistic or mechanism has."""
    names = [code.name for code in code_pages()]
    taken = {statistic.name for statistic in STATISTICS}
    taken |= {mechanism.name for mechanism in MECHANISMS}

    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", name) for name in names)
    assert not taken & set(names)


@pytest.mark.parametrize(
    ("variable", "found"),
    [pytest.param("", b"2 skipped", marks=pytest.mark.extended), ("1", b"2 failed")],
)
def test_nothing_is_skipped_in_continuous_integration(
    variable: str, found: bytes, tmp_path: Path
) -> None:
    """A skipped test is a failed one where the variable CI is set."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_one() -> None: pytest.skip('x')\n"
        "def test_other() -> None: pytest.importorskip('nowhere_at_all')\n",
        "utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "CI": variable},
        capture_output=True,
        check=False,
    )

    assert found in done.stdout
    assert bool(done.returncode) == (variable == "1")


def test_no_generator_but_the_operating_systems() -> None:
    """Nothing in the package draws from numpy or random; invented rows have a stream of ours."""
    for path in PACKAGE:
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"numpy\.random|np\.random|^import random|default_rng", text, re.MULTILINE
        ), path


@pytest.mark.parametrize(
    ("command", "unwanted"),
    [
        ("--version", {"polars", "numpy", "yaml", "pydantic", "rich"}),
        ("plan", {"polars", "numpy", "rich"}),
        ("check", {"polars", "numpy", "rich"}),
        ("explain", {"polars", "numpy", "rich", "yaml"}),
    ],
)
def test_commands_import_only_what_they_use(command: str, unwanted: set[str]) -> None:
    """A command that reads no rows does not load what reads them."""
    words = {
        "plan": ["plan", "specs/minimal.yaml"],
        "check": ["check", "specs/minimal.yaml"],
        "explain": ["explain", "laplace"],
    }.get(command, [command])
    code = (
        "import sys; from dpcli.cli.main import run; "
        f"sys.argv = ['dpcli', *{words!r}]; run(); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert not unwanted & set(done.stderr.split())
