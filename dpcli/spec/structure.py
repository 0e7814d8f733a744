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

    column: Text
    max_rows: Whole
    max_groups: Whole | None = None
    max_rows_per_group: Whole | None = None


class Budget(Shape):
    """The most that all releases from the dataset may reveal together."""

    epsilon: Number | None = None
    rho: Number | None = None
    delta: Number | None = None


class Privacy(Shape):
    """The guarantee: who is protected, against what, and how far."""

    unit: Annotated[
        Annotated[Text, Tag(TEXT_TAG)] | Annotated[Unit, Tag(MAPPING_TAG)],
        Discriminator(kind_of),
    ]
    neighbors: Literal["add-remove", "change-one"]
    budget: Budget
    composition: Text | None = None


class Bins(Shape):
    """How a numeric column is cut: by a width, or at given edges."""

    width: Number | None = None
    edges: list[Text] | None = Field(None, min_length=2)


class KeyShape(Shape):
    """A numeric column whose bins are groups."""

    column: Text
    bins: Bins | None = None


class Stepped(Shape):
    """Candidates from the lower bound on."""

    step: Number


class Range(Shape):
    """An inclusive range of numbers or dates."""

    min: Text | None = None
    max: Text | None = None


class IntegerColumn(Shape):
    """Whole numbers between two bounds."""

    type: Literal["integer"]
    bounds: list[Number] | None = Field(None, min_length=2, max_length=2)
    step: Number | None = None
    missing: Text | None = None


class NumberColumn(Shape):
    """Numbers between two bounds, rounded to a grid."""

    type: Literal["number"]
    bounds: list[Number] | None = Field(None, min_length=2, max_length=2)
    step: Number
    missing: Text | None = None


class DateColumn(Shape):
    """Days between two bounds."""

    type: Literal["date"]
    bounds: list[Date] | None = Field(None, min_length=2, max_length=2)
    missing: Text | None = None


class CategoryColumn(Shape):
    """Known texts, each published under a label."""

    type: Literal["category"]
    values: (
        Annotated[
            Annotated[OneOrMore, Tag(LIST_TAG)] | Annotated[Values, Tag(MAPPING_TAG)],
            Discriminator(kind_of),
        ]
        | None
    ) = None
    missing: Text | None = None


class BooleanColumn(Shape):
    """Two texts: one for false, one for true."""

    type: Literal["boolean"]
    values: list[Text] | None = Field(None, min_length=2, max_length=2)
    missing: Text | None = None


class IdColumn(Shape):
    """Whose row it is; never published."""

    type: Literal["id"]
    missing: Annotated[str, WithJsonSchema({"enum": ["drop", "each"]})] | None = None


class Stewardship(Shape):
    """What only people can answer; the report and the registry record quote it."""

    population: Whole | None = None
    privacy_unit: Text | None = None
    bounds: Text | None = None
    other_releases: Text | None = None
    access: Text | None = None
    collection: Text | None = None
    fairness: Text | None = None
    timing: Text | None = None
    curator: Text | None = None
    description: Text | None = None
    intended_use: Text | None = None
    region: Text | None = None


class Document(Shape):
    """What is released from a dataset, and how much that may reveal."""

    dpcli: Text
    model: Literal["central", "local"] | None = None
    dataset: Text
    rows_are: Text | None = None
    ledger: Literal["must-exist"] | None = None
    confidence: Number | None = None
    csv: dict[str, Any] | None = None
    privacy: dict[str, Any]
    quality: dict[str, Any] | None = None
    columns: dict[str, Any]
    statistics: list[Any]
    declarations: Stewardship | None = None


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
