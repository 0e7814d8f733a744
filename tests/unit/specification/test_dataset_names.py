"""Names of datasets have one spelling each; mixed scripts give a warning."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcli.problems.errors import Problem, SpecError
from dpcli.specification.dataset_names import dataset_name_fault, mixed_scripts_warning
from dpcli.specification.load import parse_central_spec
from tests.support.specs import completed

CYRILLIC_A = "\N{CYRILLIC SMALL LETTER A}"


@pytest.mark.parametrize(
    "name",
    [
        "survey-2024", "a", "0.x_y", "Gemüse", "Zürich-2024", "опрос", "έρευνα", "調査2024",
        "アンケート", "설문조사", "בדיקה", "سجل", "हिन्दी", "ñ", "x" * 100,
    ],
)  # fmt: skip
def test_letters_of_any_script_are_names(name: str) -> None:
    """A composed name of letters, digits and the three marks is accepted."""
    assert parse_central_spec(completed(f"dataset: {name}"), "spec.yaml").dataset == name


@pytest.mark.parametrize(
    "name",
    [
        "my data", "-a", ".a", "_a", "a/b", "a:b", "a\N{NO-BREAK SPACE}b", "x" * 101, "a😀",
        "a\N{ZERO WIDTH JOINER}b", "a\N{ZERO WIDTH NON-JOINER}b",
        "a\N{RIGHT-TO-LEFT MARK}", "a\N{HANGUL FILLER}",
        "a\N{VARIATION SELECTOR-1}", "a\N{COMBINING GRAPHEME JOINER}",
        "a\N{ARABIC-INDIC DIGIT THREE}", "a²", "a–b", "\N{COMBINING ACUTE ACCENT}a", "",
    ],
)  # fmt: skip
def test_other_texts_are_not_names(name: str) -> None:
    """Spaces, marks, invisible characters and digits of other scripts are refused."""
    assert dataset_name_fault(name) is not None


def problem(name: str) -> Problem:
    """The only problem of a spec with this dataset."""
    with pytest.raises(SpecError) as caught:
        parse_central_spec(completed(f'dataset: "{name}"'), "spec.yaml")
    (reported,) = caught.value.problems
    return reported


def test_a_decomposed_name_is_refused_with_its_composed_form() -> None:
    """The hint has the normalized name, and a character that differs."""
    reported = problem("cafe\N{COMBINING ACUTE ACCENT}-x")

    assert reported.code == "bad-name"
    assert "NFC" in reported.message
    assert "`caf\N{LATIN SMALL LETTER E WITH ACUTE}-x`" in reported.hint
    assert "U+00E9 (LATIN SMALL LETTER E WITH ACUTE) at position 4" in reported.hint


def test_characters_that_stand_for_others_are_refused() -> None:
    """Full-width letters, ligatures and mathematical letters are refused with a plain form."""
    for letter, plain in (
        ("\N{FULLWIDTH LATIN SMALL LETTER A}", "a"),
        ("\N{LATIN SMALL LIGATURE FI}", "fi"),
        ("\N{MATHEMATICAL BOLD SMALL A}", "a"),
        ("\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}"),
    ):
        assert f"write `x{plain}`" in problem(f"x{letter}").hint


@given(st.text(max_size=12))
def test_two_names_never_have_one_composed_form(text: str) -> None:
    """Every name is its own normal form, so no two names differ by normalization alone."""
    if dataset_name_fault(text) is None:
        assert unicodedata.normalize("NFC", text) == text
        assert unicodedata.normalize("NFKC", text) == text
        assert text.isprintable()


def test_mixed_scripts_are_warned_about() -> None:
    """A Cyrillic letter in a Latin word is named with its code point and its script."""
    warning = mixed_scripts_warning(f"t{CYRILLIC_A}xes")

    assert warning is not None
    assert "t (U+0074, Latin)" in warning
    assert f"{CYRILLIC_A} (U+0430, Cyrillic)" in warning


@pytest.mark.parametrize(
    "name",
    [
        "taxes-2024",
        "опрос-2024",
        "東京サンプル",
        "調査しらべ-a",
        "설문調査",
        "Zürich",
        "हिन्दी",
        "2024",
    ],
)
def test_scripts_that_are_written_together_are_not(name: str) -> None:
    """One script, or those of one language, with digits and marks, need no warning."""
    assert mixed_scripts_warning(name) is None
