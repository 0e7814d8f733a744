"""Sums of published numbers lie within the bounds of `dpcli sum`, for every audited design.

A release has many groups of the same few rows, so it has as many independent sums of the numbers of
a group, and all of them have the same noise-free sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dpcli
from dpcli.numeric.arrays import Floats
from dpcli.problems.errors import UsageError
from dpcli.report.report import Report
from dpcli.statistics import STATISTICS
from dpcli.statistics.design import Design, NoiseOfNumbers, PublishedAnswer
from dpcli.sums.sums import Basis, PublishedSum, sum_of
from tests.laws.test_audit import (
    ALL_DESIGNS,
    FEW,
    GAUSSIAN,
    NEW,
    SIDE,
    AuditedDesign,
    file_of_groups,
)
from tests.support.rules import mostly_extended
from tests.support.streams import Stream

GROUPS = 10_000

LETTERS = "abcdef"


def selections(columns: int, more: str = "") -> AuditedDesign:
    """Several columns, each of which is true in the same rows as the column `a` or `b`."""
    names = ", ".join(LETTERS[:columns])
    return AuditedDesign(f"statistic: selections, columns: [{names}]{more}", FEW, FEW[0])


ADDED = ALL_DESIGNS | {
    "selections of two columns": selections(2),
    "selections of three columns": selections(3),
    "selections of six columns": selections(6),
    "selections of one column of six": selections(6, ", max_selected: 1"),
    "gaussian selections of six columns": selections(6, f", {GAUSSIAN}"),
    "tables that agree": AuditedDesign(
        "statistic: marginals, columns: [a, b], ways: [1, 2]", FEW, FEW[0]
    ),
    "gaussian tables that agree": AuditedDesign(
        f"statistic: marginals, columns: [a, b], ways: [1, 2], {GAUSSIAN}", FEW, FEW[0]
    ),
}


def release(design: AuditedDesign, epsilon: int, groups: int, folder: Path) -> Report:
    """The report of one release of all groups, with the whole budget for one entry."""
    entry = f"{design.entry}, epsilon: {epsilon}"
    spec, table = file_of_groups(entry, design.rows, groups, epsilon)
    (folder / "spec.yaml").write_text(spec, encoding="utf-8")
    plan = dpcli.plan(dpcli.load_spec(folder / "spec.yaml"))
    with dpcli.Ledger.create(folder / f"{epsilon}.sqlite") as ledger:
        released = dpcli.release(plan, table, ledger=ledger, release_id="r")
    return Report.parse(released.report("json").encode())


def chosen(report: Report) -> tuple[pl.DataFrame, str]:
    """The numbers that are added, and the column that names those of a group.

    Of tables, it is the one of their first column.
    """
    ((numbers, *_),) = report.numbers
    if "key3" in numbers.frame.columns:
        return numbers.frame.filter(pl.col("key3") == "all"), "key2"
    return numbers.frame, "item"


def items_of(report: Report) -> list[str]:
    """The items of each group."""
    frame, item = chosen(report)
    return frame[item].unique(maintain_order=True).to_list()


def sums_of_groups(report: Report, count: int) -> Floats:
    """The sum of the first numbers of each group."""
    groups = chosen(report)[0].group_by("key0", "key1", maintain_order=True)
    sums = groups.agg(pl.col("value").head(count).cast(pl.Float64).sum())
    return np.asarray(sums["value"])


def summed(report: Report, count: int) -> PublishedSum:
    """The sum of a group, of those with the largest sum: nothing is cut from its upper half."""
    largest = int(sums_of_groups(report, count).argmax())
    group = {"g": [f"g{largest // SIDE}"], "h": [f"h{largest % SIDE}"]}
    items = items_of(report)[:count]
    own = {"item": items} if chosen(report)[1] == "item" else {"a": items, "b": ["all"]}
    return sum_of(report, {"statistic": ["asked"], **own, **group})


def has_sums(name: str) -> bool:
    """Whether numbers of the design are counts or amounts."""
    statistic = STATISTICS.named(ADDED[name].entry.split(",")[0].removeprefix("statistic: "))
    return statistic is not None and statistic.measure != "values"


SUMMED = [name for name in ADDED if has_sums(name)]


DEFAULT = ("count", "selections of three columns", *NEW)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        *((name, 1) for name in SUMMED),
        *((name, 8) for name in DEFAULT),
        *(pytest.param(name, 8, marks=pytest.mark.slow) for name in SUMMED if name not in DEFAULT),
    ],
)
def test_sums_lie_within_their_bounds(
    name: str, epsilon: int, tmp_path: Path, stream: Stream
) -> None:
    """All numbers of a group are added, and the first half of them.

    At most 1% fewer sums than stated are within the bound.
    """
    precise = release(ADDED[name], 20, SIDE, tmp_path)
    report, items = release(ADDED[name], epsilon, GROUPS, tmp_path), len(items_of(precise))
    for count in {items, (items + 1) // 2}:
        exact = round(sums_of_groups(precise, count).mean())
        found, sums = summed(report, count), sums_of_groups(report, count)
        width = float(Fraction(found.upper) - Fraction(found.value))
        errors = abs(sums - exact)
        held = (errors <= width + 1e-6).mean()

        assert held >= float(found.confidence) - 0.01, count
        if found.basis is Basis.NOISE or GAUSSIAN in ADDED[name].entry:
            assert (errors <= width - 1 + 1e-6).mean() <= 0.965, "it is the least but for a step"
        elif found.basis is Basis.COVARIANCE:
            assert held <= 0.995 or width <= 10, "Laplace noise may have any weights"


@pytest.mark.parametrize(
    "name", mostly_extended((name for name in ADDED if not has_sums(name)), "median", *NEW)
)
def test_other_numbers_are_not_added(name: str, tmp_path: Path, stream: Stream) -> None:
    """Means, medians, ratios and ranks are refused."""
    report = release(ADDED[name], 1, SIDE, tmp_path)
    with pytest.raises(UsageError, match=r"not counts or amounts alone|units|ranks"):
        sum_of(report, {"statistic": ["asked"], "g": ["g0"], "h": ["h0"]})


def test_designs_with_own_noise_publish_the_answer() -> None:
    """None of them has an estimate of its own."""
    own = {kind for kind in designs(Design) if kind.noise_of_numbers is NoiseOfNumbers.OWN}

    assert PublishedAnswer in own
    assert {kind.estimate for kind in own} == {Design.estimate}


def designs(kind: type[Design]) -> Iterator[type[Design]]:
    """A class of designs, and all classes that are made from it."""
    yield kind
    for derived in kind.__subclasses__():
        yield from designs(derived)
