"""From facts to text by templates: Markdown, HTML and the registry record.

HTML is escaped by the templates' autoescape; Markdown and YAML by their own filters, which the
templates name at every place. Charts alone enter a page as markup; `charts` escapes their texts.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import (
    Environment,
    FileSystemBytecodeCache,
    FileSystemLoader,
    StrictUndefined,
    select_autoescape,
)
from markupsafe import Markup

from dpcli import __version__
from dpcli.report import charts
from dpcli.report.facts import Facts, Numbers, Table
from dpcli.report.registry import record, yaml_scalar
from dpcli.report.table import Cell, visible

if TYPE_CHECKING:
    from jinja2 import Template

MOST_LINES = 1_000
"""Lines of a statistic that a page shows; the table and the other reports have all."""

MOST_CHARTS = 12
"""Charts of one statistic that are drawn side by side."""

MOST_BINS = 5_000
"""Bins that still make a shape on a screen."""

LONGEST_WORD = 24
"""Letters of a word that a column of a table can hold on a narrow page."""

LONGEST_NUMBER = 40
"""Characters of a number, or of two, that always have room on a line."""

LONGEST_SUMMARY = 300
"""Characters of a declared text in the summary of a page; all of it stands below."""

_DECIMAL = re.compile(r"(-?)(\d{4,})(\.\d+)?")
_NUMBER = re.compile(r"-?[\d,]+(\.\d+)?(e-\d+)?")
_UNIT = re.compile(r"(?<=\d) (?=[^\W\d_])|(?<=\b1 in) (?=\d)")


def as_markdown(facts: Facts) -> bytes:
    """A report for people, as Markdown."""
    return _template("report.md.j2").render(facts=facts).encode()


def as_html(facts: Facts) -> bytes:
    """A report for people, as one page without scripts and without anything from elsewhere."""
    return _template("report.html.j2").render(facts=facts).encode()


def as_registry(facts: Facts) -> bytes:
    """A draft for the public registry."""
    assert facts.source is not None, "only what was published can be registered"
    return _template("record.yaml.j2").render(record(facts.source)).encode()


def _template(name: str) -> Template:
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    """Templates and their filters; compiled templates are kept where compiled modules are."""
    package = Path(__file__).parent
    compiled = package / "__pycache__"
    keeps = not sys.dont_write_bytecode and os.access(compiled, os.W_OK)
    environment = Environment(
        loader=FileSystemLoader(package / "templates"),
        bytecode_cache=FileSystemBytecodeCache(str(compiled), "%s.template") if keeps else None,
        autoescape=select_autoescape(("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.filters |= {
        "md": markdown_text,
        "yaml": yaml_scalar,
        "grouped": grouped,
        "unbroken": unbroken,
        "shortened": shortened,
        "kind": kind_of,
        "figures": figures,
        "lines": lines,
        "listed": listed,
        "slug": lambda text: re.sub(r"\W+", "-", text),
    }
    environment.globals["version"] = __version__
    return environment


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is, on one line, without links and in its own direction."""
    text = visible(text.replace("&", "&amp;"))
    for character in "\\`*_[]<>|#~@":
        text = text.replace(character, "\\" + character)
    for start in ("://", "www."):
        # A bare address would become a link.
        text = text.replace(start, f"{start[:-1]}\\{start[-1]}")
    return text.replace("\n", " ")


def grouped(text: str) -> str:
    """A plain decimal with a comma between thousands; any other text as it is."""
    found = _DECIMAL.fullmatch(text)
    return text if found is None else f"{found[1]}{int(found[2]):,}{found[3] or ''}"


def unbroken(text: str) -> str:
    """A sentence whose numbers stay on one line with the word that they count."""
    return _UNIT.sub("\u00a0", text)


def shortened(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= LONGEST_SUMMARY else f"{text[:LONGEST_SUMMARY]}\u2026"


def kind_of(text: str) -> str:
    """How a text of a table is laid out: its words are broken only where no line holds them."""
    if _NUMBER.fullmatch(text):
        return "digits"
    return "words" if max(map(len, text.split()), default=0) <= LONGEST_WORD else "long"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page's table of numbers; texts that are very long may be broken."""

    labels: tuple[str, ...]
    drawing: Markup
    value: str
    interval: str
    flag: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Lines:
    """The numbers of a statistic, or those before its post-processing, as a page shows them."""

    title: str
    drawn: bool
    ends: tuple[str, ...]
    lines: tuple[Line, ...]
    more: int
    intervals: bool
    flags: bool


def lines(numbers: Numbers, figures: int) -> list[Lines]:
    """The tables of a statistic on a page; without `figures` above, each line has a drawing."""
    tables = []
    for name in dict.fromkeys(cell.statistic for cell in numbers.cells):
        shown = [cell for cell in numbers.cells if cell.statistic == name]
        scale, bars = None, numbers.drawn == "bars"
        drawn = numbers.drawn != "nothing" and not (figures and name == numbers.name)
        if drawn and numbers.shared:
            scale = charts.Scale.over([*numbers.over, *charts.numbers_of(shown)], zero=bars)
        tables.append(
            Lines(
                "" if name == numbers.name else name,
                drawn,
                (charts.tick_text(scale.low), charts.tick_text(scale.high)) if scale else (),
                tuple(_line(cell, scale, drawn=drawn, bars=bars) for cell in shown[:MOST_LINES]),
                max(0, len(shown) - MOST_LINES),
                any(cell.lower != cell.upper for cell in shown),
                any(cell.flag for cell in shown),
            )
        )
    return tables


def _line(cell: Cell, scale: charts.Scale | None, *, drawn: bool, bars: bool) -> Line:
    interval = f"{grouped(cell.lower)} to {grouped(cell.upper)}" if cell.lower else ""
    return Line(
        _labels(cell),
        Markup(charts.row(cell, scale, bars=bars) if drawn else ""),  # noqa: S704
        grouped(cell.value),
        interval,
        cell.flag.value,
        max(len(cell.value), len(interval)) <= LONGEST_NUMBER,
    )


def _labels(cell: Cell) -> tuple[str, ...]:
    return (*cell.keys.values(), *([cell.item] if cell.item else []))


def figures(numbers: Numbers) -> list[tuple[Markup, str]]:
    """Charts over the bins of a number, one for each group if these are few, with captions."""
    key = numbers.axis
    shown = [cell for cell in numbers.cells if cell.statistic == numbers.name]
    if key is None or not len(key) <= len(shown) <= MOST_CHARTS * len(key) or len(key) > MOST_BINS:
        return []
    scale = charts.Scale.over(charts.numbers_of(shown), zero=numbers.drawn == "bars")
    groups = [shown[start : start + len(key)] for start in range(0, len(shown), len(key))]
    return [
        (
            Markup(charts.over_bins(group, key, scale, numbers.percent)),  # noqa: S704
            ", ".join([key.column.name, *_labels(group[0])[:-1]]),
        )
        for group in groups
    ]


def listed(numbers: Numbers) -> Table:
    """All numbers of a statistic as a plain table."""
    both = len({cell.statistic for cell in numbers.cells}) > 1
    ends = (f"lower {numbers.percent}%", f"upper {numbers.percent}%")
    keys = list(numbers.cells[0].keys) if numbers.cells else []
    header = (*(["statistic"] * both), *keys, "item", "value", *ends, "flag")
    rows: Iterable[tuple[str, ...]] = (
        (
            *([cell.statistic] * both),
            *cell.keys.values(),
            *(cell.item, cell.value, cell.lower, cell.upper, cell.flag.value),
        )
        for cell in numbers.cells
    )
    return Table(header, tuple(rows))
