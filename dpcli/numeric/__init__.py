"""Exact and certified numbers: rationals, directed rounding, one bisection, arrays of integers."""
