"""The files that a release writes, and the summary of it that a terminal shows."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TextIO
from urllib.parse import quote

from dpcli.cli.console import print_line
from dpcli.cli.terminal import (
    BUDGET_BAR_LEGEND,
    budget_bar,
    can_draw_bars,
    interval_line,
    write_table,
)
from dpcli.engine.files.dataset import PARQUET_ENDINGS
from dpcli.ledger.charge import Receipt, StoredRelease
from dpcli.numeric.exact import exact_or_rounded, plain_text
from dpcli.privacy.loss import Loss, loss_text, remaining_text
from dpcli.problems.errors import LedgerError, OutputError, UsageError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.releasing.publishing import is_device, publish, publish_to_stdout, require_writable
from dpcli.report.formats import (
    FACTS,
    LONG,
    LONG_PARQUET,
    METADATA,
    WIDE,
    WIDE_PARQUET,
    metadata_name,
    output_name,
    render_output,
    require_table_name,
)
from dpcli.report.numbers import CellText, NumberTable, flags_of, number_of
from dpcli.report.report import Report, without_numbers
from dpcli.statistics.postprocessing import Flag

if TYPE_CHECKING:
    from dpcli.releasing.responses import ChargedResponses
    from dpcli.report.captions import Digits
    from dpcli.report.first_counts import QualityReport
    from dpcli.report.statistic import StatisticReport


def write_output(content: bytes, output: Path | None) -> None:
    """Write to a file, or to standard output; raises OutputError."""
    if output is None:
        publish_to_stdout(content)
    else:
        publish({output: content})


def output_file(output: Path | None) -> Path | None:
    """The file that `-o` names; None, also for `-`, is standard output."""
    return None if output == Path("-") else output


@dataclass
class Outputs:
    """The output and the reports that a command line names.

    With OUT.csv and no report, OUT.report.json is written next to it, unless OUT is a device. All
    reports have the same `report_format`, if it is given, and the same `digits` of numbers.
    """

    output: Path | None
    report: Sequence[Path] | None
    report_format: str | None
    force: bool
    digits: Digits = field(default="interval", kw_only=True)
    _made: dict[str, bytes] = field(default_factory=dict, init=False)
    _report: Report | None = field(default=None, init=False)

    charged: ClassVar[str] = "the release is charged and stored"

    other_endings: ClassVar[tuple[str, ...]] = ()
    """Endings of the tables that are written in another format than CSV."""

    def __post_init__(self) -> None:
        """Find the format of each report; UsageError for an unknown one."""
        self.output, given = output_file(self.output), self.report or ()
        if self.report_format and not given:
            needs = {"given": "`--format`", "other": "a report", "fix": "`--report PATH`"}
            raise UsageError.about("bad-option.needs", **needs)
        self.reports = {path: output_name(path, self.report_format, self.digits) for path in given}
        if not given and self.output and self.output.name and not is_device(self.output):
            report = self.output.with_name(f"{_stem(self.output)}.report.json")
            self.reports = {report: output_name(report)}

    @property
    def tables(self) -> Mapping[Path, str]:
        """Output files, each with the name of its stored table; empty if not stored."""
        raise NotImplementedError

    @property
    def described(self) -> Mapping[Path, str]:
        """The file of the tables' metadata, if any, with the name of the stored output."""
        return {}

    @property
    def wanted(self) -> list[str]:
        """The outputs to store, by their names in the ledger."""
        names = (*self.tables.values(), *self.described.values(), *self.reports.values())
        return [name for name in names if name]

    def files(self, stored: StoredRelease) -> dict[Path, str]:
        """All files, each with the name of its stored output.

        A release that its quality check stopped has no tables.
        """
        tables = {} if stored.stopped else {**self.tables, **self.described}
        return {**tables, **self.reports}

    def notify_written(self, stored: StoredRelease) -> None:
        """Report on standard error which files were written."""
        for path in self.files(stored):
            print_line(f"wrote `{path}`")

    def contents(self, stored: StoredRelease) -> dict[Path, bytes]:
        """The files with their bytes; LedgerError if an output cannot be made."""
        files = self.files(stored).items()
        return {path: self.content(stored, name) for path, name in files if name}

    def content(self, stored: StoredRelease, name: str) -> bytes:
        """The stored bytes of an output, or bytes made from the stored report.

        Raises LedgerError if it cannot be made.
        """
        if name in stored.outputs:
            return stored.outputs[name]
        if name not in self._made:
            try:
                self._report = self._report or Report.parse(stored.outputs[FACTS])
                self._made[name] = render_output(self._report, name)
            except KeyError:
                output = "--metadata" if name.startswith(METADATA) else name
                raise LedgerError.about("output-not-stored", output=output) from None
        return self._made[name]

    def is_published(self, stored: StoredRelease) -> bool:  # noqa: ARG002 - of responses alone
        """Whether an output that is not stored is already in its file.

        Raises LedgerError if it is missing.
        """
        return False

    def require_valid(
        self,
        inputs: Sequence[Path],
        stored: StoredRelease | None = None,
        failed: Sequence[StoredRelease] = (),
        *,
        exist_ok: bool = False,
    ) -> None:
        """Raise UsageError or LedgerError for files that must not be written.

        It is called before anything is spent. Files with the bytes of the `stored` release, or of
        a `failed` check that is made again, may exist; with `exist_ok`, all files may.
        """
        is_published = stored is not None and self.is_published(stored)
        expected: dict[Path, set[bytes]] = {}
        for release in (*([stored] if stored else ()), *failed):
            for path, content in self.contents(release).items():
                expected.setdefault(path, set()).add(content)
        targets = [*({} if is_published else self.tables), *self.described, *self.reports]
        twice = len(self.report or ()) > len(self.reports)
        require_writable(
            targets, inputs, force=exist_ok or self.force, twice=twice, expected=expected
        )
        if self.output is not None:
            require_table_name(self.output, *self.other_endings)

    def publish(self, stored: StoredRelease, again: str) -> None:
        """Write the files; an OutputError has `again` as its hint."""
        try:
            self._publish(stored)
        except OutputError as failure:
            hint = f"{self.charged}; {again}, which costs nothing"
            problems = (replace(problem, hint=hint) for problem in failure.problems)
            raise OutputError(problems) from None

    def _publish(self, stored: StoredRelease) -> None:
        publish(self.contents(stored))


@dataclass
class Tables(Outputs):
    """The noisy tables of a release, and its reports.

    A table whose name ends in .parquet is a Parquet file. Several wide tables, by the `names` of
    their keys, go to OUT.<keys>.csv, or one after the other to standard output if `to_stdout`.
    """

    layout: str
    names: Sequence[str]
    to_stdout: bool = True
    metadata: Path | None = None

    other_endings: ClassVar[tuple[str, ...]] = PARQUET_ENDINGS

    def __post_init__(self) -> None:
        """Find the format of each report; UsageError for metadata without a CSV table."""
        super().__post_init__()
        if self.metadata is not None and (self.output is None or _is_parquet(self.output)):
            needs = {"given": "`--metadata`", "other": "a CSV file", "fix": "`-o OUT.csv`"}
            raise UsageError.about("bad-option.needs", **needs)

    @property
    def described(self) -> Mapping[Path, str]:
        """The file of `--metadata`, if it is given, and the name of the stored metadata."""
        if self.metadata is None:
            return {}
        folder = self.metadata.parent
        # Metadata name files relative to their own folder.
        tables = {
            quote(os.fsencode(os.path.relpath(path, folder))): name
            for path, name in self.tables.items()
        }
        return {self.metadata: metadata_name(tables)}

    @property
    def on_terminal(self) -> bool:
        """Whether the table would go to a terminal, which shows a summary in its place."""
        return self.to_stdout and self.output is None and sys.stdout.isatty()

    @property
    def tables(self) -> Mapping[Path, str]:
        output, names = self.output, self.names
        if output is None:
            return {}
        parquet = _is_parquet(output)
        if self.layout == "long":
            return {output: LONG_PARQUET if parquet else LONG}
        wide = WIDE_PARQUET if parquet else WIDE
        if len(names) == 1:
            return {output: wide + names[0]}
        ending = output.suffix if parquet else ".csv"
        return {output.with_name(f"{_stem(output)}.{name}{ending}"): wide + name for name in names}

    @property
    def wanted(self) -> list[str]:
        """The outputs to store, with the tables that go to standard output."""
        return [*super().wanted, *([] if self.on_terminal else self._printed)]

    @property
    def _printed(self) -> list[str]:
        if not self.to_stdout or self.output is not None:
            return []
        return [LONG] if self.layout == "long" else [WIDE + name for name in self.names]

    def notify_written(self, stored: StoredRelease) -> None:
        """Report the files written, or how to keep a table that only a terminal showed."""
        super().notify_written(stored)
        if self.on_terminal and not stored.stopped:
            print_line(
                "the whole table is stored in the ledger; `dpcli ledger export "
                f"{stored.release_id} -o OUT.csv` writes it to a file"
            )

    def _publish(self, stored: StoredRelease) -> None:
        """Write files, or the table to standard output unless a summary was shown."""
        super()._publish(stored)
        shown = self.on_terminal and stored.receipt
        if self._printed and not shown and not stored.stopped:
            publish_to_stdout(b"\n".join(self.content(stored, name) for name in self._printed))


@dataclass
class Responses(Outputs):
    """The responses of a local collection, which are in an outbox next to the ledger."""

    shuffle: bool
    ledger: Path

    charged: ClassVar[str] = "the responses are charged, and nothing is lost"

    @property
    def tables(self) -> Mapping[Path, str]:
        """The file of the responses, which are not stored in the ledger."""
        return {} if self.output is None else {self.output: ""}

    def _publish(self, stored: StoredRelease) -> None:
        """Publish the responses first, because there is only one copy, then the reports."""
        self._responses(stored).publish(self.output, force=self.force)
        super()._publish(stored)

    def is_published(self, stored: StoredRelease) -> bool:
        """Whether the output has the responses; LedgerError also if their order differs."""
        responses = self._responses(stored)
        responses.require(self.output)
        return responses.are_at(self.output)

    def _responses(self, stored: StoredRelease) -> ChargedResponses:
        from dpcli.releasing.responses import ChargedResponses

        return ChargedResponses(stored, self.ledger, self.shuffle)


def wide_tables(stored: StoredRelease) -> list[str]:
    """Names of the wide tables of a stored release; earlier versions stored them all."""
    kept = [name.removeprefix(WIDE) for name in stored.outputs if name.startswith(WIDE)]
    report = json.loads(without_numbers(stored.outputs[FACTS]))
    statistics = [] if kept else report.get("statistics", [])
    return kept or list(dict.fromkeys(statistic["layout"]["table"] for statistic in statistics))


def _is_parquet(path: Path) -> bool:
    return path.name.lower().endswith(PARQUET_ENDINGS)


def _stem(path: Path) -> str:
    return path.stem if _is_parquet(path) else path.name.removesuffix(".csv")


MARKS = {
    Flag.NONE: "",
    Flag.SUPPRESSED: "x",
    Flag.NO_INFORMATION: "**",
    Flag.LIMITED: "+",
    Flag.UNRELIABLE: "*",
}
"""The mark after a flagged value, as in tables of official statistics."""

SUMMARY_LINES = 40

INTERVAL = ""


def print_summary(
    report: Report, receipt: Receipt, *, shown: bool, quiet: bool, digits: Digits = "interval"
) -> None:
    """Print values and balance on standard error.

    If `shown`, the values go to standard output in place of the table. They have these `digits`.
    """
    if report.release.quality and not quiet:
        _print_quality(report.release.quality)
    if report.numbers and (shown or not quiet):
        _print_values(report, sys.stdout if shown else sys.stderr, digits)
        sys.stdout.flush()
    if quiet:
        return
    if report.numbers:
        for text in _notes(report):
            print(text, file=sys.stderr)
        from dpcli.report.captions import any_rounded

        if any_rounded((cell for numbers in report.numbers for cell in _shown(numbers)), digits):
            print_line(
                "the numbers above are rounded to what their intervals support; `--digits "
                "all` shows all, as tables and JSON have them"
            )
    print(spent_text(report.release.privacy.spent.loss, receipt), file=sys.stderr)
    if report.numbers and can_draw_bars(sys.stderr):
        before, after, budget = receipt.before, receipt.balance.spent, receipt.balance.budget
        measure, first, last, allowed = "epsilon", before.epsilon, after.epsilon, budget.epsilon
        if budget.rho is not None and before.rho is not None and after.rho is not None:
            measure, first, last, allowed = "rho", before.rho, after.rho, budget.rho
        print(
            f"{measure:7} {budget_bar(first, last - first, allowed)}\n        {BUDGET_BAR_LEGEND}",
            file=sys.stderr,
        )


def spent_text(spent: Loss, receipt: Receipt) -> str:
    """What a release spent, and what its account has left."""
    left, budget = remaining_text(receipt.balance.remaining), loss_text(receipt.balance.budget)
    entry = f"entry {receipt.entry:,} of {receipt.ledger}"
    return f"spent {loss_text(spent)}; {left} left of {budget} ({entry})"


def _print_quality(check: QualityReport) -> None:
    from dpcli.report.captions import QUALITY_COLUMNS

    rows = [dict(zip(QUALITY_COLUMNS, row, strict=True)) for row in check.table]
    if not check.passed:
        write_table(sys.stderr, "quality check: failed", rows)
        return
    what, about, low, high, *_ = rows[0].values()
    print_line(f"quality check: about {about} {what} ({low} to {high}), no minimum missed")
    for left_out in check.left_out or ():
        if share := Fraction(left_out.share_at_least):
            percent = plain_text(share * 100)
            print_line(
                f"quality check: at least {percent}% of the {what} are left out by a limit of "
                f"{left_out.limit}"
            )


def _print_values(report: Report, out: TextIO, digits: Digits) -> None:
    from dpcli.report.captions import caption_lines

    room = max((len(MARKS[flag]) for flag in _flags(report)), default=0)
    stated = report.release
    rows = [
        row
        for statistic, numbers in zip(stated.statistics, report.numbers, strict=True)
        for row in _statistic_rows(statistic, numbers, report, room, digits)
    ]
    if not can_draw_bars(out):
        rows = [{name: text for name, text in row.items() if name != INTERVAL} for row in rows]
    title = f"release {stated.release_id} of {stated.spec.dataset}"
    write_table(out, title, rows, (INTERVAL,))
    for line in caption_lines(
        stated.spec, ((statistic.name, statistic) for statistic in stated.statistics)
    ):
        print(line, file=out)


def _statistic_rows(
    statistic: StatisticReport,
    numbers: Sequence[NumberTable],
    report: Report,
    room: int,
    digits: Digits,
) -> Iterator[dict[str, str]]:
    """The lines of a statistic; each value has `room` for its marks."""
    from dpcli.report.captions import number_writer, reader_of

    cells, read = _shown(numbers), reader_of(digits)
    count = sum(len(table.frame) for table in numbers)
    drawn = _drawn_intervals(cells)
    percent, written = report.percent, number_writer(report.stated.spec.numbers)
    names = ("statistic", "of", "group", "value", f"lower {percent}", f"upper {percent}")
    before = ""
    for index, cell in enumerate(cells):
        what = "" if index else statistic.counts
        name = "" if cell.statistic == before else cell.statistic
        before = cell.statistic
        mark = MARKS[cell.flag].ljust(room)
        said = read(cell)
        value, *ends = map(written, (said.value, said.lower, said.upper))
        texts = (name, what, ", ".join(cell.labels), f"{value}{mark}", *ends)
        epsilon = "" if index else exact_or_rounded(Fraction(statistic.epsilon))
        yield dict(zip(names, texts, strict=True)) | {"epsilon": epsilon, INTERVAL: drawn[index]}
    if count > SUMMARY_LINES:
        more = f"... {count - SUMMARY_LINES:,} more"
        yield dict.fromkeys((*names, "epsilon", INTERVAL), "") | {"group": more}


def _shown(numbers: Sequence[NumberTable]) -> list[CellText]:
    return [cell for table in numbers for cell in table.cells(SUMMARY_LINES)][:SUMMARY_LINES]


def _drawn_intervals(shown: Sequence[CellText]) -> list[str]:
    """Each value in its interval, all on one scale; empty if no cell has an interval."""
    if not any(cell.lower for cell in shown):
        return [""] * len(shown)
    drawn = [
        [number_of(text) if text else None for text in (cell.value, cell.lower, cell.upper)]
        for cell in shown
    ]
    numbers = [number for ends in drawn for number in ends if number is not None]
    low, high = min(numbers), max(numbers)
    return [interval_line(ends, low, high) for ends in drawn]


def _flags(report: Report) -> list[Flag]:
    return flags_of([table for numbers in report.numbers for table in numbers])


def _notes(report: Report) -> Iterator[str]:
    """What numbers are about if rows are left out of them, and what marks mean."""
    left_out: dict[str, list[str]] = {}
    stated = report.release
    for statistic in stated.statistics:
        if statistic.left_out:
            left_out.setdefault(statistic.left_out, []).append(statistic.name)
    for sentence, names in left_out.items():
        yield f"{', '.join(names)}: {sentence}"
    yield from stated.sample.notes[1:2] if stated.sample else ()
    for flag in _flags(report):
        yield f"{MARKS[flag]} {stated.flags.meaning(flag)}"
