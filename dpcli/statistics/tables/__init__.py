"""Marginal tables of several columns, and what makes them consistent."""
