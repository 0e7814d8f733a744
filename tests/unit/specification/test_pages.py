"""Pages of error codes: each example produces its error, each fix says what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpcli.problems.errors import SpecError
from dpcli.problems.reference import Page, code_pages
from dpcli.specification.load import parse_spec
from tests.support.rules import for_each

BASE = """
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: "10", delta: "1e-6"}}
columns:
  person: {type: id}
  age: {type: integer, bounds: ["0", "100"]}
  income: {type: number, bounds: ["0", "50000"], step: "100"}
  sex: {type: category, values: [male, female]}
  married: {type: boolean}
  city: {type: category}
  visit: {type: date}
statistics: []
"""

LOCAL = """
dpcli: 1
model: local
dataset: town
privacy: {unit: row, neighbors: change-one, budget: {epsilon: "10", delta: "1e-6"}}
columns:
  age: {type: integer, bounds: ["0", "100"], missing: "40"}
  smoker: {type: boolean, values: ["no", "yes"], missing: "false"}
  person: {type: id}
responses: []
"""

PLACES = {
    **dict.fromkeys(
        ("dpcli", "model", "dataset", "confidence", "declarations", "csv", "rows_are"), "root"
    ),
    **dict.fromkeys(("dpcli", "model", "dataset", "confidence", "declarations", "csv"), "root"),
    **dict.fromkeys(("quality", "sample", "derive", "people", "output"), "root"),
    **dict.fromkeys(("period", "reference_period", "hierarchies"), "root"),
    **dict.fromkeys(("statistics", "responses", "public"), "root"),
    **dict.fromkeys(("unit", "neighbors", "budget", "composition"), "privacy"),
    **dict.fromkeys(("max_rows", "max_groups", "max_rows_per_group"), "unit"),
    **dict.fromkeys(("type", "bounds", "step", "missing", "values"), "column"),
    **dict.fromkeys(("na", "thousands", "affixes", "factors", "format", "case", "other"), "column"),
}
"""Where a key of an example belongs; all others are those of an entry."""

PRICES = {"epsilon", "rho", "error", "share", "probability", "matrix"}
ENTRY = {"name": "people", "statistic": "count"}
LOCAL_ENTRY = {"column": "smoker", "mechanism": "randomized_response"}

TEXTS = {
    "not-utf8", "empty-spec", "yaml-syntax", "yaml-alias", "yaml-tag", "yaml-merge",
    "yaml-directive", "several-documents", "duplicate-key", "key-not-text", "empty-value",
}  # fmt: skip
"""Codes whose example is refused as a text, whatever it stands in."""

TOO_LONG = {
    "too-many-nodes", "more-problems", "too-many-columns", "name-too-long", "too-many-statistics",
    "too-many-quantiles", "too-many-cells", "too-many-queries", "table-too-large", "table-form",
}  # fmt: skip
"""Codes whose example is too long, or a file next to the spec; it is described in words."""

FRAGMENTS = [
    code
    for code in code_pages()
    if code.kind == "spec error"
    and code.name not in TEXTS | TOO_LONG
    and not code.example.startswith("dpcli ")
]


def fragment(code: Page) -> dict[str, Any]:
    """The example, every scalar as a text."""
    example = yaml.load(code.example, Loader=yaml.BaseLoader)
    assert isinstance(example, dict), code.example
    return example


def is_local(example: dict[str, Any]) -> bool:
    """Whether the example is of the local model."""
    own = {"responses", "public", "probability", "matrix"}
    return example.get("model") == "local" or bool(own & set(example))


def placed(example: dict[str, Any]) -> str:
    """A whole spec with the example where its keys belong."""
    local = is_local(example)
    spec: dict[str, Any] = yaml.load(LOCAL if local else BASE, Loader=yaml.BaseLoader)
    parts: dict[str, dict[str, Any]] = {
        "root": {}, "privacy": {}, "unit": {}, "column": {}, "entry": {}
    }  # fmt: skip
    for key, value in example.items():
        if key in ("privacy", "columns") and isinstance(value, dict):
            spec[key] |= value
        else:
            # Next to a list of entries, an epsilon is that of the spec.
            of_spec = key == "epsilon" and "statistics" in example
            parts["root" if of_spec else PLACES.get(key, "entry")][key] = value
    spec |= parts["root"]
    spec["privacy"] |= parts["privacy"]
    if parts["unit"]:
        ids = {"column": parts["entry"].pop("column", "person"), "max_rows": "3"}
        spec["privacy"]["unit"] = ids | parts["unit"]
    base = {} if "type" in example else {"type": "integer", "bounds": ["0", "100"]}
    spec["columns"]["probe"] = base | parts["column"]
    section, entry = ("responses", LOCAL_ENTRY) if local else ("statistics", ENTRY)
    if section not in example:
        priced = PRICES & set(example) or "name" in example
        price = {} if priced else {"epsilon": "0.1"}
        spec[section] = [entry | parts["entry"] | price]
    if parts["column"]:
        spec["statistics"].append(ENTRY | {"name": "n", "column": "probe", "epsilon": "0.1"})
    return yaml.safe_dump(spec, sort_keys=False)


@for_each(FRAGMENTS)
def test_an_example_produces_its_error(code: Page, tmp_path: Path) -> None:
    """The example, written into a spec, gives the error that it stands for."""
    with pytest.raises(SpecError) as caught:
        parse_spec(placed(fragment(code)), "spec.yaml", tmp_path)

    assert code.name in {problem.code for problem in caught.value.problems}


@for_each(code_pages())
def test_a_page_is_whole(code: Page) -> None:
    """A page has sentences, an example, and a fix that says what to do, at 80 columns."""
    assert re.fullmatch(r"[A-Z`].*[.)]", code.meaning)
    assert code.example.strip() == code.example != ""
    assert re.split(r"[ ,:]", code.fix)[0] in VERBS, code.fix
    assert code.fix.endswith(".")
    assert max(map(len, code.text().splitlines())) <= 80


VERBS = {
    "Add", "Allow", "Ask", "Begin", "Change", "Check", "Close", "Compare",
    "Compress", "Correct", "Create",
    "Declare", "Delete", "Draft", "End", "Find", "Fix", "Free", "Give", "Group", "If", "Install",
    "Keep", "Leave", "Let", "List", "Lower", "Make", "Map", "Name", "Omit",
    "Pipe", "Put", "Quote", "Rename",
    "Replace", "Report", "Run", "Save", "See", "Shorten", "Simulate", "Spell", "Split", "Unpack",
    "Use", "Write",
}  # fmt: skip
"""How a fix begins: with what to do, or when to do it; never with what to remove."""


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_text_produces_its_error(name: str) -> None:
    """Such a text gives the error that it stands for."""
    (code,) = (page for page in code_pages() if page.name == name)
    raw = code.example.encode()
    if name == "not-utf8":
        raw = code.example.split(" (")[0].encode().decode("unicode_escape").encode("latin-1")
    with pytest.raises(SpecError) as caught:
        parse_spec(raw, "spec.yaml")

    assert name in {problem.code for problem in caught.value.problems}
