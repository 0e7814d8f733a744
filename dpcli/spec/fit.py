"""Reading a mapping of the tree by its model; errors become problems with places.

A field with an error is left out, so that the other fields are still read and resolved; what
refers to it later is silent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Mapping as Advice
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import ValidationError, create_model
from pydantic.fields import FieldInfo

from dpcli.fields import OfColumn, role_of
from dpcli.messages import shown
from dpcli.reference import variant
from dpcli.spec.findings import ENOUGH, Findings, similar
from dpcli.spec.nodes import Listing, Mapping, Node, Word, at, described
from dpcli.spec.paths import Path, example_line, expected_form, keys_at, name_of, path_of
from dpcli.values import Shape

S = TypeVar("S", bound=Shape)


def facts_at(node: Node, path: Path) -> dict[str, object]:
    """What messages call a value, what it is, and the last key on the path to it."""
    found = shown(node.text) if isinstance(node, Word) else described(node)
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    return {"name": name_of(path), "found": found, "key": key}


@dataclass(frozen=True)
class Part(Generic[S]):
    """One mapping of a spec, and the values that its model read.

    `bad` are the fields with recorded errors: those have their default, or None. Messages call
    the mapping `what`, and the thing that it is about `user`.
    """

    node: Mapping
    what: str
    user: str
    findings: Findings
    values: S
    bad: frozenset[str]

    def has(self, key: str) -> bool:
        """Whether a field is written, rightly or wrongly; perhaps with its key misspelled."""
        return key in self.node.pairs or key in self.bad

    def text(self, *path: str | int) -> str:
        """The scalar at a path, as it was written."""
        node = at(self.node, *path)
        return node.text if isinstance(node, Word) else ""

    def report(self, code: str, *path: str | int, **facts: object) -> None:
        """Records what is wrong with the value at a path, by its name, found text and key."""
        node = at(self.node, *path)
        given = {"what": self.what, "user": self.user, **facts_at(node, path), **facts}
        self.findings.report(code, node.span, **given)

    def report_key(self, code: str, *path: str, **facts: object) -> None:
        """Records what is wrong with a field, at its key; without the key, with the mapping."""
        parent = at(self.node, *path[:-1])
        span = parent.key_span(path[-1]) if isinstance(parent, Mapping) else parent.span
        self.findings.report(code, span, **{"what": self.what, "user": self.user, **facts})


def fit(
    shape: type[S],
    node: Mapping,
    what: str,
    findings: Findings,
    *,
    advice: Advice[str, str] | None = None,
    user: str = "",
    refuse_unknown: Callable[[str], bool] | None = None,
) -> Part[S]:
    """The mapping as its model reads it, after all of its errors are recorded.

    `what` names it in messages, with its article; `advice` says what to add for a missing
    field, and `user` whose mapping it is. `refuse_unknown` may record an unknown field itself.
    """
    plain = node.plain()
    try:
        values = shape.model_validate(plain)
        return Part(node, what, user or what, findings, values, frozenset())
    except ValidationError as failure:
        errors = failure.errors(include_url=False, include_input=False)[:ENOUGH]
    reader = _Reader(shape, node, what, findings, advice or {}, user, refuse_unknown)
    reader.explain(errors)
    bad = {str(error["loc"][0]) for error in errors if error["loc"]}
    near = (similar(key, list(shape.model_fields)) for key in bad - shape.model_fields.keys())
    bad |= {key for key in near if key}
    rest = {key: value for key, value in plain.items() if key not in bad}
    values = _lenient(shape).model_validate(rest)
    return Part(node, what, user or what, findings, values, frozenset(bad))


@lru_cache
def _lenient(shape: type[S]) -> type[S]:
    """The same model with None for required fields that are missing or wrong."""
    required: Any = {
        name: (field.annotation, FieldInfo.merge_field_infos(field, default=None))
        for name, field in shape.model_fields.items()
        if field.is_required()
    }
    return create_model(shape.__name__, __base__=shape, __doc__=shape.__doc__, **required)


@dataclass(frozen=True)
class _Reader:
    """Says in our words what pydantic found wrong with one mapping."""

    shape: type[Shape]
    node: Mapping
    what: str
    findings: Findings
    advice: Advice[str, str]
    user: str
    refuse_unknown: Callable[[str], bool] | None

    def explain(self, errors: list[Any]) -> None:
        """Records every error."""
        unknown = {path_of(self.node, e["loc"]) for e in errors if e["type"] == "extra_forbidden"}
        for error in errors:
            context = error.get("ctx", {})
            path = (*path_of(self.node, error["loc"]), *context.get("at", ()))
            match error["type"]:
                case "extra_forbidden":
                    self._unknown(path)
                case "missing":
                    self._missing(path, unknown)
                case "literal_error":
                    choices = re.findall(r"'([^']*)'", context["expected"])
                    self._refused("unknown-choice", path, {"choices": choices})
                case "too_short" | "too_long":
                    self._length(path)
                case code if "facts" in context:
                    self._refused(code, path, context["facts"], at_key=context["at_key"])
                case _:
                    self._form(path, expected_form(error))

    def _unknown(self, path: Path) -> None:
        """A key that the mapping cannot have."""
        key, parent = str(path[-1]), at(self.node, *path[:-1])
        assert isinstance(parent, Mapping)
        if len(path) == 1 and self.refuse_unknown and self.refuse_unknown(key):
            return
        fields = list(dict.fromkeys(keys_at(self.shape, path[:-1])))
        code, span = variant("unknown-field", key), parent.key_span(key)
        self.findings.report_unknown(code, key, fields, span, owner=self._owner(path))

    def _missing(self, path: Path, unknown: set[Path]) -> None:
        """A required key that is not there, unless a misspelled one stands for it."""
        key, parent = str(path[-1]), at(self.node, *path[:-1])
        misspelled = any(similar(str(p[-1]), [key]) for p in unknown if p[:-1] == path[:-1])
        if misspelled:
            return
        field = self.shape.model_fields.get(key) if len(path) == 1 else None
        role = role_of(field) if field else None
        owner = f"the {self.what} {self.user}" if self.user and field else self._owner(path)
        facts: dict[str, Any] = {"owner": owner, "key": key}
        if key in self.advice:
            self.findings.report("missing-field", parent.span, line=self.advice[key], **facts)
        elif isinstance(role, OfColumn):
            self.findings.report("missing-field.of-column", parent.span, kinds=role.kinds, **facts)
        else:
            code, line = variant("missing-field", key), f"`{example_line(key, field)}`"
            self.findings.report(code, parent.span, line=line, **facts)

    def _refused(
        self, code: str, path: Path, given: Advice[str, Any], *, at_key: bool = False
    ) -> None:
        """A value that its type refuses; perhaps a word that is not one of a few."""
        node, parent = at(self.node, *path), at(self.node, *path[:-1])
        facts = {**facts_at(node, path), **given}
        span = node.span
        if at_key and isinstance(parent, Mapping):
            span = parent.key_span(str(path[-1]))
        if "choices" not in facts:
            self.findings.report(code, span, **facts)
            return
        text = node.text if isinstance(node, Word) else ""
        choices, meant = facts.pop("choices"), facts.pop("meant", "") or text
        self.findings.report_unknown(code, meant, choices, span, **facts)

    def _length(self, path: Path) -> None:
        """A list with too few or too many items."""
        node, facts = at(self.node, *path), facts_at(at(self.node, *path), path)
        count = len(node.items) if isinstance(node, Listing) else 0
        code = variant("wrong-shape", str(path[-1])) if count else "empty-list"
        if code == "wrong-shape":
            code = "wrong-shape.other-length"
        self.findings.report(code, node.span, count=count, **facts)

    def _form(self, path: Path, form: str) -> None:
        """A text, list or mapping where another form is expected."""
        node, code = at(self.node, *path), "wrong-shape"
        facts = facts_at(node, path) | {"found": described(node), "form": form}
        if isinstance(node, Word) and form.endswith("a list"):
            code = "wrong-shape.listed-word"
            facts["text"] = node.text
        elif isinstance(node, Listing) and "single value" in form:
            code = f"wrong-shape.{'listed-value' if len(node.items) == 1 else 'several-values'}"
        elif form in ("a list", "a mapping"):
            code = f"wrong-shape.no-{form[2:]}"
        elif form == "a single value" and isinstance(path[-1], str):
            code = "wrong-shape.no-value"
        self.findings.report(code, node.span, **facts)

    def _owner(self, path: Path) -> str:
        """What a key belongs to."""
        return name_of(path[:-1]) if len(path) > 1 else self.what
