"""Reports rendered by templates: HTML, Markdown and the registry record in YAML.

Jinja escapes all HTML, charts included. Markdown and YAML are escaped by filters, which their
templates apply to every text.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from pathlib import Path

from jinja2 import (
    Environment,
    FileSystemBytecodeCache,
    FileSystemLoader,
    StrictUndefined,
    UndefinedError,
)
from markupsafe import Markup, escape

from dpcli.numeric.exact import exact_or_rounded, exact_or_up, rounded_text
from dpcli.planning import notes
from dpcli.planning.risks import Finding, Verdict
from dpcli.privacy.loss import loss_text
from dpcli.problems.messages import quoted_list
from dpcli.report.captions import QUALITY_COLUMNS, RESPONSIBLE, number_writer
from dpcli.report.charts import tick_text
from dpcli.report.digits import Digits, any_rounded, reader_of
from dpcli.report.document import Report
from dpcli.report.entry_facts import BINS_COLUMNS
from dpcli.report.model import CollectionReport, RiskReport
from dpcli.report.page import StatisticView

LONGEST_WORD = 24
"""The longest word that fits into a column of a table on a narrow page."""

LONGEST_SUMMARY = 300
"""Characters of a declared text in the summary; the page has the full text below."""

FORMER_VERDICTS = {"for the steward to answer": Verdict.OPEN.value}
"""Verdicts as reports of earlier versions call them."""

BIDI_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the order in which the text around them is shown."""

FILTER_ESCAPED = ("md", "yaml")
"""Formats whose templates escape by filters; other formats are escaped as HTML."""

_DECIMAL = re.compile(r"(-?)(\d{4,})(\.\d+)?")
_NUMBER = re.compile(r"-?[\d,]+(\.\d+)?(e-\d+)?")
_UNIT = re.compile(r"(?<=\d) (?=[^\W\d_])|(?<=\b1 in) (?=\d)")
_CODE = re.compile("`([^`]+)`")
_SPECIAL = re.compile(r"[\\`*_\[\]<>|#~@]")
_WORDS = re.compile(r"(?<!`)(`[a-z_]+(?::? [a-z0-9._]+)*:?`)(?!`)")
_BLOCK = re.compile(r"^(\d*)([-+=.)])")


def render_page(form: str, report: Report, digits: Digits = "interval") -> bytes:
    """A report rendered by the template of a format: `html`, `md` or `yaml`.

    Tables of numbers show these `digits`; charts are drawn from all.
    Raises KeyError if an earlier version wrote the report and a needed fact is absent.
    """
    stated = report.stated
    spec, example = stated.spec, stated.spec.numbers or ""
    named = f"{spec.title} ({spec.dataset})" if spec.title else spec.dataset
    named += ", randomized record by record" if isinstance(stated, CollectionReport) else ""
    entries = [StatisticView(report, index) for index in range(len(report.numbers))]
    shown = (cell for view in entries for lines in view.tables for cell in lines.cells)
    page = environment(form).get_template(f"report.{form}.j2")
    try:
        return page.render(
            title=f"Privacy report: {named}",
            report=stated,
            choices=getattr(stated, "choices", None) or [],
            responses=getattr(stated, "responses", []),
            number=number_writer(example) if example or form != "html" else grouped,
            example=example,
            declared=stated.declarations or {},
            entries=entries,
            read=reader_of(digits),
            is_rounded=any_rounded(shown, digits),
            risks=list(map(_finding, stated.risks)),
        ).encode()
    except UndefinedError as missing:
        raise KeyError(missing.message) from None


def _finding(stated: RiskReport) -> Finding:
    return Finding(
        stated.risk,
        stated.description,
        Verdict(FORMER_VERDICTS.get(stated.verdict, stated.verdict)),
        stated.found,
        stated.answer or "",
        stated.declared_as or "",
        stated.warning or "",
    )


def _digits_filter(text_of: Callable[..., str]) -> Callable[..., str]:
    """A filter for a string of digits; its result is empty for None."""
    return lambda digits, *more: "" if digits is None else text_of(Fraction(digits), *more)


@cache
def environment(form: str) -> Environment:
    """The templates of a format with their filters; compiled templates go to `__pycache__`."""
    package = Path(__file__).parent
    compiled = package / "__pycache__"
    keeps = not sys.dont_write_bytecode and os.access(compiled, os.W_OK)
    templates = Environment(
        loader=FileSystemLoader(package / "templates"),
        # A template that several formats include is compiled for each, with its escaping.
        bytecode_cache=FileSystemBytecodeCache(str(compiled), f"%s.{form}.pyc") if keeps else None,
        autoescape=form not in FILTER_ESCAPED,  # noqa: S701 - the templates of these have filters
        undefined=StrictUndefined,
        extensions=["jinja2.ext.do"],
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    templates.filters |= {
        "md": markdown_text,
        "md_block": markdown_block,
        "yaml": yaml_scalar,
        "listed": listed,
        "grouped": grouped,
        "prose": prose,
        "shortened": shortened,
        "kind": kind_of,
        "brief": _digits_filter(exact_or_rounded),
        "exact": _digits_filter(exact_or_up),
        "short": _digits_filter(rounded_text),
        "loss": lambda stated: loss_text(stated.loss),
        "tick": tick_text,
        "many": notes.count_text,
        "capital": notes.capitalized,
        "sentence": lambda text: f"{notes.capitalized(text)}.",
        "slug": lambda text: re.sub("[^a-z0-9]+", "-", text).strip("-"),
    }
    templates.globals |= {
        "quoted_list": quoted_list,
        "responsible": RESPONSIBLE,
        "quality_columns": QUALITY_COLUMNS,
    }
    templates.globals |= {"bins_columns": BINS_COLUMNS}
    return templates


def markdown_text(text: str) -> str:
    """Text escaped for Markdown: on one line, without links and changes of direction."""
    text = BIDI_CONTROLS.sub("\ufffd", text.replace("&", "&amp;"))
    # Plain words in backticks are code, in which a backslash would be shown.
    parts = _WORDS.split(text)
    parts[::2] = [_SPECIAL.sub(r"\\\g<0>", part) for part in parts[::2]]
    text = "".join(parts)
    for start in ("://", "www."):
        # A bare address would become a link.
        text = text.replace(start, f"{start[:-1]}\\{start[-1]}")
    return text.replace("\n", " ")


def markdown_block(text: str) -> str:
    """Text escaped for the beginning of a line, where it must not start a list or heading."""
    return _BLOCK.sub(r"\1\\\2", markdown_text(text).lstrip())


def grouped(text: str) -> str:
    """A plain decimal with commas between thousands; any other text unchanged."""
    match = _DECIMAL.fullmatch(text)
    return text if match is None else f"{match[1]}{int(match[2]):,}{match[3] or ''}"


def prose(text: str) -> Markup:
    """A sentence as HTML: keys as code, and no line break between a number and its unit."""
    joined = str(escape(_UNIT.sub("\u00a0", text)))
    return Markup(_CODE.sub(r"<code>\1</code>", joined))  # noqa: S704 - escaped before


def shortened(text: str) -> str:
    """A long text cut to its beginning."""
    return text if len(text) <= LONGEST_SUMMARY else f"{text[:LONGEST_SUMMARY]}\u2026"


def kind_of(text: str) -> str:
    """The CSS class of a table cell: only `long` breaks words."""
    if _NUMBER.fullmatch(text):
        return "digits"
    return "words" if max(map(len, text.split()), default=0) <= LONGEST_WORD else "long"


def listed(sentences: Iterable[str]) -> str:
    """Sentences as a Markdown list, because the registry shows texts as Markdown."""
    lines = [line for line in sentences if line]
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)


def yaml_scalar(value: str, depth: int = 0) -> str:
    """A text as YAML: a block of lines indented by `depth`, or in quotes.

    It uses only characters that every YAML parser accepts.
    """
    lines = value.split("\n")
    if len(lines) > 1 and all(line.isprintable() and line.strip() == line != "" for line in lines):
        return "\n".join(["|-", *(f"{'  ' * depth}{line}" for line in lines)])
    return "".join(
        character if character.isprintable() else rf"\U{ord(character):08x}"
        for character in json.dumps(value, ensure_ascii=False)
    )
