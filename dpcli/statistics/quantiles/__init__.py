"""Quantiles, from counts of a tree or by choices among candidates."""
