"""Faults that the tests must find."""
