"""Counts of rows, people, values and chosen answers; sums and histograms."""
