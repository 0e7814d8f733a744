"""Reads the section `sample`: the file is a sample of a population."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from dpcli.fields.section import SectionModel
from dpcli.fields.values import Choice, ExactNumber
from dpcli.privacy.unit import PersonUnit
from dpcli.specification.context import SpecContext
from dpcli.specification.declarations import MAX_POPULATION
from dpcli.statistics.design import SampleDesign

DESIGNS = ("simple-random",)
"""Sample designs whose error noisy answers show: all units have the same chance."""

Units = Annotated[
    int, ExactNumber("bad-sample.number", min_value=1, max_value=MAX_POPULATION, whole=True)
]


class SampleModel(SectionModel):
    """The file is a sample of a population: how it was drawn, and from how many."""

    missing_lines: ClassVar[Mapping[str, str]] = {
        "design": "`design: simple-random`, if every unit had the same chance and none was drawn "
        "twice",
        "population": "`population: 250000`: how many units the sample was drawn from",
    }

    design: Annotated[str, Choice("unknown-design", DESIGNS)]
    population: Units
    size: Units | None = None

    def resolved(self, context: SpecContext) -> SampleDesign:
        """The declared sample, which is also stored in the context.

        Raises `AlreadyReportedError` after the problems are recorded.
        """
        unit = context.unit
        if isinstance(unit, PersonUnit) and unit.max_rows > 1:
            # Rows of one person are a cluster: they say less than as many rows of different people.
            raise self.report("sample-of-rows", rows=unit.max_rows)
        self.require()
        population, size = self.population, self.size
        if size is not None and size > population:
            raise self.report("bad-sample", "size", population=population)
        context.sample = SampleDesign(population, size)
        return context.sample
