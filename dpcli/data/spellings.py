"""Which labels undeclared texts mean: other spellings, and abbreviations."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from dpcli.data.column import Column

Pairs = tuple[tuple[str, str], ...]
"""Texts, each with its label."""


def added_texts(column: Column, values: Pairs, texts: Iterable[str]) -> Pairs:
    """Those of the texts that spell or abbreviate one label, with the label."""
    compared = dict(zip(column.compared([text for text, _ in values]), values, strict=True))
    # The column reads all spellings of a text alike, so one of them is enough.
    spellings = dict(zip(column.compared(sorted(texts)), sorted(texts), strict=True))
    known = [_unique(values, reduce) for reduce in (_letters, _number_code)]
    known.append(_abbreviations(values))
    labels = {
        text: next(filter(None, (one.get(_key(text, one)) for one in known)), None)
        for spelled, text in spellings.items()
        if spelled not in compared
    }
    return tuple((text, label) for text, label in sorted(labels.items()) if label is not None)


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
