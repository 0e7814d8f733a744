"""Records of plain CSV text that do not have the cells of the header.

A record may have fewer cells: the others are blank. One with more cells that are not blank cannot
be cut into cells: which of them is surplus is unknown, and so is the person that it belongs to.
Here it becomes a `broken` record of blank cells, with one mark after them. Surplus cells without
text are removed, and so are lines of blanks of any kind, which are no records.

Privacy: each record is treated by itself. Without this rule, a record whose cells are shifted
would be a row of the person that another cell names.
"""

from __future__ import annotations

from typing import Literal

from dpcli.data.characters import UNSEEN_BLANKS
from dpcli.data.formats import Dialect
from dpcli.engine.files.quoted_bytes import packed, quoted_bytes, unpacked
from dpcli.numeric.arrays import Array, np
from dpcli.problems.light_dataclasses import dataclass

LINE_FEED, CARRIAGE_RETURN, BLANK, TAB = b"\n\r \t"

NOT_ASCII = 0x80
"""The first byte that is a part of a longer character."""

MARK = ord("x")
"""The surplus cell of a broken record."""

CHUNK = 1 << 17
"""Bytes of which the cells are counted together."""

ODD_SHARE = 50
"""Fewer empty lines, or odd ends, than one in so many bytes cost little."""

SPACING = 17
"""Bytes from one place in a sample to the next."""


Fit = Literal["fit", "broken", "odd"]
"""How the records of a text fit the header."""


class RecordFitter:
    """Fits the records of plain text to the number of cells in the header.

    Plain text is what `PlainText` describes; it begins with a record or a line end.
    """

    def __init__(self, dialect: Dialect, width: int) -> None:
        self._mark, self._width = ord(dialect.delimiter), width
        self._quote = ord(dialect.quote) if dialect.quote else None
        self._keeps_first = bool(dialect.footer)

    def fit(self, text: bytes, *, quoted: bool) -> Fit:
        """How the records of a text fit the header.

        In a file of one column, a blank line is a record.
        """
        text = text if text.endswith(b"\n") else text + b"\n"
        if not quoted and self._are_regular(text):
            return "fit"
        odd = self._odd_records(np.frombuffer(text, np.uint8), quoted=quoted)
        if odd is None:
            return "fit"
        return "broken" if odd.begin_with_text else "odd"

    def fitted(self, text: bytes, *, quoted: bool) -> tuple[bytes, bool]:
        """The text with each record fitted, and whether some of them are broken."""
        if text and not text.endswith(b"\n"):
            return self.fitted(text + b"\n", quoted=quoted)
        if not quoted and self._are_regular(text):
            return text, False
        if self._width > 1:
            text = self._with_few_empty_lines(text, quoted=quoted)
        letters = np.frombuffer(text, np.uint8)
        odd = self._odd_records(letters, quoted=quoted)
        if odd is None or odd.begin_with_text:
            return text, odd is not None
        is_broken, is_blank = odd.texts(self._mark, self._quote)
        kept, changed = np.ones(len(text), bool), letters.copy()
        # Lines of blanks go with their ends; other records of one cell stay.
        begun, stop = np.where(is_broken, odd.begins, odd.cuts), odd.ends + is_blank
        is_cut = odd.is_long | is_blank
        kept[_ranges(begun[is_cut], stop[is_cut])] = False
        places, begins = odd.cuts[is_broken] + 1, odd.begins[is_broken]
        # A broken record has its marks between cells, and one more cell.
        marks = odd.marks[is_broken[odd.is_long]]
        kept[marks] = True
        if self._keeps_first:
            kept[_ranges(begins, marks[:, 0])] = True
        kept[places], changed[places] = True, MARK
        return changed[kept].tobytes(), bool(is_broken.any())

    def _are_regular(self, text: bytes) -> bool:
        """Whether each record of a text without quoted cells has the cells of the header."""
        start = 0
        while start < len(text):
            # Flags of a few lines at a time stay in memory that is used already.
            end = text.rfind(b"\n", start, start + CHUNK) + 1 or len(text)
            letters = np.frombuffer(text, np.uint8, end - start, start)
            is_end = letters == LINE_FEED
            edges = np.flatnonzero(is_end | (letters == self._mark))
            is_last = is_end[edges[self._width - 1 :: self._width]]
            if len(edges) != self._width * np.count_nonzero(is_end) or not is_last.all():
                return False
            start = end
        return True

    def _with_few_empty_lines(self, text: bytes, *, quoted: bool) -> bytes:
        """The text without empty lines if a sample has many; quoted ones stay."""
        letters = np.frombuffer(text, np.uint8)
        first, second = letters[:-1:SPACING], letters[1::SPACING]
        sample = (first == LINE_FEED) & ((second == LINE_FEED) | (second == CARRIAGE_RETURN))
        if np.count_nonzero(sample) * ODD_SHARE <= len(sample):
            return text
        is_feed = letters == LINE_FEED
        is_empty = is_feed.copy()
        is_empty[1:] &= is_feed[:-1]
        if b"\r" in text:
            pairs = (letters[:-1] == CARRIAGE_RETURN) & is_feed[1:]
            pairs[1:] &= is_feed[:-2]
            is_empty[:-1] |= pairs
            is_empty[1:] |= pairs
        if quoted and self._quote is not None:
            within = quoted_bytes(packed(letters == self._quote))
            is_empty &= ~unpacked(within, len(letters))
        return bytes(letters[~is_empty])

    def _odd_records(self, letters: Array, *, quoted: bool) -> _OddRecords | None:
        """The records with too many cells, and those of one cell among several columns."""
        is_end, within = letters == LINE_FEED, None
        is_edge = is_end | (letters == self._mark)
        if quoted and self._quote is not None:
            within = unpacked(quoted_bytes(packed(letters == self._quote)), len(letters))
            is_edge &= ~within
            is_end &= ~within
        edges = np.flatnonzero(is_edge)
        lasts = np.flatnonzero(is_end[edges])
        cells: Array = np.diff(lasts, prepend=-1)
        is_odd = cells > self._width
        if self._width > 1:
            is_odd |= cells == 1
        numbers = np.flatnonzero(is_odd)
        if not len(numbers):
            return None
        lasts, firsts = lasts[numbers], lasts[numbers] - cells[numbers] + 1
        is_long = cells[numbers] > self._width
        begins = np.where(firsts, edges[firsts - 1] + 1, 0)
        marks = edges[firsts[is_long][:, None] + np.arange(self._width)]
        # Where the surplus begins; a line that may be blank is all surplus.
        cuts = begins.copy()
        cuts[is_long] = marks[:, -1]
        return _OddRecords(letters, within, begins, cuts, edges[lasts], is_long, marks)


@dataclass(frozen=True, slots=True)
class _OddRecords:
    """Records of a text that may not fit: where they begin, are cut and end.

    `is_long` states which have too many cells, and `marks` has the marks before the surplus of
    each of these. `within` states which bytes of the text are in quotes, if any.
    """

    letters: Array
    within: Array | None
    begins: Array
    cuts: Array
    ends: Array
    is_long: Array
    marks: Array

    @property
    def begin_with_text(self) -> bool:
        """Whether each has a surplus that begins with text, so that it is broken."""
        # After a quote may be nothing but another one.
        after = np.minimum(self.cuts + 1, self.ends)
        first = self.letters[after]
        has_text = (first > BLANK) & (first < NOT_ASCII) & (first != self.letters[self.cuts])
        if self.within is not None:
            has_text &= ~self.within[after]
        return bool((self.is_long & has_text).all())

    def texts(self, mark: int, quote: int | None) -> tuple[Array, Array]:
        """Which records are broken, and which are lines of blanks."""
        # With the line ends between them, no character is in two records.
        sizes = self.ends + 1 - self.cuts
        places = _ranges(self.cuts, self.ends + 1)
        found = _with_plain_blanks(self.letters[places])
        is_visible = ~np.isin(found, list(b"\n\r \t"))
        is_text = is_visible & (found != mark)
        if self.within is not None:
            # A doubled quote is one within a cell, where blanks alone are no text.
            inside, is_quote = self.within[places], found == quote
            is_doubled = is_quote & inside & (self.letters[places - 1] == quote)
            is_text |= inside & (found != BLANK) & (found != TAB)
            is_text = is_text & ~is_quote | is_doubled
        stops = np.cumsum(sizes)
        has_text, is_seen = (
            counts[stops] > counts[stops - sizes]
            for counts in (np.append(0, np.cumsum(flags)) for flags in (is_text, is_visible))
        )
        return self.is_long & has_text, ~self.is_long & ~is_seen


def _with_plain_blanks(letters: Array) -> Array:
    """Text with as many spaces in place of each blank beyond ASCII."""
    if not (letters >= NOT_ASCII).any():
        return letters
    text = letters.tobytes()
    for blank in filter(lambda blank: not blank.isascii(), UNSEEN_BLANKS):
        text = text.replace(blank.encode(), b" " * len(blank.encode()))
    return np.frombuffer(text, np.uint8)


def _ranges(begins: Array, ends: Array) -> Array:
    """All positions from each begin to before its end, one range after the other."""
    sizes = ends - begins
    stops = np.cumsum(sizes)
    positions: Array = np.repeat(begins - (stops - sizes), sizes)
    positions += np.arange(len(positions))
    return positions
