"""The local model: records are randomized one by one, and then counted."""
