"""Values of a category from a file of codes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from dpcli.data.labels import LabeledColumn
from dpcli.problems.errors import SpecError
from dpcli.report.release import FileReport, SpecReport
from dpcli.specification.load import parse_spec
from dpcli.specification.model import Spec, SpecFile
from tests.support.specs import with_column

LIST = "code,name,region\n01,Old Town,centre\n02,Harbour,coast\n03,Hillside,coast\n"


def spec_of(tmp_path: Path, text: str, values: str) -> Spec:
    """A spec beside a file of codes."""
    (tmp_path / "districts.csv").write_text(text, encoding="utf-8")
    declaration = f"{{type: category, values: {{file: districts.csv, {values}}}}}"
    return parse_spec(with_column(declaration), "spec.yaml", tmp_path)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ("key: code, label: name", ("Old Town", "Harbour", "Hillside")),
        ("key: code, label: region", ("centre", "coast")),
        ("key: code", ("01", "02", "03")),
    ],
)
def test_codes_and_labels_are_those_of_the_file(
    tmp_path: Path, values: str, labels: tuple[str, ...]
) -> None:
    """A district can be mapped to its name or to its region."""
    (column,) = spec_of(tmp_path, LIST, values).columns
    assert isinstance(column, LabeledColumn)
    assert column.labels == labels
    assert [text for text, _ in column.values] == ["01", "02", "03"]


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_delimiter_is_that_of_the_header(tmp_path: Path, delimiter: str) -> None:
    """Lists may be written as data files are; a single column may have any of them in a code."""
    text = (
        LIST.replace("Old Town", "Old, Town")
        .replace(",", delimiter)
        .replace(f"Old{delimiter}", "Old,")
    )
    (column,) = spec_of(tmp_path, text, "key: code, label: name").columns
    assert isinstance(column, LabeledColumn)
    assert column.labels == ("Old, Town", "Harbour", "Hillside")
    (single,) = spec_of(tmp_path, "code\na;b|c\n", "key: code").columns
    assert isinstance(single, LabeledColumn)
    assert single.labels == ("a;b|c",)


def test_the_digest_of_the_spec_covers_the_file(tmp_path: Path) -> None:
    """Another label is another spec."""
    first = spec_of(tmp_path, LIST, "key: code, label: name")
    same = spec_of(tmp_path, LIST, "key: code, label: name")
    other = spec_of(tmp_path, LIST.replace("Harbour", "Port"), "key: code, label: name")
    assert first.digest == same.digest != other.digest
    digest = hashlib.sha256(LIST.encode()).hexdigest()
    path = tmp_path / "districts.csv"
    assert first.named_files == (SpecFile("districts.csv", path, digest),)
    assert first.files == (path,)
    assert SpecReport.of(first).files == [FileReport(name="districts.csv", sha256=digest)]


@pytest.mark.parametrize(
    ("text", "values", "reason"),
    [
        (LIST, "key: Code", "has no column `Code`, or several"),
        (LIST, "key: code, label: nmae", "has no column `nmae`, or several"),
        (LIST + "01,Again,coast\n", "key: code", "line 5 of `districts.csv` has the same code as"),
        (LIST + "04\n", "key: code, label: name", "line 5 of `districts.csv` lacks a code"),
        (LIST + "04,=1+SECRET,x\n", "key: code, label: name", "line 5 of `districts.csv` lacks"),
        ("code\n", "key: code", "`districts.csv` has no codes"),
        (
            LIST + "\u04302,x,y\n04,Hаrbour,x\n",
            "key: code, label: name",
            "line 6 of `districts.csv` has a code or a label that looks like another one in line 3",
        ),
        ("code,name\na,A\n\u0430,B\n", "key: code, label: name", "line 3 of `districts.csv` has a"),
        (LIST + "04,\u200fSECRET,x\n", "key: code, label: name", "line 5 of `districts.csv` lacks"),
        ("", "key: code", "has no column `code`, or several"),
    ],
)
def test_a_wrong_file_is_refused_without_a_cell_of_it(
    tmp_path: Path, text: str, values: str, reason: str
) -> None:
    """The message has the line; the file may hold records by mistake."""
    with pytest.raises(SpecError) as failure:
        spec_of(tmp_path, text, values)
    (problem,) = failure.value.problems
    assert reason in problem.message
    assert "SECRET" not in problem.message + problem.hint and "Again" not in problem.message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Also one that is not UTF-8."""
    declaration = "{type: category, values: {file: absent.csv, key: code}}"
    with pytest.raises(SpecError, match=r"absent\.csv"):
        parse_spec(with_column(declaration), "spec.yaml", tmp_path)
    (tmp_path / "absent.csv").write_bytes(b"code\n\xff\n")
    with pytest.raises(SpecError, match="cannot be read"):
        parse_spec(with_column(declaration), "spec.yaml", tmp_path)


def test_a_list_is_a_regular_file(tmp_path: Path) -> None:
    """Folders, pipes, devices and links to open files are refused, and nothing waits for them."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/dev/stdin")
    for name in (
        "pipe",
        "folder",
        "link",
        "/dev/null",
        "/dev/stdin",
        "/proc/self/fd/0",
        "/dev/fd/0",
    ):
        declaration = f"{{type: category, values: {{file: {name}, key: code}}}}"
        with pytest.raises(SpecError, match="is no regular file"):
            parse_spec(with_column(declaration), "spec.yaml", tmp_path)


def test_too_many_codes_are_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of the first code too many is not read, so a million codes take no longer."""
    monkeypatch.setattr("dpcli.specification.code_list.MAX_CODES", 2)
    assert len(spec_of(tmp_path, "code\n1\n2\n", "key: code").columns) == 1
    with pytest.raises(SpecError, match="more than 2 codes"):
        spec_of(tmp_path, "code\n1\n2\n1\n", "key: code")


def test_data_files_are_known_by_every_name(tmp_path: Path) -> None:
    """By paths, links, addresses of local files, and the folder that they are in."""
    listed = tmp_path / "list.csv"
    listed.write_text("code\n1\n", "utf-8")
    (tmp_path / "link.csv").symlink_to(listed)
    (tmp_path / "broken.csv").symlink_to("nowhere.csv")
    names = [f"{tmp_path}/./list.csv", f"{tmp_path}/link.csv", str(tmp_path)]
    names += [f"file://{listed}", f"file:{listed}"]
    values = f"{{file: {listed}, key: code}}"
    text = with_column(f"{{type: category, values: {values}}}")
    for name in names:
        with pytest.raises(SpecError, match="is a data file of this command"):
            parse_spec(text, "spec.yaml", tmp_path, [name])
    others = ["s3://bucket/list.csv", "list.csv", "-", "\0", "x" * 5000]
    assert parse_spec(text, "spec.yaml", tmp_path, others).files == (listed,)
