"""The section `csv`: how the CSV files are written."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from dpcli.csv_dialect import (
    DECIMALS,
    DELIMITERS,
    ENCODINGS,
    OTHER_NAMES,
    QUOTES,
    STANDARD_DIALECT,
    UNDECLARED_DIALECT,
    Dialect,
    find_encoding,
)
from dpcli.errors import SpecError
from dpcli.spec_values import Boolean, ParsedText, SectionModel, Texts, invalid_value
from dpcli.specification.columns_section import LONGEST_NAME
from dpcli.specification.tree import (
    Findings,
    MappingNode,
    Node,
    ScalarNode,
    Span,
    attempt,
    scalars_of,
)
from dpcli.specification.validation import read_section

NONE = "none"
"""Stands for no quote at all."""

TABS = ("tab", "\\t")
"""Other words for a tab."""


def _mark(allowed: tuple[str, ...], more: str = "", words: tuple[str, ...] = ()) -> ParsedText:
    marks = " ".join("tab" if mark == "\t" else mark for mark in allowed if mark != " ")

    def read(text: str) -> str:
        if text in allowed or text == NONE in words:
            return text
        if text in TABS and text in words:
            return "\t"
        raise invalid_value("csv-mark", marks=marks + more, example=allowed[1])

    return ParsedText(read, {"type": "string", "enum": [*allowed, *words]})


def _encoding(text: str) -> str:
    found = find_encoding(text)
    if found is not None:
        return found
    raise invalid_value("unknown-encoding", choices=(*ENCODINGS, *OTHER_NAMES))


def _names(names: list[str]) -> list[str]:
    seen: set[str] = set()
    for place, name in enumerate(names):
        composed = unicodedata.normalize("NFC", name)
        if not name:
            raise invalid_value("csv-names.empty", at=(place,))
        if composed in seen:
            raise invalid_value("csv-names", at=(place,), word=name)
        if len(name) > LONGEST_NAME:
            raise invalid_value("csv-names.long", at=(place,), word=name, most=LONGEST_NAME)
        seen.add(composed)
    return names


class CsvModel(SectionModel):
    """How the CSV files are written; as RFC 4180 has it where nothing is said."""

    delimiter: Annotated[str, _mark(DELIMITERS, " or a space", TABS)] | None = None
    quote: Annotated[str, _mark(QUOTES, f" or `{NONE}`", (NONE,))] | None = None
    encoding: (
        Annotated[str, ParsedText(_encoding, {"type": "string", "examples": list(ENCODINGS)})]
        | None
    ) = None
    names: (
        Annotated[Texts, AfterValidator(_names), Field(json_schema_extra={"uniqueItems": True})]
        | None
    ) = None
    decimal: Annotated[str, _mark(DECIMALS)] | None = None
    multiline: Boolean = True


def read_dialect(node: MappingNode | None, columns: MappingNode | None = None) -> Dialect:
    """What the section `csv` says; its names must include those of all columns."""
    if node is None:
        return UNDECLARED_DIALECT
    part = read_section(CsvModel, node, "`csv`")
    values, listing = part.values, node.listing("names")
    names = tuple(one.text for one in scalars_of(listing))
    for column, (key, _) in columns.pairs.items() if columns and names else ():
        if column not in names:
            key.span.report("column-not-named", word=column, choices=names)
    delimiter = values.delimiter or STANDARD_DIALECT.delimiter
    quote = None if values.quote == NONE else values.quote or STANDARD_DIALECT.quote
    decimal = values.decimal or STANDARD_DIALECT.decimal
    if delimiter == quote:
        later = "quote" if part.has("quote") else "delimiter"
        part.report_key("csv-ambiguous", later, mark=delimiter)
    if delimiter == decimal:
        part.report_key("csv-ambiguous.decimal", "decimal", mark=decimal)
    return Dialect(
        delimiter,
        quote,
        values.encoding or STANDARD_DIALECT.encoding,
        names,
        decimal,
        by_ending=not part.has("delimiter"),
        multiline=values.multiline,
    )


def parse_dialect(given: Mapping[str, str]) -> Dialect:
    """The dialect that some fields of the section say; SpecError with all problems."""
    findings = Findings("", [])
    start = Span(findings, 1, 1, 1)
    pairs: dict[str, tuple[ScalarNode, Node]] = {
        key: (ScalarNode(key, start), ScalarNode(text, start)) for key, text in given.items()
    }
    dialect = attempt(read_dialect, MappingNode(pairs, start))
    if findings:
        raise SpecError(findings.problems)
    return dialect()


def dialect_fields(dialect: Dialect) -> dict[str, str]:
    """The fields of the section `csv`, in words, that differ from the default."""
    tab = dialect.delimiter == "\t"
    words = {
        "delimiter": ("tab" if tab else dialect.delimiter, STANDARD_DIALECT.delimiter),
        "quote": (dialect.quote or NONE, STANDARD_DIALECT.quote),
        "encoding": (dialect.encoding, STANDARD_DIALECT.encoding),
        "decimal": (dialect.decimal, STANDARD_DIALECT.decimal),
    }
    found = {key: word for key, (word, usual) in words.items() if word != usual}
    return found if dialect.multiline else found | {"multiline": "false"}
