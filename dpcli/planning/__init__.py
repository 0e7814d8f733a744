"""Spec to Plan: where sensitivity meets mechanism, before any row is read."""
