"""What calls give a program: tables, reports and losses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dpcli.privacy.loss import Loss, loss_text, remaining_text
from dpcli.problems.errors import LedgerError, Problem
from dpcli.problems.excerpts import render_problem
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import Shown, Summary, closest_match, count_text, did_you_mean
from dpcli.problems.shown import MAX_LINES
from dpcli.releasing.publishing import publish, require_writable
from dpcli.report.formats import (
    LONG,
    LONG_PARQUET,
    joined_table,
    output_name,
    published_table,
    render_output,
)
from dpcli.report.report import Report
from dpcli.report.table import STATISTIC, long_table
from dpcli.statistics.columns import UNIT

if TYPE_CHECKING:
    import polars as pl

    from dpcli.report.numbers import NumberTable

Form = Literal["html", "markdown", "json", "registry"]
"""A form of reports: page, text, facts for programs, or public registry draft."""

TABLES = {".csv": LONG, ".parquet": LONG_PARQUET}
"""The stored table by the ending of a file."""


@dataclass(frozen=True, slots=True, repr=False)
class Collection(Shown):
    """A collection of responses that is charged and stored, as its report states it.

    `charged` is false if its release id was charged for before. `warnings` say what people must
    know of the account and the entries, `notes` what was done, and what a release left out of its
    numbers: the command line prints both.
    """

    release_id: str
    charged: bool
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    _report: Report = field(repr=False)
    _inputs: tuple[Path, ...] = field(default=(), repr=False)

    @property
    def cost(self) -> Loss:
        """An upper bound of the loss of each privacy unit, as the report states it.

        The loss has an `epsilon` and a `delta`, and a `rho` if losses are counted in rho.
        """
        return self._report.stated.privacy.spent.loss

    @property
    def remaining(self) -> Loss:
        """The budget left in the account after the charge, as the report states it."""
        remaining = self._report.stated.privacy.remaining
        assert remaining is not None
        return remaining.loss

    def report(self, form: Form = "html") -> str:
        """The privacy report as `html`, `markdown`, `json` or `registry`.

        Raises UsageError for another form, and LedgerError if an earlier version of dpcli stored
        too few facts for the requested form.
        """
        name = output_name(Path(), form)
        with enough_stored(name):
            return render_output(self._report, name).decode()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write what the ending of the path names, and return the path.

        `.csv` and `.parquet` are the table, of a release; `.html`, `.md` and `.json` the report. A
        file that exists is replaced, but not the spec, a file that it names, the data or the
        ledger. Raises UsageError for these and for another ending, and OutputError.
        """
        target = Path(path)
        name = self._tables().get(target.suffix.lower()) or output_name(target)
        require_writable([target], self._inputs, force=True)
        with enough_stored(name):
            publish({target: render_output(self._report, name)})
        return target

    def _tables(self) -> dict[str, str]:
        return {}

    def _summary(self) -> Summary:
        return Summary(self._title, [("stored as", self.release_id)], self._losses)

    @property
    def _title(self) -> str:
        return f"{type(self).__name__} {self.release_id} of {self._report.stated.spec.dataset}"

    @property
    def _losses(self) -> tuple[str, ...]:
        spent = f"spent {loss_text(self.cost)}" if self.charged else "charged before, nothing spent"
        return (f"{spent}; {remaining_text(self.remaining)} left",)


@dataclass(frozen=True, slots=True, repr=False)
class Release(Collection):
    """A release that is charged and stored: all that is in it may be published.

    `release["visits"]` is the table of one statistic.
    """

    @property
    def table(self) -> pl.DataFrame:
        """The noisy numbers, one per line, as in the table that the command line writes.

        A column has one type: where some numbers are dates and others are not, the lines are those
        of wide tables, with a column for each statistic.
        """
        table = published_table(self._report)
        return joined_table(self._report) if table.dated else table.typed

    @property
    def statistics(self) -> tuple[str, ...]:
        """The names of the statistics, in the order of the spec."""
        return tuple(stated.name for stated in self._report.release.statistics)

    def __iter__(self) -> Iterator[str]:
        return iter(self.statistics)

    def __len__(self) -> int:
        return len(self.statistics)

    def keys(self) -> tuple[str, ...]:
        """The names of the statistics, so that `dict(release)` is their tables."""
        return self.statistics

    _ipython_key_completions_ = keys

    def __getitem__(self, name: str) -> pl.DataFrame:
        """The numbers of one statistic: its groups, values and intervals.

        Numbers are Float64, and dates are Date. Columns without any entry are left out. Raises
        KeyError for another name.
        """
        lines = long_table([self._numbers(name)]).typed.drop(STATISTIC)
        return lines.select(column for column in lines if column.null_count() < len(lines))

    def _numbers(self, name: str) -> NumberTable:
        """The published numbers of one statistic; KeyError for another name."""
        for published in self._report.numbers:
            for numbers in published:
                if numbers.name == name:
                    return numbers
        near = did_you_mean(filter(None, [closest_match(str(name), self.statistics)]))
        raise KeyError(f"no statistic `{name}`; {near}{', '.join(self.statistics)}")

    def to_pandas(self) -> Any:
        """The table as a DataFrame of pandas, which must be installed."""
        pandas: Any = import_module("pandas")
        columns = self.table.to_dict().items()
        return pandas.DataFrame({name: column.to_list() for name, column in columns})

    def plot(self, name: str) -> Any:
        """The numbers of a statistic with their intervals, as axes of matplotlib.

        Raises ImportError unless matplotlib is installed, and KeyError for another name.
        """
        pyplot: Any = import_module("matplotlib.pyplot")

        numbers, lines = self._numbers(name), self[name]
        # A key may have the name of a column of numbers, which is another one then.
        header = long_table([numbers]).frame.columns[1:]
        keys = [key for key in header[: len(numbers.keys) + 1] if key in lines.columns]
        lines = lines.filter(lines["value"].is_not_null()) if "value" in lines else lines.clear()
        rows = lines.select(keys).iter_rows() if keys else [(name,)] * len(lines)
        labels = [", ".join(map(str, row)) for row in rows]
        places = range(len(lines))
        _, axes = pyplot.subplots()
        if len(lines):
            axes.barh(places, lines["value"].to_list(), color="lightgray")
        if {"lower", "upper"} <= {*lines.columns}:
            axes.hlines(places, lines["lower"].to_list(), lines["upper"].to_list(), color="black")
        axes.set_yticks(list(places), labels)
        axes.invert_yaxis()
        axes.set_title(name)
        units = numbers.frame[UNIT.name].unique(maintain_order=True)
        axes.set_xlabel(", ".join(filter(None, units)))
        return axes

    def _tables(self) -> dict[str, str]:
        return TABLES

    def _summary(self) -> Summary:
        frame = published_table(self._report).frame
        kept = [name for name in frame.columns if (frame[name] != "").any()]
        return Summary(self._title, [tuple(kept), *frame.select(kept).iter_rows()], self._losses)


@dataclass(frozen=True, slots=True, repr=False)
class Simulation(Shown):
    """What many releases of synthetic rows would publish; none is a release."""

    document: dict[str, Any]

    @property
    def table(self) -> pl.DataFrame:
        """A line for each statistic: errors, and how often intervals held."""
        import polars as pl

        lines = [
            {"statistic": stated["name"], **{key: _number(value) for key, value in row.items()}}
            for stated in self.document["statistics"]
            for row in stated["published"]
        ]
        return pl.DataFrame(lines, infer_schema_length=None)

    def _summary(self) -> Summary:
        table = self.table
        rows = [tuple("" if cell is None else str(cell) for cell in row) for row in table.rows()]
        made = self.document["synthetic"]
        title = f"Simulation: {made['rows']:,} synthetic rows, {self.document['runs']:,} runs"
        return Summary(title, [tuple(table.columns), *rows], ())


def _number(value: Any) -> Any:
    """A number of a report, which may be written as a text."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


class Problems(tuple[Problem, ...]):
    """Problems that Python shows as the command line does, in about fifteen lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        shown: list[str] = []
        for problem in self:
            shown += ["", *render_problem(problem).split("\n")]
            if len(shown) > MAX_LINES and problem is not self[-1]:
                shown.append(f"\n{count_text(len(self), 'problem')} in all")
                break
        return "\n".join(shown[1:]) or "no problems"


@contextmanager
def enough_stored(wanted: str) -> Iterator[None]:
    """Raise LedgerError if a stored report lacks facts that an output needs."""
    try:
        yield
    except KeyError:
        raise LedgerError.about("output-not-stored", output=wanted) from None
