"""The version of dpcli."""

__version__ = "0.5.0"
