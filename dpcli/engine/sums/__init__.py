"""Exact, confidential answers to queries: sums in cells, and bounding of users."""
