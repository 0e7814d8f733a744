"""What characters mean next to a number, by their Unicode properties.

Blanks and signs have many forms. An affix is dropped, so it must hold nothing that changes the
number: no sign, no numeral, and no word that multiplies.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import cache
from itertools import pairwise

from dpcli.problems.messages import INVISIBLE_CATEGORIES
from dpcli.problems.reference import usual_cells

_SPACES = filter(str.isspace, map(chr, range(0x20, 0x3001)))
SPACES = "".join(space for space in _SPACES if space.splitlines() == [space])
"""White space that ends no line, except tabs: the category Zs."""

BLANKS = f"\t{SPACES}\N{ZERO WIDTH SPACE}\N{WORD JOINER}\N{ZERO WIDTH NO-BREAK SPACE}"
"""What may be around a cell, and between a number and an affix."""

WIDTHLESS = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a\u202b\u202c\u2060\u2061\u2062\u2063\u2064\u2065\u2066\u2067\u2068"
    "\u2069\ufeff"
)
"""Format characters without a width, as they are left over in copied texts.

Joiners and overrides are not among them: they change how other characters look.
"""

UNSEEN_BLANKS = BLANKS + WIDTHLESS
"""What a surplus cell of a record may have."""

DASHES = (
    "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u207b\u208b\ufe58\ufe63\uff0d\u058a\u05be\u1400"
    "\u1806\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\ufe31\ufe32\U00010ead"
)
"""All characters for a minus: each dash but wave dashes and double hyphens."""

MINUS = rf"[\{DASHES}]"
PLUS = r"[+\x{FF0B}\x{FE62}\x{207A}\x{208A}\x{FB29}]"
"""The signs of numbers in all their forms, as classes of characters."""

MINUS_SHAPES = "\u25b2\u25b3\u25bc\u25bd\u00f7\u30fc\uff70\u2500\u2501\u00ac"
"""What tables write for a minus, although Unicode names it otherwise."""

EXPONENT = re.compile("[eE](?:[+-]?[0-9].*)?", re.DOTALL)
TIMES = r"(?<![^\W\d_])[xX\u0445\u0425eE](?=[ +-]?[0-9])|[^\W\d_](?=[0-9]*000)"
LARGE = re.compile("(?:m|b|tr|quadr|quint|sext|sept)il+[ijyh]+[aou](?!mp|hm|nit)")
"""Words for large numbers in many languages, but not units such as `milliampere`."""

OPERATORS = "\N{MULTIPLICATION SIGN}\N{DOT OPERATOR}\N{SQUARE ROOT}*^"
JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"


def ascii_sign(text: str) -> str:
    """The text of a number with an ASCII sign."""
    first = "-" if text[:1] in DASHES else unicodedata.normalize("NFKC", text[:1])
    return first + text[1:] if text and first in "+-" else text


def plain_minus(text: str) -> str:
    """The text with `-` in place of a minus of any form, before a number or alone."""
    is_minus = ascii_sign(text[:1]) == "-" and re.match("[.,]?[0-9]|$", text[1:])
    return f"-{text[1:]}" if is_minus else text


def is_numeral(character: str) -> bool:
    """Whether a character has a numeric value, in any script."""
    return unicodedata.numeric(character, None) is not None


def is_sign_or_bracket(character: str) -> bool:
    """Whether a character is a dash, a plus or a minus of any form, or a bracket."""
    words = re.split("[ -]", unicodedata.name(character, ""))
    is_sign = character in MINUS_SHAPES or not {"MINUS", "PLUS", "HYPHEN"}.isdisjoint(words)
    return is_sign or unicodedata.category(character) in ("Pd", "Ps", "Pe")


def misread(text: str, marks: Collection[str], *, multiplies: bool = False) -> str:
    """The character of an affix that may belong to a number, or is invisible.

    An affix begins with no blank, sign, bracket, numeral, operator or one of the `marks` of
    numbers, and its numerals touch a letter before them: `m²` and `CO2`, but not `/2`, `in 1000` or
    `x10`. One that `multiplies` may have others, and may begin with a letter that is a numeral,
    such as `万`.
    """
    first, plain = text[0], unicodedata.normalize("NFKC", text[0])
    invisible = (c for c in text if unicodedata.category(c) in INVISIBLE_CATEGORIES)
    if found := next((c for c in invisible if c not in JOINERS), ""):
        return found
    if found := _sign_word(text) or _open_bracket(text):
        return found
    is_sign = is_sign_or_bracket(text[-1]) and unicodedata.category(text[-1]) not in ("Ps", "Pe")
    if is_sign and any(c.isalpha() or unicodedata.category(c) == "Sc" for c in text):
        # Accounts write a minus after the currency.
        return text[-1]
    is_operator = first in OPERATORS or text == "/"
    if is_operator or is_sign_or_bracket(first) or {first, plain} & {" ", *marks}:
        return first
    if EXPONENT.fullmatch(text):
        return first
    if multiplies:
        return first * (is_numeral(first) and not first.isalpha())
    # `x` and `e` before digits multiply, and are no letters there; so do thousands.
    pairs = pairwise(f" {re.sub(TIMES, ' ', text)}")
    if found := next((c for c in text if c.isalpha() and unicodedata.numeric(c, 0) >= 10), ""):
        return found
    touched = ((before.isalpha() or before == "^" or is_numeral(before), c) for before, c in pairs)
    return next((c for is_inside, c in touched if is_numeral(c) and not is_inside), "")


def stands_before(affix: str) -> bool:
    """Whether an affix may be before a number, which its end touches."""
    return not (is_sign_or_bracket(affix[-1]) or any(map(is_numeral, affix)))


def _plain(text: str) -> str:
    """The text in small letters, without accents."""
    letters = unicodedata.normalize("NFD", text.casefold())
    return "".join(c for c in letters if not unicodedata.combining(c))


@cache
def _known_words(*kinds: str) -> tuple[str, ...]:
    words: dict[str, list[str]] = usual_cells()["factors"]
    return tuple(_plain(word) for kind in kinds for word in words[kind])


def _without_currency(affix: str) -> str:
    """The affix without currencies before, between and after words."""
    currency = f"(?:{'|'.join(usual_cells()['factors']['currencies'])})"
    text = re.sub(rf"(?<![^\W\d_]){currency}|{currency}(?![^\W\d_])", " ", affix)
    return "".join(" " if unicodedata.category(c) == "Sc" else c for c in text)


def _words(text: str) -> list[str]:
    # The signs of vowels of some scripts are no letters, and `m²` is not `m`.
    parts = (
        c if c.isalnum() > c.isdecimal() or unicodedata.category(c)[0] == "M" else " " for c in text
    )
    return "".join(parts).split()


def _sign_word(affix: str) -> str:
    """The word of an affix that is a sign, such as `minus` or `CR`; else empty."""
    words = _words(_without_currency(affix))
    letters = usual_cells()["factors"]["sign_letters"]
    if found := next((part for part in affix.split() if part in letters), ""):
        return found
    if len(words) == 1 and _plain(words[0]) in _known_words("signs"):
        return words[0]
    return next((word for word in words if _plain(word).startswith(_known_words("minus"))), "")


def _open_bracket(text: str) -> str:
    """The last bracket of a text, if it has no pair; else empty."""
    ends = [c for c in text if unicodedata.category(c) in ("Ps", "Pe")]
    opens = [unicodedata.category(c) == "Ps" for c in ends]
    return ends[-1] if 2 * sum(opens) != len(opens) else ""


def factor_word(affix: str) -> str:
    """The word of an affix that multiplies, such as `k` or `Mio`; else empty."""
    known: dict[str, list[str]] = usual_cells()["factors"]
    rest = _without_currency(affix)
    words, symbols = _words(rest), known["symbols"] + known["with_currency"] * (rest != affix)
    ends, stems = (*words[:1], *words[-1:]), _known_words("stems", "starts")
    for word in words:
        plain = _plain(word)
        is_word = plain in _known_words("words") and (word in ends or len(plain) > 3)
        is_symbol = word in symbols and word in ends
        if is_word or is_symbol or plain.startswith(stems) or LARGE.match(plain):
            return word
    return ""
