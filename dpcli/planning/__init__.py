"""Plans: what a release will publish and cost, complete before any row is read.

`planner.make_plan` turns a spec into a `plan.CentralPlan` of `PlannedStatistic`s, each with its
`PlannedQuery`s: sensitivity, mechanism, noise and loss; or into a `plan.LocalPlan` of a collection.
`results` has the noisy answers to a plan, `quality_check` what stops a release. `compositions` and
`changes` compare plans. `words` are the sentences on plans, which reports and the text of a plan
print.

Open `plan.py` first. The code says user for the person of a privacy unit; specs say person.
"""
