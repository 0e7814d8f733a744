"""How derived columns follow from other columns: one class for each kind.

A derivation is public: it comes from the spec. The value of a row depends on that row alone. A
number is the rational value of its terms, rounded to the grid of the derived column (halves to the
even number of steps), then clamped to its bounds; other values are labels.

Privacy: the bounds of a derived column are declared, or follow from the declared bounds of its
inputs by interval arithmetic, never from data. A change of one row changes one value within these
bounds, so a query over a derived column has the sensitivity that its declaration states, as over
any other column.

To add a kind, write one class and add one line to `DERIVED`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dpcli.data.column import Derivation
from dpcli.problems.registry import Classes

if TYPE_CHECKING:
    from dpcli.data.derived.declared import DeclaredDerivation

DERIVED: Final[Classes[DeclaredDerivation]] = Classes(
    "dpcli.data.derived",
    "arithmetic:Sum",
    "arithmetic:Difference",
    "arithmetic:Product",
    "arithmetic:Ratio",
    "calendar:DatePart",
    "calendar:Age",
    "labels:Bands",
    "arithmetic:FirstNumber",
    "labels:Satisfies",
)
"""Every kind of derived column that a spec may declare."""

PERSON_VALUES: Final[Classes[DeclaredDerivation]] = Classes(
    "dpcli.data.people",
    "counts:RowsOfPerson",
    "counts:InAnyRow",
    "counts:InAllRows",
    "counts:DifferentValues",
    "places:First",
    "places:Last",
    "places:Most",
    "places:LongestGap",
    "places:ShortestGap",
    "amounts:TotalOfPerson",
    "amounts:LeastOfPerson",
    "amounts:GreatestOfPerson",
    "amounts:MeanOfPerson",
    "amounts:MedianOfPerson",
    "amounts:ChangeOfPerson",
)
"""Every kind of value of a person that a spec may declare."""

UNDECLARED: Final[Classes[Derivation]] = Classes(
    "dpcli.data",
    "derived.labels:FirstLabel",
    "derived.positions:FirstTrue",
    "derived.positions:PositionAmong",
    "derived.positions:NumberOfLabels",
    "derived.cell_states:CellState",
    "derived.joined_ids:JoinedIds",
    "people.counts:RowsThatCount",
)
"""Every other kind: filters, statistics and declared kinds make them."""
