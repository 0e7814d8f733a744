"""Cells as whole numbers, derived columns and filters, as native expressions."""
