"""The first spec for a data file, from its header alone.

It passes no check until every `FILL_IN` has been decided by a person: types,
bounds and budgets are public choices and must not be read from the data.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from string import Template

from dpcli.dialect import STANDARD, Dialect
from dpcli.privacy.decimals import plain_text
from dpcli.spec.column_types import is_invisible
from dpcli.spec.columns import LONGEST_NAME, MOST_COLUMNS
from dpcli.spec.csv_section import written
from dpcli.spec.names import dataset_fault
from dpcli.spec.text import PLACEHOLDER

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

TAKEN = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "fill_in"})
"""Plain words that other readers of YAML take for something else."""

SIMPLE_KEY = 1000
"""A longer key must be marked as one, by YAML's rules."""

WIDTH = 80
"""Columns of a line that people edit without scrolling."""

CHECKED, LEAST_CHECK, MOST_CHECK = Fraction(1, 200), Fraction(1, 50), Fraction(1, 10)
"""Epsilon of the quality check for the rows and for each column, and its limits in all."""

HOW = "# How the data files are written; `multiline: true` if cells hold line ends"
DECIMAL = '# Add `decimal: ","` below if decimals are written as 1,5'
"""Comments above the section `csv`, about what a draft takes for granted."""

SCHEMA_LINES = (
    "# yaml-language-server: $schema=dpcli.schema.json",
    "# Editors then offer and explain keys, after `dpcli schema > dpcli.schema.json`.",
)
"""How a spec names its schema, relative to its own folder."""


def draft_spec(header: Sequence[str], dataset: str, dialect: Dialect = STANDARD) -> str:
    """A commented spec for a data file with these column names."""
    twins = twins_of(header)
    # Some systems decompose the names of files.
    composed = unicodedata.normalize("NFC", dataset)
    lines: list[str] = []
    declared = 0
    for position, column in enumerate(header, 1):
        reason = unfit(column, twins)
        if not reason and declared == MOST_COLUMNS:
            lines.append(f"  # the columns from number {position} on are too many to declare")
            break
        if reason:
            lines.append(f"  # column {position} cannot be declared: {reason}")
            continue
        declared += 1
        lines += declaration(as_word(column), f"{{type: {PLACEHOLDER}}}")
    check = min(MOST_CHECK, max(LEAST_CHECK, CHECKED * (declared + 1)))
    return Template(Path(__file__).with_suffix(".yaml").read_text("utf-8")).substitute(
        schema="\n".join(SCHEMA_LINES),
        fill_in=PLACEHOLDER,
        dataset=PLACEHOLDER if dataset_fault(composed) else as_word(composed),
        csv=csv_line(dialect),
        check=plain_text(check),
        columns="".join(f"\n{line}" for line in ([] if declared else ["  {}"]) + lines),
    )


def csv_line(dialect: Dialect) -> str:
    """The section that says how the file is written, where that is not the usual way."""
    section = csv_section(written(dialect), dialect.names)
    comments = [HOW, *([DECIMAL] if dialect.delimiter != STANDARD.delimiter else [])]
    return "\n".join([*comments, section, ""]) if section else ""


def csv_section(words: Mapping[str, str], names: Sequence[str]) -> str:
    """The section `csv` with these words and these names of columns; empty if there are none."""
    bare = {key: word if key == "multiline" else as_word(word) for key, word in words.items()}
    parts = [f"{key}: {word}" for key, word in bare.items()]
    if names:
        separator = ", " if sum(map(len, names)) < WIDTH else ",\n  "
        parts.append(f"names: [{separator.join(map(as_word, names))}]")
    return f"csv: {{{', '.join(parts)}}}" if parts else ""


def twins_of(header: Sequence[str]) -> frozenset[str]:
    """The names that several columns have, however their letters are composed."""
    names = [unicodedata.normalize("NFC", column) for column in header]
    return frozenset(name for name, count in Counter(names).items() if count > 1)


def unfit(column: str, twins: frozenset[str]) -> str:
    """Why a name cannot be declared; empty if it can."""
    if not column:
        return "its name is empty"
    if len(column) > LONGEST_NAME:
        return f"its name is longer than {LONGEST_NAME:,} characters"
    if is_invisible(column):
        return "its name holds an invisible character"
    if unicodedata.normalize("NFC", column) in twins:
        return "another column has the same name"
    return ""


def declaration(word: str, value: str) -> list[str]:
    """The lines that declare a column, whose name is written as a word."""
    return [f"  ? {word}", f"  : {value}"] if len(word) > SIMPLE_KEY else [f"  {word}: {value}"]


def as_word(text: str) -> str:
    """A text as YAML reads it back, in quotes unless it is a plain word."""
    if PLAIN.fullmatch(text) and text.lower() not in TAKEN:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(
        json.dumps(character)[1:-1]
        if unicodedata.category(character) in ("Cf", "Co", "Cn") and ord(character) < 0x10000
        else character
        for character in quoted
    )
