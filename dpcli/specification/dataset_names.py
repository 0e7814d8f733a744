"""Names of datasets.

A dataset is an account with a budget of its own. Two names that look the same would be two budgets,
so each name must have one spelling only: it consists of letters of any script, in Unicode
normalization form C, without invisible or compatibility characters.
"""

from __future__ import annotations

import re
import unicodedata

from dpcli.problems.messages import quote

MAX_LENGTH = 100

ASCII = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
DATASET_PATTERN = r"[^\x00-/:-@\[-`{-\x7f][^\x00-,/:-@\[-^`{-\x7f]{0,99}"
"""The part of the rule for a JSON Schema: which ASCII characters are allowed."""

INVISIBLE = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
"""Invisible letters and marks that identifiers may have (UAX 31, 2.3)."""

SCRIPTS_USED_TOGETHER = (
    {"LATIN", "CJK", "HIRAGANA", "KATAKANA"},
    {"LATIN", "CJK", "HANGUL"},
    {"LATIN", "CJK", "BOPOMOFO"},
)
"""Scripts that some language uses together (UTS 39, highly restrictive)."""

SCRIPT_ALIASES = {"IDEOGRAPHIC": "CJK", "KATAKANA-HIRAGANA": "KATAKANA", "HALFWIDTH": "KATAKANA"}
"""Scripts of characters whose Unicode names do not begin with the script's name."""


def dataset_name_fault(text: str) -> dict[str, str] | None:
    """`expected` and `advice` for a wrong dataset name; None for a valid one."""
    if re.fullmatch(ASCII, text):
        return None
    for better, expected in (
        (unicodedata.normalize("NFC", text), "the composed characters of Unicode form NFC"),
        (unicodedata.normalize("NFKC", text), "plain letters, not characters that stand for them"),
    ):
        if better != text:
            return {"expected": expected, "advice": _rewrite_advice(text, better)}
    letters = re.sub(r"[._-]", "", text)
    if (
        not 0 < len(text) <= MAX_LENGTH
        or not text[0].isalnum()
        or not f"a{letters}".isidentifier()
        or re.search(INVISIBLE, text)
        or not all(letter.isascii() for letter in letters if letter.isdigit())
    ):
        advice = f"begin with a letter or digit, and use at most {MAX_LENGTH} characters"
        better = re.sub(r"[^\w.-]+", "-", text[:MAX_LENGTH]).strip("-._")
        if better not in ("", text) and dataset_name_fault(better) is None:
            advice = f"write {quote(better)}"
        return {"expected": "letters, the digits 0 to 9, `.`, `_` and `-`", "advice": advice}
    return None


def _rewrite_advice(text: str, better: str) -> str:
    """Advice to write the normalized name, with the first character that differs."""
    if dataset_name_fault(better) is not None:
        return "write a name of letters, the digits 0 to 9, `.`, `_` and `-`"
    differing = (i for i, letter in enumerate(better) if text[i : i + 1] != letter)
    index = next(differing, 0)
    letter = better[index]
    name = unicodedata.name(letter, "a letter")
    return f"write {quote(better)}, with U+{ord(letter):04X} ({name}) at position {index + 1}"


def mixed_scripts_warning(text: str) -> str | None:
    """A warning if no language uses the scripts of a name together; None otherwise."""
    letter_of_script: dict[str, str] = {}
    for letter in text:
        if letter.isalpha():
            name = unicodedata.name(letter, "OTHER").split(" ")[0]
            letter_of_script.setdefault(SCRIPT_ALIASES.get(name, name), letter)
    scripts = letter_of_script.keys()
    if len(scripts) < 2 or any(scripts <= together for together in SCRIPTS_USED_TOGETHER):
        return None
    letters = [
        f"{letter} (U+{ord(letter):04X}, {unicodedata.name(letter, 'OTHER').split(' ')[0].title()})"
        for letter in letter_of_script.values()
    ]
    return (
        f"the dataset name {text} mixes the scripts of {', '.join(letters)}: "
        "a name that looks the same is another account with another budget"
    )
