"""Which declarations would read cells that cannot be read as declared.

Confidential, as `cells_check` is: a remedy depends on the cells. It is for the terminal of the
operator only. A text of the file is named in it only if it is a usual mark or sign, or if at least
`FREQUENT` rows have it. Whether a remedy reads a cell is decided by the decoder itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Literal, TypeVar

import polars as pl

from dpcli.data.cell_formats import NOT_IN_AFFIXES, THOUSANDS, NumberFormat
from dpcli.data.column import Column, ValuedColumn
from dpcli.data.csv_dialect import DECIMALS
from dpcli.data.dates import DateColumn
from dpcli.data.key_texts import yaml_text
from dpcli.data.labels import BooleanColumn, CategoryColumn, LabeledColumn
from dpcli.data.numbers import NumberColumn
from dpcli.data.text_cells import lower_texts
from dpcli.engine.date_guesses import guessed_format, swapped_format
from dpcli.engine.decode import Decoder
from dpcli.light_dataclasses import dataclass
from dpcli.reference import usual_cells

FREQUENT = 10
"""Rows that must have a text before it is named, so that it is not about one person."""

MOST_NAMED = 8
"""Texts of one kind that a remedy names."""

PARTS = re.compile(r"([^0-9]*?)([0-9][0-9.,'\u2019_ \u00a0\u202f]*[0-9]|[0-9]|[.,][0-9]+)([^0-9]*)")
"""A number with what is before and after it."""

L = TypeVar("L", bound=LabeledColumn)

SIGNS = " \t\u00a0\u202f()+-"

Amount = Literal["all", "most", "some", "few", "none"]

FEW_SHARE, MOST_SHARE = Fraction(1, 10), Fraction(9, 10)
"""The shares up to which an amount is "few", and from which on it is "most"."""


def amount(part: Fraction, whole: Fraction) -> Amount:
    """How much a part is of a whole, in one word."""
    if part in (0, whole):
        return "all" if part else "none"
    share = part / whole
    return "few" if share <= FEW_SHARE else "most" if share >= MOST_SHARE else "some"


@dataclass(frozen=True, slots=True)
class Sample:
    """Texts of some cells of a column, without blanks around them, with the rows of each.

    `unread` are cells that cannot be read, out of `unread_rows` rows; `read` and `read_rows` are
    the same for readable cells. `decimal` is the decimal mark of columns without their own.
    """

    unread: Mapping[str, int]
    unread_rows: int
    read: Mapping[str, int]
    read_rows: int
    decimal: str

    def shown(self, texts: Iterable[str], usual: Sequence[str] = ()) -> tuple[str, ...]:
        """The texts that may be named, the most frequent first."""
        rows = Counter(texts)
        frequent = [
            text for text, count in rows.most_common() if count >= FREQUENT or text in usual
        ]
        return tuple(frequent[:MOST_NAMED])

    def share_read(self, column: Column, cells: Mapping[str, int]) -> Fraction:
        """The share of the rows of `cells` that a column reads, or takes for missing by a mark."""
        if not cells:
            return Fraction(1)
        texts = pl.DataFrame({"t0": list(cells)}, {"t0": pl.String})
        swapped = texts.select(column.with_point(pl.col("t0"), self.decimal))
        value = Decoder((column,)).decode(swapped).to_series()
        is_known = value.is_not_null()
        if column.na:
            is_known |= swapped.select(column.is_marked(pl.col("t0"))).to_series()
        rows = pl.Series(list(cells.values()))
        return Fraction(int(rows.filter(is_known).sum()), int(rows.sum()))

    def rows_read(self, column: Column) -> Fraction:
        """About how many of all cells that are not blank a column reads."""
        unread, read = (self.share_read(column, cells) for cells in (self.unread, self.read))
        return unread * self.unread_rows + read * self.read_rows


@dataclass(frozen=True, slots=True)
class Remedy:
    """Keys of the spec that read some of the cells of a column that cannot be read now.

    `instead` is another key that reads as many, with another meaning.
    """

    keys: tuple[str, ...]
    reads: Amount
    instead: str = ""


def find_remedy(column: Column, sample: Sample) -> Remedy | None:
    """The declaration that reads most of the cells; None if no known one reads any more."""
    if not sample.unread or not isinstance(column, ValuedColumn):
        return None
    # A text without a digit is neither a number nor a date.
    marks = Counter(
        {
            text: rows
            for text, rows in sample.unread.items()
            if text.lower() in usual_cells()["marks"]
            or (rows >= FREQUENT and not column.labels and not any(map(str.isnumeric, text)))
        }
    )
    marked = replace(column, na=(*column.na, *_most_frequent(marks)))
    unread = {text: rows for text, rows in sample.unread.items() if text not in marks}
    changed, instead = _changed(marked, sample, replace(sample, unread=unread))
    if sample.rows_read(changed) <= sample.rows_read(column):
        return None
    keys = tuple(changed.changed_keys(column, sample.decimal))
    share = sample.share_read(changed, sample.unread)
    return Remedy(keys, amount(share, Fraction(1)), instead) if keys else None


def _changed(marked: ValuedColumn, sample: Sample, others: Sample) -> tuple[ValuedColumn, str]:
    """The `marked` column with a declaration that reads `others`, and another such key."""
    match marked:
        case BooleanColumn():
            return _boolean(marked, others), ""
        case CategoryColumn():
            return _category(marked, others), ""
        case DateColumn():
            texts = Counter(sample.read) + Counter(others.unread)
            guessed = guessed_format(texts, marked.format) if others.unread else marked.format
            changed = replace(marked, format=guessed or marked.format)
            return changed, _day_and_month(marked, changed, sample)
        case NumberColumn():
            return _number(marked, others)
    raise TypeError("a kind of column without remedies")


def _day_and_month(column: DateColumn, changed: DateColumn, sample: Sample) -> str:
    """The formats in which day and month change places, if they read as many cells."""
    other = replace(
        changed, format=changed.format and swapped_format(changed.format, column.format)
    )
    if other == changed or sample.rows_read(other) < sample.rows_read(changed):
        return ""
    keys = other.changed_keys(column, sample.decimal)
    return next((key for key in keys if key.startswith("format:")), "")


def _rows(cells: Mapping[str, int]) -> Iterator[str]:
    return Counter(cells).elements()


def _most_frequent(texts: Counter[str]) -> list[str]:
    return [text for text, _ in texts.most_common(MOST_NAMED)]


def _number(column: NumberColumn, sample: Sample) -> tuple[NumberColumn, str]:
    """The column with the affixes, marks of digits and open-ended values that its cells have."""
    declared = column.format
    form = declared or NumberFormat(decimal=sample.decimal)
    affixes, open_ended, marks = list[str](), list[str](), set[str]()
    numbers: dict[str, str] = {}
    for text in _rows(sample.unread):
        parts = PARTS.fullmatch(text)
        if parts is None:
            continue
        before, digits, after = parts.groups()
        marks |= set(digits)
        if _word(after) in usual_cells()["after"] or _word(before) in usual_cells()["before"]:
            if re.fullmatch(r"[0-9]+(\.[0-9]+)?", digits):
                open_ended.append(text)
                numbers[open_ended[-1]] = digits
            continue
        affixes += filter(_is_affix, (part.strip(SIGNS) for part in (before, after)))
    values = {text: numbers[text] for text in sample.shown(open_ended)}
    named = sample.shown(affixes, usual_cells()["affixes"])
    form = replace(
        form,
        affixes=tuple(dict.fromkeys((*form.affixes, *named))),
        values=tuple((dict(form.values) | values).items()),
        brackets=form.brackets or any("(" in text for text in sample.unread),
    )
    groups = [mark for mark, alike in THOUSANDS.items() if marks & set(alike)]
    # Of two that read as many cells, the first is chosen: three digits are rarely decimals.
    pairs = [(form.decimal, form.thousands), *product(DECIMALS, (*groups, ""))]
    forms = [
        replace(form, decimal=decimal, thousands=group)
        for decimal, group in pairs
        if decimal != group
    ]
    forms += [replace(one, brackets=False) for one in forms if one.brackets and not declared]
    columns = [replace(column, format=one) for one in forms]
    if declared is None:
        columns.insert(0, replace(column, format=None))
    read = {one: sample.rows_read(one) for one in columns}
    best = max(read, key=lambda one: read[one])
    chosen = best.format
    if chosen is None or chosen.thousands not in DECIMALS:
        return best, ""
    mark = chosen.thousands
    other = replace(best, format=replace(chosen, decimal=mark, thousands=""))
    return best, f"decimal: {yaml_text(mark)}" * (sample.rows_read(other) >= read[best])


def _word(part: str) -> str:
    return part.strip(" \t\u00a0\u202f").lower()


def _is_affix(part: str) -> bool:
    wrong = NOT_IN_AFFIXES | set("<>=~\u2264\u2265/:;\"'\ufffd")
    return bool(part) and not wrong & set(part) and part.lower() != "e"


def _boolean(column: BooleanColumn, sample: Sample) -> BooleanColumn:
    """The column with other case, or with a usual pair of words."""
    texts = set(sample.unread)
    columns = [_with_words(column, pair, texts) for pair in usual_cells()["booleans"]]
    return max((column, _ignoring_case(column), *columns), key=sample.rows_read)


def _category(column: CategoryColumn, sample: Sample) -> CategoryColumn:
    """The column with other case, words or abbreviations of its declared texts."""
    texts = set(sample.unread)
    ignoring = _ignoring_case(column)
    if sample.rows_read(ignoring) > sample.rows_read(column):
        column = ignoring
        declared = set(lower_texts([text for text, _ in column.values]))
        # The column reads all spellings of a text alike, so one of them is enough.
        spellings = dict(zip(lower_texts(sorted(texts)), sorted(texts), strict=True))
        texts = {text for lower, text in spellings.items() if lower not in declared}
    labels = [_unique(column.values, reduce) for reduce in (_letters, _number_code)]
    labels.append(_abbreviations(column.values))
    added = {
        text: label
        for text in sorted(texts)
        for label in [next(filter(None, (known.get(_key(text, known)) for known in labels)), None)]
        if label is not None and text not in column.label_of
    }
    return replace(column, values=(*column.values, *list(added.items())[:MOST_NAMED]))


def _ignoring_case(column: L) -> L:
    """The column without regard to case, unless declared texts differ by case alone."""
    lower = {text.lower() for text, _ in column.values}
    return replace(column, ignores_case=True) if len(lower) == len(column.values) else column


def _with_words(column: BooleanColumn, pair: Sequence[str], texts: Iterable[str]) -> BooleanColumn:
    """The boolean with a usual pair of words, in the case of the file if there is one case."""
    used = {text for text in texts if text.lower() in pair}
    cases: tuple[Callable[[str], str], ...] = (str.lower, str.capitalize, str.upper)
    case = next((case for case in cases if used <= {case(word) for word in pair}), None)
    words = [word if case is None else case(word) for word in pair]
    values = tuple(zip(words, column.labels, strict=False))
    return replace(column, values=values, ignores_case=column.ignores_case or case is None)


def _key(text: str, known: Mapping[str, str]) -> str:
    return next((key for key in (_letters(text), _number_code(text)) if key in known), "")


def _letters(text: str) -> str:
    """The letters and digits of a text, without case and accents."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


def _number_code(text: str) -> str:
    """A code without zeros before it and without decimals, such as 1 for 01 and 1.0."""
    match = re.fullmatch(r"0*([0-9]+)(\.0*)?", text)
    return match[1] if match else ""


def _unique(pairs: Iterable[tuple[str, str]], reduce: Callable[[str], str]) -> dict[str, str]:
    """The labels by what `reduce` leaves of the declared texts, if only one text has it."""
    reduced = [(reduce(text), label) for text, label in pairs]
    rows = Counter(key for key, _ in reduced)
    return {key: label for key, label in reduced if key and rows[key] == 1}


def _abbreviations(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The labels by the first letters of the declared texts, if only one text begins so."""
    labels: dict[str, set[str]] = {}
    for text, label in pairs:
        for size in (1, 2, 3):
            labels.setdefault(_letters(text)[:size], set()).add(label)
    return {start: next(iter(all_)) for start, all_ in labels.items() if start and len(all_) == 1}


def missing_codes(cells: Mapping[str, int]) -> tuple[str, ...]:
    """Usual codes of missing answers among numbers; at least `FREQUENT` rows have each."""
    codes = Counter(cells)
    return tuple(
        text
        for text, rows in codes.most_common()
        if rows >= FREQUENT and text in usual_cells()["codes"]
    )
