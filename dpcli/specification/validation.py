"""Reading a mapping of the tree by its model; errors become problems with places.

A field with an error is left out, so that the other fields are still read and resolved; what
refers to it later is silent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Mapping as Lines
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast, get_args

from pydantic import ValidationError, create_model
from pydantic.fields import FieldInfo

from dpcli.messages import shown
from dpcli.reference import variant
from dpcli.spec_fields import example_line, role_of
from dpcli.spec_values import LIST_TAG, MAPPING_TAG, TEXT_TAG, Shape, Unreadable
from dpcli.specification.tree import ENOUGH, Listing, Mapping, Word, at, similar

S = TypeVar("S", bound=Shape)
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
class Part(Generic[S]):
    """One mapping of a spec, and the values that its model read.

    To use one of the `bad` values, which have recorded errors, raises `Unreadable`. Messages
    call the mapping `what`, and the thing that it is about `user`.
    """

    node: Mapping
    what: str
    user: str
    values: S
    bad: frozenset[str] = frozenset()

    def require(self, *keys: str) -> None:
        """`Unreadable` if one of these fields has errors; without names, if any has."""
        if self.bad & (set(keys) or self.bad):
            raise Unreadable

    def has(self, key: str) -> bool:
        """Whether a field is written, rightly or wrongly; perhaps with its key misspelled."""
        return key in self.node.pairs or key in self.bad

    def text(self, *path: str | int) -> str:
        """The scalar at a path, as it was written."""
        return at(self.node, *path).text

    def report(self, code: str, /, *path: str | int, **facts: object) -> Unreadable:
        """Records what is wrong with the value at a path, by its name, found text and key."""
        node = at(self.node, *path)
        key = next((part for part in reversed(path) if isinstance(part, str)), "")
        given = {"name": name_of(path), "found": node.shown, "key": key}
        return node.span.report(code, **given | {"what": self.what, "user": self.user} | facts)

    def report_key(self, code: str, /, *path: str, **facts: object) -> Unreadable:
        """Records what is wrong with a field, at its key; without the key, with the mapping."""
        parent = at(self.node, *path[:-1])
        span = parent.key_span(path[-1]) if isinstance(parent, Mapping) else parent.span
        return span.report(code, **{"what": self.what, "user": self.user, **facts})


def name_of(path: Path) -> str:
    """A path as people say it: its last key."""
    names = [part for part in path if isinstance(part, str)]
    if path[-2:] in ITEMS or not names:
        return ITEMS.get(path[-2:], "the item")
    if isinstance(path[-1], int):
        return ITEMS.get(names[-1], f"an item of {shown(names[-1])}")
    return shown(names[-1])


def read_shape(
    shape: type[S],
    node: Mapping,
    what: str,
    *,
    lines: Lines[str, str] | None = None,
    user: str = "",
    refuse_unknown: Callable[[str], bool] | None = None,
) -> Part[S]:
    """The mapping as its model reads it, after all of its errors are recorded.

    `what` names it in messages, with its article; `lines` say what to add for a missing
    field, and `user` is the thing that the mapping is about. `refuse_unknown` may record an
    unknown field itself.
    """
    plain, part = node.plain(), Part(node, what, user or what, cast("S", None))
    try:
        return replace(part, values=shape.model_validate(plain))
    except ValidationError as failure:
        errors = failure.errors(include_url=False, include_input=False)[:ENOUGH]
    _Explainer(shape, part, lines or {}, refuse_unknown).explain(errors)
    bad = {str(error["loc"][0]) for error in errors if error["loc"]}
    near = (similar(key, list(shape.model_fields)) for key in bad - shape.model_fields.keys())
    bad |= {key for key in near if key}
    rest = {key: value for key, value in plain.items() if key not in bad}
    values = _lenient(shape).model_validate(rest)
    for key in bad:
        values.__dict__.pop(key, None)
    return replace(part, values=values, bad=frozenset(bad))


@lru_cache
def _lenient(shape: type[S]) -> type[S]:
    """The same model without required fields: those may be missing or wrong."""
    required: Any = {
        name: (field.annotation, FieldInfo.merge_field_infos(field, default=None))
        for name, field in shape.model_fields.items()
        if field.is_required()
    }
    return create_model(shape.__name__, __base__=shape, __doc__=shape.__doc__, **required)


@dataclass(frozen=True)
class _Explainer:
    """Says in our words what pydantic found wrong with one mapping."""

    shape: type[Shape]
    part: Part[Any]
    lines: Lines[str, str]
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
                if not any(similar(key, [path[-1]]) for key in near):
                    self._missing(path)
            elif kind in ("too_short", "too_long"):
                self._length(path, context["actual_length"])
            elif "facts" in context:
                self._refused(kind, (*path, *context["at"]), context["facts"])
            else:
                self._form(path, kind, context)

    def _unknown(self, path: Path) -> None:
        key, parent = str(path[-1]), at(self.part.node, *path[:-1])
        assert isinstance(parent, Mapping)
        if len(path) == 1 and self.refuse_unknown and self.refuse_unknown(key):
            return
        code, fields = variant("unknown-field", key), _keys_at(self.shape, path[:-1])
        parent.key_span(key).report(code, word=key, choices=fields, owner=self._owner(path))

    def _missing(self, path: Path) -> None:
        key, part, span = str(path[-1]), self.part, at(self.part.node, *path[:-1]).span
        field = self.shape.model_fields.get(key) if len(path) == 1 else None
        role = role_of(field) if field else None
        is_named = field and part.user != part.what
        owner = f"the {part.what} {part.user}" if is_named else self._owner(path)
        facts: dict[str, Any] = {"owner": owner, "key": key}
        if role and role.refers_to == "column":
            span.report("missing-field.of-column", kinds=role.kinds, **facts)
            return
        code = "missing-field" if key in self.lines else variant("missing-field", key)
        line = self.lines.get(key, f"`{example_line(key, field)}`")
        span.report(code, line=line, **facts)

    def _refused(self, code: str, path: Path, given: Lines[str, Any]) -> None:
        """A value that its type refuses; perhaps a word that is not one of a few."""
        text = self.part.text(*path)
        meant = {"word": given.get("meant", text)} if "choices" in given else {}
        self.part.report(code, *path, **meant, **given)

    def _length(self, path: Path, count: int) -> None:
        code = variant("wrong-shape", str(path[-1])) if count else "empty-list"
        self.part.report(code, *path, count=count, form="another number of items")

    def _form(self, path: Path, kind: str, context: Lines[str, Any]) -> None:
        node, code = at(self.part.node, *path), "wrong-shape"
        form = {"string_type": "a single value", "list_type": "a list"}.get(kind, "a mapping")
        if kind == "union_tag_invalid":
            form = " or ".join(FORMS[tag] for tag in FORMS if tag in context["expected_tags"])
        if isinstance(node, Word) and form.endswith("a list"):
            code = "wrong-shape.listed-word"
        elif isinstance(node, Listing) and "single value" in form:
            code = f"wrong-shape.{'listed-value' if len(node.items) == 1 else 'several-values'}"
        elif form in ("a list", "a mapping"):
            code = variant("wrong-shape", f"no-{path[-1]}")
            code = f"wrong-shape.no-{form[2:]}" if code == "wrong-shape" else code
        elif form == "a single value" and isinstance(path[-1], str):
            code = "wrong-shape.no-value"
        text = RANGE.sub(r"\1, \2", node.text)
        self.part.report(code, *path, found=node.form, form=form, text=text)

    def _owner(self, path: Path) -> str:
        return name_of(path[:-1]) if len(path) > 1 else self.part.what


def _keys_at(shape: type[Shape], path: Path) -> list[str]:
    shapes: list[type[Shape]] = [shape]
    for part in path:
        field = next((one.model_fields[part] for one in shapes if part in one.model_fields), None)
        shapes = (_shapes_in(field.annotation) if field else []) or shapes
    return list(dict.fromkeys(name for one in shapes for name in one.model_fields))


def _shapes_in(annotation: Any) -> list[type[Shape]]:
    if isinstance(annotation, type) and issubclass(annotation, Shape):
        return [annotation]
    return [shape for part in get_args(annotation) for shape in _shapes_in(part)]
