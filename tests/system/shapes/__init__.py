"""Files as programs write them, each taken from `init` to right numbers."""
