"""Plans: what a release will publish and cost, complete before any row is read.

`planner.make_plan` turns a spec into a `plan.Plan` of `PlannedStatistic`s, each with its
`PlannedQuery`s: sensitivity, mechanism, noise and loss. `allocation` divides the budget,
`statistic_planner` calibrates one statistic, `disjoint` finds statistics about disjoint rows. The
other modules describe plans: `guarantee_text` and `notes` in sentences, `compare` next to other
plans, `risks` by what can weaken the guarantee, `quality_check` by when a release stops.

Open `plan.py` first. The code says user for the person of a privacy unit; specs say person.
"""
