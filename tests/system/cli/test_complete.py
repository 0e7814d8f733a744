"""Whether the numbers of an entry are complete follows from charged counts and the spec alone."""

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
UNDER_LIMIT = ("flights", "delay", "index")


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


def complete_of(lines: Sequence[dict[str, str]]) -> dict[str, str]:
    """What `complete` says of each statistic, the same in all of its lines."""
    found = {(line["statistic"], line["complete"]) for line in lines}
    assert len({name for name, _ in found}) == len(found)
    return dict(found)


def test_numbers_under_a_limit_are_not_complete_where_a_charged_count_shows_it(
    dpcli: Command, tmp_path: Path, data: Path
) -> None:
    """Two thirds of the flights are left out; the planes are all counted."""
    words = ("--report", tmp_path / "out.md")
    complete = complete_of(released(dpcli, write(tmp_path, QUALITY), data, *words))
    report = reported(tmp_path / "out.json")

    assert {name for name, found in complete.items() if found == "no"} == {*UNDER_LIMIT}
    page = (tmp_path / "out.md").read_text("utf-8").replace("\\", "")
    first, _, results = page.partition("## Results")
    for stated in report["statistics"]:
        known = stated["completeness"]
        assert known["complete"] == complete[stated["name"]]
        assert known["reason"][1:] in results
        if stated["name"] in UNDER_LIMIT:
            assert 0.3 < known["min_missing"] <= 0.667
            # Page 1 has the first of the reasons; the others stand at the numbers.
            reason, *_ = known["reason"].split("; at least ")
            assert f"{', '.join(UNDER_LIMIT)}: {reason}" in first
        else:
            assert known["min_missing"] == 0
            partial = [line for line in first.splitlines() if "not in these numbers" in line]
            assert not [line for line in partial if stated["name"] in line]
    (left_out,) = report["quality"]["left_out"]
    assert left_out["limit"] == 10
    assert 0.3 < left_out["share_at_least"] <= 0.667
    assert [part["role"] for part in report["quality"]["queries"]] == ["first faults", "rows"]
    assert sum(part["epsilon"] for part in report["quality"]["queries"]) == 6
    assert report["quality"]["table"][-1][0] == "flights left out by a limit of 10"


@pytest.mark.usefixtures("stream")
def test_a_file_within_the_limit_is_not_called_incomplete(
    dpcli: Command, tmp_path: Path, data: Path
) -> None:
    """No flight is left out by a limit of a hundred; at most 5% of noises would say so."""
    complete = complete_of(released(dpcli, write(tmp_path, QUALITY, limit=100), data))

    assert "no" not in complete.values()


def test_without_a_charged_count_numbers_under_a_limit_may_not_be_complete(
    dpcli: Command, tmp_path: Path, data: Path
) -> None:
    """Nothing that was counted shows how many rows the limit leaves out, so it is not known."""
    lines = released(dpcli, write(tmp_path, ""), data)
    report = reported(tmp_path / "out.json")

    assert {complete_of(lines)[name] for name in UNDER_LIMIT} == {"unknown"}
    said = {stated["name"]: stated["completeness"]["reason"] for stated in report["statistics"]}
    for name in UNDER_LIMIT:
        assert "at most 10 of the flights of each person are used" in said[name]
    assert said["planes"] == "none of the people with an id can be left out"


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


def test_values_in_bounds_that_counts_chose_are_never_called_complete(
    dpcli: Command, tmp_path: Path, data: Path
) -> None:
    """The mean is about clamped values, and the counts are not."""
    lines = released(dpcli, write(tmp_path, "", bounds=CHOSEN), data)
    report = reported(tmp_path / "out.json")
    complete = complete_of(lines)

    assert complete["delay"] != "yes"
    assert complete["flights"] == "unknown"
    said = {stated["name"]: stated["completeness"]["reason"] for stated in report["statistics"]}
    assert "the values of `delay` beyond the chosen bounds" in said["delay"]


def test_tables_that_agree_are_as_complete_as_before(
    dpcli: Command, tmp_path: Path, data: Path
) -> None:
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

    assert complete_of(released(dpcli, spec, data))["tables"] == "no"


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

    about = "(for flights, delay, index, late that of what is used)"
    for text in (said[2], metadata["tableSchema"]["columns"][4]["dc:description"]):
        assert about in text
    kept = "at most 10 of the flights of each person are used"
    assert any(text.startswith("flights: ") and kept in text for text in said)
    assert re.search(f"flights, index, usual: it is not known .*{kept}", summary)
    for column in columns_of(reported(tmp_path / "w.json")):
        says, title = column["dc:description"], column["titles"][0]
        if "end of its 95% interval" in says:
            assert ("95% interval of " in says) == (not title.startswith(("planes", "usual")))
    # Totals are of all rows, and choices have no interval.
    assert "from at most" not in page
    assert "all flights of a person are used, and their total is clamped to [0, 900]" in page
    assert "the values of `delay` beyond the chosen bounds, which clamp them" in summary


def columns_of(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """The described columns of all tables."""
    tables = metadata.get("tables", [metadata])
    return [column for table in tables for column in table["tableSchema"]["columns"]]
