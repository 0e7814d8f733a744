"""What a person would see of the page, on a phone and on a desk, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.support.browser import BROWSER, ends, faults
from tests.support.cli import ROOT
from tests.support.reports import SAMPLES, make_reports

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no browser on this machine")

MORE: tuple[tuple[int, Literal["light", "dark"]], ...] = (
    (320, "dark"),
    (360, "light"),
    (660, "light"),
    (820, "dark"),
    (1280, "light"),
)


LOOKED_AT = ("town", "town-people", "relations", "incomes", "tables", "dates", "local-survey")
"""Samples with all kinds of drawings; the others are looked at among the slow trials."""


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(
            path,
            marks=pytest.mark.extended if path.stem in LOOKED_AT else pytest.mark.slow,
            id=path.stem,
        )
        for path in SAMPLES
    ],
)
def test_elements_do_not_overlap_and_are_visible(spec: Path, tmp_path: Path) -> None:
    """On a light phone and a dark desktop every text is readable and no drawing is empty.

    The contrast of text is 4.5 at least, after WCAG 2.2.
    """
    page = make_reports(spec, tmp_path).text(".html")

    assert faults(page, 390, "light") == []
    assert faults(page, 1280, "dark") == []


@pytest.mark.extended
@pytest.mark.parametrize(("width", "scheme"), MORE)
def test_the_layout_has_no_faults_at_other_sizes(
    width: int, scheme: Literal["light", "dark"], tmp_path: Path
) -> None:
    """A report has no faults on narrow phones, on a tablet and on a desktop."""
    town = make_reports(ROOT / "specs" / "town.yaml", tmp_path)

    assert faults(town.text(".html"), width, scheme) == []


BROKEN = {
    "beside the page": '<p style="white-space:nowrap">' + "far " * 200 + "</p>",
    "lies over": '<p style="position:absolute;top:9px">one text here</p>'
    '<p style="position:absolute;top:9px">another text here</p>',
    "cut": '<p style="width:30px;overflow:hidden;white-space:nowrap">a long line of text</p>',
    "empty drawing": '<svg width="300" height="200"></svg>',
    "outside of its drawing": '<svg width="300" height="50"><rect width="9" height="9"/>'
    '<text x="290" y="20">too far</text></svg>',
    "too small": '<svg width="300" height="50"><rect width="9" height="9"/>'
    '<text x="9" y="20" style="font-size:5px">tiny</text></svg>',
    "too pale": '<p style="color:#bbbbbb">hardly there</p>',
}


@pytest.mark.extended
@pytest.mark.parametrize("fault", BROKEN)
def test_the_layout_check_reports_each_fault(fault: str) -> None:
    """A page with a fault does not pass."""
    reported = faults(f"<!DOCTYPE html><body>{BROKEN[fault]}</body>", 390)

    assert any(fault in sentence for sentence in reported), reported


QUESTIONS = {
    "who": "section.stewards",
    "what": "section.published",
    "how much": "section.reveals table",
    "what could go wrong": "section.questions a",
    "who signs": "section.signature .blank:last-child",
}
"""What a privacy officer asks, and where the answer stands."""


@pytest.mark.extended
@pytest.mark.parametrize("name", ["town", "town-people", "open-data", "local-survey"])
def test_the_first_screen_answers_five_questions(name: str, tmp_path: Path) -> None:
    """On a screen of 1280 by 800 every answer is visible without scrolling."""
    page = make_reports(ROOT / "specs" / f"{name}.yaml", tmp_path).text(".html")
    bottoms = ends(page, 1280, list(QUESTIONS.values()))

    assert {
        question: bottom
        for question, bottom in zip(QUESTIONS, bottoms, strict=True)
        if bottom is None or not 0 < bottom <= 800
    } == {}


@pytest.mark.extended
def test_the_check_of_the_first_screen_can_fail() -> None:
    """An answer that is missing or too far down is reported."""
    page = '<!DOCTYPE html><body><p style="margin-top:900px">low</p></body>'

    low, missing = ends(page, 1280, ["p", "section"])
    assert low is not None
    assert low > 800
    assert missing is None
