"""`plan`, `check` and `release` agree on what a ledger allows, in every state of the ledger."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from dpcli.ledger.balance import AccountTerms, terms_from_spec
from dpcli.ledger.chain import CLOSE
from dpcli.ledger.ledger import OpenLedger, create_ledger
from dpcli.privacy.loss import Loss
from dpcli.specification.load import parse_spec
from tests.support.cli import Command
from tests.support.ledgers import charge, render
from tests.support.rules import mostly_extended

CASES, CHUNKS = 200, 10

CENTRAL = """\
dpcli: 1
dataset: town
privacy: {{unit: row, neighbors: add-remove, budget: {budget}, composition: {rule}}}
columns: {{age: {{type: integer, bounds: [0, 100], missing: 40}}}}
statistics:
  - {{name: n, statistic: count, epsilon: {first}}}
  - {{name: s, statistic: sum, column: age, epsilon: {second}}}
"""

LOCAL = """\
dpcli: 1
model: local
dataset: town
privacy: {{unit: row, neighbors: change-one, budget: {budget}, composition: {rule}}}
columns:
  flag: {{type: boolean, values: ["0", "1"], missing: false}}
  age: {{type: integer, bounds: [0, 100], missing: 40}}
responses:
  - {{column: flag, mechanism: randomized_response, epsilon: {first}}}
  - {{column: age, mechanism: laplace, epsilon: {second}}}
"""


@dataclass
class Case:
    """A spec in a folder of its own, the terms of its account, and the options of the commands."""

    random: Random
    folder: Path
    spec: Path
    terms: AccountTerms
    ledger: Path
    options: list[str | Path]
    environment: dict[str, str]

    def spend(self, *epsilons: Fraction, terms: AccountTerms | None = None) -> None:
        """Charge the account with these epsilons, on the day of the case if it has a window."""
        terms = terms or self.terms
        book = create_ledger(self.ledger)
        if terms.dataset not in book.accounts():
            book.open_account(terms, "now")
        period = "2026-03-05" if terms.window else None
        for number, epsilon in enumerate(epsilons):
            charged = charge(f"{terms.dataset}{number}", str(epsilon), period=period)
            book.commit(replace(charged, terms=terms), render)
        book.close()

    def part(self, low: int, high: int) -> Fraction:
        """A random part of the budget, in percent."""
        return self.terms.budget.epsilon * self.random.randint(low, high) / 100


def other(case: Case, **changed: object) -> None:
    """An account that was opened on other terms."""
    fields = {name: getattr(case.terms, name) for name in AccountTerms.__slots__}
    case.spend(case.part(1, 20), terms=AccountTerms(**{**fields, **changed}))


def window(case: Case, *days: str) -> None:
    """An account with a window of seven days, and a release with or without a day."""
    other(case, window=7)
    if days:
        case.options += ["--period", case.random.choice(days)]


def budget_of(case: Case) -> Loss:
    """A budget that differs from that of the spec."""
    return Loss(case.terms.budget.epsilon * 2, case.terms.budget.delta)


def damaged(case: Case) -> None:
    """A ledger that was changed."""
    case.spend(case.part(1, 20))
    anchor = case.ledger.with_name(case.ledger.name + ".anchor")
    kind = case.random.randrange(5)
    if kind == 0:
        case.ledger.write_bytes(case.ledger.read_bytes()[:5000])
    elif kind == 1:
        anchor.unlink()
    elif kind == 2:
        anchor.write_text(anchor.read_text("ascii") + f"9 {'0' * 64}\n", "ascii")
    elif kind == 3:
        case.ledger.write_bytes(b"no database at all " * 300)
    else:
        with sqlite3.connect(case.ledger) as connection:
            connection.execute("DROP TRIGGER entries_no_delete")
            connection.execute("DELETE FROM entries WHERE number = 2")
        connection.close()


def missing(case: Case) -> None:
    """A named ledger that does not exist."""
    case.options += ["--ledger", case.folder / "none.sqlite"]


def lost(case: Case) -> None:
    """An anchor whose ledger is missing or empty."""
    case.spend(case.part(1, 20))
    case.ledger.unlink()
    if case.random.random() < 0.5:
        case.ledger.touch()


def demanded(case: Case) -> None:
    """The environment requires a ledger and an account; one of them may be missing."""
    case.environment["DPCLI_LEDGER_MUST_EXIST"] = "1"
    kind = case.random.randrange(3)
    if kind == 1:
        create_ledger(case.ledger).close()
    elif kind == 2:
        case.spend(case.part(1, 20))


def demanding(case: Case) -> None:
    """The spec requires a ledger and an account; one of them may be missing."""
    case.spec.write_text(case.spec.read_text("utf-8") + "ledger: must-exist\n", "utf-8")
    if case.random.random() < 0.5:
        case.spend(terms=case.terms)


def exhausted(case: Case) -> None:
    """Nothing is left of the budget, or almost nothing."""
    left = case.random.choice([Fraction(0), Fraction(1, 10**9)])
    case.spend(case.terms.budget.epsilon - left)


def day(case: Case) -> None:
    """A release with a day, on an account without a window."""
    case.spend()
    case.options += ["--period", "2026-03-05"]


def elsewhere(case: Case) -> None:
    """A ledger in another folder, named by an option or the environment."""
    (case.folder / "books").mkdir()
    case.ledger = case.folder / "books" / "l.sqlite"
    case.spend(case.part(1, 99))
    if case.random.random() < 0.5:
        case.options += ["--ledger", case.ledger]
    else:
        case.environment["DPCLI_LEDGER"] = str(case.ledger)


STATES: dict[str, Callable[[Case], object]] = {
    "no ledger": lambda case: None,
    "no ledger, and a day": lambda case: case.options.extend(["--period", "2026-03-05"]),
    "an empty file": lambda case: case.ledger.touch(),
    "a ledger without accounts": lambda case: create_ledger(case.ledger).close(),
    "an account that paid nothing": lambda case: case.spend(),
    "partly spent": lambda case: case.spend(*[case.part(1, 20)] * case.random.randint(1, 4)),
    "mostly spent": lambda case: case.spend(case.part(40, 99)),
    "exhausted": exhausted,
    "another unit": lambda case: other(case, unit="person by id"),
    "other neighbors": lambda case: other(
        case, neighbors="add-remove" if case.terms.neighbors == "change-one" else "change-one"
    ),
    "another composition": lambda case: other(
        case, composition="zcdp" if case.terms.composition == "sequential" else "sequential"
    ),
    "another budget": lambda case: other(case, budget=budget_of(case)),
    "a window without a day": window,
    "a window and a day": lambda case: window(case, "2026-03-05", "2026-03-11", "2026-04-01"),
    "an account without a window, and a day": day,
    "another dataset paid": lambda case: other(case, dataset="village"),
    "damaged": damaged,
    "named and missing": missing,
    "lost": lost,
    "demanded by the environment": demanded,
    "demanded by the spec": demanding,
    "elsewhere": elsewhere,
}  # fmt: skip


def make(number: int, folder: Path) -> Case:
    """A random spec, in a state that the number of the case selects."""
    random = Random(number)
    local = random.random() < 0.25
    rule = random.choice(["sequential", "sequential", "advanced", "zcdp", "zcdp", "pld"])
    epsilon = random.choice(["1", "2", "0.7"])
    budget = f"{{epsilon: {epsilon}{'' if rule == 'sequential' else ', delta: 1e-6'}}}"
    first, second = (random.choice(["0.05", "0.2", "0.3", "0.6"]) for _ in range(2))
    text = (LOCAL if local else CENTRAL).format(
        budget=budget, rule=rule, first=first, second=second
    )
    spec = folder / "spec.yaml"
    spec.write_text(text, "utf-8")
    case = Case(
        random, folder, spec, terms_from_spec(parse_spec(text, "spec.yaml")),
        folder / "dpcli-ledger.sqlite", [], {},
    )  # fmt: skip
    state = list(STATES)[number % len(STATES)]
    STATES[state](case)
    return case


def refusals(words: str) -> list[str]:
    """The errors on standard error, with their hints."""
    return re.findall(r"^error\[.*(?:\nhint: .*)?$", words, re.MULTILINE)


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("chunk", mostly_extended(range(CHUNKS), 0))
def test_plan_check_and_release_agree(
    chunk: int, dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status and the messages are the same, and neither plan nor check writes anything."""
    seen = set()
    for number in range(chunk, CASES, CHUNKS):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "data.csv").write_text("age,flag\n30,1\n50,0\n", "utf-8")
        case = make(number, folder)
        with monkeypatch.context() as patched:
            for name in ("DPCLI_LEDGER", "DPCLI_LEDGER_MUST_EXIST"):
                patched.delenv(name, raising=False)
            for name, value in case.environment.items():
                patched.setenv(name, value)
            before = contents(folder)
            local = "model: local" in case.spec.read_text("utf-8")
            data = folder / "data.csv"
            checked = dpcli("check", case.spec, data, *case.options)
            planned = dpcli("plan", case.spec, *case.options)
            facts = dpcli("plan", case.spec, "--json", *case.options).json
            assert contents(folder) == before
            command = ["local", "randomize"] if local else ["release"]
            released = dpcli(*command, case.spec, data, "-q", *case.options)
        context = f"case {number}, {list(STATES)[number % len(STATES)]}: {released.err}"
        assert checked.status == planned.status == released.status, context
        assert refusals(checked.err) == refusals(planned.err) == refusals(released.err), context
        assert facts["fits"] is (released.status == 0), context
        assert released.status in {0, 5, 6}, context
        seen.add(released.status)
    assert seen == {0, 5, 6}


def test_the_cases_cover_every_state() -> None:
    """Each state occurs at least nine times among the cases, in different chunks."""
    for place in range(len(STATES)):
        numbers = [number for number in range(CASES) if number % len(STATES) == place]
        assert len(numbers) >= 9 and len({number % CHUNKS for number in numbers}) >= 5


def test_every_command_refuses_a_closed_account(dpcli: Command, tmp_path: Path) -> None:
    """A closed account pays for nothing more: exit 5, with the same messages."""
    spec, data = tmp_path / "spec.yaml", tmp_path / "data.csv"
    text = CENTRAL.format(budget="{epsilon: 1}", rule="sequential", first="0.1", second="0.1")
    spec.write_text(text, "utf-8")
    data.write_text("age,flag\n30,1\n", "utf-8")
    assert dpcli("release", spec, data, "-q").status == 0
    book = OpenLedger.open(tmp_path / "dpcli-ledger.sqlite")
    with book.checked_writing():
        book.append(book.next_entry(CLOSE, "town", {"created": "now"}))
    book.update_anchor()
    book.close()
    outcomes = [dpcli(*words, spec, *([] if words == ["plan"] else [data]))
            for words in (["plan"], ["check"], ["release"])]  # fmt: skip

    assert [outcome.status for outcome in outcomes] == [5, 5, 5]
    assert all("error[account-closed]" in outcome.err for outcome in outcomes)
    assert dpcli("plan", spec, "--json", "--times", "3").json["times"]["most"] == 0
