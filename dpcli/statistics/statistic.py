"""The interface of statistics: designs for inputs, and words on its numbers.

Rows of a `WeightedStatistic` may have survey weights: a column by whose value each row counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, final

from dpcli.data.column import Column
from dpcli.fields.section import SectionModel, extended_model
from dpcli.fields.statistic_fields import FieldFault
from dpcli.noise.distribution import ADDITIVE, Family
from dpcli.privacy.unit import Relation
from dpcli.statistics.design import INPUT_FIELDS, Design, Inputs, NoisyAnswer
from dpcli.statistics.estimates import ANY, NONNEGATIVE, Estimates, Limits
from dpcli.statistics.postprocessing import PostProcessingStep

NumbersMeasure = Literal["counts", "amounts", "values"]
"""What published numbers measure."""

KeyColumn = tuple[str, tuple[str, ...]]
"""A column that names items, with its label for each of them."""

NUMERIC_STEPS = ("nonnegative", "integer", "clamp", "suppress_below")
"""Steps of `post` for statistics whose numbers are whole or real."""


class Statistic(ABC):
    """A statistic that a spec may name: one subclass, one line in the registry.

    The docstring of a subclass has its privacy argument, and `dpcli explain` prints it.

    Attributes:
        noun: What plans and reports call it, if not by its name; with a place for what it counts.
        takes: Its fields besides those that every entry has, with their types.
        counts_people: Whether it counts people if no column is named.
        counts_blanks: Whether a blank cell of its columns is an answer.
        chooses_bounds: Whether bounds, or a limit, are chosen from its noisy counts.
        families: The families of noise that its designs are meant for, the first one best known.
        chooses_labels: Whether the items are labels that were chosen, and the numbers their ranks.
        selects_labels: Whether these labels are private, and its noisy counts select them.
        takes_best_mechanism: Whether plans compare all mechanisms, unless an entry names one.
        steps: The steps of `post` that it allows. `default_steps` apply if `post` is absent.
        adds_up: Whether numbers are those of tables, which add up after some steps.
        has_raw: Whether there is one noisy number behind each estimate.
        derivation: How the published numbers are computed from the noisy answers.
        warning: What readers of the numbers must know.
        item: What an item is, for example a bin; empty if each group has a single number.
        measure: What the numbers measure. Reports word and draw them accordingly.
        mixed_units: Whether its items have different units.
        gives_dates: Whether its numbers are dates if those of the column are.
        in_column_unit: Whether its numbers have the unit of its column.
    """

    name: ClassVar[str]
    noun: ClassVar[str] = ""
    takes: ClassVar[Mapping[str, Any]] = {}
    counts_people: ClassVar[bool] = False
    counts_blanks: ClassVar[bool] = False
    chooses_bounds: ClassVar[bool] = False
    families: ClassVar[tuple[Family, ...]] = ADDITIVE
    steps: ClassVar[tuple[str, ...]] = NUMERIC_STEPS
    default_steps: ClassVar[tuple[str, ...]] = ()
    adds_up: ClassVar[bool] = False
    has_raw: ClassVar[bool] = True
    chooses_labels: ClassVar[bool] = False
    selects_labels: ClassVar[bool] = False
    takes_best_mechanism: ClassVar[bool] = False
    measure: ClassVar[NumbersMeasure] = "values"
    mixed_units: ClassVar[bool] = False
    gives_dates: ClassVar[bool] = False
    in_column_unit: ClassVar[bool] = False
    derivation: ClassVar[str] = ""
    warning: ClassVar[str] = ""
    item: ClassVar[str] = ""

    @property
    def chooses(self) -> bool:
        """Whether any design of the statistic may answer by choices among candidates."""
        return "choice" in self.families

    def adds_rows(self, inputs: Inputs) -> bool:
        """Whether the numbers are counts or totals, or compare counts or totals.

        Limits on contributions then bias the numbers.
        """
        return self.measure != "values" or inputs.sizes is not None

    @cached_property
    def fields(self) -> type[SectionModel]:
        """The pydantic model of the fields in `takes`."""
        return extended_model(self.takes)

    def variant(
        self, column: Column | None, method: str = "", stated: Collection[str] = ()
    ) -> Statistic:
        """The statistic for this column, method and stated keys; by default, this one."""
        return self

    @abstractmethod
    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """All designs that may answer `inputs`.

        For a family of noise and a unit of the budget, the first design that serves both is used.
        """

    def designs_with_rows(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """The designs whose answers count the rows of each group, if there are any.

        They answer `inputs` if a step needs these counts.
        """
        designs = self.designs(inputs, relation)
        count = inputs.weight is None and all(design.counts_rows for design in designs)
        return designs if count else ()

    def limits(self, inputs: Inputs) -> tuple[Limits, ...]:
        """The limits of noise-free values by the spec alone, for each item or for all.

        Published intervals are cut to these limits, whatever the noise was.
        """
        return (NONNEGATIVE if self.measure == "counts" else ANY,)

    @final
    def possible_estimate(
        self, design: Design, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The numbers of a design, with intervals cut to the limits of possible values."""
        return design.estimate(answers, confidence).within(self.limits(design.inputs))

    def step(self, inputs: Inputs) -> Fraction:
        """The value of a step of the answer, for statistics that publish the answer."""
        return Fraction(1)

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        """The inputs with the fields of the statistic, in which names are resolved."""
        common = {key: value for key, value in given.items() if key in INPUT_FIELDS}
        options = tuple((key, value) for key, value in given.items() if key not in common)
        present = {key: value for key, value in common.items() if value is not None}
        return replace(bare, **present, options=options)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """The faults of the inputs: combinations of fields that are each valid alone."""
        return ()

    def step_faults(
        self, inputs: Inputs, steps: Sequence[PostProcessingStep]
    ) -> Iterable[FieldFault]:
        """The faults of steps next to the inputs."""
        return ()

    def unused(self, inputs: Inputs) -> Iterable[FieldFault]:
        """The faults of fields that mean nothing next to the others, if they are given."""
        return ()

    def items(self, inputs: Inputs) -> tuple[str, ...]:
        """Names of the numbers of each group; one empty name for a single number."""
        return self.names(inputs) if self.item else ("",)

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        """The names of the items, for a statistic that has several."""
        return ()

    def item_count(self, inputs: Inputs) -> int:
        """How many numbers each group has."""
        return len(self.items(inputs))

    def key_columns(self, inputs: Inputs) -> tuple[KeyColumn, ...]:
        """The columns that name the items in tables; empty if names of items do."""
        return ()

    def total_label(self, inputs: Inputs) -> str:
        """What a key is called in totals over it; empty if there are none."""
        return inputs.by[-1].total if inputs.by else ""

    def item_heading(self, inputs: Inputs) -> str:
        """The heading of a column of items."""
        return self.item

    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        """Sentences on how the published numbers are computed from the noisy answers."""
        return (self.derivation,) if self.derivation else ()

    def warnings(self, inputs: Inputs) -> tuple[str, ...]:
        """Sentences that a reader of the numbers must know."""
        return (f"{inputs.name}: {self.warning}",) if self.warning else ()

    def units(
        self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]
    ) -> tuple[str, ...]:
        """The unit of the numbers, for all or for each item; empty where none is stated.

        `counted` is what the statistic counts or takes values over, and `unit_of` gives the unit of
        a column.
        """
        if self.measure == "counts":
            return (counted,)
        if self.chooses_labels:
            return ("rank",)
        if self.publishes_dates(inputs):
            return ("date",)
        return (unit_of(inputs.column) if self.in_column_unit and inputs.column else "",)

    def publishes_dates(self, inputs: Inputs) -> bool:
        """Whether the published numbers are dates."""
        column = inputs.column if self.gives_dates else None
        return column is not None and column.is_date


def public_groups(inputs: Inputs) -> Iterable[FieldFault]:
    """The fault of private groups, for a statistic that takes only public ones."""
    private = next((axis.column.name for axis in inputs.by if axis.is_private), None)
    if private is not None:
        yield FieldFault("values-required.groups", "by", column=private)
