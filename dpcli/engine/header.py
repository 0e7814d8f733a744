"""Whether the header of a file has the columns that the spec declares."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from dpcli.columns import Column, IdColumn
from dpcli.engine.heading import is_separator_mark
from dpcli.engine.source import Dataset, Source
from dpcli.errors import DataError, Problem

LIKELY = (";", "\t", "|", ",")
"""What may be between names where the header seems to be a single one."""


def require_columns(dataset: Dataset, columns: Sequence[Column]) -> None:
    """Raise DataError, naming every declared column that is absent or ambiguous in a file.

    Names are compared to the letter. Only names from the spec appear in messages, and of a
    Parquet file the types of its columns.
    """
    problems = [problem for source in dataset.sources for problem in _problems(source, columns)]
    if problems:
        raise DataError(problems)


def _problems(source: Source, columns: Sequence[Column]) -> Iterator[Problem]:
    """What is wrong with the header of one file."""
    names = set(source.header)
    composed = Counter(unicodedata.normalize("NFC", name) for name in source.header)
    if len(columns) > 1 and not any(
        composed[unicodedata.normalize("NFC", column.name)] for column in columns
    ):
        yield Problem(
            "missing-column",
            f"the header of `{source.name}` has none of the {len(columns):,} declared columns, "
            f"`{columns[0].name}` for one",
            _hint(source, none=True),
        )
        return
    for column in columns:
        alike = composed[unicodedata.normalize("NFC", column.name)]
        if column.name in names and alike == 1:
            if column.name in source.odd:
                yield Problem(
                    "column-type",
                    f"the column `{column.name}` of `{source.name}` has the type "
                    f"{source.odd[column.name]}, expected single numbers, texts, dates or booleans",
                    "write the column with another type, or remove it from the spec",
                )
            elif isinstance(column, IdColumn) and column.name in source.unfit_ids:
                # As texts, 7.0 here and 7 in another file would be two people, and one
                # instant in two time zones as well.
                yield Problem(
                    "column-type",
                    f"the ids in `{column.name}` of `{source.name}` have the type "
                    f"{source.unfit_ids[column.name]}, expected whole numbers or texts",
                    "write the column as whole numbers or texts, the same in every file",
                )
        elif alike:
            yield Problem(
                "ambiguous-column",
                f"the header of `{source.name}` names `{column.name}` {alike} times, or spells it "
                "with other Unicode characters",
                "give every column a name of its own, spelled as in the spec",
            )
        else:
            yield Problem(
                "missing-column",
                f"the header of `{source.name}` has no column `{column.name}`",
                _hint(source),
            )


def _hint(source: Source, *, none: bool = False) -> str:
    """What to do about a missing column, or if there is none of them."""
    if is_separator_mark(source.header):
        return "the first line is the mark `sep=` of a spreadsheet program: delete it from the file"
    if source.dialect is not None and len(source.header) == 1:
        for mark in LIKELY:
            if mark in source.header[0] and mark != source.dialect.delimiter:
                word = {"\t": "tab"}.get(mark, f'"{mark}"')
                return (
                    f"the header is one name with {word} in it; if that separates names, "
                    f"declare `csv: {{delimiter: {word}}}`"
                )
    if none and source.dialect is not None:
        return (
            "if the file has no header line, declare its columns by `csv: {names: [...]}`; if it "
            "is not UTF-8, declare `csv: {encoding: windows-1252}` or so; names are compared to "
            "the letter"
        )
    return (
        "names are compared to the letter, spaces and case included; "
        "`dpcli init DATA` lists the names in the header"
    )
