"""A plan tried out on rows that are invented; it knows of no other rows.

`Dummy` invents its rows itself from a spec, `Pass` reads nothing but a `Dummy`, and only
`Pass` has answers without noise. No function here takes rows, a path to read, or a sealed
answer, so what it finds out is never about anybody.
"""
