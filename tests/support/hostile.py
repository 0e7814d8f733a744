"""Pairs of files and of tables in memory that differ in one hostile record.

Each form of data draws the cells that its writers, or their users, can put into a record. The other
records are ordinary: many, so that no released number is close to a limit, or none.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

NAMES = ("person", "age", "income", "sex", "since")

Record = Sequence[Any]


def ordinary(count: int) -> list[list[str]]:
    """Records in which all cells are read as declared."""
    return [
        [f"p{at}", str(20 + at % 60), f"{at % 900}.5", "fm"[at % 2], f"2020-0{1 + at % 9}-11"]
        for at in range(count)
    ]


TEXTS: tuple[bytes, ...] = (
    b"", b" ", b"NaN", b"1e400", b"-inf", b"\xff\xfe", b"\xed\xa0\x80", b"\xe2\x82", b"a\0b", b"[",
    b"[a", b'{"age": 1}', b"<html>", b"=1+1", b"9" * 400, b"1" * 4000, b"-9223372036854775809",
    b"1180591620717411303424", "\ufdd01".encode(), "\ufeffp".encode(), "٣²".encode(), b"PAR1\x15",
    b"\x1f\x8b\x08", b"PK\x03\x04", b"x\x9c", b"sep=;", b"2020-02-30", b"9999-12-31 23:59:59",
    b"f", b"30", b"true", b"c0", b"x" * 70_000, b"person", b"#N/A", "é".encode("latin-1"),
    b"\\N", b"\\", b"\\,", b"# x", "\u22125".encode(), "\u00a05\u2003".encode(), b"5-", b"23.824",
    b"12:30", b"1700000000", b"2024Q2", b"2024-W05", b"07", b"F", "e\u0301".encode(),
)  # fmt: skip
"""Bytes of cells."""

QUOTED: tuple[bytes, ...] = (b'"', b'""', b'"a', b'a"b', b'"a"b', b'"a,b"', b'"""', b'"\r"', b"'")
"""Cells with quotes."""

OBJECTS: tuple[object, ...] = (
    "x", "", "\ud800", 3, 2**70, -(10**300), 1.5, float("nan"), float("inf"), True, None, b"x", [1],
    {"a": 1}, 1j, object(), "f", "30", "unknown", Random,
)  # fmt: skip

XML_CELLS = (
    *(f't="e"><v>{word}</v>' for word in ("#N/A", "#SPILL!", "#CALC!", "#FIELD!", "Err:502", "")),
    *(f't="{kind}"><v>7</v>' for kind in ("x", "", "s", "b", "str", "d", "n", "inlineStr", "e")),
    *(f't="s"><v>{index}</v>' for index in ("999", "-1", "abc", "", "9" * 30)),
    *(f"><v>{number}</v>" for number in ("abc", "NaN", "1e999", "", "-0", "9" * 400, "41", "0.1")),
    *(f's="{style}"><v>41</v>' for style in ("999", "x", "-1")),
    *(f't="str"><v>{text}</v>' for text in ("f", "&#0;", "&bogus;", "a<b/>", "&", "2020-01-01")),
    "><f>1/0</f>", "><extLst/><v>3</v>", "><v>3</v><v>4</v>", 't="inlineStr"><is><t>f</t></is>',
)  # fmt: skip
"""Cells of a sheet, after their reference and before their end."""

LINES: tuple[bytes, ...] = (
    b"{}", b"[]", b"[", b"{", b"null", b"7", b'"x"', b"x,y", b"\xff", b"\0", b'{"age": 1',
    b"[" * 9999,
    b'{"age": {"x": 1}, "sex": ["f"]}', b'{"age": 1e999, "income": NaN, "sex": -Infinity}',
    b'{"sex": "\\ud800"}', b'{"sex": "f\xff"}', b'{"age": 1, "age": 2, "other": 3}',
    b"\xef\xbb\xbf{}",
    b'{"age": ' + b"9" * 5000 + b"}", b'{"person": null, "age": true}', b"\x1f\x8b",
    b"PAR1\x15", b"  ",
)  # fmt: skip
"""Lines of JSON Lines."""


@dataclass(frozen=True)
class Pair:
    """Two data sets, contents of files or tables in memory, that differ in one record."""

    one: Any
    other: Any


def _neighbors(
    random: Random, records: Sequence[Any], odd: Callable[[], Any], *, last: bool = False
) -> tuple[list[Any], list[Any]]:
    """Records, and the same with one more or another one; all of both may be odd."""
    base = [*records, *(odd() for _ in range(random.randrange(3)))]
    if not last:
        random.shuffle(base)
        # The first record is next to the header.
        place = random.choice([0, 0, len(base), random.randrange(len(base) + 1)])
    else:
        place = len(base)
    replaces = random.random() < 0.4 and place < len(base)
    return base, [*base[:place], odd(), *base[place + replaces :]]


def text_pair(random: Random, size: int, *, mark: bytes, one_line: bool) -> tuple[bytes, bytes]:
    """Text with a delimiter; where records may have several lines, an open quote is the last."""
    end = random.choice([b"\n", b"\r\n", b"\r"]) if one_line else b"\n"
    cells = (*TEXTS, *QUOTED)

    def odd() -> bytes:
        if random.random() < 0.1:
            return end * random.choice([1, 3, 1 << 16])
        width = random.choice([5, 5, 5, 1, 2, 9])
        return mark.join(random.choice(cells) for _ in range(width)) + end

    plain = [mark.join(cell.encode() for cell in record) + end for record in ordinary(size)]
    one, other = _neighbors(random, plain, odd, last=not one_line)
    header = mark.join(map(str.encode, NAMES)) + end
    if not one_line:
        # Before the last record, no quote is open.
        one = [text for text in one if b'"' not in text]
        other = [*one, other[-1]]
    return header + b"".join(one), header + b"".join(other)


def json_pair(random: Random, size: int) -> tuple[bytes, bytes]:
    """JSON Lines."""
    plain = [json.dumps(dict(zip(NAMES, one, strict=True))).encode() for one in ordinary(size)]
    one, other = _neighbors(random, plain, lambda: random.choice(LINES))
    return b"\n".join(one) + b"\n", b"\n".join(other) + b"\n"


def sheet_pair(random: Random, size: int) -> tuple[bytes, bytes]:
    """Workbooks."""
    plain = [[f't="str"><v>{cell}</v>' for cell in record] for record in ordinary(size)]
    one, other = _neighbors(
        random,
        plain,
        lambda: [random.choice(XML_CELLS) for _ in range(random.choice([5, 5, 1, 9]))],
    )
    return workbook(one), workbook(other)


def workbook(records: Sequence[Sequence[str]]) -> bytes:
    """A workbook with a header and these records."""
    rows = [[f't="str"><v>{name}</v>' for name in NAMES], *records]
    sheet = "".join(
        f'<row r="{at}">'
        + "".join(f'<c r="{chr(65 + place)}{at}" {cell}</c>' for place, cell in enumerate(cells))
        + "</row>"
        for at, cells in enumerate(rows, 1)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as parts:
        parts.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}"><Relationship Id="r1" '
            f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        parts.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
            '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        )
        parts.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}"><Relationship Id="r1" '
            f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        )
        parts.writestr(
            "xl/worksheets/sheet1.xml",
            f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
        )
    return file.getvalue()


def _unchecked(values: Sequence[bytes | None], kind: str) -> Any:
    """Arrow texts that are not checked, held in one of several ways."""
    import pyarrow as pa

    content = pa.array(values, pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(content), content.buffers())
    if kind == "dictionary" and values:
        return pa.DictionaryArray.from_arrays(pa.array(range(len(values)), pa.int32()), texts)
    if kind == "large":
        return content.cast(pa.large_binary()).view(pa.large_string())
    return texts


def arrow_table(records: Sequence[Record], random: Random) -> Any:
    """A table of Arrow; `random` chooses its types, so that it must be the same for a pair."""
    import pyarrow as pa

    kind = random.choice(["text", "dictionary", "large"])
    person, age, income, sex, since = zip(*records, strict=True) if records else [()] * 5
    times = {
        "date": (pa.int32(), pa.date32(), 1),
        "s": (pa.int64(), pa.timestamp("s", tz="Asia/Tokyo"), 86_400),
        "ms": (pa.int64(), pa.timestamp("ms"), 86_400_000),
        "ns": (pa.int64(), pa.timestamp("ns", tz="America/New_York"), 86_400 * 10**9),
    }
    number, time, day = times[random.choice([*times])]
    # Writers of Parquet refuse seconds that overflow as milliseconds.
    bits = 31 if number == pa.int32() else 52 if day == 86_400 else 63
    days = [max(-(2**bits), min(2**bits - 1, one * day)) for one in since]
    numbers = random.choice([pa.float64(), pa.float32(), pa.string()])
    return pa.table(
        {
            "before": pa.array([[b"\xff"]] * len(records), pa.list_(pa.binary())),
            "person": _unchecked(person, kind),
            "age": pa.array(age, random.choice([pa.int64(), pa.float64()])),
            "income": pa.array(income, pa.float64()).cast(numbers),
            "sex": _unchecked(sex, kind),
            "since": pa.array(days, number).view(time),
        }
    )


def _typed_records(random: Random, size: int) -> tuple[list[Record], list[Record]]:
    plain = [
        (b"p%d" % at, 20 + at % 60, at % 900 + 0.5, b"fm"[at % 2 :][:1], 18_300)
        for at in range(size)
    ]

    def odd() -> Record:
        return (
            random.choice(TEXTS),
            random.choice([0, -1, 2**52, -(2**52), 30]),
            random.choice([float("nan"), float("inf"), -1e308, 5e-324, -0.0]),
            random.choice(TEXTS),
            random.choice([0, 2**62, -(2**62), 2_932_896, 2_932_897, -719_162, -719_163]),
        )

    return _neighbors(random, plain, odd)


def arrow_pair(random: Random, size: int) -> tuple[Any, Any]:
    """Tables of Arrow of the same types."""
    one, other = _typed_records(random, size)
    seed = random.random()
    return arrow_table(one, Random(seed)), arrow_table(other, Random(seed))


def parquet_pair(random: Random, size: int) -> tuple[bytes, bytes]:
    """Parquet files of the same types and options."""
    import pyarrow.parquet as pq

    options: Any = random.choice(
        [{}, {"row_group_size": 7}, {"use_dictionary": False, "compression": "none"},
         {"data_page_version": "2.0", "compression": "zstd"}, {"store_schema": False},
         {"use_deprecated_int96_timestamps": True}]
    )  # fmt: skip
    files = []
    for table in arrow_pair(random, size):
        file = io.BytesIO()
        pq.write_table(table, file, **options)
        files.append(file.getvalue())
    return files[0], files[1]


def pandas_pair(random: Random, size: int) -> tuple[Any, Any]:
    """Tables of pandas with columns of objects, of texts and of categories."""
    import pandas as pd

    one, other = _neighbors(random, ordinary(size), lambda: [random.choice(OBJECTS) for _ in NAMES])
    dtypes = {
        name: random.choice(["object", "object", "string[python]", "category"]) for name in NAMES
    }

    def column(values: list[object], dtype: str) -> Any:
        if dtype == "string[python]":
            values = [value if isinstance(value, str) else None for value in values]
            return pd.array(values, dtype=dtype)
        if dtype == "category":
            listed = [str(value) if isinstance(value, list | dict) else value for value in values]
            return pd.Categorical(pd.Series(listed, dtype=object))
        objects = pd.Series([None] * len(values), dtype=object)
        for at, value in enumerate(values):
            objects.iloc[at : at + 1] = pd.Series([value], dtype=object)
        return objects

    def table(records: Sequence[Record]) -> Any:
        columns = zip(*records, strict=True) if records else [()] * len(NAMES)
        pairs = zip(NAMES, columns, strict=True)
        return pd.DataFrame({name: column([*values], dtypes[name]) for name, values in pairs})

    return table(one), table(other)


def polars_pair(random: Random, size: int) -> tuple[Any, Any]:
    """Tables of polars; a column of Python objects is refused, whatever they are."""
    import polars as pl

    one, other = _typed_records(random, size)
    lazy, objects = random.random() < 0.3, random.random() < 0.1
    seed = random.random()

    def table(records: Sequence[Record]) -> Any:
        frame = pl.DataFrame(arrow_table(records, Random(seed)).drop(["before"]))
        if objects:
            values = [random.choice(OBJECTS) for _ in records]
            frame = frame.with_columns(pl.Series("sex", values, dtype=pl.Object))
        return frame.lazy() if lazy else frame

    return table(one), table(other)


def _zipped(content: bytes, name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


def hostile_pair(form: str, random: Random, size: int) -> Pair:
    """A pair of some form: tables, or the contents of files."""
    tables = {"pandas": pandas_pair, "polars": polars_pair, "arrow": arrow_pair}
    if form in tables:
        return Pair(*tables[form](random, size))
    one_line = form != "quoted.csv"
    mark = b"\t" if ".tsv" in form else b","
    if form.endswith(".xlsx"):
        contents = sheet_pair(random, size)
    elif ".jsonl" in form:
        contents = json_pair(random, size)
    elif form.endswith(".parquet"):
        contents = parquet_pair(random, size)
    else:
        contents = text_pair(random, size, mark=mark, one_line=one_line)
    if form.endswith(".gz"):
        contents = gzip.compress(contents[0]), gzip.compress(contents[1])
    elif form.endswith(".zip"):
        inner = form.removesuffix(".zip")
        contents = _zipped(contents[0], inner), _zipped(contents[1], inner)
    return Pair(*contents)


FORMS = (
    "lines.csv", "quoted.csv", "lines.tsv", "lines.csv.gz", "lines.tsv.zip", "table.parquet",
    "objects.jsonl", "objects.jsonl.gz", "sheet.xlsx", "pandas", "polars", "arrow",
)  # fmt: skip
"""Forms of data; those of files are their names."""
