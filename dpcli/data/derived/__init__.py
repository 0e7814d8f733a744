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

from dpcli.data.column import Derivation
from dpcli.data.derived.arithmetic import Difference, FirstNumber, Product, Ratio, Sum
from dpcli.data.derived.calendar import Age, DatePart
from dpcli.data.derived.declared import DeclaredDerivation
from dpcli.data.derived.labels import Bands, FirstLabel, Satisfies
from dpcli.data.derived.positions import FirstTrue, PositionAmong

DERIVED: tuple[type[DeclaredDerivation], ...] = (
    Sum,
    Difference,
    Product,
    Ratio,
    DatePart,
    Age,
    Bands,
    FirstNumber,
    Satisfies,
)
"""Every kind of derived column that a spec may declare."""

DERIVATIONS: tuple[type[Derivation], ...] = (*DERIVED, FirstLabel, FirstTrue, PositionAmong)
"""Every kind of derivation."""
