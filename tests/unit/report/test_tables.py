"""Published tables as others open them: CSV by any reader, Parquet, spreadsheets."""

from __future__ import annotations

import csv
import json
import re
import shutil
from contextlib import closing
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from dpcli.data.declared_texts import FORMULA_STARTS
from dpcli.ledger.ledger import OpenLedger
from dpcli.report.statistic import LayoutReport
from dpcli.specification.load import read_spec_file
from tests.support.cli import PEOPLE, SPECS, Command, sample_of
from tests.support.rules import mostly_extended

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
SAMPLES = [path for path in SPECS if path.name != "pums.yaml"]

PRIVATE = """\
dpcli: 1
dataset: towns
privacy:
  unit: row
  neighbors: add-remove
  budget: {epsilon: 20, delta: 1e-5}
columns:
  town: {type: category}
  age: {type: integer, bounds: [0, 100]}
statistics:
  - {name: people, statistic: count, by: [town], keys: private, epsilon: 10, delta: 1e-6}
  - {name: age, statistic: mean, column: age, by: [town], epsilon: 10}
"""

TOWNS = ("=1+1", "+x", "-2", "-y", "@SUM(A1)", "'quoted", 'a "b", c', "Zürich", "x;y")
"""Names that spreadsheets or readers might take for something else."""


def wide(dpcli: Command, spec: Path, folder: Path, ending: str, data: Path = PEOPLE) -> list[Path]:
    """The wide tables of a release in one format; the same numbers in every format."""
    copy = folder / spec.name
    if not copy.exists():
        copy.write_text(spec.read_text(encoding="utf-8"), encoding="utf-8")
    out = folder / f"out{ending}"
    done = dpcli(
        "release", copy, data, "-q", "-o", out, "--layout", "wide", "--release-id", "one",
        "--report", folder / f"r{ending}.json",
    )  # fmt: skip
    assert done.status == 0, done.err
    return sorted(folder.glob(f"out*{ending}"))


@pytest.fixture
def towns(tmp_path: Path) -> tuple[Path, Path]:
    """A spec with private keys, and data with keys that a spreadsheet could read as formulas."""
    spec, data = tmp_path / "towns-spec.yaml", tmp_path / "towns.csv"
    spec.write_text(PRIVATE, encoding="utf-8")
    with data.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["town", "age"])
        writer.writerows([town, 40] for town in TOWNS for _ in range(60))
    return spec, data


def _cells_in_both_readers(table: Path) -> list[list[str]]:
    """The cells of a table; both readers must find the same cells."""
    with table.open(encoding="utf-8", newline="") as file:
        header, *plain = list(csv.reader(file))
    frame = pl.read_csv(table, infer_schema=False).fill_null("")

    assert frame.columns == header
    assert [list(row) for row in frame.rows()] == plain
    assert len(set(header)) == len(header)
    assert all(len(line) == len(header) for line in plain)
    for cell in (cell for line in [header, *plain] for cell in line):
        assert not cell.startswith(FORMULA_STARTS[:-1]) or NUMBER.fullmatch(cell)
        assert "\n" not in cell
        assert "\r" not in cell
    return plain


def test_keys_from_the_data_are_not_read_as_formulas(
    dpcli: Command, towns: tuple[Path, Path], tmp_path: Path
) -> None:
    """Names that begin like a formula get an apostrophe, in both layouts and for all readers."""
    spec, data = towns
    (table,) = wide(dpcli, spec, tmp_path, ".csv", data)
    keys = {line[0] for line in _cells_in_both_readers(table)}

    assert keys == {"'=1+1", "'+x", "-2", "'-y", "'@SUM(A1)", "''quoted", *TOWNS[6:]}


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_the_name_of_a_key_is_no_pattern(dpcli: Command, layout: str, tmp_path: Path) -> None:
    """Names that polars takes for all columns, or for those that match, are written as they are."""
    names = ["*", "^.*$", "^town$"]
    spec, data, out = (tmp_path / name for name in ("spec.yaml", "data.csv", "out.csv"))
    columns = "".join(f'  "{name}": {{type: category, values: [a, b]}}\n' for name in names)
    by = ", ".join(f'"{name}"' for name in names)
    head = PRIVATE[: PRIVATE.index("  town:")].replace("columns:", "quality: none\ncolumns:")
    statistic = f"  - {{name: people, statistic: count, by: [{by}], epsilon: 10}}\n"
    spec.write_text(f"{head}{columns}statistics:\n{statistic}", encoding="utf-8")
    data.write_text(",".join(names) + "\na,b,a\n", encoding="utf-8")
    done = dpcli("release", spec, data, "-q", "-o", out, "--layout", layout)
    assert done.status == 0, done.err
    (table,) = tmp_path.glob("out*.csv")
    header = table.read_text(encoding="utf-8").splitlines()[0].split(",")
    lines = _cells_in_both_readers(table)

    first = header.index("*")
    assert header[first : first + 3] == names
    assert [line[first : first + 3] for line in lines] == [
        list(key) for key in product("ab", repeat=3)
    ]


LAYOUTS = list(product(SAMPLES, ("long", "wide")))


@pytest.mark.parametrize(
    ("spec", "layout"),
    mostly_extended(LAYOUTS, *LAYOUTS[2::8], *LAYOUTS[5::8], unpack=True),
    ids=lambda one: one.stem if isinstance(one, Path) else one,
)
def test_every_reader_finds_the_same_table(
    dpcli: Command, spec: Path, layout: str, tmp_path: Path
) -> None:
    """Names, texts and numbers of a table in Parquet are those of the CSV.

    Dates among numbers have columns of their own there. Of a wide table, a plain reader and polars
    find the same cells, none of them a formula.
    """
    copy = tmp_path / spec.name
    copy.write_text(spec.read_text(encoding="utf-8"), encoding="utf-8")
    for file in read_spec_file(spec).named_files:
        shutil.copy(file.path, tmp_path)
    for ending in ("csv", "parquet"):
        done = dpcli(
            "release", copy, sample_of(spec), "-q", "-o", tmp_path / f"out.{ending}",
            "--layout", layout,
            "--release-id", "one", "--report", tmp_path / f"{ending}.json",
        )  # fmt: skip
        assert done.status == 0, done.err
    tables = sorted(tmp_path.glob("out*.csv"))

    assert [path.with_suffix(".parquet") for path in tables] == sorted(tmp_path.glob("*.parquet"))
    for table in tables:
        texts = pl.read_csv(table, infer_schema=False)
        typed = pl.read_parquet(table.with_suffix(".parquet"))
        typed, dates = typed.select(texts.columns), typed.drop(texts.columns)
        for name, of in zip(dates.columns, ("value", "lower", "upper"), strict=bool(dates.width)):
            is_date = pl.col("unit").eq_missing("date")
            days = texts.select(pl.when(is_date).then(pl.col(of)).str.to_date())
            assert dates[name].to_list() == days.to_series().to_list()
            texts = texts.with_columns(pl.when(~is_date).then(pl.col(of)))
        assert texts.select(_typed(name, kind) for name, kind in typed.schema.items()).equals(typed)
        if layout == "wide":
            _cells_in_both_readers(table)
        else:
            numbers = [name for name, kind in typed.schema.items() if kind == pl.Float64]
            assert numbers == ["value", "lower", "upper"]


def _typed(name: str, kind: pl.DataType) -> pl.Expr:
    """The texts of a column as values."""
    return pl.col(name).str.to_date() if kind == pl.Date else pl.col(name).cast(kind)


def test_parquet_holds_keys_as_they_are(
    dpcli: Command, towns: tuple[Path, Path], tmp_path: Path
) -> None:
    """Parquet has no formulas, so its texts are not changed."""
    spec, data = towns
    (table,) = wide(dpcli, spec, tmp_path, ".parquet", data)

    assert set(pl.read_parquet(table)["town"]) == set(TOWNS)


def test_formats_that_were_not_requested_are_exported_later(dpcli: Command, tmp_path: Path) -> None:
    """The ledger stores the requested outputs and the facts; other outputs are made from these."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(SAMPLES[0].read_text(encoding="utf-8"), encoding="utf-8")
    table, book = tmp_path / "out.csv", tmp_path / "dpcli-ledger.sqlite"
    released = dpcli("release", spec, PEOPLE, "-q", "-o", table, "--release-id", "one")
    assert released.status == 0, released.err
    with closing(OpenLedger.open(book)) as ledger:
        stored = ledger.stored("one", ledger.dataset_of("one"))
    assert stored is not None
    assert stored.outputs.keys() == {"table.csv", "report.json"}
    words = [f"{tmp_path}/r{end}" for end in (".html", ".md", ".yaml")]
    reports = [word for path in words for word in ("--report", path)]
    for _ in range(2):
        again = dpcli(
            "release", spec, PEOPLE, "-q", "-o", tmp_path / "out.parquet", *reports,
            "--release-id", "one",
        )  # fmt: skip
        assert again.status == 0, again.err
    exported = dpcli("ledger", "export", "one", "--layout", "wide", "-o", "-", "--ledger", book)

    assert exported.status == 0, exported.err
    assert exported.out
    assert "one" in Path(words[0]).read_text(encoding="utf-8")
    texts = pl.read_csv(table, infer_schema=False)
    typed = pl.read_parquet(tmp_path / "out.parquet")
    assert texts.cast(typed.schema).equals(typed)


def test_a_page_is_refused_if_an_old_report_lacks_its_facts(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page with missing facts is an error; a table needs only the numbers."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(SAMPLES[0].read_text(encoding="utf-8"), encoding="utf-8")
    with monkeypatch.context() as older:
        older.setattr("dpcli.report.privacy.headline", lambda _: None)
        layout = LayoutReport.load({"chosen": False})
        older.setattr(LayoutReport, "of", lambda *_: layout)
        older.setattr("dpcli.report.release.REPORT_VERSION", 2)
        released = dpcli("release", spec, PEOPLE, "-q", "--release-id", "old")
    assert released.status == 0, released.err
    book, page, table = (tmp_path / name for name in ("dpcli-ledger.sqlite", "r.html", "t.csv"))
    refused = dpcli("ledger", "export", "old", "--report", page, "--ledger", book)
    exported = dpcli("ledger", "export", "old", "-o", table, "--ledger", book)

    assert refused.status == 6
    assert "error[output-not-stored]" in refused.err
    assert not page.exists()
    assert exported.status == 0, exported.err
    assert table.read_text(encoding="utf-8") == released.out


CROSSED = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9}}
quality: none
columns:
  sex: {type: category, values: [f, m]}
  ward: {type: category, values: [a, b]}
reference_period: 2024
output: {columns: [period]}
statistics:
  - {name: n, statistic: count, by: [sex, ward], totals: Total, post: [whole], epsilon: 1}
  - {name: t, statistic: marginals, columns: [sex, ward], ways: [1, 2], epsilon: 1}
"""


def test_the_second_key_of_a_table_stands_across(dpcli: Command, tmp_path: Path) -> None:
    """Tables of two keys with totals have a line for each label of the first, totals included."""
    spec, data = tmp_path / "spec.yaml", tmp_path / "data.csv"
    spec.write_text(CROSSED, encoding="utf-8")
    data.write_text("sex,ward\n" + "f,a\nm,b\n" * 40, encoding="utf-8")
    metadata = tmp_path / "m.json"
    dpcli(
        "release", spec, data, "-q", "-o", tmp_path / "out.csv", "--layout", "wide",
        "--release-id", "one", "--metadata", metadata,
    ).succeeded()  # fmt: skip
    counts, tables = (
        pl.read_csv(path, infer_schema=False).fill_null("")
        for path in sorted(tmp_path.glob("out.sex-ward*.csv"), reverse=True)
    )
    if "t.all" in counts.columns:
        counts, tables = tables, counts
    assert counts["sex"].to_list() == ["f", "m", "Total"]
    assert [name for name in counts.columns if name.endswith("_lower")] == [
        "n.a_lower", "n.b_lower", "n.Total_lower",
        "n.raw.a_lower", "n.raw.b_lower", "n.raw.Total_lower",
    ]  # fmt: skip
    numbers = counts.select(pl.col("n.a", "n.b", "n.Total").cast(int)).to_numpy()
    assert (numbers[:, :2].sum(axis=1) == numbers[:, 2]).all()
    assert (numbers[:2].sum(axis=0) == numbers[2]).all()
    # No table has neither column, so the total of all is blank.
    assert tables.filter(sex="all")["t.all"].to_list() == [""]
    assert tables["period"].to_list() == ["2024"] * 3
    named = json.loads(metadata.read_text(encoding="utf-8"))["tables"]
    assert {len(one["tableSchema"]["columns"]) for one in named} == {
        counts.width, tables.width
    }  # fmt: skip


BINS = """\
dpcli: 1
dataset: bins
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 20}}
columns:
  age: {type: integer, bounds: [0, 20]}
  size: {type: number, bounds: [0, 1], step: 0.5}
  change: {type: integer, bounds: [-5, 5]}
  range: {type: category, values: [1-2, 3]}
output: {bins: words}
statistics:
  - {name: ages, statistic: histogram, column: age, bins: {width: 10}, epsilon: 1}
  - {name: by_age, statistic: count, by: [{column: age, bins: {width: 10}}, range], epsilon: 1}
  - {name: tables, statistic: marginals, columns: [{column: size, bins: 1}, range], ways: 2,
     epsilon: 1}
  - {name: changes, statistic: histogram, column: change, bins: 2, epsilon: 1}
"""


def test_bins_in_words_are_no_dates(dpcli: Command, tmp_path: Path) -> None:
    """Bins of numbers have `to` in every output; labels of categories stay as they are."""
    spec, data, out = tmp_path / "spec.yaml", tmp_path / "data.csv", tmp_path / "out.csv"
    spec.write_text(BINS, encoding="utf-8")
    data.write_text("age,size,change,range\n1,1,1,3\n", encoding="utf-8")
    words = ("-o", out, "--report", tmp_path / "r.json", "--report", tmp_path / "r.html")
    assert dpcli("release", spec, data, "-q", *words).status == 0

    texts = [path.read_text(encoding="utf-8") for path in (out, *tmp_path.glob("r.*"))]
    for text in texts:
        assert "0 to 9" in text and "10 to 19" in text and "0.0 to 1.0" in text
        assert "1-2" in text and "[-5," in text
    assert "0-9" not in texts[0]
