"""Releases of a series night by night, with mishaps between them."""

from __future__ import annotations

import csv
import datetime
import json
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from dpcli.ledger.ledger import OpenLedger
from dpcli.privacy.series import BLOCK, squared_norm
from dpcli.problems.errors import LedgerError
from dpcli.releasing.series import FORM, _earlier_digest
from dpcli.statistics.series.designs import SeriesDesign
from dpcli.statistics.series.past import PublicState
from tests.support.cli import Command, digits, table
from tests.support.rules import also_slow

FIRST = datetime.date(2026, 1, 1)

SPEC = """
dpcli: 1
dataset: visits
privacy:
  unit: {column: person, max_rows: 1}
  neighbors: add-remove
  budget: {rho: 1000, delta: 1e-3}
  composition: zcdp
period: {column: day}
quality: none
columns:
  person: {type: id}
  day: {type: date, bounds: [2026-01-01, 2036-12-31]}
  ward: {type: category, values: [a, b]}
statistics:
  - {name: root, statistic: count, by: [ward], rho: 20, mechanism: gaussian,
     series: {every: day, show: [period, to_date, last_7]}}
  - {name: blocks, statistic: histogram, column: ward, rho: 20, mechanism: laplace,
     series: {every: day, show: [period, to_date]}}
"""
"""So little noise that each mistake in a total shows."""

NEAR = 8


class Nights:
    """A folder with a spec, a ledger whose account has a window, and nightly files."""

    def __init__(
        self, dpcli: Command, folder: Path, rho: int = 20, window: int = 1, dataset: str = "visits"
    ) -> None:
        self.dpcli, self.folder = dpcli, folder
        text = SPEC.replace("rho: 20", f"rho: {rho}").replace("visits", dataset)
        (folder / "spec.yaml").write_text(text, encoding="utf-8")
        self.ledger = folder / "dpcli-ledger.sqlite"
        words = ("--rho", 1000, "--delta", "1e-3", "--composition", "zcdp")
        unit = ("--unit", "person", "--window", window, "--ledger", self.ledger)
        dpcli("ledger", "init", self.ledger).succeeded()
        dpcli("ledger", "open", dataset, *words, *unit).succeeded()
        self.counts: dict[int, tuple[int, int]] = {}

    def write(self, night: int, seed: int = 0) -> tuple[int, int]:
        """Write the file of a night, and return how many rows each ward has."""
        generator = random.Random(f"{night} {seed}")
        counts = generator.randint(20, 90), generator.randint(20, 90)
        with (self.folder / f"{night}.csv").open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["person", "day", "ward"])
            for ward, count in zip("ab", counts, strict=True):
                lines.writerows([f"{ward}{at}", self.day(night), ward] for at in range(count))
        return counts

    @staticmethod
    def day(night: int) -> str:
        """The day of a night."""
        return (FIRST + datetime.timedelta(days=night)).isoformat()

    def words(self, night: int, name: str, *more: str) -> list[str]:
        """The command line that releases a night."""
        return [
            *("release", str(self.folder / "spec.yaml"), str(self.folder / f"{night}.csv")),
            *("--period", self.day(night), "--any-period", "--release-id", name, "-q", "--force"),
            *("-o", str(self.folder / f"{name}.csv"), "--ledger", str(self.ledger), *more),
        ]

    def release(self, night: int, name: str, *more: str) -> int:
        """Release a night, check what is published, and return the status."""
        found = self.dpcli(*self.words(night, name, *more))
        if found.status == 0:
            self.check(night, name)
        return found.status

    def check(self, night: int, name: str) -> None:
        """The published numbers are near those of all nights that were released."""
        shown = {
            (line["statistic"], line["ward"], line["series"]): float(line["value"])
            for line in table(self.folder / f"{name}.csv")
        }
        last = max(self.counts)
        for at, ward in enumerate("ab"):
            own = self.counts[night][at]
            total = sum(counts[at] for counts in self.counts.values())
            week = sum(counts[at] for one, counts in self.counts.items() if last - one < 7)
            near = {
                ("root", ward, "period"): own, ("root", ward, "to_date"): total,
                ("root", ward, "last_7"): week, ("blocks", ward, "period"): own,
                ("blocks", ward, "to_date"): total,
            }  # fmt: skip
            for key, expected in near.items():
                assert abs(shown[key] - expected) < NEAR, (name, key, shown[key], expected)

    def charges(self) -> list[str]:
        """The releases that were charged, by their ids."""
        with closing(OpenLedger.open(self.ledger)) as ledger:
            assert not ledger.all_faults()
            return [entry.release_id or "" for entry in ledger.releases("visits")]


@pytest.fixture
def nights(dpcli: Command, tmp_path: Path) -> Nights:
    """A new series."""
    return Nights(dpcli, tmp_path)


MISHAPS = ("", "", "", "missed", "late", "corrected", "lost", "restored")


@pytest.mark.parametrize("count", also_slow(14, 200))
def test_totals_agree_whatever_happens_to_nights(nights: Nights, count: int) -> None:
    """Missed, doubled, late and corrected nights, lost and restored sums: all totals are right."""
    generator, charged, late = random.Random(count), list[str](), list[int]()
    for night in range(count):
        happens = generator.choice(MISHAPS) if night else ""
        late += [night] * (happens == "late")
        if happens in ("missed", "late"):
            continue
        _lose_or_restore(nights.folder, happens)
        arrived = [night, *(late if happens == "" else [])]
        late = [] if happens == "" else late
        for one in arrived:
            nights.counts[one] = nights.write(one)
            charged += _released_once(nights, one)
        if happens == "corrected":
            charged += _corrected(nights, night)
        _keep_copies(nights.folder, generator)
    assert nights.charges() == charged


def _released_once(nights: Nights, night: int) -> list[str]:
    """Release a night three times: new, again under its id, and under another id."""
    name = f"n{night}"
    assert nights.release(night, name) == 0
    before = (nights.folder / f"{name}.csv").read_bytes()
    assert nights.release(night, name) == 0
    assert (nights.folder / f"{name}.csv").read_bytes() == before
    assert nights.release(night, f"again{night}") == 6
    return [name]


def _corrected(nights: Nights, night: int) -> list[str]:
    """Correct a night, unless it was the last one of a block, which is closed at once."""
    old, nights.counts[night] = nights.counts[night], nights.write(night, seed=1)
    status = nights.release(night, f"c{night}", "--corrected")
    assert status in (0, 6)
    if status:
        nights.counts[night] = old
    return [] if status else [f"c{night}"]


def _lose_or_restore(folder: Path, happens: str) -> None:
    if happens == "lost":
        for file in folder.glob("*.sums"):
            file.unlink()
    if happens == "restored":
        for file in folder.glob("*.old"):
            shutil.copy(file, file.with_suffix(""))


def _keep_copies(folder: Path, generator: random.Random) -> None:
    for file in sorted(folder.glob("*.sums")):
        if generator.random() < 0.2:
            shutil.copy(file, file.with_name(file.name + ".old"))


def test_reports_show_what_earlier_nights_published(nights: Nights) -> None:
    """In JSON, on a chart for each number, and in a short table; a copy has the same bytes."""
    report, again = nights.folder / "n3.json", nights.folder / "again.html"
    page = nights.folder / "n3.html"
    for night in range(4):
        nights.counts[night] = nights.write(night)
        assert (
            nights.release(night, f"n{night}", "--report", str(report), "--report", str(page)) == 0
        )
    root, blocks = (one["history"] for one in digits(report.read_text("utf-8"))["statistics"])
    days = [nights.day(night) for night in range(4)]
    assert root["days"] == blocks["days"] == days
    assert (len(root["lines"]), len(blocks["lines"])) == (6, 4)
    for statistic, lines in (("root", root["lines"]), ("blocks", blocks["lines"])):
        for line in lines:
            published = [
                [row[part] for part in ("value", "lower", "upper")]
                for night in range(4)
                for row in table(nights.folder / f"n{night}.csv")
                if row["statistic"] == statistic and row.items() >= line["keys"].items()
            ]
            columns = line["value"], line["lower"], line["upper"]
            assert published == [list(texts) for texts in zip(*columns, strict=True)]
    shown = page.read_text("utf-8")
    assert shown.count('<svg viewBox="0 0 720') == 10
    assert shown.count('class="band"') == 10
    assert f"From {days[0]} to {days[3]}, as published" in shown
    words = ("ledger", "export", "n3", "--ledger", nights.ledger, "--report", again)
    nights.dpcli(*words).succeeded()
    assert again.read_bytes() == page.read_bytes()


def test_the_loss_of_several_nights_is_that_of_their_columns_together(
    dpcli: Command, tmp_path: Path
) -> None:
    """In a window of three days, rho is that of one answer with three successive columns.

    Beside it are three answers of days, and one of the block, which has all three.
    """
    nights = Nights(dpcli, tmp_path, rho=10, window=3)
    for night in range(4):
        nights.counts[night] = nights.write(night)
        assert dpcli(*nights.words(night, f"n{night}")).status == 0
    (shown,) = dpcli("ledger", "show", "--json", "--ledger", nights.ledger).json
    factor = Fraction(squared_norm(3), squared_norm(1))
    assert 10 * (factor + 3) < float(shown["spent_rho"]) < 10 * (factor + 6)


def _not_used_again(nights: Nights, statistic: str) -> list[int]:
    with closing(OpenLedger.open(nights.ledger)) as ledger:
        state = PublicState.from_json(ledger.series_state(statistic, "visits")[0])
    return sorted(period for period, _ in state.gone)


@pytest.mark.parametrize("failure", ["recovered", "failed"])
def test_sums_are_not_used_again_after_an_answer_that_the_state_lacks(
    nights: Nights, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    """Two answers that follow one state would reveal earlier sums twice."""
    dpcli, proof = nights.dpcli, nights.folder / "proof.json"
    for night in range(2):
        nights.counts[night] = nights.write(night)
        assert nights.release(night, f"n{night}") == 0
    backup = nights.ledger.read_bytes()
    nights.write(2)
    if failure == "failed":
        with monkeypatch.context() as patched:
            patched.setattr(SeriesDesign, "next_state", lambda *_: 1 / 0)
            assert dpcli(*nights.words(2, "n2")).status == 1
    else:
        assert dpcli(*nights.words(2, "n2", "--report", str(proof))).status == 0
        nights.ledger.write_bytes(backup)
        dpcli("ledger", "recover", "--from", proof, "--ledger", nights.ledger).succeeded()
    for night in (3, 4):
        nights.counts[night] = nights.write(night)
        found = dpcli(*nights.words(night, f"n{night}"))
        assert ("charged answers are not stored" in found.err) == (night == 3)
        nights.check(night, f"n{night}")
        assert _not_used_again(nights, "root") == _not_used_again(nights, "blocks") == [0, 1]
    assert nights.charges() == ["n0", "n1", "n2", "n3", "n4"]


@pytest.mark.parametrize("which", ["name LIKE 'series/%'", "1"])
def test_a_state_that_was_removed_from_the_ledger_is_noticed(nights: Nights, which: str) -> None:
    """From the state before it, an answer would have the same sums a second time."""
    for night in range(2):
        nights.write(night)
        assert nights.dpcli(*nights.words(night, f"n{night}")).status == 0
    with closing(sqlite3.connect(nights.ledger)) as changed, changed:
        selected = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        triggers = changed.execute(selected).fetchall()
        for name, _ in triggers:
            changed.execute(f"DROP TRIGGER {name}")
        last = "number = (SELECT max(number) FROM entries)"
        changed.execute(f"DELETE FROM outputs WHERE {last} AND {which}")
        for _, sql in triggers:
            changed.execute(sql)
    nights.write(2)
    found = nights.dpcli(*nights.words(2, "n2"))
    assert (found.status, "were changed" in found.err) == (6, True)


def test_an_account_with_two_histories_of_a_series_is_closed(nights: Nights) -> None:
    """The days before both are in answers of both, and no entry charges for that."""
    proofs, files = list[str](), [nights.ledger, Path(f"{nights.ledger}.anchor")]
    kept = {}
    for night in range(4):
        if night == 1:
            kept = {file: file.read_bytes() for file in files}
        if night == 3:
            # The ledger is restored, and goes on before it is recovered.
            for file, content in kept.items():
                file.write_bytes(content)
        nights.write(night)
        proofs.append(str(nights.folder / f"p{night}.json"))
        assert nights.dpcli(*nights.words(night, f"n{night}", "--report", proofs[-1])).status == 0
    found = nights.dpcli("ledger", "recover", "--from", *proofs, "--ledger", nights.ledger)
    assert "account visits: closed, because of two histories of a series" in found.succeeded().out
    nights.write(4)
    assert nights.dpcli(*nights.words(4, "n4")).status == 5


@pytest.mark.parametrize("more", [(), ("--corrected",)])
def test_no_sums_are_lost_if_the_charge_fails_after_they_were_written(
    nights: Nights, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    """The state that is not stored needs none of the sums, and the one before needs all."""
    for night in range(2):
        nights.counts[night] = nights.write(night)
        assert nights.release(night, f"n{night}") == 0
    nights.write(2)
    with monkeypatch.context() as patched:

        def fail(*_: object, **__: object) -> None:
            raise LedgerError.about("ledger-unusable.commit", path="x", why="full")

        patched.setattr(OpenLedger, "append", fail)
        assert nights.dpcli(*nights.words(1 if more else 2, "failed", *more)).status == 6
    found = nights.dpcli(*nights.words(2, "n2"))
    assert (found.status, "sealed sums" in found.err) == (0, False)


def test_a_failed_check_takes_as_much_space_for_sums_as_one_that_passes(nights: Nights) -> None:
    """On a disk that is nearly full, the check must not decide what can be charged."""
    spec = nights.folder / "spec.yaml"
    checked = spec.read_text("utf-8").replace("quality: none", "quality: {rho: 5, min_rows: 20}")
    spec.write_text(checked, encoding="utf-8")
    path, sizes = nights.ledger.with_name(f"{nights.ledger.name}.visits.root.sums"), []
    for night, status in ((0, 0), (1, 8), (2, 0)):
        nights.write(night)
        if status:
            header = (nights.folder / "0.csv").read_text("utf-8").partition("\n")[0]
            (nights.folder / f"{night}.csv").write_text(f"{header}\n", encoding="utf-8")
        found = nights.dpcli(*nights.words(night, f"n{night}"))
        assert (found.status, "sealed sums" in found.err) == (status, False)
        sizes.append(path.stat().st_size)
    assert sizes[0] < sizes[1] == sizes[2]


def test_the_size_of_a_file_of_sums_depends_on_no_sum(nights: Nights) -> None:
    """A disk that is nearly full has room for it, or has not, whatever the rows are."""
    column = "  paid: {type: number, bounds: [0, 1000000000000], step: 0.000001}\nstatistics:"
    text = SPEC[: SPEC.index("  - {name: blocks")].replace("statistics:", column)
    text = text.replace("statistic: count", "statistic: sum, column: paid")
    (nights.folder / "spec.yaml").write_text(text, encoding="utf-8")
    path, sizes = nights.ledger.with_name(f"{nights.ledger.name}.visits.root.sums"), []
    for night, rows in enumerate((0, 20, 0, 0)):
        lines = [f"p{at},{nights.day(night)},a,1000000000000" for at in range(rows)]
        content = "\n".join(["person,day,ward,paid", *lines])
        (nights.folder / f"{night}.csv").write_text(content, encoding="utf-8")
        assert nights.dpcli(*nights.words(night, f"n{night}")).status == 0
        sizes.append(path.stat().st_size)
    assert len({after - before for before, after in pairwise(sizes)}) == 1


def test_a_series_is_only_recovered_with_the_noise_that_its_report_states(nights: Nights) -> None:
    """The loss of one day alone would say nothing of several days."""
    proof, backup = nights.folder / "proof.json", nights.ledger.read_bytes()
    nights.write(0)
    assert nights.dpcli(*nights.words(0, "n0", "--report", str(proof))).status == 0
    stated = json.loads(proof.read_text(encoding="utf-8"))
    stated["dpcli_version"] = "0.1.0"
    stated["statistics"][0]["queries"][0]["mechanism"]["scale"] = 7
    proof.write_text(json.dumps(stated), encoding="utf-8")
    nights.ledger.write_bytes(backup)
    found = nights.dpcli("ledger", "recover", "--from", proof, "--ledger", nights.ledger)
    assert found.status == 6
    assert "another noise for its series" in found.err


def test_a_day_is_no_second_period_however_old_it_is(nights: Nights) -> None:
    """Its sums are no longer needed, but totals have them already."""
    root = SPEC[SPEC.index("  - {name: root") : SPEC.index("  - {name: blocks")]
    (nights.folder / "spec.yaml").write_text(SPEC.replace(root, ""), encoding="utf-8")
    for night in range(BLOCK + 1):
        nights.write(night)
        assert nights.dpcli(*nights.words(night, f"n{night}")).status == 0
    found = nights.dpcli(*nights.words(0, "again"))
    assert found.status == 6
    assert "has the period 2026-01-01 already" in found.err


def test_only_a_file_of_sums_is_written_and_nothing_is_charged_if_it_cannot_be(
    nights: Nights,
) -> None:
    """A link at its path is replaced, not followed; a folder there refuses the night."""
    path = nights.ledger.with_name(nights.ledger.name + ".visits.root.sums")
    path.symlink_to(nights.folder / "0.csv")
    nights.counts[0] = nights.write(0)
    data = (nights.folder / "0.csv").read_bytes()
    assert nights.release(0, "n0") == 0
    assert (nights.folder / "0.csv").read_bytes() == data
    assert not path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    path.mkdir()
    nights.write(1)
    found = nights.dpcli(*nights.words(1, "n1"))
    assert found.status == 6
    assert "ledger-unusable" in found.err
    assert nights.charges() == ["n0"]


@pytest.mark.parametrize(("length", "name"), [(72, "n" * 13), (73, "n" * 13), (1, "Nurses")])
def test_file_names_are_short_and_differ_in_more_than_case(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, name: str
) -> None:
    """A name of more than 255 bytes, or with capital letters, becomes a digest."""
    dataset = "\u5730" * length
    monkeypatch.setitem(globals(), "SPEC", SPEC.replace("name: root", f"name: {name}"))
    nights = Nights(dpcli, tmp_path, dataset=dataset)
    for night in range(2):
        nights.write(night)
        found = dpcli(*nights.words(night, f"n{night}"))
        assert (found.status, "sealed sums" in found.err) == (0, False)
    label = f"{nights.ledger.name}.{dataset}.{name}.sums"
    files = [path.name for path in tmp_path.glob("*.sums")]
    assert (label in files) is (length == 72)
    assert len({file.lower() for file in files}) == 2


def test_an_account_for_all_time_takes_no_series(dpcli: Command, tmp_path: Path) -> None:
    """The losses of many days would have no bound in proportion to their number."""
    nights = Nights(dpcli, tmp_path)
    other = tmp_path / "other.sqlite"
    nights.counts[0] = nights.write(0)
    dpcli("ledger", "init", other).succeeded()
    nights.ledger = other
    found = dpcli(*nights.words(0, "n0"))
    assert found.status == 6
    assert "series-window" in found.err


def test_a_series_goes_on_only_with_the_same_spec(nights: Nights) -> None:
    """Other groups or other noise need a new name; a release without a day is refused."""
    nights.counts[0] = nights.write(0)
    assert nights.release(0, "n0") == 0
    for old, new in (
        ("[a, b]}", "[a, b, c]}"),
        ("[a, b]}", "[a, b], missing: a}"),
        ("[a, b]}", "[a, b], from: person}"),
        ("[a, b]}", '[a, b], na: ["-"]}'),
        ("{type: id}", "{type: id, case: ignore}"),
        ("quality: none", 'quality: none\ncsv: {comment: "#"}'),
        ("rho: 20, mech", "rho: 15, mech"),
        ("[period, to_date]", "[to_date, last_7]"),
        ("[period, to_date, last_7]", "[to_date]"),
    ):
        (nights.folder / "spec.yaml").write_text(SPEC.replace(old, new), encoding="utf-8")
        nights.counts[1] = nights.write(1)
        found = nights.dpcli(*nights.words(1, "n1"))
        assert found.status == 6
        assert "differs from the earlier periods" in found.err
    spec = nights.folder / "spec.yaml"
    for command in ("plan", "check"):
        forecast = nights.dpcli(command, spec, "--ledger", nights.ledger)
        assert forecast.status == 6
        assert "differs from the earlier periods" in forecast.err
    titled = SPEC.replace("[a, b]}", "[a, b], title: Wards}")
    (nights.folder / "spec.yaml").write_text(titled, encoding="utf-8")
    assert nights.release(1, "n1") == 0
    month = [word for word in nights.words(1, "n1") if word != nights.day(1)]
    month.insert(month.index("--period") + 1, "2026-01")
    assert nights.dpcli(*month).status in (2, 6)
    assert nights.charges() == ["n0", "n1"]
    day = ("--period", nights.day(2), "--any-period")
    assert nights.dpcli("plan", spec, "--ledger", nights.ledger, *day).status == 0


def test_a_changed_formula_is_another_series(nights: Nights) -> None:
    """Also that of a column from which another one follows."""
    text = SPEC.replace("by: [ward]", "by: [w]").replace("column: ward", "column: w")
    for night, label, status in ((0, "a", 0), (1, "b", 6), (1, "a", 0)):
        derive = (
            f"derive:\n  v: {{is: {{ward: [{label}]}}}}\n  w: {{is: {{v: [true]}}}}\nstatistics:"
        )
        derived = text.replace("statistics:", derive)
        (nights.folder / "spec.yaml").write_text(derived, encoding="utf-8")
        nights.write(night)
        assert nights.dpcli(*nights.words(night, f"n{night}")).status == status


def test_series_of_earlier_versions_go_on(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their states have a digest of less; the next one has one of all."""
    with monkeypatch.context() as patched:
        patched.setattr("dpcli.releasing.series._digest", lambda one, *_: _earlier_digest(one))
        nights.counts[0] = nights.write(0)
        assert nights.release(0, "n0") == 0
    changed = SPEC.replace("[a, b]}", "[a, b], missing: a}")
    others = SPEC.replace("[period, to_date]", "[period]")
    tried = ((1, changed, 6), (1, others, 6), (1, SPEC, 0), (2, changed, 6), (2, SPEC, 0))
    for night, text, status in tried:
        (nights.folder / "spec.yaml").write_text(text, encoding="utf-8")
        nights.write(night)
        assert nights.dpcli(*nights.words(night, f"n{night}")).status == status
    with closing(OpenLedger.open(nights.ledger)) as ledger:
        state = PublicState.from_json(ledger.series_state("root", "visits")[0])
    assert (state.count, state.design[:2]) == (3, FORM)


def _contending(nights: Nights, night: int, processes: int) -> Iterator[int]:
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "dpcli", *nights.words(night, f"r{night}-{number}")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for number in range(processes)
    ]
    for process in running:
        assert b"Traceback" not in process.communicate()[1]
        yield process.returncode


@pytest.mark.extended
def test_of_releases_of_one_night_at_the_same_time_one_goes_on(nights: Nights) -> None:
    """The others are refused, and are not charged: their answers followed the same state."""
    for night in range(3):
        nights.counts[night] = nights.write(night)
        statuses = list(_contending(nights, night, 4))
        assert sorted(statuses) == [0, 6, 6, 6]
        nights.check(night, f"r{night}-{statuses.index(0)}")
    assert len(nights.charges()) == 3


def test_a_forecast_of_several_nights_is_what_they_cost(nights: Nights) -> None:
    """Plans count the days of a series together, as the ledger does."""
    other = nights.folder / "window.yaml"
    new = SPEC.replace("dataset: visits", "dataset: others").replace("rho: 1000", "rho: 100")
    text = new.replace("delta: 1e-3}", "delta: 1e-3, window: 3}")
    for rho, fits in ((5, True), (10, False)):
        other.write_text(text.replace("rho: 20,", f"rho: {rho},"), encoding="utf-8")
        words = ("plan", other, "--period", nights.day(0), "--any-period", "--times", "3")
        assert nights.dpcli(*words).status == (0 if fits else 5)
    other.write_text(new, encoding="utf-8")
    assert nights.dpcli("plan", other, "--period", nights.day(0), "--any-period").status == 6
