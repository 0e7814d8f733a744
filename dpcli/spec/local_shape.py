"""The shapes of a spec of the local model, beside those of `structure`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag, WithJsonSchema

from dpcli.spec.structure import (
    MAPPING_TAG,
    TEXT_TAG,
    Number,
    OneOrMore,
    Shape,
    Stewardship,
    Text,
    kind_of,
)

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

    column: Text
    mechanism: Text
    epsilon: Number | None = None
    delta: Number | None = None
    probability: Chance | None = None
    matrix: (
        Annotated[
            Annotated[Text, Tag(TEXT_TAG)]
            | Annotated[dict[str, dict[str, Chance]], Tag(MAPPING_TAG)],
            Discriminator(kind_of),
        ]
        | None
    ) = None
    by: OneOrMore | None = None
    post: OneOrMore | None = None


class LocalDocument(Shape):
    """How every record is randomized before it is collected."""

    dpcli: Text
    model: Literal["local"]
    dataset: Text
    ledger: Literal["must-exist"] | None = None
    confidence: Number | None = None
    csv: dict[str, Any] | None = None
    privacy: dict[str, Any]
    columns: dict[str, Any]
    responses: list[Any]
    public: list[Text] | None = None
    declarations: Stewardship | None = None
