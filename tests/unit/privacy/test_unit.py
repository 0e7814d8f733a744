"""How accounts name who is protected."""

from __future__ import annotations

from dpcli.privacy.unit import PersonUnit, RowUnit, unit_text


def test_ids_are_named_by_the_column_of_the_file() -> None:
    """Other names in specs, and other limits, are the same account; another column is not."""
    unit = PersonUnit("id", 1, 1, 1)
    assert unit_text(unit) == "person by id"
    assert unit_text(PersonUnit("who", 3, 2, 5, source="id")) == "person by id"
    assert unit_text(PersonUnit("id", 1, 1, 1, source="visit")) == "person by visit"
    assert unit_text(PersonUnit("id", 1, 1, 1, source=2)) == "person by column 2"
    assert unit_text(PersonUnit("id", 1, 1, 1, True)) == "person by id or single row without one"
    assert unit_text(RowUnit()) == "row"
