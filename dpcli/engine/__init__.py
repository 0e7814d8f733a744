"""From rows to confidential whole numbers; the only package that reads records."""
