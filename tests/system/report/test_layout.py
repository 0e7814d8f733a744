"""What a person would see of the page, on a phone and on a desk, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from tests.support.browser import BROWSER, POLICY, ends, faults, violations
from tests.support.reports import SAMPLES, make_reports
from tests.support.shared import made_once

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no browser on this machine")

LOOKED_AT = ("town", "town-people", "relations", "incomes", "tables", "dates", "local-survey")
"""Samples with all kinds of drawings; the others are looked at among the slow trials."""

OTHERS = tuple(path.stem for path in SAMPLES if path.stem not in LOOKED_AT)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(LOOKED_AT, marks=pytest.mark.extended, id="drawings"),
        pytest.param(OTHERS, marks=pytest.mark.slow, id="others"),
    ],
)
def test_elements_do_not_overlap_and_are_visible(
    names: Sequence[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """On a light phone and a dark desktop every text is readable and no drawing is empty.

    The contrast of text is 4.5 at least, after WCAG 2.2.
    """
    pages = pages_of(names, tmp_path_factory)

    looks: list[tuple[int, Literal["light", "dark"]]] = [(390, "light"), (1280, "dark")]
    for width, scheme in looks:
        found = faults(*((page, width) for page in pages.values()), scheme=scheme)
        assert dict(zip(pages, found, strict=True)) == {name: [] for name in names}, scheme


def pages_of(names: Sequence[str], factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages of reports of sample specs, by name; each is released once for all tests."""
    made = {
        path.stem: made_once(factory, path.stem, partial(make_reports, path))
        for path in SAMPLES
        if path.stem in names
    }
    return {name: (made[name] / "report.html").read_text(encoding="utf-8") for name in names}


def rules_of_axe() -> str:
    """The script of axe, whose package has no Python that this needs."""
    package = pytest.importorskip("axe_core_python")
    return (Path(package.__path__[0]) / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(LOOKED_AT[:4], marks=pytest.mark.extended, id="drawings"),
        pytest.param((*LOOKED_AT[4:], *OTHERS), marks=pytest.mark.slow, id="others"),
    ],
)
def test_axe_finds_nothing(names: Sequence[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Pages keep the rules of axe for screen readers, as they are on a desk and on a phone."""
    pages = pages_of(names, tmp_path_factory)

    for width in (1280, 390):
        found = violations(*((page, width) for page in pages.values()), rules=rules_of_axe())
        assert dict(zip(pages, found, strict=True)) == {name: [] for name in names}, width


@pytest.mark.extended
def test_axe_reports_a_fault() -> None:
    """A page without a language, and with a picture that nothing describes, does not pass."""
    page = f"<!DOCTYPE html><html>{POLICY}<body><img src=x>text</body></html>"
    ((*found,),) = violations((page, 500), rules=rules_of_axe())

    assert {"html-has-lang", "image-alt"} <= {fault.partition(":")[0] for fault in found}


@pytest.mark.extended
def test_the_layout_has_no_faults_at_other_sizes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A report has no faults on narrow phones, on a tablet and on a desktop."""
    (town,) = pages_of(["town"], tmp_path_factory).values()

    assert faults(*((town, width) for width in (360, 660, 1280))) == [[], [], []]
    assert faults((town, 320), (town, 820), scheme="dark") == [[], []]


BROKEN = {
    "beside the page": '<p style="white-space:nowrap">' + "far " * 200 + "</p>",
    "lies over": '<p style="position:absolute;top:9px">one text here</p>'
    '<p style="position:absolute;top:9px">another text here</p>',
    "cut": '<p style="width:30px;overflow:hidden;white-space:nowrap">a long line of text</p>',
    "cut in two": '<table style="width:40px;overflow-wrap:anywhere"><td>0.050<td>1234567</table>',
    "empty drawing": '<svg width="300" height="200"></svg>',
    "outside of its drawing": '<svg width="300" height="50"><rect width="9" height="9"/>'
    '<text x="290" y="20">too far</text></svg>',
    "too small": '<svg width="300" height="50"><rect width="9" height="9"/>'
    '<text x="9" y="20" style="font-size:5px">tiny</text></svg>',
    "too pale": '<p style="color:#bbbbbb">hardly there</p>',
}


@pytest.mark.extended
def test_the_layout_check_reports_each_fault() -> None:
    """A page with a fault does not pass."""
    pages = [(f"<!DOCTYPE html><body>{page}</body>", 390) for page in BROKEN.values()]

    for fault, reported in zip(BROKEN, faults(*pages), strict=True):
        assert any(fault in sentence for sentence in reported), (fault, reported)


QUESTIONS = {
    "who": "section.stewards",
    "what": "section.published",
    "how much": "section.reveals table",
    "what could go wrong": "section.questions a",
    "who signs": "section.signature .blank:last-child",
}
"""What a privacy officer asks, and where the answer stands."""


@pytest.mark.extended
def test_the_first_screen_answers_five_questions(tmp_path_factory: pytest.TempPathFactory) -> None:
    """On a screen of 1280 by 800 every answer is visible without scrolling."""
    pages = pages_of(["town", "town-people", "open-data", "local-survey"], tmp_path_factory)
    looks = [(page, 1280) for page in pages.values()]

    for name, bottoms in zip(pages, ends(*looks, places=list(QUESTIONS.values())), strict=True):
        assert {
            question: bottom
            for question, bottom in zip(QUESTIONS, bottoms, strict=True)
            if bottom is None or not 0 < bottom <= 800
        } == {}, name


@pytest.mark.extended
def test_the_check_of_the_first_screen_can_fail() -> None:
    """An answer that is missing or too far down is reported."""
    page = '<!DOCTYPE html><body><p style="margin-top:900px">low</p></body>'

    ((low, missing),) = ends((page, 1280), places=["p", "section"])
    assert low is not None
    assert low > 800
    assert missing is None
