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

from dpcli.dialect import STANDARD, Dialect
from dpcli.spec.columns import LONGEST_NAME, MOST_COLUMNS
from dpcli.spec.csv_section import written
from dpcli.spec.names import dataset_fault
from dpcli.spec.text import PLACEHOLDER

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

TAKEN = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "fill_in"})
"""Plain words that other readers of YAML take for something else."""

SIMPLE_KEY = 1000
"""A longer key must be marked as one, by YAML's rules."""

HOW = "how the data files are written; `multiline: true` if cells have line ends in them"
"""What the section `csv` says, and what a draft of it takes for granted."""

SCHEMA_LINES = (
    "# yaml-language-server: $schema=dpcli.schema.json",
    "# Editors then offer and explain keys, after `dpcli schema > dpcli.schema.json`.",
)
"""How a spec names its schema, relative to its own folder."""

HEAD = """\
{schema}
# What to release from this dataset, and how much that may reveal.
# Replace every {placeholder}, then run `dpcli check` on this file.
dpcli: 1
dataset: {dataset}  # the ledger account that pays for releases
{csv}
privacy:
  unit: {placeholder}  # `row`, if no person has two rows; else {{column: ID, max_rows: 3}}
  neighbors: {placeholder}  # `add-remove`; `change-one` if the number of rows, or people, is public
  budget: {{epsilon: {placeholder}}}  # the most that all releases together may reveal, such as 2

# Stops a release when the file is incomplete, or a column cannot be read as declared.
quality:
  epsilon: 0.02
  min_rows: {placeholder}  # the least that a complete file has; not looked up in the file
  min_readable: 0.8

# Declare what may be in a column from a code book, never from the data:
#   {{type: integer, bounds: [18, 100]}}
#   {{type: number, bounds: [0, 200000], step: 100}}
#   {{type: category, values: [a, b]}}    or from text to label: {{0: no, 1: yes}}
#   {{type: category}}    values are private; needs `keys: private`, below
#   {{type: boolean, values: ["0", "1"]}}    the texts for false and true
#   {{type: date, bounds: [2010-01-01, 2024-12-31]}}
#   {{type: id}}    whose row it is, for `unit`; never published
# Remove the columns that no statistic uses.
columns:
"""

TAIL = """
# More examples, for a category `sex` and an integer `age`:
#   - {{name: by_sex, statistic: count, by: [sex], epsilon: 0.25}}
#   - {{name: mean_age, statistic: mean, column: age, by: [sex], epsilon: 0.5}}
#   - {{name: ages, statistic: histogram, column: age, bins: {{width: 10}}, epsilon: 0.25}}
#   - {{name: adults, statistic: count, where: {{age: {{min: 18}}}}, epsilon: 0.25}}
# If people are protected, how many there are:
#   - {{name: people, statistic: count_distinct, epsilon: 0.25}}
# For a category `city` without values, groups that enough rows are in:
#   - {{name: by_city, statistic: count, by: [city], keys: private, epsilon: 0.5, delta: 1e-7}}
statistics:
  - {{name: rows, statistic: count, epsilon: {placeholder}}}  # such as 0.5
"""


def draft_spec(header: Sequence[str], dataset: str, dialect: Dialect = STANDARD) -> str:
    """A commented spec for a data file with these column names."""
    # Some systems decompose the names of files.
    composed = unicodedata.normalize("NFC", dataset)
    name = PLACEHOLDER if dataset_fault(composed) else as_word(composed)
    text = HEAD.format(
        schema="\n".join(SCHEMA_LINES),
        csv=csv_line(dialect),
        placeholder=PLACEHOLDER,
        dataset=as_word(name, keep=True),
    )
    lines: list[str] = []
    twins = twins_of(header)
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
    if not declared:
        text = text.rstrip("\n") + " {}\n"
    return text + "".join(f"{line}\n" for line in lines) + TAIL.format(placeholder=PLACEHOLDER)


def csv_line(dialect: Dialect) -> str:
    """The section that says how the file is written, where that is not the usual way."""
    section = csv_section(written(dialect), dialect.names)
    return f"{section}  # {HOW}\n" if section else ""


def csv_section(words: Mapping[str, str], names: Sequence[str]) -> str:
    """The section `csv` with these words and these names of columns; empty if there are none."""
    parts = [f"{key}: {as_word(word, keep=key == 'multiline')}" for key, word in words.items()]
    if names:
        parts.append(f"names: [{', '.join(map(as_word, names))}]")
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
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in column):
        return "its name holds an invisible character"
    if unicodedata.normalize("NFC", column) in twins:
        return "another column has the same name"
    return ""


def declaration(word: str, value: str) -> list[str]:
    """The lines that declare a column, whose name is written as a word."""
    return [f"  ? {word}", f"  : {value}"] if len(word) > SIMPLE_KEY else [f"  {word}: {value}"]


def as_word(text: str, *, keep: bool = False) -> str:
    """A text as YAML reads it back, in quotes unless it is a plain word."""
    if keep or (PLAIN.fullmatch(text) and text.lower() not in TAKEN):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(
        json.dumps(character)[1:-1]
        if unicodedata.category(character) in ("Cf", "Co", "Cn") and ord(character) < 0x10000
        else character
        for character in quoted
    )
