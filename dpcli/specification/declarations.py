"""Reads what people declare about the data: `declarations` and `sample`."""

from __future__ import annotations

from typing import Annotated

from dpcli.fields.section import SectionModel
from dpcli.fields.values import Choice, ExactNumber, ParsedText, invalid_value
from dpcli.privacy.unit import PersonUnit
from dpcli.specification.context import SpecContext
from dpcli.specification.model import Declarations
from dpcli.statistics.sampling import SampleDesign

MAX_POPULATION = 10**11
"""More people than have ever lived."""

MAX_ANSWER_LENGTH = 2_000
"""Characters of one answer under `declarations:`: a paragraph, not a document."""


def _parse_answer(text: str) -> str:
    if 1 <= len(text.strip()) <= MAX_ANSWER_LENGTH:
        return text.strip()
    raise invalid_value("bad-declaration", count=len(text.strip()), most=MAX_ANSWER_LENGTH)


Population = Annotated[
    int, ExactNumber("bad-declaration.population", least=1, most=MAX_POPULATION, whole=True)
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

    def resolved(self) -> Declarations:
        """The declared population and answers, in the order of the spec."""
        # The report lists the answers in the order of the spec.
        answers = [(key, getattr(self, key)) for key in self.node.pairs if key != "population"]
        return Declarations(self.population, tuple(answers))


DESIGNS = ("simple-random",)
"""The designs whose error is known from noisy answers: every unit had the same chance."""

Units = Annotated[int, ExactNumber("bad-sample.number", least=1, most=MAX_POPULATION, whole=True)]


LINES = {
    "design": "`design: simple-random`, if every unit had the same chance and none was drawn twice",
    "population": "`population: 250000`: how many units the sample was drawn from",
}
"""What to write for missing fields."""


class SampleModel(SectionModel):
    """The file is a sample of a population: how it was drawn, and from how many."""

    design: Annotated[str, Choice("unknown-design", DESIGNS)]
    population: Units
    size: Units | None = None

    def missing_line(self, key: str) -> str:
        return LINES.get(key, "")


def resolve_sample(section: SampleModel, context: SpecContext) -> SampleDesign:
    """The declared sample, which is also stored in the context.

    Raises `AlreadyReportedError` after the problems are recorded.
    """
    unit = context.unit
    if isinstance(unit, PersonUnit) and unit.max_rows > 1:
        # Rows of one person are a cluster: they say less than as many rows of different people.
        raise section.report("sample-of-rows", rows=unit.max_rows)
    section.require()
    population, size = section.population, section.size
    if size is not None and size > population:
        raise section.report("bad-sample", "size", population=population)
    context.sample = SampleDesign(population, size)
    return context.sample
