"""What characters mean next to a number, by their Unicode properties.

Blanks and signs have many forms. An affix is dropped, so it must hold nothing that changes the
number: no sign, no numeral, and no word that multiplies.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from itertools import pairwise

from dpcli.problems.messages import INVISIBLE_CATEGORIES
from dpcli.problems.reference import usual_cells

_SPACES = filter(str.isspace, map(chr, range(0x20, 0x3001)))
SPACES = "".join(space for space in _SPACES if space.splitlines() == [space])
"""White space that ends no line, except tabs: the category Zs."""

BLANKS = f"\t{SPACES}\N{ZERO WIDTH SPACE}\N{WORD JOINER}\N{ZERO WIDTH NO-BREAK SPACE}"
"""What may be around a cell, and between a number and an affix."""

DASHES = (
    "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u207b\u208b\ufe58\ufe63\uff0d\u058a\u05be\u1400"
    "\u1806\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\ufe31\ufe32\U00010ead"
)
"""All characters for a minus: dashes, except wave dashes and doubled hyphens of Japanese."""

MINUS = rf"[\{DASHES}]"
PLUS = r"[+\x{FF0B}\x{FE62}\x{207A}\x{208A}\x{FB29}]"
"""The signs of numbers in all their forms, as classes of characters."""

MINUS_SHAPES = "\u25b2\u25b3\u25bc\u25bd\u00f7\u30fc\uff70\u2500\u2501\u00ac"
"""What tables write for a minus, although Unicode names it otherwise."""

EXPONENT = re.compile("[eE](?:[+-]?[0-9].*)?", re.DOTALL)
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
    signs: list[str] = usual_cells()["factors"]["signs"]
    if text.casefold().strip(".") in signs:
        return text
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
    # `x` multiplies, and is no letter here.
    pairs = pairwise(f" {re.sub('^[xX]', ' ', text)}")
    touched = ((before.isalpha() or before == "^" or is_numeral(before), c) for before, c in pairs)
    return next((c for is_inside, c in touched if is_numeral(c) and not is_inside), "")


def stands_before(affix: str) -> bool:
    """Whether an affix may be before a number, which its end touches."""
    return not (is_sign_or_bracket(affix[-1]) or any(map(is_numeral, affix)))


def factor_word(affix: str) -> str:
    """The word of an affix that multiplies, such as `k` or `Mio`; else empty."""
    known: dict[str, list[str]] = usual_cells()["factors"]
    spaced = re.sub("|".join(known["currencies"]), " ", affix)
    spaced = "".join(" " if unicodedata.category(c) == "Sc" else c for c in spaced)
    words = re.findall(r"[^\W\d_]+", spaced)
    symbols = known["symbols"] + known["with_currency"] * (spaced != affix)
    stems = tuple(known["stems"])
    is_factor = (
        word
        for word in (*words[:1], *words[-1:])
        if word in symbols or word.casefold() in known["words"] or word.casefold().startswith(stems)
    )
    return next(is_factor, next(filter(affix.startswith, known["starts"]), ""))
