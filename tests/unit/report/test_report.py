"""A report as JSON and back: every text and every digit."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from dpcli.fields.json import json_text
from dpcli.report import report as reports
from dpcli.report.content import FIRST, LAST
from dpcli.report.formats import report_schema
from dpcli.report.numbers import RAW, NumberTable
from dpcli.report.release import ReleaseReport
from dpcli.report.render import render_page
from dpcli.report.report import Report, without_numbers
from dpcli.report.statistic import CELLS
from tests.support.cli import LOCAL, PEOPLE, Command

HOSTILE = ('a"b', "\\", "\n", "null", "", '","value":9', "é\u2028", "1.50", "{}", "]")
DIGITS = ("0.50", "-0.0", "", "123456789012345678901234567890.10", "7")


def numbers(name: str, count: int, keys: int = 2) -> NumberTable:
    """Numbers with labels and digits that are hard to write."""
    columns = {
        **{
            f"key{at}": [HOSTILE[(n + at) % len(HOSTILE)] for n in range(count)]
            for at in range(keys)
        },
        "item": [HOSTILE[n * 3 % len(HOSTILE)] for n in range(count)],
        **{
            end: [DIGITS[(n + len(end)) % len(DIGITS)] for n in range(count)]
            for end in ("value", "lower", "upper")
        },
        "flag": ["unreliable" if n % 3 else "" for n in range(count)],
    }
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    return NumberTable(name, tuple(f"column {at}" for at in range(keys)), frame)


def statistic(name: str, keys: int = 2, *, raw: bool = False) -> dict[str, Any]:
    """What is stated about a statistic that its numbers need."""
    by = [f"column {at}" for at in range(keys)]
    return {"name": name, "by": by, "raw": raw, "layout": {"chosen": False}, "cells": CELLS}


def composed_report(
    statistics: list[dict[str, Any]], numbers_of: list[tuple[NumberTable, ...]]
) -> Report:
    """A report that states these statistics, and nothing else."""
    stated = ReleaseReport.load({"statistics": statistics, "declarations": None})
    return Report.compose(stated, numbers_of)


@pytest.mark.parametrize("slice_", [1, 7, 1 << 14])
def test_a_parsed_report_equals_the_one_that_was_written(
    slice_: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels, items, digits, flags and raw numbers survive, however many are written at a time."""
    monkeypatch.setattr(reports, "SLICE", slice_)
    composed = composed_report(
        [statistic("a", raw=True), statistic("b"), statistic("c", 0), statistic("d", raw=True)],
        [
            (numbers("a", 30), numbers("a" + RAW, 30)),
            (numbers("b", 0),),
            (numbers("c", 1, 0),),
            (numbers("d", 0), numbers("d" + RAW, 0)),
        ],
    )
    read = Report.parse(composed.content)

    assert json_text(read.stated) == json_text(composed.stated)
    for parsed, written in zip(read.numbers, composed.numbers, strict=True):
        assert [numbers.name for numbers in parsed] == [numbers.name for numbers in written]
        assert [numbers.keys for numbers in parsed] == [numbers.keys for numbers in written]
        assert all(x.frame.equals(y.frame) for x, y in zip(parsed, written, strict=True))


def test_each_number_has_its_own_line() -> None:
    """A program that reads line by line finds each number with all its digits."""
    report = composed_report([statistic("a")], [(numbers("a", 20),)])
    lines = [line.strip().rstrip(",") for line in report.content.decode().split("\n")]
    parsed = [json.loads(line, parse_float=str) for line in lines if line.startswith('{"keys"')]

    assert [number["keys"]["column 0"] for number in parsed] == [HOSTILE[n % 10] for n in range(20)]
    assert {number["value"] for number in parsed} >= {"0.50", "-0.0", None}


def test_numbers_of_an_earlier_version_are_refused() -> None:
    """They have several lines each. The ledger has the outputs that such a version made."""
    report = composed_report([statistic("a")], [(numbers("a", 20),)])
    earlier = json.dumps(json.loads(report.content), indent=2).encode()

    with pytest.raises(KeyError):
        Report.parse(earlier)


def test_a_simulation_in_an_earlier_report_is_no_obstacle() -> None:
    """A report that states the findings of a simulation is read as one without them."""
    report = composed_report([statistic("a")], [(numbers("a", 20),)])
    former = report.content.replace(
        b'{\n  "', b'{\n  "simulation": {"rows": 9, "notes": []},\n  "', 1
    )
    read = Report.parse(former)

    assert json.loads(former)["simulation"]["rows"] == 9
    assert json_text(read.stated) == json_text(report.stated)


@pytest.mark.parametrize("form", ["html", "md", "yaml"])
def test_former_words_of_a_report_are_rendered(form: str, dpcli: Command, tmp_path: Path) -> None:
    """Pages of a report with the former key of responses and the former verdict are the same."""
    spec, path = tmp_path / "spec.yaml", tmp_path / "r.json"
    spec.write_bytes(LOCAL.read_bytes())
    done = dpcli(
        "local", "randomize", spec, PEOPLE, "-q", "-o", tmp_path / "o.csv", "--report", path
    )
    assert done.status == 0, done.err
    text = path.read_text(encoding="utf-8")
    former = re.sub('"description": "(?=the |a )', '"told": "', text)
    former = former.replace('"verdict": "open"', '"verdict": "for the steward to answer"')

    assert former.count('"told"') == text.count('"parameters"') > 1
    assert former.count("for the steward") > 1
    pages = []
    for content in (text.encode(), former.encode()):
        page, digest = render_page(form, Report.parse(content)), hashlib.sha256(content).hexdigest()
        pages.append(page.replace(digest.encode(), b""))
    assert pages[0] == pages[1]


def test_declared_answers_have_a_verdict_and_a_total_of_their_own(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """Every format counts them apart; those that earlier reports call met are still rendered so."""
    path = tmp_path / "r.json"
    with spec.open("a", encoding="utf-8") as file:
        file.write("declarations: {fairness: x, access: y}\n")
    done = dpcli("release", spec, data, "-q", "-o", tmp_path / "o.csv", "--report", path)
    assert done.status == 0, done.err
    text = path.read_text(encoding="utf-8")
    answered = [risk for risk in json.loads(text)["risks"] if risk["answer"]]
    former = text.replace('"verdict": "declared"', '"verdict": "met"')
    now, before = (
        [render_page(form, Report.parse(one.encode())).decode() for form in ("md", "html")]
        for one in (text, former)
    )

    assert {(risk["verdict"], risk["answer"]) for risk in answered} == {
        ("declared", "x"), ("declared", "y"),
    }  # fmt: skip
    assert Draft202012Validator(json.loads(report_schema())).is_valid(json.loads(text))
    assert "- Declared answers: 2\n" in now[0]
    assert '<b class="declared">2 declared answers</b>' in now[1]
    assert now[0].count("- **declared: ") == now[1].count('"verdict declared"') == 2
    assert all("declared answer" not in page.lower() for page in before)
    assert before[0].count("- **verified: ") == now[0].count("- **verified: ") + 2


def test_any_bytes_are_split_without_an_error() -> None:
    """The facts stay JSON without the numbers; bytes that are no report stay as they are."""
    report = composed_report(
        [statistic("a"), statistic("b")], [(numbers("a", 20),), (numbers("b", 0),)]
    )
    facts = json.loads(without_numbers(report.content))
    cut = report.content[: report.content.index(b"]")]

    assert [stated["cells"] for stated in facts["statistics"]] == [1, []]
    assert facts["declarations"] is None
    for odd in (b"", b"odd", cut, FIRST, FIRST * 3, LAST * 2):
        assert without_numbers(odd) == odd
