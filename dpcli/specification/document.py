"""The document of a spec: every key, and the model of every section."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field

from dpcli.fields.section import SectionModel, SeparateSection, SeparateSections
from dpcli.fields.tree import Node, ScalarNode
from dpcli.fields.values import ByForm, Choice, ExactNumber, ParsedText, Text, invalid_value
from dpcli.specification.columns import MAX_COLUMNS
from dpcli.specification.csv_form import CsvModel
from dpcli.specification.dataset_names import DATASET_PATTERN, dataset_name_fault
from dpcli.specification.declarations import (
    DeclarationsModel,
    Note,
    NumberFormat,
    SampleModel,
    Title,
)
from dpcli.specification.entries import MAX_STATISTICS, choose_entry
from dpcli.specification.entry_fields import EntryModel
from dpcli.specification.privacy import PrivacyModel, QualityModel

VERSION = "1"

LOCAL = "local"
"""The model in which each record is randomized by itself."""

MAX_LETTERS = 40
PLURAL = rf"(?=.{{1,{MAX_LETTERS}}}\Z)[^\W\d_]+(?:[ -][^\W\d_]+)*"
"""Letters of any alphabet, with single spaces and hyphens between them."""


def _parse_dataset(text: str) -> str:
    fault = dataset_name_fault(text)
    if fault is None:
        return text
    raise invalid_value("bad-name.dataset", expected=fault["expected"], advice=fault["advice"])


def _parse_rows_are(text: str) -> str:
    if re.fullmatch(PLURAL, text):
        return text
    raise invalid_value("bad-name.rows", most=MAX_LETTERS)


def _proposed_confidence(text: str) -> str:
    return f"0.{text}" if text.isdigit() and len(text) == 2 else "0.95"


Confidence = Annotated[
    Fraction,
    ExactNumber(
        "confidence-out-of-range",
        min_value=Fraction(1, 2),
        max_value=Fraction(999_999, 1_000_000),
        proposed=_proposed_confidence,
    ),
]


# Few specs have these sections, and their modules have a model for every form of a part.


def _choose_derived(key: ScalarNode | None, node: Node) -> type[SectionModel]:
    from dpcli.specification.derive import choose_derived

    return choose_derived(key, node)


def _choose_response(key: ScalarNode | None, node: Node) -> type[SectionModel]:
    from dpcli.specification.responses import choose_response

    return choose_response(key, node)


class SpecModel(SectionModel):
    """The keys that specs of both models have."""

    noun = "the spec"

    dpcli: Annotated[
        str,
        Choice("unknown-version", (VERSION,)),
        Field(json_schema_extra={"type": ["integer", "string"], "enum": [1, "1"]}),
    ]
    model: Annotated[str, Choice("unknown-choice", ("central", LOCAL))] | None = None
    dataset: Annotated[
        str, ParsedText(_parse_dataset, {"type": "string", "pattern": f"^{DATASET_PATTERN}$"})
    ]
    ledger: Annotated[str, Choice("unknown-choice", ("must-exist",))] | None = None
    confidence: Confidence = Fraction(19, 20)
    csv: Annotated[CsvModel, SeparateSection()] | None = None
    privacy: Annotated[PrivacyModel, SeparateSection()]
    columns: dict[str, Any]
    derive: Annotated[dict[str, Any], SeparateSections(_choose_derived, MAX_COLUMNS)] | None = None
    declarations: DeclarationsModel | None = None
    title: Title | None = None
    note: Note | None = None


class CentralSpecModel(SpecModel):
    """What is released from a dataset, and how much that may reveal."""

    rows_are: (
        Annotated[str, ParsedText(_parse_rows_are, {"type": "string", "maxLength": MAX_LETTERS})]
        | None
    ) = None
    numbers: NumberFormat | None = None
    quality: (
        Annotated[
            Annotated[str, Choice("unknown-choice.quality", ("none",))]
            | Annotated[QualityModel, SeparateSection()],
            ByForm,
        ]
        | None
    ) = None
    sample: Annotated[SampleModel, SeparateSection()] | None = None
    statistics: Annotated[list[EntryModel | None], SeparateSections(choose_entry, MAX_STATISTICS)]


class LocalSpecModel(SpecModel):
    """How every record is randomized before it is collected."""

    responses: Annotated[list[Any], SeparateSections(_choose_response, MAX_COLUMNS)]
    public: list[Text] | None = None
