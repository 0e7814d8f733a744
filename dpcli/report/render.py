"""From facts to text by templates: Markdown, HTML and the registry record.

HTML is escaped by the templates' autoescape, charts included; Markdown and YAML by their own
filters, which the templates name at every place.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from fractions import Fraction
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
from markupsafe import Markup, escape

from dpcli import __version__
from dpcli.plan import notes
from dpcli.report import charts
from dpcli.report.facts import Facts, Numbers, Table
from dpcli.report.registry import listed, record, yaml_scalar
from dpcli.report.table import FIXED, Cell

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

LONGEST_SUMMARY = 300
"""Characters of a declared text in the summary of a page; all of it stands below."""

TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that show what is around them in another order."""

_DECIMAL = re.compile(r"(-?)(\d{4,})(\.\d+)?")
_NUMBER = re.compile(r"-?[\d,]+(\.\d+)?(e-\d+)?")
_UNIT = re.compile(r"(?<=\d) (?=[^\W\d_])|(?<=\b1 in) (?=\d)")
_CODE = re.compile("`([^`]+)`")
_BLOCK = re.compile(r"^(\d*)([-+=.)])")


def as_markdown(facts: Facts) -> bytes:
    """A report for people, as Markdown."""
    return _template("report.md.j2").render(facts=facts).encode()


def as_html(facts: Facts) -> bytes:
    """A report for people, as one page without scripts and without anything from elsewhere."""
    return _template("report.html.j2").render(facts=facts, most=MOST_LINES).encode()


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
        "md_block": markdown_block,
        "yaml": yaml_scalar,
        "listed": listed,
        "grouped": grouped,
        "prose": prose,
        "shortened": shortened,
        "kind": kind_of,
        "figures": figures,
        "shown": shown,
        "drawing": drawing,
        "table": table,
        "sentence": lambda text: f"{notes.capital(text)}.",
        "slug": lambda text: re.sub(r"\W+", "-", text),
    }
    environment.globals["version"] = __version__
    return environment


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is, on one line, without links and in its own direction."""
    text = TURNING.sub("\ufffd", text.replace("&", "&amp;"))
    for character in "\\`*_[]<>|#~@":
        text = text.replace(character, "\\" + character)
    for start in ("://", "www."):
        # A bare address would become a link.
        text = text.replace(start, f"{start[:-1]}\\{start[-1]}")
    return text.replace("\n", " ")


def markdown_block(text: str) -> str:
    """The same at the beginning of a line, where it is no list, heading or ruler."""
    return _BLOCK.sub(r"\1\\\2", markdown_text(text).lstrip())


def grouped(text: str) -> str:
    """A plain decimal with a comma between thousands; any other text as it is."""
    found = _DECIMAL.fullmatch(text)
    return text if found is None else f"{found[1]}{int(found[2]):,}{found[3] or ''}"


def prose(text: str) -> Markup:
    """A sentence for a page: keys as code, and numbers on one line with what they count."""
    joined = str(escape(_UNIT.sub("\u00a0", text)))
    return Markup(_CODE.sub(r"<code>\1</code>", joined))  # noqa: S704 - escaped before


def shortened(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= LONGEST_SUMMARY else f"{text[:LONGEST_SUMMARY]}\u2026"


def kind_of(text: str) -> str:
    """How a text of a table is laid out: its words are broken only where no line holds them."""
    if _NUMBER.fullmatch(text):
        return "digits"
    return "words" if max(map(len, text.split()), default=0) <= LONGEST_WORD else "long"


@dataclass(frozen=True, slots=True)
class Shown:
    """The numbers of a statistic on a page, or those before its post-processing.

    Where they are `drawn` they share a scale, or have one each.
    """

    title: str
    cells: list[Cell]
    drawn: bool
    scale: charts.Scale | None

    @property
    def ends(self) -> tuple[str, ...]:
        """The numbers at both ends of the shared scale."""
        scale = self.scale
        return (charts.tick_text(scale.low), charts.tick_text(scale.high)) if scale else ()


def shown(numbers: Numbers, figures: int) -> list[Shown]:
    """The tables of a statistic on a page; without `figures` above, each line has a drawing."""
    tables = []
    for name in dict.fromkeys(cell.statistic for cell in numbers.cells):
        found = [cell for cell in numbers.cells if cell.statistic == name]
        drawn = numbers.drawn != "nothing" and not (figures and name == numbers.name)
        scale = _scale(numbers, found, numbers.over) if drawn and numbers.shared else None
        tables.append(Shown("" if name == numbers.name else name, found, drawn, scale))
    return tables


def _scale(numbers: Numbers, cells: list[Cell], over: tuple[Fraction, ...] = ()) -> charts.Scale:
    return charts.Scale.over([*over, *charts.numbers_of(cells)], zero=numbers.drawn == "bars")


def drawing(cell: Cell, numbers: Numbers, scale: charts.Scale | None) -> charts.Row | None:
    """One line of a table as a bar or a point."""
    return charts.row(cell, scale, bars=numbers.drawn == "bars")


def figures(numbers: Numbers) -> list[charts.Chart]:
    """Charts over the bins of a number, one for each group if these are few."""
    key = numbers.axis
    shown = [cell for cell in numbers.cells if cell.statistic == numbers.name]
    if key is None or not len(key) <= len(shown) <= MOST_CHARTS * len(key) or len(key) > MOST_BINS:
        return []
    scale = _scale(numbers, shown)
    groups = (shown[start : start + len(key)] for start in range(0, len(shown), len(key)))
    return [charts.over_bins(group, key, scale, numbers.percent) for group in groups]


def table(numbers: Numbers) -> Table:
    """All numbers of a statistic as a plain table, named if there are raw ones as well."""
    first = int(len({cell.statistic for cell in numbers.cells}) == 1)
    keys = list(numbers.cells[0].keys)
    ends = (f"lower {numbers.percent}%", f"upper {numbers.percent}%")
    header = (FIXED[0], *keys, *FIXED[1:3], *ends, FIXED[-1])
    rows = tuple(tuple(cell.line(keys)[first:]) for cell in numbers.cells)
    return Table(header[first:], rows)
