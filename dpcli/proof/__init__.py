"""Proof for strangers: checks of reports, and attacks on specs."""
