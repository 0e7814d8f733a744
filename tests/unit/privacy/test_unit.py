"""How accounts name who is protected."""

from __future__ import annotations

from typing import Any

import pytest

from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit, unit_text
from dpcli.queries.query import LinearQuery


def test_a_query_without_groups_may_use_all_rows_of_a_person() -> None:
    """All rows enter the one cell, however many of them may enter one of several groups."""
    relation = Relation(PersonUnit("id", 2, 3, 5), Neighbors.ADD_REMOVE)
    sex = CategoryColumn("sex", (("f", "f"), ("m", "m")))
    assert query_sensitivity(LinearQuery(), relation).l1 == 5
    assert query_sensitivity(LinearQuery(by=(Axis(sex),)), relation).linf == 2


def test_the_options_of_ids_are_plain_values() -> None:
    """An object that could change after it was compared is refused."""
    PersonUnit("id", 1, 1, 1, options=(("case",), ("number", True), ("na", ("0", "-"))))
    wrong: list[Any] = [[], "na", (["case"],), (("na", ["0"]),), (("na", 0),), (("na", None),)]
    for options in wrong:
        with pytest.raises(TypeError, match="plain values"):
            PersonUnit("id", 1, 1, 1, options=options)


def test_ids_are_named_by_the_column_of_the_file() -> None:
    """Other names in specs, limits and options are the same account; another column is not."""
    unit = PersonUnit("id", 1, 1, 1)
    assert unit_text(PersonUnit("id", 1, 1, 1, options=(("case",),))) == "person by id"
    assert unit_text(unit) == "person by id"
    assert unit_text(PersonUnit("who", 3, 2, 5, source="id")) == "person by id"
    assert unit_text(PersonUnit("id", 1, 1, 1, source="visit")) == "person by visit"
    assert unit_text(PersonUnit("id", 1, 1, 1, source=2)) == "person by column 2"
    assert unit_text(PersonUnit("id", 1, 1, 1, True)) == "person by id or single row without one"
    assert unit_text(RowUnit()) == "row"
