"""How files, and numbers in cells, are written: the spec declares it.

A cell that does not have exactly the declared form is missing: nothing is guessed. Privacy: a
dialect and a form are public. They are declared before a file is opened, its content cannot change
them, and each cell is read by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from dpcli.data.characters import BLANKS, MINUS, PLUS, SPACES, stands_before
from dpcli.problems.light_dataclasses import dataclass

INDIAN = "indian"

DECIMALS = (".", ",")
"""Characters that may be the decimal mark of a number."""

THOUSANDS = {
    ",": ",",
    ".": ".",
    "'": "'\N{RIGHT SINGLE QUOTATION MARK}",
    "_": "_",
    "space": SPACES,
    INDIAN: ",",
    "none": "",
}
"""The marks between groups of digits, each with all characters that look like it."""

GAP = f"[{BLANKS}]*"
"""Blanks that may be between a number, its sign and an affix."""

EXPONENT = "(?:[eE][+-]?[0-9]+)"

PLAIN_NUMBER = r"([+-]?)0*([0-9]*)(?:\.([0-9]*?)0*)?"

PLAIN_NUMBERS = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$"
"""Plain numbers, as a regular expression of polars."""

LONGEST_AFFIX, LONGEST_FORMAT = 40, 100
"""Letters of an affix and a format; all affixes' pattern must not be too large."""


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How a column writes numbers; its regular expressions are those of polars.

    - Groups: `1,234,567.8`. A first group of one to three digits without a leading zero, then
      groups of exactly three. `1,23` and `0,123` are missing. A number without marks is read too.
      Indian groups are of two digits, the last of three: `12,34,567`.
    - Affixes: one before the number, one after it, or both, with or without blanks between. The
      sign is before the number or before the affix. `12 %` is 12.
    - Factors: one after the number, before an affix, with its power of ten. `5.2 Mio. EUR` is
      5200000.
    - Brackets: `(1,234.50)` is negative, with affixes inside or outside.
    - Minus after the number: `5-` is negative.

    `values` are texts that stand for a number, such as `85+` for 85, with that number as a text.
    """

    decimal: str = "."
    thousands: str = ""
    affixes: tuple[str, ...] = ()
    brackets: bool = False
    values: tuple[tuple[str, str], ...] = ()
    factors: tuple[tuple[str, int], ...] = ()
    minus_after: bool = False

    @property
    def patterns(self) -> tuple[str, str, str]:
        """Patterns of numbers without a minus, with one, and of their parts.

        The groups of the last are the number, without its sign, and its factor. It also fits texts
        that are no numbers.
        """
        before, after, digits = *_affix_patterns(self.affixes, self.group_marks), self._digits()
        factors, gap = "|".join(map(re.escape, dict(self.factors))), GAP if self.affixes else ""
        factor = f"(?:{GAP}(?:{factors}))?" if factors else ""
        number = f"{digits}(?:{EXPONENT}|{factor})"
        positive, negative = (
            [f"{sign}{gap}{before}?{number}{after}", f"{before}{sign}{number}{after}"]
            for sign in (f"{PLUS}?", MINUS)
        )
        if self.brackets:
            negative += [rf"\({before}?{number}{after}\)", rf"{before}?\({number}\){after}"]
        if self.minus_after:
            negative.append(f"{before}?{self._digits('+')}{MINUS}{factor}{after}")
        other = f"[{MINUS}{PLUS}(){BLANKS}]*"
        parts = f"({digits}{EXPONENT}?){other}({factors})?{other}{after}{other}"
        return (
            f"^(?:{'|'.join(positive)})$",
            f"^(?:{'|'.join(negative)})$",
            f"^{other}{before}?{other}{parts}$",
        )

    @property
    def usual(self) -> tuple[str, str]:
        """The pattern of most numbers, and the characters that are around their digits.

        They have no factor, and no sign but a minus next to the digits. Their affixes have no
        character that numbers have.
        """
        in_numbers = {*"0123456789-", *DECIMALS, *self.group_marks}
        affixes = tuple(affix for affix in self.affixes if in_numbers.isdisjoint(affix))
        before, after = _affix_patterns(affixes)
        pattern = f"^{before}?-?{self._digits()}{EXPONENT}?{after}$"
        return pattern, "".join(affixes) + BLANKS * bool(affixes)

    def _digits(self, decimals: str = "*") -> str:
        """The pattern of a number without sign and exponent."""
        mark, point, digits = f"[{self.group_marks}]", re.escape(self.decimal), "[0-9]+"
        if self.group_marks:
            size = 2 if self.thousands == INDIAN else 3
            inner = f"(?:{mark}[0-9]{{{size}}})*{mark}[0-9]{{3}}"
            digits = f"(?:[1-9][0-9]{{0,{size - 1}}}{inner}|[0-9]+)"
        return f"(?:{digits}(?:{point}[0-9]{decimals})?|{point}[0-9]+)"

    @property
    def group_marks(self) -> str:
        """All characters that may be between groups of digits."""
        return THOUSANDS.get(self.thousands, "")

    def written(self, number: str) -> str:
        """A plain number in this form, for synthetic data."""
        sign, digits = ("-", number[1:]) if number.startswith("-") else ("", number)
        whole, _, decimals = digits.partition(".")
        if self.group_marks:
            size = 2 if self.thousands == INDIAN else 3
            later = rf"(?<=[0-9])(?=(?:[0-9]{{{size}}})*[0-9]{{3}}$)"
            whole = re.sub(later, self.group_marks[0], whole)
        text = whole + (self.decimal + decimals if decimals else "")
        if self.affixes:
            text += self.affixes[0]
        return f"({text})" if sign and self.brackets else sign + text


def _affix_patterns(affixes: Sequence[str], marks: str = "") -> tuple[str, str]:
    """Patterns of an affix before a number, and of what may be after it.

    A mark of numbers at the end of an affix does not touch the number.
    """
    gaps = {GAP: list[str](), f"[{BLANKS}]+": list[str]()}
    for affix in filter(stands_before, affixes):
        gaps[f"[{BLANKS}]+" if affix[-1] in (*DECIMALS, *marks) else GAP].append(re.escape(affix))
    before = "|".join(f"(?:{'|'.join(texts)}){gap}" for gap, texts in gaps.items() if texts)
    after = "|".join(map(re.escape, affixes))
    return f"(?:{before})", f"(?:{GAP}(?:{after}))?" if after else ""


def shortest_number(text: str) -> str | None:
    """The shortest text of a plain number, empty for zero; None for another text.

    A number may have a sign, zeros before it and zeros after its decimals, but no exponent. Numbers
    are equal if their shortest texts are.
    """
    match = re.fullmatch(PLAIN_NUMBER, text)
    if match is None or not re.search("[0-9]", text):
        return None
    sign, whole, decimals = match[1], match[2], match[3] or ""
    digits = f"{whole}.{decimals}" if decimals else whole
    return f"-{digits}" if digits and sign == "-" else digits


def number_pattern(shortest: str) -> str:
    """The regular expression of all plain numbers with this shortest text."""
    if not shortest:
        return rf"^(?:{MINUS}|{PLUS})?(?:0+(?:\.0*)?|\.0+)$"
    start = MINUS if shortest.startswith("-") else f"{PLUS}?"
    whole, _, decimals = shortest.removeprefix("-").partition(".")
    end = rf"\.{decimals}0*" if decimals else r"(?:\.0*)?"
    return f"^{start}0*{whole}{end}$"


DELIMITERS = (",", ";", "\t", "|", ":", " ", "^", "~", "#", "!", "&", "*", "/", "@", "%", "$", "=")
"""Characters that may separate cells: no letters, digits or parts of numbers."""

TAB_ENDINGS = (".tsv", ".tab")
"""Name endings of files with tabs between cells, if no delimiter is declared."""

QUOTES = ('"', "'", "`", "|", "^", "~", "#", "!", "&", "*", "@", "%", "$")
"""Characters that may quote a cell."""

UTF8 = "utf-8"
UTF16, UTF32 = "utf-16", "utf-32"

ENCODINGS: dict[str, str] = {
    UTF8: "utf_8",
    UTF16: "utf_16_le",
    "utf-16le": "utf_16_le",
    "utf-16be": "utf_16_be",
    UTF32: "utf_32_le",
    "utf-32le": "utf_32_le",
    "utf-32be": "utf_32_be",
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
"""Encodings by WHATWG and IANA names, each with the Python codec that decodes it.

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
    `multiline`, every line is one record, and no cell contains a line end. With `row_names`, the
    records begin with a cell that the header does not name. An `escape` makes the mark after it
    a part of the cell, and lines that begin with the `comment` are left out.

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
    multiline: bool = False
    skip_lines: int = 0
    header_lines: int = 1
    footer: tuple[str, ...] = ()
    sheet: str | None = None
    keys: tuple[str, ...] = ()
    escape: str | None = None
    comment: str | None = None
    row_names: bool = False

    @property
    def begins_with_header(self) -> bool:
        """Whether the names of the columns are in the first line that is not blank."""
        return not self.names and not self.skip_lines and self.header_lines == 1

    @property
    def is_usual(self) -> bool:
        """Whether text is read as it is: UTF-8 from its header on, without further marks."""
        is_plain = self.encoding == UTF8 and not self.escape and not self.comment
        return is_plain and self.begins_with_header

    def of_file(self, name: str) -> Dialect:
        """The dialect of one file, by the ending of its name, which is public."""
        tabs = name.lower().removesuffix(".gz").endswith(TAB_ENDINGS)
        delimiter = "\t" if self.by_ending and tabs else self.delimiter
        return replace(self, delimiter=delimiter, by_ending=False)


STANDARD_DIALECT = Dialect(multiline=True)
"""The CSV of RFC 4180, in UTF-8, with a header line."""

UNDECLARED_DIALECT = Dialect(by_ending=True)
"""The dialect of a spec without a section `csv`."""


def has_unnamed_index(header: Sequence[str]) -> bool:
    """Whether the first of several columns has no name: row numbers of pandas and R."""
    return len(header) > 1 and not header[0]
