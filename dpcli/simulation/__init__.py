"""A plan tried out on synthetic rows; it knows of no other rows.

`SyntheticDataset` generates its rows itself from a spec, and opens the exact answers about these
rows alone. No function here takes rows or a path to read, so no finding is about a real person.
"""
