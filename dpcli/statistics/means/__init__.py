"""Means, proportions, ratios and spread: numbers that follow from a few sums."""
