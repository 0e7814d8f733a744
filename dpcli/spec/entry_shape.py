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


class Entry(Shape):
    """One statistic: what is asked, how it is answered, what it may reveal."""

    name: Text = Field(description="The name of the statistic in the output.")
    statistic: Text = Field(description="What is asked.")
    column: Text | None = Field(None, description="The column that is asked about.")
    by: (
        list[
            Annotated[
                Annotated[Text, Tag(TEXT_TAG)] | Annotated[KeyShape, Tag(MAPPING_TAG)],
                Discriminator(kind_of),
            ]
        ]
        | None
    ) = Field(None, description="The groups, each released, empty ones too.")
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
    ) = Field(None, description="Column to value, values, or {min, max}: all must hold.")
    mechanism: Text | None = Field(None, description="How the answer is made noisy.")
    epsilon: Number | None = Field(
        None, description="What this entry may reveal, above 0 and at most 20."
    )
    rho: Number | None = Field(
        None, description="The same in zero-concentrated privacy, instead of `epsilon`."
    )
    error: Number | None = Field(
        None,
        description="The half-width that is needed, instead of `epsilon`: the least that does.",
    )
    share: Number | None = Field(
        None, description="Its part of what is left of the budget, instead of `epsilon`."
    )
    delta: Number | None = Field(None, description="Only for mechanisms that need it.")
    calibration: Text | None = Field(None, description="How the noise is chosen.")
    post: (
        list[
            Annotated[
                Annotated[Text, Tag(TEXT_TAG)] | Annotated[dict[str, Any], Tag(MAPPING_TAG)],
                Discriminator(kind_of),
            ]
        ]
        | None
    ) = Field(None, description="What is done to noisy numbers, in this order.")
    raw: Annotated[str, WithJsonSchema({"type": ["boolean", "string"]})] | None = Field(
        None, description="`true`: publish the noisy numbers beside."
    )
    bins: Bins | None = None
    bound: Text | None = Field(
        None, description="`rows`: limit a person's rows; `sum`: add them up and clamp the total."
    )
    unit_bounds: list[Number] | None = Field(
        None,
        description="The least and most that one person's total in a group can be.",
        min_length=2,
        max_length=2,
    )
    keys: Text | None = Field(
        None, description="`private`: the noisy counts say which groups are shown."
    )
    columns: (
        list[
            Annotated[
                Annotated[Text, Tag(TEXT_TAG)] | Annotated[KeyShape, Tag(MAPPING_TAG)],
                Discriminator(kind_of),
            ]
        ]
        | None
    ) = Field(None, description="Several columns that are asked about together.", min_length=1)
    on: OneOrMore | None = Field(None, description="The columns that predict another one.")
    ways: Whole | None = Field(None, description="How many of the columns each table has.")
    quantiles: (
        Annotated[
            Annotated[Number, Tag(TEXT_TAG)] | Annotated[Numbers, Tag(LIST_TAG)],
            Discriminator(kind_of),
        ]
        | None
    ) = Field(None, description="Parts of the rows, between 0 and 1.")
    candidates: (
        Annotated[
            Annotated[Numbers, Tag(LIST_TAG)] | Annotated[Stepped, Tag(MAPPING_TAG)],
            Discriminator(kind_of),
        ]
        | None
    ) = Field(None, description="What may be chosen: values, or every so many steps.")
    utility: Text | None = Field(None, description="What candidates are judged by.")
    label: Text | None = Field(None, description="The boolean that a threshold should tell.")
    k: Whole | None = Field(None, description="How many are chosen.")
    method: Text | None = Field(None, description="How a regression is made private.")
    ridge: Number | None = Field(None, description="How much a regression shrinks slopes.")
    rows: Whole | None = Field(None, description="The public number of rows, for `output`.")
