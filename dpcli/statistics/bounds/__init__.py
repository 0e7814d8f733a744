"""Bounds and limits that are chosen privately, from noisy histograms."""
