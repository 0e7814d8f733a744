"""Simulation: a plan tried on synthetic rows, generated from a spec and a seed.

`simulate` in `trials.py` runs the whole pipeline many times and returns a `SimulationResult`; open
it first. `SyntheticDataset` in `synthetic.py` generates the rows. A `SyntheticRun` is one pass over
them: exact answers, and answers with noise. `errors.py` has the observed errors. Whether the noise
is what the plan states is tested by `dpcli.proof`.

Privacy: a `SyntheticDataset` opens exact answers about its own rows alone. No function here takes
rows or a path to read, so no result is about a real person.
"""
