"""The metadata of published tables: a validator of CSV on the Web accepts them with the tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.cli import PEOPLE, SPECS, Command, copied_spec, reported, sample_of, written
from tests.support.rules import mostly_extended

csvw = pytest.importorskip("csvw")

SPEC = """\
dpcli: 1
dataset: town
title: Visits, and more
note: Tourists are not included.
privacy:
  unit: {column: person_id, max_rows: 3}
  neighbors: add-remove
  budget: {epsilon: 300, delta: 1e-5}
columns:
  person_id: {type: id}
  age:       {type: integer, bounds: [0, 110], title: Age at the visit, unit: years}
  sex:       {type: category, values: {0: "#m", 1: 'f, "x"', 2: other}, title: Sex}
  income:    {type: number, bounds: [0, 10000], step: 10, unit: EUR}
statistics:
  - {name: people-who, statistic: count_distinct, by: [sex], epsilon: 2, title: People}
  - {name: _pay, statistic: mean, column: income, by: [sex], epsilon: 5, note: High ones are cut.}
  - {name: total, statistic: sum, column: income, epsilon: 0.001, post: [nonnegative], raw: true}
  - {name: ages, statistic: histogram, column: age, bins: {width: 10}, epsilon: 1.5}
  - {name: usual, statistic: top_k, column: sex, k: 2, epsilon: 1}
  - {name: sex, statistic: count, by: [sex], epsilon: 0.1}
declarations:
  curator: Statistics Office
"""


def released(
    dpcli: Command, folder: Path, *words: str | Path, spec: str = SPEC, data: Path = PEOPLE
) -> Path:
    """Release the spec with metadata; their path."""
    path, out = written(folder, spec)[0], folder / "out.csv"
    metadata = folder / "out.csv-metadata.json"
    words = ("-o", out, "--metadata", metadata, "--release-id", "first", "-q", *words)
    dpcli("release", path, data, *words).succeeded()
    return metadata


def tables(metadata: Path) -> list[dict[str, Any]]:
    """The tables that metadata describe."""
    stated = reported(metadata)
    described: list[dict[str, Any]] = stated.get("tables", [stated])
    return described


def accepted(metadata: Path) -> None:
    """Every cell of every table has the datatype of its column, and keys are unique."""
    group = csvw.TableGroup.from_file(metadata)
    if "tables" not in reported(metadata):
        group = csvw.Table.from_file(metadata)
    parts = group.tables if hasattr(group, "tables") else [group]
    for part in parts:
        rows = list(part.iterdicts(strict=True))
        lines = (metadata.parent / part.url.string).read_bytes().count(b"\n") - 1
        assert len(rows) == lines > 0
        assert part.check_primary_key()


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_a_validator_accepts_the_metadata_with_the_tables(
    dpcli: Command, tmp_path: Path, layout: str
) -> None:
    """The validator reads every line of every table by the metadata alone, without a warning."""
    metadata = released(dpcli, tmp_path, "--layout", layout)

    accepted(metadata)
    again = dpcli("release", tmp_path / "spec.yaml", PEOPLE, "-o", tmp_path / "out.csv", "--layout",
                  layout, "--metadata", metadata, "--release-id", "first", "--json")  # fmt: skip
    assert str(metadata) in again.json["outputs"]
    described = csvw.CSVW(str(metadata), validate=True)
    assert described.is_valid


def test_the_validator_refuses_another_table(dpcli: Command, tmp_path: Path) -> None:
    """A cell that is no number, a repeated key and another header are refused."""
    metadata = released(dpcli, tmp_path)
    table = (tmp_path / "out.csv").read_text()
    *_, last = table.splitlines()
    cells = last.split(",")
    wrong = ",".join([*cells[:3], "many", *cells[4:]])
    for changed in (
        table.replace(f"{last}\n", f"{wrong}\n"),
        f"{table}{last}\n",
        table.replace("statistic,", "name,", 1),
    ):
        assert changed != table
        (tmp_path / "out.csv").write_text(changed)

        with pytest.raises((ValueError, AssertionError, UserWarning)):
            accepted(metadata)


@pytest.mark.parametrize("spec", mostly_extended(SPECS, *SPECS[::4]), ids=lambda path: path.stem)
def test_metadata_of_every_sample_are_valid(dpcli: Command, tmp_path: Path, spec: Path) -> None:
    """In both layouts, whatever statistics and keys there are."""
    if spec.name == "pums.yaml":
        return
    for layout in ("long", "wide"):
        folder = tmp_path / layout
        folder.mkdir()
        copied_spec(spec, folder)
        text, data = spec.read_text(), sample_of(spec)
        accepted(released(dpcli, folder, "--layout", layout, spec=text, data=data))


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_metadata_keep_the_rules_of_the_recommendation(
    dpcli: Command, tmp_path: Path, layout: str
) -> None:
    """Names are variables of URI templates, titles are the header, keys refer to names."""
    metadata = released(dpcli, tmp_path, "--layout", layout)
    stated = reported(metadata)

    assert stated["@context"] == "http://www.w3.org/ns/csvw"
    assert stated["dc:title"] == "Visits, and more"
    assert stated["dc:publisher"] == "Statistics Office"
    assert "dc:license" not in stated
    for table in tables(metadata):
        columns = table["tableSchema"]["columns"]
        names = [column["name"] for column in columns]
        with (tmp_path / table["url"]).open() as lines:
            header = lines.readline().rstrip("\n").split(",")
        assert [column["titles"][0] for column in columns] == header
        assert len({*names}) == len(names)
        for name in names:
            assert re.fullmatch(r"([A-Za-z0-9]|%[0-9A-F]{2})([A-Za-z0-9_]|%[0-9A-F]{2})*", name)
        assert {*table["tableSchema"].get("primaryKey", [])} <= {*names}
        assert all(column["dc:description"] for column in columns)
        notes = " ".join(note["body"]["value"] for note in table["notes"])
        assert "95%" in notes and "Noise" in notes and "_pay: High ones are cut." in notes


def test_titles_and_units_are_those_of_the_spec(dpcli: Command, tmp_path: Path) -> None:
    """A wide table has a column for each statistic, with its title and its unit."""
    metadata = released(dpcli, tmp_path, "--layout", "wide")
    columns = [column for table in tables(metadata) for column in table["tableSchema"]["columns"]]
    by_title = {column["titles"][0]: column for column in columns}

    assert by_title["people-who"]["titles"] == ["people-who", "People"]
    assert by_title["_pay"]["schema:unitText"] == "EUR"
    assert by_title["_pay"]["datatype"] == "decimal"
    assert by_title["_pay_lower"]["schema:unitText"] == "EUR"
    assert by_title["people-who_upper"]["titles"] == ["people-who_upper", "People, upper"]
    assert by_title["age"]["titles"] == ["age", "Age at the visit (years)"]


def test_metadata_state_place_and_time(dpcli: Command, tmp_path: Path) -> None:
    """They are the declared region, and the period that the data are about."""
    spec = SPEC.replace("title:", "reference_period: 2021\ntitle:", 1) + "  region: Old Town\n"
    stated = reported(released(dpcli, tmp_path, spec=spec))

    assert (stated["dc:spatial"], stated["dc:temporal"]) == ("Old Town", "2021")


def test_parquet_states_what_it_has(dpcli: Command, tmp_path: Path) -> None:
    """Its metadata have the title, the loss and the id of the release."""
    path, table = written(tmp_path, SPEC)[0], tmp_path / "out.parquet"
    dpcli("release", path, PEOPLE, "-o", table, "--release-id", "first", "-q").succeeded()
    stated = pl.read_parquet_metadata(table)

    assert stated["dpcli.title"] == "Visits, and more"
    assert (stated["dpcli.epsilon"], stated["dpcli.release_id"]) == ("9.601", "first")


def test_a_license_is_an_address_or_a_name(dpcli: Command, tmp_path: Path) -> None:
    """A license that is an address becomes a link."""
    for license_, stated in (
        ("https://creativecommons.org/licenses/by/4.0/", {"@id": "https://creativecommons.org/licenses/by/4.0/"}),
        ("CC BY 4.0", "CC BY 4.0"),
    ):  # fmt: skip
        folder = tmp_path / license_[:2]
        folder.mkdir()
        metadata = released(dpcli, folder, spec=f"{SPEC}  license: {license_}\n")

        assert reported(metadata)["dc:license"] == stated


def test_metadata_are_stored_and_can_be_exported(dpcli: Command, tmp_path: Path) -> None:
    """The same release again and an export write the same; addresses follow names."""
    metadata = released(dpcli, tmp_path)
    first = metadata.read_bytes()
    metadata.unlink()
    released(dpcli, tmp_path)
    assert metadata.read_bytes() == first

    ledger = tmp_path / "dpcli-ledger.sqlite"
    folder = tmp_path / "more"
    folder.mkdir()
    for table, described, url in (
        (tmp_path / "out.csv", folder / "m.json", "../out.csv"),
        (folder / "a b#.csv", folder / "n.json", "a%20b%23.csv"),
    ):
        words = ("-o", table, "--metadata", described, "--force", "--ledger", ledger)
        dpcli("ledger", "export", "first", *words).succeeded()
        assert tables(described)[0]["url"] == url
    accepted(folder / "m.json")


def test_metadata_are_refused_before_anything_is_spent(dpcli: Command, tmp_path: Path) -> None:
    """Their file must be another than each other output, and there must be a CSV file."""
    (tmp_path / "spec.yaml").write_text(SPEC)
    out, spec, page = tmp_path / "out.csv", tmp_path / "spec.yaml", tmp_path / "r.md"
    for code, *words in (
        ("output-twice", "-o", out, "--metadata", out),
        ("output-twice", "-o", out, "--metadata", page, "--report", page),
        ("output-is-input", "-o", out, "--metadata", spec),
        ("output-folder", "-o", out, "--metadata", tmp_path / "no" / "m.json"),
        ("bad-option", "--metadata", tmp_path / "m.json"),
        ("bad-option", "-o", tmp_path / "out.parquet", "--metadata", tmp_path / "m.json"),
    ):
        done = dpcli("release", spec, PEOPLE, *words)

        assert done.status == 2 and f"error[{code}]" in done.err
        assert [path.name for path in tmp_path.iterdir()] == ["spec.yaml"]
