"""Records of plain CSV text that do not have the cells of the header.

A record may have fewer cells: the others are blank. One with more cells that are not blank cannot
be cut into cells: which of them is surplus is unknown, and so is the person that it belongs to.
Here it becomes a `broken` record of blank cells, with one mark after them. Surplus cells without
text are removed, and so are lines of blanks, which are no records.

Privacy: each record is treated by itself. Without this rule, a record whose cells are shifted
would be a row of the person that another cell names.
"""

from __future__ import annotations

from dpcli.data.formats import Dialect
from dpcli.engine.files.quoted_bytes import packed, quoted_bytes, unpacked
from dpcli.numeric.arrays import Array, np

UNSEEN = LINE_FEED, CARRIAGE_RETURN, BLANK, TAB = tuple(b"\n\r \t")

MARK = ord("x")
"""The surplus cell of a broken record."""


class RecordFitter:
    """Fits the records of plain text to the number of cells in the header.

    Plain text is what `PlainText` describes; it begins with a record or a line end.
    """

    def __init__(self, dialect: Dialect, width: int) -> None:
        self._mark, self._width = ord(dialect.delimiter), width
        self._quote = ord(dialect.quote or "\0")
        self._keeps_first = bool(dialect.footer)

    def are_fit(self, text: bytes, *, quoted: bool) -> bool:
        """Whether no record has too many cells, and no line is blank.

        In a file of one column, a blank line is a record.
        """
        letters = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", np.uint8)
        edges, _ = self._edges(letters, quoted=quoted)
        return not self._are_odd(_ends(letters, edges)).any()

    def fitted(self, text: bytes, *, quoted: bool) -> tuple[bytes, bool]:
        """The text with each record fitted, and whether some of them are broken."""
        if text and not text.endswith(b"\n"):
            return self.fitted(text + b"\n", quoted=quoted)
        letters = np.frombuffer(text, np.uint8)
        edges, within = self._edges(letters, quoted=quoted)
        lasts = _ends(letters, edges)
        is_odd = self._are_odd(lasts)
        if not is_odd.any():
            return text, False
        firsts = np.append(0, lasts[:-1] + 1)[is_odd]
        lasts = lasts[is_odd]
        begins, ends = np.where(firsts, edges[firsts - 1] + 1, 0), edges[lasts]
        is_long = lasts - firsts >= self._width
        # Where the surplus begins; a line that may be blank is all surplus.
        cuts = np.where(is_long, edges[np.minimum(firsts + self._width - 1, lasts)], begins)
        # Between the two positions of each record; at its end is no text.
        parts = np.stack((cuts, ends), 1).ravel()
        are_texts, are_seen = self._are_texts(letters, within), ~np.isin(letters, UNSEEN)
        is_broken = is_long & np.logical_or.reduceat(are_texts, parts)[::2]
        is_blank = ~is_long & ~np.logical_or.reduceat(are_seen, parts)[::2]
        # Lines of blanks go with their ends; other records of one cell stay.
        begun = np.where(is_broken, begins, cuts)[is_long | is_blank]
        kept = ~_within(begun, (ends + is_blank)[is_long | is_blank], len(text))
        places, first_cells = cuts[is_broken] + 1, firsts[is_broken]
        if self._keeps_first:
            kept |= _within(begins[is_broken], edges[first_cells], len(text))
        kept[edges[first_cells[:, None] + np.arange(self._width)]] = True
        changed = letters.copy()
        kept[places], changed[places] = True, MARK
        return changed[kept].tobytes(), bool(is_broken.any())

    def _edges(self, letters: Array, *, quoted: bool) -> tuple[Array, Array | None]:
        """The positions of the ends of cells, and which bytes are in quotes, if any."""
        is_edge = letters == self._mark
        is_edge |= letters == LINE_FEED
        within = None
        if quoted:
            within = unpacked(quoted_bytes(packed(letters == self._quote)), len(letters))
            is_edge &= ~within
        return np.flatnonzero(is_edge), within

    def _are_odd(self, ends: Array) -> Array:
        """Which records may have too many cells or be blank, from the ends of all."""
        cells: Array = np.diff(ends, prepend=-1)
        is_long: Array = cells > self._width
        return is_long | (cells == 1) if self._width > 1 else is_long

    def _are_texts(self, letters: Array, within: Array | None) -> Array:
        """Which bytes belong to the text of a cell, and are no blanks."""
        is_text = (letters != self._mark) & (letters != LINE_FEED) & (letters != CARRIAGE_RETURN)
        if within is not None:
            is_quote = letters == self._quote
            # A doubled quote is one within a cell.
            is_doubled = is_quote & within & np.append(False, is_quote[:-1])
            is_text = (is_text | within) & ~is_quote | is_doubled
        is_seen: Array = is_text & (letters != BLANK) & (letters != TAB)
        return is_seen


def _ends(letters: Array, edges: Array) -> Array:
    """The indices of those edges of cells that end a record."""
    return np.flatnonzero(letters[edges] == LINE_FEED)


def _within(begins: Array, ends: Array, size: int) -> Array:
    """Which of `size` places are from a begin to before its end."""
    changes = np.zeros(size + 1, np.int8)
    changes[begins] += 1
    changes[ends] -= 1
    return np.cumsum(changes[:-1], dtype=np.int8) > 0
