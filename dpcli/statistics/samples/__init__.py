"""Numbers of a population, from a sample of it."""
