"""The types of columns of texts: labels, and ids of people.

Declared texts and labels must be visible and different, and no spreadsheet may run them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dpcli.data.column import Column
from dpcli.data.declared_texts import DROP, report_twins, require_distinct_texts, require_text
from dpcli.data.labels import (
    BOOLEAN_LABELS,
    BooleanColumn,
    CategoryColumn,
    IdColumn,
    PrivatePartitionColumn,
    UsualWords,
    with_missing,
)
from dpcli.fields.tree import MappingNode, ScalarNode, attempt, scalars_of
from dpcli.fields.values import ByForm, Choice, Text, Texts
from dpcli.specification.column_types.code_list import with_code_list
from dpcli.specification.column_types.model import ColumnModel, taking_options
from dpcli.specification.context import SpecContext

MissingId = Annotated[str, Choice("unknown-choice.missing-id", (DROP, "each"))]


class LabeledColumnModel(ColumnModel):
    """A type of texts with labels."""

    other: Text | None = None


@taking_options
class CategoryColumnModel(LabeledColumnModel):
    """Declared texts, each published as a label."""

    kind = "category"
    column_class = CategoryColumn
    type: Literal["category"]
    values: Annotated[Texts | Annotated[dict[str, Text], Field(min_length=1)], ByForm] | None = None
    missing: Text = DROP

    @classmethod
    def completed(cls, node: MappingNode, context: SpecContext) -> MappingNode:
        return with_code_list(node, context)

    def column(self, name: str) -> Column:
        """The column. Without `values`, it is a column with private partitions."""
        if self.values is None:
            if self.missing != DROP:
                raise self.report("unknown-label.open", "missing")
            self.require()
            if wrong := next((key for key in ("case", "other") if self.has(key)), None):
                raise self.report_key("values-needed", wrong, column=name)
            return PrivatePartitionColumn(name)
        values = self.node.value("values")
        pairs = [(scalar, scalar) for scalar in scalars_of(values)]
        if isinstance(values, MappingNode):
            entries = values.pairs.values()
            pairs = [(text, label) for text, label in entries if isinstance(label, ScalarNode)]
        check_texts = attempt(require_distinct_texts, pairs)
        other = self.node.scalar("other")
        if other is not None:
            require_text(other, "label", published=True)
        published = [label for _, label in pairs] + ([other] if other else [])
        report_twins("label", [(label, label.text) for label in published])
        report_twins("value", [(text, label.text) for text, label in pairs if text is not label])
        labels = tuple((text.text, label.text) for text, label in pairs)
        column = CategoryColumn(name, labels)
        return with_missing(column, self, check_texts)


@taking_options
class BooleanColumnModel(LabeledColumnModel):
    """Two texts: the first means false, the second true; or the usual words."""

    kind = "boolean"
    column_class = BooleanColumn
    type: Literal["boolean"]
    values: (
        Annotated[list[Text], Field(min_length=2, max_length=2, examples=[["no", "yes"]])] | None
    ) = None
    missing: Text = DROP

    def column(self, name: str) -> Column:
        """The column, whose labels are `false` and `true`."""
        pairs = tuple(zip(self.values or BOOLEAN_LABELS, BOOLEAN_LABELS, strict=True))
        texts = scalars_of(self.node.value("values"))
        check_texts = attempt(require_distinct_texts, [(text, None) for text in texts])
        report_twins("value", [*zip(texts, BOOLEAN_LABELS, strict=False)])
        if self.other is not None and self.other not in BOOLEAN_LABELS:
            raise self.report("unknown-choice", "other", choices=BOOLEAN_LABELS)
        options = () if self.values else (UsualWords(),)
        return with_missing(BooleanColumn(name, pairs, options=options), self, check_texts)


@taking_options
class IdColumnModel(ColumnModel):
    """The id of the person of a row. It is never published."""

    kind = "id"
    column_class = IdColumn
    type: Literal["id"]
    missing: MissingId = DROP

    def column(self, name: str) -> Column:
        """The column; `missing: each` makes a person of each row without an id."""
        return IdColumn(name, singletons_without_id=self.missing == "each")
