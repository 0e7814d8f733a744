"""Partials from Apache Spark: the same engine on bytes and rows."""
