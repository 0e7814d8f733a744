"""The version of dpcli."""

__version__ = "0.4.0"
