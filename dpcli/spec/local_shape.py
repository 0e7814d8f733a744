"""The shapes of a spec of the local model, beside those of `structure`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, WithJsonSchema

from dpcli.spec.structure import MAPPING_TAG, TEXT_TAG, Number, OneOrMore, Shape, Text, kind_of

Chance = Annotated[
    str,
    WithJsonSchema(
        {
            "type": ["number", "string"],
            "pattern": r"^[0-9]{1,18}(/[1-9][0-9]{0,17}|(\.[0-9]{1,18})?(e-[0-9]{1,2})?)$",
        }
    ),
]
"""A probability: a decimal or a fraction."""


class ResponseShape(Shape):
    """How every record responds for one column, and what is estimated from that."""

    column: Text = Field(description="The declared column that is randomized.")
    mechanism: Text = Field(description="How a record responds.")
    epsilon: Number | None = Field(None, description="What a response may reveal.")
    delta: Number | None = Field(None, description="The delta of Gaussian noise.")
    probability: Chance | None = Field(
        None, description="That of the true answer, such as `3/4`, instead of `epsilon`."
    )
    matrix: (
        Annotated[
            Annotated[Text, Tag(TEXT_TAG)]
            | Annotated[dict[str, dict[str, Chance]], Tag(MAPPING_TAG)],
            Discriminator(kind_of),
        ]
        | None
    ) = Field(None, description="For each label the probabilities of outputs, or a CSV file.")
    by: OneOrMore | None = Field(None, description="Public columns: estimates for each group.")
    post: OneOrMore | None = Field(
        None, description="`simplex` for frequencies, `clamp` for means: done to estimates."
    )


class LocalDocument(Shape):
    """How every record is randomized before it is collected."""

    dpcli: Text = Field(description="The version of the spec language: 1.")
    model: Literal["local"] = Field(description="Each record is randomized by itself.")
    dataset: Text = Field(description="The ledger account that pays.")
    confidence: Number | None = Field(None, description="Of the intervals; 0.95 when absent.")
    csv: dict[str, Any] | None = None
    privacy: dict[str, Any]
    columns: dict[str, Any]
    responses: list[Any] = Field(description="One entry for each randomized column.")
    public: list[Text] | None = Field(
        None, description="Columns that are published as they are; all others are dropped."
    )
