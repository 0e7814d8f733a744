"""How an answer is made noisy, and what it may reveal."""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from typing import Annotated, Any

from dpcli import mechanisms
from dpcli.mechanisms.base import Choosing
from dpcli.mechanisms.calibration import Mechanism
from dpcli.messages import shown
from dpcli.privacy.loss import Price
from dpcli.spec.columns import Scope
from dpcli.spec.findings import attempt
from dpcli.spec.part import Part
from dpcli.statistics.base import Statistic
from dpcli.values import Choice, described

AUTO = "auto"
"""What a spec writes to leave the choice of the mechanism to the plan."""

WAYS = ("epsilon", "rho", "error", "share")
"""How a price can be given; one of them is needed."""


def _mechanisms() -> dict[str, str]:
    auto = "The one that is most accurate, or costs least."
    return {**described(mechanisms.MECHANISMS), AUTO: auto}


def _calibrations() -> dict[str, str]:
    return {name: "" for one in mechanisms.MECHANISMS for name in one.calibrations}


MechanismName = Annotated[str, Choice("unknown-mechanism", _mechanisms)]
Calibration = Annotated[str, Choice("unknown-calibration", _calibrations)]

Answering = tuple[tuple[Mechanism, ...], Price, str]
"""The mechanisms that may answer an entry, its price, and how they choose their noise."""


def able_to_answer(statistic: Statistic) -> list[Mechanism]:
    """The mechanisms that can answer a statistic, the default first."""
    every = mechanisms.MECHANISMS
    return [one for one in every if isinstance(one, Choosing) == statistic.chooses]


def single_way(part: Part[Any], ways: Collection[str], absent: str) -> str:
    """Which one of several keys is written; without any of them that is the problem `absent`."""
    given = [way for way in ways if part.has(way)]
    if not given:
        raise part.report(absent, ways=ways)
    if len(given) > 1:
        raise part.report_key("price-twice", given[1], given=given, first=given[0])
    return given[0]


def read_answering(
    part: Part[Any],
    scope: Scope,
    statistic: Statistic,
    keys: Callable[[], bool],
    absent: str = "price-required",
) -> Answering:
    """How a statistic is answered and at which price.

    `keys` says whether the entry has private keys. Without a price that is the problem `absent`.
    """
    able = able_to_answer(statistic)
    read_mechanisms, read_way = (
        attempt(_chosen, part, statistic, able),
        attempt(_way, part, scope, absent),
    )
    chosen, way = read_mechanisms(), read_way()
    calibration = attempt(_calibration, part, chosen, way)
    # Of what is counted in rho, only private keys spend a delta of their own.
    rule, selects, delta = scope.composition, keys(), part.values.delta
    in_rho = way == "rho" or (way != "epsilon" and rule is not None and rule.takes_rho)
    needs = [one.needs_delta and not in_rho for one in chosen]
    if delta is not None and not any(needs) and not selects:
        other = next((one.name for one in able if one.needs_delta), None)
        code = "delta-not-taken.rho" if in_rho else "delta-not-taken.mechanism"
        code = code if in_rho or other else "delta-not-taken"
        raise part.report_key(code, "delta", mechanism=chosen[0].name, other=other)
    if delta is None and (all(needs) or selects) and (way != "share" or (selects and in_rho)):
        needing = shown(chosen[0].name) if all(needs) else "`keys: private`"
        place = ["mechanism"] if part.has("mechanism") else []
        raise part.report("delta-required", *place, needing=needing)
    price = Price(**{way: getattr(part.values, way)}, delta=delta or Fraction(0))
    return chosen, price, calibration()


def _chosen(part: Part[Any], statistic: Statistic, able: list[Mechanism]) -> tuple[Mechanism, ...]:
    """The mechanism of that name, all that can answer, or the first of those."""
    name = part.values.mechanism
    if name in (None, AUTO):
        return tuple(able) if name else (able[0],)
    found = tuple(one for one in able if one.name == name)
    if not found:
        code = "mechanism-not-taken.choice" if statistic.chooses else "mechanism-not-taken"
        names = [one.name for one in able]
        raise part.report(code, "mechanism", mechanism=name, able=names)
    return found


def _way(part: Part[Any], scope: Scope, absent: str) -> str:
    """How the price is given, where the composition adds up prices of that kind."""
    rule, fields = scope.composition, type(part.values).model_fields
    in_rho = rule is None or rule.takes_rho
    ways = [way for way in WAYS if way in fields and (way != "rho" or in_rho or part.has("rho"))]
    way = single_way(part, ways, absent)
    if way == "rho" and rule is not None and not in_rho:
        raise part.report_key("rho-not-taken", "rho", composition=rule.name)
    return way


def _calibration(part: Part[Any], chosen: tuple[Mechanism, ...], way: str) -> str:
    able = chosen[0].calibrations
    if len(chosen) > 1 or way != "epsilon":
        # A search, or a rho, has one way to choose noise.
        able = able[:1]
    name: str | None = getattr(part.values, "calibration", None)
    if name is None or name in able:
        return name or able[0]
    who = chosen[0].name if len(chosen) == 1 else AUTO
    code = "unknown-calibration.able"
    raise part.report(code, "calibration", word=name, choices=able, mechanism=who)
