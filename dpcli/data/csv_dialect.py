"""How a CSV file is written, as the spec declares it.

Privacy: a dialect is public. It is declared before a file is opened, and the content of a file
cannot change it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpcli.problems.light_dataclasses import dataclass

DELIMITERS = (",", ";", "\t", "|", ":", " ", "^", "~", "#", "!", "&", "*", "/", "@", "%", "$", "=")
"""Characters that may separate cells: no letters or digits, and no characters of numbers."""

TAB_ENDINGS = (".tsv", ".tab")
"""Endings of names of files that have tabs between cells if no delimiter is declared."""

QUOTES = ('"', "'", "`", "|", "^", "~", "#", "!", "&", "*", "@", "%", "$")
"""Characters that may quote a cell."""

DECIMALS = (".", ",")
"""Characters that may be the decimal mark of a number."""

UTF8 = "utf-8"
UTF16 = "utf-16"

ENCODINGS: dict[str, str] = {
    UTF8: "utf_8",
    UTF16: "utf_16_le",
    "utf-16le": "utf_16_le",
    "utf-16be": "utf_16_be",
    **{f"iso-8859-{part}": f"iso8859_{part}" for part in (1, 2, 5, 7, 9, 15)},
    **{f"windows-{page}": f"cp{page}" for page in (*range(1250, 1259), 874)},
    "macintosh": "mac_roman",
    **{f"ibm{page}": f"cp{page}" for page in (437, 850)},
    **{f"koi8-{letter}": f"koi8_{letter}" for letter in "ru"},
    "shift_jis": "cp932",
    "euc-jp": "euc_jp",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    **{name: name for name in ("gbk", "gb18030")},
}
"""Encodings by their WHATWG and IANA names, each with the Python codec that decodes it.

Shift_JIS, EUC-KR and Big5 are decoded with their extensions, which files of that name often use.
"""

OTHER_NAMES = {
    "ascii": UTF8,
    "usascii": UTF8,
    "utf8sig": UTF8,
    "unicode": UTF16,
    "latin1": "windows-1252",
    "latin2": "iso-8859-2",
    "latin9": "iso-8859-15",
    "macroman": "macintosh",
    "sjis": "shift_jis",
    "windows31j": "shift_jis",
}
"""Other names of encodings, reduced to letters and digits.

`latin1` means `windows-1252`, as in browsers. Both have the same letters, but files that are said
to be Latin-1 often contain quotes, dashes and euro signs, which ISO 8859-1 does not have.
"""


def find_encoding(name: str) -> str | None:
    """The encoding with a name; only its letters and digits matter, without case."""
    plain = _plain(name)
    for encoding in ENCODINGS:
        if plain == _plain(encoding):
            return encoding
    if plain in OTHER_NAMES:
        return OTHER_NAMES[plain]
    for short, long in (("cp", "windows-"), ("cp", "ibm"), ("iso", "iso-")):
        number = plain.removeprefix(short)
        if plain.startswith(short) and f"{long}{number}" in ENCODINGS:
            return f"{long}{number}"
    return None


def _plain(name: str) -> str:
    """The letters and digits of a name, in lower case."""
    return "".join(letter for letter in name.lower() if letter.isascii() and letter.isalnum())


@dataclass(frozen=True, slots=True)
class Dialect:
    """How CSV files are written: special characters, encoding, names and lines.

    If `quote` is None, no character quotes cells. `names` are the columns of a file without a
    header line; they are empty if the first line has the names. With `by_ending`, which is for a
    spec without a delimiter, the name of each file decides between comma and tab. Without
    `multiline`, every line is one record, and no cell contains a line end.

    `skip_lines` lines before the header are no part of the table, and the header is the next
    `header_lines` records. A record whose first cell, without blanks around it, begins with a text
    of `footer` is no row. In a spreadsheet the table is in the sheet of this name, or in the first.
    The `keys` are those to read in JSON Lines if there are no `names`: no object decides that.

    Privacy: the lines before the header end at a line that no record changes, as the header is.
    Whether a record is a footer depends on that record alone. To leave out the last N lines
    instead would let one person decide about the rows of others: with one more record at the end,
    another line is among the last N.
    """

    delimiter: str = ","
    quote: str | None = '"'
    encoding: str = UTF8
    names: tuple[str, ...] = ()
    decimal: str = "."
    by_ending: bool = False
    multiline: bool = True
    skip_lines: int = 0
    header_lines: int = 1
    footer: tuple[str, ...] = ()
    sheet: str | None = None
    keys: tuple[str, ...] = ()

    @property
    def begins_with_header(self) -> bool:
        """Whether the names of the columns are in the first line that is not blank."""
        return not self.names and not self.skip_lines and self.header_lines == 1

    def of_file(self, name: str) -> Dialect:
        """The dialect of one file, by the ending of its name, which is public."""
        tabs = name.lower().removesuffix(".gz").endswith(TAB_ENDINGS)
        delimiter = "\t" if self.by_ending and tabs else self.delimiter
        return replace(self, delimiter=delimiter, by_ending=False)


STANDARD_DIALECT = Dialect()
"""The CSV of RFC 4180, in UTF-8, with a header line."""

UNDECLARED_DIALECT = Dialect(by_ending=True)
"""The dialect of a spec without a section `csv`."""


def has_unnamed_index(header: Sequence[str]) -> bool:
    """Whether the first of several columns has no name: pandas and R write row numbers so."""
    return len(header) > 1 and not header[0]
