"""With fixed noise, a neighbor changes released values and nothing else."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from tests.support.cli import DATA, Command, Outcome, remove_ledger

ODD_ROWS = [
    "NaN,NaN,NaN,NaN,NaN",
    "nan,inf,f,2020-01-01,",
    "1e400,-inf,m,9999-12-31,",
    "-1e308,1e308,f,0001-01-01,",
    ",,,,",
    ",",
    '"""","x"",",", ",a,b',
    "1,2,f,2020-01-01,x,y",
    '"1,2,f,2020-01-01,',
    " 42 ,\t7\t, f ,2020-05-05 10:11:12,",
    "0x10,1_000,F,05/05/2020,",
    "9223372036854775808,-9223372036854775809,zzz,2020-02-30,",
    "٣,²,f\u200b,２０２０-01-01,",
    "=1+1,@SUM(A1),-m,+f,",
]


def parts(folder: Path) -> dict[str, bytes]:
    """Every output in a folder, by name."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.name not in ("data.csv", "spec.yaml") and "ledger" not in path.name
    }


def skeleton(name: str, content: bytes) -> object:
    """An output without its released values."""
    text = content.decode()
    if name.endswith(".json"):
        report = json.loads(text)
        for statistic in report["statistics"]:
            for cell in statistic["cells"]:
                del cell["value"], cell["lower"], cell["upper"], cell["flag"]
        for noisy in ("counts", "rows", "table", "missed", "left_out"):
            (report["quality"] or {}).pop(noisy, None)
        # The digest has the values, and the entry of the ledger has random digits.
        for of, changing in (
            (report, "content_sha256"),
            *((report["ledger"], key) for key in ("head", "chain")),
        ):
            of.pop(changing, None)
        return report
    if name.endswith(".csv"):
        return [[*line[:-6], *line[-2:]] for line in csv.reader(io.StringIO(text))]
    # Pages print the digest of the JSON report, which has the values.
    text = re.sub(r"\b[0-9a-f]{64}\b", "#", text)
    return re.sub(r"-?[0-9.]+", "#", re.sub(r"[ ]+", " ", text))


def values(text: str) -> dict[tuple[str, ...], Decimal]:
    """The released values of a long table, by statistic, keys and item."""
    lines = list(csv.reader(io.StringIO(text)))[1:]
    return {tuple(line[:-6]): Decimal(line[-6]) for line in lines}


def test_one_more_row_changes_values_within_the_sensitivity_and_nothing_else(
    dpcli: Command, freeze: Callable[[], None], spec: Path, data: Path, tmp_path: Path
) -> None:
    """Status, messages, names, order and report stay; values change within the sensitivity."""
    # With little noise, no released number is close to a limit from which it has a flag.
    text = spec.read_text("utf-8").replace(
        "column: income, epsilon: 1", "column: income, epsilon: 9"
    )
    spec.write_text(text.replace("budget: {epsilon: 10", "budget: {epsilon: 99"), encoding="utf-8")

    def released(rows: str) -> tuple[Outcome, dict[str, bytes]]:
        data.write_text(rows, encoding="utf-8")
        freeze()
        words = ["release", spec, data, "-o", tmp_path / "out.csv", "--release-id", "r"]
        reports = ["--report", tmp_path / "r.json", "--report", tmp_path / "r.md"]
        return dpcli(*words, *reports, "--force"), parts(tmp_path)

    before, outputs = released(DATA)
    one = values(outputs["out.csv"].decode())
    limits = {"people": 1, "by_sex": 1, "total": 5000, "ages": 1, "new": 1, "average": 6000}
    for row in ODD_ROWS:
        after, others = released(DATA + row + "\n")

        assert before.status == after.status == 0, row
        assert skeleton("err", before.err.encode()) == skeleton("err", after.err.encode()), row
        assert before.out == after.out == ""
        assert list(outputs) == list(others) == ["out.csv", "r.json", "r.md"]
        for name in outputs:
            assert skeleton(name, outputs[name]) == skeleton(name, others[name]), row
        other = values(others["out.csv"].decode())
        moved = {name: Decimal(0) for name in limits}
        for key in one:
            moved[key[0]] += abs(one[key] - other[key])
        for name, limit in limits.items():
            assert moved[name] <= limit, row


def test_a_row_that_counts_nowhere_changes_no_byte(
    dpcli: Command, freeze: Callable[[], None], tmp_path: Path, data: Path
) -> None:
    """A neighbor without a usable cell leaves every output exactly as it was."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "dpcli: 1\ndataset: d\nprivacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}\n"
        "columns: {sex: {type: category, values: [f, m]}}\n"
        "statistics: [{name: n, statistic: count, by: [sex], epsilon: 1}]\n",
        encoding="utf-8",
    )
    seen = []
    for text in (DATA, DATA + "1,2,unknown,,\n"):
        data.write_text(text, encoding="utf-8")
        freeze()
        outcome = dpcli(
            "release", spec, data, "-o", tmp_path / "out.csv", "--release-id", "r", "--force"
        )
        seen.append((outcome, parts(tmp_path)))

    assert seen[0] == seen[1]


def test_the_order_of_rows_changes_no_byte(
    dpcli: Command, freeze: Callable[[], None], spec: Path, data: Path, tmp_path: Path
) -> None:
    """Reversing the file leaves every output exactly as it was."""
    header, *rows = DATA.splitlines(keepends=True)
    seen = []
    for text in (DATA, header + "".join(reversed(rows))):
        data.write_text(text, encoding="utf-8")
        freeze()
        outcome = dpcli(
            "release", spec, data, "-o", tmp_path / "out.csv", "--release-id", "r", "--force"
        )
        seen.append((outcome, parts(tmp_path)))

    assert seen[0] == seen[1]


def test_two_runs_never_share_their_noise(dpcli: Command, spec: Path, data: Path) -> None:
    """The same release twice has different values, unless a test replaces the entropy."""
    first = dpcli("release", spec, data, "-q")
    remove_ledger(spec.parent)
    second = dpcli("release", spec, data, "-q")

    assert first.status == second.status == 0
    assert first.out != second.out


def test_every_cell_has_noise_of_its_own(dpcli: Command, tmp_path: Path, data: Path) -> None:
    """Five thousand empty groups with huge noise get distinct values."""
    labels = ", ".join(f"g{number}" for number in range(5000))
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "dpcli: 1\ndataset: d\nprivacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}\n"
        f"columns: {{note: {{type: category, values: [{labels}]}}}}\n"
        "statistics: [{name: n, statistic: count, by: [note], epsilon: 1e-6}]\n",
        encoding="utf-8",
    )
    out = dpcli("release", spec, data, "-q").out
    noisy = [line[-6] for line in csv.reader(io.StringIO(out))][1:]

    assert len(noisy) == 5000
    assert len(set(noisy)) >= 4950
