"""Reads the section `sample`: how rows were drawn from a population."""

from __future__ import annotations

from typing import Annotated

from dpcli.fields.section import SectionModel
from dpcli.fields.tree import MappingNode
from dpcli.fields.values import Choice, ExactNumber
from dpcli.privacy.unit import PersonUnit
from dpcli.specification.context import SpecContext
from dpcli.specification.declarations_section import MAX_POPULATION
from dpcli.statistics.sampling import SampleDesign

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


def read_sample(node: MappingNode, context: SpecContext) -> SampleDesign:
    """The declared sample, which is also stored in the context.

    Raises `AlreadyReportedError` after the problems are recorded.
    """
    section = SampleModel.read(node, "sample")
    unit = context.unit
    if isinstance(unit, PersonUnit) and unit.max_rows > 1:
        # Rows of one person are a cluster: they say less than as many rows of different people.
        raise node.span.report("sample-of-rows", rows=unit.max_rows)
    section.require()
    population, size = section.population, section.size
    if size is not None and size > population:
        raise section.report("bad-sample", "size", population=population)
    context.sample = SampleDesign(population, size)
    return context.sample
