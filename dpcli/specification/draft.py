"""Drafts a spec for a data file from its header, or from answers to questions.

A draft without answers has the placeholder `FILL_IN` for types, bounds and budgets, and
`dpcli check` refuses it until a person has replaced them all: these are public choices and must not
be read from the data. `draft.yaml` is the template of the text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any

from dpcli.data.declared_texts import is_invisible
from dpcli.data.formats import UNDECLARED_DIALECT, UTF8, Dialect, has_unnamed_index
from dpcli.numeric.exact import rounded_text
from dpcli.specification.columns import MAX_COLUMNS, MAX_NAME_LENGTH
from dpcli.specification.csv_form import dialect_fields
from dpcli.specification.dataset_names import dataset_name_fault
from dpcli.specification.yaml_reader import PLACEHOLDER

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

UNQUOTED = re.compile(
    r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}|1-2-5|[A-Za-z]+(-[A-Za-z]+)+"
)
"""Unquoted values: numbers, days, names of candidate bounds, hyphenated words."""

AMBIGUOUS_WORDS = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "fill_in")
)
"""Plain words that other readers of YAML interpret as another type."""

PLAIN_FIELDS = ("multiline", "skip_lines", "header_lines")
"""Fields of the section `csv` whose values need no quotes."""

EMPTY_SECTION = re.compile(r"^(csv|quality): $|\Apeople:\Z", re.MULTILINE)
"""A section without a value. Its paragraph is left out."""

DECLARATIONS = """\
#declarations:
#  curator: Statistics Office of the Town
#  contact: data@town.example
#  description: visits to the town's clinics in 2021
#  intended_use: planning of opening hours
#  population: 30000"""
"""The declarations of a draft in which no question is answered."""

MAX_SIMPLE_KEY = 1000
"""YAML requires a question mark before a longer key."""

WIDTH = 80
"""Columns of a line that people edit without scrolling."""

CHECK_EPSILON = "0.1"
"""Epsilon of the quality check that a draft proposes."""

ROWS_DETECTED = 9
"""Missing or unreadable rows that a check notices at epsilon 1."""

SHEET_REMARK = "a cell that the workbook shows as 12.5 % is read as 0.125"
"""A comment below the columns of a workbook."""

PERSON_NAMES = re.compile(
    "person|people|patient|customer|client|user|member|student|pupil|employee|citizen|resident"
    "|respondent|participant|household",
    re.IGNORECASE,
)
"""Words in the name of a column that probably holds ids of people."""

INDEX_REMARKS = (
    "column 1 has no name, as pandas and R write the numbers of rows: left out;",
    "for anything else, name it by its position: `x: {from: {column: 1}, ...}`",
)
"""Comments below the columns of a file whose first column has no name."""

TODO = f"\n# Replace every {PLACEHOLDER}, then run `dpcli check SPEC DATA`."


def draft_spec(
    header: Sequence[str],
    dataset: str,
    dialect: Dialect = UNDECLARED_DIALECT,
    *,
    is_sheet: bool = False,
    only: Sequence[str] = (),
) -> str:
    """A commented spec for a file with these column names, or `only` some of them.

    A first column without a name is left out: it contains the numbers of rows. With `is_sheet`, a
    remark is about sheets.
    """
    duplicates = duplicate_names(header)
    positions = [*enumerate(header, 1)]
    if only:
        positions = [
            (position, name) for chosen in only for position, name in positions if name == chosen
        ]
    columns: dict[str, Any] = {}
    comments, remarks = {}, [SHEET_REMARK] if is_sheet else []
    if has_unnamed_index(header) and not only:
        del positions[0]
        remarks += INDEX_REMARKS
    for position, name in positions:
        if not (why := why_undeclarable(name, duplicates)):
            columns[name] = {"type": PLACEHOLDER}
            continue
        named = _name_by_position(header, position, columns)
        comments[named] = f"column {position} is declared by its position: {why}"
        columns[named] = {"from": {"column": str(position)}, "type": PLACEHOLDER}
    if only:
        remarks.append(f"of {len(header):,} columns, as `--columns` asks")
    if len(columns) > MAX_COLUMNS:
        remarks.append(f"{len(columns) - MAX_COLUMNS:,} columns are too many to declare")
        columns = dict(islice(columns.items(), MAX_COLUMNS))
    person = likely_person_column([name for name in columns if len(name) < WIDTH // 4])
    unit = "min_people" if person else "min_rows"
    of_people = {"people": {"statistic": "count", "of": "people"}}
    statistics = of_people if person else {"rows": {"statistic": "count"}}
    # Some systems decompose the names of files.
    composed = unicodedata.normalize("NFC", dataset)
    tree = {
        "dataset": PLACEHOLDER if dataset_name_fault(composed) else composed,
        "unit": PLACEHOLDER,
        "neighbors": PLACEHOLDER,
        "budget": {"epsilon": PLACEHOLDER},
        "epsilon": PLACEHOLDER,
        "quality": {"epsilon": CHECK_EPSILON, unit: PLACEHOLDER, "min_readable": "0.98"},
        "columns": columns,
        "people": {},
        "statistics": statistics,
    }
    return spec_text(tree, dialect, comments=comments, remarks=remarks, todo=TODO, person=person)


def likely_person_column(names: Sequence[str]) -> str:
    """The first column that probably contains ids of people; empty without one."""
    return next(filter(PERSON_NAMES.search, names), "")


def spec_text(
    tree: Mapping[str, Any],
    dialect: Dialect,
    *,
    comments: Mapping[str, str] = MappingProxyType({}),
    remarks: Sequence[str] = (),
    todo: str = "",
    person: str = "",
) -> str:
    """The text of a spec with the sections of a tree; empty sections are left out.

    Columns and statistics are mappings by name. The `comments` stand above columns, by name, and
    the `remarks` below all columns. `todo` follows the first comment. A comment proposes the column
    `person` as the privacy unit; if empty, an example.
    """
    lines = []
    for name, column in tree["columns"].items():
        lines += [f"  # {comments[name]}"] if name in comments else []
        lines.append(_column(scalar_yaml(name), flow_yaml(column)))
    lines = [*(lines or ["  {}"]), *(f"  # {remark}" for remark in remarks)]
    entries = [
        f"  - {flow_yaml({'name': name, **entry})}" for name, entry in tree["statistics"].items()
    ]
    people = [
        f"\n  {scalar_yaml(name)}: {flow_yaml(value)}" for name, value in tree["people"].items()
    ]
    declared = [f"  {key}: {flow_yaml(text)}" for key, text in tree.get("declarations", {}).items()]
    text = Template(Path(__file__).with_suffix(".yaml").read_text("utf-8")).substitute(
        {key: flow_yaml(value) if value else "" for key, value in tree.items()}
        | {"declarations": "\n".join(["declarations:", *declared]) if declared else DECLARATIONS},
        csv=_csv_section(dialect),
        noticed=_rows_detected(tree),
        person=scalar_yaml(person) if person else "ID",
        form="".join(f"\n# {remark}" for remark in _csv_remarks(dialect)),
        columns="\n".join(lines),
        people="".join(people),
        statistics="\n".join(entries),
        todo=todo,
    )
    return "\n\n".join(part for part in text.split("\n\n") if not EMPTY_SECTION.search(part))


def _rows_detected(tree: Mapping[str, Any]) -> str:
    """About how many missing rows a quality check notices; empty without a check."""
    if not tree["quality"]:
        return ""
    return rounded_text(ROWS_DETECTED / Fraction(tree["quality"]["epsilon"]), 2)


def _csv_section(dialect: Dialect) -> str:
    parts = [
        f"{key}: {word if key in PLAIN_FIELDS else scalar_yaml(word)}"
        for key, word in dialect_fields(dialect).items()
    ]
    if dialect.names:
        separator = ", " if sum(map(len, dialect.names)) < WIDTH else ",\n  "
        parts.append(f"names: [{separator.join(map(scalar_yaml, dialect.names))}]")
    return f"{{{', '.join(parts)}}}" if parts else ""


def _csv_remarks(dialect: Dialect) -> Iterator[str]:
    """Remarks on the form of the file, which a person should check."""
    if dialect.skip_lines:
        yield "skip_lines: the lines before the header, which are no part of the table"
    if dialect.encoding != UTF8:
        yield "encoding: a guess, unless it was given; names and texts depend on it"
    if dialect.delimiter == ";" and dialect.decimal == ".":
        yield "with `;` between cells, decimals are probably written as 1,5"
    if dialect.header_lines > 1:
        yield "header_lines: each name joins the texts of both lines"


def _name_by_position(header: Sequence[str], position: int, taken: Collection[str]) -> str:
    """A new name for the column at a position, if its own cannot be declared."""
    name = header[position - 1]
    readable = f"column_{position}"
    if not why_undeclarable(f"{name}_{position}", frozenset()) and name:
        readable = f"{name}_{list(header[:position]).count(name)}"
    names = {unicodedata.normalize("NFC", column_name) for column_name in (*header, *taken)}
    while unicodedata.normalize("NFC", readable) in names:
        readable += "_"
    return readable


def duplicate_names(header: Sequence[str]) -> frozenset[str]:
    """The names that several columns have, in Unicode normalization form C."""
    names = [unicodedata.normalize("NFC", column) for column in header]
    return frozenset(name for name, count in Counter(names).items() if count > 1)


def why_undeclarable(column: str, duplicates: frozenset[str]) -> str:
    """Why a name cannot be declared; empty if it can."""
    if not column:
        return "its name is empty"
    if len(column) > MAX_NAME_LENGTH:
        return f"its name is longer than {MAX_NAME_LENGTH:,} characters"
    if is_invisible(column):
        return "its name holds an invisible character"
    if unicodedata.normalize("NFC", column) in duplicates:
        return "another column has the same name"
    return ""


def _column(word: str, value: str) -> str:
    return f"  ? {word}\n  : {value}" if len(word) > MAX_SIMPLE_KEY else f"  {word}: {value}"


def flow_yaml(value: Any) -> str:
    """Plain data as YAML in one line."""
    if isinstance(value, Mapping):
        pairs = (f"{scalar_yaml(key)}: {flow_yaml(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow_yaml, value))}]"
    return value if value == PLACEHOLDER or UNQUOTED.fullmatch(value) else scalar_yaml(value)


def scalar_yaml(text: str) -> str:
    """A YAML scalar that is read as this text, in quotes unless it is a plain word."""
    if WORD.fullmatch(text) and text.lower() not in AMBIGUOUS_WORDS:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(
        json.dumps(character)[1:-1]
        if unicodedata.category(character) in ("Cf", "Co", "Cn") and ord(character) < 0x10000
        else character
        for character in quoted
    )
