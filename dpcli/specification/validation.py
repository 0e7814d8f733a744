"""Reading a mapping of the tree by its model; errors become problems with places.

A field with an error is left out, so that the other fields are still read and resolved; what
refers to it later is silent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast, get_args

from pydantic import ValidationError, create_model
from pydantic.fields import FieldInfo

from dpcli.messages import quote
from dpcli.reference import variant_code
from dpcli.spec_fields import column_role, example_line
from dpcli.spec_values import LIST_TAG, MAPPING_TAG, TEXT_TAG, AlreadyReportedError, SectionModel
from dpcli.specification.tree import (
    MAX_FOUND_PROBLEMS,
    MappingNode,
    ScalarNode,
    SequenceNode,
    closest_match,
    node_at,
)

S = TypeVar("S", bound=SectionModel)
Path = tuple[str | int, ...]

FORMS = {TEXT_TAG: "a single value", MAPPING_TAG: "a mapping", LIST_TAG: "a list"}

ITEMS = {
    ("bounds", 0): "the lower bound",
    ("bounds", 1): "the upper bound",
    ("unit_bounds", 0): "the lower bound",
    ("unit_bounds", 1): "the upper bound",
    "candidates": "the candidate",
    "quantiles": "the quantile",
}
"""How items of some lists are called in messages."""


RANGE = re.compile(r"^(-?[\d.]+) ?(?:-|\.\.+|to) ?(-?[\d.]+)$")
"""Two numbers in one text, as people write ranges."""


@dataclass(frozen=True)
class Section(Generic[S]):
    """One mapping of a spec, and the values that its model read.

    To use one of the `invalid` values, which have recorded errors, raises `AlreadyReportedError`.
    Messages call the mapping `what`, and the thing that it is about `subject`.
    """

    node: MappingNode
    what: str
    subject: str
    values: S
    invalid: frozenset[str] = frozenset()

    def require(self, *keys: str) -> None:
        """`AlreadyReportedError` if one of these fields has errors; without names, if any has."""
        if self.invalid & (set(keys) or self.invalid):
            raise AlreadyReportedError

    def has(self, key: str) -> bool:
        """Whether a field is written, rightly or wrongly; perhaps with its key misspelled."""
        return key in self.node.pairs or key in self.invalid

    def text(self, *path: str | int) -> str:
        """The scalar at a path, as it was written."""
        return node_at(self.node, *path).text

    def report(self, code: str, /, *path: str | int, **facts: object) -> AlreadyReportedError:
        """Records what is wrong with the value at a path, by its name, found text and key."""
        node = node_at(self.node, *path)
        key = next((part for part in reversed(path) if isinstance(part, str)), "")
        given = {"name": name_of(path), "found": node.shown, "key": key}
        return node.span.report(
            code, **given | {"what": self.what, "subject": self.subject} | facts
        )

    def report_key(self, code: str, /, *path: str, **facts: object) -> AlreadyReportedError:
        """Records what is wrong with a field, at its key; without the key, with the mapping."""
        parent = node_at(self.node, *path[:-1])
        span = parent.key_span(path[-1]) if isinstance(parent, MappingNode) else parent.span
        return span.report(code, **{"what": self.what, "subject": self.subject, **facts})


def name_of(path: Path) -> str:
    """A path as people say it: its last key."""
    names = [part for part in path if isinstance(part, str)]
    if path[-2:] in ITEMS or not names:
        return ITEMS.get(path[-2:], "the item")
    if isinstance(path[-1], int):
        return ITEMS.get(names[-1], f"an item of {quote(names[-1])}")
    return quote(names[-1])


def read_section(
    shape: type[S],
    node: MappingNode,
    what: str,
    *,
    lines: Mapping[str, str] | None = None,
    subject: str = "",
    refuse_unknown: Callable[[str], bool] | None = None,
) -> Section[S]:
    """The mapping as its model reads it, after all of its errors are recorded.

    `what` names it in messages, with its article; `lines` say what to add for a missing
    field, and `subject` is the thing that the mapping is about. `refuse_unknown` may record an
    unknown field itself.
    """
    plain, part = node.plain(), Section(node, what, subject or what, cast("S", None))
    try:
        return replace(part, values=shape.model_validate(plain))
    except ValidationError as failure:
        errors = failure.errors(include_url=False, include_input=False)[:MAX_FOUND_PROBLEMS]
    _ErrorReporter(shape, part, lines or {}, refuse_unknown).explain(errors)
    invalid = {str(error["loc"][0]) for error in errors if error["loc"]}
    near = (
        closest_match(key, list(shape.model_fields)) for key in invalid - shape.model_fields.keys()
    )
    invalid |= {key for key in near if key}
    rest = {key: value for key, value in plain.items() if key not in invalid}
    values = _without_required_fields(shape).model_validate(rest)
    for key in invalid:
        values.__dict__.pop(key, None)
    return replace(part, values=values, invalid=frozenset(invalid))


@lru_cache
def _without_required_fields(shape: type[S]) -> type[S]:
    """The same model without required fields: those may be missing or wrong."""
    required: Any = {
        name: (field.annotation, FieldInfo.merge_field_infos(field, default=None))
        for name, field in shape.model_fields.items()
        if field.is_required()
    }
    return create_model(shape.__name__, __base__=shape, __doc__=shape.__doc__, **required)


@dataclass(frozen=True)
class _ErrorReporter:
    """Says in our words what pydantic found wrong with one mapping."""

    shape: type[SectionModel]
    part: Section[Any]
    lines: Mapping[str, str]
    refuse_unknown: Callable[[str], bool] | None

    def explain(self, errors: list[Any]) -> None:
        """Records every error."""
        paths = [tuple(part for part in error["loc"] if part not in FORMS) for error in errors]
        kinds = [error["type"] for error in errors]
        unknown = [
            path for path, kind in zip(paths, kinds, strict=True) if kind == "extra_forbidden"
        ]
        for error, path, kind in zip(errors, paths, kinds, strict=True):
            context = error.get("ctx", {})
            if kind == "extra_forbidden":
                self._unknown(path)
            elif kind == "missing":
                # A misspelled key stands for it.
                near = [str(one[-1]) for one in unknown if one[:-1] == path[:-1]]
                if not any(closest_match(key, [path[-1]]) for key in near):
                    self._missing(path)
            elif kind in ("too_short", "too_long"):
                self._length(path, context["actual_length"])
            elif "facts" in context:
                self._refused(kind, (*path, *context["at"]), context["facts"])
            else:
                self._form(path, kind, context)

    def _unknown(self, path: Path) -> None:
        key, parent = str(path[-1]), node_at(self.part.node, *path[:-1])
        assert isinstance(parent, MappingNode)
        if len(path) == 1 and self.refuse_unknown and self.refuse_unknown(key):
            return
        code, fields = variant_code("unknown-field", key), _field_names_at(self.shape, path[:-1])
        parent.key_span(key).report(code, word=key, choices=fields, owner=self._owner(path))

    def _missing(self, path: Path) -> None:
        key, part, span = str(path[-1]), self.part, node_at(self.part.node, *path[:-1]).span
        field = self.shape.model_fields.get(key) if len(path) == 1 else None
        role = column_role(field) if field else None
        is_named = field and part.subject != part.what
        owner = f"the {part.what} {part.subject}" if is_named else self._owner(path)
        facts: dict[str, Any] = {"owner": owner, "key": key}
        if role and role.refers_to == "column":
            span.report("missing-field.of-column", kinds=role.kinds, **facts)
            return
        code = "missing-field" if key in self.lines else variant_code("missing-field", key)
        line = self.lines.get(key, f"`{example_line(key, field)}`")
        span.report(code, line=line, **facts)

    def _refused(self, code: str, path: Path, given: Mapping[str, Any]) -> None:
        """A value that its type refuses; perhaps a word that is not one of a few."""
        text = self.part.text(*path)
        meant = {"word": given.get("meant", text)} if "choices" in given else {}
        self.part.report(code, *path, **meant, **given)

    def _length(self, path: Path, count: int) -> None:
        code = variant_code("wrong-shape", str(path[-1])) if count else "empty-list"
        self.part.report(code, *path, count=count, form="another number of items")

    def _form(self, path: Path, kind: str, context: Mapping[str, Any]) -> None:
        node, code = node_at(self.part.node, *path), "wrong-shape"
        form = {"string_type": "a single value", "list_type": "a list"}.get(kind, "a mapping")
        if kind == "union_tag_invalid":
            form = " or ".join(FORMS[tag] for tag in FORMS if tag in context["expected_tags"])
        if isinstance(node, ScalarNode) and form.endswith("a list"):
            code = "wrong-shape.listed-word"
        elif isinstance(node, SequenceNode) and "single value" in form:
            code = f"wrong-shape.{'listed-value' if len(node.items) == 1 else 'several-values'}"
        elif form in ("a list", "a mapping"):
            code = variant_code("wrong-shape", f"no-{path[-1]}")
            code = f"wrong-shape.no-{form[2:]}" if code == "wrong-shape" else code
        elif form == "a single value" and isinstance(path[-1], str):
            code = "wrong-shape.no-value"
        text = RANGE.sub(r"\1, \2", node.text)
        self.part.report(code, *path, found=node.form, form=form, text=text)

    def _owner(self, path: Path) -> str:
        return name_of(path[:-1]) if len(path) > 1 else self.part.what


def _field_names_at(shape: type[SectionModel], path: Path) -> list[str]:
    shapes: list[type[SectionModel]] = [shape]
    for part in path:
        field = next((one.model_fields[part] for one in shapes if part in one.model_fields), None)
        shapes = (_models_in(field.annotation) if field else []) or shapes
    return list(dict.fromkeys(name for one in shapes for name in one.model_fields))


def _models_in(annotation: Any) -> list[type[SectionModel]]:
    if isinstance(annotation, type) and issubclass(annotation, SectionModel):
        return [annotation]
    return [shape for part in get_args(annotation) for shape in _models_in(part)]
