"""Plans: what a release will publish and cost, complete before any row is read.

`planner.make_plan` turns a spec into a `plan.CentralPlan` of `PlannedStatistic`s, each with its
`PlannedQuery`s: sensitivity, mechanism, noise and loss; or into a `plan.LocalPlan` of a collection.
`results` has the noisy answers to a plan. The other modules describe plans: `notes` and
`limit_notes` in sentences, `guarantee` by what they promise and what can weaken that, `compare`
next to other plans, `quality_check` by when a release stops.

Open `plan.py` first. The code says user for the person of a privacy unit; specs say person.
"""
