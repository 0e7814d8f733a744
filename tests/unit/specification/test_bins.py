"""Bins: every value lies in exactly one of them, and their labels say which."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpcli.data.kinds import Axis
from dpcli.problems.errors import SpecError
from dpcli.report.table import csv_text
from dpcli.specification.load import parse_central_spec
from tests.support.specs import with_column

EPOCH = datetime.date(1970, 1, 1)
NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"


def axis(declaration: str, bins: str) -> Axis:
    """The axis of a histogram of one column."""
    text = with_column(declaration, f"statistic: histogram, column: x, bins: {bins}")
    histogram_axis = parse_central_spec(text, "spec.yaml").entries[0].inputs.bins
    assert histogram_axis is not None
    return histogram_axis


def held(label: str) -> tuple[Fraction, Fraction]:
    """The first and the last number or day that a label names, in its own words."""
    for form in (f"({DAY})", rf"({DAY})\.\.({DAY})"):
        if match := re.fullmatch(form, label):
            days = [(datetime.date.fromisoformat(day) - EPOCH).days for day in match.groups()]
            return Fraction(days[0]), Fraction(days[-1])
    for form in (f"({NUMBER})", "([0-9.]+)-([0-9.]+)", rf"\[({NUMBER}),({NUMBER})\]"):
        if match := re.fullmatch(form, label):
            numbers = [Fraction(number) for number in match.groups()]
            return numbers[0], numbers[-1]
    raise AssertionError(label)


def assert_partition(labels: tuple[str, ...], grid: range, unit: Fraction = Fraction(1)) -> None:
    """The labels name all values of the grid, times a unit, in order, each once."""
    ranges = [held(label) for label in labels]
    assert ranges[0][0] == grid[0] * unit
    assert ranges[-1][1] == grid[-1] * unit
    assert all(low <= high for low, high in ranges)
    for (_, before), (after, _) in pairwise(ranges):
        assert after - before == grid.step * unit
    assert len(set(labels)) == len(labels)


lows = st.integers(-50, 50) | st.integers(-(10**12), 10**12)
counts = st.integers(2, 90)
steps = st.sampled_from([1, 1, 2, 5, 100, 10**7])
widths = st.integers(1, 100) | st.integers(1, 10**10)


@given(lows, counts, steps, widths, st.sampled_from(["integer", "number"]))
def test_widths_of_whole_numbers(low: int, count: int, step: int, width: int, kind: str) -> None:
    """A bin holds `width / step` values of the grid, and the last one what is left."""
    assume(abs(low) + count < 10**17 // step)
    grid = range(low * step, (low + count) * step, step)
    declaration = f"{{type: {kind}, bounds: [{grid[0]}, {grid[-1]}], step: {step}}}"
    labels = axis(declaration, f"{{width: {width * step}}}").labels

    assert_partition(labels, grid)
    assert len(labels) == -(-count // width)
    ranges = [held(label) for label in labels]
    assert all(high - low == (width - 1) * step for low, high in ranges[:-1])


@given(lows, counts, steps, st.integers(1, 90))
def test_numbers_of_bins(low: int, count: int, step: int, bins: int) -> None:
    """A number of bins divides the range, and their sizes differ by at most one step."""
    assume(abs(low) + count < 10**17 // step and bins <= count)
    grid = range(low * step, (low + count) * step, step)
    ends = f"bounds: [{grid[0]}, {grid[-1]}], step: {step}"
    labels = axis(f"{{type: integer, {ends}}}", str(bins)).labels

    assert_partition(labels, grid)
    sizes = [(high - low) // step + 1 for low, high in map(held, labels)]
    assert len(sizes) == bins
    assert max(sizes) - min(sizes) == (1 if count % bins else 0)
    assert [sum(sizes[:at]) for at in range(bins)] == [at * count // bins for at in range(bins)]


@given(st.dates(), counts, widths)
def test_widths_of_days(first: datetime.date, count: int, width: int) -> None:
    """Bins of days are ranges of that many days, also at the ends of the calendar."""
    last = datetime.date.fromordinal(min(first.toordinal() + count - 1, 3_652_059))
    days = range((first - EPOCH).days, (last - EPOCH).days + 1)
    assume(len(days) >= 2)
    labels = axis(f"{{type: date, bounds: [{first}, {last}]}}", f"{{width: {width}}}").labels

    assert_partition(labels, days)
    assert len(labels) == -(-len(days) // width)
    assert list(labels) == sorted(labels)


@given(lows, counts, steps, st.data())
def test_edges_of_whole_numbers(low: int, count: int, step: int, data: st.DataObject) -> None:
    """Each edge but the last begins a bin; the last may be the upper bound or the value after."""
    assume(abs(low) + count < 10**17 // step)
    grid = range(low * step, (low + count) * step, step)
    inner = data.draw(st.sets(st.sampled_from(grid[1:-1]))) if count > 2 else set()
    declaration = f"{{type: integer, bounds: [{grid[0]}, {grid[-1]}], step: {step}}}"
    starts = sorted({grid[0], *inner})
    for end in (grid[-1], grid[-1] + step):
        labels = axis(declaration, f"{{edges: {[*starts, end]}}}").labels
        assert_partition(labels, grid)
        assert [held(label)[0] for label in labels] == starts


fine_steps = st.sampled_from(["0.1", "0.25", "0.01", "2.5"])


@given(st.integers(-60, 60), st.integers(1, 199), fine_steps, st.integers(1, 100))
def test_widths_of_few_numbers(low: int, count: int, step: str, width: int) -> None:
    """Up to 200 numbers whose step is not whole have bins of values, as whole numbers have."""
    size = Fraction(step)
    ends = [float(low * size), float((low + count) * size)]
    declaration = f"{{type: number, bounds: {ends}, step: {step}}}"
    labels = axis(declaration, f"{{width: {float(width * size)}}}").labels

    assert_partition(labels, range(low, low + count + 1), size)
    assert len(labels) == -(-(count + 1) // width)


@given(st.integers(-60, 60), st.integers(200, 260), fine_steps, st.integers(1, 100))
def test_intervals_of_finer_numbers(low: int, count: int, step: str, width: int) -> None:
    """More of these numbers lie in one half-open interval; the last is closed."""
    size = Fraction(step)
    ends = [float(low * size), float((low + count) * size)]
    declaration = f"{{type: number, bounds: {ends}, step: {step}}}"
    labels = axis(declaration, f"{{width: {float(width * size)}}}").labels

    assert len(labels) == -(-count // width)
    ends_in_steps = []
    for label in labels:
        match = re.fullmatch(r"\[(-?[0-9.]+),(-?[0-9.]+)([])])", label)
        assert match is not None, label
        start, end = (Fraction(match[at]) / size for at in (1, 2))
        ends_in_steps.append((start, end + 1 if match[3] == "]" else end))
    for place in range(low, low + count + 1):
        assert sum(start <= place < end for start, end in ends_in_steps) == 1


@pytest.mark.parametrize(
    ("declaration", "bins", "labels"),
    [
        ("{type: integer, bounds: [0, 100]}", "4", ["0-24", "25-49", "50-74", "75-100"]),
        ("{type: integer, bounds: [1, 5]}", "1", ["1-5"]),
        ("{type: number, bounds: [0, 1000], step: 0.5}", "2", ["[0.0,500.0)", "[500.0,1000.0]"]),
        ("{type: date, bounds: [2024-01-01, 2024-01-31]}", "2",
         ["2024-01-01..2024-01-15", "2024-01-16..2024-01-31"]),
        ("{type: integer, bounds: [1, 5]}", "{width: 1}", ["1", "2", "3", "4", "5"]),
        ("{type: integer, bounds: [1, 5]}", "{width: 2}", ["1-2", "3-4", "5"]),
        ("{type: integer, bounds: [0, 30], step: 5}", "{width: 10}",
         ["0-5", "10-15", "20-25", "30"]),
        ("{type: integer, bounds: [0, 110]}", "{edges: [0, 18, 65, 110]}",
         ["0-17", "18-64", "65-110"]),
        ("{type: integer, bounds: [1, 5]}", "{edges: [1, 2, 3, 4, 5]}", ["1", "2", "3", "4-5"]),
        ("{type: integer, bounds: [1, 5]}", "{edges: [1, 2, 3, 4, 5, 6]}",
         ["1", "2", "3", "4", "5"]),
        ("{type: integer, bounds: [-5, 5]}", "{width: 5}", ["[-5,-1]", "[0,4]", "5"]),
        ("{type: integer, bounds: [-5, -3]}", "{width: 1}", ["-5", "-4", "-3"]),
        ("{type: number, bounds: [0, 4000], step: 100}", "{width: 2000}",
         ["0-1900", "2000-3900", "4000"]),
        ("{type: number, bounds: [0, 1], step: 0.5}", "{width: 0.5}", ["0.0", "0.5", "1.0"]),
        ("{type: number, bounds: [-1, 1], step: 0.5}", "{edges: [-1, 0, 1]}",
         ["[-1.0,-0.5]", "[0.0,1.0]"]),
        ("{type: number, bounds: [-1, 1], step: 0.5}", "{edges: [-1, 0, 1, 1.5]}",
         ["[-1.0,-0.5]", "[0.0,0.5]", "1.0"]),
        ("{type: number, bounds: [0, 10], step: 2.5}", "{width: 5}",
         ["0.0-2.5", "5.0-7.5", "10.0"]),
        ("{type: number, bounds: [0, 4.98], step: 0.02}", "{width: 2.5}",
         ["[0.00,2.50)", "[2.50,4.98]"]),
        ("{type: integer, values: [0, 6, 12, 18, 24]}", "{width: 12}", ["0-6", "12-18", "24"]),
        ("{type: integer, values: [-8, 1, 9]}", "{width: 6}", ["-8", "1", "9"]),
        ("{type: date, bounds: [2024-02-28, 2024-03-02]}", "{width: 2}",
         ["2024-02-28..2024-02-29", "2024-03-01..2024-03-02"]),
        ("{type: date, bounds: [2024-02-28, 2024-03-01]}", "{width: 1}",
         ["2024-02-28", "2024-02-29", "2024-03-01"]),
        ("{type: date, bounds: [2024-01-01, 2024-02-29]}",
         "{edges: [2024-01-01, 2024-02-01, 2024-03-01]}",
         ["2024-01-01..2024-01-31", "2024-02-01..2024-02-29"]),
    ],
)  # fmt: skip
def test_labels(declaration: str, bins: str, labels: list[str]) -> None:
    """Labels are the closed ranges of what a bin holds, and intervals of finer numbers."""
    assert list(axis(declaration, bins).labels) == labels


def test_labels_are_the_same_text_in_a_spreadsheet() -> None:
    """No label of a bin needs an apostrophe in CSV, where a leading minus would start a formula."""
    for declaration, bins in (
        ("{type: integer, bounds: [-50, 50]}", "{width: 7}"),
        ("{type: integer, bounds: [-5, 5]}", "{width: 1}"),
        ("{type: number, bounds: [-1, 1], step: 0.1}", "{width: 0.1}"),
        ("{type: number, bounds: [-100, 0], step: 10}", "{width: 20}"),
    ):
        labels = axis(declaration, bins).labels
        assert any(label.startswith(("-", "[-")) for label in labels)
        text = csv_text([label] for label in labels).decode()
        assert "'" not in text


def test_the_largest_columns_are_cut() -> None:
    """Bounds near the limits of a machine word, and a width beyond them, are exact."""
    end = 4 * 10**18
    declaration = "{type: integer, bounds: [-4e18, 4e18]}"

    assert axis(declaration, "{width: 1e30}").labels == (f"[-{end},{end}]",)
    assert axis(declaration, "{width: 4e18}").labels == (f"[-{end},-1]", f"[0,{end - 1}]", str(end))


FEW_NUMBERS = (
    ("integer", "[1, 12]", "1"), ("integer", "[-3, 3]", "1"), ("integer", "[0, 199]", "1"),
    ("integer", "[1801, 2000]", "1"), ("number", "[7, 8]", "1"), ("number", "[0.5, 5]", "0.5"),
    ("number", "[-1, 0.99]", "0.01"), ("integer", "[0, 995]", "5"),
)  # fmt: skip
REFUSED = ("type: integer, bounds: [0, 200]", "type: number, step: 0.5, bounds: [0, 100]",
           "type: date, bounds: [2024-03-01, 2024-03-31]")  # fmt: skip


@pytest.mark.parametrize(("kind", "bounds", "step"), FEW_NUMBERS)
def test_few_numbers_need_no_bins(kind: str, bounds: str, step: str) -> None:
    """Up to 200 numbers are the same groups and bins as with a width of one step."""
    declaration = f"{{type: {kind}, bounds: {bounds}, step: {step}}}"
    plain = with_column(declaration, "statistic: count, by: [x]")
    (by,) = parse_central_spec(plain, "spec.yaml").entries[0].inputs.by
    histogram = with_column(declaration, "statistic: histogram, column: x")
    bins = parse_central_spec(histogram, "spec.yaml").entries[0].inputs.bins

    assert by == axis(declaration, f"{{width: {step}}}")
    assert bins == by
    low, high = (Fraction(end) for end in bounds[1:-1].split(", "))
    values = [
        low + place * Fraction(step) for place in range(int((high - low) / Fraction(step)) + 1)
    ]
    assert [Fraction(label) for label in by.labels] == values


@pytest.mark.parametrize("declaration", REFUSED)
@pytest.mark.parametrize("statistic", ["count, by: [x]", "histogram, column: x"])
def test_other_numbers_need_bins(declaration: str, statistic: str) -> None:
    """More values, and dates, are refused without bins."""
    with pytest.raises(SpecError) as refused:
        parse_central_spec(with_column(f"{{{declaration}}}", f"statistic: {statistic}"), "s.yaml")
    (problem,) = refused.value.problems
    assert problem.code == "missing-bins"
    assert ("part of the day" if "date" in declaration else "200") in problem.hint
