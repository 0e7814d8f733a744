"""What a loss means is stated in several places: they speak of the same numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.cli import Command, reported, written

SPEC = """\
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: NEIGHBORS, composition: RULE, budget: {SIZE, delta: 1e-6}}
columns:
  sex: {type: category, values: [f, m]}
statistics:
  - {name: n, statistic: count, by: [sex], mechanism: gaussian, AMOUNT}
"""

ROW = re.compile(r"^ +10% +([\d.e-]+)% +([\d.e-]+)%$", re.MULTILINE)
CHANCE = re.compile(r"(?<=with a probability of at most )1 in [\d,]+")


def spec_text(neighbors: str, rule: str, size: str, amount: str) -> str:
    """The spec with these words."""
    text = SPEC.replace("NEIGHBORS", neighbors).replace("RULE", rule)
    return text.replace("SIZE", size).replace("AMOUNT", amount)


def one_line(text: str) -> str:
    """A text without line breaks and escapes."""
    return " ".join(text.replace("\\", "").replace("\u00a0", " ").split())


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize(
    ("rule", "size", "amount"),
    [
        ("sequential", "epsilon: 1", "epsilon: 1, delta: 1e-6"),
        ("sequential", "epsilon: 8.4", "epsilon: 8.4, delta: 1e-6"),
        ("zcdp", "rho: 0.02", "rho: 0.02"),
    ],
)
def test_all_texts_state_the_same_meaning(
    neighbors: str, rule: str, size: str, amount: str, dpcli: Command, tmp_path: Path
) -> None:
    """Plan, report, risks and `explain` agree on presence and on a fact, and say which is meant."""
    text, report = spec_text(neighbors, rule, size, amount), tmp_path / "report"
    spec, data = written(tmp_path, text, "sex\n" + "f\nm\n" * 20)
    forms = [report.with_suffix(ending) for ending in (".json", ".md", ".html")]
    named = [word for path in forms for word in ("--report", path)]
    dpcli("release", spec, data, "-q", "-o", tmp_path / "o.csv", *named).succeeded()
    kind, number = size.split(": ")
    explained = dpcli("explain", "privacy", f"--{kind}", number, "--delta", "1e-6").out
    planned = dpcli("plan", spec, "--json").json
    stated = reported(forms[0])

    ranges, chances = ROW.findall(explained), CHANCE.findall(one_line(explained))
    neighboring, values = zip(ranges, chances, strict=True)
    about_fact = values if neighbors == "add-remove" else neighboring
    (low, high), chance = about_fact
    in_general = f"at least {low}% and at most {high}% sure of it"
    for privacy in (planned["privacy"], stated["privacy"]):
        if float(high) > 99:
            assert privacy["headline"].startswith("This epsilon does not limit what can be learned")
        else:
            known = f"10% sure of a fact about a row in the data can be at most {high}% sure"
            assert known in privacy["headline"]
            assert CHANCE.findall(privacy["headline"]) == [chance]
        (fact,) = (line for line in privacy["meaning"] if "fact about a row in the data" in line)
        assert in_general in fact and CHANCE.findall(fact) == [chance]
        present = [line for line in privacy["meaning"] if "in the data at all: " in line]
        assert len(present) == (neighbors == "add-remove")
        for line in present:
            (low_present, high_present), rare = neighboring
            assert f"at least {low_present}% and at most {high_present}% sure of it" in line
            assert CHANCE.findall(line) == [rare]
        lines = [privacy["headline"], *privacy["meaning"]]
    for path in forms[1:]:
        page = one_line(re.sub("<[^>]+>", "", path.read_text(encoding="utf-8")))
        assert all(line in page for line in lines)
    (risk,) = (one for one in planned["risks"] if one["risk"] == "epsilon")
    (in_report,) = (one for one in stated["risks"] if one["risk"] == "epsilon")
    assert risk["found"] == in_report["found"]
    assert risk["found"] in one_line(dpcli("plan", spec, "--risks").out)
    plain = one_line(dpcli("plan", spec).out)
    for text in (risk["found"], plain):
        # The release spends the whole budget, so there is one figure for each question.
        assert planned["privacy"]["headline"] in text
        stated_chances = CHANCE.findall(planned["privacy"]["headline"])
        assert {*CHANCE.findall(text)} == {*stated_chances, *chances[: neighbors == "add-remove"]}
        if neighbors == "add-remove":
            sure = f"sure that a certain row is in the data at all can be at most {high_present}%"
            assert sure in text
    # Under change-one, noise is rounded up, and a little of rho is left.
    assert rule == "zcdp" or "This release spends all of that." in risk["found"]


def test_this_release_and_all_releases_are_two_statements(dpcli: Command, tmp_path: Path) -> None:
    """Half of the budget has figures of its own; those of the budget say why they are weaker."""
    spec, _ = written(tmp_path, spec_text("add-remove", "zcdp", "rho: 0.1", "rho: 0.05"))
    planned = dpcli("plan", spec, "--json").json
    (risk,) = (one for one in planned["risks"] if one["risk"] == "epsilon")
    explained = dpcli("explain", "privacy", "--rho", "0.1", "--delta", "1e-6").out
    release, budget = risk["found"].split(" All releases together spend at most ")
    present, fact = CHANCE.findall(one_line(explained))

    assert planned["privacy"]["headline"] in release
    assert "after this release" in release and "after this release" not in budget
    assert "After all of these, a recipient" in budget
    weaker, same = CHANCE.findall(budget)
    assert same == present
    assert int(weaker[5:].replace(",", "")) < int(fact[5:].replace(",", ""))
    assert (
        "Later releases may have private keys, for which the bound in rho has exceptions" in budget
    )


def test_the_pages_of_epsilon_and_delta_say_what_they_bound(dpcli: Command) -> None:
    """Delta is not the probability of an exception; epsilon counts twice for a fact."""
    epsilon, delta = (one_line(dpcli("explain", word).out) for word in ("epsilon", "delta"))

    assert "twice epsilon" in epsilon and "in the data at all" in epsilon
    assert "not the probability" in delta and "explain privacy --epsilon E --delta D" in delta
