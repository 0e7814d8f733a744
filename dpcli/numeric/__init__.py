"""Exact and certified numbers.

`exact.py` writes rationals as decimals, `interval_arithmetic.py` encloses real functions with
directed rounding, `search.py` has the one bisection, `arrays.py` loads numpy lazily and keeps
arrays of whole numbers exact, and `minimizers.py` minimizes the objectives of regressions.
"""
