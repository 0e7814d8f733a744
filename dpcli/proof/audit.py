"""An attack on a plan: exact answers of neighbors, outputs, noise, and claims.

It needs no data and spends nothing: all rows are made of the spec. Noise has no seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import inf

from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, add_exact, np
from dpcli.planning.plan import CentralPlan
from dpcli.planning.results import NoisyStatistic
from dpcli.proof.answers import Attack, Reached
from dpcli.proof.bounds import Bound, Claim, claim_faults
from dpcli.proof.draws import EntryDraws
from dpcli.proof.noise_test import MOST_PAIRS, Frequencies, NoiseFrequencies
from dpcli.proof.weights import tail_of
from dpcli.simulation.corners import spread
from dpcli.simulation.synthetic import SyntheticDataset
from dpcli.simulation.trials import ExactAnswers, SyntheticRun

RISK = 1e-6
"""Probability that a bound of a right plan is wrong, over all entries."""

PURE_DRAWS, GAUSSIAN_DRAWS = 300_000, 1_000_000
"""Draws about each neighbor: enough for 0.97 of epsilon 1, and 0.94 of mu."""

ANSWERS, PAIRS, BOUND, ALONE = 0.3, 0.2, 0.4, 0.1
"""Shares of time: exact answers, the worst pair, its bound, single answers."""

PILOTS, MOST_TRIED = (1_000, 8_000), 5
"""Draws that choose some pairs, those that choose one of them, and how many."""

SYNTHETIC_ROWS, GROUP_ROWS, RUNS = 300, 20_000, 200
"""Rows of tested releases, those in groups at a threshold, and how many runs."""


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
    """The findings of an attack on a plan.

    `datasets` counts those whose exact answers were compared. `cut` names what took too long.
    """

    plan: CentralPlan
    seed: int
    entries: tuple[EntryAudit, ...]
    datasets: int
    cut: tuple[str, ...]

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
    attack.run(seconds * ANSWERS * len(entries))
    cut = ["exact answers of all neighbors"] * attack.was_cut
    for planned in plan.all_statistics:
        report(planned.name)
        entry, claim = entries[planned.name], Claim.of(planned, RISK / len(entries))
        entry.faults += [fault for one in entry.answers for fault in one.above]
        entry.faults += claim_faults(planned)
        wanted = draws or (GAUSSIAN_DRAWS if claim.measure == "mu" else PURE_DRAWS)
        worst = _worst_draws(attack.pairs[planned.name], claim, wanted, seconds * PAIRS)
        if worst is not None:
            entry.bound = worst.bound(claim, wanted, seconds * BOUND)
            cut += [f"draws of {planned.name}"] * (entry.bound.draws < wanted)
            entry.faults += [*entry.bound.faults, *worst.faults(seconds * ALONE)]
    report("noise of releases")
    for name, fault in _release_faults(_releases(attack, plan, seconds), entries):
        entries[name].faults.append(fault)
    return Audit(plan, seed, tuple(entries.values()), attack.datasets, tuple(cut))


def _worst_draws(
    pairs: list[tuple[float, EntryDraws]], claim: Claim, draws: int, seconds: float
) -> EntryDraws | None:
    """Draws about the pair that pilot draws distinguish best; None without any."""
    ordered = sorted((pair for pair in pairs if pair[1].drawn), key=lambda pair: -pair[0])
    best = spread([own for strength, own in ordered if strength >= ordered[0][0] / 2], MOST_PAIRS)
    for pilot in PILOTS:
        end = time.monotonic() + seconds / len(PILOTS)
        rated: list[tuple[float, EntryDraws]] = []
        for own in best:
            if time.monotonic() < end or not rated:
                event = claim.best_event(own.learned(pilot, seconds / 10), draws)
                rated.append((event.expected, own))
        best = [own for _, own in sorted(rated, key=lambda pair: -pair[0])][:MOST_TRIED]
    return next(iter(best), None)


def _release_faults(
    releases: Iterable[tuple[ExactAnswers, NoisyStatistic]], entries: dict[str, EntryAudit]
) -> Iterator[tuple[str, str]]:
    """Noise of releases, and published groups, that differ from probabilities."""
    noises: dict[tuple[str, int], list[Array]] = {}
    selections: dict[str, Frequencies] = {}
    for exact, noisy in releases:
        name = noisy.planned.name
        if noisy.planned.entry.selects_partitions:
            _count_groups(selections.setdefault(name, Frequencies()), exact, noisy)
            continue
        for at, added in _added(exact, noisy):
            noises.setdefault((name, at), []).append(added)
    for name, selection in selections.items():
        yield from ((name, fault) for fault in selection.faults())
    last: dict[Noise, Array] = {}
    for (name, at), drawn in noises.items():
        part, numbers = entries[name].answers[at].part, np.concatenate(drawn)
        frequencies = NoiseFrequencies(noise := part.calibrated.noise)
        frequencies.add(numbers)
        independent = numbers[:, :: frequencies.stride]
        frequencies.compare("two queries", last.get(noise, independent[:0]), independent)
        last[noise], entries[name].noises = independent, entries[name].noises + frequencies.total
        for fault in frequencies.faults():
            yield name, f"`{part.weighted.role}` in a release: {fault}"


def _releases(
    attack: Attack, plan: CentralPlan, seconds: float
) -> Iterator[tuple[ExactAnswers, NoisyStatistic]]:
    """The answers of releases of synthetic rows, and of groups near thresholds."""
    datasets = [SyntheticDataset(plan.spec, rows, attack.seed) for rows in (SYNTHETIC_ROWS, 1)]
    for maker in attack.makers:
        if rule := (calibrated := maker.part.calibrated).partition_selection:
            for count in (rule.threshold, rule.threshold - calibrated.noise.width(0.5)):
                each = min(max(count, 1), GROUP_ROWS)
                datasets.append(attack.dataset(maker.private_rows(GROUP_ROWS // each, each)))
    for rows in datasets:
        end = time.monotonic() + seconds / len(datasets)
        with rows as dataset:
            run = SyntheticRun(plan, dataset)
            exact = run.exact()
            for _ in range(RUNS):
                yield from zip(exact, run.noisy(), strict=True)
                if time.monotonic() > end:
                    break


def _count_groups(frequencies: Frequencies, exact: ExactAnswers, noisy: NoisyStatistic) -> None:
    """Count how often groups of a size are published, and with which counts."""
    calibrated, (counts,) = noisy.planned.queries[0].calibrated, exact.values
    tail, answer = tail_of(calibrated.noise), noisy.answers[0]
    threshold = rule.threshold if (rule := calibrated.partition_selection) else 0
    shown = dict(zip(answer.groups or (), answer.values.tolist(), strict=True))
    found = np.array([shown.get(group, -inf) for group in exact.groups or ()])
    far = threshold + calibrated.noise.width(0.5)
    for count in np.unique(counts).tolist():
        own = found[counts == count]
        for least, is_so in ((threshold, own > -inf), (far, own >= far)):
            what = f"a group of {count:,} is published with {least:,} or more"
            frequencies.count(what, is_so.sum(), len(own), tail(least - count))


def _added(exact: ExactAnswers, noisy: NoisyStatistic) -> Iterator[tuple[int, Array]]:
    """The noise of each query: a row for public groups, or for each private one."""
    outputs, groups = [answer.values for answer in noisy.answers], noisy.answers[0].groups
    every = {group: at for at, group in enumerate(exact.groups or ())}
    kept = [every[group] for group in groups or ()]
    for at, (part, values) in enumerate(zip(noisy.planned.queries, exact.values, strict=True)):
        query = part.calibrated.query
        if query.chooses or query.minimizes or part.is_exact or groups == ():
            continue
        own = values if groups is None else values.reshape(len(every), -1)[kept].ravel()
        added = add_exact(outputs[at], -query.narrowed(own, outputs[:at]))
        yield at, added.reshape(len(kept) or 1, -1)
