"""What is told about wrong specs, word for word."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dpcli.spec
from dpcli.errors import SpecError
from dpcli.reference import codes
from dpcli.spec.load import load_spec, read_spec
from tests.support.diagnostics import UPDATE, Case, read_cases, write_cases
from tests.support.specs import completed

CASES = read_cases()

RECORDERS = {"add", "spoil", "unknown", "_stop", "_read", "Problem", "of"}
"""Calls whose first argument is a code."""


@pytest.fixture(scope="module", autouse=True)
def _update() -> None:
    """Rewrites the expectations when asked to."""
    if UPDATE:
        write_cases(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Case) -> None:
    """Every problem of a wrong spec is told in full, with place, caret and hint."""
    assert UPDATE or case.told() == case.expected


def test_names_of_cases_differ() -> None:
    """No case shadows another."""
    names = [(case.file.name, case.name) for case in CASES]
    assert len(names) == len(set(names))


def test_texts_keep_the_house_style() -> None:
    """Messages and hints begin small, end without a full stop and never name pydantic."""
    for case in CASES:
        for problem in case.failure().problems:
            for text in (problem.message, problem.hint):
                assert not text.endswith("."), text
                assert not text[:1].isupper(), text
                assert "pydantic" not in text and "yaml.org" not in text and "\n" not in text


def used_codes() -> set[str]:
    """Every code in the source of the spec, found in the calls that record problems."""
    found = set()
    for path in Path(dpcli.spec.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else ""
            name = function.id if isinstance(function, ast.Name) else name
            if name in RECORDERS:
                first = node.args[0]
                parts = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
                found |= {
                    part.value
                    for part in parts
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }
    return found


def test_every_used_code_is_explained() -> None:
    """No code is raised that `dpcli explain` does not know."""
    listed = {code.name for code in codes() if code.family == "spec"}
    assert used_codes() - listed == set()


def test_every_listed_code_occurs(tmp_path: Path) -> None:
    """Every listed spec code is produced by at least one golden case."""
    with pytest.raises(SpecError) as caught:
        read_spec(tmp_path / "nowhere.yaml")
    produced = {problem.code for problem in caught.value.problems}
    with pytest.raises(SpecError) as wrong:
        load_spec(completed("model: local"), "spec.yaml")
    produced |= {problem.code for problem in wrong.value.problems}
    for case in CASES:
        produced |= case.codes()
    assert {code.name for code in codes() if code.family == "spec"} - produced == set()


def test_codes_are_stable_words() -> None:
    """Codes are distinct kebab-case words, and each is explained in full."""
    names = [code.name for code in codes()]
    assert len(names) == len(set(names))
    for code in codes():
        assert code.name.replace("-", "").isalnum() and code.name == code.name.lower()
        assert code.meaning.endswith(".") and code.fix.endswith(".") and code.example
