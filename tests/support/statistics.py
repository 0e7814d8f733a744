"""Every form in which a statistic can be asked about small columns; for law tests."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any

from dpcli.data.column import Column
from dpcli.data.filters import InRanges
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn, LabeledColumn
from dpcli.fields.section import column_role
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.queries.scores import Points
from dpcli.specification.compared_groups import compared_values
from dpcli.statistics.choices.top_values import SCORE_FUNCTIONS
from dpcli.statistics.design import INPUT_FIELDS, Inputs, SampleDesign
from dpcli.statistics.means.compared import PREVIOUS
from dpcli.statistics.public_numbers import PublicNumbers
from dpcli.statistics.statistic import Statistic


@dataclass(frozen=True)
class Columns:
    """Small columns: a number, another one, a category, a boolean, and ids if any."""

    number: NumericColumn
    second: NumericColumn
    category: LabeledColumn
    flag: LabeledColumn
    ids: Column | None = None


def forms(
    statistic: Statistic, columns: Columns, by: tuple[Axis, ...], where: tuple[InRanges, ...] = ()
) -> Iterator[Inputs]:
    """Requests with every combination of fields that the statistic reads."""
    for inputs in _forms(statistic, columns, by, where):
        yield inputs
        of = dict(inputs.options).get("of", statistic.name)
        if not inputs.where and inputs.sample is None and of in ("mean", "proportion"):
            yield _sized(inputs)


def _sized(inputs: Inputs) -> Inputs:
    """The inputs with public sizes of groups."""
    between = dict(inputs.options).get("between")
    axes = [*inputs.by, *([between] if between else [])]
    groups = product(*(axis.labels for axis in axes))
    sizes = tuple((labels, Fraction(7 + place)) for place, labels in enumerate(groups))
    numbers = PublicNumbers(tuple(axis.column.name for axis in axes), sizes)
    return replace(inputs, sizes=numbers)


def _forms(
    statistic: Statistic, columns: Columns, by: tuple[Axis, ...], where: tuple[InRanges, ...] = ()
) -> Iterator[Inputs]:
    bare = Inputs("r", by=by, where=where)
    fields = statistic.fields.model_fields
    if "slope" in statistic.families:
        yield from () if by else _predicted(bare, columns)
    elif "columns" in fields:
        yield from _several(statistic, replace(bare), columns)
    elif "per" in fields or "between" in fields:
        yield from _divided(fields.keys(), bare, columns)
    else:
        yield from _single(statistic, bare, columns)


def _single(statistic: Statistic, bare: Inputs, columns: Columns) -> Iterator[Inputs]:
    """Every form of a statistic of one column."""
    fields = statistic.fields.model_fields
    for column in _asked(statistic, columns):
        inputs = replace(bare, column=column)
        if "bins" in fields and statistic.name == "inequality":
            yield from (replace(inputs, options=(("bins", bins),)) for bins in (10, 1))
        elif "bins" in fields:
            yield from _binned(inputs, columns, bare.by)
        elif "utility" in fields:
            yield from _judged(inputs, columns)
        elif "candidates" in fields:
            yield from _chosen(statistic, inputs, columns)
        elif "k" in fields:
            yield from (replace(inputs, k=k) for k in (1, 2))
        elif "on" in fields:
            related = (columns.second, columns.number)
            yield replace(inputs, columns=related, method="moments")
            yield replace(inputs, columns=related, method="moments", ridge=Fraction(1, 10))
        else:
            yield replace(inputs, options=_options(statistic))
            relation = Relation(RowUnit(), Neighbors.ADD_REMOVE)
            sampled = replace(inputs, sample=SampleDesign(1000, 100), options=_options(statistic))
            if any(design.has_population for design in statistic.designs(sampled, relation)):
                yield sampled
            if "weight" in fields:
                yield replace(inputs, options=_options(statistic), weight=columns.second)


def _predicted(bare: Inputs, columns: Columns) -> Iterator[Inputs]:
    """Coefficients that predict a boolean, or some labels of a category; without groups."""
    for column, values in ((columns.flag, None), (columns.category, ((0, 0),))):
        options = (("values", values),)
        yield replace(
            bare, column=column, columns=(columns.second, columns.number), options=options
        )


def _divided(fields: Collection[str], bare: Inputs, columns: Columns) -> Iterator[Inputs]:
    """Ratios of sums and counts; proportions of a boolean and a category; comparisons."""
    number, second, category, flag = (
        columns.number, columns.second, columns.category, columns.flag,
    )  # fmt: skip
    grouped = any(key.column is category for key in bare.by)
    if "between" in fields:
        yield from _compared(bare, columns)
    elif "denominator" in fields:
        for above, below in (
            (number, second), (number, None), (None, second),
            (flag, None), (None, flag), (second, flag),
        ):  # fmt: skip
            parts = {"numerator": above, "denominator": below, "per": 10}
            yield replace(bare, options=tuple(parts.items()))
    elif "values" in fields:
        yield replace(bare, column=flag, options=(("values", None), ("per", 100)))
        yield replace(bare, column=flag, weight=second, options=(("values", None), ("per", 1)))
        if not grouped:
            some = ((1, len(category.labels) - 1),)
            yield replace(bare, column=category, options=(("values", some), ("per", None)))


def _compared(bare: Inputs, columns: Columns) -> Iterator[Inputs]:
    """Comparisons of counts, totals, means, medians, shares and ratios, of two or more groups.

    The boolean is compared only where no filter is about it.
    """
    number, second, category, flag = (
        columns.number, columns.second, columns.category, columns.flag,
    )  # fmt: skip
    grouped = any(key.column is category for key in bare.by)
    apart = ("between", compared_values(second, (0, 1)))
    yield replace(bare, column=second, options=(("of", "count"), apart))
    parts = (("numerator", number), ("denominator", second), ("per", 10))
    if grouped:
        if not bare.where:
            flags = ("between", compared_values(flag, (0, 1)))
            yield replace(bare, column=number, options=(("of", "mean"), flags))
        return
    between = ("between", compared_values(category, (0, 1)))
    every = ("between", compared_values(category, range(len(category.labels))))
    yield replace(bare, options=(("of", None), between))
    yield replace(bare, options=(("of", None), every))
    if number.lower >= 0:
        yield replace(bare, column=number, options=(("of", "sum"), between))
    yield replace(bare, column=number, options=(("of", "mean"), every, ("reference", PREVIOUS)))
    yield replace(bare, column=number, options=(("of", "median"), every))
    yield replace(bare, options=(("of", "ratio"), between, *parts))
    if bare.where:
        return
    yield replace(bare, column=flag, options=(("of", "mean"), between))
    share = (("values", None), ("per", 100))
    yield replace(bare, column=flag, options=(("of", "proportion"), every, *share))
    rows = (("numerator", flag), ("denominator", None), ("per", None))
    yield replace(bare, options=(("of", "ratio"), every, *rows))


def _options(statistic: Statistic) -> tuple[tuple[str, Any], ...]:
    """Fields that only this statistic has, with the examples that it gives."""
    fields = statistic.fields.model_fields.items()
    own = {key: field.examples[0] for key, field in fields if field.examples}
    texts = {key: str(example) for key, example in own.items()}
    values = statistic.fields.model_validate(texts) if own.keys() - INPUT_FIELDS else None
    return tuple((key, getattr(values, key)) for key in own if key not in INPUT_FIELDS)


def kinds_of(statistic: Statistic) -> tuple[str, ...]:
    """The kinds of column that the field `column` of a statistic accepts."""
    field = statistic.fields.model_fields.get("column")
    role = column_role(field) if field else None
    return role.kinds if role and role.refers_to == "column" else ()


def _asked(statistic: Statistic, columns: Columns) -> list[Column | None]:
    """What can be asked about."""
    kinds = kinds_of(statistic)
    asked: list[Column | None] = []
    if columns.number.kind in kinds:
        asked.append(columns.number)
    elif columns.category.kind in kinds:
        asked.append(columns.category)
    if "id" in kinds and columns.ids is not None:
        asked.append(columns.ids)
    field = statistic.fields.model_fields.get("column")
    if (field is None or not field.is_required()) and (
        "id" not in kinds or columns.ids is not None
    ):
        asked.append(None)
    return asked


def _binned(inputs: Inputs, columns: Columns, by: tuple[Axis, ...]) -> Iterator[Inputs]:
    """Histograms of a number in one bin or in many, and of a category."""
    number = columns.number
    yield replace(inputs, bins=Axis(number, (number.lower,)))
    if number.upper - number.lower > 1:
        yield replace(inputs, bins=Axis(number, (*range(number.lower, number.upper),)))
    if not by:
        yield replace(inputs, column=columns.category, bins=Axis(columns.category))


def _points(column: NumericColumn) -> list[Points]:
    """The whole grid, and the ends alone."""
    return [range(column.lower, column.upper + 1), (column.lower, column.upper)]


def _chosen(statistic: Statistic, inputs: Inputs, columns: Columns) -> Iterator[Inputs]:
    """Two or three quantiles among all points or a few."""
    for points in _points(columns.number):
        asked = replace(inputs, candidates=points)
        if "quantiles" in statistic.fields.model_fields:
            yield replace(asked, quantiles=(Fraction(9, 10), Fraction(1, 4)))
            yield replace(asked, quantiles=(Fraction(1, 2), Fraction(9, 10), Fraction(1, 4)))
        else:
            yield asked


def _judged(inputs: Inputs, columns: Columns) -> Iterator[Inputs]:
    """Choices by each utility."""
    for utility in SCORE_FUNCTIONS:
        for points in _points(columns.number):
            asked = replace(inputs, candidates=points, utility=utility)
            if utility == "accuracy":
                yield replace(asked, label=columns.flag)
            elif points[0] >= 0:
                yield asked


def _several(statistic: Statistic, inputs: Inputs, columns: Columns) -> Iterator[Inputs]:
    """Several columns together."""
    if statistic.item == "column":
        other = BooleanColumn("y", (("0", "false"), ("1", "true")))
        for most in (1, 2) if "max_selected" in statistic.fields.model_fields else (2,):
            options = (("max_selected", most),)
            yield replace(inputs, checked=(columns.flag, other), options=options)
        return
    if "ways" not in statistic.fields.model_fields:
        yield replace(inputs, columns=(columns.number, columns.second))
        return
    number = columns.number
    margins: tuple[Axis, ...] = (Axis(columns.flag),)
    if number.upper - number.lower > 1:
        margins = (Axis(number, (number.lower, number.upper - 1)), *margins)
    counts = range(1, len(margins) + 1)
    for ways in chain.from_iterable(combinations(counts, some) for some in counts):
        yield replace(inputs, margins=margins, ways=ways)
