"""From rows to confidential whole numbers; the only floor that reads records."""
