"""What `dpcli check --cells` prints: words, and no number of rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from dpcli.cli.console import width_of, wrapped
from dpcli.cli.text_tables import write_table
from dpcli.data.column import Column
from dpcli.engine.check.cells import CellsCheck, ColumnCells
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.messages import escape_controls, note
from dpcli.specification.model import Spec

NOTICE = """\
CONFIDENTIAL: exact facts about the records. Do not publish, log or share them.
Do not choose bounds, categories or limits by them: that leaks information
outside the guarantee.
"""

UNBROKEN = 60
"""Characters of the longest key that is kept on one line."""

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
    _print_lines(
        note(f"check.fault_{fault.kind}", file=fault.file, key=fault.key)
        for fault in checked.faults
    )
    declared = {column.name: column for column in spec.columns}
    for cells in decoded.columns:
        remarks = list(_remarks(cells, declared[cells.column.name], spec))
        if remarks:
            _print_lines([f"{cells.column.name}:", *(f"  - {remark}" for remark in remarks)])
    if checked.below:
        _print_lines([note("check.below", columns=checked.below)])
    if checked.is_unique:
        _print_lines([note("check.unique")])
    elif checked.repeated != "none":
        _print_lines([note("check.repeated", amount=checked.repeated)])
    what = "kept" if isinstance(spec.privacy.unit, PersonUnit) else "rows"
    quality = f"check.few_{what}" if checked.enough_rows is False else f"check.enough_{what}"
    if checked.enough_people is not None:
        print(note("check.enough_people" if checked.enough_people else "check.few_people"))
        if checked.enough_rows is None:
            return
    print(note("check.undeclared_rows" if checked.enough_rows is None else quality))


def _print_lines(lines: Iterator[str] | Sequence[str]) -> None:
    for line in lines:
        print(wrapped(escape_controls(line), width_of(sys.stdout)))


def _remarks(cells: ColumnCells, declared: Column, spec: Spec) -> Iterator[str]:
    """What the spec expects of unreadable cells, what would read them, and what else is odd."""
    if cells.unreadable != "none":
        # How a cell must be written, with an example that follows from the declaration.
        expected, facts = declared.expected(spec.dialect.decimal)
        yield note(expected, **facts)
        if cells.remedy is not None:
            keys = " and ".join(map(_key_text, cells.remedy.keys))
            yield note(f"check.remedy_{cells.remedy.reads}", keys=keys)
            if cells.remedy.instead:
                yield note("check.instead", key=f"`{cells.remedy.instead}`")
        if cells.is_garbled:
            yield note("check.garbled")
        elif declared.labels and not _reads_all(cells):
            yield note("check.other")
    if cells.codes:
        yield note("check.codes", codes=cells.codes, key=f"na: [{', '.join(cells.codes)}]")
    elif cells.outside not in (None, "none"):
        yield note("check.outside")
    # An answer of a question with several answers has one label.
    can_differ = len(declared.labels) != 1
    is_clean = cells.unreadable == "none" and cells.outside in (None, "none")
    if cells.is_constant and can_differ and is_clean:
        yield note("check.constant")
    if cells.absent:
        more = len(cells.absent) - SHOWN
        listing = ", ".join(cells.absent[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
        yield f"never occurs: {listing}"


def _reads_all(cells: ColumnCells) -> bool:
    return cells.remedy is not None and cells.remedy.reads == "all"


def _key_text(key: str) -> str:
    return f"`{key}`" if len(key) <= UNBROKEN else key
