"""What a place below a mapping is called, and which keys belong there."""

from __future__ import annotations

from typing import Any, get_args

from pydantic.fields import FieldInfo

from dpcli.messages import shown
from dpcli.spec.nodes import Mapping, Node, at
from dpcli.values import LIST_TAG, MAPPING_TAG, TEXT_TAG, Shape

KINDS = {TEXT_TAG: "a single value", MAPPING_TAG: "a mapping", LIST_TAG: "a list"}
ITEMS = {
    ("bounds", 0): "the lower bound",
    ("bounds", 1): "the upper bound",
    ("unit_bounds", 0): "the lower bound",
    ("unit_bounds", 1): "the upper bound",
    "candidates": "the candidate",
    "quantiles": "the quantile",
    "post": "the step of `post`",
}
"""How items of some lists are called in messages."""

Path = tuple[str | int, ...]


def example_line(key: str, field: FieldInfo | None) -> str:
    """A line of YAML with the first example of a field."""
    examples = field_examples(field) if field else []
    return f"{key}: {yaml_text(examples[0])}" if examples else f"{key}: ..."


def field_examples(field: FieldInfo) -> list[Any]:
    """The examples of a field, or of its type."""
    found = list(field.examples or ())
    pending: list[Any] = [field.annotation]
    while pending and not found:
        annotation = pending.pop(0)
        for one in getattr(annotation, "__metadata__", ()):
            found += (one.examples or ()) if isinstance(one, FieldInfo) else ()
        pending += get_args(annotation)
    return found


def yaml_text(value: Any) -> str:
    """A plain value in one line of YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {yaml_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(yaml_text, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def path_of(node: Node, loc: Path) -> Path:
    """The path in the tree: without the names of alternatives."""
    path: list[str | int] = []
    for part in loc:
        here = at(node, *path)
        known = isinstance(here, Mapping) and part in here.pairs
        if part not in KINDS or known:
            path.append(part)
    return tuple(path)


def keys_at(shape: type[Shape], path: Path) -> list[str]:
    """The keys that the mapping at a path may have."""
    candidates: list[type[Shape]] = [shape]
    for part in path:
        for candidate in candidates:
            if part in candidate.model_fields:
                inner = shapes_in(candidate.model_fields[str(part)].annotation)
                candidates = inner or candidates
                break
    return [name for candidate in candidates for name in candidate.model_fields]


def shapes_in(annotation: Any) -> list[type[Shape]]:
    """The models inside a type, at any depth."""
    if isinstance(annotation, type) and issubclass(annotation, Shape):
        return [annotation]
    return [shape for part in get_args(annotation) for shape in shapes_in(part)]


def name_of(path: Path) -> str:
    """A path as people say it: its last key."""
    special = ITEMS.get(path[-2:]) if len(path) > 1 else None
    names = [part for part in path if isinstance(part, str)]
    if special or not names:
        return special or "the item"
    if isinstance(path[-1], int):
        return ITEMS.get(names[-1], f"an item of {shown(names[-1])}")
    return shown(names[-1])


def expected_form(error: Any) -> str:
    """The form that fits."""
    if error["type"] == "string_type":
        return "a single value"
    if error["type"] == "list_type":
        return "a list"
    if error["type"] == "union_tag_invalid":
        tags = [tag for tag in KINDS if tag in error["ctx"]["expected_tags"]]
        return " or ".join(KINDS[tag] for tag in tags)
    return "a mapping"
