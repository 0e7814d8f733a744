"""Error codes of the section `csv` of a spec."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "csv-mark",
        "spec",
        "What stands between cells, around them or before decimals is one character of those "
        "that the message lists: no letter, no digit, no end of a line.",
        "csv: {delimiter: x}",
        'Write the character in quotes, as in `delimiter: ";"`; `tab` and `none` are words.',
    ),
    Code(
        "unknown-encoding",
        "spec",
        "The encoding is none that this version knows. Case, dashes and blanks in its name do "
        "not matter; `latin-1` and `cp1252` are understood.",
        "csv: {encoding: utf-42}",
        "Write another, such as `encoding: windows-1252`, or convert the file to UTF-8.",
    ),
    Code(
        "csv-names",
        "spec",
        "`names` are the columns of a file without a header line, in the order of the file. "
        "Each needs a name of its own.",
        "csv: {names: [age, age]}",
        "Name every column of the file, also those that the spec does not use.",
    ),
    Code(
        "column-not-named",
        "spec",
        "The files have no header line, and a column is declared that `names` does not list.",
        "csv: {names: [age]}",
        "Add the name where the file has the column, or remove the declaration.",
    ),
    Code(
        "csv-ambiguous",
        "spec",
        "Two marks are the same, so that nobody could tell which is meant: a comma between "
        "cells and before decimals, or one mark between cells and around them.",
        'csv: {decimal: ","}',
        'Write the delimiter of the file, as in `delimiter: ";"`.',
    ),
)
