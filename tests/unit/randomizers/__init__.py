"""Tests of local randomizers."""
