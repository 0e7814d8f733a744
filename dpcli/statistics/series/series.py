"""Statistics of a running series: a release for each period, with totals to date.

Later answers use sums of earlier periods, which are sealed like the data. No noise is stored. The
releases of a series are charged to a ledger account with a window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from dpcli.fields.statistic_fields import FieldFault
from dpcli.privacy.unit import Relation
from dpcli.queries.query import LinearQuery
from dpcli.statistics.columns import SERIES_COLUMN
from dpcli.statistics.counts.counts import Count, Histogram, Sum
from dpcli.statistics.design import Design, Inputs
from dpcli.statistics.series.designs import BlocksSeries, RootSeries
from dpcli.statistics.series.shown import Shown
from dpcli.statistics.statistic import KeyColumn, Statistic, public_groups

ALONE = ("percent", "rate", "totals", "hierarchy", "known", "unit_bounds")
"""Fields that are not taken next to `series`."""


class Series(Statistic):
    """Sums by groups of each period, with totals to date and moving windows.

    Attributes:
        of_period: The statistic that publishes the numbers of one period.
    """

    of_period: ClassVar[Statistic]
    steps: ClassVar[tuple[str, ...]] = ()
    has_raw = False
    takes_best_mechanism = True
    item = "series"

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        """The inputs, with the shown numbers in place of the model of the spec."""
        model = given["series"]
        model.require()
        shown = tuple(map(Shown.named, model.show))
        return super().complete_inputs(bare, {**given, "series": shown})

    def shown(self, inputs: Inputs) -> tuple[Shown, ...]:
        """The shown numbers."""
        found: tuple[Shown, ...] = inputs.option("series")
        return found

    def series(self, inputs: Inputs, sums: LinearQuery) -> tuple[Design, ...]:
        """The designs of a series of these sums of periods."""
        arguments = self.name, sums, self.step(inputs), self.shown(inputs)
        return RootSeries.of(inputs, *arguments), BlocksSeries.of(inputs, *arguments)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterator[FieldFault]:
        """Faults of private groups, repeated numbers, and fields of other tables."""
        yield from super().faults(inputs, relation)
        yield from public_groups(inputs)
        options, shown = dict(inputs.options), self.shown(inputs)
        if len(set(shown)) < len(shown):
            yield FieldFault("series-form", "series")
        for key in ALONE:
            if options.get(key) or (key == "unit_bounds" and inputs.user_clamp is not None):
                yield FieldFault("series-form.alone", key, key=key)
        for axis in inputs.by:
            if axis.column.name == SERIES_COLUMN:
                yield FieldFault("series-form.column", "by", column=SERIES_COLUMN)
        if inputs.sample is not None:
            yield FieldFault("series-form.sample", "series")

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        inner = self.of_period.items(inputs)
        return tuple(
            f"{one}; {item}" if item else str(one) for one in self.shown(inputs) for item in inner
        )

    def key_columns(self, inputs: Inputs) -> tuple[KeyColumn, ...]:
        """The column `series`, and one for items within a period if there are any."""
        inner, shown = self.of_period.items(inputs), self.shown(inputs)
        series = (SERIES_COLUMN, tuple(str(one) for one in shown for _ in inner))
        if inner == ("",):
            return (series,)
        heading = self.of_period.item_heading(inputs)
        return series, (heading, tuple(item for _ in shown for item in inner))

    def item_count(self, inputs: Inputs) -> int:
        return len(self.shown(inputs)) * self.of_period.item_count(inputs)


class CountSeries(Series, Count):
    """A running series of counts."""

    of_period = Count()

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        return self.series(inputs, self.query(inputs))


class SumSeries(Series, Sum):
    """A running series of sums."""

    of_period = Sum()

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        return self.series(inputs, self.query(inputs))


class HistogramSeries(Series, Histogram):
    """A running series of the counts of bins."""

    of_period = Histogram()

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        return self.series(inputs, self.query(inputs))
