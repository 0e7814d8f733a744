"""Bounds, or a limit on rows, that noisy counts choose: `{choose: ...}`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.steps import MAX_STEPS, require_whole_steps
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import ScalarNode, Span
from dpcli.fields.values import Choice, Epsilon, ExactNumber, Number, invalid_value
from dpcli.mechanisms.pure import Laplace
from dpcli.numeric.exact import readable_text
from dpcli.privacy.loss import BudgetAmount
from dpcli.privacy.unit import Relation
from dpcli.specification.context import SpecContext
from dpcli.specification.model import CentralSpec, Entry, Spec
from dpcli.statistics.bounds.chosen_bounds import (
    LIMIT_NAME,
    MAX_ROWS,
    BoundsChoice,
    ChosenBounds,
    bounds_name,
)
from dpcli.statistics.bounds.rule import GRID_KINDS, BoundsGrid

LadderName = Annotated[
    str, Choice("unknown-choice", lambda: {kind.name: kind.summary for kind in GRID_KINDS})
]
Cover = Annotated[Fraction, ExactNumber("bad-minimum.share", above=0, max_value=1)]

MAX_LIMIT = 1_000_000
"""The largest limit on rows; a larger one would protect no better than none."""

OutermostLimit = Annotated[
    int, ExactNumber("limit-not-whole.outermost", min_value=2, max_value=MAX_LIMIT, whole=True)
]

CHOICE_LINES = {"choose": "`choose: 1-2-5`", "epsilon": "`epsilon: 0.05`"}
"""The lines that messages propose for missing keys of a choice."""


class ChoiceModel(SectionModel):
    """What is chosen from noisy counts, up to an outermost value."""

    example: ClassVar[str]
    numbers: ClassVar[str]
    outermost_example: ClassVar[int]
    choose: LadderName
    epsilon: Epsilon
    cover: Cover = Fraction(1)

    def missing_line(self, key: str) -> str:
        return {**CHOICE_LINES, "up_to": f"`up_to: {self.outermost_example}`"}[key]

    @model_validator(mode="before")
    @classmethod
    def _require_form(cls, value: dict[str, object]) -> dict[str, object]:
        if "from_release" in value:
            release = value["from_release"]
            source = f" # chosen by {release}" if isinstance(release, str) else ""
            raise invalid_value("bounds-kept", path=("from_release",), line=cls.example + source)
        if not {field.alias or key for key, field in cls.model_fields.items()} & value.keys():
            line = f"`{cls.example}`, or `{{choose: 1-2-5, up_to: ..., epsilon: ...}}`"
            form = f"{cls.numbers}, or a mapping that chooses"
            raise invalid_value("wrong-shape", line=line, form=form)
        return value

    def add_choice(
        self,
        kind: type[BoundsChoice],
        column: NumericColumn,
        span: Span,
        context: SpecContext,
        **more: Any,
    ) -> None:
        """Adds to the context how noisy counts choose among candidate bounds of a column."""
        grid = BoundsGrid(column, next(known for known in GRID_KINDS if known.name == self.choose))
        if len(grid.bins) == 1:
            arguments = dict(zip(("low", "high"), map(column.text, column.limits), strict=True))
            raise span.report("bounds-unused.single", ladder=self.choose, **arguments)
        choice = kind(grid, self.cover, self.epsilon, **more)
        context.choices[choice.name] = choice, span
        if choice.name == bounds_name(column.name):
            context.chosen.add(column.name)


class ChosenBoundsModel(ChoiceModel):
    """Bounds that are chosen from noisy counts within the outermost ones."""

    example, numbers, outermost_example = "bounds: [0, 5000]", "two numbers", 10_000_000
    lowest: Number = Field(Fraction(0), alias="from")
    up_to: Number

    def outermost(self, step: Fraction) -> tuple[tuple[int, int], tuple[str, str]]:
        """The outermost bounds in whole steps that fit 64 bits, and the bounds as texts."""
        low, high = self.lowest, self.up_to
        texts = readable_text(low), readable_text(high)
        if low >= high:
            code = "bounds-order.equal" if low == high else "bounds-order.chosen"
            raise self.report(code, "up_to", low=texts[0], high=texts[1])
        larger = step
        while max(abs(low), abs(high)) / larger >= MAX_STEPS:
            larger *= 10
        if larger > step:
            arguments = {"step": readable_text(step), "larger": readable_text(larger)}
            raise self.report("grid-too-fine.step", "up_to", name="the bounds", **arguments)

        def in_steps(key: str, bound: Fraction) -> int:
            scalar = self.node.value(key)
            if not isinstance(scalar, ScalarNode):
                return 0  # The default.
            return require_whole_steps(bound / step, step, scalar, f"`{key}`")

        return (in_steps("from", low), in_steps("up_to", high)), texts


class ChosenLimitModel(ChoiceModel):
    """A limit that is chosen from noisy counts of people by their rows."""

    example, numbers, outermost_example = "max_rows: 20", "a number", 1000
    up_to: OutermostLimit


def choice_entry(choice: BoundsChoice, relation: Relation) -> Entry:
    """The charged entry of the histogram for a choice, with Laplace noise."""
    budget = BudgetAmount(epsilon=choice.epsilon)
    inputs, histogram = choice.inputs, choice.histogram
    return Entry(inputs, histogram, (Laplace(),), budget, histogram.designs(inputs, relation))


def require_choices_fit(context: SpecContext, spec: Spec) -> None:
    """Reports choices that no query uses, and statistics that a choice could break.

    An unused choice would be charged; a spec of the local model uses none. If a statistic became
    invalid only after the choice, its problem would reveal the choice, which would already be
    charged. It is enough to check the narrowest and the widest bounds.
    """
    entries: Sequence[Entry] = ()
    for choice, span in context.choices.values():
        if isinstance(spec, CentralSpec):
            entries = spec.charged_entries if choice.serves_check else spec.entries
        if not any(choice.decides(query) for entry in entries for query in entry.queries):
            span.report(choice.code, column=choice.column_name)
    if context.findings or not isinstance(spec, CentralSpec) or not spec.choices:
        return
    for bounded in narrowest_and_widest(spec):
        for entry in bounded.entries:
            for fault in entry.statistic.faults(entry.inputs, bounded.privacy.relation):
                span = context.names[entry.inputs.name]
                span.report_and_suppress(fault.code, **fault.arguments)


ByHistogram = Mapping[str, ChosenBounds]
"""The chosen bounds, by the name of the histogram that chose them."""


def with_chosen_bounds(spec: CentralSpec, chosen: ByHistogram) -> CentralSpec:
    """A copy of the spec with the bounds and the limit on rows that were chosen.

    Mechanisms and budgets stay as they are. The outermost bounds of the original spec contain the
    chosen ones, so what was checked for it still holds. The digest stays that of the text: the
    chosen bounds are stored under the id of the release. Raises KeyError unless all bounds are
    chosen, and ValueError for bounds that cannot be chosen.
    """
    choices = tuple(choice.with_chosen(chosen[choice.name]) for choice in spec.choices)

    def bounded(column: Column) -> Column:
        return reduce(lambda result, choice: choice.bounded(result), choices, column)

    unit = reduce(lambda limited, choice: choice.limited(limited), choices, spec.privacy.unit)
    privacy = replace(spec.privacy, unit=unit)
    relation, quality = privacy.relation, spec.quality
    entries = tuple(entry.answered_for(relation, bounded) for entry in spec.entries)
    if quality is not None:
        from dpcli.statistics.quality.quality_counts import QUALITY_COUNTS, with_limits

        designs = (entry.designs for entry in entries)
        inputs = with_limits(quality.entry.inputs.with_columns(bounded), designs, relation)
        counts = QUALITY_COUNTS.designs(inputs, relation)
        quality = replace(quality, entry=replace(quality.entry, inputs=inputs, designs=counts))
    columns = tuple(map(bounded, spec.columns))
    return replace(
        spec, privacy=privacy, columns=columns, entries=entries, quality=quality, choices=choices
    )


def narrowest_and_widest(spec: CentralSpec) -> list[CentralSpec]:
    """At most three copies of the spec with the extreme choices of bounds and limits.

    The first two have the narrowest bounds, the last has the widest. Where bounds may lie on both
    sides of zero, the narrowest ones begin at zero in the first copy and end at zero in the second.
    Every possible choice contains narrowest bounds, and lies within the widest ones.
    """
    names = [choice.name for choice in spec.choices]
    tried = dict.fromkeys(zip(*(choice.extremes for choice in spec.choices), strict=True))
    return [with_chosen_bounds(spec, dict(zip(names, ends, strict=True))) for ends in tried]


def to_json(chosen: ByHistogram) -> bytes:
    """The chosen bounds as JSON for the ledger; numbers are exact fractions as text."""
    counted = {
        name: {"counts": list(bounds.counts), "decided": bounds.decided}
        for name, bounds in chosen.items()
    }
    columns = [
        {
            "column": name.removeprefix(bounds_name("")),
            "lower": str(bounds.lower),
            "upper": str(bounds.upper),
            **counted[name],
        }
        for name, bounds in chosen.items()
        if name != LIMIT_NAME
    ]
    limit = chosen.get(LIMIT_NAME)
    rows = {MAX_ROWS: {"limit": str(limit.upper), **counted[LIMIT_NAME]}} if limit else {}
    return json.dumps({"bounds": columns, **rows}, ensure_ascii=False, indent=1).encode()


def from_json(stored: bytes) -> dict[str, ChosenBounds]:
    """The chosen bounds that `to_json` wrote, by the name of the histogram."""
    fields: dict[str, Any] = json.loads(stored)
    found = {bounds_name(chosen["column"]): chosen for chosen in fields["bounds"]}
    if MAX_ROWS in fields:
        limit = fields[MAX_ROWS]
        found[LIMIT_NAME] = {"lower": "0", "upper": limit["limit"], **limit}
    return {
        name: ChosenBounds(
            Fraction(chosen["lower"]),
            Fraction(chosen["upper"]),
            tuple(map(int, chosen["counts"])),
            decided=bool(chosen["decided"]),
        )
        for name, chosen in found.items()
    }
