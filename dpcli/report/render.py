"""From a report to text by templates: Markdown, HTML and the registry record.

HTML is escaped by the templates' autoescape, charts included; Markdown and YAML by their own
filters, which the templates name at every place.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
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

from dpcli.messages import note
from dpcli.numeric.number_text import exact_or_rounded, exact_or_up, rounded_text
from dpcli.planning import notes
from dpcli.planning.risks import Finding, Verdict
from dpcli.privacy.loss import loss_text
from dpcli.report.charts import tick_text
from dpcli.report.document import Report, loss_of
from dpcli.report.entry_facts import QUALITY_COLUMNS
from dpcli.report.facts import STEWARDS
from dpcli.report.page import StatisticView

LONGEST_WORD = 24
"""Letters of a word that a column of a table can hold on a narrow page."""

LONGEST_SUMMARY = 300
"""Characters of a declared text in the summary of a page; all of it stands below."""

TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that show what is around them in another order."""

FILTERED = ("md", "yaml")
"""Forms whose templates escape by filters; any other form is escaped as HTML."""

_DECIMAL = re.compile(r"(-?)(\d{4,})(\.\d+)?")
_NUMBER = re.compile(r"-?[\d,]+(\.\d+)?(e-\d+)?")
_UNIT = re.compile(r"(?<=\d) (?=[^\W\d_])|(?<=\b1 in) (?=\d)")
_CODE = re.compile("`([^`]+)`")
_BLOCK = re.compile(r"^(\d*)([-+=.)])")


def render_page(form: str, report: Report) -> bytes:
    """A report by the template of a form: `html`, `md` or `yaml`.

    KeyError if it does not state what the page does, because an earlier version wrote it.
    """
    facts = report.facts
    local = facts.get("model") == "local"
    named = f"{facts['spec']['dataset']}{', randomized record by record' if local else ''}"
    page = environment(form).get_template(f"report.{form}.j2")
    try:
        return page.render(
            title=f"Privacy report: {named}",
            facts=facts,
            is_local=local,
            declared=facts["declarations"] or {},
            entries=[StatisticView(report, place) for place in range(len(report.numbers))],
            risks=list(map(_finding, facts["hazards"])),
        ).encode()
    except UndefinedError as missing:
        raise KeyError(missing.message) from None


def _finding(stated: Mapping[str, str | None]) -> Finding:
    keys = ("hazard", "question", "verdict", "found", "answer", "declared_as", "warning")
    risk, question, verdict, *words = (stated[key] or "" for key in keys)
    return Finding(risk, question, Verdict(verdict), *words)


def _of_digits(text_of: Callable[..., str]) -> Callable[..., str]:
    """A filter for the digits of a number; empty where there is none."""
    return lambda digits, *more: "" if digits is None else text_of(Fraction(digits), *more)


@cache
def environment(form: str) -> Environment:
    """The templates of a form and their filters; compiled ones are kept where modules are."""
    package = Path(__file__).parent
    compiled = package / "__pycache__"
    keeps = not sys.dont_write_bytecode and os.access(compiled, os.W_OK)
    found = Environment(
        loader=FileSystemLoader(package / "templates"),
        # What several forms include is compiled for each, with the escaping of that form.
        bytecode_cache=FileSystemBytecodeCache(str(compiled), f"%s.{form}.pyc") if keeps else None,
        autoescape=form not in FILTERED,  # noqa: S701 - the templates of these have filters
        undefined=StrictUndefined,
        extensions=["jinja2.ext.do"],
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    found.filters |= {
        "md": markdown_text,
        "md_block": markdown_block,
        "yaml": yaml_scalar,
        "listed": listed,
        "grouped": grouped,
        "prose": prose,
        "shortened": shortened,
        "kind": kind_of,
        "brief": _of_digits(exact_or_rounded),
        "exact": _of_digits(exact_or_up),
        "short": _of_digits(rounded_text),
        "loss": lambda stated: loss_text(loss_of(stated)),
        "tick": tick_text,
        "many": notes.count_text,
        "capital": notes.capitalized,
        "sentence": lambda text: f"{notes.capitalized(text)}.",
        "slug": lambda text: re.sub("[^a-z0-9]+", "-", text).strip("-"),
    }
    found.globals |= {"note": note, "stewards": STEWARDS, "quality_columns": QUALITY_COLUMNS}
    return found


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


def listed(sentences: Iterable[str]) -> str:
    """Sentences as a Markdown list, for that is how the registry shows texts."""
    lines = [line for line in sentences if line]
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)


def yaml_scalar(value: str, depth: int = 0) -> str:
    """A text as YAML: a block of lines `depth` deep, or in quotes.

    In characters that every reader of YAML takes.
    """
    lines = value.split("\n")
    if len(lines) > 1 and all(one.isprintable() and one.strip() == one != "" for one in lines):
        return "\n".join(["|-", *(f"{'  ' * depth}{line}" for line in lines)])
    return "".join(
        character if character.isprintable() else rf"\U{ord(character):08x}"
        for character in json.dumps(value, ensure_ascii=False)
    )
