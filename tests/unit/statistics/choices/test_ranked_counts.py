"""The order of declared labels by noisy counts: sensitivity, intervals, errors, designs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest

from dpcli.data.labels import CategoryColumn
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import NO_NOISE, Noise
from dpcli.noise.sums import range_width
from dpcli.numeric.arrays import Array, integer_array
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.choices.candidates import Choices
from dpcli.statistics.choices.ranked_counts import RankedCounts, largest_difference
from dpcli.statistics.choices.top_values import TopK
from dpcli.statistics.design import Inputs, NoisyAnswer
from dpcli.statistics.estimates import Estimates
from tests.support.cli import Command
from tests.support.streams import Stream

TOP = TopK()
SURE = Fraction(19, 20)
GROUPS = 4_000
LAPLACE, GAUSSIAN = DiscreteLaplace(Fraction(50)), DiscreteGaussian(Fraction(70))


def column(labels: int) -> CategoryColumn:
    """A category with this many declared labels, of which none is in alphabetical order."""
    names = [f"v{labels - index:02}" for index in range(labels)]
    return CategoryColumn("c", tuple((name, name) for name in names))


def ranked(counts: Sequence[Sequence[int]] | Array, k: int, noise: Noise) -> Estimates:
    """The ranks of some labels in each group, and the counts before them, for noisy counts."""
    values = integer_array(np.asarray(counts, object))
    design = RankedCounts.of(Inputs("t", column(values.shape[1]), k=k))
    return TOP.possible_estimate(design, [NoisyAnswer(values.ravel(), noise)], SURE)


def lines(estimates: Estimates) -> list[tuple[str, int, int, int]]:
    """Each label, with its value and its interval."""
    assert estimates.items is not None
    numbers = (estimates.value, estimates.lower, estimates.upper)
    return list(zip(estimates.items.tolist(), *(part.tolist() for part in numbers), strict=True))


def test_labels_are_ordered_by_noisy_counts_and_ties_as_declared() -> None:
    """The first declared label comes first among equal counts; no more than k are published."""
    estimates = ranked([[5, 9, 9, 2]], 3, NO_NOISE)

    assert lines(estimates) == [("v03", 1, 1, 2), ("v02", 2, 1, 2), ("v04", 3, 3, 3)]
    assert estimates.before is not None
    assert lines(estimates.before) == [("v03", 9, 9, 9), ("v02", 9, 9, 9), ("v04", 5, 5, 5)]


@pytest.mark.parametrize("factor", [1, 1 << 70])
def test_the_interval_of_a_rank_has_the_ranks_that_counts_leave_possible(factor: int) -> None:
    """A label is surely behind another where noises do not differ by as much as their counts."""
    noise = DiscreteLaplace(Fraction(10 * factor))
    design = RankedCounts.of(Inputs("t", column(4), k=4))
    width, apart = design.margin(noise, SURE).width, range_width(noise, 4, SURE)
    counts = [[0, apart, 2 * apart + 1, 4 * apart]]
    estimates = ranked(counts, 4, noise)

    assert lines(estimates) == [("v01", 1, 1, 1), ("v02", 2, 2, 2), ("v03", 3, 3, 4),
                                ("v04", 4, 3, 4)]  # fmt: skip
    assert estimates.before is not None
    # A count is not negative, so its interval ends there.
    assert lines(estimates.before)[-1] == ("v04", 0, 0, width)
    assert estimates.covers_all.tolist() == [False] * 4
    assert ranked([[0, 1, 2]], 1, noise).covers_all.tolist() == [True]


def test_groups_are_ordered_by_themselves() -> None:
    """Each group has k ranks of its own, and no groups have no ranks."""
    estimates = ranked([[1, 2], [2, 1]], 1, NO_NOISE)

    assert [label for label, *_ in lines(estimates)] == ["v01", "v02"]
    design = RankedCounts.of(Inputs("t", column(2), k=2))
    empty = NoisyAnswer(np.zeros(0, np.int64), LAPLACE, ())
    assert len(TOP.possible_estimate(design, [empty], SURE)) == 0


def files(rows: int) -> Iterator[tuple[int, ...]]:
    """All files of up to this many rows; a label is an index, and 3 is a missing cell."""
    for size in range(rows + 1):
        yield from combinations_with_replacement(range(4), size)


def counts_of(file: Sequence[int]) -> tuple[int, ...]:
    """The number of rows that have each of three labels."""
    return tuple(sum(row == label for row in file) for label in range(3))


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("rows", [1, 2])
def test_no_neighbor_changes_the_counts_by_more_than_their_sensitivity(
    rows: int, neighbors: Neighbors, k: int
) -> None:
    """Over all small files of a person with up to `rows` rows, the bound is reached, for any k."""
    unit = RowUnit() if rows == 1 else PersonUnit("who", rows, rows, rows)
    design = RankedCounts.of(Inputs("t", column(3), k=k))
    (weighted,) = design.queries
    stated = query_sensitivity(weighted.query, Relation(unit, neighbors))
    assert weighted.weight == 1

    persons = list(files(rows))
    pairs = (
        ((), own) if neighbors is Neighbors.ADD_REMOVE else (other, own)
        for other, own in product(persons, persons)
        if rows > 1 or neighbors is Neighbors.ADD_REMOVE or len(other) == len(own)
    )
    changes = [
        [a - b for a, b in zip(counts_of((*rest, *one)), counts_of((*rest, *other)), strict=True)]
        for one, other in pairs
        for rest in ((), (0,), (0, 1, 1))
    ]
    found = {
        "l0": max(sum(bool(part) for part in change) for change in changes),
        "l1": max(sum(map(abs, change)) for change in changes),
        "l2_squared": max(sum(part**2 for part in change) for change in changes),
        "linf": max(max(map(abs, change)) for change in changes),
    }
    assert found["l1"] == stated.l1 == rows * (1 + (neighbors is Neighbors.CHANGE_ONE))
    for name, value in found.items():
        assert value <= getattr(stated, name), name
    assert found["l2_squared"] == stated.l2_squared


SHAPES = {
    "equal": [100] * 12,
    "steps": [100 + 40 * index for index in range(12)],
    "few rows": [0] * 9 + [3, 5, 400],
}


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_together_in_at_least_the_stated_cases(
    shape: str, k: int, noise: Noise, stream: Stream
) -> None:
    """Of 4,000 groups, in 95% all counts lie in their intervals, and in 95% all ranks do."""
    exact = np.array(SHAPES[shape])
    labels = len(exact)
    samples = np.asarray(noise.sample(GROUPS * labels, many=True)).reshape(GROUPS, labels)
    estimates = ranked(exact + samples, k, noise)
    counts = estimates.before
    assert counts is not None and estimates.items is not None

    count_of = dict(zip(column(labels).labels, exact.tolist(), strict=True))
    own = np.array([count_of[label] for label in estimates.items])
    # Equal counts have several ranks: those within the interval must be one of them.
    first = np.array([1 + int((exact > count).sum()) for count in own])
    last = np.array([int((exact >= count).sum()) for count in own])
    held = (counts.lower <= own) & (own <= counts.upper)
    ranks = (estimates.lower <= first) & (last <= estimates.upper)
    for part in (held, ranks):
        together = part.reshape(GROUPS, k).all(axis=1)
        assert together.mean() >= 0.95 - 4 * (0.05 * 0.95 / GROUPS) ** 0.5
        if noise is LAPLACE and shape == "equal" and k == 4:
            # The bound is nearly reached, so the test would notice intervals that are too narrow.
            assert together.mean() < 0.98


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("k", [1, 4, 12])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_label_falls_short_by_more_than_the_stated_error(
    shape: str, k: int, noise: Noise, stream: Stream
) -> None:
    """In 95% of groups, every label after a published one is better by at most the error."""
    exact = np.array(SHAPES[shape])
    labels = len(exact)
    design = RankedCounts.of(Inputs("t", column(labels), k=k))
    samples = np.asarray(noise.sample(GROUPS * labels, many=True)).reshape(GROUPS, labels)
    order = np.argsort(-(exact + samples), axis=1, kind="stable")
    following = exact[order]
    best = np.maximum.accumulate(following[:, ::-1], axis=1)[:, ::-1]
    short = (best - following)[:, :k].max(axis=1)

    stated = design.error([noise], SURE)
    assert (short > float(stated)).mean() <= 0.05 + 4 * (0.05 * 0.95 / GROUPS) ** 0.5


@pytest.mark.parametrize("count", [2, 12, 50])
@pytest.mark.parametrize(
    "noise",
    [DiscreteLaplace(Fraction(1)), LAPLACE, DiscreteGaussian(Fraction(3)), GAUSSIAN],
    ids=str,
)
def test_a_range_has_as_many_noises_as_stated(noise: Noise, count: int, stream: Stream) -> None:
    """All noises of a group are within the width in 95% of 10,000 groups; one step less is not."""
    width = range_width(noise, count, SURE)
    drawn = np.asarray(noise.sample(10_000 * count, many=True)).reshape(-1, count)
    ranges, error = np.ptp(drawn, axis=1), 4 * (0.05 * 0.95 / 10_000) ** 0.5
    assert (ranges <= width).mean() >= 0.95 - error
    assert (ranges < width * 0.96 - 0.5).mean() < 0.95
    assert width < 2 * noise.half_width(1 - (1 - SURE) / count) or count == 1


def test_the_largest_difference_is_a_bound_for_all_pairs() -> None:
    """It is about the width that the tail of the difference of two Laplace noises gives."""
    pairs, scale = 90, 1000
    found = largest_difference(DiscreteLaplace(Fraction(scale)), pairs, SURE)
    ends = [found / scale * factor for factor in (0.97, 1.0)]
    tails = [pairs * (2 + end) / 4 * np.exp(-end) for end in ends]

    assert tails[1] <= 0.05 <= tails[0]
    assert largest_difference(DiscreteLaplace(Fraction(scale)), 0, SURE) == 0


SPEC = """
dpcli: 1
dataset: labels
privacy: {unit: UNIT, neighbors: add-remove, COMPOSITION budget: {epsilon: 100, delta: 0.1}}
columns:
  who: {type: id}
  c: {type: category, values: [LABELS]}
  g: {type: category, values: [x, y]}
statistics:
  - {name: t, statistic: top_k, column: c, ENTRY}
"""


def planned(
    entry: str, unit: str = "row", composition: str = "", labels: int = 50
) -> PlannedStatistic:
    """The planned statistic of one entry about a column with this many labels."""
    names = ", ".join(f"v{index}" for index in range(labels))
    text = SPEC.replace("LABELS", names).replace("ENTRY", entry).replace("UNIT", unit)
    text = text.replace("COMPOSITION", f"composition: {composition}," if composition else "")
    return make_plan(parse_central_spec(text, "spec.yaml")).statistics[0]


@pytest.mark.parametrize("k", [2, 5, 10])
def test_counts_answer_where_their_error_is_smaller(k: int) -> None:
    """From two ranks on, counts have the smaller error: all of epsilon, whatever k is."""
    default, auto = (planned(f"k: {k}, epsilon: 0.02{more}") for more in ("", ", mechanism: auto"))
    choice = planned(f"k: {k}, epsilon: 0.02, mechanism: permute_and_flip")

    assert isinstance(default.design, RankedCounts) and isinstance(auto.design, RankedCounts)
    assert isinstance(choice.design, Choices)
    errors = [one.error(SURE) for one in (default, choice)]
    assert errors[0] is not None and errors[1] is not None
    assert errors[0] * 17 < errors[1] * 10
    assert default.queries[0].scale == 50
    assert default.entry.raw and not choice.entry.raw


@pytest.mark.parametrize("labels", [2, 50, 1_000])
@pytest.mark.parametrize("budget", ["epsilon: 0.02", "epsilon: 8", "error: 100"])
def test_counts_answer_for_the_first_label_too(labels: int, budget: str) -> None:
    """They have intervals, also where choices have a slightly smaller error."""
    for more in ("", ", mechanism: auto"):
        assert isinstance(planned(f"k: 1, {budget}{more}", labels=labels).design, RankedCounts)


def test_gaussian_noise_is_compared_by_its_own_sensitivity() -> None:
    """Under zCDP, `auto` takes Gaussian noise for the counts of people with many rows."""
    people = "{column: who, max_rows: 9}"
    design = planned("k: 5, rho: 0.01, mechanism: auto", people, "zcdp")
    laplace = planned("k: 5, rho: 0.01, mechanism: laplace", people, "zcdp")
    assert design.mechanism.name == "gaussian"
    assert isinstance(design.design, RankedCounts)
    assert design.queries[0].l2 == 9
    errors = [one.error(SURE) for one in (design, laplace)]
    assert errors[0] is not None and errors[1] is not None
    assert errors[0] < errors[1]


def test_in_groups_counts_answer() -> None:
    """They have intervals, so a mode in groups is read from counts as well."""
    assert isinstance(planned("k: 1, by: [g], epsilon: 1", labels=2).design, RankedCounts)


def test_an_error_is_reached_by_counts_for_less() -> None:
    """A target error takes the least loss of both ways."""
    counts, choice = (
        planned(f"k: 5, error: 200{more}") for more in ("", ", mechanism: permute_and_flip")
    )
    assert isinstance(counts.design, RankedCounts)
    assert (counts.error(SURE) or 999) <= 200
    assert counts.target.epsilon < choice.target.epsilon / 3


def test_a_limit_on_groups_rules_counts_out() -> None:
    """Labels would be groups of a person, and other rows would be used than for choices."""
    assert isinstance(
        planned("k: 3, epsilon: 1", "{column: who, max_rows: 4, max_groups: 2}").design, Choices
    )
    assert isinstance(
        planned("k: 3, epsilon: 1", "{column: who, max_rows: 4}").design, RankedCounts
    )


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_tables_and_reports_have_ranks_and_counts(
    layout: str, dpcli: Command, tmp_path: Path, stream: Stream
) -> None:
    """Ranks are published under the name, counts under NAME.raw, in the columns there are."""
    text = SPEC.replace("UNIT", "row").replace("COMPOSITION", "").replace("LABELS", "a, b, d")
    (tmp_path / "s.yaml").write_text(text.replace("ENTRY", "k: 2, by: [g], epsilon: 2"), "utf-8")
    rows = ["1,a,x"] * 500 + ["1,b,x"] * 200 + ["1,b,y"] * 90 + ["1,d,y"] * 90
    (tmp_path / "d.csv").write_text("\n".join(["who,c,g", *rows, ""]), "utf-8")
    done = dpcli(
        "release", tmp_path / "s.yaml", tmp_path / "d.csv", "-o", tmp_path / "o.csv",
        "--layout", layout, "--report", tmp_path / "r.json", "--report", tmp_path / "r.md",
        "--release-id", "x",
    )  # fmt: skip
    assert done.status == 0, done.err
    (report,) = json.loads((tmp_path / "r.json").read_text("utf-8"))["statistics"]
    assert report["layout"]["chosen"] and report["layout"]["possible"] == [[1, 3]]
    assert [query["epsilon"] for query in report["queries"]] == [2]
    assert any("counted with noise" in sentence for sentence in report["designs"])
    ranks = [cell for cell in report["cells"] if "raw" not in cell]
    counts = [cell for cell in report["cells"] if "raw" in cell]
    assert [cell["value"] for cell in ranks] == [1, 2, 1, 2]
    assert [cell["item"] for cell in ranks] == [cell["item"] for cell in counts]
    assert [(cell["item"], cell["lower"], cell["upper"]) for cell in ranks[:2]] == [
        ("a", 1, 1), ("b", 2, 2)
    ]  # fmt: skip
    assert [(cell["lower"], cell["upper"]) for cell in ranks[2:]] == [(1, 2), (1, 2)]
    assert all(
        abs(cell["value"] - exact) < 9 for cell, exact in zip(counts, (500, 200), strict=False)
    )
    (table,) = tmp_path.glob("o*.csv")
    with table.open(encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    if layout == "long":
        columns = ["item", "value", "lower", "upper", "flag", "complete", "unit"]
        assert list(found[0]) == ["statistic", "g", *columns]
        units = {(line["statistic"].rpartition(".")[2], line["unit"]) for line in found}
        assert units == {("t", "rank"), ("raw", "rows")}
        assert [line["statistic"] for line in found] == ["t"] * 4 + ["t.raw"] * 4
    else:
        assert [(line["rank"], line["t"]) for line in found[:2]] == [("1", "a"), ("2", "b")]
        assert [line["t.raw"] for line in found] == [str(cell["value"]) for cell in counts]
