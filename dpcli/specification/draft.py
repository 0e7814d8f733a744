"""The first spec for a data file: from its header, or from answers to questions.

Without answers it passes no check until every `FILL_IN` has been decided by a person: types,
bounds and budgets are public choices and must not be read from the data. The text is that of
`draft.yaml`.
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
from typing import Any

from dpcli.csv_dialect import STANDARD_DIALECT, Dialect
from dpcli.numeric.exact import plain_text
from dpcli.specification.column_types import is_invisible
from dpcli.specification.columns_section import LONGEST_NAME, MOST_COLUMNS
from dpcli.specification.csv_section import dialect_fields
from dpcli.specification.dataset_names import dataset_name_fault
from dpcli.specification.yaml_reader import PLACEHOLDER

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

PLAIN = re.compile(
    r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}|[A-Za-z]+(-[A-Za-z]+)+"
)
"""Numbers, days and words with hyphens: values that need no quotes."""

TAKEN = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "fill_in"})
"""Plain words that other readers of YAML take for something else."""

EMPTY = re.compile(r"^(csv|quality): $", re.MULTILINE)
"""A section without a value: its paragraph is left out."""

SIMPLE_KEY = 1000
"""A longer key must be marked as one, by YAML's rules."""

WIDTH = 80
"""Columns of a line that people edit without scrolling."""

CHECKED, LEAST_CHECK, MOST_CHECK = Fraction(1, 200), Fraction(1, 50), Fraction(1, 10)
"""Epsilon of the quality check for the rows and for each column, and its limits in all."""

TODO = f"\n# Replace every {PLACEHOLDER}, then run `dpcli check` on this file."


def draft_spec(header: Sequence[str], dataset: str, dialect: Dialect = STANDARD_DIALECT) -> str:
    """A commented spec for a data file with these column names."""
    twins = twins_of(header)
    reasons = {place: unfit(column, twins) for place, column in enumerate(header, 1)}
    notes = [f"column {place} cannot be declared: {why}" for place, why in reasons.items() if why]
    fit = [column for column, why in zip(header, reasons.values(), strict=True) if not why]
    if len(fit) > MOST_COLUMNS:
        notes.append(f"{len(fit) - MOST_COLUMNS:,} columns are too many to declare")
    columns = {column: {"type": PLACEHOLDER} for column in fit[:MOST_COLUMNS]}
    check = plain_text(min(MOST_CHECK, max(LEAST_CHECK, CHECKED * (len(columns) + 1))))
    # Some systems decompose the names of files.
    composed = unicodedata.normalize("NFC", dataset)
    tree = {
        "dataset": PLACEHOLDER if dataset_name_fault(composed) else composed,
        "unit": PLACEHOLDER,
        "neighbors": PLACEHOLDER,
        "budget": {"epsilon": PLACEHOLDER},
        "quality": {"epsilon": check, "min_rows": PLACEHOLDER, "min_readable": "0.8"},
        "columns": columns,
        "statistics": {"rows": {"statistic": "count", "epsilon": PLACEHOLDER}},
    }
    return spec_text(tree, dialect, notes=notes, todo=TODO)


def spec_text(
    tree: Mapping[str, Any], dialect: Dialect, *, notes: Sequence[str] = (), todo: str = ""
) -> str:
    """The text of a spec with these sections; those that are empty are left out.

    Columns and statistics are mappings by name; the `notes` stand below the columns.
    """
    columns = [_column(as_word(name), flow(one)) for name, one in tree["columns"].items()]
    lines = [*(columns or ["  {}"]), *(f"  # {note}" for note in notes)]
    entries = [f"  - {flow({'name': name, **one})}" for name, one in tree["statistics"].items()]
    text = Template(Path(__file__).with_suffix(".yaml").read_text("utf-8")).substitute(
        {key: flow(value) if value else "" for key, value in tree.items()},
        csv=_csv_section(dialect),
        columns="\n".join(lines),
        statistics="\n".join(entries),
        todo=todo,
    )
    return "\n\n".join(part for part in text.split("\n\n") if not EMPTY.search(part))


def _csv_section(dialect: Dialect) -> str:
    """How the file is written, where that is not the usual way."""
    words = {
        key: word if key == "multiline" else as_word(word)
        for key, word in dialect_fields(dialect).items()
    }
    parts = [f"{key}: {word}" for key, word in words.items()]
    if dialect.names:
        separator = ", " if sum(map(len, dialect.names)) < WIDTH else ",\n  "
        parts.append(f"names: [{separator.join(map(as_word, dialect.names))}]")
    return f"{{{', '.join(parts)}}}" if parts else ""


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


def _column(word: str, value: str) -> str:
    return f"  ? {word}\n  : {value}" if len(word) > SIMPLE_KEY else f"  {word}: {value}"


def flow(value: Any) -> str:
    """Plain data as YAML in one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{as_word(key)}: {flow(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow, value))}]"
    return value if value == PLACEHOLDER or PLAIN.fullmatch(value) else as_word(value)


def as_word(text: str) -> str:
    """A text as YAML reads it back, in quotes unless it is a plain word."""
    if WORD.fullmatch(text) and text.lower() not in TAKEN:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(
        json.dumps(character)[1:-1]
        if unicodedata.category(character) in ("Cf", "Co", "Cn") and ord(character) < 0x10000
        else character
        for character in quoted
    )
