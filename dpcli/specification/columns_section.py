"""Reads the section `columns`, and resolves names of columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from dpcli.columns import CategoryColumn, Column, IdColumn, NumericColumn, PrivatePartitionColumn
from dpcli.light_dataclasses import dataclass
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.neighboring import Neighbors, Relation
from dpcli.privacy.unit import RowUnit, Unit
from dpcli.reference import variant_code
from dpcli.spec_values import AlreadyReportedError
from dpcli.specification.bounds_section import Published, read_choice, with_kept_bounds
from dpcli.specification.captions import stated_caption
from dpcli.specification.cell_forms import with_form
from dpcli.specification.code_lists import with_code_list
from dpcli.specification.column_types import COLUMN_TYPES, CategoryColumnModel
from dpcli.specification.grid import proposed_step
from dpcli.specification.model import Caption, SpecFile, ValuedColumn
from dpcli.specification.texts import is_invisible
from dpcli.specification.tree import Findings, MappingNode, Node, ScalarNode, Span, attempt
from dpcli.specification.validation import read_section
from dpcli.statistics.bounds_choice import BoundsChoice, ChosenBounds, KeptBounds
from dpcli.statistics.limit_choice import LimitChoice
from dpcli.statistics.sampling import SampleDesign

MAX_COLUMNS = 10_000
MAX_NAME_LENGTH = 1000

TYPE_SYNONYMS = {
    "int": "integer",
    "float": "number",
    "decimal": "number",
    "bool": "boolean",
    "string": "category",
    "str": "category",
    "text": "category",
    "enum": "category",
    "datetime": "date",
}
"""The names of types in other tools."""


@dataclass
class SpecContext:
    """What the readers of all sections share: columns, privacy settings, problems.

    A column with a wrong declaration is None, and its uses report nothing more. Without the section
    `columns`, `declared` is false, and names of columns report nothing. `names` are the names of
    statistics so far. `reserved_names` cannot be names of statistics; their values say what has
    each of them. `sample` is how the rows were drawn. `later` are the derived columns that have not
    been read. `files` are those in `folder` that the spec names. `captions` are
    those of columns that state one. In the columns of `blank_answers`, a blank cell is an answer.
    `choices` say how the bounds of columns are chosen, and `limit_choice` how the limit on rows per
    person is; `chosen` has the results as far as they are known, by the name of the histogram, and
    `bounded` the names of the columns that a statistic uses.
    What earlier releases have `published` is `kept`.
    """

    findings: Findings
    folder: Path = Path()
    declared: bool = True
    columns: dict[str, Column | None] = field(default_factory=dict)
    later: set[str] = field(default_factory=set)
    spans: dict[str, Span] = field(default_factory=dict)
    unit: Unit | None = None
    neighbors: str = ""
    composition: Composition | None = None
    sample: SampleDesign | None = None
    names: dict[str, Span] = field(default_factory=dict)
    reserved_names: dict[str, str] = field(default_factory=dict)
    files: list[SpecFile] = field(default_factory=list)
    decimal: str = "."
    captions: dict[str, Caption] = field(default_factory=dict)
    blank_answers: set[str] = field(default_factory=set)
    choices: dict[str, BoundsChoice] = field(default_factory=dict)
    limit_choice: LimitChoice | None = None
    chosen: Mapping[str, ChosenBounds] = field(default_factory=dict)
    published: Published | None = None
    kept: list[KeptBounds] = field(default_factory=list)
    bounded: set[str] = field(default_factory=set)

    @property
    def relation(self) -> Relation:
        """The neighboring relation, with defaults for what is missing or wrong."""
        neighbors = Neighbors(self.neighbors) if self.neighbors else Neighbors.ADD_REMOVE
        return Relation(self.unit or RowUnit(), neighbors)

    def choice_of(self, release_id: str, histogram: str) -> ChosenBounds | None:
        """What an earlier release chose from a histogram of this name; None if nothing is known."""
        known = self.chosen.get(histogram)
        return known or (self.published(release_id, histogram) if self.published else None)

    def declared_name(self, scalar: ScalarNode) -> str:
        """The name of a column that is declared, perhaps with problems."""
        if scalar.text in self.columns:
            return scalar.text
        if self.declared:
            code = "unknown-column.later" if scalar.text in self.later else "unknown-column"
            scalar.span.report(code, word=scalar.text, choices=self.columns)
        raise AlreadyReportedError

    def column(self, scalar: ScalarNode, *, values: bool = False) -> Column:
        """The declared column of that name.

        Columns whose bounds are chosen are for statistics, which read their `values` alone.
        """
        column = self.columns[self.declared_name(scalar)]
        if column is None:
            raise AlreadyReportedError
        if column.name in self.choices:
            self.bounded.add(column.name)
            if not values:
                raise scalar.span.report("bounds-chosen", column=column.name)
        return column

    def groupable_column(
        self, scalar: ScalarNode, subject: str, *, values: bool = False
    ) -> ValuedColumn | PrivatePartitionColumn:
        """The column of that name if rows may be grouped by it."""
        column = self.column(scalar, values=values)
        if isinstance(column, IdColumn):
            raise scalar.span.report("id-column", column=scalar.text)
        if isinstance(column, NumericColumn) and column.bounds is None:
            code, span = variant_code("missing-bounds", column.kind), self.spans[column.name]
            raise span.report_and_suppress(code, column=column.name, subject=subject)
        return column

    def valued_column(
        self, scalar: ScalarNode, subject: str, *, values: bool = False
    ) -> ValuedColumn:
        """The column of that name if a statistic may read its values."""
        column = self.groupable_column(scalar, subject, values=values)
        if isinstance(column, PrivatePartitionColumn):
            span = self.spans[column.name]
            raise span.report("values-required", column=column.name, subject=subject)
        return column

    def column_of_kind(
        self,
        scalar: ScalarNode,
        subject: str,
        kinds: Sequence[str],
        needed_by: str,
        *,
        values: bool = False,
    ) -> Column:
        """The column of that name if it is of one of the `kinds` that `needed_by` needs."""
        column = self.column(scalar, values=values)
        if not (isinstance(column, IdColumn) and "id" in kinds):
            column = self.valued_column(scalar, subject, values=values)
        if column.kind not in kinds:
            is_category = isinstance(column, CategoryColumn)
            code = "wrong-column-type.labels" if is_category else "wrong-column-type"
            code = "wrong-column-type.days" if column.kind == "date" else code
            code = "wrong-column-type.boolean" if column.kind == "boolean" else code
            facts = {"column": scalar.text, "kind": column.kind, "kinds": kinds, "who": needed_by}
            raise scalar.span.report(code, **facts)
        return column


def declare_columns(section: MappingNode | None, context: SpecContext) -> None:
    """Adds every declared column to the context, or None for one with problems."""
    context.declared = section is not None
    pairs = section.pairs if section else {}
    if section and len(pairs) > MAX_COLUMNS:
        section.span.report("too-many-columns", count=len(pairs), most=MAX_COLUMNS)
    normalized_names: dict[str, ScalarNode] = {}
    for name, (key, value) in pairs.items():
        context.spans[name], context.columns[name] = key.span, None
        check_name = attempt(require_name, key)
        first = normalized_names.setdefault(unicodedata.normalize("NFC", name), key)
        if first is not key:
            key.span.report("twin-names", column=name, line=first.span.line)
        column = attempt(_read_column, key, value, context)
        with suppress(AlreadyReportedError):
            check_name()
            context.columns[name] = column()


def require_name(key: ScalarNode) -> None:
    """Checks that a column can have the name of a key."""
    code, name = "", key.text
    if not name:
        code = "empty-text.column"
    elif len(name) > MAX_NAME_LENGTH:
        code = "name-too-long"
    elif is_invisible(name):
        code = "control-character.column"
    if code:
        raise key.span.report(code, column=name, count=len(name), most=MAX_NAME_LENGTH)


def _read_column(key: ScalarNode, node: Node, context: SpecContext) -> Column:
    types = {model.kind: model for model in COLUMN_TYPES}
    if not isinstance(node, MappingNode):
        proposed = node.text if node.text in types else "..."
        facts = {"found": node.shown, "proposed": proposed}
        raise node.span.report("wrong-shape.column", column=key.text, **facts)
    kind = node.get("type")
    if kind is None:
        raise key.span.report("missing-field.type", column=key.text, choices=types)
    text = kind.text
    if text not in types:
        facts = {"name": "`type`", "found": kind.shown}
        word = TYPE_SYNONYMS.get(text.casefold(), text)
        raise kind.span.report("unknown-choice", word=word, choices=types, **facts)
    if text == CategoryColumnModel.kind:
        node = with_code_list(node, context.folder, context.files)
    lines = {"step": f"`step: {proposed_step(node)}`: values are rounded to multiples of it"}
    article = "an" if text.startswith("i") else "a"
    section = read_section(types[text], node, f"{article} `{text}` column", lines=lines)
    section = with_kept_bounds(section, key.text, context)
    column = section.values.column(key.text, section)
    section.require()
    caption = stated_caption(section.values)
    if caption != Caption():
        context.captions[key.text] = caption
    return read_choice(with_form(column, section, context.decimal), section, context)
