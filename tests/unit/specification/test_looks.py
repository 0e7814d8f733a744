"""Declared texts that look the same as others, or hold what no one sees."""

from __future__ import annotations

import pytest

from dpcli.data.declared_texts import look, unseen_character
from dpcli.problems.errors import SpecError
from dpcli.specification.load import parse_spec
from tests.support.specs import with_column

ALIKE = [
    ("Paris", "P\u0430ris"),
    ("COPEK", "\u0421\u041e\u0420\u0415\u041a"),
    ("Old", "\N{GREEK CAPITAL LETTER OMICRON}ld"),
    ("caf\u00e9", "cafe\u0301"),
    ("\u0451", "\u00eb"),
    ("New York", "New\N{NO-BREAK SPACE}York"),
    ("New York", "New  York"),
    ("A1", "\N{FULLWIDTH LATIN CAPITAL LETTER A}\N{FULLWIDTH DIGIT ONE}"),
    ("\u30ab", "\N{HALFWIDTH KATAKANA LETTER KA}"),
    ("fine", "\N{LATIN SMALL LIGATURE FI}ne"),
    ("18-24", "18\N{EN DASH}24"),
    ("don't", "don\N{RIGHT SINGLE QUOTATION MARK}t"),
    ("Bucure\u0219ti", "Bucure\u015fti"),
    ("ab", "a\N{ZERO WIDTH SPACE}b"),
    ("ab", "\N{RIGHT-TO-LEFT OVERRIDE}ab"),
    ("ab", "a\N{HANGUL FILLER}b"),
    ("\u2764", "\u2764\ufe0f"),
]
"""Texts that a reader takes for each other."""

UNLIKE = [
    ("m2", "m\u00b2"),
    ("1/2", "\u00bd"),
    ("O", "0"),
    ("l", "1"),
    ("a", "A"),
    ("e", "\u00e9"),
    ("\u0645\u06cc\u062e", "\u0645\u06cc\u200c\u062e"),
    ("i", "\u0131"),
    ("\u0438", "u"),
]
"""Texts that look different, or may."""


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_texts_that_look_the_same_have_one_look(first: str, second: str) -> None:
    """Also where one of them is part of a longer text."""
    assert first != second
    assert look(first) == look(second)
    assert look(f"x {first}") == look(f"x {second}")


@pytest.mark.parametrize(("first", "second"), UNLIKE)
def test_texts_that_look_different_have_different_looks(first: str, second: str) -> None:
    """Characters that are merely similar have looks of their own."""
    assert look(first) != look(second)


@pytest.mark.parametrize(
    ("text", "character"),
    [
        ("a\u200eb", "\u200e"),
        ("a\u202eb", "\u202e"),
        ("a\u00adb", "\u00ad"),
        ("a\u200db", "\u200d"),
        ("\ufeffa", "\ufeff"),
        ("a\u3164", "\u3164"),
        ("\u0645\u06cc\u200c\u062e", ""),
        ("\u0915\u094d\u200d\u0937", ""),
        ("\U0001f469\u200d\U0001f52c", ""),
        ("\U0001f469\U0001f3fd\u200d\U0001f52c", ""),
        ("\u2764\ufe0f", ""),
        ("plain", ""),
    ],
)
def test_a_label_may_hold_only_what_is_seen(text: str, character: str) -> None:
    """Joiners are seen between letters of some scripts and between emoji; directions never."""
    assert unseen_character(text) == character


def codes(values: str) -> list[str]:
    """The codes of the problems of a category with these values."""
    try:
        parse_spec(with_column(f"{{type: category, values: {values}}}"), "spec.yaml")
    except SpecError as failure:
        return [problem.code for problem in failure.problems]
    return []


def test_only_texts_with_different_labels_must_look_different() -> None:
    """Several spellings of one label are accepted, and each pair of labels is reported once."""
    assert codes('{Rome: r, "R\\u043eme": r, "Rom\\u00e9": s, "Rome\\u0301": s}') == []
    assert codes('{Rome: r, "R\\u043eme": s}') == ["twin-values"]
    assert codes('{a: Rome, b: "R\\u043eme", c: "R\\u043eme"}') == ["twin-values", "twin-values"]
    assert codes('[Rome, "R\\u043eme"]') == ["twin-values"]
    assert codes('{"a\\u200bb": ab}') == []
    assert codes('["a\\u200bb"]') == ["control-character"]
