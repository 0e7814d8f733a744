"""Ledgers with forged entries whose hashes are all right, and outputs that unpack to too much."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import tracemalloc
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpcli.ledger import entries, store
from dpcli.ledger.balance import AccountTerms
from dpcli.ledger.chain import LedgerEntry, entry_digest
from dpcli.ledger.ledger import OpenLedger
from dpcli.problems.errors import LedgerError
from dpcli.report.json import REPORT_VERSION
from tests.oracles.files import batches
from tests.support.cli import DATA, SPEC, Command, dpcli
from tests.support.ledgers import charge, render
from tests.support.shared import made_once

__all__ = ["dpcli"]

EVENT: dict[str, object] = {
    "statistic": "s", "question": "count", "mechanism": "laplace", "epsilon": "1/10", "delta": "0",
    "scale": "10", "l0": 1, "l1": 1, "l2_squared": 1, "linf": 1,
}  # fmt: skip
RELEASE: dict[str, object] = {"created": "2026-01-01T00:00:00Z", "digest": "d"}
OPEN: dict[str, object] = {
    "created": "2026-01-01T00:00:00Z", "dataset": "other", "unit": "row", "neighbors": "add-remove",
    "composition": "sequential", "epsilon": "1", "delta": "0", "window": None,
}  # fmt: skip


def release(payload: object = RELEASE, events: object = (EVENT,), **columns: object) -> Any:
    """The columns of a forged release of the account `town`."""
    texts = [one if isinstance(one, str) else _canonical(one) for one in (payload, events)]
    row = {"kind": "release", "dataset": "town", "name": "forged", "period": None}
    return row | {"payload": texts[0], "events_json": texts[1]} | columns


def opening(**changes: object) -> Any:
    """The columns of an entry that opens an account; None removes an item of its terms."""
    terms = {name: item for name, item in (OPEN | changes).items() if item != "absent"}
    return release(terms, (), kind="open", name=None, dataset=str(OPEN["dataset"]))


def event(**changes: object) -> Any:
    """The columns of a release with one changed event."""
    return release(RELEASE, [EVENT | changes])


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


FORGED: dict[str, Any] = {
    "unknown kind": release(kind="refund", name=None),
    "payload is no JSON": release("{"),
    "payload is no object": release("[]"),
    "payload is too deep": release("[" * 100_000),
    "payload is not canonical": release('{"created": "x", "digest": "d"}'),
    "payload has a key twice": release('{"created":"x","digest":"d","digest":"d"}'),
    "no time": release({"digest": "d"}),
    "no digest": release({"created": "x"}),
    "time is a number": release(RELEASE | {"created": 1}),
    "digest is a list": release(RELEASE | {"digest": []}),
    "files are a number": release(RELEASE | {"files": 3}),
    "files are numbers": release(RELEASE | {"files": [3]}),
    "files are hidden": release(RELEASE | {"x": {"files": 3}}),
    "stopped is a text": release(RELEASE | {"stopped": "yes"}),
    "recovered is a text": release(RELEASE | {"recovered": "yes"}),
    "terms are missing": opening(epsilon="absent"),
    "window is missing": opening(window="absent"),
    "budget is negative": opening(epsilon="-1"),
    "budget is a huge power": opening(epsilon="1e999999999"),
    "budget has too many digits": opening(epsilon="9" * 5000),
    "budget divides by zero": opening(epsilon="1/0"),
    "delta is above one": opening(delta="2"),
    "composition is unknown": opening(composition="free"),
    "composition is a list": opening(composition=[]),
    "neighbors are unknown": opening(neighbors="none"),
    "window is a text": opening(window="7"),
    "window is zero": opening(window=0),
    "terms of another dataset": opening(dataset="town"),
    "account is opened again": opening() | {"dataset": "town", "payload": "TOWN"},
    "account is opened again with more": opening() | {"dataset": "town", "payload": "RICHER"},
    "account was never opened": release(dataset="village"),
    "closed account was never opened": release(
        {"created": "x"}, (), kind="close", name=None, dataset="village"
    ),
    "release without a name": release(name=None),
    "release with an empty name": release(name=""),
    "release id again": release(name="first@town"),
    "release id of another dataset": release(name="forged@village"),
    "period is no day": release(period="someday"),
    "period is an impossible day": release(period="2026-02-31"),
    "window without a day": release(dataset="nights"),
    "window with a month": release(dataset="nights", period="2026-02"),
    "events are no JSON": release(RELEASE, "["),
    "events are too deep": release(RELEASE, "[" * 100_000),
    "events are no list": release(RELEASE, "3"),
    "event is no object": release(RELEASE, "[3]"),
    "loss is negative": event(epsilon="-1/10"),
    "loss is missing": release(RELEASE, [{"mechanism": "laplace"}]),
    "loss divides by zero": event(epsilon="1/0"),
    "mechanism is unknown": event(mechanism="magic"),
    "event of a later version": event(version=2),
    "scale is missing": event(scale="1/0"),
    "sensitivity is a text": event(l1="many"),
    "noise is missing": event(scale="0"),
}  # fmt: skip
"""Forged entries, each after an account `town` with a release and an account with a window."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a spec, data and a ledger with two accounts and one release."""

    def make(folder: Path) -> None:
        text = SPEC.replace("NEIGHBORS", "add-remove").replace("epsilon: 10", "epsilon: 100")
        (folder / "spec.yaml").write_text(text, "utf-8")
        (folder / "data.csv").write_text(DATA, "utf-8")
        from dpcli.ledger.balance import terms_from_spec
        from dpcli.ledger.ledger import create_ledger
        from dpcli.specification.load import read_spec_file

        terms = terms_from_spec(read_spec_file(folder / "spec.yaml"))
        with closing(create_ledger(folder / "dpcli-ledger.sqlite")) as ledger:
            ledger.commit(replace(charge("first"), terms=terms), render)
            ledger.open_account(replace(terms, dataset="nights", window=7), "then")

    return made_once(tmp_path_factory, "forged", make)


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, as working folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def forge(path: Path, columns: dict[str, Any], outputs: Mapping[str, bytes] | None = None) -> None:
    """Append an entry by the code of the program, with its hashes, also to the anchor."""
    with closing(OpenLedger.open(path)) as ledger:
        terms = ledger.accounts()["town"]
        known = {
            "TOWN": terms,
            "RICHER": replace(terms, budget=terms.budget.__class__(terms.budget.epsilon * 9)),
        }
        if columns["payload"] in known:
            columns = columns | {"payload": _canonical(_opened(known[columns["payload"]]))}
        with ledger.writing():
            entry: LedgerEntry = replace(ledger.next_entry("", "", {}), **columns)
            ledger.append(replace(entry, head=entry.expected_head()), outputs or {})
        ledger.update_anchor()


def _opened(terms: AccountTerms) -> dict[str, object]:
    return terms.payload() | {"created": "2026-01-01T00:00:00Z"}


COMMANDS = (
    ("ledger", "show"), ("ledger", "show", "--json"), ("ledger", "show", "--html"),
    ("ledger", "history"), ("ledger", "export", "forged"), ("plan", "spec.yaml"),
    ("ledger", "export", "forged", "--report", "r.html"), ("ledger", "export", "first"),
    ("release", "spec.yaml", "data.csv", "-q", "--release-id", "next"),
)  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_verify_names_each_forged_entry(name: str, dpcli: Command, folder: Path) -> None:
    """It exits 6, and every other command works or has a documented error as well."""
    forge(folder / "dpcli-ledger.sqlite", FORGED[name])
    verified = dpcli("ledger", "verify")

    assert verified.status == 6, verified.out
    assert "entry 4" in verified.err
    for words in COMMANDS:
        done = dpcli(*words)
        assert done.status in {0, 6} and "internal-fault" not in done.err, words


@pytest.mark.parametrize("query", range(12))
def test_releases_of_other_processes_are_no_fault(
    query: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that is examined while another process appends to it is intact."""
    path, real, done = folder / "dpcli-ledger.sqlite", OpenLedger.query, list[str]()
    with closing(OpenLedger.open(path)) as ledger, closing(OpenLedger.open(path)) as other:

        def interrupted(self: OpenLedger, sql: str, *values: object, **more: Any) -> list[Any]:
            found = real(self, sql, *values, **more)
            if self is ledger:
                done.append(sql)
                if len(done) == query + 1:
                    other.commit(replace(charge("new"), terms=other.accounts()["town"]), render)
            return found

        monkeypatch.setattr(OpenLedger, "query", interrupted)
        assert ledger.all_faults() == []
        assert len(done) > query and ledger.entry_of("new", "town")


def test_an_entry_that_is_not_forged_is_intact(dpcli: Command, folder: Path) -> None:
    """What the forgeries change is accepted as it was."""
    for columns in (
        release(),
        release(name="f2", period="2026-02"),
        opening(),
        event(l0=2) | {"name": "f3"},
    ):
        forge(folder / "dpcli-ledger.sqlite", columns)
    assert dpcli("ledger", "verify").succeeded().out.endswith("7 entries, all intact\n")


def test_no_name_of_an_account_is_a_line_of_its_own(dpcli: Command, folder: Path) -> None:
    """In no form of what a ledger shows, also where two accounts share files."""
    for dataset, file in (("town", "/a"), ("x\nwarning: <b>", "/a")):
        account = opening(dataset=dataset) | {"dataset": dataset}
        shared = release(RELEASE | {"files": [file]}, dataset=dataset, name=f"r{len(dataset)}")
        for columns in ([account] if dataset != "town" else []), [shared]:
            for entry in columns:
                forge(folder / "dpcli-ledger.sqlite", entry)
    for words in (("show",), ("show", "--html"), ("show", "--spec", "spec.yaml"), ("history",)):
        done = dpcli("ledger", *words).succeeded()
        assert "\nwarning: <b>" not in done.out + done.err
        assert "--html" not in words or "<b>" not in done.out


def test_verify_reports_all_forged_entries_at_once(dpcli: Command, folder: Path) -> None:
    """Each has a sentence of its own, also where reports are compared as well."""
    path = folder / "dpcli-ledger.sqlite"
    with closing(OpenLedger.open(path)) as ledger:
        for name, columns in (("a", FORGED["unknown kind"]), ("b", FORGED["loss is negative"])):
            with ledger.writing():
                named = columns | {"name": name if columns["name"] else None}
                entry = replace(ledger.next_entry("", "", {}), **named)
                ledger.append(replace(entry, head=entry.expected_head()))
    verified = dpcli("ledger", "verify")

    assert verified.status == 6
    assert "entry 4 is of the kind `refund`" in verified.err
    assert "entry 5: the ledger records an answer that cannot be read" in verified.err


PACKED: dict[str, Callable[[], Mapping[str, bytes]]] = {
    "no zlib data": lambda: {"table.csv": b"plain"},
    "cut off": lambda: {"table.csv": zlib.compress(os.urandom(99))[:-9]},
    "with more at the end": lambda: {"table.csv": zlib.compress(b"a") + b"more"},
    "reasons are no JSON": lambda: {"stopped.json": zlib.compress(b"[")},
    "reasons are numbers": lambda: {"stopped.json": zlib.compress(b"[3]")},
    "digest is no text": lambda: {"responses.sha256": zlib.compress(b"\xff")},
    "report is no JSON": lambda: {"report.json": zlib.compress(b"{")},
    "report is a list": lambda: {"report.json": zlib.compress(b"[]")},
    "report is of other types": lambda: {"report.json": zlib.compress(b'{"statistics": 3}')},
    "report of today without its facts": lambda: {
        "report.json": zlib.compress(f'{{"report_version": {REPORT_VERSION}}}'.encode())
    },
    "choice is no choice": lambda: {"bounds.json": zlib.compress(b'{"bounds": [{"column": 3}]}')},
    "check is no check": lambda: {
        "check.json": zlib.compress(b'{"counts": [], "answers": [["x"]]}')
    },
    "bomb": lambda: {"table.csv": zlib.compress(bytes(40_000_000), 9)},
    "bomb of parts": lambda: {f"{n}.csv": zlib.compress(bytes(900_000), 9) for n in range(3)},
}


@pytest.mark.parametrize("name", PACKED)
def test_outputs_that_cannot_be_unpacked_are_refused(
    name: str, dpcli: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `verify`, `export` and a repeated release, in memory that the limit bounds."""
    packed = PACKED[name]()
    with monkeypatch.context() as patched:
        patched.setattr("dpcli.ledger.store.zlib.compress", lambda content, *_: content)
        forge(folder / "dpcli-ledger.sqlite", release(), packed)
    monkeypatch.setattr(entries, "MAX_UNPACKED", 1 << 21)
    tracemalloc.start()
    verified = dpcli("ledger", "verify")
    exported = dpcli("ledger", "export", "forged", "--report", "r.html")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert verified.status == exported.status == 6
    assert "entry 4" in verified.err and "internal-fault" not in verified.err + exported.err
    assert peak < 30_000_000
    if "bomb" in name:
        assert "more than 2,097,152 bytes" in verified.err
        assert "more than 2,097,152 bytes" in exported.err


def test_outputs_that_could_not_be_read_again_are_not_stored(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of what is unpacked is one of what is stored; nothing is charged."""
    monkeypatch.setattr(store, "MAX_UNPACKED", 1000)
    with closing(OpenLedger.open(folder / "dpcli-ledger.sqlite")) as ledger:
        wanted = replace(charge("big"), terms=ledger.accounts()["town"])
        with pytest.raises(LedgerError, match="the outputs of entry 4 have more than"):
            ledger.commit(wanted, lambda _: {"table.csv": bytes(1001)})
        assert ledger.entry_of("big", "town") is None


ODD: tuple[object, ...] = (
    None, True, 0, -1, 1.5, "", "x", "1/0", "-1/3", "9" * 400, "1/1" + "0" * 400, [], [1], {},
)  # fmt: skip
"""Values of wrong types, and numbers beyond all limits."""

PARTS: dict[str, object] = {
    "joint": True, "disjoint": ["a", 1], "keys_delta": "1/100", "mechanism": "gaussian",
    "single": {"l0": 1, "l1": 1, "l2_squared": 1, "linf": 1}, "files": ["/a"], "stopped": True,
    "after_check": "first", "recovered": {"replaces": "x"}, "version": 1, "rho": "1/10",
    "composition": "zcdp", "window": 3, "delta": "1/1000000",
}  # fmt: skip
"""Items that entries and events may have in addition."""


@pytest.mark.parametrize("seed", batches(400, 1, 30, 80))
def test_verify_refuses_what_any_command_refuses(seed: int, dpcli: Command, folder: Path) -> None:
    """For entries that are changed at random: a documented status, and the same verdict."""
    draw = random.Random(seed)
    changed = {}
    for name, item in (("payload", draw.choice([RELEASE, OPEN])), ("events_json", EVENT)):
        parts: dict[str, object] = {**item}
        for key in draw.sample([*parts, *PARTS], draw.randint(0, 3)):
            parts[key] = draw.choice([PARTS.get(key, "absent"), *ODD])
        parts = {key: part for key, part in parts.items() if part != "absent"}
        changed[name] = _canonical(parts if name == "payload" else [parts] * draw.randint(0, 2))
    is_opening = "unit" in changed["payload"]
    account, period = draw.choice(["town", "nights"]), draw.choice([None, "2026-01-01"])
    columns = opening() if is_opening else release(dataset=account, period=period)
    forge(folder / "dpcli-ledger.sqlite", columns | changed)
    if is_opening:
        forge_release = release(name="later", dataset="other", events_json=changed["events_json"])
        with suppress(LedgerError):
            forge(folder / "dpcli-ledger.sqlite", forge_release)
    verified = dpcli("ledger", "verify").status
    assert verified in {0, 6}
    for words in COMMANDS:
        done = dpcli(*words)
        assert "internal-fault" not in done.err, words
        # A release may have no outputs, or not exist.
        is_known = re.search("release-void|release-recovered|no-such-", done.err)
        assert verified == 6 or done.status != 6 or is_known, (words, done.err)


def _reports_forged() -> dict[str, tuple[str, str]]:
    """Replacements in the report of a release, whose hashes are then right again."""
    return {
        "a number is a word": ('"value":', '"value":"many","x":'),
        "numbers are no list": ('"cells": [\n        {', '"cells": 7, "x": [\n {'),
        "statistics are a number": ('\n  "statistics": [', '\n  "statistics": 3, "x": ['),
        "the name of a table is a path": ('"table": "', '"table": "../'),
        "a fact is missing": ('"confidence": ', '"x": '),
    }


@pytest.mark.parametrize("name", _reports_forged())
def test_a_forged_report_is_refused(name: str, dpcli: Command, tmp_path: Path) -> None:
    """By `verify`, or at least where it is used; never as a fault of dpcli."""
    spec, data = tmp_path / "spec.yaml", tmp_path / "data.csv"
    spec.write_text(SPEC.replace("NEIGHBORS", "add-remove"), "utf-8")
    data.write_text(DATA, "utf-8")
    ledger = ("--ledger", tmp_path / "dpcli-ledger.sqlite")
    words = ("release", spec, data, "--release-id", "r", "-o", tmp_path / "o.csv")
    dpcli(*words, "-q").succeeded()
    with closing(OpenLedger.open(ledger[1])) as opened:
        entry = opened.entry_of("r", "town")
        assert entry is not None
        outputs = entries.unpacked_outputs(entry.number, opened.outputs(entry.number))
        report = outputs["report.json"].decode()
        assert _reports_forged()[name][0] in report
        outputs["report.json"] = report.replace(*_reports_forged()[name], 1).encode()
        packed = {file: zlib.compress(content) for file, content in outputs.items()}
        digest = entry_digest(entry.head, packed)
        for statement in store.TRIGGERS:
            opened.query(f"DROP TRIGGER {statement.split()[2]}")
        for file, content in packed.items():
            opened.query("UPDATE outputs SET content = ? WHERE name = ?", content, file)
        opened.query("UPDATE entries SET seal = ? WHERE number = ?", digest, entry.number)
        for statement in store.TRIGGERS:
            opened.query(statement)
        anchor = opened.anchor
    anchor.write_text(anchor.read_text("ascii").replace(entry.digest, digest), "ascii")

    verified = dpcli("ledger", "verify", *ledger)
    assert (verified.status == 6) is ("path" not in name), verified.err
    for layout in ("long", "wide"):
        done = dpcli("ledger", "export", "r", "-o", tmp_path / f"{layout}.csv", "--layout", layout,
                     *ledger)  # fmt: skip
        assert done.status == 6 or (layout == "long" and "path" in name), done.err
    assert dpcli(*words, "--force").status in {0, 6}
