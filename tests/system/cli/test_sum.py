"""`dpcli sum`: adds published numbers with an interval that holds, or says why it does not."""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dpcli.cli.main import run
from dpcli.noise import entropy
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.sums import summed_margin
from dpcli.report.formats import report_schema
from dpcli.report.report import Report
from tests.support.cli import Command, Outcome, reported, written
from tests.support.frozen import FROZEN
from tests.support.streams import Stream

SPEC = """\
dpcli: 1
dataset: town
privacy: {unit: UNIT, neighbors: add-remove, budget: {epsilon: 90, delta: 1e-4}}
quality: none
columns:
  who: {type: id}
  sex: {type: category, values: [f, m]}
  ward: {type: category, values: [a, b, c, d]}
  town: {type: category}
  age: {type: integer, bounds: [0, 100]}
  paid: {type: number, bounds: [-5, 100], step: 0.5}
  day: {type: date, bounds: [2020-01-01, 2020-12-31]}
statistics:
  - {name: people, statistic: count, by: [sex, ward], epsilon: 0.5}
  - {name: paid, statistic: sum, column: paid, by: [ward], epsilon: 1}
  - {name: ages, statistic: histogram, column: age, bins: {width: 20}, epsilon: 0.5}
  - {name: mean, statistic: mean, column: age, by: [sex], epsilon: 1}
  - {name: few, statistic: count, by: [ward], post: [{suppress_below: 1e4}], raw: true, epsilon: 1}
  - {name: clamped, statistic: count, by: [ward], post: [nonnegative], epsilon: 1}
  - {name: usual, statistic: mode, column: ward, by: [sex], epsilon: 1}
  - {name: top, statistic: median, column: age, epsilon: 1}
  - {name: both, statistic: marginals, columns: [sex, ward], ways: 2, epsilon: 1}
  - {name: agreed, statistic: marginals, columns: [sex, ward], ways: [1, 2], GAUSS, epsilon: 1}
  - {name: moved, statistic: marginals, columns: [ward, sex], ways: 1, POST, epsilon: 1}
  - {name: whole, statistic: marginals, columns: [sex, ward], ways: 2, post: [whole], epsilon: 1}
  - {name: gap, statistic: comparison, of: count, between: {sex: [f, m]}, epsilon: 1}
  - {name: towns, statistic: count, by: [town], keys: private, epsilon: 1, delta: 1e-6}
  - {name: middle, statistic: median, column: day, by: [sex], mechanism: laplace, epsilon: 20}
  - {name: many, statistic: count, by: [sex, ward], mechanism: gaussian, delta: 1e-6, epsilon: 1}
  - {name: step, statistic: comparison, of: count, between: {sex: [f, m]}, GAUSS, epsilon: 1}
  - {name: facts, statistic: describe, column: age, by: [sex], epsilon: 1}
  - {name: old, statistic: count, by: [ward], where: {age: [95, 99]}, epsilon: 0.5}
  - {name: wide, statistic: count, by: [ward], withhold: {wider_than: 0.5}, epsilon: 1}
"""

ROWS = [
    (f"p{n}", "fm"[n % 2], "abcd"[n % 4], "xy"[n % 2], n % 90, 0.5 * (n % 100), "2020-06-01")
    for n in range(900)
]

PROCESSED = ("few", "clamped", "wide")

PEOPLE = "{column: who, max_rows: 8, max_groups: 8, max_rows_per_group: 1}"


def publish(dpcli: Command, folder: Path, unit: str = "row") -> Path:
    """Release into `folder`: out.csv and out.report.json; the path of the report."""
    spec, data = folder / "spec.yaml", folder / "data.csv"
    text = SPEC.replace("UNIT", unit).replace("GAUSS", "mechanism: gaussian, delta: 1e-6")
    text = text.replace("POST", "post: [nonnegative]")
    if unit != "row":
        # Limits on groups leave no counts from which a median can be read, or tables summed.
        text = text.replace("mechanism: laplace, ", "").replace("ways: [1, 2]", "ways: 1")
    spec.write_text(text, encoding="utf-8")
    with data.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("who", "sex", "ward", "town", "age", "paid", "day"), *ROWS])
    return released(dpcli, spec, data)


def released(dpcli: Command, spec: Path, data: Path) -> Path:
    """The report of a release into the folder of its spec."""
    out = spec.with_name("out.csv")
    dpcli("release", spec, data, "-q", "-o", out).succeeded()
    return out.with_name("out.report.json")


def stated(report: Path) -> dict[str, dict[str, Any]]:
    """What a report states of each statistic."""
    return {part["name"]: part for part in reported(report)["statistics"]}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release in which each row is protected; its noise is always the same."""
    folder = tmp_path_factory.mktemp("sum")

    def quietly(*words: str | Path) -> Outcome:
        patch.setattr(sys, "argv", ["dpcli", *map(str, words)])
        return Outcome(run(), "", "")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entropy, "source", Stream("sum"))
        publish(quietly, folder)
    return folder


@pytest.fixture
def report(published: Path, tmp_path: Path) -> Path:
    """The report of that release, which a test may change; its table is next to it."""
    for name in ("out.csv", "out.report.json"):
        shutil.copy(published / name, tmp_path)
    return tmp_path / "out.report.json"


def changed(report: Path, form: str, replaced: str) -> Path:
    """The report after changes of its text."""
    text = report.read_text(encoding="utf-8")
    other = report.with_name("changed.report.json")
    other.write_text(re.sub(form, replaced, text), encoding="utf-8")
    assert other.read_text(encoding="utf-8") != text
    return other


def without_covariance(report: Path) -> Path:
    """The report as if it stated no covariance."""
    return changed(report, r' +"noise_covariance": \[\n(?: +\[[-0-9., ]+\],?\n)+ +\],\n', "")


def without(report: Path, name: str, *keys: str) -> Path:
    """The report as an earlier version stated it: one statistic lacks some keys."""
    # The spec comes first, and names its statistics as well.
    before, start, after = report.read_text(encoding="utf-8").rpartition(f'"name": "{name}",')
    for key in keys:
        own, line, after = re.split(f'( +"{key}": .*\n)', after, maxsplit=1)
        assert line
        after = own + after
    older = report.with_name("older.report.json")
    older.write_text(before + start + after, encoding="utf-8")
    return older


def summed(dpcli: Command, report: Path, *where: str, words: Sequence[str] = ()) -> Outcome:
    """The outcome of the command with these conditions."""
    return dpcli("sum", report, *(word for one in where for word in ("--where", one)), *words)


def refusal(dpcli: Command, report: Path, *where: str) -> str:
    """The message with which a sum is refused, as one line."""
    done = summed(dpcli, report, *where)
    assert (done.status, done.out) == (2, "")
    return " ".join(done.err.split())


def added(dpcli: Command, table: Path, *where: str) -> dict[str, Fraction]:
    """The numbers of the result."""
    done = summed(dpcli, table, *where, words=["--json"])
    assert done.status == 0, done.err
    result = json.loads(done.out, parse_float=Fraction, parse_int=Fraction)
    return {name: result[name] for name in ("numbers", "value", "lower", "upper", "confidence")} | {
        "noise": result["basis"] == "noise"
    }


def lines(table: Path, name: str) -> list[dict[str, str]]:
    """The lines of a statistic in a CSV table."""
    with table.open(encoding="utf-8", newline="") as file:
        return [line for line in csv.DictReader(file) if line["statistic"] == name]


def total(chosen: list[dict[str, str]], column: str) -> Fraction:
    """The sum of a column."""
    return sum((Fraction(line[column]) for line in chosen), Fraction(0))


def test_counts_of_groups_have_the_interval_of_the_sum_of_noise(
    dpcli: Command, report: Path
) -> None:
    """Eight counts with Laplace noise of scale 2: narrower than eight intervals."""
    found = added(dpcli, report, "statistic=people")
    own = lines(report.with_name("out.csv"), "people")
    width = summed_margin(DiscreteLaplace(Fraction(2)), 8, Fraction(19, 20)).width

    assert found["noise"]
    assert found["numbers"] == 8
    assert found["value"] == total(own, "value")
    assert found["upper"] - found["value"] == found["value"] - found["lower"] == width
    assert width < total(own, "upper") - found["value"]
    assert found["confidence"] == Fraction(19, 20)


def test_conditions_choose_numbers(dpcli: Command, report: Path) -> None:
    """Conditions on different columns hold together; values of one column are alternatives."""
    own = lines(report.with_name("out.csv"), "people")
    found = added(dpcli, report, "statistic=people", "sex=f", "ward=a", "ward=c")
    expected = [line for line in own if line["sex"] == "f" and line["ward"] in "ac"]

    assert found["numbers"] == len(expected) == 2
    assert found["value"] == total(expected, "value")
    bins = added(dpcli, report, "statistic=ages", "item=0-19", "item=20-39")
    assert bins["numbers"] == 2


def test_totals_keep_their_unit(dpcli: Command, report: Path) -> None:
    """Sums of a column in steps of one half have the decimals of their numbers."""
    found = added(dpcli, report, "statistic=paid")

    assert found["noise"]
    assert found["value"] == total(lines(report.with_name("out.csv"), "paid"), "value")
    assert (found["upper"] * 2).denominator == 1


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ([], "several statistics"),
        (["statistic=usual"], "ranks of chosen labels"),
        (["statistic=usual.raw"], "large noisy counts"),
        (["statistic=top"], "not counts or amounts alone"),
        (["statistic=mean"], "not counts or amounts alone"),
        (["statistic=middle"], "not counts or amounts alone"),
        (["statistic=gap"], "different units"),
        (["statistic=step"], "different units"),
        (["statistic=step", "item=f"], "not counts or amounts alone"),
        (["statistic=facts"], "different units"),
        (["statistic=facts", "item=count"], "not counts or amounts alone"),
        (["statistic=towns"], "large noisy counts"),
        *(([f"statistic={name}"], "post-processing changed") for name in PROCESSED),
    ],
)
def test_sums_that_have_no_interval_are_refused(
    where: list[str], why: str, dpcli: Command, report: Path
) -> None:
    """The message says why, and the code has a page."""
    message = refusal(dpcli, report, *where)

    assert "error[sum-refused]" in message
    assert why in message


def test_raw_numbers_are_added_where_others_were_processed(dpcli: Command, report: Path) -> None:
    """Suppression and clamping move numbers; the noisy ones are published as NAME.raw."""
    assert added(dpcli, report, "statistic=few.raw")["noise"]


def test_linear_numbers_are_added_where_tables_are_whole(dpcli: Command, report: Path) -> None:
    """Whole numbers are biased; the report states the covariance of the raw ones next to them."""
    raw = lines(report.with_name("out.csv"), "whole.raw")
    found = added(dpcli, report, "statistic=whole", "sex=f")
    assert found == added(dpcli, report, "statistic=whole.raw", "sex=f")
    assert found["value"] == total([line for line in raw if line["sex"] == "f"], "value")
    assert found["confidence"] == Fraction(19, 20)
    table = stated(report)["whole"]
    scale = float(table["queries"][0]["mechanism"]["scale"])
    assert len(table["noise_covariance"]) == 8
    assert float(table["noise_covariance"][0][0]) == pytest.approx(2 * scale**2, rel=0.1)


def test_the_covariance_of_shared_noise_gives_the_interval(dpcli: Command, tmp_path: Path) -> None:
    """A person in all groups: the counts share noise, and an analyst finds how much of it."""
    path = publish(dpcli, tmp_path, PEOPLE)
    rows = stated(path)["many"]["noise_covariance"]
    found = added(dpcli, path, "statistic=many")
    width = NormalDist().inv_cdf(0.975) * variance_of(rows) ** 0.5

    assert [len(row) for row in rows] == list(range(1, 9))
    assert 0 <= found["upper"] - found["value"] - Fraction(width) <= 2
    assert found["confidence"] == Fraction(19, 20)
    assert "follows from its covariance" in summed(dpcli, path, "statistic=many").err


def variance_of(rows: list[list[float]]) -> float:
    """The variance of a sum, of the lower half of a covariance."""
    return sum(row[-1] + 2 * sum(row[:-1]) for row in rows)


def test_a_report_with_covariances_is_read_as_it_was_written(report: Path) -> None:
    """It has the stated schema; steps of `post` leave no covariance but that of linear tables."""
    content = report.read_bytes()
    read = Report.parse(content)

    assert Draft202012Validator(json.loads(report_schema())).is_valid(json.loads(content))
    assert Report.compose(read.release, read.numbers).content == content
    parts = stated(report).items()
    assert {name for name, part in parts if "noise_covariance" in part} == {
        "both", "agreed", "whole"
    }  # fmt: skip


TOTALS = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9}}
quality: none
columns:
  sex: {type: category, values: [f, m]}
  ward: {type: category, values: [a, b, c, d]}
  day: {type: date, bounds: [2020-01-01, 2020-12-31]}
hierarchies: {time: {column: day, levels: {year: year, month: month}}}
statistics:
  - {name: agreed, statistic: marginals, columns: [sex, ward], ways: [1, 2], epsilon: 1}
  - {name: moved, statistic: marginals, columns: [ward, sex], ways: 1, epsilon: 1}
  - {name: whole, statistic: marginals, columns: [ward, sex], post: [whole], ways: 1, epsilon: 1}
  - {name: crossed, statistic: count, by: [sex, ward], totals: Sum, epsilon: 1}
  - {name: days, statistic: count, hierarchy: time, by: [sex], epsilon: 1}
"""


def test_totals_are_not_added_to_their_parts(dpcli: Command, tmp_path: Path) -> None:
    """The refusal names conditions that choose numbers about different rows, which are added."""
    spec, data = tmp_path / "spec.yaml", tmp_path / "data.csv"
    spec.write_text(TOTALS, encoding="utf-8")
    data.write_text("sex,ward,day\nf,a,2020-02-01\nm,b,2020-03-01\n", encoding="utf-8")
    report = released(dpcli, spec, data)
    for where, hint, count in (
        (["statistic=agreed"], ["ward=all"], 2),
        (["statistic=agreed", "sex=f"], ["ward=all"], 1),
        (["statistic=moved"], ["ward=all"], 2),
        (["statistic=whole"], ["ward=all"], 2),
        (["statistic=crossed"], ["sex=Sum", "ward=Sum"], 1),
        (["statistic=crossed", "sex=f", "sex=m"], ["ward=Sum"], 2),
        (["statistic=days"], ["month=all"], 2),
    ):
        message = refusal(dpcli, report, *where)
        assert "error[sum-refused]" in message
        assert "rows would count twice" in message
        assert message.endswith("as with " + " and ".join(f"`--where {one}`" for one in hint))
        assert added(dpcli, report, *where, *hint)["numbers"] == count
    wards = [f"ward={ward}" for ward in "abcd"]
    assert added(dpcli, report, "statistic=crossed", "sex=f", "sex=m", *wards)["numbers"] == 8


def test_counts_that_share_gaussian_noise_have_all_half_widths(
    dpcli: Command, tmp_path: Path
) -> None:
    """Without a covariance, the deviation of the sum is at most that of all counts together."""
    path = without_covariance(publish(dpcli, tmp_path, PEOPLE))
    own = lines(tmp_path / "out.csv", "many")
    found = added(dpcli, path, "statistic=many")

    assert len(stated(path)["many"]["queries"]) == 2
    assert found["confidence"] == Fraction(19, 20)
    assert found["value"] == total(own, "value")
    assert 0 <= found["upper"] - total(own, "upper") <= 8
    assert found["value"] - found["lower"] == found["upper"] - found["value"]
    assert not found["noise"]
    assert "whatever they share" in summed(dpcli, path, "statistic=many").err
    # Counts that share Laplace noise have the union bound.
    assert added(dpcli, path, "statistic=people")["confidence"] == 1 - 8 * Fraction(1, 20)
    # An earlier version did not state what noise they have.
    older = added(dpcli, without(path, "many", "noise_of_numbers"), "statistic=many")
    assert older["confidence"] == 1 - 8 * Fraction(1, 20)


def test_gaussian_counts_that_agree_are_added(dpcli: Command, report: Path) -> None:
    """Any sum of them is a linear function of the noise."""
    published = lines(report.with_name("out.csv"), "agreed")
    own = [line for line in published if "all" not in (line["sex"], line["ward"])]
    words = ["sex=f", "sex=m", *(f"ward={ward}" for ward in "abcd")]
    found = added(dpcli, report, "statistic=agreed", *words)

    assert found["numbers"] == len(own) == 8
    assert found["value"] == total(own, "value")
    assert found["confidence"] == Fraction(19, 20)
    assert found["upper"] < total(own, "upper")
    single = added(dpcli, report, "statistic=agreed", "sex=f", "ward=a")
    assert [single[end] for end in ("value", "lower", "upper")] == [
        Fraction(own[0][end]) for end in ("value", "lower", "upper")
    ]
    # All cells of the table are all rows, whose number has less noise than eight cells.
    rows = added(dpcli, report, "statistic=agreed", "sex=f", "sex=m", "ward=all")
    assert abs(rows["upper"] - found["upper"]) <= Fraction(1, 10)
    plain = without_covariance(report)
    assert total(own, "upper") <= added(dpcli, plain, "statistic=agreed", *words)["upper"]


def test_sums_of_laplace_noise_have_an_interval_for_their_variance(
    dpcli: Command, report: Path
) -> None:
    """A bound of 2.157 deviations holds with 95% for any weights; intervals added hold with 70%."""
    both, own = stated(report)["both"], lines(report.with_name("out.csv"), "both")
    scale = float(both["queries"][0]["mechanism"]["scale"])
    deviation = variance_of(both["noise_covariance"]) ** 0.5
    # The covariance is that of discrete noise, and the bound that of continuous noise.
    variance = DiscreteLaplace(Fraction(scale)).discrete_variance
    deviation *= ((2 * scale**2 + 0.5) / variance) ** 0.5
    found = added(dpcli, report, "statistic=both")
    width = found["upper"] - found["value"]

    assert found["confidence"] == Fraction(19, 20)
    assert 2.156 * deviation + 0.5 <= width <= 2.158 * deviation + 2
    assert width < total(own, "upper") - total(own, "value")
    plain = added(dpcli, without_covariance(report), "statistic=both")
    assert plain["upper"] == total(own, "upper")
    assert plain["confidence"] == 1 - 8 * Fraction(1, 20)


def test_counts_of_an_earlier_report_have_the_sum_of_all_intervals(
    dpcli: Command, report: Path
) -> None:
    """It holds if all intervals hold; raw numbers are added after any post-processing."""
    own = lines(report.with_name("out.csv"), "people")
    older = without(report, "people", "noise_of_numbers")
    found = added(dpcli, older, "statistic=people")

    assert [found[end] for end in ("value", "lower", "upper")] == [
        total(own, end) for end in ("value", "lower", "upper")
    ]
    assert found["confidence"] == Fraction(6, 10)
    assert not found["noise"]
    assert "8 intervals together" in summed(dpcli, older, "statistic=people").err
    older = without(report, "agreed", "noise_of_numbers", "post_unbiased")
    assert "post-processing" in refusal(dpcli, older, "statistic=moved", "ward=a")
    processed, raw = (
        added(dpcli, older, f"statistic={name}", "sex=f", "ward=all")
        for name in ("agreed", "agreed.raw")
    )
    assert processed == raw


def test_an_interval_is_cut_at_zero(dpcli: Command, report: Path) -> None:
    """Counts of no rows: nothing below zero is in the interval but a sum that noise makes so."""
    own = lines(report.with_name("out.csv"), "old")
    found = added(dpcli, report, "statistic=old")
    width = summed_margin(DiscreteLaplace(Fraction(2)), 4, Fraction(19, 20)).width

    assert found["noise"]
    assert found["value"] == total(own, "value")
    # The noise is larger in one of twenty runs.
    assert found["lower"] == max(found["value"] - width, min(found["value"], 0))
    assert found["upper"] == found["value"] + width


SAMPLE = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: NEIGHBORS, budget: {epsilon: 9}}
quality: none
SAMPLE
columns:
  sex: {type: category, values: [f, m, other]}
  paid: {type: number, bounds: [-5, 100], step: 0.5}
statistics:
  - {name: rows, statistic: count, epsilon: 1}
  - {name: people, statistic: count, by: [sex], POST epsilon: 1}
  - {name: paid, statistic: sum, column: paid, by: [sex], epsilon: 1}
"""

SIZED = "sample: {design: simple-random, population: 9000, size: 900}"


def sampled(
    dpcli: Command, folder: Path, sample: str, post: str = "", neighbors: str = "add-remove"
) -> Path:
    """The report of a release of rows that may be a sample."""
    text = SAMPLE.replace("SAMPLE", sample).replace("POST", post).replace("NEIGHBORS", neighbors)
    spec = folder / "spec.yaml"
    spec.write_text(text, encoding="utf-8")
    with (folder / "data.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("sex", "paid"), *((row[1], row[5]) for row in ROWS)])
    return released(dpcli, spec, folder / "data.csv")


def test_numbers_of_a_population_have_the_sum_of_all_intervals(
    dpcli: Command, tmp_path: Path
) -> None:
    """They share the error of the sample; the numbers of the file have noise of their own."""
    path = sampled(dpcli, tmp_path, SIZED)
    for name in ("people", "paid"):
        own = lines(tmp_path / "out.csv", f"{name}.population")
        found = added(dpcli, path, f"statistic={name}.population")
        assert found["upper"] == total(own, "upper")
        assert found["confidence"] == Fraction(85, 100)
        assert added(dpcli, path, f"statistic={name}")["noise"]


def test_numbers_of_a_population_are_refused_if_some_are_suppressed(
    dpcli: Command, tmp_path: Path
) -> None:
    """Noise chose which are left, whichever of them are added."""
    path = sampled(dpcli, tmp_path, SIZED, "post: [{suppress_below: 50}],")
    texts = [line["flag"] for line in lines(tmp_path / "out.csv", "people.population")]
    assert "suppressed" in texts
    message = refusal(dpcli, path, "statistic=people.population", "sex=f")
    assert "post-processing" in message


def test_exact_numbers_have_an_exact_sum(dpcli: Command, tmp_path: Path) -> None:
    """If rows are changed, their number is public."""
    path = sampled(dpcli, tmp_path, "", neighbors="change-one")
    found = added(dpcli, path, "statistic=rows")

    assert found["noise"]
    assert found["value"] == found["lower"] == found["upper"] == len(ROWS)


@pytest.mark.parametrize("complete", ["yes", "no", "unknown"])
def test_a_sum_is_as_complete_as_its_numbers(complete: str, dpcli: Command, report: Path) -> None:
    """The result says what the report says of the statistic."""
    stated = '"complete": "unknown"'
    path = report if complete == "unknown" else changed(report, stated, f'"complete": "{complete}"')
    done = summed(dpcli, path, "statistic=paid")
    assert ("paid: these numbers are not complete: " in done.err) is (complete == "no")
    assert ("paid: it is not known whether" in done.err) is (complete == "unknown")
    assert summed(dpcli, path, "statistic=paid", words=["--json"]).json["complete"] == complete


def test_too_many_intervals_are_refused(dpcli: Command, report: Path) -> None:
    """Ten intervals may hold together in half of the cases, which is no use."""
    older = without(report, "people", "noise_of_numbers")
    older = changed(older, '"confidence": 0.95', '"confidence": 0.92')

    assert "too many" in refusal(dpcli, older, "statistic=people")
    assert added(dpcli, older, "statistic=people", "sex=f")["confidence"] == Fraction(68, 100)


KEYS = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9}}
quality: none
columns:
  flag: {type: category, values: [a, b]}
output: {columns: [se, cv]}
statistics:
  - {name: n, statistic: count, by: [flag], epsilon: 1}
"""


def test_keys_with_names_of_other_columns_are_read(dpcli: Command, tmp_path: Path) -> None:
    """A key may be called `flag`, and optional columns come after the flags."""
    spec, data = written(tmp_path, KEYS, "flag\n" + "a\n" * 50 + "b\n" * 70)
    found = added(dpcli, released(dpcli, spec, data), "flag=a", "flag=b")

    assert found["numbers"] == 2
    assert found["value"] == total(lines(tmp_path / "out.csv", "n"), "value")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("", "t.csv"),
        ("statistic,item,value,lower,upper,flag\nn,,1,0,2,\n", "t.csv"),
        ("{}", "t.json"),
        ("{", "t.json"),
        ("\xff", "t.json"),
    ],
)
def test_other_files_are_refused(content: str, name: str, dpcli: Command, tmp_path: Path) -> None:
    """The message names what is read."""
    (tmp_path / name).write_text(content, encoding="latin-1")
    for path in (tmp_path / name, tmp_path / "none.json", tmp_path):
        assert "error[not-a-report]" in refusal(dpcli, path)


@pytest.mark.parametrize(
    ("release", "why"),
    [
        ("local-survey", "local model has no published numbers"),
        ("minimal", "an earlier version of dpcli wrote it"),
    ],
)
def test_reports_without_such_numbers_are_refused(release: str, why: str, dpcli: Command) -> None:
    """The message says that it is a report, and of what."""
    assert why in refusal(dpcli, FROZEN / release / "report.json")


@pytest.mark.parametrize(
    ("where", "why"),
    [
        (["people"], "not a column and a value"),
        (["region=a"], "use `statistic`, `sex`, `ward`, `town` or `item`"),
        (["ward=a", "ward=A"], "no number has `A` in"),
        (["statistic=paid", "ward=a", "ward=x"], "no number has"),
        (["statistic=people", "item=0-19"], "no number has `0-19` in"),
        (["statistic=peopel"], "did you mean `people`?"),
    ],
)
def test_wrong_conditions_are_refused(
    where: list[str], why: str, dpcli: Command, report: Path
) -> None:
    """With the columns that there are."""
    assert why in refusal(dpcli, report, *where)


def test_the_result_fits_80_columns(
    dpcli: Command, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table on standard output, and sentences on standard error."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("people", "many", "both"):
        done = summed(dpcli, report, f"statistic={name}")
        assert done.out.splitlines()[0] == f"sum of {name}"
        assert max(map(len, done.out.splitlines())) <= 80
        assert len(done.err.splitlines()) == 2


@pytest.mark.extended
@pytest.mark.parametrize(
    ("form", "replaced"),
    [
        (r'("noise_covariance": \[\n +\[)[0-9.]+', r"\1-5"),
        (r'("noise_covariance": \[\n +\[)[0-9.]+', r"\g<1>1e400"),
        (r'("noise_covariance": \[\n +\[)[0-9.]+', r"\1null"),
        (r'("noise_covariance": \[\n +\[[0-9.]+\],\n +)\[[-0-9., ]+\]', r"\1[2]"),
        (r'("noise_covariance": \[\n +\[[0-9.]+\],\n +)\[[-0-9., ]+\]', r"\1[5000, 1]"),
        (r'"noise_covariance": \[', r'"noise_covariance": 5, "before": ['),
        (r'"scale": [0-9.]+', '"scale": -1'),
        (r'"scale": [0-9.]+', '"scale": 1e30000000'),
        (r'"grid": [0-9.]+', '"grid": []'),
        (r'"confidence": [0-9.]+', '"confidence": 1.5'),
        (r'"confidence": [0-9.]+', '"confidence": -3'),
        (r'"counts": ', '"left": '),
        (r'"upper":-?[0-9.]+', '"upper":1e30000000'),
        (r'"item":"[^"]*"', '"item":[[1],[5,1]]'),
        (r'"value":-?[0-9.]+', '"value":1.2.3'),
    ],
)
def test_a_changed_report_is_a_clear_error(
    form: str, replaced: str, dpcli: Command, report: Path
) -> None:
    """No number, covariance or confidence that cannot be is used, and none ends in a fault."""
    path = changed(report, form, replaced)
    cells = ("sex=f", "sex=m", *(f"ward={ward}" for ward in "abcd"))
    for name in ("both", "agreed"):
        assert "error[not-a-report]" in refusal(dpcli, path, f"statistic={name}", *cells)


@pytest.mark.usefixtures("stream")
def test_counts_behind_percent_are_added(dpcli: Command, tmp_path: Path) -> None:
    """Percent does not add up, but its raw counts do, with the interval of independent noise."""
    head, spec = SPEC.replace("UNIT", "row").partition("statistics:")[0], tmp_path / "spec.yaml"
    head = "".join(line for line in head.splitlines(keepends=True) if ": {type" not in line)
    sex = "  sex: {type: category, values: [f, m]}\n"
    entry = "{name: s, statistic: count, by: [sex], percent: total, raw: true, epsilon: 1}"
    spec.write_text(f"{head}{sex}statistics: [{entry}]\n", encoding="utf-8")
    (tmp_path / "d.csv").write_text("sex,x\n" + "f,1\nm,1\n" * 200, encoding="utf-8")
    report = released(dpcli, spec, tmp_path / "d.csv")
    found = summed(dpcli, report, "statistic=s.raw", words=["--json"]).json

    assert abs(found["value"] - 400) < 15
    assert (found["basis"], found["confidence"]) == ("noise", 0.95)
    assert summed(dpcli, report, "statistic=s").status == 2


REST = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 90, delta: 1e-4}}
quality: none
columns:
  sex: {type: category, values: [f, m]}
  town: {type: category}
statistics:
  - {name: rows, statistic: count, by: [sex], epsilon: 1}
  - {name: few, statistic: count, where: {sex: f}, epsilon: 1}
  - {name: top, statistic: top_k, column: town, k: 2, epsilon: 1, delta: 1e-6}
  - {name: each, statistic: top_k, column: town, k: 3, by: [sex], epsilon: 1, delta: 1e-6}
"""


@pytest.mark.usefixtures("stream")
def test_other_labels_are_a_charged_total_less_the_counts_that_are_shown(
    dpcli: Command, tmp_path: Path
) -> None:
    """The interval is that of all numbers together, and no label below the threshold is used."""
    (tmp_path / "spec.yaml").write_text(REST, encoding="utf-8")
    towns = ["a"] * 100 + ["b"] * 60 + ["c"] * 40 + [f"r{n}" for n in range(50)]
    lines = "".join(f"{'fm'[at % 2]},{town}\n" for at, town in enumerate(towns))
    (tmp_path / "data.csv").write_text(f"sex,town\n{lines}", encoding="utf-8")
    report = released(dpcli, tmp_path / "spec.yaml", tmp_path / "data.csv")

    def rest(*words: str) -> Any:
        return summed(dpcli, report, *words[1:], words=["--less", words[0], "--json"]).json

    all_groups = rest("top.raw", "statistic=rows")
    assert all_groups["lower"] <= 90 <= all_groups["upper"]
    assert (all_groups["numbers"], all_groups["confidence"]) == (4, 0.9)
    women = rest("each.raw", "statistic=rows", "sex=f")
    assert women["lower"] <= 25 <= women["upper"]
    assert women["confidence"] == 0.9
    for less, why in (("few", "counts of labels"), ("top", "counts of labels")):
        refused = summed(dpcli, report, "statistic=rows", words=["--less", less])
        assert why in refused.err
    refused = summed(dpcli, report, "statistic=few", words=["--less", "top.raw"])
    assert "count different rows" in refused.err
