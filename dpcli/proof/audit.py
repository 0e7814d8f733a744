"""An attack on a plan: exact answers of neighbors, outputs, noise, and claims.

It needs no data and spends nothing: all rows are made of the spec. Noise has no seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, add_exact, np
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.privacy.confidential import Confidential, Groups
from dpcli.proof.answers import Attack, Reached, bounded, exact_of
from dpcli.proof.bounds import Bound, Claim
from dpcli.proof.claims import claim_faults
from dpcli.proof.draws import EntryDraws
from dpcli.proof.noise_test import MOST_PAIRS, Frequencies, NoiseFrequencies
from dpcli.proof.weights import tail_of
from dpcli.simulation.corners import spread
from dpcli.simulation.synthetic import SyntheticDataset
from dpcli.simulation.trials import SyntheticRun

RISK = 1e-6
"""Probability that a bound of a right plan is wrong, over all entries."""

PURE_DRAWS, GAUSSIAN_DRAWS = 300_000, 1_000_000
"""Draws about each neighbor: enough for 0.97 of epsilon 1, and 0.94 of mu."""

SHARE_OF_ANSWERS = 0.3
"""The share of the time in which exact answers are compared."""

FIRST_PILOT, PILOT, MOST_TRIED = 1_000, 8_000, 5
"""Draws that choose some pairs, those that choose one of them, and how many."""

SYNTHETIC_ROWS, RUNS = 300, 200
"""Rows of a tested release, and releases; as many others have one row."""

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
    end = time.monotonic() + seconds * len(entries)
    attack.run(seconds * SHARE_OF_ANSWERS * len(entries))
    for number, planned in enumerate(plan.all_statistics):
        report(planned.name)
        entry = entries[planned.name]
        for one in entry.answers:
            for norm in one.above:
                role = one.part.weighted.role
                entry.faults.append(
                    f"neighbors change `{role}` by more than its {norm} sensitivity"
                )
        entry.faults += claim_faults(planned)
        claim = Claim.of(planned, RISK / len(entries))
        wanted = draws or (GAUSSIAN_DRAWS if claim.measure == "mu" else PURE_DRAWS)
        left = min(seconds, (end - time.monotonic()) / (len(entries) - number))
        if (drawn := _worst_draws(attack, planned, claim, wanted, left / 3)) is not None:
            entry.bound = drawn.bound(claim, wanted, left / 2)
            entry.faults += [*entry.bound.faults, *drawn.faults(left / 6)]
        entry.faults += _selection_faults(attack, planned)
    report("noise of releases")
    for name, fault in _noise_faults(plan, seed, entries, seconds):
        entries[name].faults.append(fault)
    return Audit(plan, seed, tuple(entries.values()), attack.datasets)


def _worst_draws(
    attack: Attack, planned: PlannedStatistic, claim: Claim, draws: int, seconds: float
) -> EntryDraws | None:
    """Draws about the pair that pilot draws distinguish best; None without any."""
    # Sums change alike, whatever rows neighbors have in common.
    depends = any(
        part.calibrated.partition_selection or query.chooses or query.minimizes or query.vectors
        for part, query in ((part, part.calibrated.query) for part in planned.queries)
    )
    pairs = sorted(attack.pairs[planned.name], key=lambda pair: pair.strength)[::-1]
    strong = [pair for pair in pairs if pair.strength >= pairs[0].strength / 2]
    tried: list[tuple[float, EntryDraws]] = []
    end = time.monotonic() + seconds / 2
    for pair in spread(strong, MOST_PAIRS if depends else 2):
        answers = (attack.exact([planned], pair.common, own) for own in (pair.one, pair.other))
        entry = EntryDraws(planned, *(found[planned.name] for found in answers))
        if entry.drawn:
            scores = entry.learned(FIRST_PILOT, seconds / 20)
            tried.append((claim.best_event(scores, draws).expected, entry))
        if time.monotonic() > end:
            break
    best = [entry for _, entry in sorted(tried, key=lambda pair: -pair[0])][:MOST_TRIED]
    return max(
        best, default=None,
        key=lambda entry: claim.best_event(entry.learned(PILOT, seconds / 10), draws).expected,
    )  # fmt: skip


def _selection_faults(attack: Attack, planned: PlannedStatistic) -> Iterator[str]:
    """Whether groups at the threshold are published as often as their noise says."""
    for part in planned.queries:
        calibrated, rule = part.calibrated, part.calibrated.partition_selection
        if rule is None:
            continue
        each = max(1, min(rule.threshold, GROUPS // 2))
        common = attack.makers[calibrated.query].private_rows(max(1, GROUPS // each), each)
        frequencies, tail = Frequencies(), tail_of(calibrated.noise)
        with attack.dataset(common, ((),)) as dataset:  # A row of blanks is in no group.
            (answer,) = dataset.aggregate([bounded(part)])
            groups = cast("Groups", exact_of(dataset, answer))
            counts = dict(zip(groups.names, groups.cells(groups.names).tolist(), strict=True))
            confidential = cast("Confidential[Groups]", answer)
            for _ in range(SELECTIONS):
                shown = calibrated.select_partitions(confidential, dataset.permit).value
                for count in {*counts.values()}:
                    own = [name in shown for name, exact in counts.items() if exact == count]
                    chance = tail(rule.threshold - count)
                    frequencies.count(
                        f"a group of {count:,} is published", sum(own), len(own), chance
                    )
                if min(shown.values(), default=rule.threshold) < rule.threshold:
                    yield "a count below the threshold is published"
                    return
        yield from frequencies.faults()


def _noise_faults(
    plan: CentralPlan, seed: int, entries: dict[str, EntryAudit], seconds: float
) -> Iterator[tuple[str, str]]:
    """The noise of releases of synthetic rows, compared with exact probabilities."""
    noises: dict[tuple[str, int], list[Array]] = {}
    for rows in (SYNTHETIC_ROWS, 1):
        end = time.monotonic() + seconds / 2
        with SyntheticDataset(plan.spec, rows, seed) as dataset:
            run = SyntheticRun(plan, dataset)
            exact = run.exact()
            for _ in range(RUNS):
                for own, noisy in zip(exact, run.noisy(), strict=True):
                    outputs = [answer.values for answer in noisy.answers]
                    for at, part in enumerate(noisy.planned.queries):
                        query = part.calibrated.query
                        is_added = not (query.chooses or query.minimizes or part.is_exact)
                        if is_added and noisy.planned.entry.selected_by is None:
                            narrowed = query.narrowed(own.values[at], outputs[:at])
                            added = add_exact(outputs[at], -narrowed)
                            noises.setdefault((noisy.planned.name, at), []).append(added)
                if time.monotonic() > end:
                    break
    last: dict[Noise, Array] = {}
    for (name, at), drawn in noises.items():
        part, numbers = entries[name].answers[at].part, np.stack(drawn)
        frequencies = NoiseFrequencies(noise := part.calibrated.noise)
        frequencies.add(numbers)
        independent = numbers[:, :: frequencies.stride]
        frequencies.compare("two queries", last.get(noise, independent[:0]), independent)
        last[noise], entries[name].noises = independent, entries[name].noises + frequencies.total
        for fault in frequencies.faults():
            yield name, f"`{part.weighted.role}` in a release: {fault}"
