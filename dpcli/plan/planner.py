"""Spec to plan: what each entry may spend, and whether the budget allows it all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import floor

from dpcli.composition.base import Missing
from dpcli.errors import BudgetError, Problem, SpecError
from dpcli.mechanisms.calibration import Mechanism
from dpcli.plan.entries import EntryPlanner, branches
from dpcli.plan.model import Part, Plan, PlannedEntry, counted
from dpcli.plan.shares import DIGITS, Shares
from dpcli.privacy.decimals import decimal_text, readable_text, short_up
from dpcli.privacy.loss import Loss
from dpcli.privacy.noise import Noise
from dpcli.privacy.search import bisect, greatest_down
from dpcli.spec.model import Entry, Spec
from dpcli.values import LEAST_EPSILON, LEAST_RHO, MOST_EPSILON


def make_plan(spec: Spec) -> Plan:
    """The complete plan of a spec of either model; SpecError when an entry cannot be answered."""
    privacy = spec.privacy
    try:
        entries = allocate(spec)
        bound = privacy.composition.bound(counted(entries, spec), privacy.budget.delta)
    except Missing as missing:
        rule, package = privacy.composition.name, str(missing)
        raise SpecError.about("package-missing", rule=rule, package=package) from None
    if spec.quality is None:
        return Plan(spec, tuple(entries), bound)
    quality, *statistics = entries
    return Plan(spec, tuple(statistics), bound, quality)


def require_budget(plan: Plan) -> None:
    """Raise BudgetError, with what would fit, unless the budget allows the plan."""
    if plan.fits:
        return
    budget, spent = plan.spec.privacy.budget, plan.spent
    losses = [("epsilon", spent.epsilon, budget.epsilon), ("delta", spent.delta, budget.delta)]
    if budget.rho is not None and spent.rho is not None:
        losses = [("rho", spent.rho, budget.rho), *losses[1:]]
        if spent.rho <= budget.rho:
            losses.insert(1, ("epsilon", spent.epsilon, budget.epsilon))
    raise BudgetError(
        Problem(
            f"over-budget-{word}",
            f"the release asks for {word} {readable_text(wanted)}, "
            f"but the budget allows {readable_text(allowed)}",
            _remedy(plan, word, allowed / wanted),
        )
        for word, wanted, allowed in losses
        if wanted > allowed
    )


def _remedy(plan: Plan, word: str, part: Fraction) -> str:
    """What to change so that a plan fits; its losses fit if they are multiplied by `part`."""
    things = "responses" if plan.is_local else "statistics"
    if plan.spec.privacy.composition.name != "sequential":
        return f"give {things} less, drop some, or allow more under `privacy: budget:`"
    fitting = Fraction(floor(part * 1000), 1000)
    if not fitting:
        return f"drop the {things} that need {word}, or allow some under `privacy: budget:`"
    return (
        f"multiply every {word} by {decimal_text(fitting, 3)}, drop {things}, "
        "or allow more under `privacy: budget:`"
    )


def allocate(spec: Spec) -> list[PlannedEntry]:
    """Every entry with a loss of its own; SpecError if one cannot be answered.

    Losses that are given or follow from an error come first; then shares divide what
    those leave of the budget.

    Counted in rho, what costs least by itself is not always so in all, since plain sums
    may be less: then mechanisms that need no delta anywhere are tried as well.
    """
    planner = EntryPlanner(spec, branches(spec))
    found = _allocated(spec.priced, planner)
    free = [e for e in spec.priced if len(e.mechanisms) > 1 and (e.price.error or e.price.share)]
    if not spec.privacy.composition.takes_rho or not free:
        return found
    plain = [
        replace(entry, mechanisms=entry.mechanisms[:1]) if entry in free else entry
        for entry in spec.priced
    ]
    with suppress(SpecError):
        return min(found, _allocated(plain, planner), key=lambda one: _preference(one, planner))
    return found


def _allocated(entries: Sequence[Entry], planner: EntryPlanner) -> list[PlannedEntry]:
    """Every entry; SpecError with all problems if one cannot be answered."""
    found: dict[str, PlannedEntry] = {}
    problems: list[Problem] = []
    for entry in entries:
        if not entry.price.share:
            try:
                found[entry.request.name] = _alone(entry, planner)
            except SpecError as refusal:
                problems += refusal.problems
    if problems:
        raise SpecError(problems)
    sharing = [entry for entry in entries if entry.price.share]
    if sharing:
        shared = Shares(list(found.values()), sharing, planner).largest()
        found |= {entry.name: entry for entry in shared}
    return [found[entry.request.name] for entry in entries]


def _preference(entries: Sequence[PlannedEntry], planner: EntryPlanner) -> tuple[bool, float]:
    """What to prefer: what fits; then less noise where all is shared out, or less rho.

    An account adds up rhos, release by release.
    """
    over = not planner.total(entries).within(planner.spec.privacy.budget)
    if any(planned.entry.price.share for planned in entries):
        return over, sum(map(planner.noisiness, entries))
    answers = counted(entries, planner.spec)
    return over, float(sum(one.rho * times for one, times in answers.items()))


def _alone(entry: Entry, planner: EntryPlanner) -> PlannedEntry:
    """An entry whose price depends on no other."""
    price = entry.price
    if price.error is not None:
        return _reaching(entry, price.error, planner)
    if price.rho is not None:
        return planner.most_accurate(entry, Loss(Fraction(0), price.delta, price.rho))
    assert price.epsilon is not None
    return planner.most_accurate(entry, Loss(price.epsilon, price.delta))


def _reaching(entry: Entry, error: Fraction, planner: EntryPlanner) -> PlannedEntry:
    """The entry with the least loss whose error is at most `error`."""
    reached = [
        _least(entry, mechanism, error, planner)
        for mechanism in planner.usable(entry, planner.target(Fraction(1), entry))
    ]
    found = [one for one in reached if one is not None]
    if not found:
        name, word = entry.request.name, planner.measure
        text = readable_text(error)
        raise SpecError.about("cannot-calibrate.out-of-reach", name=name, word=word, error=text)
    return min(found, key=lambda one: getattr(one.target, planner.measure))


def _least(
    entry: Entry, mechanism: Mechanism, error: Fraction, planner: EntryPlanner
) -> PlannedEntry | None:
    """With the least loss found, to `DIGITS` digits; None if it would protect no one."""
    takes_rho, confidence = planner.spec.privacy.composition.takes_rho, planner.spec.confidence
    first = planner.at(entry, mechanism, planner.target(Fraction(1), entry))
    if len(first.parts) > 1:
        name, word = entry.request.name, planner.measure
        raise SpecError.about("cannot-calibrate.several-answers", name=name, word=word)
    (part,) = first.parts
    if part.public:
        return planner.at(entry, mechanism, planner.target(LEAST_EPSILON, entry))
    noise = _most_noise(part, error, confidence)
    size = _size_of(part, noise, entry, takes_rho=takes_rho)
    size, step = max(size, LEAST_RHO if takes_rho else LEAST_EPSILON), Fraction(1, 10**DIGITS)
    while size <= MOST_EPSILON:
        planned = planner.at(entry, mechanism, planner.target(size, entry))
        if planned.parts[0].error(confidence) <= error:
            return planned
        # What rounding made a little too small.
        size, step = short_up(size * (1 + step), DIGITS), 2 * step
    return None


def _most_noise(part: Part, error: Fraction, confidence: Fraction) -> Noise:
    """The noise of the greatest scale found whose error is at most `error`."""

    def enough(scale: Fraction) -> bool:
        return replace(part, noise=replace(part.noise, scale=scale)).error(confidence) <= error

    high = part.noise.scale
    while not enough(low := high):
        high = low / 2
    close = 1 + Fraction(1, 10 ** (DIGITS + 1))
    scale = greatest_down(enough, low, 2 * low, lambda low, high: high <= low * close)
    return replace(part.noise, scale=scale)


def _size_of(part: Part, noise: Noise, entry: Entry, *, takes_rho: bool) -> Fraction:
    """How much an answer with that noise reveals, in the measure that is searched."""
    mechanism, sensitivity = part.mechanism, part.sensitivity
    if takes_rho:
        return short_up(mechanism.rho(noise, sensitivity), DIGITS)
    if not mechanism.needs_delta:
        return short_up(mechanism.loss([noise], [sensitivity], Fraction(0)).epsilon, DIGITS)
    delta = entry.price.delta / 2 if entry.selects else entry.price.delta
    _, found = bisect(
        lambda epsilon: mechanism.loss([noise], [sensitivity], epsilon).delta <= delta,
        LEAST_EPSILON,
        MOST_EPSILON,
        lambda low, high: high <= low * (1 + Fraction(1, 10**DIGITS)),
        lambda low, high: Fraction((float(low) * float(high)) ** 0.5),
    )
    return short_up(found, DIGITS)
