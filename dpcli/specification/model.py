"""What a correct spec says: exact, resolved, and safe to plan from.

Nothing here can be half-checked: only `dpcli.specification.load` makes a `Spec`, and only
from a text without problems.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.columns import CategoryColumn, Column, NumericColumn
from dpcli.csv_dialect import UNDECLARED_DIALECT, Dialect
from dpcli.errors import Place
from dpcli.mechanisms.mechanism import Mechanism
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.loss import BudgetRequest, Loss
from dpcli.privacy.neighboring import Neighbors, Relation
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.statistics.postprocessing import Step
from dpcli.statistics.statistic import Request, Statistic

if TYPE_CHECKING:
    from dpcli.mechanisms.local.local_mechanism import CalibratedRandomizer, LocalMechanism

ValuedColumn = CategoryColumn | NumericColumn
"""A column whose cells are declared."""


@dataclass(frozen=True, slots=True)
class Privacy:
    """The guarantee a spec asks for, and the budget it may spend: written at `place`."""

    unit: Unit
    neighbors: Neighbors
    budget: Loss
    composition: Composition
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def relation(self) -> Relation:
        """Who is protected, and how neighbours differ."""
        return Relation(self.unit, self.neighbors)


@dataclass(frozen=True, slots=True)
class Entry:
    """One statistic, how it is to be answered, and what it may reveal.

    Of several `mechanisms` the most accurate is taken, or what costs least.

    Where groups are private, `keys` names the entry whose noisy counts select them
    for all entries of the same `by`; it may be this one. `alternative_bounding` asks the same with
    the other of the two bounds on people, where both are possible. `post` is done to the
    noisy answers before they are published; with `raw`, they are published too.
    """

    request: Request
    statistic: Statistic
    mechanisms: tuple[Mechanism, ...]
    budget_request: BudgetRequest
    calibration: str = "exact"
    keys: str | None = None
    alternative_bounding: Request | None = None
    post: tuple[Step, ...] = ()
    raw: bool = False

    @property
    def selects_partitions(self) -> bool:
        """Whether its noisy counts decide which groups are shown."""
        return self.keys == self.request.name


@dataclass(frozen=True, slots=True)
class Response:
    """One column, how each record responds for it, and what is estimated from that.

    Estimates are made for each group of the public columns `by`; `steps` of
    post-processing are done to them in order.
    """

    column: ValuedColumn
    mechanism: LocalMechanism
    randomizer: CalibratedRandomizer
    by: tuple[CategoryColumn, ...] = ()
    steps: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """The texts that a response may be, for those that are labels."""
        labels = self.column.labels if isinstance(self.column, CategoryColumn) else ()
        return self.randomizer.outputs or labels

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are collected."""
        if self.randomizer.form == "bits":
            return tuple(f"{self.column.name}={label}" for label in self.outputs)
        return (self.column.name,)


@dataclass(frozen=True, slots=True)
class Declarations:
    """What the steward answers for: how many people there are, and texts by name."""

    population: int | None = None
    answers: tuple[tuple[str, str], ...] = ()

    def answer(self, name: str) -> str:
        """What is declared under that name; empty if nothing is."""
        return dict(self.answers).get(name, "")


@dataclass(frozen=True, slots=True)
class QualityCheck:
    """The check that comes before all statistics: what it asks, and what it demands.

    `min_rows` is the least number of rows, `min_readable` the least share of readable cells
    by the name of the column.
    """

    entry: Entry
    min_rows: int | None
    min_readable: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class Spec:
    """A checked spec; `digest` is the SHA-256 of its text and of the `files` that it names.

    In the central model it has `entries`, perhaps after a `quality` check. In the local model
    it has `responses` instead: each record is randomized by itself, and the columns in `public`
    are collected as they are. `rows_are` is what a row of the data is, as a plural.
    With `must_exist` no release creates a ledger or opens an account. The usual ledger is in the
    `folder` of the spec.
    """

    dataset: str
    privacy: Privacy
    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]
    confidence: Fraction
    text: str
    digest: str
    declarations: Declarations = Declarations()
    dialect: Dialect = UNDECLARED_DIALECT
    must_exist: bool = False
    rows_are: str = "rows"
    quality: QualityCheck | None = None
    responses: tuple[Response, ...] = ()
    public: tuple[ValuedColumn, ...] = ()
    files: tuple[Path, ...] = ()
    folder: Path = field(default=Path(), compare=False)

    @property
    def is_local(self) -> bool:
        """Whether records are randomized one by one; such a spec has a response at least."""
        return bool(self.responses)

    @property
    def unit_noun(self) -> str:
        """Who is protected, in a word."""
        person = isinstance(self.privacy.unit, PersonUnit)
        return "person" if person else "record" if self.is_local else "row"

    @property
    def charged_entries(self) -> tuple[Entry, ...]:
        """Every entry that spends: the quality check first, then the statistics."""
        return (*([self.quality.entry] if self.quality else []), *self.entries)

    @property
    def collected_columns(self) -> Iterator[Response | ValuedColumn]:
        """What is collected, in the declared order of the columns: responses and public ones."""
        by_name: dict[str, Response | ValuedColumn] = {
            column.name: column for column in self.public
        }
        by_name |= {response.column.name: response for response in self.responses}
        return (by_name[column.name] for column in self.columns if column.name in by_name)

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the collected columns."""
        return tuple(
            name
            for one in self.collected_columns
            for name in (one.names if isinstance(one, Response) else (one.name,))
        )
