"""Models of the mappings of a spec: values, their places, and their problems.

The problems of a mapping are recorded when its model reads it. A field with a problem is left out,
so that the other fields are still resolved, and what uses it later reports nothing more.

Annotations are evaluated here: each model of a spec would evaluate those of `SectionModel` again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from inspect import get_annotations
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, PydanticKnownError, core_schema

from dpcli.fields.tree import (
    MAX_FOUND_PROBLEMS,
    MappingNode,
    Node,
    Path,
    ScalarNode,
    SequenceNode,
    Span,
    node_at,
)
from dpcli.fields.values import (
    LIST_TAG,
    MAPPING_TAG,
    NUMBER,
    TEXT_TAG,
    AlreadyReportedError,
    Fields,
    Json,
)
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import closest_match, quote, quoted_list, truncated
from dpcli.problems.reference import advice, key_example, key_places, variant_code
from dpcli.problems.registry import class_at

FORMS = {TEXT_TAG: "a single value", MAPPING_TAG: "a mapping", LIST_TAG: "a list"}

NAMING_KEYS = ("column", "of")
"""Keys whose value names a column in some mappings only: no example fits all."""

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

M = TypeVar("M", bound="SectionModel")

REPORTED = "reported"
"""The type of the pydantic error for a mapping whose problems are recorded."""

ONE_NUMBER = r"^(\w+: \{\w+: )[\d.]+(?:, delta: [^{}]*)?\}"
"""An example of a mapping that one number could be short for."""

RANGE = r"^(-?[\d.]+) ?(?:-|\.\.+|to) ?(-?[\d.]+)$"
"""Two numbers in one text, as people write ranges."""


def plain_word(text: str) -> str:
    """A word of a spec in lower case, with `_` between its parts."""
    return text[:100].casefold().replace("-", "_").replace(" ", "_")


def report_unknown_key(span: Span, key: str, keys: Iterable[str], owner: str) -> None:
    """Records the problem of an unknown key, and which key to write instead."""
    says, places = advice("keys", plain_word(key)), key_places(key)
    known = "unknown-field.elsewhere" if places else "unknown-field"
    if says:
        # No key that is spelled alike is meant.
        span.report("unknown-field.advised", word=key, owner=owner, advice=says)
        return
    span.report(known, word=key, choices=keys, owner=owner, places=places)


def name_of(path: Path) -> str:
    """What messages call the value at a path: its last key, or the item of a list."""
    names = [part for part in path if isinstance(part, str)]
    if path[-2:] in ITEMS or not names:
        return ITEMS.get(path[-2:], "the item")
    if isinstance(path[-1], int):
        return ITEMS.get(names[-1], f"an item of {quote(names[-1])}")
    return quote(names[-1])


MAX_COLUMNS_TOGETHER = 20
"""The k^2/2 products of k columns share epsilon, so more would be too noisy."""


@dataclass(frozen=True, slots=True)
class ColumnRole:
    """How the value of a field refers to columns.

    - `column`: the name of a column of one of the `kinds`.
    - `columns`: names of `min_columns` to `max_columns` different columns of these kinds.
    - `axes`: the axes of tables: columns divided by their labels or into bins.
    - `bins`: the bins of the field `column`; a column with labels needs none.
    - `labels`: labels of the field `column`.
    - `between`: a column, labels or values of it, or groups with conditions.
    - `part`: a column of one of the `kinds`, or `rows`.
    - `rate`: public numbers by labels of keys of `by`.
    - `sizes`: public numbers of rows of all groups.
    - `hierarchy`: the names of one hierarchy or two.
    - `known`: public totals by labels of keys, or of parts of the hierarchy.
    - `candidates`: increasing values of the field `column`; the default is all of its values.
    """

    refers_to: Literal[
        "column", "columns", "axes", "bins", "candidates", "labels", "part", "between", "rate",
        "hierarchy", "known", "sizes",
    ]  # fmt: skip
    kinds: tuple[str, ...] = ()
    min_columns: int = 1
    max_columns: int = MAX_COLUMNS_TOGETHER


def marks_of(field: FieldInfo) -> Iterator[Any]:
    """The metadata of a field, and of all types in its annotation."""
    yield from field.metadata
    pending: list[Any] = [field.annotation]
    while pending:
        annotation = pending.pop(0)
        yield from getattr(annotation, "__metadata__", ())
        pending += get_args(annotation)


def column_role(field: FieldInfo) -> ColumnRole | None:
    """The role of a field; None if it does not refer to columns."""
    roles = (mark for mark in marks_of(field) if isinstance(mark, ColumnRole))
    return next(roles, None)


def field_examples(field: FieldInfo) -> list[Any]:
    """The examples of a field, or of its type."""
    inner = (mark.examples for mark in marks_of(field) if isinstance(mark, FieldInfo))
    return field.examples or next((examples for examples in inner if examples), [])


def example_line(key: str, field: FieldInfo | None) -> str:
    """A line of YAML with the first example of a field."""
    examples = field_examples(field) if field else []
    return f"{key}: {_yaml(examples[0])}" if examples else f"{key}: ..."


def _yaml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


class SectionModel(BaseModel):
    """A mapping of a spec: its fields, where they stand, and what is wrong with them.

    Unknown keys are errors. A field with a recorded problem is absent, and its use raises
    `AlreadyReportedError`. A model is built when it is first used.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    noun: ClassVar[str] = ""
    """What messages call the mapping, if that is not the name of its key."""

    _mapping: MappingNode = PrivateAttr()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # The base class takes several times as long to find a private attribute.
            if name == "_mapping" and name in (private := self.__pydantic_private__ or {}):
                return private[name]
            if name in type(self).model_fields:
                raise AlreadyReportedError
            return super().__getattr__(name)

    @classmethod
    def read(cls, mapping: MappingNode) -> Self:
        """The model of a mapping without its wrong fields, whose problems are recorded.

        A mapping is read once: if an outer mapping is read again without its own wrong fields, the
        model of the inner one is reused.
        """
        if mapping.model is None:
            try:
                mapping.model = cls.model_validate(mapping)
            except ValidationError:
                wrong = mapping.wrong
                valid = {key: value for key, value in mapping.items() if key not in wrong}
                mapping.model = _without_required_fields(cls).model_validate(valid)
                for name, field in cls.model_fields.items():
                    if (field.alias or name) in wrong:
                        del mapping.model.__dict__[name]
                mapping.model._mapping = mapping  # noqa: SLF001
        model: Self = mapping.model
        return model

    @model_validator(mode="wrap")
    @classmethod
    def _with_places(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """The validated model, which knows its node; problems are recorded."""
        try:
            model = handler(value)
        except ValidationError as failure:
            if not isinstance(value, MappingNode):
                raise
            model = cls.model_construct()
            model._mapping = value  # noqa: SLF001
            model._record(failure.errors(include_url=False, include_input=False))  # noqa: SLF001
            raise PydanticCustomError(REPORTED, "reported") from None
        if isinstance(value, MappingNode):
            model._mapping = value  # noqa: SLF001
        return model

    @property
    def node(self) -> MappingNode:
        """The node of the mapping in the tree of the spec."""
        return self._mapping

    @property
    def path(self) -> Path:
        """The path to the mapping."""
        return self._mapping.path

    @property
    def what(self) -> str:
        """What messages call the mapping, as in "a `date` column"."""
        return self.noun or name_of(self.path)

    @property
    def subject(self) -> str:
        """What the mapping describes, such as the name of a statistic."""
        return self.what

    def require(self, *keys: str) -> None:
        """Raises `AlreadyReportedError` if one of `keys` (by default any) is wrong."""
        if self._mapping.wrong & (set(keys) or self._mapping.wrong):
            raise AlreadyReportedError

    def is_wrong(self, key: str) -> bool:
        """Whether a field has a problem."""
        return key in self._mapping.wrong

    def has(self, key: str) -> bool:
        """Whether the spec has a field, perhaps with a wrong value or a misspelled key."""
        return key in self.node.pairs or key in self._mapping.wrong

    def text(self, *path: str | int) -> str:
        """The text of the scalar at a path."""
        return node_at(self.node, *path).text

    def report(self, code: str, /, *path: str | int, **arguments: object) -> AlreadyReportedError:
        """Records a problem of the value at a path, with name, text and key as arguments."""
        node = node_at(self.node, *path)
        key = next((part for part in reversed(path) if isinstance(part, str)), "")
        common = {"name": name_of(path or self.path), "found": node.shown, "key": key}
        common |= {"what": self.what, "subject": self.subject}
        return node.span.report(code, **common | arguments)

    def report_key(self, code: str, /, *path: str, **arguments: object) -> AlreadyReportedError:
        """Records a problem at a key, or at the mapping if it lacks the key."""
        parent = node_at(self.node, *path[:-1])
        span = parent.key_span(path[-1]) if isinstance(parent, MappingNode) else parent.span
        return span.report(code, **{"what": self.what, "subject": self.subject, **arguments})

    # How messages of a model differ from those of all models.

    missing_lines: ClassVar[Mapping[str, str]] = {}
    """Lines to propose for missing fields; the types of others give examples."""

    def missing_line(self, key: str) -> str:
        """The line to propose for a missing field, or an empty text."""
        return self.missing_lines.get(key, "")

    def report_unknown(self, key: str) -> bool:  # noqa: ARG002
        """Records the problem that this model has for an unknown key; False without one."""
        return False

    # The errors of pydantic, as problems.

    def _record(self, errors: list[Any]) -> None:
        """Records the problems of all fields, and which fields are wrong."""
        errors = errors[:MAX_FOUND_PROBLEMS]
        paths = [tuple(part for part in error["loc"] if part not in FORMS) for error in errors]
        kinds = [error["type"] for error in errors]
        unknown = [
            str(path[0])
            for path, kind in zip(paths, kinds, strict=True)
            if kind == "extra_forbidden"
        ]
        fields = self.field_names()
        wrong = {str(path[0]) for path in paths if path}
        # An unknown key is probably a misspelled field: that field counts as written.
        absent = [field for field in fields if field not in self._mapping]
        misspelled = (closest_match(key, absent) for key in wrong.difference(fields))
        self._mapping.wrong = frozenset(wrong | {field for field in misspelled if field})
        for error, path, kind in zip(errors, paths, kinds, strict=True):
            context = error.get("ctx", {})
            if kind == REPORTED:
                continue
            if kind == "extra_forbidden":
                if not self.report_unknown(str(path[0])):
                    self._unknown(str(path[0]))
            elif kind == "missing":
                # A misspelled key has been reported and replaces the missing one.
                if not any(closest_match(key, [str(path[-1])]) for key in unknown):
                    self._missing(str(path[-1]))
            elif kind in ("too_short", "too_long"):
                self._length(path, context)
            elif "arguments" in context:
                self._refused(kind, (*path, *context["path"]), context["arguments"])
            else:
                self._form(path, kind, context)

    def _unknown(self, key: str) -> None:
        report_unknown_key(self.node.key_span(key), key, self.field_names(), self.what)

    def _missing(self, key: str) -> None:
        field = type(self).model_fields.get(key)
        is_named = self.subject != self.what
        owner = f"the {self.what} {self.subject}" if is_named else self.what
        role = column_role(field) if field else None
        line = self.missing_line(key) or f"`{self._example((key,))}`"
        if role is not None and role.refers_to == "column":
            line = f"`{key}: ...`, of type {quoted_list(role.kinds, 'or')}"
        self.node.span.report("missing-field", owner=owner, key=key, line=line)

    def _refused(self, code: str, path: Path, arguments: Mapping[str, Any]) -> None:
        text = self.text(*path)
        word = {"word": arguments.get("meant", text)} if "choices" in arguments else {}
        self.report(code, *path, **word, **arguments)

    def _length(self, path: Path, context: Mapping[str, Any]) -> None:
        count, least = context["actual_length"], context.get("min_length")
        form = f"at least {least}" if least else f"at most {context['max_length']}"
        code = "wrong-shape.length" if count else "empty-list"
        self.report(
            code, *path, count=count, form=form, line=f"`{self._example(path, '[..., ...]')}`"
        )

    def _example(self, path: Path, usual: str = "...") -> str:
        """A line of YAML with the last key of a path: an example, or else with `usual`."""
        key = path[-1]
        if isinstance(key, int):
            return usual
        field = type(self).model_fields.get(key) if len(path) == 1 else None
        examples = field_examples(field) if field else []
        lines = [f"{key}: {_yaml(example)}" for example in examples]
        example = "" if key in NAMING_KEYS else key_example(key)
        return "` or `".join(lines) or example or f"{key}: {usual}"

    def _form(self, path: Path, kind: str, context: Mapping[str, Any]) -> None:
        node = node_at(self.node, *path)
        form = {"string_type": "a single value", "list_type": "a list"}.get(kind, "a mapping")
        if kind == "union_tag_invalid":
            form = " or ".join(FORMS[tag] for tag in FORMS if tag in context["expected_tags"])
        if isinstance(node, ScalarNode) and form.endswith("a list"):
            items = re.sub(RANGE, r"\1, \2", truncated(node.text))
            # One number is the first of several: `bounds: 0, 100` lacks the brackets.
            example = self._example(path) if NUMBER.fullmatch(node.text) else ""
            line = f"`{example}`" if example.endswith("]") else f"`[{items}]`"
        elif "single value" in form and (
            isinstance(path[-1], int)
            or (isinstance(node, SequenceNode) and (len(node.items) < 2 or "mapping" not in form))
        ):
            line = "one value, without brackets"
        else:
            usual = {"a list": "[..., ...]", "a mapping": "{key: value}"}.get(form, "...")
            example = self._example(path, usual)
            if isinstance(node, ScalarNode) and NUMBER.fullmatch(node.text):
                # `budget: 3` means an epsilon.
                example = re.sub(ONE_NUMBER, rf"\g<1>{node.text}}}", example)
            line = f"`{example}`"
        code = variant_code("wrong-shape", str(path[-1]))
        self.report(code, *path, found=node.form, form=form, line=line)

    @classmethod
    def field_names(cls) -> list[str]:
        """The keys of the mapping: those of a model come before those of its base model."""
        fields = cls.model_fields
        own = (name for kind in cls.__mro__ for name in get_annotations(kind) if name in fields)
        return list(dict.fromkeys(fields[name].alias or name for name in own))


@lru_cache
def _without_required_fields(model: type[SectionModel]) -> Any:
    required: Any = {
        name: (field.annotation, FieldInfo.merge_field_infos(field, default=None))
        for name, field in model.model_fields.items()
        if field.is_required()
    }
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **required)


def field_types(**types: Any) -> Fields:
    """The types of fields by name. A field whose type includes None is optional."""
    return types


def extended_model(fields: Fields, base: type[M] = SectionModel) -> type[M]:  # type: ignore[assignment]
    """A model with the fields of a base model, extended by `fields`."""
    definitions: Any = {
        key: (kind, None if NoneType in get_args(kind) else ...) for key, kind in fields.items()
    }
    return create_model(base.__name__, __base__=base, __doc__=base.__doc__, **definitions)


class SeparateSection:
    """A mapping that is read by itself: its problems leave the outer mapping valid.

    Its model is at a path, such as `package.module:Model`, or else the type of the field.
    """

    def __init__(self, path: str = "") -> None:
        self._path = path

    def __get_pydantic_core_schema__(
        self, source: type[SectionModel], handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def read(value: object) -> SectionModel:
            if isinstance(value, MappingNode):
                model: type[SectionModel] = class_at(self._path) if self._path else source
                return model.read(value)
            raise PydanticKnownError("dict_type")

        return core_schema.no_info_plain_validator_function(read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Json:
        return {"type": "object"}


class SeparateSections:
    """A list or mapping of mappings, each of which is read by itself.

    `choose` returns the model of a member. It gets the name of the member, or None in lists, and
    its node. It raises `AlreadyReportedError` after recording a problem; the member is then None.
    If there are more than `max_members`, none of them is read.
    """

    def __init__(
        self, choose: Callable[[ScalarNode | None, Node], type[SectionModel]], max_members: int
    ) -> None:
        self._choose, self._max_members, self._form = choose, max_members, dict

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        form = self._form = get_origin(source)

        def read(value: object) -> object:
            if not isinstance(value, form):
                raise PydanticKnownError("dict_type" if form is dict else "list_type")
            if value.members is None:
                value.members = self._read(value)
            return value.members

        return core_schema.no_info_plain_validator_function(read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Json:
        return {"type": "object" if self._form is dict else "array"}

    def _read(self, value: MappingNode | SequenceNode) -> object:
        known = range(len(value) if len(value) <= self._max_members else 0)
        if isinstance(value, MappingNode):
            pairs = zip(known, value.pairs.items(), strict=False)
            return {name: self._member(key, node, value[name]) for _, (name, (key, node)) in pairs}
        nodes = zip(known, value.items, value, strict=False)
        return [self._member(None, node, plain) for _, node, plain in nodes]

    def _member(self, key: ScalarNode | None, node: Node, plain: object) -> SectionModel | None:
        try:
            model = self._choose(key, node)
        except AlreadyReportedError:
            return None
        return model.read(plain) if isinstance(plain, MappingNode) else None
