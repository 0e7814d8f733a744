"""Answers of other libraries to the questions of `accuracy.py`.

Each class is a library, asked one question; a method named after a statistic answers it once. Where
a library has no such statistic, it is asked as its users would: a mean of an unknown number of rows
is a sum over a count, a ratio one of two sums, and counts of several columns are several counts;
epsilon is divided equally.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tests.benchmarks.questions import DECILES, Question, Table, Values

Answer = Callable[[Table], Sequence[float]]
"""One draw of a library: the numbers that it publishes about a table."""


class Library:
    """A library that answers a question.

    Attributes:
        module: What is imported.
        name: How the library is called.
        package: What has to be installed.
    """

    module: ClassVar[str]
    name: ClassVar[str]
    package: ClassVar[str]

    def __init__(self, question: Question) -> None:
        self.question = question
        self.epsilon = float(question.epsilon)
        self.bounds = (0, question.upper)

    @cached_property
    def tools(self) -> Any:
        """The module, or None if it is not installed."""
        try:
            return importlib.import_module(self.module)
        except ImportError:
            return None

    @property
    def can_answer(self) -> bool:
        """Whether the library has such an answer; here, for rows that are added or removed."""
        return self.question.neighbors == "add-remove"

    @property
    def answer(self) -> Answer | None:
        """What answers the question; None if the library cannot, or is not installed."""
        if self.tools is None or not self.can_answer:
            return None
        found: Answer | None = getattr(self, self.question.kind, None)
        return found

    def greatest(self, counts: Sequence[float]) -> Sequence[float]:
        """The indexes of as many counts as are judged, the greatest first."""
        order: Sequence[float] = np.argsort(-np.asarray(counts), kind="stable").tolist()
        return order[: self.question.numbers]


class OpenDP(Library):
    """OpenDP; a row that is changed is one that is removed and one that is added."""

    module, name, package = "opendp.prelude", "OpenDP", "opendp"

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        if dp := self.tools:
            dp.enable_features("contrib", "honest-but-curious")
            self.whole = (dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.symmetric_distance())

    @property
    def can_answer(self) -> bool:
        """A variance needs a public number of rows."""
        return self.question.kind != "variance" or self.question.size_is_public

    def calibrated(self, space: Any, share: float) -> Any:
        """A measurement with Laplace noise that costs a share of epsilon."""
        dp = self.tools
        moved = 1 if self.question.neighbors == "add-remove" else 2
        return dp.binary_search_chain(
            lambda scale: space >> dp.m.then_laplace(scale), d_in=moved, d_out=share
        )

    @cached_property
    def measured(self) -> Sequence[Any]:
        """The measurements that the question needs."""
        dp, kind = self.tools, self.question.kind
        clamped = self.whole >> dp.t.then_clamp(self.bounds)
        total, count = clamped >> dp.t.then_sum(), self.whole >> dp.t.then_count()
        if self.question.size_is_public:
            size = len(self.question.table["x"])
            numbers = dp.atom_domain(T=float, bounds=(0.0, float(self.bounds[1])), nan=False)
            sized = (dp.vector_domain(numbers, size=size), dp.symmetric_distance())
            then = dp.t.then_mean() if kind == "mean" else dp.t.then_variance(ddof=0)
            return [self.calibrated(sized >> then, self.epsilon)]
        if kind == "marginals":
            space = self.whole >> dp.t.then_count_by_categories([*range(self.question.labels)])
            return [self.calibrated(space, self.epsilon / len(self.question.table))]
        if self.question.labels or kind == "proportion":
            labels = list(range(self.question.labels or 2))
            space = self.whole >> dp.t.then_count_by_categories(labels)
            return [self.calibrated(space, self.epsilon)]
        parts = {"count": [count], "mean": [total, count], "ratio": [total, total]}
        spaces = parts.get(kind, [total] * len(self.question.table))
        return [self.calibrated(space, self.epsilon / len(spaces)) for space in spaces]

    def count(self, table: Table) -> Sequence[float]:
        """The number of rows."""
        return [self.measured[0](table["x"].tolist())]

    def sum(self, table: Table) -> Sequence[float]:
        """The sum of a column."""
        return [self.measured[0](table["x"].tolist())]

    def mean(self, table: Table) -> Sequence[float]:
        """A mean of a public number of rows, or a sum over a count."""
        if self.question.size_is_public:
            return [self.measured[0](table["x"].astype(float).tolist())]
        above, below = (measured(table["x"].tolist()) for measured in self.measured)
        return [min(max(above / max(below, 1), 0), self.bounds[1])]

    def variance(self, table: Table) -> Sequence[float]:
        """The variance of a public number of rows."""
        return [self.measured[0](table["x"].astype(float).tolist())]

    def ratio(self, table: Table) -> Sequence[float]:
        """A sum over a sum."""
        parts = zip(self.measured, table.values(), strict=True)
        above, below = (measured(values.tolist()) for measured, values in parts)
        return [above / max(below, 1)]

    def selections(self, table: Table) -> Sequence[float]:
        """A sum of each column."""
        parts = zip(self.measured, table.values(), strict=True)
        return [measured(values.tolist()) for measured, values in parts]

    def top_k(self, table: Table) -> Sequence[float]:
        """The greatest of the counts of all labels."""
        counts = self.measured[0](table["x"].tolist())
        # The last count is that of other labels.
        return self.greatest(counts[: self.question.labels])

    mode = top_k

    def histogram(self, table: Table) -> Sequence[float]:
        """The counts of all labels."""
        counts: Sequence[float] = self.measured[0](table["x"].tolist())
        return counts[: self.question.labels]

    def marginals(self, table: Table) -> Sequence[float]:
        """The counts of all labels of each column; the last count is that of others."""
        tables = (self.measured[0](values.tolist())[:-1] for values in table.values())
        return [count for counts in tables for count in counts]

    def proportion(self, table: Table) -> Sequence[float]:
        """The count of one answer over that of both."""
        outside, inside, _ = self.measured[0](table["x"].tolist())
        return [min(max(inside / max(outside + inside, 1), 0), 1)]


class Diffprivlib(Library):
    """IBM's library; the number of rows is public, except in counts."""

    module, name, package = "diffprivlib.tools", "diffprivlib", "diffprivlib"

    @property
    def can_answer(self) -> bool:
        """Means and variances are of a public number of rows; few quantiles are compared."""
        if self.question.kind in ("mean", "variance"):
            return self.question.size_is_public
        return super().can_answer and self.question.ranks in ((), (0.5,), DECILES)

    def of_column(self, tool: Callable[..., Any], values: Values, parts: int = 1) -> float:
        """The answer of a tool about a column, for a part of epsilon."""
        share = self.epsilon / parts
        return float(tool(values.astype(float), epsilon=share, bounds=self.bounds))

    def counted(self, values: Values, parts: int = 1) -> float:
        """The number of values that are not zero, for a part of epsilon."""
        # As many zeros as values: noise is cut off at the length of the array.
        twice = np.concatenate([values, np.zeros_like(values)])
        return float(self.tools.count_nonzero(twice, epsilon=self.epsilon / parts))

    def count(self, table: Table) -> Sequence[float]:
        """The number of rows."""
        return [self.counted(np.ones_like(table["x"]))]

    def sum(self, table: Table) -> Sequence[float]:
        """The sum of a column."""
        return [self.of_column(self.tools.sum, table["x"])]

    def mean(self, table: Table) -> Sequence[float]:
        """The mean of a column."""
        return [self.of_column(self.tools.mean, table["x"])]

    def variance(self, table: Table) -> Sequence[float]:
        """The variance of a column."""
        return [self.of_column(self.tools.var, table["x"])]

    def quantile(self, table: Table) -> Sequence[float]:
        """The quantiles of a column."""
        values = table["x"].astype(float)
        return [
            float(self.tools.quantile(values, rank, epsilon=share, bounds=self.bounds))
            for share in [self.epsilon / len(self.question.ranks)]
            for rank in self.question.ranks
        ]

    def ratio(self, table: Table) -> Sequence[float]:
        """A sum over a sum."""
        above, below = (self.of_column(self.tools.sum, values, 2) for values in table.values())
        return [above / max(below, 1)]

    def linear_regression(self, table: Table) -> Sequence[float]:
        """The slope of a line."""
        models = importlib.import_module("diffprivlib.models")
        model = models.LinearRegression(
            epsilon=self.epsilon, bounds_X=self.bounds, bounds_y=self.bounds
        )
        return [float(model.fit(table["x"][:, None], table["y"]).coef_[0])]

    def selections(self, table: Table) -> Sequence[float]:
        """A count of each column."""
        return [self.counted(values, len(table)) for values in table.values()]

    def top_k(self, table: Table) -> Sequence[float]:
        """The greatest of the counts of all labels."""
        labels = self.question.labels
        counts, _ = self.tools.histogram(
            table["x"], epsilon=self.epsilon, bins=labels, range=(0, labels)
        )
        return self.greatest(counts)

    mode = top_k


class PyDP(Library):
    """Google's library, as PyDP calls it."""

    module, name, package = "pydp.algorithms.laplacian", "PyDP", "python-dp"

    def bounded(self, algorithm: str, values: Values, parts: int = 1) -> float:
        """The answer of an algorithm about whole numbers, for a part of epsilon."""
        asked = getattr(self.tools, algorithm)(
            epsilon=self.epsilon / parts, lower_bound=0, upper_bound=self.bounds[1], dtype="int"
        )
        return float(asked.quick_result(values.tolist()))

    def percentile(self, values: Values, rank: float) -> float:
        """A quantile of a column, for its part of epsilon."""
        low, high = map(float, self.bounds)
        # That of whole numbers is always zero (1.1.5).
        asked = self.tools.Percentile(
            epsilon=self.epsilon / len(self.question.ranks), percentile=rank,
            lower_bound=low, upper_bound=high, dtype="float",
        )  # fmt: skip
        return float(asked.quick_result(values.astype(float).tolist()))

    def counted(self, values: Values, parts: int = 1) -> float:
        """The number of values, for a part of epsilon."""
        asked = self.tools.Count(epsilon=self.epsilon / parts, dtype="int")
        return float(asked.quick_result(values.tolist()))

    def count(self, table: Table) -> Sequence[float]:
        """The number of rows."""
        return [self.counted(table["x"])]

    def sum(self, table: Table) -> Sequence[float]:
        """The sum of a column."""
        return [self.bounded("BoundedSum", table["x"])]

    def mean(self, table: Table) -> Sequence[float]:
        """The mean of a column."""
        return [self.bounded("BoundedMean", table["x"])]

    def variance(self, table: Table) -> Sequence[float]:
        """The variance of a column."""
        return [self.bounded("BoundedVariance", table["x"])]

    def quantile(self, table: Table) -> Sequence[float]:
        """The quantiles of a column."""
        return [self.percentile(table["x"], rank) for rank in self.question.ranks]

    def ratio(self, table: Table) -> Sequence[float]:
        """A sum over a sum."""
        above, below = (self.bounded("BoundedSum", values, 2) for values in table.values())
        return [above / max(below, 1)]

    def selections(self, table: Table) -> Sequence[float]:
        """A count of each column."""
        return [self.counted(values[values == 1], len(table)) for values in table.values()]

    def top_k(self, table: Table) -> Sequence[float]:
        """The greatest of the counts of all labels."""
        values, labels = table["x"], range(self.question.labels)
        return self.greatest([self.counted(values[values == one]) for one in labels])

    mode = top_k


class PipelineDP(Library):
    """PipelineDP on one machine: each row has an id of its own, and the only group is public."""

    module, name, package = "pipeline_dp", "PipelineDP", "pipeline-dp"

    def count(self, table: Table) -> Sequence[float]:
        """The number of rows."""
        return self.aggregated([self.tools.Metrics.COUNT], table["x"])

    def sum(self, table: Table) -> Sequence[float]:
        """The sum of a column."""
        return self.aggregated([self.tools.Metrics.SUM], table["x"])

    def mean(self, table: Table) -> Sequence[float]:
        """The mean of a column."""
        return self.aggregated([self.tools.Metrics.MEAN], table["x"])

    def variance(self, table: Table) -> Sequence[float]:
        """The variance of a column."""
        return self.aggregated([self.tools.Metrics.VARIANCE], table["x"])

    def quantile(self, table: Table) -> Sequence[float]:
        """The quantiles of a column."""
        named = [self.tools.Metrics.PERCENTILE(round(100 * rank)) for rank in self.question.ranks]
        return self.aggregated(named, table["x"])

    def aggregated(self, metrics: Sequence[Any], values: Values) -> Sequence[float]:
        """Some metrics of a column."""
        library = self.tools
        accountant = library.NaiveBudgetAccountant(total_epsilon=self.epsilon, total_delta=1e-10)
        engine = library.DPEngine(accountant, library.LocalBackend())
        options = library.AggregateParams(
            metrics=metrics, noise_kind=library.NoiseKind.LAPLACE, max_partitions_contributed=1,
            max_contributions_per_partition=1, min_value=0, max_value=self.bounds[1],
        )  # fmt: skip
        extractors = library.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: 0,
            value_extractor=lambda row: row[1],
        )
        rows = list(enumerate(values.tolist()))
        answers = engine.aggregate(rows, options, extractors, public_partitions=[0])
        accountant.compute_budgets()
        ((_, numbers),) = answers
        return list(numbers)


LIBRARIES: Sequence[type[Library]] = (OpenDP, Diffprivlib, PyDP, PipelineDP)
