"""Queries as data: what each row, or each user, adds to which cell.

`query` has the base class and sums; every other file a family of queries: their cells, what a row
adds to them, and what the engine computes. Their sensitivities are in `dpcli.privacy` and
`dpcli.mechanisms.query_sensitivity`.
"""
