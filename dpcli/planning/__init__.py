"""Plans: what a release will publish and cost, complete before any row is read.

`planner.make_plan` turns a spec into a `plan.CentralPlan` of `PlannedStatistic`s, each with its
`PlannedQuery`s: sensitivity, mechanism, noise and loss; or into a `plan.LocalPlan` of a collection.
`results` has what noise makes of the answers to a plan. `planner` also divides the budget, and
`statistic_planner` calibrates one statistic. The other modules describe plans: `guarantee_text` and
`notes` in sentences, `compare` next to other plans, `risks` by what can weaken the guarantee,
`quality_check` by when a release stops.

Open `plan.py` first. The code says user for the person of a privacy unit; specs say person.
"""
