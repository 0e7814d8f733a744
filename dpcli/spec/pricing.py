"""The price of an entry: one of epsilon, rho, error and share, and maybe a delta."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.mechanisms.calibration import Mechanism
from dpcli.privacy.price import Price
from dpcli.spec.nodes import Mapping, Word
from dpcli.spec.prices import (
    read_above_zero,
    read_delta,
    read_epsilon,
    read_rho,
)
from dpcli.spec.scope import Scope
from dpcli.spec.wording import listed, shown

WAYS = ("epsilon", "rho", "error", "share")
"""How a price can be given; one of them is needed."""

MOST_ERROR = Fraction(10**18)
MOST_SHARE = Fraction(10**6)


class Pricing:
    """The price of one entry; None where problems were recorded."""

    def __init__(
        self,
        node: Mapping,
        scope: Scope,
        user: str,
        mechanisms: Sequence[Mechanism],
        able: Sequence[Mechanism],
    ) -> None:
        self._node, self._findings, self._user = node, scope.findings, user
        self._mechanisms, self._able = mechanisms, able
        self._composition = scope.composition
        self.price = self._price()

    def _price(self) -> Price | None:
        """What the entry may spend, or must reach."""
        given = [way for way in WAYS if self._node.get(way) is not None]
        if len(given) != 1:
            self._refuse_count(given)
            return None
        (way,) = given
        word = self._node.word(way)
        if word is None:
            return None
        size = self._size(way, word)
        delta = self._delta(way)
        if size is None or delta is None or not self._mechanisms:
            return None
        return Price(**{way: size}, delta=delta)

    def _refuse_count(self, given: Sequence[str]) -> None:
        """Records that there is no price, or more than one."""
        if not given:
            rho = ", `rho`" if self._in_rho else ""
            self._findings.add(
                "price-required",
                f"{self._user} has no price: none of `epsilon`{rho}, `error` and `share`",
                "add `epsilon: ...`, such as `epsilon: 0.5`; smaller protects more",
                self._node.span,
            )
            return
        self._findings.add(
            "price-twice",
            f"{self._user} has {listed(given)}; each of them is a price",
            f"keep one of them, such as `{given[0]}`",
            self._node.key_span(given[1]),
        )

    def _size(self, way: str, word: Word) -> Fraction | None:
        """The number of the price."""
        match way:
            case "epsilon":
                return read_epsilon(word, self._findings)
            case "rho":
                return read_rho(word, self._findings) if self._takes_rho() else None
            case "error":
                return read_above_zero(word, "`error`", MOST_ERROR, "25", self._findings)
            case _:
                return read_above_zero(word, "`share`", MOST_SHARE, "1", self._findings)

    def _takes_rho(self) -> bool:
        """Whether the composition adds up rhos; recorded if not."""
        if self._composition is None or self._composition.takes_rho:
            return True
        self._findings.add(
            "rho-not-taken",
            f"{self._user} has a `rho`, which {shown(self._composition.name)} composition does "
            "not add up",
            "use `composition: zcdp` under `privacy:`, or give `epsilon`",
            self._node.key_span("rho"),
        )
        return False

    @property
    def _in_rho(self) -> bool:
        """Whether losses are counted in rho; if the composition is wrong, maybe."""
        return self._composition is None or self._composition.takes_rho

    def _delta(self, way: str) -> Fraction | None:
        """The delta, zero if there is none and none is needed."""
        word, keys = self._node.word("delta"), self._node.get("keys") is not None
        delta: Fraction | None = Fraction(0)
        if word is not None:
            delta = read_delta(word, self._findings)
        if delta is None or not self._mechanisms:
            return None
        # Of what is counted in rho, only private keys spend a delta of their own.
        in_rho = way == "rho" or (
            way != "epsilon" and self._in_rho and self._composition is not None
        )
        may = any(one.needs_delta for one in self._mechanisms) and not in_rho
        must = all(one.needs_delta for one in self._mechanisms) and not in_rho
        if word is not None and not may and not keys:
            self._refuse_delta(in_rho=in_rho)
            return None
        if word is None and (must or keys) and (way != "share" or (keys and in_rho)):
            needs = "`keys: private`" if keys and not must else shown(self._mechanisms[0].name)
            self._findings.add(
                "delta-required",
                f"{needs} needs a `delta`, and {self._user} has none",
                "add `delta: 1e-7` or so, far below one divided by the number of people",
                (self._node.word("mechanism") or self._node).span,
            )
            return None
        return delta

    def _refuse_delta(self, *, in_rho: bool) -> None:
        """Records a delta that nobody would spend."""
        if in_rho:
            message = f"{self._user} is counted in rho, and the delta is that of the budget"
            hint = "remove `delta`"
        else:
            others = [other.name for other in self._able if other.needs_delta]
            message = f"{shown(self._mechanisms[0].name)} takes no `delta`: its guarantee is pure"
            hint = "remove `delta`" + (f", or use `mechanism: {others[0]}`" if others else "")
        self._findings.add("delta-not-taken", message, hint, self._node.key_span("delta"))
