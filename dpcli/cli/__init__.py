"""The command line: one process for one command, so it starts as fast as it can."""

import gc
import os

# Numpy would start threads for linear algebra, which nothing here uses.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Imports create many objects and no garbage: the default looks for some after every 700.
gc.set_threshold(100_000, 20, 20)
