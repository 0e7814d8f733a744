"""Prices to losses: given, needed for an error, or shares of what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import log

from dpcli.errors import Problem, SpecError
from dpcli.mechanisms.calibration import CannotCalibrate, Mechanism
from dpcli.plan.model import Part, PlannedEntry, counted
from dpcli.plan.shares import DIGITS, divide, share_of
from dpcli.privacy.decimals import readable_text, short_up
from dpcli.privacy.loss import Loss
from dpcli.privacy.noise import Noise
from dpcli.spec.model import Entry, Spec
from dpcli.spec.prices import LEAST_EPSILON, LEAST_RHO, MOST_EPSILON

Branch = tuple[str, int] | None
Planner = Callable[[Entry, Mechanism, Loss, Spec, Branch], PlannedEntry]


def solve(
    spec: Spec, branches: Mapping[str, tuple[str, int]], planner: Planner
) -> list[PlannedEntry]:
    """Every entry with a loss of its own; SpecError if one cannot be answered.

    Losses that are given or follow from an error come first; then shares divide what
    those leave of the budget.

    Counted in rho, what costs least by itself is not always so in all, since plain sums
    may be less: then mechanisms that need no delta anywhere are tried as well.
    """
    solver = _Solver(spec, branches, planner)
    found = solver.all(spec.priced)
    free = [e for e in spec.priced if len(e.mechanisms) > 1 and (e.price.error or e.price.share)]
    if not spec.privacy.composition.takes_rho or not free:
        return found
    plain = [
        replace(entry, mechanisms=entry.mechanisms[:1]) if entry in free else entry
        for entry in spec.priced
    ]
    with suppress(SpecError):
        other = _Solver(spec, branches, planner).all(plain)
        return min(found, other, key=solver.cost)
    return found


class _Solver:
    """The prices of one spec, and what went wrong with them."""

    def __init__(
        self, spec: Spec, branches: Mapping[str, tuple[str, int]], planner: Planner
    ) -> None:
        self._spec, self._branches, self._planner = spec, branches, planner
        self._rule = spec.privacy.composition
        self._problems: list[Problem] = []

    def all(self, entries: Sequence[Entry]) -> list[PlannedEntry]:
        """Every entry; SpecError if one cannot be answered."""
        found = {e.request.name: self.planned(e) for e in entries if not e.price.share}
        self.stop_at_problems()
        sharing = [entry for entry in entries if entry.price.share]
        if sharing:
            first = [entry for entry in found.values() if entry is not None]
            shared = self.shared(first, sharing)
            self.stop_at_problems()
            found |= {entry.entry.request.name: entry for entry in shared}
        return [entry for each in entries if (entry := found[each.request.name]) is not None]

    def cost(self, entries: Sequence[PlannedEntry]) -> tuple[bool, float]:
        """What to prefer: what fits; then less noise where all is shared out, or less rho.

        It is rhos that an account adds up, release by release.
        """
        budget = self._spec.privacy.budget
        total = self._rule.total(counted(entries, self._spec), budget.delta)
        if any(planned.entry.price.share for planned in entries):
            return not total.within(budget), sum(map(self._roughness, entries))
        rhos = (one.rho * times for one, times in counted(entries, self._spec).items())
        return not total.within(budget), float(sum(rhos))

    def stop_at_problems(self) -> None:
        """Raise SpecError if any were found."""
        if self._problems:
            raise SpecError(self._problems)

    def planned(self, entry: Entry) -> PlannedEntry | None:
        """An entry whose price depends on no other; None after a problem is recorded."""
        try:
            if entry.price.error is not None:
                return self._reaching(entry, entry.price.error)
            return self._most_accurate(entry, self._given(entry))
        except CannotCalibrate as refusal:
            self._refuse(entry, refusal.reason, refusal.hint)
            return None

    def _refuse(self, entry: Entry, reason: str, hint: str) -> None:
        """Record that an entry cannot be answered."""
        message = f"`{entry.request.name}` cannot be answered: {reason}"
        self._problems.append(Problem("cannot-calibrate", message, hint))

    def _given(self, entry: Entry) -> Loss:
        """The loss that the spec gives."""
        price = entry.price
        if price.rho is not None:
            return Loss(Fraction(0), price.delta, price.rho)
        assert price.epsilon is not None
        return Loss(price.epsilon, price.delta)

    def _plan(self, entry: Entry, mechanism: Mechanism, target: Loss) -> PlannedEntry:
        """The entry at that loss by that mechanism; without a delta that nobody spends."""
        if not mechanism.needs_delta and not entry.selects:
            target = replace(target, delta=Fraction(0))
        branch = self._branches.get(entry.request.name)
        return self._planner(entry, mechanism, target, self._spec, branch)

    def _able(self, entry: Entry, target: Loss) -> list[Mechanism]:
        """The mechanisms that could be taken at that loss."""
        if len(entry.mechanisms) == 1:
            return list(entry.mechanisms)
        paid = target.delta > 0 or target.rho is not None
        return [one for one in entry.mechanisms if paid or not one.needs_delta]

    def _most_accurate(self, entry: Entry, target: Loss) -> PlannedEntry:
        """The entry by that of its mechanisms which adds the least noise."""
        found = [self._plan(entry, one, target) for one in self._able(entry, target)]
        return min(found, key=self._roughness)

    def _roughness(self, planned: PlannedEntry) -> float:
        """The errors of all parts, as a sum of logarithms."""
        errors = (part.error(self._spec.confidence) for part in planned.parts)
        return sum(log(error) for error in errors if error)

    def _reaching(self, entry: Entry, error: Fraction) -> PlannedEntry:
        """The entry with the least loss whose error is at most `error`."""
        found = []
        for mechanism in self._able(entry, self._target(Fraction(1), entry)):
            reached = self._least(entry, mechanism, error)
            if reached is not None:
                found.append(reached)
        if not found:
            what = "epsilon" if not self._rule.takes_rho else "rho"
            raise CannotCalibrate(
                f"no {what} that protects anybody reaches an error of {readable_text(error)}",
                "allow a larger error, or ask about fewer groups",
            )
        return min(found, key=_cost)

    def _least(self, entry: Entry, mechanism: Mechanism, error: Fraction) -> PlannedEntry | None:
        """With the least loss found, to so many digits; None if it would protect nobody."""
        first = self._plan(entry, mechanism, self._target(Fraction(1), entry))
        if len(first.parts) > 1:
            raise CannotCalibrate(
                "its error is not known before it is answered",
                f"give `{'rho' if self._rule.takes_rho else 'epsilon'}` or `share`; `error` is for "
                "statistics with a single question",
            )
        (part,) = first.parts
        if part.public:
            return self._plan(entry, mechanism, self._target(LEAST_EPSILON, entry))
        noise = _most_noise(part, error, self._spec.confidence)
        least = LEAST_RHO if self._rule.takes_rho else LEAST_EPSILON
        size = max(self._size_of(part, noise, entry), least)
        step = Fraction(1, 10**DIGITS)
        while size <= MOST_EPSILON:
            planned = self._plan(entry, mechanism, self._target(size, entry))
            if planned.parts[0].error(self._spec.confidence) <= error:
                return planned
            # What rounding made a little too small.
            size, step = short_up(size * (1 + step), DIGITS), 2 * step
        return None

    def _size_of(self, part: Part, noise: Noise, entry: Entry) -> Fraction:
        """How much an answer with that noise reveals, in the measure that is searched."""
        mechanism, moved = part.mechanism, part.sensitivity
        if self._rule.takes_rho:
            return short_up(mechanism.rho(noise, moved), DIGITS)
        if not mechanism.needs_delta:
            return short_up(mechanism.loss(noise, moved, Fraction(0)).epsilon, DIGITS)
        delta = entry.price.delta / 2 if entry.selects else entry.price.delta
        low, high = LEAST_EPSILON, MOST_EPSILON
        while high > low * (1 + Fraction(1, 10**DIGITS)):
            middle = Fraction((float(low) * float(high)) ** 0.5)
            if mechanism.loss(noise, moved, middle).delta <= delta:
                high = middle
            else:
                low = middle
        return short_up(high, DIGITS)

    def _target(self, size: Fraction, entry: Entry) -> Loss:
        """A loss of that size in the measure that entries are solved in."""
        if self._rule.takes_rho:
            return Loss(Fraction(0), entry.price.delta, size)
        return Loss(size, entry.price.delta)

    def shared(self, first: Sequence[PlannedEntry], sharing: Sequence[Entry]) -> list[PlannedEntry]:
        """Entries with shares of what the first ones leave; none after a problem is recorded."""
        asked = sharing[0]

        def at(entries: Sequence[Entry], size: Fraction) -> list[PlannedEntry]:
            nonlocal asked
            found = []
            for entry in entries:
                asked = entry
                share = min(size * share_of(entry), MOST_EPSILON)
                found.append(self._most_accurate(entry, self._target(share, entry)))
            return found

        try:
            return divide(first, sharing, self._spec, at)
        except CannotCalibrate as refusal:
            self._refuse(asked, refusal.reason, refusal.hint)
            return []


def _most_noise(part: Part, error: Fraction, confidence: Fraction) -> Noise:
    """The noise of the greatest scale found whose error is at most `error`."""
    kind = part.noise.kind

    def enough(scale: Fraction) -> bool:
        return replace(part, noise=Noise(kind, scale)).error(confidence) <= error

    low = high = part.noise.scale
    while not enough(low):
        high, low = low, low / 2
    while high == low or enough(high):
        low, high = high, 2 * high
    while high > low * (1 + Fraction(1, 10 ** (DIGITS + 1))):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return Noise(kind, low)


def _cost(planned: PlannedEntry) -> Fraction:
    """How much an entry reveals, for a comparison of mechanisms."""
    if planned.target.rho is not None:
        return planned.target.rho
    return planned.target.epsilon
