"""Samples, against the distributions that they name."""
