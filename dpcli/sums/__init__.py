"""Sums of published numbers, made of a stored report alone."""
