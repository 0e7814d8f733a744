"""The version of dpcli."""

__version__ = "0.3.0"
