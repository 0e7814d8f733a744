"""Mechanisms, their known answers, and ways around them."""
