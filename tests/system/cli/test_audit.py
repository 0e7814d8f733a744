"""`dpcli audit` reads nothing but its spec, spends nothing, and fails where something is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpcli.mechanisms.pure import Laplace
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array
from dpcli.proof.report import HEADING
from tests.support.cli import LOCAL, ROOT, Command

MINIMAL = ROOT / "specs" / "minimal.yaml"

FEW = ("--draws", 5_000, "--seconds", 2)


def test_it_prints_a_table_and_a_sentence(dpcli: Command, tmp_path: Path) -> None:
    """No file is written, and no ledger is made."""
    before = list(tmp_path.iterdir())
    done = dpcli("audit", MINIMAL, *FEW, "--seed", 7)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"{HEADING}\ntown-minimal: seed 7\n")
    assert "no fault seen" in done.out
    assert "Nothing above its claim was seen." in done.out
    assert list(tmp_path.iterdir()) == before


def test_json_says_that_it_is_no_release(dpcli: Command) -> None:
    """Each entry has what neighbors changed, and a bound next to its claim."""
    found = dpcli("audit", MINIMAL, *FEW, "--json").succeeded().json
    assert (found["audit"], found["release"], found["kept"]) == (True, False, True)
    (entry,) = found["statistics"]
    (answer,) = entry["answers"]
    assert answer["stated"] == answer["changed"]
    assert entry["draws"]["bound"] < entry["draws"]["claimed"] == 0.1
    assert entry["faults"] == []


def test_noise_that_is_too_small_ends_with_status_1(
    dpcli: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table, the sentence and JSON say so, too."""
    real = Laplace.add_noise

    def wrong(self: Laplace, noise: Noise, values: Array) -> Array:
        return real(self, replace(noise, scale=noise.scale / 10), values)

    monkeypatch.setattr(Laplace, "add_noise", wrong)
    done = dpcli("audit", MINIMAL, *FEW)
    assert done.status == 1
    assert "above" in done.out
    assert "Something is above its claim" in done.out
    assert "error[promise-broken]: visits: " in done.err
    document = dpcli("audit", MINIMAL, *FEW, "--json").json
    assert document["kept"] is False
    assert len(document["statistics"][0]["faults"]) > done.err.count("promise-broken")
    assert "more of this kind" in done.err


def test_an_audit_says_what_it_could_not_do_in_time(dpcli: Command) -> None:
    """A bound of zero says nothing, and fewer draws than were wanted show less."""
    done = dpcli("audit", MINIMAL, "--draws", 10_000_000, "--seconds", 1).succeeded()
    assert "Ended by --seconds too early: draws of visits." in done.out
    assert " no bound " in dpcli("audit", MINIMAL, "--draws", 20, "--seconds", 2).succeeded().out


def test_data_and_a_seed_of_noise_cannot_be_named(dpcli: Command, data: Path) -> None:
    """No second argument or option is accepted, and no spec of the local model."""
    assert dpcli("audit", MINIMAL, data).status == 2
    for option in ("--data", "--no-noise", "--noise-seed"):
        assert dpcli("audit", MINIMAL, option, data).status == 2
    assert "error[simulate-local]" in dpcli("audit", LOCAL).err
