"""The files that a release writes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote

from dpcli.cli.console import print_line
from dpcli.engine.files.dataset import PARQUET_ENDINGS
from dpcli.fields.json import REPORT_VERSION
from dpcli.ledger.charge import StoredRelease
from dpcli.problems.errors import LedgerError, OutputError, UsageError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.releasing.publishing import (
    is_device,
    publish,
    publish_to_stdout,
    require_table_name,
    require_writable,
)
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
)
from dpcli.report.report import Report, require_report, stored_report, without_numbers

if TYPE_CHECKING:
    from dpcli.releasing.responses import ChargedResponses
    from dpcli.report.digits import Digits


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
                self._report = self._report or stored_report(stored.release_id, stored.outputs)
                self._made[name] = render_output(self._report, name)
            except KeyError:
                output = "--metadata" if name.startswith(METADATA) else name
                raise LedgerError.about("output-not-stored", output=output) from None
        return self._made[name]

    def current_report(self, stored: StoredRelease) -> Report | None:
        """The stored report, which a summary shows; None if an earlier version wrote it."""
        stated = json.loads(without_numbers(stored.outputs.get(FACTS, b"{}")))
        if stated.get("report_version") == REPORT_VERSION:
            self._report = self._report or stored_report(stored.release_id, stored.outputs)
        return self._report

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
            require_report(release.release_id, release.outputs)
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
                f"the whole table is stored in the ledger; `{stored.export_command()} -o OUT.csv` "
                "writes it to a file"
            )

    def show(self, stored: StoredRelease, made: Report | None = None, *, quiet: bool) -> None:
        """Print the numbers, of the report that was `made` or stored, and name the files.

        A `quiet` command prints only the numbers that stand on a terminal in place of a table.
        """
        on_terminal = self.on_terminal
        if (on_terminal or not quiet) and stored.digest is None:
            # It loads words and bars that a quiet command does without.
            from dpcli.cli.summary import print_summary

            if report := made or self.current_report(stored):
                digits = self.digits
                print_summary(report, stored.receipt, shown=on_terminal, quiet=quiet, digits=digits)
        if not quiet:
            self.notify_written(stored)

    def _publish(self, stored: StoredRelease) -> None:
        """Write files, or the table to standard output unless a summary was shown."""
        super()._publish(stored)
        shown = self.on_terminal and (stored.receipt or self.current_report(stored))
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
    """Names of the wide tables of a stored release; earlier versions stored them all.

    Raises LedgerError if no version stored such names, and if a version stored none.
    """
    names = [name.removeprefix(WIDE) for name in stored.outputs if name.startswith(WIDE)]
    if not names:
        require_report(stored.release_id, stored.outputs)
        report = json.loads(without_numbers(stored.outputs[FACTS]))
        try:
            layouts = [statistic["layout"] for statistic in report.get("statistics", [])]
        except KeyError:
            raise LedgerError.about("output-not-stored", output="--layout wide") from None
        names = list(dict.fromkeys(layout["table"] for layout in layouts))
    if not all(name and Path(name).name == name for name in names):
        raise LedgerError.about("ledger-unusable.report", release_id=stored.release_id)
    return names


def _is_parquet(path: Path) -> bool:
    return path.name.lower().endswith(PARQUET_ENDINGS)


def _stem(path: Path) -> str:
    return path.stem if _is_parquet(path) else path.name.removesuffix(".csv")
