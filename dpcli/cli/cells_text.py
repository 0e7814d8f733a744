"""What `dpcli check --cells` prints: words, and no number of rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from dpcli.cli.console import width_of, wrapped
from dpcli.cli.text_tables import write_table
from dpcli.data.column import Column
from dpcli.engine.check_cells import CellsCheck, ColumnCells
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.messages import escape_controls, quoted_list
from dpcli.specification.model import Spec

NOTICE = """\
CONFIDENTIAL: exact facts about the records. Do not publish, log or share them.
Do not choose bounds, categories or limits by them: that leaks information
outside the guarantee.
"""

UNBROKEN = 60
"""Characters of the longest key that is kept on one line."""

STOPPED = "a release would be stopped, and its check charged"
"""What a missed minimum means."""

SHOWN = 8
"""The largest number of texts that are listed; the others are counted."""


def show_cells(checked: CellsCheck, decoded: CellsCheck, spec: Spec) -> None:
    """Print a table of the columns, what is wrong with the file, and remarks about each column.

    The remarks are those of `decoded`, the same file in the encoding that fits it.
    """
    print(NOTICE)
    rows = [
        {
            "column": cells.column.name,
            "readable": cells.readable,
            "blank": cells.blank,
            "unreadable": cells.unreadable,
            "outside": cells.outside or "-",
        }
        for cells in checked.columns
    ]
    write_table(sys.stdout, "cells", rows)
    if not checked.has_rows:
        print("rows: none")
        return
    _print_lines(fault.words for fault in checked.faults)
    declared = {column.name: column for column in spec.columns}
    for cells in decoded.columns:
        remarks = list(_remarks(cells, declared[cells.column.name], spec))
        if remarks:
            _print_lines([f"{cells.column.name}:", *(f"  - {remark}" for remark in remarks)])
    _show_counts(checked, isinstance(spec.privacy.unit, PersonUnit))


def _show_counts(checked: CellsCheck, is_person: bool) -> None:
    """Print which minimums a release would miss, and whether people have several rows."""
    if checked.below:
        columns = quoted_list(checked.below)
        too_few = f"fewer cells of {columns} can be read than `min_readable` requires"
        _print_lines([f"{too_few}: {STOPPED}"])
    if checked.is_unique:
        _print_lines(["ids: no id has several rows, so each row is a person of its own"])
    elif checked.repeated != "none":
        beyond = f"ids: {checked.repeated} rows are beyond the `max_rows` of their id"
        _print_lines([f"{beyond}, and a release leaves them out"])
    if checked.enough_people is not None:
        enough = (
            "at least `min_people`"
            if checked.enough_people
            else f"fewer than `min_people`: {STOPPED}"
        )
        print(f"people: {enough}")
        if checked.enough_rows is None:
            return
    if checked.enough_rows is None:
        print("rows: some; `quality: {min_rows: ...}` declares how many to expect")
        return
    kept = "rows that the limits on people keep" if is_person else "rows"
    enough = "at least `min_rows`" if checked.enough_rows else f"fewer than `min_rows`: {STOPPED}"
    print(f"{kept}: {enough}")


def _print_lines(lines: Iterator[str] | Sequence[str]) -> None:
    for line in lines:
        print(wrapped(escape_controls(line), width_of(sys.stdout)))


READS = {"all": "them", "most": "most of them", "some": "some of them", "few": "a few of them"}
"""How many cells a remedy would read."""


def _remarks(cells: ColumnCells, declared: Column, spec: Spec) -> Iterator[str]:
    """What the spec expects of unreadable cells, what would read them, and what else is odd."""
    if cells.unreadable != "none":
        # How a cell must be written, with an example that follows from the declaration.
        yield declared.expected(spec.dialect.decimal)
        if cells.remedy is not None:
            keys = " and ".join(map(_key_text, cells.remedy.keys))
            yield f"{keys} would read {READS[cells.remedy.reads]}"
            if cells.remedy.instead:
                key = f"`{cells.remedy.instead}`"
                yield f"{key} would read them as well, as other values: look at the file"
        if cells.is_garbled:
            yield "some cells have bytes that are not of the declared encoding"
        elif declared.labels and not _reads_all(cells):
            yield "`other: LABEL` would read every other text as that label"
    if cells.codes:
        key = f"na: [{', '.join(cells.codes)}]"
        codes = quoted_list(cells.codes, "or")
        yield f"{codes} may mean that an answer is missing: then declare `{key}`"
    elif cells.outside not in (None, "none"):
        yield "numbers outside the bounds count as the nearest bound"
    # An answer of a question with several answers has one label.
    can_differ = len(declared.labels) != 1
    is_clean = cells.unreadable == "none" and cells.outside in (None, "none")
    if cells.is_constant and can_differ and is_clean:
        yield "all readable cells have the same value"
    if cells.absent:
        more = len(cells.absent) - SHOWN
        listing = ", ".join(cells.absent[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
        yield f"never occurs: {listing}"


def _reads_all(cells: ColumnCells) -> bool:
    return cells.remedy is not None and cells.remedy.reads == "all"


def _key_text(key: str) -> str:
    return f"`{key}`" if len(key) <= UNBROKEN else key
