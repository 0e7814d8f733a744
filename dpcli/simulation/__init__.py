"""Simulation: a plan tried on synthetic rows, generated from a spec and a seed.

`simulate` in `trials.py` runs the whole pipeline many times and returns a `SimulationResult`; open
it first. `SyntheticDataset` in `synthetic.py` generates the rows. A `SyntheticRun` is one pass over
them: exact answers, and answers with noise. `noise_test.py` compares the observed errors with the
noise that the plan states.

Privacy: a `SyntheticDataset` opens exact answers about its own rows alone. No function here takes
rows or a path to read, so no result is about a real person.
"""

MAX_ROWS = 10_000_000
"""More rows would take long, and noise does not grow with their number."""

MAX_RUNS = 10_000
"""More runs would take long and not change a significant digit of the errors."""

MAX_SEED = 2**53 - 1
"""Every JSON reader represents numbers up to this one exactly."""
