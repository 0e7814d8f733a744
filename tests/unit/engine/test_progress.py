"""The shown progress is the same for all files of one size."""

from __future__ import annotations

import gzip
import hashlib
import signal
from fractions import Fraction
from pathlib import Path

import pytest

from dpcli.data.formats import STANDARD_DIALECT, Dialect
from dpcli.data.number_columns import IntegerColumn
from dpcli.engine.files.pieces import read_pieces, read_texts
from dpcli.engine.files.source import open_dataset
from dpcli.engine.progress import Position, Progress, interruptible
from dpcli.engine.sums.aggregate import aggregate
from dpcli.privacy.unit import RowUnit
from dpcli.problems.errors import StoppedBySignal
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from tests.oracles.opened import bounded

AGE = IntegerColumn("age", Fraction(1), (0, 100))
SIZE = 5000

Shown = list[tuple[str, int | None]]


class Heard(Progress):
    """Progress that records what it would show, and reads every position."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: Shown = []
        self.positions: list[tuple[Position, int | None]] = []

    def begin(self, phase: str, total: int | None, position: Position = lambda: None) -> None:
        super().begin(phase, total, position)
        self.shown.append((phase, total))
        self.positions.append((position, total))


CONTENTS = (
    "1,x\n",
    '1,"x"\n',
    '1,"x\n',
    "1,x\r\n",
    "1,x\r",
    "\n1,x\n",
    "1\n",
    "1,x,y,z\n",
    "1,é\n",
    "1,日本\n",
    "1,\ufffd\n",
    ",\n",
)
"""Records that make a file plain, quoted, ragged, blank or longer in another encoding."""


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("dialect", [STANDARD_DIALECT, Dialect(names=("age", "note")), "gb18030"])
def test_no_record_changes_what_is_shown(
    by_row: bool, dialect: Dialect | str, tmp_path: Path
) -> None:
    """Phases and totals depend only on the size of the file; positions stay within them."""
    spoken = dialect if isinstance(dialect, Dialect) else Dialect(encoding=dialect)
    seen: list[Shown] = []
    for content in CONTENTS:
        raw = (content * SIZE).encode(spoken.encoding)[: SIZE - 9]
        path = tmp_path / "data.csv"
        path.write_bytes(b"age,note\n" + raw)
        heard = Heard()
        with open_dataset((str(path),), spoken, heard) as dataset:
            if by_row:
                for _ in read_texts(dataset, [AGE], heard):
                    pass
            else:
                query = LinearQuery(factors=(Factor(AGE),))
                aggregate(bounded([query], RowUnit()), dataset, heard)
            places = [position() for position, _ in heard.positions]
        for place, (_, total) in zip(places, heard.positions, strict=True):
            assert place is None or (total is not None and 0 <= place <= total)
        # Files that have to be read twice are aggregated twice, which is not visible.
        seen.append(list(dict.fromkeys(heard.shown)))
    assert all(shown == seen[0] for shown in seen)
    assert {total for _, total in seen[0]} == {SIZE}


def test_packed_files_count_as_they_are(tmp_path: Path) -> None:
    """The size of the decompressed content is not shown."""
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(b"age,note\n" + b"1,x\n" * SIZE))
    heard = Heard()
    with open_dataset((str(path),), STANDARD_DIALECT, heard) as dataset:
        for _ in read_pieces(dataset, [AGE], heard):
            pass
    size = path.stat().st_size
    assert heard.shown == [("copying", size), ("reading", size)]
    assert [position() for position, _ in heard.positions] == [size, size]


def test_signals_arrive_while_native_code_runs() -> None:
    """The error of a signal ends the wait at once, and the work is abandoned."""
    done: list[bytes] = []

    def stop(*_: object) -> None:
        raise StoppedBySignal(signal.SIGALRM)

    def work() -> None:
        done.append(hashlib.pbkdf2_hmac("sha256", b"", b"", 10_000_000))

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(StoppedBySignal):
            interruptible(work)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not done


def test_results_and_failures_of_work_come_through() -> None:
    """The result or the error of the work is passed on."""
    assert interruptible(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)
