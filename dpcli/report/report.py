"""A report as data: what it states, its published numbers, and both as JSON.

All other outputs are made from it alone, so a stored report is enough to make them again.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, cast

from dpcli.data.polars_text import pl
from dpcli.fields.json import (
    CELLS_PLACE,
    REPORT_VERSION,
    json_text,
    parsed_json,
    require_stated,
    with_value,
)
from dpcli.numeric.exact import exact_or_up
from dpcli.problems.errors import LedgerError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.content import (
    FIRST,
    LAST,
    MARKS,
    OWN_KEY,
    SLICE,
    canonical,
    numbers_json,
    usual_form,
)
from dpcli.report.numbers import DATE_UNIT, JSON_COLUMNS, NumberTable, published_numbers

if TYPE_CHECKING:
    from dpcli.ledger.charge import NoisyRelease, RandomizedCollection
    from dpcli.report.collection import CollectionReport
    from dpcli.report.release import ReleaseReport
    from dpcli.report.statistic import PublishedStatisticReport

_FORMS = {column: f',"{column.name}":(?<{column.name}>[^,}}]*)' for column in JSON_COLUMNS}
_OF_NUMBER = "".join(f"({form})?" if column.is_sparse else form for column, form in _FORMS.items())
FORM = r"(?<named>\{.*)" + _OF_NUMBER + r"\},?$"
"""The form of a line with a number; no JSON string can end like that."""

_PLACE = json.dumps(CELLS_PLACE)

END = "\n}\n"
"""How the JSON of a report ends."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is stated about a release or collection, and the numbers it publishes.

    `content` is the JSON of all that is `stated`, with the published `numbers` of each statistic.
    """

    content: bytes
    stated: ReleaseReport | CollectionReport
    numbers: tuple[tuple[NumberTable, ...], ...] = ()

    @property
    def release(self) -> ReleaseReport:
        """What the report of a release states; not for the report of a collection."""
        return cast("ReleaseReport", self.stated)

    @property
    def percent(self) -> str:
        """The confidence of intervals, in percent."""
        return f"{exact_or_up(Fraction(self.stated.confidence) * 100)}%"

    @classmethod
    def compose(
        cls,
        stated: ReleaseReport | CollectionReport,
        numbers: Sequence[tuple[NumberTable, ...]] = (),
    ) -> Self:
        """The report of these facts; `numbers` are published, in the order of statistics."""
        text = json_text(with_value(stated, OWN_KEY, None))
        (first, *others), content = text.split(_PLACE), io.BytesIO()
        start, *following = canonical(parsed_json(text)).split(canonical(CELLS_PLACE))
        digest = hashlib.sha256(start.encode())
        content.write(first.encode())
        for named, after, hashed_after in zip(numbers, others, following, strict=True):
            for usual, hashed in chain(numbers_json(named), [(after, hashed_after)]):
                content.write(usual.encode())
                digest.update(hashed.encode())
        if getattr(stated, "report_version", None) == REPORT_VERSION:
            stated = with_value(stated, OWN_KEY, digest.hexdigest())
            content.seek(-len(END), io.SEEK_CUR)
            content.write(f',\n  "{OWN_KEY}": "{digest.hexdigest()}"{END}'.encode())
        return cls(content.getvalue(), stated, _with_facts(stated, numbers))

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """A report, read from its JSON.

        Raises KeyError if an earlier version wrote it and a needed fact is absent, LedgerError if
        it has a column that this version does not know, and other errors if it is no report.
        """
        text, blocks = _split_numbers(usual_form(content))
        parsed = parsed_json(text)
        indices = [_replace_block(statistic) for statistic in parsed.get("statistics", ())]
        stated = load_report(parsed)
        if parsed.get("model") == "local":
            return cls(content, stated)
        release = cast("ReleaseReport", stated)
        asked = [column.name for column in release.table_columns]
        names = [column.name for column in JSON_COLUMNS if column.name in asked]
        try:
            numbers = [
                tuple(_numbers(statistic, blocks[index], names))
                for statistic, index in zip(release.statistics, indices, strict=True)
            ]
        except pl.exceptions.PolarsError:
            raise ValueError("numbers that are not those of a report") from None
        return cls(content, stated, _with_facts(stated, numbers))


def load_report(parsed: Any) -> ReleaseReport | CollectionReport:
    """What a report states, from the JSON object that `parsed_json` returned."""
    from dpcli.report.release import ReleaseReport

    if not isinstance(parsed.get("statistics", []), list):
        raise TypeError("statistics are a list")
    # Early reports state bounds and limits apart.
    if apart := [*parsed.get("chosen_bounds", ()), *parsed.get("chosen_limits", ())]:
        parsed = {"choices": apart, **parsed}
    if parsed.get("model") == "local":
        from dpcli.report.collection import CollectionReport

        return CollectionReport.load(parsed)
    return ReleaseReport.load(parsed)


def _with_facts(
    stated: ReleaseReport | CollectionReport, numbers: Sequence[tuple[NumberTable, ...]]
) -> tuple[tuple[NumberTable, ...], ...]:
    """The numbers with what is stated about all numbers of a statistic."""
    if not numbers:
        return ()
    release = cast("ReleaseReport", stated)
    return tuple(map(release.with_facts, release.statistics, numbers))


def release_report(release: NoisyRelease) -> Report:
    """The report of a release, with its numbers."""
    from dpcli.report.release import ReleaseReport

    spec = release.numbers.plan.spec
    return Report.compose(
        ReleaseReport.of(release),
        [published_numbers(published, spec) for published in release.numbers.statistics],
    )


def collection_report(collection: RandomizedCollection) -> Report:
    """The report of a local collection."""
    from dpcli.report.collection import CollectionReport

    return Report.compose(CollectionReport.of(collection))


UNREADABLE = (
    TypeError, ValueError, ArithmeticError, AttributeError, IndexError, RecursionError
)  # fmt: skip
"""The errors of `Report.parse` for a text that no version wrote."""


def require_report(release_id: str, outputs: Mapping[str, bytes]) -> None:
    """Raise LedgerError unless the JSON of a stored report is one.

    Its numbers are not read.
    """
    try:
        load_report(parsed_json(without_numbers(outputs["report.json"])))
    except KeyError:
        _require_earlier(release_id, outputs)
    except UNREADABLE:
        raise LedgerError.about("ledger-unusable.report", release_id=release_id) from None


def stored_report(release_id: str, outputs: Mapping[str, bytes]) -> Report:
    """The stored report of a release, with its numbers.

    Raises KeyError if there is none, or if an earlier version stored too few facts, and LedgerError
    if no version wrote it.
    """
    try:
        report = Report.parse(outputs["report.json"])
        if getattr(report.stated, "report_version", None) == REPORT_VERSION:
            require_stated(report.stated)
    except KeyError:
        _require_earlier(release_id, outputs)
        raise
    except UNREADABLE:
        raise LedgerError.about("ledger-unusable.report", release_id=release_id) from None
    return report


def _require_earlier(release_id: str, outputs: Mapping[str, bytes]) -> None:
    """Raise LedgerError if this version wrote a report that lacks a fact."""
    with suppress(KeyError):
        stated = parsed_json(without_numbers(outputs["report.json"]))
        if stated["report_version"] == str(REPORT_VERSION):
            raise LedgerError.about("ledger-unusable.report", release_id=release_id)


def without_numbers(content: bytes) -> bytes:
    """A report's JSON without its published numbers, which may be millions."""
    return _split_numbers(usual_form(content))[0]


def _split_numbers(content: bytes) -> tuple[bytes, list[bytes]]:
    """The JSON of a report with indices for numbers, and the blocks of numbers."""
    parts, blocks, position = [b""], [b""], 0
    while 0 <= (start := content.find(FIRST, position)) < (end := content.find(LAST, start)):
        parts += [content[position:start], b'"cells": %d' % len(blocks)]
        blocks.append(content[start + len(FIRST) - 2 : end])
        position = end + len(LAST)
    return b"".join([*parts, content[position:]]), blocks


def _replace_block(statistic: dict[str, Any]) -> int:
    """The index of a statistic's block of numbers; `CELLS` takes its place.

    Raises KeyError if the statistic has no index of a block of numbers.
    """
    from dpcli.report.statistic import CELLS

    index, statistic["cells"] = statistic["cells"] or "0", CELLS
    if not isinstance(index, str):
        raise KeyError("cells")
    return int(index)


def _numbers(
    statistic: PublishedStatisticReport, block: bytes, columns: Sequence[str]
) -> Iterator[NumberTable]:
    """The numbers of a statistic from their block, in the order of `MARKS`."""
    keys, layout = tuple(statistic.key_names), statistic.layout
    lines = pl.read_lines(block, name="line")
    parts = [_read(part, keys, columns) for part in lines.iter_slices(SLICE)]
    frame = pl.concat([_read(lines.clear(), keys, columns), *parts])
    for ending, key in {"": "", **MARKS}.items():
        if not key or getattr(statistic, key):
            selected = frame.filter(pl.col("ending") == ending).drop("ending")
            name, dates = statistic.name + ending, layout.unit == DATE_UNIT
            yield NumberTable(name, keys, selected, layout.chosen and not ending, dates)


def _read(lines: pl.DataFrame, keys: Sequence[str], names: Sequence[str]) -> pl.DataFrame:
    """The published numbers in lines of a JSON report; digits stay strings.

    Raises ValueError for keys or items that are not text.
    """
    fields = [f"key{at}" for at in range(len(keys))]
    labels = pl.Struct(dict.fromkeys(keys, pl.String))
    marks = dict.fromkeys(MARKS.values(), pl.Boolean)
    named = pl.Struct({**marks, "keys": labels, "item": pl.String})
    parts = lines.select(pl.col("line").str.extract_groups(FORM)).unnest("line")
    if parts["named"].null_count():
        raise ValueError("a line without a number")
    found = pl.col(names)
    texts = pl.when(found != "null").then(found.str.strip_chars('"')).otherwise(pl.lit(""))
    try:
        read = parts.select((pl.col("named") + "}").str.json_decode(named), texts)
    except pl.exceptions.ComputeError:
        raise ValueError("keys or items that are not text") from None
    group = pl.col("named").struct.field("keys").struct.rename_fields(fields).struct.unnest()
    return read.select(
        *([group] if fields else []),
        pl.col("named").struct.field("item").fill_null(""),
        *names,
        pl.coalesce(
            *(
                pl.when(pl.col("named").struct.field(key)).then(pl.lit(ending))
                for ending, key in MARKS.items()
            ),
            pl.lit(""),
        ).alias("ending"),
    )
