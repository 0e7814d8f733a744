"""The check of rows and readable cells that comes before all statistics."""
