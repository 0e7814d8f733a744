"""A family of the tests alone: a kind of query and a statistic; `toy_registry` registers both."""
