"""How the CSV files are written: the section `csv` of a spec."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping as Words
from typing import Annotated, Any

from pydantic import WithJsonSchema

from dpcli.dialect import (
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
from dpcli.spec.declarations import LONGEST_NAME
from dpcli.spec.findings import Findings
from dpcli.spec.fit import fit
from dpcli.spec.nodes import Listing, Mapping, Node, Span, Word
from dpcli.spec.structure import OneOrMore, Shape, Text
from dpcli.spec.wording import shown

NONE = "none"
"""Stands for no quote at all."""

TABS = ("tab", "\\t")
"""Other words for a tab."""

Json = dict[str, Any]


class CsvShape(Shape):
    """How the CSV files are written; as RFC 4180 has it where nothing is said."""

    delimiter: Text | None = None
    quote: Text | None = None
    encoding: Text | None = None
    names: OneOrMore | None = None
    decimal: Text | None = None
    multiline: Annotated[str, WithJsonSchema({"type": ["boolean", "string"]})] | None = None


def csv_schema(schema: Json) -> Json:
    """The schema of the section, with the values that this version knows."""
    fields: Json = schema["properties"]
    fields["delimiter"] = _enum(fields["delimiter"], (*DELIMITERS, *TABS))
    fields["quote"] = _enum(fields["quote"], (*QUOTES, NONE))
    fields["decimal"] = _enum(fields["decimal"], DECIMALS)
    # Names are compared leniently, so that these are suggestions.
    fields["encoding"] |= {"type": "string", "examples": list(ENCODINGS)}
    fields["names"] |= {"uniqueItems": True}
    fields["multiline"] |= {"enum": [True, False, "true", "false"]}
    return schema


def _enum(field: Json, values: tuple[str, ...]) -> Json:
    """A field that takes one of these texts."""
    return field | {"type": "string", "enum": list(values)}


def read_dialect(node: Node | None, columns: Node | None, findings: Findings) -> Dialect:
    """What the section says; its problems are recorded, and the default taken instead."""
    if not isinstance(node, Mapping):
        return UNDECLARED
    fit(CsvShape, node, "`csv`", findings)
    delimiter = _mark(node, "delimiter", DELIMITERS, findings)
    quote = _mark(node, "quote", QUOTES, findings)
    decimal = _mark(node, "decimal", DECIMALS, findings)
    names = _names(node, findings)
    if names and isinstance(columns, Mapping):
        _require_named(columns, names, findings)
    dialect = Dialect(
        STANDARD.delimiter if delimiter is None else delimiter,
        STANDARD.quote if quote is None else (None if quote == NONE else quote),
        _encoding(node, findings),
        names,
        STANDARD.decimal if decimal is None else decimal,
        by_ending=node.get("delimiter") is None,
        multiline=_multiline(node, findings),
    )
    given = {"delimiter": delimiter, "quote": quote, "decimal": decimal}
    if all(mark is not None or node.get(key) is None for key, mark in given.items()):
        _require_apart(dialect, node, findings)
    return dialect


def load_dialect(given: Words[str, str]) -> Dialect:
    """The dialect that some fields of the section say; SpecError with all problems."""
    start = Span(1, 1, 1)
    findings = Findings("", [])
    pairs: dict[str, tuple[Word, Node]] = {
        key: (Word(key, start), Word(text, start)) for key, text in given.items()
    }
    dialect = read_dialect(Mapping(pairs, start), None, findings)
    if findings:
        raise SpecError(findings.problems)
    return dialect


def written(dialect: Dialect) -> dict[str, str]:
    """The fields of the section, in words, that differ from the default."""
    words = {
        "delimiter": "tab" if dialect.delimiter == "\t" else dialect.delimiter,
        "quote": dialect.quote or NONE,
        "encoding": dialect.encoding,
    }
    usual = (STANDARD.delimiter, STANDARD.quote, STANDARD.encoding)
    found = {
        key: word
        for (key, word), common in zip(words.items(), usual, strict=True)
        if word != common
    }
    return found if dialect.multiline else found | {"multiline": "false"}


def _mark(node: Mapping, key: str, allowed: tuple[str, ...], findings: Findings) -> str | None:
    """A single character, or None after its problem is recorded."""
    word = node.word(key)
    if word is None:
        return None
    if word.text in allowed or (key == "quote" and word.text == NONE):
        return word.text
    if key == "delimiter" and word.text in TABS:
        return "\t"
    shown_marks = " ".join("tab" if mark == "\t" else mark for mark in allowed if mark != " ")
    more = {"delimiter": " or a space", "quote": f" or `{NONE}`"}.get(key, "")
    findings.add(
        "csv-mark",
        f"`{key}` is {shown(word.text)}, expected one of {shown_marks}{more}",
        f'write one character in quotes, as in `{key}: "{allowed[1]}"`',
        word.span,
    )
    return None


def _multiline(node: Mapping, findings: Findings) -> bool:
    """Whether a cell may have line ends in it; so it is where nothing is said."""
    word = node.word("multiline")
    if word is None or word.text in ("true", "false"):
        return word is None or word.text == "true"
    findings.add(
        "not-true-or-false",
        f"`multiline` is {shown(word.text)}, expected `true` or `false`",
        "write `multiline: false` if no cell of the files has a line end in it",
        word.span,
    )
    return True


def _encoding(node: Mapping, findings: Findings) -> str:
    """The encoding by its own name."""
    word = node.word("encoding")
    if word is None:
        return STANDARD.encoding
    found = encoding_of(word.text)
    if found is None:
        findings.unknown(
            "unknown-encoding",
            f"`encoding` is {shown(word.text)}, which this version does not know",
            word.text,
            [*ENCODINGS, *OTHER_NAMES],
            word.span,
            otherwise="use `utf-8`, `utf-16`, `windows-1252`, `iso-8859-15` or another of those "
            "that `dpcli schema` lists",
        )
    return found or STANDARD.encoding


def _names(node: Mapping, findings: Findings) -> tuple[str, ...]:
    """The names of the columns: none of them empty, no two alike."""
    listing = node.get("names")
    words = listing.items if isinstance(listing, Listing) else ()
    seen: set[str] = set()
    for word in words:
        if not isinstance(word, Word):
            return ()
        composed = unicodedata.normalize("NFC", word.text)
        why = ""
        if not word.text:
            why = "is empty"
        elif composed in seen:
            why = "is there twice, perhaps in other Unicode characters"
        elif len(word.text) > LONGEST_NAME:
            why = f"is longer than {LONGEST_NAME:,} characters"
        seen.add(composed)
        if why:
            findings.add(
                "csv-names",
                f"{f'the name {shown(word.text)}' if word.text else 'a name'} in `names` {why}",
                "give every column of the file a name of its own, also those that are not used",
                word.span,
            )
    return tuple(word.text for word in words if isinstance(word, Word))


def _require_named(columns: Mapping, names: tuple[str, ...], findings: Findings) -> None:
    """Records declared columns that a file without a header line would not have."""
    for column in columns.pairs:
        if column not in names:
            findings.unknown(
                "column-not-named",
                f"{shown(column)} is declared, but `csv` does not have it among its `names`",
                column,
                names,
                columns.key_span(column),
                otherwise="add it to `names` where the file has it, or remove the declaration",
            )


def _require_apart(dialect: Dialect, node: Mapping, findings: Findings) -> None:
    """Records marks of which nobody could tell which is meant."""
    if dialect.delimiter == dialect.quote:
        key = "quote" if node.word("quote") else "delimiter"
        findings.add(
            "csv-ambiguous",
            f"`delimiter` and `quote` are both {shown(dialect.delimiter)}",
            "write the two that the file has; `quote: none` if cells are never quoted",
            node.key_span(key),
        )
    if dialect.delimiter == dialect.decimal:
        findings.add(
            "csv-ambiguous",
            f"`delimiter` and `decimal` are both {shown(dialect.decimal)}: 1,5 would be two cells",
            'write the `delimiter` of the file, as in `delimiter: ";"`',
            node.key_span("decimal"),
        )
