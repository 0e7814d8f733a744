"""Draws, against the distributions they name."""
