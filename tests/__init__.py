"""The tests of dpcli."""
