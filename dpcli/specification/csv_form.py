"""Reads the section `csv`: how the CSV files are written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from dpcli.data.declared_texts import require_few, require_short
from dpcli.data.formats import (
    DECIMALS,
    DELIMITERS,
    ENCODINGS,
    OTHER_NAMES,
    QUOTES,
    STANDARD_DIALECT,
    Dialect,
    find_encoding,
)
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import Findings, MappingNode, Node, ScalarNode, Span, attempt, scalars_of
from dpcli.fields.values import (
    Boolean,
    ListOrItem,
    ParsedText,
    Text,
    Texts,
    invalid_value,
    whole_number,
)
from dpcli.problems.errors import SpecError
from dpcli.specification.columns import MAX_NAME_LENGTH

NO_QUOTE = "none"
"""The value of `quote` for files in which no character quotes cells."""

MAX_SKIPPED = 1000
"""Lines that may precede a header."""

ESCAPES = ("\\", "^")
"""Characters that make the one after them a part of the cell."""

LONGEST_COMMENT = 10
"""Letters with which lines of comments may begin."""

TAB_WORDS = ("tab", "\\t")
"""What a spec may write for a tab."""


def _character_type(
    allowed: tuple[str, ...], more: str = "", words: tuple[str, ...] = ()
) -> ParsedText:
    """The type of a field that is one of the `allowed` characters or `words`."""
    marks = " ".join("tab" if mark == "\t" else mark for mark in allowed if mark != " ")

    def read(text: str) -> str:
        if text in allowed or text == NO_QUOTE in words:
            return text
        if text in TAB_WORDS and text in words:
            return "\t"
        raise invalid_value("csv-mark", marks=marks + more, example=allowed[1])

    return ParsedText(read, {"type": "string", "enum": [*allowed, *words]})


def _parse_encoding(text: str) -> str:
    encoding = find_encoding(text)
    if encoding is not None:
        return encoding
    raise invalid_value("unknown-encoding", choices=(*ENCODINGS, *OTHER_NAMES))


def _require_distinct_names(names: list[str]) -> list[str]:
    seen: set[str] = set()
    for index, name in enumerate(names):
        composed = unicodedata.normalize("NFC", name)
        if not 0 < len(name) <= MAX_NAME_LENGTH:
            length = {"count": len(name), "most": MAX_NAME_LENGTH}
            raise invalid_value("csv-names.length", path=(index,), **length)
        if composed in seen:
            raise invalid_value("csv-names", path=(index,), word=name)
        seen.add(composed)
    return names


def _parse_comment(text: str) -> str:
    if not text or text != text.strip() or not text.isascii():
        raise invalid_value("csv-comment")
    return require_short(text, LONGEST_COMMENT)


def _require_footers(texts: list[str]) -> list[str]:
    for index, text in enumerate(texts):
        if not text or text != text.lstrip(" \t"):
            raise invalid_value("csv-footer", path=(index,))
    return require_few(texts)


class CsvModel(SectionModel):
    """How the CSV files are written. The defaults are those of RFC 4180."""

    delimiter: Annotated[str, _character_type(DELIMITERS, " or a space", TAB_WORDS)] | None = None
    quote: Annotated[str, _character_type(QUOTES, f" or `{NO_QUOTE}`", (NO_QUOTE,))] | None = None
    encoding: (
        Annotated[str, ParsedText(_parse_encoding, {"type": "string", "examples": list(ENCODINGS)})]
        | None
    ) = None
    names: (
        Annotated[
            Texts,
            AfterValidator(_require_distinct_names),
            Field(json_schema_extra={"uniqueItems": True}),
        ]
        | None
    ) = None
    decimal: Annotated[str, _character_type(DECIMALS)] | None = None
    multiline: Boolean = False
    skip_lines: (
        Annotated[int, whole_number(MAX_SKIPPED, "lines precede the header"), Field(examples=[2])]
        | None
    ) = None
    header_lines: (
        Annotated[int, whole_number(2, "lines the header has"), Field(examples=[2])] | None
    ) = None
    footer: (
        Annotated[
            Texts,
            AfterValidator(_require_footers),
            ListOrItem(),
            Field(examples=[["Total", "Source:"]]),
        ]
        | None
    ) = None
    sheet: Text | None = None
    escape: Annotated[str, _character_type(ESCAPES)] | None = None
    comment: Annotated[str, ParsedText(_parse_comment, {"type": "string"})] | None = None
    row_names: Boolean = False

    def resolved(self, columns: MappingNode | None = None) -> Dialect:
        """The dialect of a section, whose `names`, if any, must include all of `columns`."""
        names = tuple(name.text for name in scalars_of(self.node.sequence("names")))
        for key, fields in columns.pairs.values() if columns and names else ():
            source = fields.value("from") if isinstance(fields, MappingNode) else None
            name = source or key
            if isinstance(name, ScalarNode) and name.text not in names:
                name.span.report("column-not-named", word=name.text, choices=names)
        if names and self.has("header_lines"):
            self.report_key("csv-names.header", "header_lines")
        delimiter = self.delimiter or STANDARD_DIALECT.delimiter
        quote = None if self.quote == NO_QUOTE else self.quote or STANDARD_DIALECT.quote
        decimal = self.decimal or STANDARD_DIALECT.decimal
        dialect = Dialect(
            delimiter,
            quote,
            self.encoding or STANDARD_DIALECT.encoding,
            names,
            decimal,
            by_ending=not self.has("delimiter"),
            multiline=self.multiline,
            skip_lines=self.skip_lines or 0,
            header_lines=self.header_lines or 1,
            footer=tuple(self.footer or ()),
            sheet=self.sheet,
            escape=self.escape,
            comment=self.comment,
            row_names=self.row_names,
        )
        _require_marks(self, dialect)
        return dialect


def _require_marks(values: CsvModel, dialect: Dialect) -> None:
    """Report marks with two meanings."""
    delimiter, quote, comment = dialect.delimiter, dialect.quote, dialect.comment

    if delimiter == quote:
        later = "quote" if values.has("quote") else "delimiter"
        values.report_key("csv-ambiguous", later, mark=delimiter)
    if values.escape and values.escape in (delimiter, quote):
        values.report_key("csv-ambiguous.escape", "escape", mark=values.escape)
    if comment and values.multiline:
        # A line in a quoted cell may begin like a comment.
        values.report_key("csv-comment.multiline", "comment")
    marks = tuple(filter(None, (delimiter, quote, dialect.escape)))
    # A record may begin like a number.
    if comment and (comment.startswith(marks) or re.match(r"[-+.]?[0-9]|[-+.]$", comment)):
        values.report_key("csv-ambiguous.comment", "comment", mark=comment)
    if values.row_names and dialect.names:
        values.report_key("csv-names.row-names", "row_names")
    if delimiter == dialect.decimal:
        values.report_key("csv-ambiguous.decimal", "decimal", mark=delimiter)


def parse_dialect(fields: Mapping[str, str]) -> Dialect:
    """The dialect with these fields of the section; `SpecError` with all problems."""
    findings = Findings("", [])
    start = Span(findings, 1, 1, 1)
    pairs: dict[str, tuple[ScalarNode, Node]] = {
        key: (ScalarNode(key, start), ScalarNode(text, start)) for key, text in fields.items()
    }
    dialect = attempt(CsvModel.read(MappingNode(pairs, start, ("csv",))).resolved)
    if findings:
        raise SpecError(findings.problems)
    return dialect.value


def dialect_fields(dialect: Dialect) -> dict[str, str]:
    """The fields of the section `csv` that differ from the defaults, as texts."""
    tab = dialect.delimiter == "\t"
    texts_and_defaults = {
        "delimiter": ("tab" if tab else dialect.delimiter, STANDARD_DIALECT.delimiter),
        "quote": (dialect.quote or NO_QUOTE, STANDARD_DIALECT.quote),
        "encoding": (dialect.encoding, STANDARD_DIALECT.encoding),
        "decimal": (dialect.decimal, STANDARD_DIALECT.decimal),
        "multiline": (str(dialect.multiline).lower(), "false"),
        "skip_lines": (str(dialect.skip_lines), "0"),
        "header_lines": (str(dialect.header_lines), "1"),
        "sheet": (dialect.sheet or "", ""),
    }
    return {key: text for key, (text, default) in texts_and_defaults.items() if text != default}
