"""How bounds, and the limit on rows per person, are chosen, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from dpcli.numeric.exact import exact_or_up, readable_text, rounded_text
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.planner import allocate
from dpcli.problems.messages import capitalized
from dpcli.specification.chosen_bounds import with_chosen_bounds
from dpcli.statistics.bounds.chosen_bounds import PARTS, BoundsChoice


def choice_rules(plan: CentralPlan) -> Iterator[str]:
    """How the bounds and the limit will be chosen; empty once they are."""
    for choice, planned in plan.choices if plan.chooses_bounds else ():
        yield from rule_sentences(choice, planned, plan)


def rule_sentences(
    choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
) -> Iterator[str]:
    """How the bounds of a column, or the limit on rows per person, are chosen."""
    threshold = choice.rule(planned.queries[0].calibrated.noise).threshold
    yield (
        f"{choice.noun}: {_noisy_counts(choice, plan)} come before the statistics, in an entry "
        f"before theirs, with epsilon {exact_or_up(choice.epsilon)}; what they choose holds all "
        "bins whose counts rise above the noise, and is "
        f"{choice.text(choice.at_candidate(-1))} if none is clear: one "
        f"count above {threshold:,}, or some neighboring ones together"
    )
    if choice.coverage < 1:
        cover = rounded_text(choice.coverage * 100, 4)
        yield f"{choice.noun}: {cover}% of these counts lie within what is chosen"


def chosen_bounds_errors(plan: CentralPlan) -> Iterator[str]:
    """How the noise of statistics depends on the bounds and limits yet to be chosen.

    One sentence for each statistic whose first query has different noise at each third of the
    candidates. The sentence names the query.
    """
    spec = plan.spec
    if not plan.chooses_bounds:
        return
    # Their losses are those of the plan, so they need not be composed again.
    tried = []
    for part in PARTS:
        ends = {choice.name: choice.at_part(part) for choice in spec.choices}
        assumed = allocate(with_chosen_bounds(spec, ends))[-len(plan.statistics) :]
        tried.append((ends, assumed))
    for number, planned in enumerate(plan.statistics):
        first = planned.queries[0].weighted
        if first.query.minimizes:
            continue  # The noise of an objective is not one of published numbers.
        together = [choice for choice in spec.choices if planned.depends_on(choice)]
        errors: dict[str, str] = {}
        for ends, assumed in tried:
            at = " and ".join(choice.text(ends[choice.name]) for choice in together)
            errors[at] = rounded_text(assumed[number].queries[0].error(spec.confidence), 3)
        if len(set(errors.values())) > 1:
            stated = ", ".join(f"{error} at {at}" for at, error in errors.items())
            chosen = " and ".join(choice.noun for choice in together)
            percent = exact_or_up(spec.confidence * 100)
            yield (
                f'{planned.name}: in {percent}% of cases, the noise of "{first.role}" is at '
                f"most {stated}, if that is chosen for the {chosen}"
            )


def simulated_bounds(plan: CentralPlan) -> Iterator[str]:
    """What a simulation has in place of the bounds and limit that a release chooses."""
    if plan.spec.choices:
        chosen = " and ".join(choice.noun for choice in plan.spec.choices)
        yield (
            f"no choice is simulated: rows and noise are those of the outermost {chosen}; a "
            "release within narrower ones has less noise, as `dpcli plan` shows, and clamps or "
            "leaves out more"
        )


def chosen_texts(plan: CentralPlan) -> list[str]:
    """Two sentences on each choice: what was chosen, and from which counts."""
    return [
        " ".join(chosen_sentences(choice, planned, plan))
        for choice, planned in plan.choices
        if choice.chosen is not None
    ]


def chosen_sentences(
    choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
) -> tuple[str, str]:
    """The chosen bounds or limit, and the counts and the epsilon of the choice."""
    chosen = choice.chosen
    assert chosen is not None
    value, beyond = choice.text(chosen), choice.beyond(plan.spec.rows_are)
    if not chosen.decided:
        result = f"the outermost, {value}, as no bin held clearly more than noise explains."
    elif choice.coverage < 1:
        cover = rounded_text(choice.coverage * 100, 4)
        result = f"{value}. About {cover}% of what was counted lies within; {beyond}."
    else:
        result = f"{value}. The bins beyond held no more than noise explains; {beyond}."
    counts = capitalized(_noisy_counts(choice, plan))
    return f"Chosen {choice.noun}: {result}", (
        f"{counts} chose this, with Laplace noise of scale "
        f"{rounded_text(planned.queries[0].scale)}, at epsilon {exact_or_up(choice.epsilon)}, "
        "charged in an entry before the statistics."
    )


def _noisy_counts(choice: BoundsChoice, plan: CentralPlan) -> str:
    rows, bins = plan.spec.rows_are, choice.bins
    low, high = (readable_text(end * choice.column.step) for end in (bins[0][0], bins[-1][1]))
    # Where the limit on rows is chosen too, one row of each person enters the other histograms.
    cells = f"one of the {rows} of each person" if plan.spec.unit_of_choices else rows
    return (
        f"noisy counts of {choice.counted(rows, cells)} in {len(bins):,} bins of the ladder "
        f"{choice.grid.kind.name} from {low} to {high}"
    )
