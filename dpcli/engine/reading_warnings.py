"""What a reader must know of the formats of data files, which their names state.

Privacy: the warnings depend on the spec and on the formats of the files, and on no record.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dpcli.data.column import file_columns
from dpcli.data.ids import IdColumn
from dpcli.engine.regular_file import ZIP_ENDING, format_of
from dpcli.engine.source import Input, open_file
from dpcli.engine.zip_archive import ZipMember
from dpcli.errors import DataError
from dpcli.messages import note
from dpcli.planning.plan import CentralPlan


def reading_warnings(plan: CentralPlan, data: Iterable[Input]) -> list[str]:
    """A warning for JSON Lines, which may lack a key in each record, if no check would notice."""
    if plan.spec.declines_check or not _may_lack(plan):
        return []
    is_json = any(isinstance(name, str) and _is_json(name) for name in data)
    return [note("reading.json")] if is_json else []


def _may_lack(plan: CentralPlan) -> bool:
    """Whether no record may have a key that the plan reads, and no count of cells shows that.

    The number of rows does not show it. Ids are counted with the rows. Where a blank cell is an
    answer, or blank cells are counted, the published numbers show it.
    """
    quality, entries = plan.spec.quality, plan.spec.entries
    if quality is None or not quality.min_readable:
        return True
    shown = {column.name for entry in entries for column in entry.request.checked}
    used = (column for query in plan.engine_queries for column in query.columns)
    return any(
        column.name not in {*shown, *quality.min_readable}
        for column in file_columns(used)
        if not isinstance(column, IdColumn)
    )


def _is_json(name: str) -> bool:
    """Whether the name of a file states JSON Lines, or that of the only member of an archive."""
    if not name.lower().endswith(ZIP_ENDING):
        return format_of(name) == "json"
    # A pipe can be read only once.
    if not Path(name).is_file():
        return False
    try:
        with open_file(name) as file:
            return format_of(ZipMember(file, name).name) == "json"
    except DataError:
        # To read it reports the problem.
        return False
