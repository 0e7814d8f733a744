"""Exact and certified numbers.

`exact.py` writes rationals as decimals, `interval_arithmetic.py` encloses real functions with
directed rounding, `search.py` has the one bisection, and `arrays.py` loads numpy lazily and keeps
arrays of whole numbers exact. `splitmix.py` scrambles words reproducibly, and is never noise.
"""
