"""The privacy report as one HTML file: no script, no network, every text escaped."""
