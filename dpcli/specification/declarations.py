"""Reads the section `declarations`: what only people can answer."""

from __future__ import annotations

from typing import Annotated

from dpcli.fields.section import SectionModel
from dpcli.fields.values import ExactNumber, ParsedText, invalid_value
from dpcli.specification.model import Declarations

MAX_POPULATION = 10**11
"""The largest population that can be declared."""

MAX_ANSWER_LENGTH = 2_000
"""Characters of one answer under `declarations:`: a paragraph, not a document."""


def _parse_answer(text: str) -> str:
    if 1 <= len(text.strip()) <= MAX_ANSWER_LENGTH:
        return text.strip()
    raise invalid_value("bad-declaration", count=len(text.strip()), most=MAX_ANSWER_LENGTH)


Population = Annotated[
    int,
    ExactNumber("bad-declaration.population", min_value=1, max_value=MAX_POPULATION, whole=True),
]
AnswerText = Annotated[str, ParsedText(_parse_answer, {"type": ["string", "number", "boolean"]})]


class DeclarationsModel(SectionModel):
    """What only people can answer. The report and the registry record quote it."""

    population: Population | None = None
    privacy_unit: AnswerText | None = None
    bounds: AnswerText | None = None
    other_releases: AnswerText | None = None
    access: AnswerText | None = None
    collection: AnswerText | None = None
    fairness: AnswerText | None = None
    timing: AnswerText | None = None
    curator: AnswerText | None = None
    contact: AnswerText | None = None
    description: AnswerText | None = None
    intended_use: AnswerText | None = None
    region: AnswerText | None = None
    license: AnswerText | None = None
    justification: AnswerText | None = None
    sector: AnswerText | None = None
    legal_basis: AnswerText | None = None
    data_retention: AnswerText | None = None
    processor: AnswerText | None = None
    review_date: AnswerText | None = None
    withdrawal: AnswerText | None = None

    def resolved(self) -> Declarations:
        """The declared population and answers, in the order of the spec."""
        # The report lists the answers in the order of the spec.
        answers = [(key, getattr(self, key)) for key in self.node.pairs if key != "population"]
        return Declarations(self.population, tuple(answers))
