"""Whether the header of a file has the columns that the spec declares."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from dpcli.columns import Column
from dpcli.errors import DataError, Problem


def require_columns(header: Sequence[str], columns: Sequence[Column]) -> None:
    """Raise DataError, naming every declared column that is absent or ambiguous.

    Names are compared to the letter. Only names from the spec appear in messages.
    """
    problems = []
    composed = [unicodedata.normalize("NFC", name) for name in header]
    for column in columns:
        alike = composed.count(unicodedata.normalize("NFC", column.name))
        if column.name in header and alike == 1:
            continue
        if alike:
            problems.append(
                Problem(
                    "ambiguous-column",
                    f"the header names `{column.name}` {alike} times, or spells it with "
                    "other Unicode characters",
                    "give every column a name of its own, spelled as in the spec",
                )
            )
        else:
            problems.append(
                Problem(
                    "missing-column",
                    f"the header has no column `{column.name}`",
                    "names are compared to the letter, spaces and case included; "
                    "`dpcli init DATA` lists the names in the header",
                )
            )
    if problems:
        raise DataError(problems)
