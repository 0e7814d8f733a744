"""What `accuracy.py` asks dpcli and other libraries: tables, statistics and their errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.int64]
Table = Mapping[str, Values]
"""Columns of equal length, by name."""

Draws = Sequence[Sequence[float]]
"""What is published, once for each draw."""

ROWS, UPPER = 1000, 100
QUANTILE_ROWS, QUANTILE_UPPER = 3000, 10_000
LABEL_ROWS, LABELS = 5000, 50
ANSWERS = 8

DECILES = tuple(step / 10 for step in range(1, 10))
PERCENTILES = tuple(step / 100 for step in range(1, 100))


class Judge(Protocol):
    """How wrong published numbers are."""

    @property
    def numbers(self) -> int:
        """How many numbers are judged in each draw."""

    def __call__(self, draws: Draws) -> float:
        """The error of all draws."""


@dataclass(frozen=True)
class RootMeanSquare:
    """The root mean square error of numbers whose `exact` values are known."""

    exact: tuple[float, ...]

    @property
    def numbers(self) -> int:
        """How many numbers are judged in each draw."""
        return len(self.exact)

    def __call__(self, draws: Draws) -> float:
        return float(np.sqrt(np.mean((np.array(draws, dtype=float) - self.exact) ** 2)))


@dataclass(frozen=True)
class Ranks:
    """The mean distance of quantiles of some values from their `ranks`, in rows."""

    values: Values
    ranks: tuple[float, ...]

    @property
    def numbers(self) -> int:
        """How many numbers are judged in each draw."""
        return len(self.ranks)

    def __call__(self, draws: Draws) -> float:
        ordered, found = np.sort(self.values), np.array(draws, dtype=float)
        targets = np.array(self.ranks) * len(ordered)
        below = np.searchsorted(ordered, found, "left")
        up_to = np.searchsorted(ordered, found, "right")
        return float(np.mean(np.maximum(0, np.maximum(below - targets, targets - up_to))))


@dataclass(frozen=True)
class RowsLost:
    """How many rows fewer the published labels have than as many most frequent ones, on average.

    Labels are numbers, the indexes of `counts`.
    """

    counts: Values
    numbers: int

    def __call__(self, draws: Draws) -> float:
        best = np.sort(self.counts)[-self.numbers :].sum()
        return float(best - self.counts[np.array(draws, dtype=int)].sum(axis=1).mean())


@dataclass(frozen=True)
class Question:
    """What is published about a table, and how dpcli is asked.

    Attributes:
        name: What is printed; questions of one `kind` are answered in the same way.
        entry: The keys of the statistic but its name, its groups and its epsilon.
        table: The rows. Values are from zero to `upper`, or indexes of labels; with an
            `upper` of one they are answers to a question.
        judge: The error of what is published.
        labels: How many labels each column has; zero for columns of numbers.
        items: The published items that are judged; all if empty.
        ranks: The quantiles that are asked for.
        neighbors: Those of the spec.
        skips: Whether a row may have no value, so that the number of rows with one is private.
        mechanism: That of dpcli; its default if empty.
    """

    name: str
    entry: str
    table: Table
    judge: Judge
    upper: int = UPPER
    labels: int = 0
    items: tuple[str, ...] = ()
    ranks: tuple[float, ...] = ()
    neighbors: str = "add-remove"
    skips: bool = True
    mechanism: str = "laplace"
    epsilon: Fraction = field(default=Fraction(1))

    @property
    def kind(self) -> str:
        """The statistic that is asked for."""
        return self.entry.split(",")[0].removeprefix("statistic: ")

    @property
    def size_is_public(self) -> bool:
        """Whether the number of values is public."""
        return self.neighbors == "change-one" and not self.skips

    @property
    def judges_labels(self) -> bool:
        """Whether published labels are judged, instead of numbers."""
        return isinstance(self.judge, RowsLost)

    @property
    def numbers(self) -> int:
        """How many numbers are judged in each draw."""
        return self.judge.numbers

    def column(self, name: str) -> str:
        """The declaration of a column."""
        if self.labels:
            names = ", ".join(label(index) for index in range(self.labels))
            return f"{{type: category, values: [{names}]}}"
        if self.upper == 1:
            return "{type: boolean}"
        missing = "" if self.skips else ", missing: 0"
        return f"{{type: integer, bounds: [0, {self.upper}]{missing}}}"

    def cells(self, values: Values) -> list[int] | list[str]:
        """The cells of a column in a file."""
        if self.labels:
            return [label(index) for index in values.tolist()]
        if self.upper == 1:
            return [("false", "true")[index] for index in values.tolist()]
        numbers: list[int] = values.tolist()
        return numbers


def label(index: int) -> str:
    """The text of a label."""
    return f"v{index:02}"


def questions() -> Iterator[Question]:
    """All questions."""
    yield from _sums_and_means()
    yield from _quantiles()
    yield from _pairs()
    yield from _labels()
    yield from _tables()
    yield from _two_cells()


def _sums_and_means() -> Iterator[Question]:
    generator = np.random.default_rng(20)
    for name, mean in (("t = 0", 50), ("t = 0.35", 67.5), ("t = 0.7", 85)):
        near = {"x": _rounded(generator.normal(mean, 8, ROWS), UPPER)}
        judge = RootMeanSquare((float(near["x"].mean()),))
        entry = "statistic: mean, column: x"
        yield Question(f"mean, {name}", entry, near, judge)
        yield Question(f"mean, {name}, changed", entry, near, judge, neighbors="change-one")
    spread = _rounded(generator.normal(40, 20, ROWS), UPPER)
    table, mean, variance = {"x": spread}, float(spread.mean()), float(spread.var())
    yield Question("count", "statistic: count", table, RootMeanSquare((ROWS,)))
    total = RootMeanSquare((float(spread.sum()),))
    yield Question("sum", "statistic: sum, column: x", table, total)
    for kind, exact in (("mean", mean), ("variance", variance)):
        entry, judge = f"statistic: {kind}, column: x", RootMeanSquare((exact,))
        yield Question(
            f"{kind}, rows public", entry, table, judge, neighbors="change-one", skips=False
        )
    entry, judge = "statistic: variance, column: x", RootMeanSquare((variance,))
    yield Question("variance", entry, table, judge)
    yield Question("variance, changed", entry, table, judge, neighbors="change-one")


def _quantiles() -> Iterator[Question]:
    generator = np.random.default_rng(21)
    incomes = _rounded(generator.lognormal(7.5, 0.6, QUANTILE_ROWS), QUANTILE_UPPER)
    for upper, ranks, name in (
        (QUANTILE_UPPER, (0.5,), "median (ranks)"),
        (QUANTILE_UPPER, DECILES, "nine deciles (ranks)"),
        (1000, DECILES, "the same of 0 to 1000"),
        (QUANTILE_UPPER, PERCENTILES, "99 percentiles (ranks)"),
        (1000, PERCENTILES, "the same of 0 to 1000"),
    ):
        values = incomes * upper // QUANTILE_UPPER
        entry = f"statistic: quantile, column: x, quantiles: {list(ranks)}"
        yield Question(
            name, entry, {"x": values}, Ranks(values, ranks), upper, ranks=ranks, mechanism=""
        )


def _pairs() -> Iterator[Question]:
    generator = np.random.default_rng(22)
    x = _rounded(generator.normal(45, 18, ROWS), UPPER)
    y = _rounded(20 + 0.5 * x + generator.normal(0, 15, ROWS), UPPER)
    table = {"x": x, "y": y}
    moments = np.cov(x, y, ddof=0)
    for kind, exact in (("covariance", moments[0, 1]), ("correlation", np.corrcoef(x, y)[0, 1])):
        entry = f"statistic: {kind}, columns: [x, y]"
        yield Question(kind, entry, table, RootMeanSquare((float(exact),)), items=("x:y",))
    slope = RootMeanSquare((float(moments[0, 1] / moments[0, 0]),))
    entry = "statistic: linear_regression, column: y, on: [x]"
    yield Question("slope of a line", entry, table, slope, items=("x",))
    for part in (0.1, 0.5, 1.0):
        above = _rounded(part * y, UPPER)
        judge = RootMeanSquare((float(above.sum() / y.sum()),))
        entry = "statistic: ratio, numerator: x, denominator: y"
        yield Question(f"ratio of {part:g}", entry, {"x": above, "y": y}, judge)


def _labels() -> Iterator[Question]:
    generator = np.random.default_rng(23)
    weights = 1 / (5 + np.arange(LABELS))
    labels = generator.choice(LABELS, LABEL_ROWS, p=weights / weights.sum()).astype(np.int64)
    counts = np.bincount(labels, minlength=LABELS)
    for k in (1, 2, 5, 10):
        kind = "mode, column: x" if k == 1 else f"top_k, column: x, k: {k}"
        yield Question(
            f"top {k} of {LABELS} (rows lost)", f"statistic: {kind}", {"x": labels},
            RowsLost(counts, k), labels=LABELS, mechanism="", epsilon=Fraction(1, 50),
        )  # fmt: skip
    for count in (2, ANSWERS):
        chosen = {
            f"x{i}": (generator.random(ROWS) < 0.1 * i).astype(np.int64) for i in range(count)
        }
        judge = RootMeanSquare(tuple(float(one.sum()) for one in chosen.values()))
        entry = f"statistic: selections, columns: [{', '.join(chosen)}]"
        yield Question(
            f"counts of {count} answers", entry, chosen, judge, upper=1, items=tuple(chosen)
        )


def _tables() -> Iterator[Question]:
    """A table for each of several columns with the same number of labels."""
    generator = np.random.default_rng(25)
    for columns, labels in ((4, 3), (6, 2), (2, 10)):
        drawn = {f"x{at}": generator.integers(0, labels, ROWS) for at in range(columns)}
        counts = (np.bincount(values, minlength=labels) for values in drawn.values())
        judge = RootMeanSquare(tuple(float(count) for table in counts for count in table))
        entry = f"statistic: marginals, columns: [{', '.join(drawn)}], ways: 1"
        yield Question(f"{columns} tables of {labels} labels", entry, drawn, judge, labels=labels)


def _two_cells() -> Iterator[Question]:
    """Counts of two labels, and a share, where rows are changed."""
    inside = (np.random.default_rng(24).random(ROWS) < 0.3).astype(np.int64)
    counts, share = np.bincount(inside), float(inside.mean())
    yield Question(
        "counts of 2 labels, changed", "statistic: histogram, column: x", {"x": inside},
        RootMeanSquare(tuple(map(float, counts))), labels=2, items=(label(0), label(1)),
        neighbors="change-one",
    )  # fmt: skip
    yield Question(
        "share, changed", "statistic: proportion, column: x", {"x": inside},
        RootMeanSquare((share,)), upper=1, neighbors="change-one",
    )  # fmt: skip


def _rounded(values: NDArray[np.floating], upper: int) -> Values:
    rounded: Values = np.clip(np.rint(values), 0, upper).astype(np.int64)
    return rounded
