"""The shape of an entry of the statistics: every field that one may have."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, WithJsonSchema

from dpcli.spec.structure import (
    LIST_TAG,
    MAPPING_TAG,
    TEXT_TAG,
    Bins,
    KeyShape,
    Number,
    Numbers,
    OneOrMore,
    Range,
    Shape,
    Stepped,
    Text,
    Whole,
    kind_of,
)


class Withhold(Shape):
    """Which numbers are left out because their intervals are wide."""

    wider_than: Number


class Entry(Shape):
    """One statistic: what is asked, how it is answered, what it may reveal."""

    name: Text
    statistic: Text
    column: Text | None = None
    by: (
        list[
            Annotated[
                Annotated[Text, Tag(TEXT_TAG)] | Annotated[KeyShape, Tag(MAPPING_TAG)],
                Discriminator(kind_of),
            ]
        ]
        | None
    ) = None
    where: (
        dict[
            str,
            Annotated[
                Annotated[Text, Tag(TEXT_TAG)]
                | Annotated[OneOrMore, Tag(LIST_TAG)]
                | Annotated[Range, Tag(MAPPING_TAG)],
                Discriminator(kind_of),
            ],
        ]
        | None
    ) = None
    mechanism: Text | None = None
    epsilon: Number | None = None
    rho: Number | None = None
    error: Number | None = None
    share: Number | None = None
    delta: Number | None = None
    calibration: Text | None = None
    post: (
        list[
            Annotated[
                Annotated[Text, Tag(TEXT_TAG)] | Annotated[dict[str, Any], Tag(MAPPING_TAG)],
                Discriminator(kind_of),
            ]
        ]
        | None
    ) = None
    raw: Annotated[str, WithJsonSchema({"type": ["boolean", "string"]})] | None = None
    withhold: Withhold | None = None
    bins: Bins | None = None
    bound: Text | None = None
    unit_bounds: list[Number] | None = Field(None, min_length=2, max_length=2)
    keys: Text | None = None
    columns: (
        list[
            Annotated[
                Annotated[Text, Tag(TEXT_TAG)] | Annotated[KeyShape, Tag(MAPPING_TAG)],
                Discriminator(kind_of),
            ]
        ]
        | None
    ) = Field(None, min_length=1)
    on: OneOrMore | None = None
    ways: Whole | None = None
    quantiles: (
        Annotated[
            Annotated[Number, Tag(TEXT_TAG)] | Annotated[Numbers, Tag(LIST_TAG)],
            Discriminator(kind_of),
        ]
        | None
    ) = None
    candidates: (
        Annotated[
            Annotated[Numbers, Tag(LIST_TAG)] | Annotated[Stepped, Tag(MAPPING_TAG)],
            Discriminator(kind_of),
        ]
        | None
    ) = None
    utility: Text | None = None
    label: Text | None = None
    k: Whole | None = None
    method: Text | None = None
    ridge: Number | None = None
    rows: Whole | None = None
