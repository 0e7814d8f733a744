"""Running series: totals to date and moving windows from nightly answers."""
