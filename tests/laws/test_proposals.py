"""What `check --cells` proposes reads cells as what they mean, or says to look at the file."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

from dpcli.data import date_options, number_options, spellings
from dpcli.data.column import Column, Proposal, SampledTexts, ValuedColumn
from dpcli.data.grid_columns import require_numeric
from dpcli.engine.cells import Decoder
from dpcli.engine.check_cells import Remedy, find_remedy
from dpcli.problems.errors import SpecError
from dpcli.problems.reference import usual_cells
from dpcli.specification.load import parse_spec
from tests.support.rules import also_slow, for_each
from tests.support.written_columns import (
    UNKNOWN,
    Meaning,
    WrittenColumn,
    columns_in,
    written_columns,
)

LOOK = "look at the file"

SPEC = """\
dpcli: 1
dataset: d
privacy: {{unit: row, neighbors: add-remove, budget: {{epsilon: 1}}}}
columns: {{x: {{{keys}}}}}
statistics: [{{name: n, statistic: count, epsilon: 1}}]
"""


def declared_column(keys: dict[str, str]) -> Column:
    """The column that a spec declares with these keys."""
    text = SPEC.format(keys=", ".join(f"{key}: {value}" for key, value in keys.items()))
    return parse_spec(text, "spec.yaml").columns[0]


def require_valued(column: Column) -> ValuedColumn:
    """The column, whose values are declared."""
    assert isinstance(column, ValuedColumn)
    return column


def readings(column: Column, texts: list[str]) -> dict[str, str | None]:
    """What the decoder makes of each text; UNKNOWN if it cannot be read, None if missing."""
    frame = pl.DataFrame({"t0": texts}, {"t0": pl.String})
    is_mark = column.is_mark(pl.col("t0"), column.marks) if column.marks else pl.lit(value=False)
    marks = frame.with_columns(is_mark.alias("mark"))["mark"]
    values = Decoder((column,)).decode(frame).to_series()
    return {
        text: None if mark else UNKNOWN if value is None else require_valued(column).text(value)
        for text, value, mark in zip(texts, values, marks, strict=True)
    }


def expected(column: Column, meaning: Meaning) -> str | None:
    """What a text with this meaning must be read as, in the steps and bounds of the column."""
    if isinstance(meaning, datetime.date):
        meaning = Fraction((meaning - datetime.date(1970, 1, 1)).days)
    if not isinstance(meaning, Fraction):
        return meaning
    numeric = require_numeric(column)
    return numeric.text(min(max(round(meaning / numeric.step), numeric.lower), numeric.upper))


def remedy_of(written: WrittenColumn) -> tuple[Remedy | None, Column]:
    """What is proposed for a column, as it is declared first."""
    column = declared_column(dict(written.declared))
    before = readings(column, list(written.rows))
    unread = {text: rows for text, rows in written.rows.items() if before[text] == UNKNOWN}
    read = {text: rows for text, rows in written.rows.items() if text not in unread}
    sample = SampledTexts(unread, sum(unread.values()), read, sum(read.values()), ".")
    return find_remedy(column, sample), column


def pasted(written: WrittenColumn, keys: Sequence[str]) -> Column:
    """The column with the proposed keys, as a user copies them into the spec."""
    declared = dict(written.declared)
    values = declared.get("values", "").strip("[]").split(", ")
    # Of many texts, only the new ones are shown.
    known = ", ".join(f"{text}: {text}" for text in values)
    for key in keys:
        name, _, value = key.partition(": ")
        declared[name] = value.replace("{...", f"{{{known}", 1)
    return declared_column(declared)


def faults(written: WrittenColumn) -> list[str]:
    """The texts that a certain proposal reads as another value than they mean."""
    remedy, column = remedy_of(written)
    if remedy is None or any(LOOK in doubt for doubt in remedy.doubts):
        return []
    texts = list(written.rows)
    try:
        changed = pasted(written, remedy.keys)
    except SpecError as refused:
        return [f"{written.styles}: {remedy.keys} is refused: {refused}"]
    before, after = readings(column, texts), readings(changed, texts)
    return [
        f"{written.styles}: {remedy.keys} reads {text!r} as {after[text]}, not {right}"
        for text in texts
        if after[text] not in (before[text], UNKNOWN)
        and after[text] != (right := expected(changed, written.meanings[text]))
    ]


@pytest.mark.extended
@pytest.mark.parametrize("size", also_slow(500, 2000))
def test_a_certain_proposal_reads_every_cell_as_what_it_means(size: int) -> None:
    """Any other proposal says to look at the file."""
    found = [fault for column in written_columns("all", size) for fault in faults(column)]
    assert found == []


def test_many_proposals_are_certain() -> None:
    """A third of the columns that can be read in another way need no look at the file."""
    remedies = [remedy_of(column)[0] for column in written_columns("certain", 60)]
    proposed = [remedy for remedy in remedies if remedy is not None and remedy.keys]
    assert 3 * sum(not remedy.doubts for remedy in proposed) >= len(proposed) > 0


Plant = Callable[[pytest.MonkeyPatch], None]


def replaced(owner: Any, name: str, value: Any) -> Plant:
    """A fault that replaces an attribute."""
    return lambda patch: patch.setattr(owner, name, value)


def usual(name: str, texts: Any) -> Plant:
    """A fault that takes these texts alone for usual ones."""
    return lambda patch: patch.setitem(usual_cells(), name, texts)


def silent(words: str = "") -> Plant:
    """A fault that does not state the doubts with these words."""
    honest = Proposal.doubt_if

    def doubt_if(self: Proposal[Any], condition: object, doubt: str) -> Proposal[Any]:
        return honest(self, condition and not re.search(words, doubt), doubt)

    return replaced(Proposal, "doubt_if", doubt_if)


def letters_and_digits(text: str) -> list[str]:
    """A text without punctuation."""
    return ["".join(filter(str.isalnum, text.lower()))]


def any_marks(text: str) -> tuple[tuple[str, ...], str]:
    """The texts after the numbers of a text, whatever they are."""
    return tuple(re.split("[0-9]+", text)[1:]), ""


def first_forms(texts: Mapping[str, int], guess: Any = date_options.guessed_forms) -> Any:
    """The guessed formats, without those that read the same texts."""
    return [forms[:1] for forms in guess(texts)]


PLANTS: dict[str, tuple[list[Plant], str, list[str]]] = {
    "labels without punctuation": (
        [replaced(spellings, "_spellings", letters_and_digits)],
        "labels",
        ["decimals", "upper case"],
    ),
    "abbreviations of other words": ([silent("else")], "labels", ["first two letters"]),
    "thousands as codes": ([silent("else")], "labels", ["three decimals", "lower case"]),
    "letters in a format": (
        [replaced(date_options, "_marks_and_time", any_marks), silent()], "days", ["2024-T2"]
    ),
    "times as days": (
        [replaced(date_options, "_marks_and_time", any_marks), silent()], "days", ["time of day"]
    ),
    "one order of day and month": (
        [replaced(date_options, "guessed_forms", first_forms)], "days", ["%m/%d/%Y"]
    ),
    "mixed orders": ([silent("orders are")], "days", ["%m/%d/%Y", "%d/%m/%Y"]),
    "quarters as months": ([silent("quarter")], "days", ["2/2024 as quarter"]),
    "currencies as one unit": (
        [replaced(number_options, "_unit", lambda affix: affix and "$")],
        "numbers", ["dollars", "euros"],
    ),
    "another unit than that of bare numbers": (
        [usual("currencies", [["lb"]]), silent("outside")], "numbers", ["plain", "lb"]
    ),
    "a word for a minus": ([usual("currencies", [["DR"]])], "numbers", ["debit and credit"]),
    "decimals as thousands": ([silent("thousands|other values")], "numbers", ["euros"]),
    "open-ended answers": ([silent("that number")], "numbers", ["dollars"]),
    "dashes for zero": ([silent("an answer")], "numbers", ["euros"]),
    "codes of booleans": (
        [usual("booleans", [["1", "2"]]), silent("would change|else")], "booleans", ["codes"]
    ),
}  # fmt: skip


@pytest.mark.extended
@for_each(PLANTS)
def test_the_law_finds_planted_proposals(name: str) -> None:
    """A column has a fault with a plant, and none without it."""
    plants, kind, styles = PLANTS[name]
    with pytest.MonkeyPatch.context() as patch:
        for plant in plants:
            plant(patch)
        columns = columns_in(kind, styles, 60)
        found = next((column for column in columns if faults(column)), None)
    assert found is not None
    assert not faults(found)
