"""Reports rendered by templates: HTML, Markdown and the registry record in YAML.

Jinja escapes all HTML, charts included. Markdown and YAML are escaped by filters, which their
templates apply to every text. A page shows the numbers of a statistic as tables and charts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import cycle
from pathlib import Path

from jinja2 import (
    Environment,
    FileSystemBytecodeCache,
    FileSystemLoader,
    StrictUndefined,
    UndefinedError,
)
from markupsafe import Markup, escape

from dpcli.numeric.exact import exact_or_up, rounded_text, short_or_up
from dpcli.planning.words.guarantee import no_limit, strength
from dpcli.privacy.loss import loss_text, remaining_text
from dpcli.problems.messages import capitalized, count_text
from dpcli.report.captions import (
    ALSO_DECLARED,
    QUALITY_COLUMNS,
    RESPONSIBLE,
    heading_text,
    together,
)
from dpcli.report.charts import (
    MAX_BARS,
    Chart,
    Scale,
    chart_over_bins,
    chart_over_labels,
    tick_text,
)
from dpcli.report.collection import CollectionReport
from dpcli.report.digits import Digits, any_rounded, number_writer, reader_of, supported_error
from dpcli.report.first_counts import BINS_COLUMNS
from dpcli.report.grids import Column, Grid, grids, single_numbers
from dpcli.report.notes import comparison_sentences
from dpcli.report.numbers import POPULATION, RAW, CellText, HistoryReport, flags_of, number_of
from dpcli.report.report import Report
from dpcli.report.series import charts_of_periods, grid_of_periods
from dpcli.report.statistic import nothing_selected
from dpcli.specification.model import Caption
from dpcli.specification.yaml_reader import without_comments
from dpcli.statistics.quality.completeness import Complete

LONGEST_WORD = 24
"""The longest word that fits into a column of a table on a narrow page."""

LONGEST_NUMBER = 40
"""The longest number that fits into a column of a table, on one line."""

LONGEST_SUMMARY = 300
"""Characters of a declared text on page 1; the spec below has all of it."""

BIDI_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the order in which the text around them is shown."""

_NUMBER = re.compile(r"[-\d.,:()\[\]]*\d[-\d.,:()\[\]]*(e-\d+)?")
"""A number, a date, or a bin, which is never broken."""

_UNIT = re.compile(r"(?<=\d) (?=[^\W\d_])|(?<=\b1 in) (?=\d)")
_WHOLE = re.compile(r"\b\d[\d.]*e-\d+|\b\d{4}-\d\d-\d\d\b")
_CODE = re.compile("`([^`]+)`")
_SPECIAL = re.compile(r"[\\`*_\[\]<>|#~@]")
_WORDS = re.compile(r"(?<!`)(`[a-z_]+(?::? [a-z0-9._]+)*:?`)(?!`)")
_BLOCK = re.compile(r"^(\d*)([-+=.)])")


def render_page(form: str, report: Report, digits: Digits = "interval") -> bytes:
    """A report rendered by the template of a format: `html`, `md` or `yaml`.

    Tables of numbers show these `digits`; charts are drawn from all.
    Raises KeyError if an earlier version wrote the report and a needed fact is absent.
    """
    stated = report.stated
    spec, example = stated.spec, stated.spec.numbers or ""
    named = f"{spec.title} ({spec.dataset})" if spec.title else spec.dataset
    named += ", randomized record by record" if isinstance(stated, CollectionReport) else ""
    declared, choices = stated.declarations or {}, getattr(stated, "choices", None) or []
    check = getattr(stated, "quality", None)
    entries = [StatisticView(report, index) for index in range(len(report.numbers))]
    shown = (cell for view in entries for table in view.numbers for cell in table.cells(MAX_LINES))
    page = environment(form).get_template(f"report.{form}.j2")
    try:
        return page.render(
            title=f"Privacy report: {named}",
            report=stated,
            choices=choices,
            answers=[
                *([("quality check", check)] if check else []),
                *((one.name, one) for one in [*choices, *getattr(stated, "statistics", [])]),
            ],
            responses=getattr(stated, "responses", []),
            number=number_writer(example) if example or form != "html" else grouped,
            example=example,
            declared=declared,
            responsible=[(title, declared.get(key)) for title, key in RESPONSIBLE.items()]
            + [(title, declared[key]) for title, key in ALSO_DECLARED.items() if key in declared],
            entries=entries,
            groups=grouped_views(entries),
            read=reader_of(digits),
            percent=report.percent,
            is_rounded=any_rounded(shown, digits),
            sha256=hashlib.sha256(report.content).hexdigest(),
        ).encode()
    except UndefinedError as missing:
        raise KeyError(missing.message) from None


def _digits_filter(text_of: Callable[..., str]) -> Callable[..., str]:
    """A template filter that applies `text_of` to a decimal; empty for None."""
    return lambda digits, *more: "" if digits is None else text_of(Fraction(digits), *more)


@cache
def environment(form: str) -> Environment:
    """Templates of a format with their filters; compiled ones go to `__pycache__`."""
    package = Path(__file__).parent
    compiled = package / "__pycache__"
    brief = _digits_filter(short_or_up)
    keeps = not sys.dont_write_bytecode and os.access(compiled, os.W_OK)
    templates = Environment(
        loader=FileSystemLoader(package / "templates"),
        # A template that several formats include is compiled for each, with its escaping.
        bytecode_cache=FileSystemBytecodeCache(str(compiled), f"%s.{form}.pyc") if keeps else None,
        autoescape=form == "html",  # noqa: S701 - templates of other formats escape by filters
        undefined=StrictUndefined,
        extensions=["jinja2.ext.do"],
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    templates.filters |= {
        "md": markdown_text,
        "md_block": markdown_block,
        "yaml": yaml_scalar,
        "listed": listed,
        "grouped": grouped,
        "prose": prose,
        "shortened": shortened,
        "kind": kind_of,
        "brief": brief,
        "amounts": lambda loss, names: [brief(getattr(loss, name)) for name in names],
        "exact": _digits_filter(exact_or_up),
        "short": _digits_filter(rounded_text),
        "loss": lambda stated: loss_text(stated.loss, short_or_up),
        "left": lambda stated: remaining_text(stated.loss),
        "tick": tick_text,
        "strength": strength,
        "plain_spec": without_comments,
        "with_names": with_names,
        "together": together,
        "many": count_text,
        "written": lambda rows, number: [[*map(number, row)] for row in rows],
        "capital": capitalized,
        "sentence": lambda text: f"{capitalized(text)}.",
        "slug": lambda text: re.sub("[^a-z0-9]+", "-", text).strip("-"),
    }
    templates.globals |= {
        "also_declared": ALSO_DECLARED,
        "no_limit": no_limit,
        "quality_columns": QUALITY_COLUMNS,
        "bins_columns": BINS_COLUMNS,
    }
    return templates


def markdown_text(text: str) -> str:
    """Text escaped for Markdown: on one line, without links and changes of direction."""
    text = BIDI_CONTROLS.sub("\ufffd", text.replace("&", "&amp;"))
    # Plain words in backticks are code, in which a backslash would be shown.
    parts = _WORDS.split(text)
    parts[::2] = [_SPECIAL.sub(r"\\\g<0>", part) for part in parts[::2]]
    text = "".join(parts)
    for start in ("://", "www."):
        # A bare address would become a link.
        text = text.replace(start, f"{start[:-1]}\\{start[-1]}")
    return text.replace("\n", " ")


def markdown_block(text: str) -> str:
    """Text escaped for the start of a line, where it must begin no list or heading."""
    return _BLOCK.sub(r"\1\\\2", markdown_text(text).lstrip())


grouped = number_writer("1,234.5")
"""A plain decimal with commas between thousands; any other text unchanged."""


def prose(text: str) -> Markup:
    """A sentence as HTML: keys as code, no line break in numbers or before units."""
    joined = str(escape(_UNIT.sub("\u00a0", text)))
    joined = _WHOLE.sub(r'<span class="whole">\g<0></span>', joined)
    return Markup(_CODE.sub(r"<code>\1</code>", joined))  # noqa: S704 - escaped before


def shortened(text: str) -> str:
    """The text, cut after `LONGEST_SUMMARY` characters with an ellipsis."""
    return text if len(text) <= LONGEST_SUMMARY else f"{text[:LONGEST_SUMMARY]}\u2026"


def kind_of(text: str) -> str:
    """The CSS class of a table cell: `digits`, `words`, or `long` if words may break."""
    if _NUMBER.fullmatch(text) and len(text) <= LONGEST_NUMBER:
        return "digits"
    return "words" if max(map(len, text.split()), default=0) <= LONGEST_WORD else "long"


def listed(sentences: Iterable[str]) -> str:
    """Sentences as a Markdown list, because the registry shows texts as Markdown."""
    lines = [line for line in sentences if line]
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)


def yaml_scalar(value: str, depth: int = 0) -> str:
    """A text as YAML: a block of lines indented by `depth`, or in quotes.

    It uses only characters that every YAML parser accepts.
    """
    lines = value.split("\n")
    if len(lines) > 1 and all(line.isprintable() and line.strip() == line != "" for line in lines):
        return "\n".join(["|-", *(f"{'  ' * depth}{line}" for line in lines)])
    return "".join(
        character if character.isprintable() else rf"\U{ord(character):08x}"
        for character in json.dumps(value, ensure_ascii=False)
    )


MAX_LINES = 1_000
"""Lines of a statistic that a page shows; CSV table and JSON report have all."""

MAX_CHARTS = 12

INDEPENDENT = ("discrete-laplace", "discrete-gaussian")
"""Noise that each number has of its own."""

ROOT_OF_TWO = Fraction(14143, 10000)
"""Rounded up."""

MIN_PERIODS = 4
"""Up to this number of periods no line is drawn."""

MAX_HEADINGS = 4
"""The most statistics of a table that its heading describes."""

KINDS = {RAW: "before post-processing", POPULATION: "in the population"}
"""What numbers under a further name are, by the ending of their name."""


class StatisticView:
    """What a page shows of a statistic: its numbers, and charts over its bins."""

    def __init__(self, report: Report, index: int) -> None:
        stated = report.release
        self.statistic, self.numbers = stated.statistics[index], report.numbers[index]
        self.percent, self._flags, self._sample = report.percent, stated.flags, stated.sample
        self._optional = stated.optional_columns or []
        self._layout, self.count = self.statistic.layout, len(self.numbers[0].frame)
        self.bars = self._layout.measure != "values"
        self._columns = {column.name: column for column in stated.spec.columns}
        self._unit = self.statistic.one_unit

    @property
    def history(self) -> HistoryReport | None:
        """What periods of a series published; None without two of them."""
        history = self.statistic.history
        return history if history and len(history.days) > 1 else None

    @property
    def title(self) -> str:
        """The title of the statistic; without one, its name."""
        return self.statistic.title or self.statistic.name

    @property
    def heading(self) -> str:
        """The title of the statistic; without one, its name and what it counts."""
        verb = "counts" if self._layout.measure == "counts" else "over"
        stated = self.statistic
        return stated.title or f"{stated.name}: {verb} {stated.named_after}"

    @property
    def repeats_people(self) -> bool:
        """Whether it counts people, each in one group or in a few."""
        return self.statistic.named_after.startswith("people (each person in at most")

    @property
    def table(self) -> str:
        """The wide table that has its numbers; empty if no key and no bin names them."""
        is_grouped = self.statistic.key_names or self._layout.axis or self._layout.chosen
        return self._layout.table if is_grouped or self.statistic.bins else ""

    @property
    def asked(self) -> str:
        """What was asked, its unit and its note, and whether the numbers are complete."""
        stated = self.statistic
        asked = [f"{capitalized(stated.request)}."]
        if stated.title:
            asked = [f"{stated.title} ({stated.name} in the table): {stated.request}."]
        asked += [f"The unit is {stated.unit}."] if stated.unit else []
        asked += [stated.note] if stated.note else []
        asked += [f"{capitalized(stated.left_out)}."] if stated.left_out else []
        if stated.complete == Complete.NO:
            asked += ["These numbers are not complete."]
        return " ".join(asked)

    @property
    def complete(self) -> str:
        """A sentence on whether the numbers are complete; empty for earlier reports."""
        stated = self.statistic
        differ = " Groups may differ." if stated.by or stated.bins else ""
        sentence = stated.complete_sentence
        return f"{capitalized(sentence)}.{differ}" if sentence else ""

    @property
    def left_out(self) -> str:
        """How much is missing from the numbers; empty for earlier reports."""
        sentence = self.statistic.complete_sentence
        short = {
            Complete.YES: sentence.partition(": ")[2] or sentence,
            Complete.UNKNOWN: "it is not known how much is missing",
            Complete.NO: sentence.partition("; at least ")[0],
        }[Complete(self.statistic.complete)]
        return f"{capitalized(short)}." if sentence else ""

    @property
    def exact(self) -> bool:
        """Whether the numbers of the statistic are published without noise."""
        return all(query.mechanism.kind == "exact" for query in self.statistic.queries)

    @property
    def columns(self) -> Iterator[Column]:
        """Its numbers as columns of tables: its own, then those under further names."""
        names = [*self._layout.columns, *filter(None, [self._layout.across])]
        names = [*self.statistic.by, "chosen"] if self._layout.chosen else names
        bounds = (self.statistic.bounds or ()) if self._layout.scale == "bounds" else ()
        for numbers in self.numbers:
            cells, kind = numbers.cells(MAX_LINES), KINDS.get(numbers.ending, "")
            if self._layout.chosen:
                cells = tuple(replace(cell, item=cell.item or "no label") for cell in cells)
                kind = "noisy counts" * bool(numbers.ending)
            counted = self._layout.chosen and numbers.ending == RAW
            # Counts stand next to percent and ranks.
            are_counts = counted or (self.statistic.percent and numbers.ending == RAW)
            yield Column(
                " ".join(filter(None, [self.title, kind])),
                self.statistic.counts if are_counts else self._unit,
                tuple(map(self._heading_of, names)),
                cells,
                drawn=counted or (self._drawn and self._layout.scale != "each" and not self.charts),
                bars=counted or self.bars,
                bounds=bounds,
                totals=self._layout.totals or "",
                dates=numbers.dates,
            )

    def _heading_of(self, name: str) -> str:
        return heading_text(name, self._columns.get(name))

    @cached_property
    def charts(self) -> list[Chart]:
        """Lines over bins or the calendar, one for each group if there are few groups."""
        if self.history:
            named = self._heading_of
            return [*charts_of_periods(self.history, named, self.percent, zero=self.bars)]
        key, period = self._layout.axis, self._layout.period
        if not self._drawn or self._layout.scale == "each" or not (key or period):
            return []
        cells, dates = self.numbers[0].cells(), self.numbers[0].dates
        at = -1 if key else self.statistic.key_names.index(period or "")
        groups = dict[tuple[str, ...], list[CellText]]()
        for cell in cells:
            labels = [*cell.labels]
            del labels[at]
            groups.setdefault(tuple(labels), []).append(cell)
        labels = [cell.labels[at] for cell in next(iter(groups.values()), ())]
        is_short = len(labels) <= (MAX_BARS if key and key.type != "date" else MIN_PERIODS)
        if is_short or len(groups) > MAX_CHARTS or len(labels) * len(groups) != len(cells):
            return []
        scale = Scale.of(cells, zero=self.bars, dates=dates)
        unit = self._unit and not dates and heading_text("value", Caption(unit=self._unit))
        heading = self._heading_of(self.statistic.key_names[at] if key is None else key.column)
        along = f"{unit} by {heading}" if unit else heading
        captions = (f"{', '.join(group)}: {along}" if group else along for group in groups)
        return [
            chart_over_bins(group, key, scale, self.percent, caption)
            if key
            else chart_over_labels(group, labels, scale, self.percent, caption)
            for group, caption in zip(groups.values(), captions, strict=True)
        ]

    @property
    def _drawn(self) -> bool:
        return not self._layout.chosen and self._any("value")

    def _any(self, part: str) -> bool:
        return any((numbers.frame[part] != "").any() for numbers in self.numbers)

    @property
    def _any_cut(self) -> bool:
        """Whether a shown interval ends at a limit of possible numbers, and may be cut."""
        limits = self._layout.possible or []
        cells = self.numbers[0].cells(MAX_LINES) if limits else ()
        return any(
            end is not None and text and number_of(text) == Fraction(end)
            for cell, ends in zip(cells, cycle(limits), strict=False)
            for text, end in zip((cell.lower, cell.upper), ends, strict=True)
            if not cell.exact
        )

    @property
    def _has_ranges(self) -> bool:
        """Whether any number has an interval to show; a certain rank has one, too."""
        return any(
            (one.frame["lower"] != ("" if one.chosen else one.frame["upper"])).any()
            for one in self.numbers
        )

    @property
    def notes(self) -> Iterator[str]:
        """Sentences about these numbers alone."""
        if nothing := nothing_selected(self.statistic, self.numbers[0]):
            yield nothing
        elif not self.count:
            yield "No group was shown."
        for sentence in comparison_sentences(self.statistic, self.numbers, self.percent):
            yield f"{capitalized(sentence)}."
        if self._sample and self.statistic.population:
            yield (
                f"{self.statistic.name}.population is the estimate for the whole population "
                f"of {self._sample.population:,}; its interval contains what is true of the "
                f"population in {self.percent} of cases, over samples and noise."
            )
        if (more := self.count - MAX_LINES) > 0:
            yield f"{count_text(more, 'more line')} are in the table and in the JSON report."

    @property
    def about_intervals(self) -> Iterator[str]:
        """Sentences about intervals, which other statistics may share."""
        if not self.count or nothing_selected(self.statistic, self.numbers[0]):
            return
        if not self._any("lower"):
            minimized = self.statistic.mechanism.kind == "objective"
            what = "The minimizer of a perturbed objective"
            yield f"{what if minimized else 'A choice among candidates'} has no interval."
        elif not self._has_ranges:
            yield "The numbers are exact."
        else:
            about = self.statistic.interval_of
            number = f"the noise-free number{f' of {about}' if about else ''}"
            yield f"The interval contains {number} in {self.percent} of cases."

    @property
    def errors(self) -> Iterator[str]:
        """Which differences may be noise, and the error that was asked for and reached.

        Of two numbers with noise of their own, the difference has at most 1.4143 times the error
        of one: exactly so of Gaussian noise, and less of Laplace noise.
        """
        stated = self.statistic
        error = None if stated.error95 is None else Fraction(stated.error95)
        if error is None or self._layout.chosen:
            return
        is_own = stated.noise_of_numbers == "own"
        is_own = is_own and not (stated.percent or stated.rate or stated.series)
        if is_own and self.count > 1 and stated.mechanism.kind in INDEPENDENT:
            least = grouped(supported_error(exact_or_up(error * ROOT_OF_TWO)))
            yield f"Differences below about {least} between two numbers may be noise."
        if stated.target_error is not None:
            wanted, reached = grouped(stated.target_error), grouped(short_or_up(error))
            yield f"Wanted was an error of at most {wanted}; {reached} is reached."

    @property
    def meanings(self) -> Iterator[str]:
        """What cut intervals, flags and added columns of the tables mean."""
        if self._any_cut:
            yield "Intervals end where the spec makes no further numbers possible."
        flags = flags_of(self.numbers)
        for flag, meaning in self._flags.meanings.items():
            if flag in flags:
                yield f"Flag {meaning}."
        shown = {column.name for numbers in self.numbers for column in numbers.shown}
        for column in self._optional:
            if column.name in shown and self._any(column.name):
                yield f"Column {column.meaning}."


class GroupView:
    """The statistics with the same keys, which share tables."""

    def __init__(self, views: Sequence[StatisticView]) -> None:
        self.views, has_keys = views, bool(views[0].table)
        columns = [column for view in views for column in view.columns]
        self.grids = list(grids(columns if has_keys else [single_numbers(columns)]))
        self.grids += [grid_of_periods(view.history, view.title) for view in views if view.history]
        self.is_one = len(views) == len(self.grids) == 1
        self.named = ", ".join(view.title for view in views)
        self.heading = "; ".join(view.heading for view in views)
        if len(views) > MAX_HEADINGS:
            self.named = self.heading = self.named if has_keys else "Single numbers"

    def caption(self, grid: Grid) -> str:
        """What a table shows; of one table, what was asked."""
        return self.views[0].asked if self.is_one else grid.title


def grouped_views(views: Iterable[StatisticView]) -> list[GroupView]:
    """The statistics by their keys, in the order of the first of each."""
    by_table: dict[str, list[StatisticView]] = {}
    for view in views:
        by_table.setdefault(view.table, []).append(view)
    return [GroupView(views) for views in by_table.values()]


def with_names(views: Iterable[StatisticView], part: str) -> list[str]:
    """The different sentences of a part, with names if they are not about all."""
    found = [(view.title, getattr(view, part)) for view in views]
    pairs = (
        (name, each) for name, own in found for each in ([own] if isinstance(own, str) else own)
    )
    everyone = ", ".join(dict.fromkeys(name for name, _ in found))
    return [
        sentence if names == everyone else f"{names}: {sentence[:1].lower()}{sentence[1:]}"
        for names, sentence in together(pairs)
        if sentence
    ]
