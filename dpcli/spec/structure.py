"""The shapes of a spec: which keys stand where, and which are required.

All scalars are texts here; what they mean is for the files of sense. A piece is
one mapping (the privacy section, one column, one statistic), fitted on its own,
so that a slip in one does not hide another's.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

TEXT_TAG, MAPPING_TAG, LIST_TAG = "|text", "|mapping", "|list"
"""Names of alternatives; they occur in the paths of errors and are skipped there."""


def kind_of(value: Any) -> str:
    """The alternative that a plain value takes."""
    if isinstance(value, dict):
        return MAPPING_TAG
    return LIST_TAG if isinstance(value, list) else TEXT_TAG


Text = Annotated[str, WithJsonSchema({"type": ["string", "number", "boolean"]})]
Number = Annotated[
    str,
    WithJsonSchema(
        {
            "type": ["number", "string"],
            "pattern": r"^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?(e-?[0-9]{1,3})?$",
        }
    ),
]
Whole = Annotated[
    str, WithJsonSchema({"type": ["integer", "string"], "minimum": 1, "pattern": "^[1-9][0-9]*$"})
]
Date = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"})]
Values = Annotated[dict[str, Text], Field(min_length=1)]
Numbers = Annotated[list[Number], Field(min_length=1, fail_fast=True)]
OneOrMore = Annotated[list[Text], Field(min_length=1, fail_fast=True)]


class Shape(BaseModel):
    """A mapping with known keys only."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Unit(Shape):
    """One person protected with all rows, up to enforced limits."""

    column: Text = Field(description="The column of type `id` that says whose row it is.")
    max_rows: Whole = Field(description="At most so many rows of a person are used.")
    max_groups: Whole | None = Field(
        None, description="They lie in at most so many groups; as `max_rows` when absent."
    )
    max_rows_per_group: Whole | None = Field(
        None, description="At most so many lie in one group; as `max_rows` when absent."
    )


class Budget(Shape):
    """The most that all releases from the dataset may reveal together."""

    epsilon: Number | None = Field(None, description="The total of all epsilons, above zero.")
    rho: Number | None = Field(None, description="The total of all rhos, instead of `epsilon`.")
    delta: Number | None = Field(None, description="The total of all deltas; zero when absent.")


class Privacy(Shape):
    """The guarantee: who is protected, against what, and how far."""

    unit: Annotated[
        Annotated[Text, Tag(TEXT_TAG)] | Annotated[Unit, Tag(MAPPING_TAG)],
        Discriminator(kind_of),
    ] = Field(description="Who is protected: `row`, right only if nobody has two rows.")
    neighbors: Literal["add-remove", "change-one"] = Field(
        description="How neighbours differ; with change-one the number of rows, or of people, "
        "is public."
    )
    budget: Budget
    composition: Text | None = Field(None, description="How the losses of answers add up.")


class Bins(Shape):
    """How a numeric column is cut: by a width, or at given edges."""

    width: Number | None = Field(None, description="Bins of this width from the lower bound on.")
    edges: list[Text] | None = Field(
        None, description="Edges from the lower bound to the upper bound.", min_length=2
    )


class KeyShape(Shape):
    """A numeric column whose bins are groups."""

    column: Text
    bins: Bins | None = None


class Stepped(Shape):
    """Candidates from the lower bound on."""

    step: Number = Field(description="How far candidates are apart.")


class Range(Shape):
    """An inclusive range of numbers or dates."""

    min: Text | None = Field(None, description="The least value that passes.")
    max: Text | None = Field(None, description="The greatest value that passes.")


class IntegerColumn(Shape):
    """Whole numbers between two bounds."""

    type: Literal["integer"]
    bounds: list[Number] | None = Field(
        None, description="Lower and upper bound: public facts.", min_length=2, max_length=2
    )
    step: Number | None = Field(None, description="The grid, in whole numbers; 1 when absent.")
    missing: Text | None = Field(None, description="`drop`, or a constant within the bounds.")


class NumberColumn(Shape):
    """Numbers between two bounds, rounded to a grid."""

    type: Literal["number"]
    bounds: list[Number] | None = Field(
        None, description="Lower and upper bound: public facts.", min_length=2, max_length=2
    )
    step: Number = Field(description="The grid that values are rounded to.")
    missing: Text | None = Field(None, description="`drop`, or a constant within the bounds.")


class DateColumn(Shape):
    """Days between two bounds."""

    type: Literal["date"]
    bounds: list[Date] | None = Field(
        None, description="First and last day: public facts.", min_length=2, max_length=2
    )
    missing: Text | None = Field(None, description="`drop`, or a date within the bounds.")


class CategoryColumn(Shape):
    """Known texts, each published under a label."""

    type: Literal["category"]
    values: (
        Annotated[
            Annotated[OneOrMore, Tag(LIST_TAG)] | Annotated[Values, Tag(MAPPING_TAG)],
            Discriminator(kind_of),
        ]
        | None
    ) = Field(
        None,
        description="The texts in the file, or a mapping from text to label; when absent, "
        "groups of the column have private keys.",
    )
    missing: Text | None = Field(None, description="`drop`, or a label.")


class BooleanColumn(Shape):
    """Two texts: one for false, one for true."""

    type: Literal["boolean"]
    values: list[Text] | None = Field(
        None, description="The texts for false and true.", min_length=2, max_length=2
    )
    missing: Text | None = Field(None, description="`drop`, `false` or `true`.")


class IdColumn(Shape):
    """Whose row it is; never published."""

    type: Literal["id"]
    missing: Annotated[str, WithJsonSchema({"enum": ["drop", "each"]})] | None = Field(
        None, description="`drop`, or `each`: a row without an id is a person of its own."
    )


class Document(Shape):
    """What is released from a dataset, and how much that may reveal."""

    dpcli: Text = Field(description="The version of the spec language: 1.")
    model: Literal["central", "local"] | None = Field(
        None, description="`central` when absent; `local` if each record is randomized by itself."
    )
    dataset: Text = Field(description="The ledger account that pays.")
    confidence: Number | None = Field(
        None, description="Of the published intervals; 0.95 when absent."
    )
    csv: dict[str, Any] | None = None
    privacy: dict[str, Any]
    columns: dict[str, Any]
    statistics: list[Any]


ColumnShape = IntegerColumn | NumberColumn | DateColumn | CategoryColumn | BooleanColumn | IdColumn

COLUMN_SHAPES: dict[str, type[ColumnShape]] = {
    "integer": IntegerColumn,
    "number": NumberColumn,
    "category": CategoryColumn,
    "boolean": BooleanColumn,
    "date": DateColumn,
    "id": IdColumn,
}
"""The types a column may have."""

AnyShape = TypeVar("AnyShape", bound=Shape)
