"""What an editor shows about a key: the words of its page, and an example."""

from __future__ import annotations

import re
from typing import Any

from dpcli.reference import Page, Use
from dpcli.spec.nodes import Listing, Mapping, Node, Word
from dpcli.spec.text import read_text
from dpcli.words import PAGES

Json = dict[str, Any]

PLACES: dict[str, str] = {
    "Document": "spec",
    "LocalDocument": "spec",
    "Privacy": "privacy",
    "Budget": "budget",
    "Unit": "unit",
    "IntegerColumn": "integer",
    "NumberColumn": "number",
    "CategoryColumn": "category",
    "BooleanColumn": "boolean",
    "DateColumn": "date",
    "IdColumn": "id",
    "Entry": "statistic",
    "KeyShape": "key",
    "Bins": "bins",
    "Withhold": "withhold",
    "Range": "range",
    "Stepped": "candidates",
    "ResponseShape": "response",
    "Stewardship": "declarations",
    "CsvShape": "csv",
    "QualityShape": "quality",
}
"""For each shape of a spec, the place that its keys stand at."""

KEYS = {page.name: page for page in PAGES if page.kind == "key"}


def tell(schema: Json, shape: str) -> None:
    """Puts a description and an example to every key of a shape that has a page."""
    place = PLACES.get(shape, "")
    for key, field in schema.get("properties", {}).items():
        page = KEYS.get(key)
        use = page.use(place) if page else None
        if page and use:
            field["description"] = _description(page, use)
            if "const" not in field:
                field["examples"] = [_value(use.example or page.example)]


def _description(page: Page, use: Use) -> str:
    """The sentence of this place, then the page."""
    parts = [use.says, page.meaning]
    if page.absent and len(page.uses) == 1:
        parts.append(f"If absent: {page.absent}")
    return "\n\n".join([*parts, f"`dpcli explain {page.name}` says more."])


def _value(example: str) -> Any:
    """The value in a line of YAML, as a reader of YAML 1.2 resolves it."""
    root, _, _ = read_text(example.encode(), "example")
    assert root is not None
    ((_, value),) = root.pairs.values()
    return _resolved(value)


def _resolved(node: Node) -> Any:
    """A tree as plain JSON."""
    match node:
        case Word(text):
            if re.fullmatch(r"-?[0-9]+", text):
                return int(text)
            if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?", text):
                return float(text)
            return {"true": True, "false": False}.get(text, text)
        case Listing(items):
            return [_resolved(item) for item in items]
        case Mapping(pairs):
            return {key: _resolved(value) for key, (_, value) in pairs.items()}
