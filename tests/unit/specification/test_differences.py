"""The keys in which two specs differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dpcli.fields.tree import MappingNode, Node, ScalarNode, SequenceNode
from dpcli.specification.differences import key_changes
from dpcli.specification.load import parse_spec, read_spec_file
from dpcli.specification.model import Spec
from dpcli.specification.yaml_reader import read_tree
from tests.support.cli import ROOT

SPEC = """\
dpcli: 1
dataset: d
privacy: {unit: {column: who, max_rows: 3}, neighbors: add-remove, budget: {epsilon: 3}}
quality: {epsilon: 0.1, min_rows: 10}
columns:
  who: {type: id}
  income: {type: integer, bounds: [0, 10000]}
  place: {type: category, values: [a, b, c, d, e, f, g, h]}
statistics:
  - {name: n, statistic: count, by: [place], epsilon: 1}
  - name: incomes  # of all
    statistic: histogram
    column: income
    bins: {width: 10001}
    epsilon: 1
"""


CHECK = "{epsilon: 0.1, min_rows: 10}"


def changes(*edits: tuple[str, str]) -> list[tuple[str, str]]:
    """The changed paths after edits of the text, and their words."""
    text = SPEC
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    before, after = parse_spec(SPEC, "old"), parse_spec(text, "new")
    return [(change.path, change.words) for change in key_changes(before, after)]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (("max_rows: 3", "max_rows: 6"), ("privacy.unit.max_rows", "3 -> 6")),
        (
            ("bounds: [0, 10000]", "bounds: [-5, 10000]"),
            ("columns.income.bounds", "[0, 10000] -> [-5, 10000]"),
        ),
        (("g, h]", "g, h, i]"), ("columns.place.values (items)", "added i")),
        (("g, h]", "h, g]"), None),
        (("width: 10001", "width: 5000"), ("statistics.incomes.bins.width", "10001 -> 5000")),
        (("min_rows: 10}", "min_rows: 9}"), ("quality.min_rows", "10 -> 9")),
        ((CHECK, "none"), ("quality", f"{CHECK} -> none")),
        ((f"quality: {CHECK}\n", ""), ("quality", f"removed {CHECK}")),
        (
            ("statistics:\n", "statistics:\n  - {name: m, statistic: count, epsilon: 1}\n"),
            ("statistics.m", "added {name: m, statistic: count, epsilon: 1}"),
        ),
        (("name: n,", 'name: n, title: "a, b",'), ("statistics.n.title", 'added "a, b"')),
    ],
)  # fmt: skip
def test_each_change_is_named_by_its_path(
    edit: tuple[str, str], expected: tuple[str, str] | None
) -> None:
    """One edit is one change, at the path of its key."""
    (found,) = changes(edit)
    assert expected in (None, found)


def test_comments_and_order_of_keys_are_no_changes() -> None:
    """Only what a spec says counts, but the order of statistics is that of the table."""
    assert not changes(
        ("  # of all", ""), ("epsilon: 0.1, min_rows: 10", "min_rows: 10, epsilon: 0.1")
    )
    entry = "  - {name: n, statistic: count, by: [place], epsilon: 1}\n"
    assert changes(
        (entry, ""), ("10001}\n    epsilon: 1\n", f"10001}}\n    epsilon: 1\n{entry}")
    ) == [("statistics (order)", "n, incomes -> incomes, n")]


def leaves(node: Node, path: str = "") -> Iterator[tuple[str, ScalarNode]]:
    """Every scalar below a node, with the path of its key."""
    if isinstance(node, ScalarNode):
        yield path, node
    elif isinstance(node, SequenceNode):
        for item in node.items:
            name = item.scalar("name") if isinstance(item, MappingNode) else None
            yield from leaves(item, f"{path}.{name.text}" if name else path)
    elif isinstance(node, MappingNode):
        for key, (_, value) in node.pairs.items():
            yield from leaves(value, f"{path}.{key}".lstrip("."))


def edited(spec: Spec, leaf: ScalarNode) -> Spec:
    """The spec with another text of one scalar, which need not be valid."""
    lines, span = spec.text.split("\n"), leaf.span
    line, at = lines[span.line - 1], span.column - 1
    lines[span.line - 1] = f"{line[:at]}changed{line[at + span.length :]}"
    return replace(spec, text="\n".join(lines))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "specs").glob("*.yaml")), ids=lambda path: path.stem
)
def test_no_scalar_of_a_spec_changes_unnoticed(path: Path) -> None:
    """Each value, if changed, is a change at its key; a spec does not differ from itself."""
    spec = read_spec_file(path)
    root, _, _ = read_tree(spec.text.encode(), "")
    assert root is not None and not list(key_changes(spec, spec))
    for key, leaf in list(leaves(root))[::3]:
        found = [change.path for change in key_changes(spec, edited(spec, leaf))]
        names = [f"{name.removesuffix(' (items)')}." for name in found]
        assert any(f"{key}.".startswith(name) for name in names), (key, found)


def test_another_content_of_a_named_file_is_a_change(tmp_path: Path) -> None:
    """A list of codes with other codes is a change, though the spec has the same text."""
    text = SPEC.replace("[a, b, c, d, e, f, g, h]", "{file: places.csv, key: code}")
    found = []
    for codes in ("a\nb\n", "a\nc\n"):
        (tmp_path / "places.csv").write_text(f"code\n{codes}")
        found.append(parse_spec(text, "spec", tmp_path))
    assert [change.path for change in key_changes(*found)] == ["SHA-256 of places.csv"]
