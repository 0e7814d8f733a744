"""The section `csv`: how the CSV files are written."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping as Words
from typing import Annotated

from pydantic import AfterValidator, Field

from dpcli.csv_dialect import (
    DECIMALS,
    DELIMITERS,
    ENCODINGS,
    OTHER_NAMES,
    QUOTES,
    STANDARD,
    UNDECLARED,
    Dialect,
    encoding_of,
)
from dpcli.errors import SpecError
from dpcli.spec_values import Read, Shape, Texts, Truth, refusal
from dpcli.specification.columns_section import LONGEST_NAME
from dpcli.specification.tree import Findings, Mapping, Node, Span, Word, attempt, words_of
from dpcli.specification.validation import read_shape

NONE = "none"
"""Stands for no quote at all."""

TABS = ("tab", "\\t")
"""Other words for a tab."""


def _mark(allowed: tuple[str, ...], more: str = "", words: tuple[str, ...] = ()) -> Read:
    marks = " ".join("tab" if mark == "\t" else mark for mark in allowed if mark != " ")

    def read(text: str) -> str:
        if text in allowed or text == NONE in words:
            return text
        if text in TABS and text in words:
            return "\t"
        raise refusal("csv-mark", marks=marks + more, example=allowed[1])

    return Read(read, {"type": "string", "enum": [*allowed, *words]})


def _encoding(text: str) -> str:
    found = encoding_of(text)
    if found is not None:
        return found
    raise refusal("unknown-encoding", choices=(*ENCODINGS, *OTHER_NAMES))


def _names(names: list[str]) -> list[str]:
    seen: set[str] = set()
    for place, name in enumerate(names):
        composed = unicodedata.normalize("NFC", name)
        if not name:
            raise refusal("csv-names.empty", at=(place,))
        if composed in seen:
            raise refusal("csv-names", at=(place,), word=name)
        if len(name) > LONGEST_NAME:
            raise refusal("csv-names.long", at=(place,), word=name, most=LONGEST_NAME)
        seen.add(composed)
    return names


class CsvShape(Shape):
    """How the CSV files are written; as RFC 4180 has it where nothing is said."""

    delimiter: Annotated[str, _mark(DELIMITERS, " or a space", TABS)] | None = None
    quote: Annotated[str, _mark(QUOTES, f" or `{NONE}`", (NONE,))] | None = None
    encoding: (
        Annotated[str, Read(_encoding, {"type": "string", "examples": list(ENCODINGS)})] | None
    ) = None
    names: (
        Annotated[Texts, AfterValidator(_names), Field(json_schema_extra={"uniqueItems": True})]
        | None
    ) = None
    decimal: Annotated[str, _mark(DECIMALS)] | None = None
    multiline: Truth = True


def read_dialect(node: Mapping | None, columns: Mapping | None = None) -> Dialect:
    """What the section `csv` says; its names must include those of all columns."""
    if node is None:
        return UNDECLARED
    part = read_shape(CsvShape, node, "`csv`")
    values, listing = part.values, node.listing("names")
    names = tuple(one.text for one in words_of(listing))
    for column, (key, _) in columns.pairs.items() if columns and names else ():
        if column not in names:
            key.span.report("column-not-named", word=column, choices=names)
    delimiter = values.delimiter or STANDARD.delimiter
    quote = None if values.quote == NONE else values.quote or STANDARD.quote
    decimal = values.decimal or STANDARD.decimal
    if delimiter == quote:
        later = "quote" if part.has("quote") else "delimiter"
        part.report_key("csv-ambiguous", later, mark=delimiter)
    if delimiter == decimal:
        part.report_key("csv-ambiguous.decimal", "decimal", mark=decimal)
    return Dialect(
        delimiter,
        quote,
        values.encoding or STANDARD.encoding,
        names,
        decimal,
        by_ending=not part.has("delimiter"),
        multiline=values.multiline,
    )


def load_dialect(given: Words[str, str]) -> Dialect:
    """The dialect that some fields of the section say; SpecError with all problems."""
    findings = Findings("", [])
    start = Span(findings, 1, 1, 1)
    pairs: dict[str, tuple[Word, Node]] = {
        key: (Word(key, start), Word(text, start)) for key, text in given.items()
    }
    dialect = attempt(read_dialect, Mapping(pairs, start))
    if findings:
        raise SpecError(findings.problems)
    return dialect()


def written(dialect: Dialect) -> dict[str, str]:
    """The fields of the section `csv`, in words, that differ from the default."""
    tab = dialect.delimiter == "\t"
    words = {
        "delimiter": ("tab" if tab else dialect.delimiter, STANDARD.delimiter),
        "quote": (dialect.quote or NONE, STANDARD.quote),
        "encoding": (dialect.encoding, STANDARD.encoding),
        "decimal": (dialect.decimal, STANDARD.decimal),
    }
    found = {key: word for key, (word, usual) in words.items() if word != usual}
    return found if dialect.multiline else found | {"multiline": "false"}
