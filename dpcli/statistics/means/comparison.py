"""Comparisons of groups: numbers, differences from one of them, ratios to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from dpcli.data.column import Column
from dpcli.data.kinds import Axis
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import (
    ComparedGroups,
    FieldFault,
    GroupSizes,
    LabelsOfColumn,
    RatioBase,
    RatioPart,
    ReferenceLabel,
    ValuedColumnName,
)
from dpcli.fields.values import Choice
from dpcli.privacy.unit import Relation
from dpcli.statistics.design import Design, Inputs
from dpcli.statistics.estimates import Limits
from dpcli.statistics.means.compared import ComparedNumbers, by_item, limits_of_pairs, pairs_of
from dpcli.statistics.means.compared_counts import Counts, Totals
from dpcli.statistics.means.differences import MEANS, RATIOS, SHARES
from dpcli.statistics.means.ratio import Per
from dpcli.statistics.quantiles.compared_medians import Medians
from dpcli.statistics.statistic import Statistic

DIFFERENCE, INDEX = "difference", "index"

COMPARED: Final[dict[str, ComparedNumbers]] = {
    "count": Counts(),
    "sum": Totals(),
    "people": Counts(),
    "mean": MEANS,
    "proportion": SHARES,
    "ratio": RATIOS,
    "median": Medians(),
}
"""What may be compared, by the value of `of`."""

OWN_FIELDS = ("column", "values", "per", "numerator", "denominator", "sizes")
"""Fields that only some compared statistics take."""

Compared = Annotated[str, Choice("unknown-compared", tuple(COMPARED)), Field(examples=["count"])]


def compared(inputs: Inputs) -> ComparedNumbers:
    """What a comparison compares; by default, and for people, numbers of rows."""
    return COMPARED[inputs.option("of") or "count"]


class Comparison(Statistic):
    """The numbers of several groups, and differences and ratios of pairs of them.

    `between: {sex: [f, m, x]}` names a column and two or more of its labels or values. The first is
    the reference, unless `reference` names another one. `between: month` is all labels of a column
    that `where` allows, and `reference: previous` compares each label with the one before it.
    `between: {young: {age: {max: 29}}, old: {age: {min: 65}}}` names groups with conditions, as in
    `where`. The spec alone must show that no row is in two groups: ranges or labels of some column
    have none in common.

    `of: count` compares numbers of rows, `of: sum` the totals of a numeric `column` without
    negative values, `of: mean` its means, `of: median` its medians from noisy counts,
    `of: proportion` the shares of a boolean, or of `values` of a category, and `of: ratio` a
    `numerator` over a `denominator` (odds, if both are booleans that exclude each other); overall
    or in each group of `by`. Items are the number of each
    label, differences such as `m - f` and ratios such as `m / f`. For two counts or totals they
    are called `difference` and `index`, which is 100 times the ratio. Numbers that may be negative
    have no ratios.

    All items come from noisy answers about groups that have no row in common, at the cost of the
    numbers alone: of a histogram, or of a `mean` with `by`. The interval of a difference allows for
    the noise of both groups, and that of a ratio covers all ratios of plausible numbers. Of
    medians, it follows from the ends of wider intervals: each of both medians has half of the risk.
    So it holds whatever the values, and is wider than both intervals together where these are
    dense. Of means and shares with public `sizes` of groups, it is a quantile of the difference of
    two noises. A difference is more than noise if its interval excludes zero; reports say whether
    it does. If many groups are compared, some of their intervals miss. If a `sample` is declared,
    all items are estimated for the population too (`explain sample`).

    Privacy: the groups are disjoint, as the bins of a `histogram`. Adding or removing a row
    changes one of the counts by 1, or one of the totals by at most U for values in
    [0, U]. Changing a row can move it from one to the other: 2, or 2 U, in L1. A person changes
    as many rows as the limits allow; each label counts as a group. If a row is changed,
    and there are two labels, no groups and no conditions, the difference and the sum of both change
    by 2, or 2 U, as well. With Laplace noise they are answered instead: both numbers and the
    difference have errors that are the root of two times smaller (`PairedQuery`). Where a person
    can be in many groups, counts and totals share noise as a `count` with `by`. Means, medians,
    shares and ratios have the queries of these statistics with the labels as one more key of `by`,
    and with `sizes` one centered sum of each group (`explain mean`).
    A row that passes several filters would be in the first group alone. What is computed from noisy
    answers costs nothing more.

    >>> sex = "{type: category, values: [f, m, x]}"
    >>> l1("statistic: comparison, between: {sex: [f, m]}", sex=sex)
    {'add-remove': [1], 'change-one': [2]}
    >>> hours = "{type: integer, bounds: [0, 60]}"
    >>> l1("statistic: comparison, of: sum, column: h, between: {sex: [f, m]}", sex=sex, h=hours)
    {'add-remove': [60], 'change-one': [120]}
    >>> l1("statistic: comparison, of: mean, column: h, between: {sex: [f, m]}", sex=sex, h=hours)
    {'add-remove': [60], 'change-one': [60]}
    >>> sized = "statistic: comparison, of: mean, column: h, between: {sex: [f, m]}"
    >>> filled = "{type: integer, bounds: [0, 60], missing: 0}"
    >>> l1(f"{sized}, sizes: {{f: 9, m: 8}}", sex=sex, h=filled)
    {'add-remove': [30], 'change-one': [60]}
    >>> flag = "{type: boolean}"
    >>> l1("statistic: comparison, of: mean, column: b, between: {sex: [f, m, x]}", sex=sex, b=flag)
    {'add-remove': [1], 'change-one': [2]}
    >>> age = "{type: integer, bounds: [0, 9]}"
    >>> l1("statistic: comparison, of: median, column: h, between: {sex: [f, m]}", sex=sex, h=age)
    {'add-remove': [1], 'change-one': [2]}
    >>> ages = "{young: {h: {max: 3}}, old: {h: {min: 4}}}"
    >>> l1(f"statistic: comparison, between: {ages}", h=age)
    {'add-remove': [1], 'change-one': [2]}

    No interval is given for an index or a ratio if the noise is so large that the number of the
    reference may be below one step. Where most runs would give none, an interval that is given is
    rarely right: it needs noise that makes that number larger.
    """

    name = "comparison"
    has_raw = False
    takes = field_types(
        of=Compared | None,
        column=ValuedColumnName | None,
        values=LabelsOfColumn | None,
        numerator=RatioPart | None,
        denominator=RatioBase | None,
        per=Per | None,
        between=ComparedGroups,
        reference=ReferenceLabel | None,
        sizes=GroupSizes | None,
    )
    measure = "values"
    mixed_units = True
    steps = ("suppress_below",)
    item = "compared"

    def adds_rows(self, inputs: Inputs) -> bool:
        """Whether it compares counts or totals; shares and ratios depend on them, too."""
        return compared(inputs).adds_rows or inputs.sizes is not None

    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        axis: Axis = inputs.option("between")
        *numbers, divisor = compared(inputs).sentences(inputs)
        if _has_index(inputs):
            return (f"difference and index of two noisy numbers ({divisor})",)
        base = axis.label(0) if pairs_of(inputs)[-1][0] == 0 else "the one before each"
        ratios = f", and ratios to it ({divisor})" if _limits(inputs)[-1] else ""
        return (*numbers, f"differences from {base}{ratios}")

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        """The inputs without the fields of other compared statistics.

        A label that is the reference is the first of the axis; another reference is `PREVIOUS`.
        """
        taken = {"of", "column", "between", *COMPARED[given["of"] or "count"].takes}
        if given["reference"] not in given["between"].labels:
            taken.add("reference")
        own = {key: value for key, value in given.items() if key in taken}
        return super().complete_inputs(bare, own)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterator[FieldFault]:
        """Faults for fields that do not fit what is compared, and for equal item names."""
        numbers = compared(inputs)
        if not numbers.has_numbers(inputs.column):
            yield FieldFault(numbers.fault, "of")
            return
        found = [*numbers.faults(inputs, relation)]
        yield from found
        names = () if found else self.names(inputs)
        if len(set(names)) < len(names):
            yield FieldFault("ambiguous-items", "between", subject=inputs.name)

    def unused(self, inputs: Inputs) -> Iterator[FieldFault]:
        """Faults of fields of another compared statistic."""
        of = inputs.option("of") or "count"
        for key in OWN_FIELDS:
            if key not in COMPARED[of].takes:
                yield FieldFault("comparison-form.key", key, word=key, of=of)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        return compared(inputs).designs(inputs, relation)

    def limits(self, inputs: Inputs) -> tuple[Limits, ...]:
        return by_item(inputs, *_limits(inputs))

    def units(
        self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]
    ) -> tuple[str, ...]:
        unit = compared(inputs).unit(inputs, counted, unit_of)
        ratio = None if _limits(inputs)[-1] is None else "%" if _has_index(inputs) else ""
        return by_item(inputs, unit, "percentage points" if unit == "%" else unit, ratio)

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        labels = inputs.option("between").labels
        if _has_index(inputs):
            return (*labels, DIFFERENCE, INDEX)
        pairs = [(labels[other], labels[base]) for base, other in pairs_of(inputs)]
        signs = (" - ", " / ") if _limits(inputs)[-1] else (" - ",)
        return (*labels, *(sign.join(pair) for sign in signs for pair in pairs))


def _has_index(inputs: Inputs) -> bool:
    """Whether there are two groups, whose ratio is an index in percent."""
    return compared(inputs).has_index and len(inputs.option("between")) == 2


def _limits(inputs: Inputs) -> tuple[Limits, Limits, Limits | None]:
    """The limits of numbers, differences and ratios; None if there are no ratios."""
    limits = compared(inputs).limits(inputs)
    return (limits, *limits_of_pairs(limits))
