"""Attempts that `mypy --strict` refuses: it reports every comment here that it did not need."""
