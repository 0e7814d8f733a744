"""What the readers of all sections share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.data.declared_columns import DeclaredColumns
from dpcli.fields.tree import Findings, ScalarNode, Span
from dpcli.fields.values import AlreadyReportedError
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.unit import NO_LIMITS, Limits, Neighbors, Relation, RowUnit, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.specification.model import Caption, Possible, SpecFile
from dpcli.statistics.design import SampleDesign

if TYPE_CHECKING:
    from dpcli.statistics.bounds.chosen_bounds import BoundsChoice
    from dpcli.statistics.tables.hierarchy import Hierarchy

RESERVED_COLUMNS = ("statistic", "item", "value", "lower", "upper")
"""The columns that every published table has."""


@dataclass(kw_only=True)
class SpecContext(DeclaredColumns):
    """What the readers of all sections share: columns, privacy settings, problems.

    `limits` are those that the spec states for the unit; `limits_rows` says whether one of them is
    on rows. With `has_people`, the spec has columns of people. With `shares_epsilon`, entries
    without a budget request share the epsilon of the spec. `sample` is how the rows were drawn.
    `names` are the names of the statistics read so far. `reserved_names` cannot be names of
    statistics; each value says what has the name. `files` are the files in `folder` that the spec
    names; none of them may be among the `data` of the command. `captions` are the stated captions
    of columns. In the columns of `blank_answers`, a blank cell is an answer, and in those of
    `may_be_blank`, it is meant. `choices` has each choice of bounds or of the limit on rows per
    person, and its place in the spec, by the name of the histogram. Of `hierarchies`, those with
    problems are None. A `published` spec is accepted
    if an earlier version accepted it.
    """

    findings: Findings
    folder: Path = Path()
    unit: Unit | None = None
    limits: Limits = NO_LIMITS
    limits_rows: bool = True
    has_people: bool = False
    neighbors: str = ""
    composition: Composition | None = None
    shares_epsilon: bool = False
    sample: SampleDesign | None = None
    names: dict[str, Span] = field(default_factory=dict)
    reserved_names: dict[str, str] = field(default_factory=dict)
    files: list[SpecFile] = field(default_factory=list)
    data: Sequence[str] = ()
    published: bool = False
    decimal: str = "."
    captions: dict[str, Caption] = field(default_factory=dict)
    blank_answers: set[str] = field(default_factory=set)
    may_be_blank: set[str] = field(default_factory=set)
    possible: Possible = Possible()
    choices: dict[str, tuple[BoundsChoice, Span]] = field(default_factory=dict)
    hierarchies: dict[str, Hierarchy | None] = field(default_factory=dict)

    def hierarchy(self, scalar: ScalarNode) -> Hierarchy:
        """The hierarchy that a scalar names."""
        found = self.hierarchies.get(scalar.text)
        if scalar.text not in self.hierarchies:
            names = [*self.hierarchies]
            raise scalar.span.report("unknown-hierarchy", word=scalar.text, choices=names)
        if found is None:
            raise AlreadyReportedError
        return found

    @property
    def relation(self) -> Relation:
        """The neighboring relation; missing or wrong parts default to rows, add-remove."""
        return self.relation_for(NO_LIMITS)

    def relation_for(self, own: Limits) -> Relation:
        """The neighboring relation for a statistic with these limits of its own."""
        neighbors = Neighbors(self.neighbors) if self.neighbors else Neighbors.ADD_REMOVE
        unit = self.unit or RowUnit()
        return Relation(own.or_else(self.limits).of(unit) if own != NO_LIMITS else unit, neighbors)
