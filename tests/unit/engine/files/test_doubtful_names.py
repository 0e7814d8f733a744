"""Which first lines of a file may be records."""

from __future__ import annotations

import pytest

from dpcli.engine.files.first_lines import doubtful_names

VALUES = (
    *("34", "-1.5", "1,200", "1e5", "inf", "\u0663\u0664", "$12", "NA", "TRUE"),
    *("1990-02-03", "3/2/1990", "3 March 1990", "1990-02-03T10:00:00Z", "12:30"),
    *("+49 (30) 123-456", "w@example.org", "3fa85f64-5717-4562-b3fc-2c963f66afa6"),
)
"""Cells that are more likely values than names."""

HEADERS = (
    ("name", "age", "sex"),
    ("year_2019", "q1", "2nd_visit", "no", "N", "#", "%"),
    ("Größe", "年齢", "возраст"),
    ("may", "June", "Mar"),
    ("first name", "e-mail", "date of birth"),
    ("a, b", 'c "d"'),
)


@pytest.mark.parametrize(
    ("cells", "doubt"),
    [
        *((("Anna", value, "F"), "reads as a value") for value in VALUES),
        (("Anna", "", "F"), "an empty cell"),
        (("Anna", " ", "F"), "an empty cell"),
        (("Anna", "F", "F"), "the same cell twice"),
        (("Anna", "\u00e9", "e\u0301"), "the same cell twice"),
    ],
)
def test_a_line_with_a_value_or_without_names_is_doubtful(
    cells: tuple[str, ...], doubt: str
) -> None:
    """The reason holds no cell."""
    found = doubtful_names(cells)

    assert found is not None and doubt in found


@pytest.mark.parametrize("cells", HEADERS)
def test_usual_names_are_not_doubtful(cells: tuple[str, ...]) -> None:
    """Names of several scripts, with digits and marks."""
    assert doubtful_names(cells) is None
