"""How a CSV file is written: what the spec says of it, not what it looks like.

A dialect is public: it is declared before a file is opened, and nothing in a file can
change it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

DELIMITERS = (",", ";", "\t", "|", ":", " ", "^", "~", "#", "!", "&", "*", "/", "@", "%", "$", "=")
"""What may stand between cells: no letter or digit, and nothing that numbers are made of."""

TAB_ENDINGS = (".tsv", ".tab")
"""How the names of files end that have tabs between cells, where nothing else is declared."""

QUOTES = ('"', "'", "`", "|", "^", "~", "#", "!", "&", "*", "@", "%", "$")
"""What may stand around a cell."""

DECIMALS = (".", ",")
"""What may stand before the decimals of a number."""

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
"""Encodings by the names of the WHATWG and IANA, each with the codec that decodes it.

Shift_JIS, EUC-KR and Big5 are read in the wider form that files of that name are in.
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
"""What else encodings are called, in letters and digits alone; `cp1252` is `windows-1252`.

So is `latin1`, as in browsers: files that are called so have the letters of both, and often the
quotes, dashes and euro signs that ISO 8859-1 has not.
"""


def find_encoding(name: str) -> str | None:
    """The encoding of a name; case and what is no letter or digit do not matter."""
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
    """What stands between cells, around them, and before decimals.

    Without a `quote` none has a meaning. `names` are the columns of a file that has no
    header line; it is empty where the first line names them. `by_ending` is for a spec
    that declares no delimiter: the name of each file then decides between comma and tab. Unless
    `multiline`, every line is one record, and no line end is part of a cell.
    """

    delimiter: str = ","
    quote: str | None = '"'
    encoding: str = UTF8
    names: tuple[str, ...] = ()
    decimal: str = "."
    by_ending: bool = False
    multiline: bool = True

    def of_file(self, name: str) -> Dialect:
        """The dialect of one file, by its name; the name of a file is public."""
        tabs = name.lower().removesuffix(".gz").endswith(TAB_ENDINGS)
        delimiter = "\t" if self.by_ending and tabs else self.delimiter
        return replace(self, delimiter=delimiter, by_ending=False)


STANDARD_DIALECT = Dialect()
"""CSV as RFC 4180 has it, in UTF-8, with a header line."""

UNDECLARED_DIALECT = Dialect(by_ending=True)
"""The dialect of a spec without a section `csv`."""
