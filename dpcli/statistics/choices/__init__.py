"""Labels and numbers chosen among candidates: mode, top k, and best choices."""
