"""Checks a mapping of the tree against its model, and reports errors with places.

A field with an error is left out, so that the other fields are still read and resolved. Readers
that use the field later report nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from inspect import get_annotations
from typing import Any, Generic, TypeVar, cast, get_args

from pydantic import ValidationError, create_model
from pydantic.fields import FieldInfo

from dpcli.fields.columns import column_role, example_line
from dpcli.fields.tree import (
    MAX_FOUND_PROBLEMS,
    MappingNode,
    ScalarNode,
    SequenceNode,
    closest_match,
    node_at,
)
from dpcli.fields.values import LIST_TAG, MAPPING_TAG, TEXT_TAG, AlreadyReportedError, SectionModel
from dpcli.light_dataclasses import dataclass
from dpcli.messages import quote
from dpcli.reference import variant_code

M = TypeVar("M", bound=SectionModel)
Path = tuple[str | int, ...]

FORMS = {TEXT_TAG: "a single value", MAPPING_TAG: "a mapping", LIST_TAG: "a list"}

ITEMS = {
    ("bounds", 0): "the lower bound",
    ("bounds", 1): "the upper bound",
    ("unit_bounds", 0): "the lower bound",
    ("unit_bounds", 1): "the upper bound",
    "candidates": "the candidate",
    "quantiles": "the quantile",
    "ways": "the number in `ways`",
}
"""What messages call the items of some lists."""


def plain_word(text: str) -> str:
    """A word of a spec, without case, and with `_` between its parts."""
    return text[:100].casefold().replace("-", "_").replace(" ", "_")


RANGE = r"^(-?[\d.]+) ?(?:-|\.\.+|to) ?(-?[\d.]+)$"
"""Two numbers in one text, as people write ranges."""


@dataclass(frozen=True)
class Section(Generic[M]):
    """One mapping of a spec, and its values as the model has read them.

    The problems of `invalid` fields are recorded; using such a value raises `AlreadyReportedError`.
    Messages call the mapping `what`, as in "a `date` column", and the thing that it describes
    `subject`, such as the name of a statistic.
    """

    node: MappingNode
    what: str
    subject: str
    values: M
    invalid: frozenset[str] = frozenset()

    def require(self, *keys: str) -> None:
        """Raises `AlreadyReportedError` if one of these fields is invalid, or any."""
        if self.invalid & (set(keys) or self.invalid):
            raise AlreadyReportedError

    def has(self, key: str) -> bool:
        """Whether the spec has a field, perhaps with a wrong value or a misspelled key."""
        return key in self.node.pairs or key in self.invalid

    def text(self, *path: str | int) -> str:
        """The text of the scalar at a path."""
        return node_at(self.node, *path).text

    def report(self, code: str, /, *path: str | int, **facts: object) -> AlreadyReportedError:
        """Records a problem of the value at a path, with its name, text and key as facts."""
        node = node_at(self.node, *path)
        key = next((part for part in reversed(path) if isinstance(part, str)), "")
        common = {"name": name_of(path), "found": node.shown, "key": key}
        common |= {"what": self.what, "subject": self.subject}
        return node.span.report(code, **common | facts)

    def report_key(self, code: str, /, *path: str, **facts: object) -> AlreadyReportedError:
        """Records a problem of a field at its key, or at the mapping without that key."""
        parent = node_at(self.node, *path[:-1])
        span = parent.key_span(path[-1]) if isinstance(parent, MappingNode) else parent.span
        return span.report(code, **{"what": self.what, "subject": self.subject, **facts})


def name_of(path: Path) -> str:
    """What messages call the value at a path: its last key, or the item of a list."""
    names = [part for part in path if isinstance(part, str)]
    if path[-2:] in ITEMS or not names:
        return ITEMS.get(path[-2:], "the item")
    if isinstance(path[-1], int):
        return ITEMS.get(names[-1], f"an item of {quote(names[-1])}")
    return quote(names[-1])


def read_section(
    model: type[M],
    node: MappingNode,
    what: str,
    *,
    lines: Mapping[str, str] | None = None,
    subject: str = "",
    refuse_unknown: Callable[[str], bool] | None = None,
) -> Section[M]:
    """Reads a mapping by its model, and records all errors of its fields.

    `what` and `subject` are as in `Section`. `lines` are what to write for missing fields.
    `refuse_unknown` may record the problem of an unknown field and return True.
    """
    plain, subject = node.plain(), subject or what
    try:
        return Section(node, what, subject, model.model_validate(plain))
    except ValidationError as failure:
        errors = failure.errors(include_url=False, include_input=False)[:MAX_FOUND_PROBLEMS]
    section = Section(node, what, subject, cast("M", None))
    _ErrorReporter(model, section, lines or {}, refuse_unknown).report_all(errors)
    invalid = {str(error["loc"][0]) for error in errors if error["loc"]}
    fields = _field_names_at(model, ())
    # An unknown key is probably a misspelled field: that field counts as written.
    misspelled = (closest_match(key, fields) for key in invalid.difference(fields))
    invalid |= {field for field in misspelled if field}
    valid = {key: value for key, value in plain.items() if key not in invalid}
    values = _without_required_fields(model).model_validate(valid)
    for key in invalid:
        values.__dict__.pop("source" if key == "from" else key, None)
    return replace(section, values=values, invalid=frozenset(invalid))


@lru_cache
def _without_required_fields(model: type[M]) -> type[M]:
    required: Any = {
        name: (field.annotation, FieldInfo.merge_field_infos(field, default=None))
        for name, field in model.model_fields.items()
        if field.is_required()
    }
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **required)


@dataclass(frozen=True)
class _ErrorReporter:
    """Records the errors that pydantic finds in one mapping, with messages of dpcli."""

    model: type[SectionModel]
    section: Section[Any]
    lines: Mapping[str, str]
    refuse_unknown: Callable[[str], bool] | None

    def report_all(self, errors: list[Any]) -> None:
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
                # A misspelled key has been reported and replaces the missing one.
                siblings = [str(other[-1]) for other in unknown if other[:-1] == path[:-1]]
                if not any(closest_match(key, [path[-1]]) for key in siblings):
                    self._missing(path)
            elif kind in ("too_short", "too_long"):
                self._length(path, context["actual_length"])
            elif "facts" in context:
                self._refused(kind, (*path, *context["at"]), context["facts"])
            else:
                self._form(path, kind, context)

    def _unknown(self, path: Path) -> None:
        key, parent = str(path[-1]), node_at(self.section.node, *path[:-1])
        assert isinstance(parent, MappingNode)
        if len(path) == 1 and self.refuse_unknown and self.refuse_unknown(key):
            return
        code = variant_code("unknown-field", plain_word(key))
        fields = _field_names_at(self.model, path[:-1])
        parent.key_span(key).report(code, word=key, choices=fields, owner=self._owner(path))

    def _missing(self, path: Path) -> None:
        key, section = str(path[-1]), self.section
        span = node_at(section.node, *path[:-1]).span
        field = self.model.model_fields.get(key) if len(path) == 1 else None
        role = column_role(field) if field else None
        is_named = field and section.subject != section.what
        owner = f"the {section.what} {section.subject}" if is_named else self._owner(path)
        facts: dict[str, Any] = {"owner": owner, "key": key}
        if role and role.refers_to == "column":
            span.report("missing-field.of-column", kinds=role.kinds, **facts)
            return
        code = "missing-field" if key in self.lines else variant_code("missing-field", key)
        line = self.lines.get(key, f"`{example_line(key, field)}`")
        span.report(code, line=line, **facts)

    def _refused(self, code: str, path: Path, facts: Mapping[str, Any]) -> None:
        text = self.section.text(*path)
        word = {"word": facts.get("meant", text)} if "choices" in facts else {}
        if code == "unknown-statistic":
            code = variant_code("unknown-statistic", plain_word(text))
            word = word if code == "unknown-statistic" else {}
        elif code == "not-a-number" and text.endswith("%") and path == ("epsilon",):
            # A percentage is meant of the budget, which entries divide by `share`.
            code = "not-a-number.percent" if "share" in self.model.model_fields else code
        self.section.report(code, *path, **word, **facts)

    def _length(self, path: Path, count: int) -> None:
        code = variant_code("wrong-shape", str(path[-1])) if count else "empty-list"
        self.section.report(code, *path, count=count, form="another number of items")

    def _form(self, path: Path, kind: str, context: Mapping[str, Any]) -> None:
        node, code = node_at(self.section.node, *path), "wrong-shape"
        form = {"string_type": "a single value", "list_type": "a list"}.get(kind, "a mapping")
        if kind == "union_tag_invalid":
            form = " or ".join(FORMS[tag] for tag in FORMS if tag in context["expected_tags"])
        if isinstance(node, ScalarNode) and form.endswith("a list"):
            code = "wrong-shape.listed-word"
        elif isinstance(node, SequenceNode) and "single value" in form:
            code = f"wrong-shape.{'listed-value' if len(node.items) == 1 else 'several-values'}"
        elif form in ("a list", "a mapping") or isinstance(path[-1], str):
            code = variant_code("wrong-shape", f"no-{path[-1]}")
            other = {"a list": "no-list", "a mapping": "no-mapping"}.get(form, "no-value")
            code = f"wrong-shape.{other}" if code == "wrong-shape" else code
        text = re.sub(RANGE, r"\1, \2", node.text)
        self.section.report(code, *path, found=node.form, form=form, text=text)

    def _owner(self, path: Path) -> str:
        return name_of(path[:-1]) if len(path) > 1 else self.section.what


def _field_names_at(model: type[SectionModel], path: Path) -> list[str]:
    models: list[type[SectionModel]] = [model]
    for key in path:
        fields = [
            field
            for model in models
            for name, field in model.model_fields.items()
            if (field.alias or name) == key
        ]
        models = (_models_in(fields[0].annotation) if fields else []) or models
    # The fields of a type itself come before those that it shares with other types.
    every = (
        (name, model.model_fields[name])
        for model in models
        for kind in model.__mro__
        for name in get_annotations(kind)
        if name in model.model_fields
    )
    return list(dict.fromkeys(field.alias or name for name, field in every))


def _models_in(annotation: Any) -> list[type[SectionModel]]:
    if isinstance(annotation, type) and issubclass(annotation, SectionModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]
