"""Exact, confidential answers to queries: sums in cells, and the bounding of users."""
