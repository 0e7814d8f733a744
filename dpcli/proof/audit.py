"""An attack on a plan: exact answers of neighbors, outputs, noise, and claims.

It needs no data and spends nothing: all rows are made of the spec. Noise has no seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from dpcli.numeric.arrays import Array, add_exact, np
from dpcli.planning.plan import CentralPlan, PlannedQuery, PlannedStatistic
from dpcli.privacy.confidential import Confidential, Groups
from dpcli.proof.answers import Attack, Pair, Reached, bounded, exact_of, few
from dpcli.proof.claims import claim_faults
from dpcli.proof.draws import PILOT, Bound, Claim, EntryDraws
from dpcli.proof.neighbors import RowMaker
from dpcli.proof.noise_test import NoiseSample, binomial_fault
from dpcli.proof.weights import tail_of
from dpcli.simulation.synthetic import SyntheticDataset
from dpcli.simulation.trials import SyntheticRun

RISK = 1e-6
"""Probability that a bound of a right plan is wrong, over all entries."""

PURE_DRAWS, GAUSSIAN_DRAWS = 300_000, 1_000_000
"""Draws about each neighbor: enough for 0.97 of epsilon 1, and 0.94 of mu."""

SHARE_OF_ANSWERS = 0.3
"""The share of the time in which exact answers are compared."""

MOST_PAIRS = 24
"""Pairs of neighbors of which pilot draws choose one."""

SYNTHETIC_ROWS, NOISES, MOST_RUNS = 300, 20_000, 400
"""Rows of a tested release, noises that are enough, and the most releases."""

GROUPS, SELECTIONS = 20_000, 50
"""Rows in groups at the threshold, and how often groups are selected."""


@dataclass
class EntryAudit:
    """What was found of one entry."""

    name: str
    answers: list[Reached]
    bound: Bound | None = None
    noises: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def reached(self) -> float | None:
        """The least share of a sensitivity that neighbors reached; None without any."""
        shares = [one.share for one in self.answers if one.share is not None]
        return min(shares) if shares else None


@dataclass(frozen=True)
class Audit:
    """The findings of an attack on a plan."""

    plan: CentralPlan
    seed: int
    entries: tuple[EntryAudit, ...]
    datasets: int

    @property
    def faults(self) -> list[tuple[str, str]]:
        """The entry and a sentence for everything that is above its claim."""
        return [(entry.name, fault) for entry in self.entries for fault in entry.faults]


def audit(
    plan: CentralPlan,
    seed: int,
    draws: int | None = None,
    seconds: float = 60.0,
    report: Callable[[str], object] = lambda _: None,
) -> Audit:
    """Attack all entries of a plan, for about `seconds` each.

    Without `draws`, there are enough for the usual precision. `report` is called with the name of
    each entry.
    """
    attack = Attack(plan, seed)
    entries = {name: EntryAudit(name, answers) for name, answers in attack.reached.items()}
    report("exact answers")
    attack.run(seconds * SHARE_OF_ANSWERS * len(entries))
    for planned in plan.all_statistics:
        report(planned.name)
        entry = entries[planned.name]
        entry.faults += _above(entry.answers)
        entry.faults += claim_faults(planned)
        _draw(attack, planned, entry, RISK / len(entries), draws, seconds * (1 - SHARE_OF_ANSWERS))
        entry.faults += _selection_faults(attack, planned)
    report("noise of releases")
    for name, fault in _noise_faults(plan, seed, entries, seconds):
        entries[name].faults.append(fault)
    return Audit(plan, seed, tuple(entries.values()), attack.datasets)


def _above(answers: list[Reached]) -> Iterator[str]:
    for one in answers:
        for norm in one.above:
            role = one.part.weighted.role
            yield f"neighbors change `{role}` by more than its {norm} sensitivity"


def _draw(
    attack: Attack,
    planned: PlannedStatistic,
    entry: EntryAudit,
    risk: float,
    draws: int | None,
    seconds: float,
) -> None:
    """Draw outputs about the pair of neighbors that pilot draws distinguish best."""
    claim = Claim.of(planned, risk)
    number = draws or (GAUSSIAN_DRAWS if claim.measure == "mu" else PURE_DRAWS)
    best: tuple[float, EntryDraws] | None = None
    # Sums change alike, whatever rows neighbors have in common.
    depends = any(part.calibrated.partition_selection or part.weighted.query.chooses
                  or part.weighted.query.minimizes for part in planned.queries)  # fmt: skip
    pairs = attack.worst[planned.name]
    strongest = max((strength for strength, _ in pairs), default=0.0)
    ranked = few([pair for pair in reversed(pairs) if pair[0] >= strongest / 2], MOST_PAIRS)
    end = time.monotonic() + seconds / 3
    for _, pair in ranked:
        tried = _entry_draws(attack, planned, pair)
        if not tried.drawn:
            continue
        pilot = tried.affordable(max(60, min(PILOT, (1 << 19) // tried.size)), seconds / 30)
        found, *_ = claim.best_event(tried.learned(pilot), number)
        if best is None or found > best[0]:
            best = found, tried
        if time.monotonic() > end or not depends:
            break
    if best is None:
        return
    entry.bound = claim.of_draws(best[1], number, seconds * 2 / 3)
    if entry.bound.is_above:
        least, claimed = f"{entry.bound.bound:.4g}", f"{claim.value:.4g}"
        entry.faults.append(f"outputs show that {claim.measure} is {least} or more, not {claimed}")
    for drawn in best[1].drawn:
        if drawn.sample is not None:
            entry.faults += [
                f"`{drawn.part.weighted.role}`: {one}" for one in drawn.sample.faults()
            ]


def _entry_draws(attack: Attack, planned: PlannedStatistic, pair: Pair) -> EntryDraws:
    asked = [bounded(part) for part in planned.queries]
    return EntryDraws(
        planned, *(list(attack.exact(pair.common, own, asked)) for own in (pair.one, pair.other))
    )


def _selection_faults(attack: Attack, planned: PlannedStatistic) -> Iterator[str]:
    """Whether groups at the threshold are published as often as their noise says."""
    for part in planned.queries:
        rule = part.calibrated.partition_selection
        if rule is None:
            continue
        maker: RowMaker = attack.maker(part)
        each = max(1, min(rule.threshold, GROUPS // 2))
        common = tuple(maker.private_rows(max(1, GROUPS // each), each))
        with attack.dataset(common, ()) as dataset:
            (answer,) = dataset.aggregate([bounded(part)])
            groups = cast("Groups", exact_of(dataset, answer))
            exact = dict(zip(groups.names, groups.cells(groups.names).tolist(), strict=True))
            shown = [
                part.calibrated.select_partitions(
                    cast("Confidential[Groups]", answer), dataset.permit
                ).value
                for _ in range(SELECTIONS)
            ]
        tail = tail_of(part.calibrated.noise)
        for count in {*exact.values()}:
            names = {name for name, own in exact.items() if own == count}
            seen = sum(len(names & one.keys()) for one in shown)
            if fault := binomial_fault(seen, SELECTIONS * len(names), tail(rule.threshold - count)):
                yield f"groups of {count:,} are published {fault} often than the threshold says"
        if any(value < rule.threshold for one in shown for value in one.values()):
            yield "a count below the threshold is published"


def _noise_faults(
    plan: CentralPlan, seed: int, entries: dict[str, EntryAudit], seconds: float
) -> Iterator[tuple[str, str]]:
    """The noise of releases of synthetic rows, compared with exact probabilities."""
    samples: dict[tuple[str, int], NoiseSample] = {}
    end = time.monotonic() + seconds
    before: list[Array] = []
    with SyntheticDataset(plan.spec, SYNTHETIC_ROWS, seed) as rows:
        run = SyntheticRun(plan, rows)
        exact = run.exact()
        for number in range(MOST_RUNS):
            noises: list[Array] = []
            for own, noisy in zip(exact, run.noisy(), strict=True):
                planned = noisy.planned
                if planned.entry.selected_by is not None:
                    continue
                for at, (part, values, answer) in enumerate(
                    zip(planned.queries, own.values, noisy.answers, strict=True)
                ):
                    if _is_added(part):
                        earlier = [one.values for one in noisy.answers[:at]]
                        narrowed = part.calibrated.query.narrowed(values, earlier)
                        added = add_exact(answer.values, -narrowed)
                        noises.append(added)
                        sample = samples.setdefault(
                            (planned.name, at), NoiseSample(part.calibrated.noise)
                        )
                        sample.add(added[None, :])
            if number and _repeated(before, noises):
                yield plan.statistics[0].name, "two releases have the same noise"
                break
            before = noises
            enough = sum(map(len, noises)) * number > NOISES * len(samples)
            if time.monotonic() > end or (enough and number > MOST_RUNS // 4):
                break
    for (name, at), sample in samples.items():
        entries[name].noises += sample.total
        role = entries[name].answers[at].part.weighted.role
        for fault in sample.faults():
            yield name, f"`{role}` in a release: {fault}"


def _is_added(part: PlannedQuery) -> bool:
    query = part.calibrated.query
    return not (query.chooses or query.minimizes or part.is_exact)


def _repeated(before: list[Array], now: list[Array]) -> bool:
    """Whether all noises of two releases are the same, which chance hardly explains."""
    one, other = (np.concatenate([*noises, np.zeros(0)]) for noises in (before, now))
    return len(one) > 30 and len(one) == len(other) and bool((one == other).all())
