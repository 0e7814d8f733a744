"""Proof for readers without the data: published releases, and specs, are checked from outside."""
