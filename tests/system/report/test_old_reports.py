"""Reports that earlier versions wrote, on the pages of this one."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from dpcli.report.numbers import NumberTable
from dpcli.report.render import grouped, render_page
from dpcli.report.report import Report
from tests.support.frozen import FROZEN


def stored(version: int) -> Report:
    """A report as an earlier version wrote it; the third is of the last one with other pages."""
    return Report.parse((FROZEN / f"version_{version}" / "report.json").read_bytes())


def texts_of(report: Report) -> Counter[str]:
    """The texts of all published numbers and of their intervals."""

    def texts(numbers: NumberTable) -> Iterator[str]:
        for cell in numbers.cells():
            yield grouped(cell.value)
            yield f"{grouped(cell.lower)} to {grouped(cell.upper)}" if cell.lower else ""

    tables = (numbers for published in report.numbers for numbers in published)
    return Counter(text for numbers in tables for text in texts(numbers) if text)


def shown(report: Report) -> Counter[str]:
    """The texts of values and intervals on its page."""
    page = render_page("html", report, "all").decode()
    found = re.findall(r'class="[^"]*\b(?:value|range)\b[^"]*"[^>]*>([^<]+)<', page)
    return Counter(map(html.unescape, found))


@pytest.mark.parametrize("version", [2, 3])
def test_every_number_of_an_old_report_is_on_the_page(version: int) -> None:
    """Each value and each interval is there once, with all digits."""
    report = stored(version)

    assert shown(report) == texts_of(report)
    assert sum(texts_of(report).values()) > 8


@pytest.mark.parametrize("version", [2, 3])
def test_every_number_of_an_old_report_is_in_markdown(version: int) -> None:
    """Each line of a table has its values and intervals."""
    report = stored(version)
    numbers = r"[-\d.]*\d"
    results, _, _ = render_page("md", report, "all").decode().partition("## Appendix")
    cells = [cell.strip() for cell in re.split(r"[|()]", results.replace(",", ""))]
    found = {cell for cell in cells if re.fullmatch(f"{numbers}( to {numbers})?", cell)}

    assert {text.replace(",", "") for text in texts_of(report)} <= found


def test_a_lost_number_is_noticed() -> None:
    """A page without one line of numbers does not have those of the report."""
    report = stored(3)
    (first, *more), *others = report.numbers
    shorter = NumberTable(first.name, first.keys, first.frame.head(-1))

    lost = Report(report.content, report.stated, ((shorter, *more), *others))
    assert shown(lost) != texts_of(report)
