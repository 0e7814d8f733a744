"""Fitting a piece of the tree to its shape; misfits become problems with places."""

from __future__ import annotations

import re
from collections.abc import Mapping as Advice
from typing import Any, get_args

from pydantic import ValidationError

from dpcli.spec.findings import ENOUGH, Findings
from dpcli.spec.nodes import Listing, Mapping, Node, Word, at, described
from dpcli.spec.structure import LIST_TAG, MAPPING_TAG, TEXT_TAG, AnyShape, Shape
from dpcli.spec.wording import listed, shown, similar

TAGS = (TEXT_TAG, MAPPING_TAG, LIST_TAG)
PAIRS = {
    "bounds": "lower and upper bound",
    "unit_bounds": "the least and the most of one person's total",
    "values": "the texts for false and true",
}

Path = tuple[str | int, ...]

NEEDED = {
    "dpcli": "add `dpcli: 1`, the version of the spec language",
    "dataset": "add `dataset: NAME`, the ledger account that pays",
    "privacy": "add `privacy: {unit: row, neighbors: add-remove, budget: {epsilon: ...}}`",
    "columns": "add `columns:` with a line for each column that is used",
    "statistics": "add `statistics:` with an entry for each question",
    "unit": "add `unit: row` if nobody has two rows",
    "neighbors": "add `neighbors: add-remove`, or `change-one` if the number of rows is public",
    "budget": "add `budget: {epsilon: ...}`: the most that all releases may reveal",
    "max_rows": "add `max_rows: ...`: how many rows of one person are used at most",
    "values": "add `values: [...]`: the texts in the file, or a mapping from text to label",
    "name": "add `name: ...`: what the statistic is called in the output",
}
"""What to add, for keys that deserve more than their name."""


MODELS = {
    "quality": "remove it; in the local model no one counts rows before they are randomized",
    "statistics": "remove it; what is estimated of a collection is said in `responses`",
    "responses": "add `model: local` if records are to be randomized one by one, or remove it",
    "public": "add `model: local` if records are to be randomized one by one, or remove it",
}
"""What to do with a section of the other model."""


def fit(
    shape: type[AnyShape],
    node: Mapping,
    what: str,
    findings: Findings,
    advice: Advice[str, str] = NEEDED,
) -> AnyShape | None:
    """The piece in its shape, or nothing after its misfits are recorded.

    `what` names the piece in messages, with its article; `advice` says what to add
    for a missing key.
    """
    try:
        return shape.model_validate(node.plain())
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
    unknown = {
        _path(node, detail["loc"])
        for detail in details[:ENOUGH]
        if detail["type"] == "extra_forbidden"
    }
    for detail in details[:ENOUGH]:
        _explain(shape, node, what, detail, unknown=unknown, findings=findings, advice=advice)
    return None


def _path(node: Node, loc: Path) -> Path:
    """The path in the tree: without the names of alternatives."""
    path: list[str | int] = []
    for part in loc:
        here = at(node, *path)
        known = isinstance(here, Mapping) and part in here.pairs
        if part in TAGS and not known:
            continue
        path.append(part)
    return tuple(path)


def _explain(
    shape: type[Shape],
    root: Mapping,
    what: str,
    detail: Any,
    *,
    unknown: set[Path],
    findings: Findings,
    advice: Advice[str, str],
) -> None:
    """Records one misfit in our own words."""
    path = _path(root, detail["loc"])
    if detail["type"] in ("extra_forbidden", "missing"):
        parent = at(root, *path[:-1])
        key = str(path[-1])
        fields = _fields(shape, path[:-1])
        owner = _owner(path[:-1], what)
        if detail["type"] == "missing":
            if not any(similar(str(p[-1]), [key]) for p in unknown if p[:-1] == path[:-1]):
                _missing(parent, key, owner, advice, findings)
            return
        assert isinstance(parent, Mapping)
        findings.unknown(
            "unknown-field",
            f"{shown(key)} is not a field of {owner}; expected {listed(fields, 'or')}",
            key,
            fields,
            parent.key_span(key),
            otherwise=MODELS.get(key, "remove it"),
        )
        return
    node = at(root, *path)
    name = _name(path)
    if detail["type"] == "literal_error":
        choices = re.findall(r"'([^']*)'", detail["ctx"]["expected"])
        found = shown(node.text) if isinstance(node, Word) else described(node)
        findings.unknown(
            "unknown-choice",
            f"{name} is {found}, expected {listed(choices, 'or')}",
            node.text if isinstance(node, Word) else "",
            choices,
            node.span,
            otherwise="write one of these, spelled exactly so",
        )
        return
    if detail["type"] in ("too_short", "too_long"):
        _wrong_length(node, path, name, findings)
        return
    expected = _expected(detail)
    findings.add(
        "wrong-shape",
        f"{name} is {described(node)}, expected {expected}",
        _shape_hint(node, name, expected),
        node.span,
    )


def _missing(
    parent: Node, key: str, owner: str, advice: Advice[str, str], findings: Findings
) -> None:
    """Records a required key that is not there."""
    findings.add(
        "missing-field",
        f"{owner} has no {shown(key)}",
        advice.get(key) or NEEDED.get(key) or f"add {shown(key + ': ...')}",
        parent.span,
    )


def _wrong_length(node: Node, path: Path, name: str, findings: Findings) -> None:
    """Records a list with too few or too many items."""
    count = len(node.items) if isinstance(node, Listing) else 0
    items = f"{count} item" if count == 1 else f"{count} items"
    if not count:
        findings.add("empty-list", f"{name} is empty", "list at least one value", node.span)
        return
    last = str(path[-1])
    expected = "at least two" if last == "edges" else f"two: {PAIRS.get(last, 'both')}"
    findings.add(
        "wrong-shape",
        f"{name} has {items}, expected {expected}",
        "begin with the lower bound and end with the upper"
        if last == "edges"
        else f"write `{last}: [..., ...]`",
        node.span,
    )


def _fields(shape: type[Shape], path: Path) -> list[str]:
    """The keys that the mapping at a path may have."""
    candidates: list[type[Shape]] = [shape]
    for part in path:
        for candidate in candidates:
            if part in candidate.model_fields:
                inner = _shapes(candidate.model_fields[str(part)].annotation)
                candidates = inner or candidates
                break
    return [name for candidate in candidates for name in candidate.model_fields]


def _shapes(annotation: Any) -> list[type[Shape]]:
    """The shapes inside a type, however deep."""
    if isinstance(annotation, type) and issubclass(annotation, Shape):
        return [annotation]
    return [shape for part in get_args(annotation) for shape in _shapes(part)]


def _owner(path: Path, what: str) -> str:
    """What a key belongs to."""
    return _name(path) if path else what


def _name(path: Path) -> str:
    """A path as people say it: its last key."""
    names = [part for part in path if isinstance(part, str)]
    if not names:
        return "the item"
    return f"an item of {shown(names[-1])}" if isinstance(path[-1], int) else shown(names[-1])


def _expected(detail: Any) -> str:
    """The kind of node that fits."""
    kind = detail["type"]
    if kind == "string_type":
        return "a single value"
    if kind == "list_type":
        return "a list"
    if kind == "union_tag_invalid":
        tags = [tag for tag in TAGS if tag in detail["ctx"]["expected_tags"]]
        return " or ".join(KINDS[tag] for tag in tags)
    return "a mapping"


KINDS = {TEXT_TAG: "a single value", MAPPING_TAG: "a mapping", LIST_TAG: "a list"}


def _shape_hint(node: Node, name: str, expected: str) -> str:
    """How to write the kind of node that fits."""
    plain = name.strip("`")
    word = shown(node.text).strip("`") if isinstance(node, Word) else "..."
    if isinstance(node, Word) and expected.endswith("a list"):
        return f"write `[{word}]`"
    if isinstance(node, Listing) and "single value" in expected:
        return "remove the brackets" if len(node.items) == 1 else "write one value"
    if expected == "a list":
        return "write `[..., ...]`, or lines below it that begin with `- `"
    if expected == "a mapping":
        return "write `{key: value}` or indented `key: value` lines below it"
    if expected == "a single value" and "item" not in plain:
        return f"write `{plain}: ...` with one value"
    return ""
