"""Second opinions: what the engine must agree with, computed another way."""
