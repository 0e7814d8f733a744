"""The JSON Schema accepts valid specs and finds common mistakes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dpcli.cli.explain import pages
from dpcli.fields.tree import Node, ScalarNode, SequenceNode
from dpcli.problems.reference import word_pages
from dpcli.specification.schema import spec_schema
from dpcli.specification.yaml_reader import read_tree
from dpcli.statistics import STATISTICS
from tests.support.rules import for_each
from tests.support.specs import completed, with_column, with_statistic

SPECS = sorted((Path(__file__).parents[3] / "specs").glob("*.yaml"))

SCHEMA: dict[str, Any] = spec_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def as_editors_read(node: Node) -> Any:
    """The tree as a reader of YAML 1.2 resolves it; quotes are not considered."""
    if isinstance(node, ScalarNode):
        if re.fullmatch(r"-?[0-9]+", node.text):
            return int(node.text)
        if re.fullmatch(r"-?[0-9]+(\.[0-9]*)?(e-?[0-9]+)?", node.text):
            return float(node.text)
        return {"true": True, "false": False}.get(node.text, node.text)
    if isinstance(node, SequenceNode):
        return [as_editors_read(item) for item in node.items]
    return {key: as_editors_read(value) for key, (_, value) in node.pairs.items()}


def schema_errors(text: str) -> list[str]:
    """The errors of a text by the schema."""
    root, findings, _ = read_tree(text.encode(), "spec.yaml")
    assert root is not None and not findings
    return [error.message for error in VALIDATOR.iter_errors(as_editors_read(root))]


def test_the_schema_is_one() -> None:
    """The schema is valid JSON Schema 2020-12, in plain JSON, and names no pydantic."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert "pydantic" not in json.dumps(SCHEMA)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_specs_of_the_repository(path: Path) -> None:
    """Every spec in `specs/` validates."""
    assert schema_errors(path.read_text(encoding="utf-8")) == []


GOOD = [
    completed(""),
    with_column("{type: number, bounds: [0, 1e3], step: 0.1, missing: 0.5}"),
    with_column("{type: category, values: {0: male, 1: female}}"),
    with_column("{type: boolean, values: ['0', '1']}"),
    with_column("{type: date, bounds: [2010-01-01, 2024-12-31]}"),
    with_column("{type: date, zone: Europe/Rome, format: ['%Y-%m-%d %H:%M%z', '%Y-%m-%d']}"),
    with_column("{type: category}", "statistic: count, by: [x], keys: private, delta: 1e-9"),
    with_column("{type: id, missing: each}", "statistic: count_distinct, column: x"),
    with_column("{type: id, na: [0, NA]}", "statistic: count_distinct, column: x"),
    with_statistic("statistic: sum, column: age, bound: sum, unit_bounds: [0, 200]"),
    completed(
        "privacy: {unit: {column: who, max_rows: 3}, neighbors: add-remove, budget: {epsilon: 1}}"
    ),
    with_statistic("statistic: histogram, column: age, bins: {edges: [0, 50, 100]}"),
    with_statistic("statistic: mean, column: age, by: [sex, {column: age, bins: {width: 20}}]"),
    with_statistic("statistic: count, where: {income: {min: 1}, sex: [male], flag: true}"),
    with_statistic("statistic: count, mechanism: gaussian, delta: 1e-7, calibration: classic"),
]

GOOD += [
    completed(f"csv: {{{fields}}}")
    for fields in (
        "delimiter: tab, quote: none",
        "delimiter: ';', quote: \"'\", encoding: windows-1252, decimal: ','",
        "encoding: Latin 1",
        "names: [age, sex, income, day, flag, who, free]",
        "skip_lines: 3, header_lines: 2, footer: [Total, 'Source:'], sheet: Answers",
    )
]

GOOD += [
    completed(f"derive: {{x: {{{fields}}}}}")
    for fields in (
        "sum: [age, income, 3]",
        "difference: [day, 2020-01-01], bounds: [0, 100]",
        "ratio: [age, income], step: 0.01, missing: 0",
        "part: year-week, of: day",
        "part: hour, of: day",
        "age: day, at: 2024-12-31",
        "bands: age, edges: [0, 50, 100], labels: [young, old]",
        "is: {age: {min: 18}, sex: female}",
    )
]

LOCAL = "model: local\nresponses: [{"
GOOD += [
    completed("model: local"),
    completed("model: central"),
    completed("model: local\npublic: [region]"),
    *(
        completed(f"{LOCAL}{fields}}}]")
        for fields in (
            "column: smoker, mechanism: randomized_response, probability: 3/4, by: [region]",
            "column: smoker, mechanism: randomized_response, probability: 0.75, post: [simplex]",
            "column: age, mechanism: gaussian, epsilon: 1, delta: 1e-9, post: [clamp]",
            "column: smoker, mechanism: matrix, matrix: table.csv",
            "column: smoker, mechanism: matrix, matrix: {false: {a: 1/3, b: 2/3}, true: {a: 1}}",
        )
    ),
]

BAD = [
    *(
        completed(f"derive: {{x: {{{fields}}}}}")
        for fields in (
            "bounds: [0, 1]",
            "sum: [age]",
            "sum: [age, income], product: [age, income]",
            "ratio: [age, income]",
            "part: decade, of: day",
            "part: month",
            "bands: age, step: 3",
        )
    ),
    *(
        completed(f"csv: {{{fields}}}")
        for fields in (
            "delimiter: x",
            "delimiter: ';;'",
            "quote: a",
            "decimal: p",
            "names: []",
            "names: [age, age]",
            "names: age",
            "separator: ';'",
            "skip_lines: 0",
            "header_lines: 3",
            "footer: {begins: Total}",
            "footer_lines: 2",
            "sheet: [a, b]",
        )
    ),
    completed("csv: semicolons"),
    completed("model: distributed"),
    completed("model: local\nstatistics: [{name: n, statistic: count, epsilon: 1}]"),
    completed("model: local\nresponses: []"),
    completed("responses: [{column: sex, mechanism: unary_encoding, epsilon: 1}]"),
    completed("public: [sex]"),
    completed("model: local\npublic: region"),
    *(
        completed(f"{LOCAL}{fields}}}]")
        for fields in (
            "column: smoker, mechanism: randomized_response",
            "column: smoker, mechanism: randomised_response, epsilon: 1",
            "column: smoker, mechanism: randomized_response, probability: 75 %",
            "column: smoker, mechanism: randomized_response, probability: 3/4, epsilon: 1",
            "column: smoker, mechanism: unary_encoding, probability: 3/4",
            "column: age, mechanism: gaussian, epsilon: 1",
            "column: age, mechanism: laplace, epsilon: 1, delta: 1e-9",
            "column: age, mechanism: laplace, epsilon: 50",
            "column: smoker, mechanism: matrix, epsilon: 1",
            "column: age, mechanism: laplace, epsilon: 1, post: [round]",
        )
    ),
    completed("dpcli: 2"),
    completed("dataset: my data"),
    completed("statistic: []"),
    completed("statistics: []"),
    completed("confidence: 95"),
    completed("privacy: {unit: row, neighbors: add-remove}"),
    completed("privacy: {unit: rows, neighbors: add-remove, budget: {epsilon: 1}}"),
    completed("privacy: {unit: row, neighbors: addremove, budget: {epsilon: 1}}"),
    completed("privacy: {unit: row, neighbors: add-remove, budget: {epsilon: yes}}"),
    completed("privacy: {unit: row, neighbors: add-remove, budget: {epsilom: 1}}"),
    completed("privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}, composition: x}"),
    with_column("{type: int}"),
    with_column("{bounds: [0, 1]}"),
    with_column("{type: number, bounds: [0, 1]}"),
    with_column("{type: integer, bounds: [0]}"),
    with_column("{type: date, bounds: [yesterday, today]}"),
    with_column("{type: category, values: []}"),
    with_column("{type: id, missing: all}"),
    with_statistic("statistic: mean, column: age, bound: sum, unit_bounds: [0, 1]"),
    with_statistic("statistic: sum, column: age, unit_bounds: [0, 1]"),
    with_statistic("statistic: count, by: [sex], keys: private"),
    with_statistic("statistic: mean, column: age, keys: private, delta: 1e-9"),
    with_statistic("statistic: cuont"),
    with_statistic("statistic: sum"),
    with_statistic("statistic: count, bins: {width: 1}"),
    with_statistic("statistic: count, by: sex"),
    with_statistic("statistic: count, where: [sex]"),
    with_statistic("statistic: count, where: {age: {minimum: 1}}"),
    with_statistic("statistic: count, mechanism: gaussian"),
    with_statistic("statistic: count, delta: 1e-7"),
    with_statistic("statistic: count, calibration: classic"),
    completed("statistics: [{name: my count, statistic: count, epsilon: 1}]"),
    completed("statistics: [{name: n, statistic: count, epsilon: 50}]"),
    completed("statistics: [{name: n, statistic: count}]"),
]


@pytest.mark.parametrize("text", GOOD)
def test_good_specs(text: str) -> None:
    """Valid specs pass."""
    assert schema_errors(text) == []


@pytest.mark.parametrize("text", BAD)
def test_usual_slips(text: str) -> None:
    """A common mistake fails validation."""
    assert schema_errors(text)


def mappings() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every mapping that the schema knows, with the name of its place."""
    yield "spec", SCHEMA
    yield "responses", SCHEMA["properties"]["responses"]["items"]
    yield from SCHEMA["$defs"].items()


def keys() -> list[tuple[str, str]]:
    """Every key that the schema knows, with its place."""
    places_and_keys = [
        (place, key) for place, mapping in mappings() for key in mapping.get("properties", {})
    ]
    steps = dict(mappings())["statistic"]["properties"]["post"]["items"]["anyOf"]
    return places_and_keys + [("post", key) for step in steps for key in step.get("properties", {})]


@for_each(keys())
def test_every_key_has_a_page(path: tuple[str, str]) -> None:
    """`dpcli explain KEY` knows every key that a spec may have."""
    assert path[1] in {page.name for page in pages()}


@for_each(keys())
def test_editors_explain_every_key(path: tuple[str, str]) -> None:
    """Hovering over a key shows what its page says; its example is one that validates."""
    place, key = path
    if place == "column":
        kinds = SCHEMA["$defs"]["column"]["properties"][key]["oneOf"]
        assert all("description" in option for option in kinds)
        return
    if place == "post":
        return
    field = dict(mappings())[place]["properties"][key]
    page = next(page for page in word_pages() if page.name == key and page.kind == "key")

    assert any(field["description"].startswith(use.says) for use in page.uses)
    assert page.meaning in field["description"]
    for example in field.get("examples", ()):
        field_schema = {"$defs": SCHEMA["$defs"], **field}
        jsonschema.Draft202012Validator(field_schema).validate(example)


def test_no_use_is_idle() -> None:
    """Every sentence that a page has for a place is shown somewhere."""
    text = json.dumps(SCHEMA)
    for page in word_pages():
        assert page.kind == "key" or not page.uses
        for use in page.uses:
            assert json.dumps(use.says)[1:-1] in text, (page.name, use.says)


def test_the_stored_schema_is_current() -> None:
    """`specs/spec.schema.json` is the output of `dpcli schema`."""
    shipped = (SPECS[0].parent / "spec.schema.json").read_text(encoding="utf-8")

    assert shipped == json.dumps(SCHEMA, indent=2) + "\n"


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_specs_name_their_schema(path: Path) -> None:
    """The first line of each spec in `specs/` names its schema for editors."""
    first = path.read_text(encoding="utf-8").splitlines()[0]

    assert first == "# yaml-language-server: $schema=spec.schema.json"


def test_every_statistic_is_offered() -> None:
    """Editors offer every registered statistic with the first line of its docstring."""
    text = json.dumps(SCHEMA)
    for statistic in STATISTICS:
        assert f'"const": "{statistic.name}", "description": "' in text
