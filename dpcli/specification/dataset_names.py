"""Names of datasets: which texts are names, and which look like other names.

A dataset is an account with a budget of its own. Two names that a reader takes for
one are two budgets, so a name has one spelling: letters of any script in Unicode
normalization form C, and no characters that are invisible or stand for others.
"""

from __future__ import annotations

import re
import unicodedata

from dpcli.messages import quote

LONGEST = 100

ASCII = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
DATASET_PATTERN = r"[^\x00-/:-@\[-`{-\x7f][^\x00-,/:-@\[-^`{-\x7f]{0,99}"
"""What a schema can say of a name: no other ASCII characters than those allowed."""

INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that identifiers may have, and that show nothing (UAX 31, 2.3)."""

TOGETHER = (
    {"LATIN", "CJK", "HIRAGANA", "KATAKANA"},
    {"LATIN", "CJK", "HANGUL"},
    {"LATIN", "CJK", "BOPOMOFO"},
)
"""Scripts that languages are written in together (UTS 39, highly restrictive)."""

WRITTEN = {"IDEOGRAPHIC": "CJK", "KATAKANA-HIRAGANA": "KATAKANA", "HALFWIDTH": "KATAKANA"}
"""What the names of some characters begin with, and their script."""


def dataset_name_fault(text: str) -> dict[str, str] | None:
    """What is expected of the name of a dataset, and advice; None if a text can be one."""
    if re.fullmatch(ASCII, text):
        return None
    for better, words in (
        (unicodedata.normalize("NFC", text), "the composed characters of Unicode form NFC"),
        (unicodedata.normalize("NFKC", text), "plain letters, not characters that stand for them"),
    ):
        if better != text:
            return {"expected": words, "advice": _rewritten(text, better)}
    letters = re.sub(r"[._-]", "", text)
    if (
        not 0 < len(text) <= LONGEST
        or not text[0].isalnum()
        or not f"a{letters}".isidentifier()
        or INVISIBLE.search(text)
        or not all(letter.isascii() for letter in letters if letter.isdigit())
    ):
        advice = f"begin with a letter or digit, and use at most {LONGEST} characters"
        return {"expected": "letters, the digits 0 to 9, `.`, `_` and `-`", "advice": advice}
    return None


def _rewritten(text: str, better: str) -> str:
    """A hint with another form of a text, and a character in which it differs."""
    if dataset_name_fault(better) is not None:
        return "write a name of letters, the digits 0 to 9, `.`, `_` and `-`"
    places = (at for at, letter in enumerate(better) if text[at : at + 1] != letter)
    place = next(places, 0)
    letter = better[place]
    name = unicodedata.name(letter, "a letter")
    return f"write {quote(better)}, with U+{ord(letter):04X} ({name}) at position {place + 1}"


def mixed_scripts(text: str) -> str | None:
    """A warning about a name in scripts that are not written together; None without one."""
    firsts: dict[str, str] = {}
    for letter in text:
        if letter.isalpha():
            name = unicodedata.name(letter, "OTHER").split(" ")[0]
            firsts.setdefault(WRITTEN.get(name, name), letter)
    if len(firsts) < 2 or any(firsts.keys() <= allowed for allowed in TOGETHER):
        return None
    letters = [
        f"{letter} (U+{ord(letter):04X}, {unicodedata.name(letter, 'OTHER').split(' ')[0].title()})"
        for letter in firsts.values()
    ]
    return (
        f"the dataset name {text} mixes the scripts of {', '.join(letters)}: "
        "a name that looks the same is another account with another budget"
    )
