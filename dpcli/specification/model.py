"""A checked spec: all values are exact, and all names are resolved.

Only `dpcli.specification.load` makes a spec, and only from a text without problems: a `CentralSpec`
of what is released from a dataset, or a `LocalSpec` of how each record is randomized by itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar, final

from dpcli.data.column import Column, ValuedColumn
from dpcli.data.formats import UNDECLARED_DIALECT, Dialect
from dpcli.mechanisms.mechanism import Mechanism
from dpcli.noise.distribution import ADDITIVE, Family
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.loss import BudgetAmount, Loss, loss_text
from dpcli.privacy.unit import NO_LIMITS, Limits, Neighbors, PersonUnit, Relation, Unit
from dpcli.problems.errors import Place, UsageError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import Shown, Summary
from dpcli.queries.query import Query
from dpcli.statistics.design import Design, Inputs, Measure, SampleDesign
from dpcli.statistics.postprocessing import PostProcessingStep
from dpcli.statistics.statistic import Statistic

if TYPE_CHECKING:
    from dpcli.data.dates import DateColumn
    from dpcli.data.labels import LabeledColumn
    from dpcli.data.periods import Period
    from dpcli.mechanisms.local.local_mechanism import CalibratedRandomizer, LocalMechanism
    from dpcli.statistics.bounds.chosen_bounds import BoundsChoice
    from dpcli.statistics.columns import TableColumn


@dataclass(frozen=True, slots=True)
class Caption:
    """What people read next to or instead of a name; a text not stated is empty."""

    title: str = ""
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Privacy:
    """The guarantee and the budget of a spec; `place` is where the budget is stated.

    The `limits` that the spec states for the unit hold for statistics that state no other ones. The
    budget bounds any `window` of days, or all releases. Releases to one of the `recipients` may
    cost an amount together. People are warned if less than a share, `warn_below`, of it is left.
    """

    unit: Unit
    neighbors: Neighbors
    budget: Loss
    composition: Composition
    limits: Limits = NO_LIMITS
    window: int | None = None
    recipients: tuple[tuple[str, Fraction], ...] = ()
    warn_below: Fraction | None = None
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def relation(self) -> Relation:
        """The privacy unit, and how neighboring data differ."""
        return Relation(self.unit, self.neighbors)

    def relation_for(self, own: Limits) -> Relation:
        """The relation for a statistic with these limits of its own.

        Neighbors are the same for all statistics: limits say which rows of a person are used.
        """
        if own == NO_LIMITS:
            return self.relation
        return Relation(own.or_else(self.limits).of(self.unit), self.neighbors)


EXACT = "exact"
"""The calibration with the least noise."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One statistic, how it is answered, and the budget that it requests.

    The `designs` are made once, for the bounds and the relation of the entry. Of several
    `mechanisms`, the plan uses the most accurate one, or the one that costs least.

    If keys are private, `selected_by` is the name of the entry whose noisy counts select the groups
    for all entries with equal `by`. An entry names itself if its own counts select its groups, or
    the labels that it shows. `alternative_bounding` has the designs for the inputs under the other
    contribution bounding, if both are possible. `post` is applied to the noisy answers before they
    are published. With `raw`, the noisy answers are published too. The `limits` are those on the
    rows of a person that the entry itself states.
    """

    inputs: Inputs
    statistic: Statistic
    mechanisms: tuple[Mechanism, ...]
    budget_amount: BudgetAmount
    designs: tuple[Design, ...]
    calibration: str = EXACT
    selected_by: str | None = None
    alternative_bounding: tuple[Design, ...] = ()
    post: tuple[PostProcessingStep, ...] = ()
    raw: bool = False
    caption: Caption = Caption()
    limits: Limits = NO_LIMITS

    @property
    def words(self) -> str:
        """What it asks for in a few words."""
        inputs = self.inputs
        of = f" of {inputs.column.name}" if inputs.column is not None else ""
        by = ", ".join(key.column.name for key in inputs.by)
        return f"{self.statistic.name}{of}{f' by {by}' if by else ''}"

    @property
    def queries(self) -> Iterator[Query]:
        """The queries of the first design."""
        return (weighted.query for weighted in self.designs[0].queries)

    def design_for(self, family: Family, measure: Measure, composition: Composition) -> Design:
        """The first design that serves this noise, unit of the budget and composition."""
        may_count = any(mechanism.family in ADDITIVE for mechanism in self.mechanisms)
        return next(
            design
            for design in self.designs
            if design.serves(family, measure, composition)
            and (may_count or not design.replaces_counts)
        )

    def with_mechanisms(self, *mechanisms: Mechanism) -> Entry:
        """The entry with fewer mechanisms, which keep the designs they had among all."""
        may_count = any(mechanism.family in ADDITIVE for mechanism in self.mechanisms)
        designs = self.designs
        if may_count:
            designs = tuple(replace(design, replaces_counts=False) for design in designs)
        return replace(self, mechanisms=mechanisms, designs=designs)

    def answered_for(self, relation: Relation, change: Callable[[Column], Column]) -> Entry:
        """A copy of the entry for changed columns and another relation, with new designs.

        The mechanisms stay as they are.
        """
        bounded = [part[0].inputs for part in (self.designs, self.alternative_bounding) if part]
        designs = [self.designs_for(inputs.with_columns(change), relation) for inputs in bounded]
        return replace(
            self,
            inputs=self.inputs.with_columns(change),
            designs=designs[0],
            alternative_bounding=designs[1] if self.alternative_bounding else (),
        )

    def designs_for(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """The designs for other inputs, which count rows if a step needs that."""
        count = any(step.needs_rows for step in self.post)
        made = self.statistic.designs_with_rows if count else self.statistic.designs
        return made(inputs, relation)

    @property
    def selects_partitions(self) -> bool:
        """Whether the noisy counts of this entry select the groups that are published."""
        return self.selected_by == self.inputs.name

    @property
    def has_private_groups(self) -> bool:
        """Whether a key is private, so that noisy counts select the published groups."""
        return self.inputs.has_private_groups


@dataclass(frozen=True, slots=True)
class Response:
    """How each record responds for one column, and what is estimated from responses.

    There are estimates for each group of the public columns `by`. The `steps` of post-processing
    are applied to the estimates in order.
    """

    column: ValuedColumn
    mechanism: LocalMechanism
    randomizer: CalibratedRandomizer
    by: tuple[LabeledColumn, ...] = ()
    steps: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """The labels that a response can be; empty for numbers."""
        labels = self.column.labels
        return self.randomizer.outputs or labels

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the collected columns of the response; for bits, one per label."""
        if self.randomizer.form == "bits":
            return tuple(f"{self.column.name}={label}" for label in self.outputs)
        return (self.column.name,)


@dataclass(frozen=True, slots=True)
class Declarations:
    """What the data owner declares: the size of the population, and answers by name."""

    population: int | None = None
    answers: tuple[tuple[str, str], ...] = ()

    def answer(self, name: str) -> str:
        """The answer with this name; empty if there is none."""
        return dict(self.answers).get(name, "")


@dataclass(frozen=True, slots=True)
class ChargedEntry:
    """The number and the head of a ledger entry."""

    entry: int
    head: str


@dataclass(frozen=True, slots=True)
class QualityCheck:
    """The check before all statistics: an entry that counts faults, and the minimums.

    `min_rows` is the required number of rows, and `min_people` that of people. `min_readable` is
    the required share of units of which no cell of a column is unreadable, by name of column.
    `max_limited` is the share of rows that limits on the rows of a person may leave out. `charged`
    is the ledger entry with the answers of the check, if that entry also chose bounds or a limit.
    """

    entry: Entry
    min_rows: int | None
    min_readable: Mapping[str, Fraction]
    max_limited: Fraction | None = None
    min_people: int | None = None
    charged: ChargedEntry | None = None


@dataclass(frozen=True, slots=True)
class Possible:
    """The most rows, and groups of a statistic, that a person of the file can have.

    They are declared, or None. They decide what is known to be complete, and nothing else.
    """

    rows: int | None = None
    groups: int | None = None


FileIdentity = tuple[int, int]
"""The device and the inode of a file, which all its names share."""


@dataclass(frozen=True, slots=True)
class SpecFile:
    """A file that a spec names: its stated name, path and SHA-256 of its content.

    The `header` is that of a list of codes.
    """

    name: str
    path: Path
    sha256: str
    identity: FileIdentity = field(default=(0, 0), compare=False)
    header: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Spec(Shown):
    """What a checked spec of either model states.

    `digest` is the SHA-256 of `text` and of the files that it names. `rows_are` is the plural noun
    for a row. With `must_exist`, no release creates a ledger or opens an account. The default
    ledger is in the `folder` of the spec. `numbers` is how the number 1234.5 is written for people;
    empty if it is not stated. The `reference_period` is what the data are about, if that is known.
    The account of the dataset is `part_of` another one, if that is stated. A release is for a
    `recipient`, or public.
    """

    row_noun: ClassVar[str] = "row"

    dataset: str
    privacy: Privacy
    columns: tuple[Column, ...]
    confidence: Fraction
    text: str
    digest: str
    declarations: Declarations = Declarations()
    dialect: Dialect = UNDECLARED_DIALECT
    must_exist: bool = False
    rows_are: str = "rows"
    named_files: tuple[SpecFile, ...] = ()
    caption: Caption = Caption()
    column_captions: Mapping[str, Caption] = field(default_factory=dict)
    numbers: str = ""
    reference_period: Period | None = None
    part_of: str | None = None
    recipient: str | None = None
    folder: Path = field(default=Path(), compare=False)

    def _summary(self) -> Summary:
        unit, neighbors = self.privacy.unit, self.privacy.neighbors.value
        protects = f"by {unit.column}" if isinstance(unit, PersonUnit) else "one for each row"
        title = f"Spec of {self.dataset}: {self.units_noun} {protects}, {neighbors}"
        rows = [("name", "asks for"), *self._asked()]
        return Summary(title, rows, (f"budget: {loss_text(self.privacy.budget)}",))

    @abstractmethod
    def _asked(self) -> Iterator[tuple[str, str]]:
        """The name of each entry, and what it asks for in a few words."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The paths of the files that the spec names."""
        return tuple(file.path for file in self.named_files)

    @property
    def period(self) -> str | None:
        """The reference period as it was written; None if it is not known."""
        return None if self.reference_period is None else self.reference_period.text

    def require_period(self) -> None:
        """Raise UsageError if a release must know its period, and does not."""

    @property
    def unit_noun(self) -> str:
        """What the privacy unit is called: `person`, `row`, or locally `record`."""
        return "person" if isinstance(self.privacy.unit, PersonUnit) else self.row_noun

    @property
    def units_noun(self) -> str:
        """What several privacy units are called."""
        return "people" if self.unit_noun == "person" else f"{self.unit_noun}s"

    @property
    def unit_in_data(self) -> str:
        """What sentences about the data call one unit."""
        return f"{self.unit_noun} in the data"


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CentralSpec(_Spec):
    """What is released from a dataset, perhaps after a `quality` check.

    `declines_check` is true if the spec states that no check is meant. The `sample` is how rows
    were drawn. Each of the `choices` is of the bounds of a column; the last may be of the limit on
    rows per person. Until this limit is chosen, `unit_of_choices` is the privacy unit. Published
    tables have the optional `output_columns`, and `bins_in_words` if asked for. The `period_column`
    has the day of a row, if rows of other days than those of the reference period are removed. A
    blank cell of a column in `may_be_blank` is meant.
    """

    entries: tuple[Entry, ...]
    quality: QualityCheck | None = None
    declines_check: bool = False
    epsilon: Fraction | None = None
    sample: SampleDesign | None = None
    choices: tuple[BoundsChoice, ...] = ()
    unit_of_choices: PersonUnit | None = None
    output_columns: tuple[TableColumn, ...] = ()
    bins_in_words: bool = False
    period_column: DateColumn | None = None
    possible: Possible = Possible()
    may_be_blank: frozenset[str] = frozenset()

    @property
    def units_are(self) -> str:
        """What is counted where each privacy unit counts once, as a plural noun."""
        return "people" if isinstance(self.privacy.unit, PersonUnit) else self.rows_are

    @property
    def allowed_loss(self) -> Loss:
        """The most that one release may cost: the budget, or the epsilon of the spec.

        Entries with shares divide what choices, quality check and other entries leave of it.
        """
        budget = self.privacy.budget
        return budget if self.epsilon is None else replace(budget, epsilon=self.epsilon)

    def require_period(self) -> None:
        if self.period_column is not None and self.reference_period is None:
            raise UsageError.about("period-missing", column=self.period_column.name)

    def _asked(self) -> Iterator[tuple[str, str]]:
        for entry in self.entries:
            yield entry.inputs.name, entry.words

    @property
    def for_choices(self) -> CentralSpec:
        """The spec with the privacy unit for choices, and for a check before them.

        Where the limit on rows per person is chosen, it is not known yet: histograms of cells use
        one row of each person, which is chosen at random. A check counts people by all their rows.
        """
        unit = self.unit_of_choices
        return self if unit is None else replace(self, privacy=replace(self.privacy, unit=unit))

    @property
    def checks_first(self) -> bool:
        """Whether the check is answered before, and in the entry of, the choices.

        If they were chosen by an earlier version, the check follows.
        """
        is_open = any(choice.chosen is None for choice in self.choices)
        return self.quality is not None and (is_open or self.quality.charged is not None)

    def relation_of(self, entry: Entry) -> Relation:
        """The neighboring relation for which an entry is answered, with its limits."""
        is_check = self.quality is not None and entry.statistic is self.quality.entry.statistic
        is_first = entry.statistic.chooses_bounds or (is_check and self.checks_first)
        return (self.for_choices if is_first else self).privacy.relation_for(entry.limits)

    @property
    def charged_entries(self) -> tuple[Entry, ...]:
        """All entries that spend budget, without the choices, the quality check first."""
        return (*([self.quality.entry] if self.quality else []), *self.entries)


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LocalSpec(_Spec):
    """How each record is randomized by itself, and the `public` columns that stay.

    There is at least one response, and no bounds are chosen.
    """

    row_noun = "record"
    choices: ClassVar[tuple[BoundsChoice, ...]] = ()

    responses: tuple[Response, ...]
    public: tuple[ValuedColumn, ...] = ()

    @property
    def unit_in_data(self) -> str:
        return f"record in the data{', beyond what is public about it,' if self.public else ''}"

    def _asked(self) -> Iterator[tuple[str, str]]:
        for response in self.responses:
            yield response.column.name, response.mechanism.name

    @property
    def collected_columns(self) -> Iterator[Response | ValuedColumn]:
        """Responses and public columns, in the declared order of the columns."""
        by_name: dict[str, Response | ValuedColumn] = {
            column.name: column for column in self.public
        }
        by_name |= {response.column.name: response for response in self.responses}
        return (by_name[column.name] for column in self.columns if column.name in by_name)

    @property
    def header(self) -> tuple[str, ...]:
        """The names of all collected columns; a response may have several."""
        return tuple(
            name
            for column in self.collected_columns
            for name in (column.names if isinstance(column, Response) else (column.name,))
        )


Spec = CentralSpec | LocalSpec
"""A spec of either model."""

SpecT = TypeVar("SpecT", bound=Spec)
