"""Exact and certified numbers: rationals, directed rounding, arrays."""
