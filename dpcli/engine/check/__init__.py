"""How readable the cells of a file are, for `dpcli check --cells` alone."""
