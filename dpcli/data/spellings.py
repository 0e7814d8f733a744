"""Spellings and abbreviations of declared texts, for `dpcli check --cells`."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable

from dpcli.data.column import Column, Proposal, SampledTexts
from dpcli.data.formats import shortest_number
from dpcli.problems.messages import quoted_list
from dpcli.problems.reference import usual_cells

Pairs = tuple[tuple[str, str], ...]
"""Texts, each with its label."""


def added_texts(column: Column, declared: Pairs, cells: SampledTexts) -> Proposal[Pairs]:
    """The undeclared texts that spell or abbreviate one label, each with this label.

    `declared` are the texts and labels of the column.
    """
    texts, every = sorted(cells.unread), (*cells.unread, *cells.read)
    # Zeros after decimals may count, and what the file writes in two ways may be two codes.
    has_decimals = any("." in text for text in column.texts)
    numbers = Counter(map(shortest_number, every))
    accents = {(label, _accents(text)) for text, label in declared}
    labels = _labels(declared, _spellings)
    starts = _labels(declared, lambda text: [_words(text)[:size] for size in (1, 2, 3)])
    # The column reads all spellings of a text in the same way, so one of them is enough.
    spelled = dict(zip(column.compared(texts), texts, strict=True))
    added, short = dict[str, str](), dict[str, str]()
    for text in (spelled[key] for key in sorted(spelled.keys() - {*column.compared_texts})):
        found = [labels[key] for key in _spellings(text) if key in labels]
        if found:
            added[text] = found[0]
        elif re.fullmatch(r"[^\W\d_]{1,3}", text) and text.lower() not in usual_cells()["marks"]:
            short[text] = starts.get(_words(text), "")
    unsure = [
        text
        for text, label in added.items()
        if re.fullmatch(r"[0-9]{1,3}\.0{3}", text)
        or (label, _accents(text)) not in accents
        or ((number := shortest_number(text)) is not None and numbers[number] > 1 - has_decimals)
    ]
    abbreviated = {text: label for text, label in short.items() if label}
    # Each label has one abbreviation, which is long enough, and there are no others.
    is_short = min(map(len, abbreviated), default=0) < 3
    sizes = {len(column.labels), len({*abbreviated.values()}), len({*map(_words, short)})}
    unsure += abbreviated if is_short or len(sizes) > 1 else []
    ordered = sorted((added | abbreviated).items(), key=_by_number)
    proposal = Proposal(tuple(ordered))
    return proposal.doubt_if(unsure, f"{quoted_list(unsure)} may mean something else")


LABEL_DASHES = "[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]"


def _accents(text: str) -> str:
    return "".join(filter(unicodedata.combining, unicodedata.normalize("NFD", text.casefold())))


def _words(text: str) -> str:
    """The text without case, accents, kinds of dashes, or blanks but between digits."""
    plain = re.sub(LABEL_DASHES, "-", unicodedata.normalize("NFD", text.casefold()))
    plain = re.sub("(?<=[a-z\u03b1-\u03c9])[\u0300-\u036f]+", "", plain)
    return re.sub(r"(?<![0-9])\s+|\s+(?![0-9])", "", plain)


def _by_number(pair: tuple[str, str]) -> tuple[float, str]:
    """The place of a text in a list: numbers in their order, after other texts."""
    number = shortest_number(pair[0])
    return (-math.inf if number is None else float(number or 0)), pair[0]


def _spellings(text: str) -> list[str]:
    """The shortest number, or the words, also without signs between letters."""
    number, words, one, between = shortest_number(text), _words(text), "[^\\W\\d_]", "[-_.'\u2019]+"
    if number is not None:
        return [number or "0"]
    ends = rf"(?<={one}{one}){between}(?={one})|(?<={one}){between}(?={one}{one})"
    return [words, re.sub(ends, "", words)]


def _labels(pairs: Pairs, keys: Callable[[str], Iterable[str]]) -> dict[str, str]:
    """The label of each key that texts of no other label have."""
    labels: dict[str, set[str]] = {}
    for text, label in pairs:
        for key in keys(text):
            labels.setdefault(key, set()).add(label)
    return {key: next(iter(those)) for key, those in labels.items() if len(those) == 1}
