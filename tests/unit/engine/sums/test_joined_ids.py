"""Several columns as one id: who is who, in files, parts and on Spark."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from dpcli.data.labels import IdColumn
from dpcli.engine.sums.users import id_column
from dpcli.privacy.unit import PersonUnit, unit_text
from dpcli.queries.query import LinearQuery
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.counts.distinct import DistinctQuery
from tests.oracles.opened import cells_of, engine
from tests.unit.engine.sums.test_partials import merged, sealed, split

SPEC = """\
dpcli: 1
dataset: d
privacy:
  unit: {columns: [center, patient], max_rows: 2}
  neighbors: add-remove
  budget: {epsilon: 1}
columns:
  center: {type: id, case: ignore MISSING}
  patient: {type: id, na: [x] MISSING}
statistics: [{name: n, statistic: count, epsilon: 1}]
"""

ROWS = [
    ("a", "1"), ("A", "1"), (" a", "1 "), ("a", "11"), ("a1", "1"), ("b", "1"),
    # A part is missing, or marked as missing.
    ("", "1"), ("b", "x"), ("b", ""), ("", ""),
    # Parts that would be one text if they were only put together.
    ("1:", "a"), ("1", ":a"), ("1:1:", "a"), ("é", "1"), ("2:", "é"), ("2", ":é"),
]  # fmt: skip

PEOPLE = 10
"""People with both ids; the first one has three rows."""


def unit_of(missing: str = "") -> PersonUnit:
    """The unit of the spec."""
    unit = parse_central_spec(SPEC.replace("MISSING", missing), "spec.yaml").privacy.unit
    assert isinstance(unit, PersonUnit)
    return unit


def data() -> bytes:
    """The rows, in random order."""
    rows = Random(1).sample(ROWS, len(ROWS))
    return ("center,patient\n" + "".join(f'"{one}","{other}"\n' for one, other in rows)).encode()


QUERIES = [
    LinearQuery(),
    LinearQuery(user_clamp=(0, 1)),
    DistinctQuery(column=IdColumn("patient"), present=(IdColumn("patient"),)),
]


@pytest.mark.parametrize(("missing", "single"), [("", 0), (", missing: each", 4)])
def test_people_are_those_with_different_ids_together(
    missing: str, single: int, tmp_path: Path
) -> None:
    """No two pairs of ids give one person, and a row without a part has no id."""
    unit, path = unit_of(missing), tmp_path / "data.csv"
    path.write_bytes(data())
    rows, people, patients = map(cells_of, engine(QUERIES, unit, path))

    assert rows == [PEOPLE + 1 + single]
    assert people == [PEOPLE + single]
    assert patients == [6 + (single > 0)]
    names = sealed(QUERIES, unit, split(data(), Random(2)), tmp_path)
    assert [*map(cells_of, merged(QUERIES, unit, names))][:2] == [rows, people]


def test_an_account_remembers_all_columns_of_the_id() -> None:
    """Whose rows are protected is another question if a column is added."""
    unit = unit_of()
    assert unit_text(unit) == "person by center and patient"
    assert unit.id_columns == ("center", "patient")
    assert id_column(unit).derivation is not None
