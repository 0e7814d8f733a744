"""SyntheticDataset files in the dialect of their spec: read by it, they are the same rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcli.data.formats import Dialect
from dpcli.problems.errors import UsageError
from dpcli.simulation.synthetic import MARK_COLUMN, SyntheticDataset
from tests.oracles.opened import engine, queries_of
from tests.support.simulations import ROWS, Make, plan_of

NAMES = "[x, age, income, since, sex, insured, town, shop, y, unused]"

SECTIONS = {
    "semicolons": 'csv: {delimiter: ";", decimal: ","}',
    "tabs": 'csv: {delimiter: tab, quote: "\'"}',
    "no quotes": 'csv: {delimiter: "|", quote: none}',
    "windows": "csv: {encoding: windows-1252}",
    "utf-16": "csv: {encoding: utf-16}",
    "row names": "csv: {row_names: true}",
    "escapes": 'csv: {escape: "\\\\"}',
    "no header": f"csv: {{names: {NAMES}}}",
    "all": f'csv: {{delimiter: ";", decimal: ",", encoding: utf-16, names: {NAMES}}}',
}


def written(dummy: SyntheticDataset, path: Path) -> Path:
    """A copy of a dummy."""
    with path.open("wb") as file:
        dummy.copy_to(file, path.name)
    return path


@pytest.mark.parametrize("section", SECTIONS)
def test_a_dummy_is_read_as_its_spec_says(section: str, dummy: Make, tmp_path: Path) -> None:
    """Every exact answer is that of the same rows in standard CSV."""
    rows = ROWS.replace(" x: other", " \u00fcbrige: other")
    plain, other = plan_of(rows), plan_of(f"{rows}\n{SECTIONS[section]}\n")
    unit = plain.spec.privacy.unit
    standard = written(dummy(plain, 300, 7), tmp_path / "standard.csv")
    copy = written(dummy(other, 300, 7), tmp_path / "copy.csv")

    assert copy.read_bytes() != standard.read_bytes() or section == "escapes"
    expected = engine(queries_of(plain), unit, standard)
    assert engine(queries_of(other), unit, copy, dialect=other.spec.dialect) == expected
    assert other.spec.dialect != Dialect()


@pytest.mark.parametrize("section", ["semicolons", "no header", "utf-16"])
def test_a_dummy_is_marked_in_every_dialect(section: str, dummy: Make, tmp_path: Path) -> None:
    """Each line ends in the mark, except where the spec names all columns."""
    plan = plan_of(f"{ROWS}\n{SECTIONS[section]}\n")
    encoding = "utf-16" if section == "utf-16" else "utf-8"
    copy = written(dummy(plan, 20, 7), tmp_path / "copy.csv")
    first, *lines = copy.read_text(encoding=encoding).splitlines()

    assert first.endswith(MARK_COLUMN) or section == "no header"
    assert all(line.endswith("dummy") for line in lines) == (section != "no header")
    assert len(lines) == 19 + (section != "no header")


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ('{delimiter: ";", quote: none}', "n;1"),
        ('{delimiter: " ", quote: none}', "n 1"),
        ("{encoding: shift_jis}", "n\u00e9"),
    ],
)
def test_a_header_that_cannot_be_is_refused(
    section: str, name: str, dummy: Make, tmp_path: Path
) -> None:
    """No file of the dialect has such a column, so that a dummy would only mislead."""
    text = f"{ROWS.replace('unused:', f'{chr(34)}{name}{chr(34)}:')}\ncsv: {section}\n"

    with pytest.raises(UsageError) as refused:
        written(dummy(plan_of(text), 5, 1), tmp_path / "copy.csv")
    assert refused.value.problems[0].code == "dummy-names"
