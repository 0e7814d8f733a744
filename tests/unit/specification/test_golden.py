"""The messages about wrong specs, word for word."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from dpcli.problems.errors import SpecError
from dpcli.problems.reference import code_pages
from dpcli.specification.load import parse_central_spec, read_central_spec
from tests.benchmarks.coupling import walked
from tests.support.diagnostics import UPDATE, Case, read_cases, write_cases
from tests.support.rules import mostly_extended
from tests.support.specs import completed
from tests.support.syntax import trees

CASES = read_cases()

LARGE = {"too-many-queries", "too-many-columns"}
"""Cases of specs that take seconds."""

RECORDERS = {
    "report",
    "report_key",
    "report_and_suppress",
    "invalid_value",
    "ExactNumber",
    "Choice",
    "FieldFault",
}
"""Calls whose first argument is a code."""


@pytest.fixture(scope="module", autouse=True)
def _update() -> None:
    """Rewrites the expected messages with `UPDATE_CASES=1`."""
    if UPDATE:
        write_cases(CASES)


@pytest.mark.parametrize(
    "case",
    mostly_extended(CASES, *(case for case in CASES if case.name not in LARGE)),
    ids=lambda case: case.name,
)
def test_golden(case: Case) -> None:
    """Every problem of a wrong spec is reported with place, caret and hint."""
    assert UPDATE or case.diagnostics() == case.expected


def test_names_of_cases_differ() -> None:
    """No two cases of a file have the same name."""
    names = [(case.file.name, case.name) for case in CASES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("large", mostly_extended([False, True], False))
def test_texts_keep_the_house_style(*, large: bool) -> None:
    """Messages and hints begin in lower case, end without a period and never name pydantic."""
    for case in (case for case in CASES if (case.name in LARGE) == large):
        for problem in case.failure().problems:
            for text in (problem.message, problem.hint):
                assert not text.endswith("."), text
                assert not text[:1].isupper(), text
                assert "pydantic" not in text and "yaml.org" not in text and "\n" not in text


SOURCES = tuple(f"dpcli/{name}/" for name in ("specification", "statistics", "fields", "data"))
"""The packages that record problems of specs."""


@cache
def used_codes() -> set[str]:
    """Every code in these files: in calls that record problems, and in values of `code`."""
    literals: set[str] = set()
    for tree in (tree for path, tree in trees().items() if path.startswith(SOURCES)):
        for node in walked(tree):
            parts: list[ast.AST] = []
            if isinstance(node, ast.Call) and node.args:
                function = node.func
                name = function.attr if isinstance(function, ast.Attribute) else ""
                name = function.id if isinstance(function, ast.Name) else name
                parts = [node.args[0]] if name in RECORDERS else []
            elif isinstance(node, ast.Assign):
                target = node.targets[0]
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                named = [target.id if isinstance(target, ast.Name) else "" for target in names]
                parts = [values[0]] if named[0] == "code" else []
            branches = [
                branch
                for part in parts
                for branch in ([part.body, part.orelse] if isinstance(part, ast.IfExp) else [part])
            ]
            literals |= {
                branch.value
                for branch in branches
                if isinstance(branch, ast.Constant) and isinstance(branch.value, str)
            }
    return {code.partition(".")[0] for code in literals} - {""}


def test_codes_are_found_in_the_source() -> None:
    """The search sees codes of calls, of validators, of statistics and of variables."""
    assert {"duplicate-key", "bad-quantile", "price-negative", "too-many-cells"} <= used_codes()


def test_every_used_code_is_explained() -> None:
    """No code is raised that `dpcli explain` does not know."""
    listed = {code.name for code in code_pages() if code.kind == "spec error"}
    assert used_codes() - listed == set()


def test_every_listed_code_occurs(tmp_path: Path) -> None:
    """Every listed spec code is produced by at least one golden case."""
    with pytest.raises(SpecError) as caught:
        read_central_spec(tmp_path / "nowhere.yaml")
    produced = {problem.code for problem in caught.value.problems}
    with pytest.raises(SpecError) as wrong:
        parse_central_spec(completed("model: local"), "spec.yaml")
    produced |= {problem.code for problem in wrong.value.problems}
    for case in CASES:
        # A case that takes seconds is compared with its expected messages in another test.
        is_large = case.name in LARGE
        produced |= {*re.findall(r"error\[(.*?)\]", case.expected)} if is_large else case.codes()
    assert {code.name for code in code_pages() if code.kind == "spec error"} - produced == set()


def test_codes_are_stable_words() -> None:
    """Codes are distinct kebab-case words, and each is explained in full."""
    names = [code.name for code in code_pages()]
    assert len(names) == len(set(names))
    for code in code_pages():
        assert code.name.replace("-", "").isalnum() and code.name == code.name.lower()
        assert code.meaning.endswith(".") and code.fix.endswith(".") and code.example
