"""`dpcli check`: problems of a spec and of headers, and how readable columns are.

On a terminal it prints words about the cells of each column, and no number of rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpcli.cli.charging import forecast_balance, warn
from dpcli.cli.console import print_json, print_line, problem_facts
from dpcli.cli.options import AnyPeriod, AsJson, LedgerFile, Period, SpecFile
from dpcli.cli.terminal import shown_progress, write_table
from dpcli.data.column import STATES, Column
from dpcli.data.formats import Dialect
from dpcli.data.labels import BOOLEAN_LABELS
from dpcli.engine.files.dataset import Dataset
from dpcli.engine.progress import Progress
from dpcli.planning.plan import CentralPlan, Plan
from dpcli.planning.planner import make_plan
from dpcli.planning.words.data import (
    column_warnings,
    kept_rows_warnings,
    limit_warnings,
    quality_warnings,
    unit_warnings,
)
from dpcli.planning.words.risks import records_risk
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.errors import DpcliError, UsageError
from dpcli.problems.messages import escape_controls, quoted_list
from dpcli.releasing.steps import opened_data, reading_warnings
from dpcli.report.captions import RESPONSIBLE
from dpcli.specification.load import read_spec_file
from dpcli.specification.model import CentralSpec, Privacy, QualityCheck, Spec
from dpcli.statistics.quality.quality_counts import fault_order

if TYPE_CHECKING:
    from dpcli.engine.check_cells import CellsCheck, ColumnCells


def check(
    spec: SpecFile,
    data: Annotated[
        list[str] | None, typer.Argument(metavar="DATA", help="Data files, or - for stdin.")
    ] = None,
    header: Annotated[
        bool, typer.Option("--header", help="Only the headers of DATA, also on a terminal.")
    ] = False,
    cells: Annotated[
        bool, typer.Option("--cells", help="Fail unless cells can be shown, on a terminal.")
    ] = False,
    ledger: LedgerFile = None,
    period: Period = None,
    any_period: AnyPeriod = False,
    as_json: AsJson = False,
) -> None:
    """Report every problem of SPEC at once; with DATA, of the file too.

    Each problem has a code, its place in SPEC and a hint; `dpcli explain CODE` explains it. Also
    reports whether the account of SPEC would accept a release now. Reads SPEC, its ledger and the
    headers of DATA. Writes and spends nothing. --json prints dataset, warnings and problems;
    problems go to stderr as well.

    On a terminal it also reads all rows, unless --header is given, and shows whether all, most,
    some, few or none of the cells of each column can be read as declared, are blank, are
    neither, or are numbers outside the bounds; which keys of SPEC would read more of them;
    which declared texts never occur; what would stop a release; and whether `max_rows` leaves
    rows out. This is confidential: do not choose bounds by it. It changes no exit status. In a
    pipe, to a file and with --json no row is read; --cells is refused there.

    Examples:
        dpcli check specs/minimal.yaml
        dpcli check specs/town.yaml sample_data/people.csv
        head -n 1 sample_data/people.csv | dpcli check specs/town.yaml -
        # in a script, or before a commit:
        for spec in specs/town*.yaml; do dpcli check "$spec" || exit; done

    Exits 3 for SPEC, 4 for the header; 5 or 6 where `dpcli release` would.

    See also: dpcli init, dpcli plan, dpcli explain
    """
    files = tuple(data or ())
    _require_terminal(files, header=header, cells=cells, as_json=as_json)
    cells = bool(files) and not header and not as_json and sys.stdout.isatty()
    report: dict[str, object] = {"spec": str(spec), "data": list(files), "problems": []}
    unreadable, lists = list[str](), list[str]()
    try:
        plan = make_plan(read_spec_file(spec, files)).about(period)
        size = len(plan.statistics if isinstance(plan, CentralPlan) else plan.spec.responses)
        report |= {"dataset": plan.spec.dataset, f"{plan.part}s": size, "warnings": []}
        account = forecast_balance(plan, spec, ledger, files, any_period=any_period)
        refused = account.refused
        try:
            # Check the data even if the account refuses: report all problems at once.
            if cells:
                unreadable, lists = _read_cells(files, plan)
            elif files:
                with opened_data(plan.spec, files) as dataset:
                    lists = list(_list_warnings(plan.spec, dataset))
        except DpcliError as failure:
            earlier = refused.problems if refused else ()
            refused = refused or failure
            refused.problems = tuple(dict.fromkeys([*earlier, *failure.problems]))
        if refused is not None:
            raise refused
    except DpcliError as failure:
        if as_json:
            print_json(report | {"problems": problem_facts(failure)})
        raise
    records = records_risk(plan)
    advice = [*lists, *([f"{records.warning} {records.prompt}"] if records.warning else [])]
    if isinstance(plan, CentralPlan):
        quality = [*quality_warnings(plan), *kept_rows_warnings(plan)]
        reading = reading_warnings(plan, files)
        found = *unit_warnings(plan), *column_warnings(plan), *limit_warnings(plan)
        advice += [*found, *quality, *reading]
    report["warnings"] = [*account.warnings, *warn(advice)]
    if as_json:
        print_json(report)
        return
    _show_notes(plan)
    verdict = _verdict(unreadable)
    print_line(f"{spec}: {size} {plan.part}{'s' * (size != 1)}, {verdict}", file=sys.stdout)


def _show_notes(plan: Plan) -> None:
    """Print what a record is, unless that is a warning, and what reports will lack."""
    records = records_risk(plan)
    if not records.warning:
        print_line(f"note: {records.found}")
    missing = [key for key in RESPONSIBLE.values() if not plan.spec.declarations.answer(key)]
    if missing:
        keys = quoted_list(missing)
        print_line(
            f"note: reports will say `not stated` for {keys}: see `dpcli explain declarations`"
        )


def _verdict(unreadable: list[str]) -> str:
    if not unreadable:
        return "no problems"
    columns = quoted_list(unreadable, "or")
    return (
        f"no problems in the spec, but no cell of {columns} can be read: declare what the "
        "file has, as `dpcli explain columns` shows, or correct the file"
    )


def _list_warnings(spec: Spec, dataset: Dataset) -> Iterator[str]:
    """A warning for each list of codes that has the columns of a data file."""
    for listed, source in product(dict.fromkeys(spec.named_files), dataset.sources):
        if {*map(str.strip, listed.header)} == {*map(str.strip, source.header)}:
            yield (
                f"`{listed.name}` and `{source.name}` have the same columns: is this list the data "
                "file? Its labels are published, so it must be written without the data"
            )


def _read_cells(data: tuple[str, ...], plan: Plan) -> tuple[list[str], list[str]]:
    """Read all rows, and print how readable the columns are.

    Returns the names of the columns without a readable cell, which only the terminal may show, and
    warnings about the headers.
    """
    # Both load polars, for this alone.
    from dpcli.engine.check_cells import check_cells  # noqa: PLC0415

    spec = plan.spec
    quality = spec.quality if isinstance(spec, CentralSpec) else None
    only = plan.existing_rows if isinstance(plan, CentralPlan) and spec.period else None
    lists: list[str] = []

    def read(dialect: Dialect) -> CellsCheck:
        with (
            shown_progress(quiet=False) as progress,
            opened_data(replace(spec, dialect=dialect), data, progress) as dataset,
        ):
            lists[:] = _list_warnings(spec, dataset)
            return check_cells(
                dataset,
                spec.columns,
                (quality.min_rows, quality.min_people) if quality else (None, None),
                progress or Progress(),
                quality.min_readable if quality else {},
                spec.privacy.unit,
                only,
            )

    checked = decoded = read(spec.dialect)
    encoding = next(filter(None, (fault.encoding for fault in checked.faults)), None)
    if encoding and all(Path(name).is_file() for name in data):
        # A header in the declared encoding may not be in the other one.
        with suppress(DpcliError):
            decoded = read(replace(spec.dialect, encoding=encoding))
    show_cells(checked, decoded, spec)
    unread = [cells.column.name for cells in checked.columns if cells.readable == "none"]
    return unread if checked.has_rows else [], lists


def _require_terminal(files: Sequence[str], *, header: bool, cells: bool, as_json: bool) -> None:
    """Raise UsageError if `--cells` has no data to read, or no terminal to write to."""
    if not cells:
        return
    if header or as_json:
        fix, other = "run `dpcli check` once with each", "`--header`" if header else "`--json`"
        raise UsageError.about("bad-option", given="`--cells`", other=other, fix=fix)
    if not files:
        fix = "them, as in `dpcli check SPEC DATA --cells`"
        raise UsageError.about("bad-option.needs", given="`--cells`", other="data files", fix=fix)
    if not sys.stdout.isatty():
        raise UsageError.about("terminal-required")


NOTICE = """\
CONFIDENTIAL: exact facts about the records. Do not publish, log or share them.
Do not choose bounds, categories or limits by them: that leaks information
outside the guarantee.
"""

UNBROKEN = 60
"""The most characters of a key that is put in backticks, and not broken."""

STOPPED = "a release would be stopped, and its check charged"

SHOWN = 8
"""The largest number of texts that are listed; the others are counted."""


def show_cells(checked: CellsCheck, decoded: CellsCheck, spec: Spec) -> None:
    """Print a table of columns, faults of the file, and remarks about each column.

    The remarks are about `decoded`, the check of the file in the encoding that fits it.
    """
    if not checked.has_rows:
        # Perhaps no record could be cut into cells.
        if checked.faults:
            print(NOTICE)
        _print_lines(fault.words for fault in checked.faults)
        print("rows: none, so no cell was checked")
        return
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
    _print_lines(fault.words for fault in checked.faults)
    declared = {column.name: column for column in spec.columns}
    for cells in decoded.columns:
        remarks = list(_remarks(cells, declared[cells.column.name], spec))
        if remarks:
            _print_lines([f"{cells.column.name}:", *(f"  - {remark}" for remark in remarks)])
    _show_counts(checked, spec.privacy)
    quality = spec.quality if isinstance(spec, CentralSpec) else None
    if quality is not None and (checked.enough_people or checked.enough_rows):
        _print_lines(_counted_faults(checked, quality))


def _counted_faults(checked: CellsCheck, quality: QualityCheck) -> Iterator[str]:
    """What minimums do not count, though the file has enough with it."""
    order, cells = (
        fault_order(quality.entry.inputs),
        {one.column.name: one for one in checked.columns},
    )
    found = [
        f"`{fault.name}` ({amount} {STATES[fault.state]})"
        for fault in (*order.cells, *order.blanks)
        if fault.name in cells
        and (amount := getattr(cells[fault.name], STATES[fault.state])) not in (None, "none")
    ]
    if found:
        units = "people" if quality.min_people else "rows"
        yield (
            f"{units}: a release counts only {units} without a fault, and faults are in "
            f"{', '.join(found)}; `missing: drop` in a column says that its blanks are none"
        )


def _show_counts(checked: CellsCheck, privacy: Privacy) -> None:
    """Print minimums that a release would miss, and whether people have several rows."""
    if checked.existing is not None:
        existing = "no" if checked.existing == "none" else checked.existing
        print(f"period: {existing} rows are of the period, and only these count below")
    if checked.below:
        columns = quoted_list(checked.below)
        too_few = f"fewer cells of {columns} can be read than `min_readable` requires"
        _print_lines([f"{too_few}: {STOPPED}"])
    if checked.is_unique:
        _print_lines(["ids: no id has several rows, so each row is a person of its own"])
    elif checked.repeated != "none" and privacy.limits.max_rows is not None:
        beyond = f"ids: {checked.repeated} rows are beyond the `max_rows` that `unit` states"
        _print_lines([f"{beyond}, and statistics without a limit of their own leave them out"])
    for share, words, joins in checked.joined:
        fix = f"`{words}` joins them" if words else "each is a person, until the file is corrected"
        _print_lines([f"ids: {share} ids differ from another only in {joins}: {fix}"])
    if checked.enough_people is not None:
        enough = (
            "at least `min_people`, with and without faults"
            if checked.enough_people
            else f"fewer than `min_people`: {STOPPED}"
        )
        print(f"people: {enough}")
        if checked.enough_rows is None:
            return
    if checked.enough_rows is None:
        print("rows: some; `quality: {min_rows: ...}` declares how many to expect")
        return
    is_person = isinstance(privacy.unit, PersonUnit)
    kept = "rows that the limits on people keep" if is_person else "rows"
    enough = "at least `min_rows`" if checked.enough_rows else f"fewer than `min_rows`: {STOPPED}"
    print(f"{kept}: {enough}")


def _print_lines(lines: Iterator[str] | Sequence[str]) -> None:
    for line in lines:
        print(escape_controls(line))


READS = {"all": "them", "most": "most of them", "some": "some of them", "few": "a few of them"}
"""How many cells a remedy would read."""


def _remarks(cells: ColumnCells, declared: Column, spec: Spec) -> Iterator[str]:
    """What the spec expects of unreadable cells, what reads them, what else is odd."""
    doubts = cells.doubts
    if cells.unreadable != "none":
        # How a cell must be written, with an example that follows from the declaration.
        yield declared.expected(spec.dialect.decimal)
        reads = cells.remedy.reads if cells.remedy else "none"
        if cells.remedy is not None:
            keys = " and ".join(
                f"`{key}`" if len(key) <= UNBROKEN else key for key in cells.remedy.keys
            )
            if keys:
                yield f"{keys} would read {READS[reads]}"
            doubts += cells.remedy.doubts
        if cells.is_garbled:
            yield "some cells have bytes that are not of the declared encoding"
        elif declared.labels and cells.readable != "none" and reads != "all":
            yield "`other: LABEL` would read every other text as that label"
    yield from dict.fromkeys(doubts)
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
        yield from _absent_remarks(cells, declared, spec)


def _absent_remarks(cells: ColumnCells, declared: Column, spec: Spec) -> Iterator[str]:
    """Declared texts that never occur; blank cells may stand for one of a boolean."""
    is_stated = isinstance(spec, CentralSpec) and declared.name in spec.may_be_blank
    is_open = declared.missing is None and not is_stated and cells.blank != "none"
    if declared.labels == BOOLEAN_LABELS and is_open:
        yield "a blank cell may mean false: then declare `missing: false`"
    more = len(cells.absent) - SHOWN
    listing = ", ".join(cells.absent[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    yield f"never occurs: {listing}"
