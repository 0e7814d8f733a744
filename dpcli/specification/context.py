"""What the readers of all sections share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.data.declared_columns import DeclaredColumns
from dpcli.fields.tree import Findings, Span
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.unit import Neighbors, Relation, RowUnit, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.specification.model import Caption, SpecFile
from dpcli.statistics.design import SampleDesign

if TYPE_CHECKING:
    from dpcli.statistics.bounds.chosen_bounds import BoundsChoice


@dataclass(kw_only=True)
class SpecContext(DeclaredColumns):
    """What the readers of all sections share: columns, privacy settings, problems.

    `sample` is how the rows were drawn. `names` are the names of the statistics read so far.
    `reserved_names` cannot be names of statistics; each value says what has the name. `files` are
    the files in `folder` that the spec names; none of them may be among the `data` of the command.
    `captions` are the stated captions of columns. In the columns of `blank_answers`, a blank cell
    is an answer. `choices` has each choice of bounds or of the limit on rows per person, and its
    place in the spec, by the name of the histogram.
    """

    findings: Findings
    folder: Path = Path()
    unit: Unit | None = None
    neighbors: str = ""
    composition: Composition | None = None
    sample: SampleDesign | None = None
    names: dict[str, Span] = field(default_factory=dict)
    reserved_names: dict[str, str] = field(default_factory=dict)
    files: list[SpecFile] = field(default_factory=list)
    data: Sequence[str] = ()
    decimal: str = "."
    captions: dict[str, Caption] = field(default_factory=dict)
    blank_answers: set[str] = field(default_factory=set)
    choices: dict[str, tuple[BoundsChoice, Span]] = field(default_factory=dict)

    @property
    def relation(self) -> Relation:
        """The neighboring relation; missing or wrong parts default to rows, add-remove."""
        neighbors = Neighbors(self.neighbors) if self.neighbors else Neighbors.ADD_REMOVE
        return Relation(self.unit or RowUnit(), neighbors)
