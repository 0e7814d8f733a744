"""A plan tried out on synthetic rows; it knows of no other rows.

`SyntheticDataset` generates its rows itself from a spec, `NoiselessRun` reads nothing but a
`SyntheticDataset`, and only `NoiselessRun` has answers without noise. No function here takes rows,
a path to read, or a sealed answer, so no finding is about a real person.
"""
