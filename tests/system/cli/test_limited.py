"""Numbers of which limits or chosen bounds left out a part are flagged, by charged counts alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Command, reported, table

SPEC = """\
dpcli: 1
dataset: flights
rows_are: flights
privacy:
  unit: {{column: plane, max_rows: {limit}}}
  neighbors: add-remove
  budget: {{epsilon: 15}}
{quality}
columns:
  plane: {{type: id}}
  month: {{type: category, values: [jan, feb]}}
  delay: {{type: integer, bounds: {bounds}}}
statistics:
  - {{name: flights, statistic: count, by: [month], epsilon: 2}}
  - {{name: delay, statistic: mean, column: delay, epsilon: 2}}
  - {{name: index, statistic: comparison, between: {{month: [jan, feb]}}, epsilon: 2}}
  - {{name: planes, statistic: count_distinct, epsilon: 1}}
"""
QUALITY = "quality: {epsilon: 6, min_rows: 1000, max_limited: 0.9}"
CHOSEN = "{choose: 1-2-5, up_to: 1000000, epsilon: 0.5}"
UNDER_LIMIT = {"flights", "delay", "index"}


def write(folder: Path, quality: str, limit: int = 10, bounds: str = "[-60, 600]") -> Path:
    """A spec, with a limit on the rows of a plane."""
    spec = folder / "spec.yaml"
    text = SPEC.format(quality=quality, limit=limit, bounds=bounds)
    spec.write_text(text, encoding="utf-8")
    return spec


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Flights of 400 planes: most have five, and every tenth a hundred."""
    path = tmp_path / "flights.csv"
    lines = [
        f"N{plane},{('jan', 'feb')[row % 2]},{(plane * row) % 90 - 20}"
        for plane in range(400)
        for row in range(100 if plane % 10 == 0 else 5)
    ]
    path.write_text("\n".join(["plane,month,delay", *lines, ""]), encoding="utf-8")
    return path


def released(dpcli: Command, spec: Path, data: Path, *more: object) -> list[dict[str, str]]:
    """The lines of a released table; the report is next to it."""
    out = spec.parent / "out.csv"
    words: Sequence[object] = ("-o", out, "--report", spec.parent / "out.json", "--force", *more)
    dpcli("release", spec, data, *words).succeeded()
    return table(out)


def flags_of(lines: Sequence[dict[str, str]]) -> dict[str, set[str]]:
    """The flags of each statistic."""
    found: dict[str, set[str]] = {}
    for line in lines:
        found.setdefault(line["statistic"], set()).add(line["flag"])
    return found


def test_numbers_under_a_limit_are_flagged_where_a_charged_count_shows_it(
    dpcli: Command, tmp_path: Path, data: Path
) -> None:
    """Two thirds of the flights are left out; the planes are all counted."""
    flags = flags_of(released(dpcli, write(tmp_path, QUALITY), data))
    report = reported(tmp_path / "out.json")

    assert {name for name, found in flags.items() if found == {"limited"}} == UNDER_LIMIT
    assert flags["planes"] == {""}
    (left_out,) = report["quality"]["left_out"]
    assert left_out["limit"] == 10
    assert 0.3 < left_out["share_at_least"] <= 0.667
    assert [part["role"] for part in report["quality"]["queries"]] == [
        "rows and cells",
        "people by their rows",
    ]
    assert sum(part["epsilon"] for part in report["quality"]["queries"]) == 6
    assert report["quality"]["table"][-1][0] == "flights left out by a limit of 10"


@pytest.mark.usefixtures("stream")
def test_a_file_within_the_limit_is_not_flagged(dpcli: Command, tmp_path: Path, data: Path) -> None:
    """No flight is left out by a limit of a hundred; at most 5% of noises would flag it."""
    flags = flags_of(released(dpcli, write(tmp_path, QUALITY, limit=100), data))

    assert not any("limited" in found for found in flags.values())


def test_without_a_charged_count_intervals_are_said_to_be_about_what_is_kept(
    dpcli: Command, tmp_path: Path, data: Path
) -> None:
    """No flag, status or text depends on how many rows the limit leaves out."""
    lines = released(dpcli, write(tmp_path, ""), data)
    report = reported(tmp_path / "out.json")

    assert not any("limited" in found for found in flags_of(lines).values())
    said = {stated["name"]: stated["left_out"] for stated in report["statistics"]}
    for name in UNDER_LIMIT:
        assert said[name].endswith("; the interval is about what is used")
    assert said["planes"] == "each person counts once, by any of their flights"


def test_a_release_stops_where_limits_leave_out_too_much(
    dpcli: Command, tmp_path: Path, data: Path
) -> None:
    """`max_limited` ends with exit status 8, and the check alone is charged."""
    spec = write(tmp_path, QUALITY.replace("0.9", "0.05"))
    reports = ("--report", tmp_path / "r.json")
    done = dpcli("release", spec, data, "-o", tmp_path / "out.csv", *reports)
    quality = reported(tmp_path / "r.json")["quality"]
    history = dpcli(
        "ledger", "history", "--json", "--ledger", tmp_path / "dpcli-ledger.sqlite"
    ).json

    assert done.status == 8
    # One share with one confidence.
    share = quality["table"][-1][1]
    assert f"leaves out {share} of the flights" in quality["missed"][0]
    assert f"leaves out {share}" in " ".join(done.err.split())
    assert "`max_limited` is 5%" in " ".join(done.err.split())
    assert not (tmp_path / "out.csv").exists()
    assert float(history[-1]["epsilon"]) == 6


def test_values_in_bounds_that_counts_chose_are_flagged(
    dpcli: Command, tmp_path: Path, data: Path
) -> None:
    """The mean is about clamped values, and the counts are not."""
    lines = released(dpcli, write(tmp_path, "", bounds=CHOSEN), data)
    report = reported(tmp_path / "out.json")
    flags = flags_of(lines)

    assert flags["delay"] == {"limited"}
    assert flags["flights"] == {""}
    said = {stated["name"]: stated["left_out"] for stated in report["statistics"]}
    assert "values of delay are clamped to bounds that noisy counts chose" in said["delay"]


def test_totals_and_means_state_an_interval_about_unclamped_values(
    dpcli: Command, tmp_path: Path, data: Path
) -> None:
    """It contains the number of all values, where missing ones have the constant of the spec.

    Most values are clamped on purpose, and the counts that chose the bounds bound the rest.
    """
    data.write_text(data.read_text("utf-8") + "N1,jan,\n" * 300, encoding="utf-8")
    bounds = "{choose: 1-2-5, from: -50, up_to: 1000, epsilon: 5, cover: 0.5}, missing: 400"
    spec = write(tmp_path, "quality: none", bounds=bounds)
    text = spec.read_text("utf-8").replace("{column: plane, max_rows: 10}", "row")
    lines = [line for line in text.splitlines() if "{name:" not in line]
    lines += ["  - {name: total, statistic: sum, column: delay, epsilon: 2}"]
    lines += ["  - {name: totals, statistic: sum, column: delay, by: [month], epsilon: 2}"]
    lines += ["  - {name: average, statistic: mean, column: delay, epsilon: 2}"]
    lines += ["  - {name: flights, statistic: count, epsilon: 2}", ""]
    spec.write_text("\n".join(lines), encoding="utf-8")
    released(dpcli, spec, data)
    report = reported(tmp_path / "out.json")
    total, totals, average, flights = report["statistics"]
    cells = [line.split(",")[2] for line in data.read_text("utf-8").splitlines()[1:]]
    exact = sum(int(cell or 400) for cell in cells)
    condition = "if none lies beyond the outermost bounds, -50 to 1000"
    risk = "at most 5% of releases state a wrong one"

    for stated, number in ((total, exact), (average, exact / len(cells))):
        wider, (cell,) = stated["wider_interval"], stated["cells"]
        assert cell["upper"] < number
        assert wider["lower"] <= number <= wider["upper"]
        assert wider["lower"] == pytest.approx(cell["lower"] - wider["below"])
        assert wider["upper"] == pytest.approx(cell["upper"] + wider["above"])
        ((low, high),) = re.findall(r"values is (\S+) to (\S+), if", stated["left_out"])
        spare = (wider["upper"] - wider["lower"]) / 20
        assert wider["lower"] - spare <= float(low) <= wider["lower"]
        assert wider["upper"] <= float(high) <= wider["upper"] + spare
        assert stated["left_out"].endswith(f"{condition}; {risk}")
    assert set(totals["wider_interval"]) == {"below", "above"}
    assert "wider_interval" not in flights


def test_tables_that_agree_keep_the_flag(dpcli: Command, tmp_path: Path, data: Path) -> None:
    """Agreement makes new numbers, about the same rows."""
    spec = write(tmp_path, QUALITY)
    entry = "statistic: marginals, columns: [month, late], ways: 1, post: [consistent], epsilon: 2"
    lines = [line for line in spec.read_text("utf-8").splitlines() if "{name:" not in line]
    lines.insert(lines.index("statistics:"), "  late: {type: boolean, missing: false}")
    spec.write_text("\n".join([*lines, f"  - {{name: tables, {entry}}}", ""]), encoding="utf-8")
    data.write_text(
        "\n".join(
            line + (",late" if place == 0 else ",true")
            for place, line in enumerate(data.read_text("utf-8").splitlines())
        ),
        encoding="utf-8",
    )

    assert flags_of(released(dpcli, spec, data))["tables"] == {"limited"}


def test_no_text_states_a_bare_confidence_of_numbers_that_limits_cut(
    dpcli: Command, tmp_path: Path, data: Path
) -> None:
    """Metadata, columns, summary and page say what intervals are about."""
    spec, out = write(tmp_path, "", bounds=CHOSEN), tmp_path / "u.csv"
    more = (
        "  - {name: late, statistic: sum, column: delay, bound: sum, unit_bounds: [0, 900],"
        " epsilon: 1}\n  - {name: usual, statistic: mode, column: month,\n"
        "     mechanism: permute_and_flip, epsilon: 1}\n"
    )
    spec.write_text(spec.read_text("utf-8").replace("epsilon: 15", "epsilon: 40") + more, "utf-8")
    words = ("release", spec, data, "--metadata")
    done = dpcli(*words, tmp_path / "u.json", "-o", out, "--report", tmp_path / "u.md").succeeded()
    wide = ("-o", tmp_path / "w.csv", "--layout", "wide", "-q")
    dpcli(*words, tmp_path / "w.json", *wide).succeeded()
    summary = " ".join(done.err.split())
    metadata = reported(tmp_path / "u.json")
    said = [stated["body"]["value"] for stated in metadata["notes"]]
    page = (tmp_path / "u.md").read_text("utf-8").replace("\\", "")

    about = (
        "(for flights, index that of what is used; "
        "for delay, late that of the clamped values of what is used)"
    )
    for text in (said[2], metadata["tableSchema"]["columns"][4]["dc:description"]):
        assert about in text
    kept = "the interval is about what is used"
    used = "at most 10 flights per person are used; more are left out at random;"
    assert f"flights: {used} {kept}." in said
    assert f"flights, index: {used} {kept}" in summary
    for column in columns_of(reported(tmp_path / "w.json")):
        says, title = column["dc:description"], column["titles"][0]
        if "end of its 95% interval" in says:
            assert ("95% interval of " in says) == (not title.startswith(("planes", "usual")))
    # Totals are of all rows, and choices have no interval.
    assert "from at most" not in page
    assert "All flights of a person are used, up to a total that is declared" in page
    assert f"usual: {used} the choice is about what is used" in summary
    assert "the choice is about what is used" in page
    assert "+ limited: values were clamped to bounds that noisy counts chose" in summary


def columns_of(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """The described columns of all tables."""
    tables = metadata.get("tables", [metadata])
    return [column for table in tables for column in table["tableSchema"]["columns"]]
