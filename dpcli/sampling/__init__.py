"""Exact integer randomness: every draw has exactly the distribution it names."""
