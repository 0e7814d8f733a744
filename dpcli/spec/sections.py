"""The sections of a spec that are about all of its statistics."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field

from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.spec.model import Declarations
from dpcli.spec.names import ROUGHLY, dataset_fault
from dpcli.spec.nodes import Mapping
from dpcli.spec.part import Part
from dpcli.values import Choice, Exact, Read, Shape, Text, refusal

VERSION = "1"

MOST_PEOPLE = 10**11
"""More than there ever were."""

LONGEST_ANSWER = 2_000
"""Characters of a declaration: a paragraph, not a document."""

MOST_LETTERS = 40
PLURAL = re.compile(rf"(?=.{{1,{MOST_LETTERS}}}\Z)[^\W\d_]+(?:[ -][^\W\d_]+)*")
"""Letters of any alphabet, with single spaces and hyphens between them."""

PEOPLE = ("people", "persons")
"""Words for what is protected, where that is a person."""


def _dataset(text: str) -> str:
    fault = dataset_fault(text)
    if fault is None:
        return text
    raise refusal("bad-name.dataset", expected=fault.expected, advice=fault.hint)


def _rows_are(text: str) -> str:
    if PLURAL.fullmatch(text):
        return text
    raise refusal("bad-name.rows", most=MOST_LETTERS)


def _answer(text: str) -> str:
    if 1 <= len(text.strip()) <= LONGEST_ANSWER:
        return text.strip()
    raise refusal("bad-declaration", count=len(text.strip()), most=LONGEST_ANSWER)


def _proposed(text: str) -> str:
    """What a percentage was meant to be."""
    return f"0.{text}" if text.isdigit() and len(text) == 2 else "0.95"


Population = Annotated[
    int, Exact("bad-declaration.population", least=1, most=MOST_PEOPLE, whole=True)
]
Answer = Annotated[str, Read(_answer, {"type": ["string", "number", "boolean"]})]
Confidence = Annotated[
    Fraction,
    Exact(
        "confidence-out-of-range",
        least=Fraction(1, 2),
        most=Fraction(999_999, 1_000_000),
        proposed=_proposed,
    ),
]


class Stewardship(Shape):
    """What only people can answer; the report and the registry record quote it."""

    population: Population | None = None
    privacy_unit: Answer | None = None
    bounds: Answer | None = None
    other_releases: Answer | None = None
    access: Answer | None = None
    collection: Answer | None = None
    fairness: Answer | None = None
    timing: Answer | None = None
    curator: Answer | None = None
    contact: Answer | None = None
    description: Answer | None = None
    intended_use: Answer | None = None
    region: Answer | None = None


class Heading(Shape):
    """What a spec of either model says of itself."""

    dpcli: Annotated[
        str,
        Choice("unknown-version", (VERSION,)),
        Field(json_schema_extra={"type": ["integer", "string"], "enum": [1, "1"]}),
    ]
    model: Literal["central", "local"] | None = None
    dataset: Annotated[str, Read(_dataset, {"type": "string", "pattern": f"^{ROUGHLY}$"})]
    ledger: Literal["must-exist"] | None = None
    confidence: Confidence = Fraction(19, 20)
    csv: dict[str, Any] | None = None
    privacy: dict[str, Any]
    columns: dict[str, Any]
    declarations: Stewardship | None = None


class Document(Heading):
    """What is released from a dataset, and how much that may reveal."""

    rows_are: (
        Annotated[str, Read(_rows_are, {"type": "string", "maxLength": MOST_LETTERS})] | None
    ) = None
    quality: dict[str, Any] | None = None
    statistics: list[Any]


class LocalDocument(Heading):
    """How every record is randomized before it is collected."""

    responses: list[Any]
    public: list[Text] | None = None


def declarations_of(part: Part[Any]) -> Declarations:
    """What the steward declares, in the order written; nothing if there is no section."""
    section, node = part.values.declarations, part.node.get("declarations")
    if section is None or not isinstance(node, Mapping):
        return Declarations()
    answers = [(key, getattr(section, key)) for key in node.pairs if key != "population"]
    return Declarations(section.population, tuple(answers))


def rows_name(part: Part[Any], unit: Unit | None) -> str:
    """What rows are called. Rows of people are not people: readers would count too many."""
    name = getattr(part.values, "rows_are", None) or "rows"
    if isinstance(unit, PersonUnit) and name.casefold() in PEOPLE:
        part.report("rows-are-people", "rows_are")
    return str(name)
