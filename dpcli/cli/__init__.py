"""The command line: `main.py` runs a command; each command has its own file.

Open `main.py` first, then `commands.py` (lazy commands, whose docstrings are their help).
`options.py` has options that several commands share, `charging.py` the ledger of a command,
`outputs.py` the files that it writes. All text goes through `console.py`; tables, bars and progress
are in `terminal.py`. `interview.py` is `dpcli init --ask`.

A process runs one command, so the package starts as fast as it can.
"""

import gc
import os

# Numpy would start threads for linear algebra, which dpcli does not use.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Imports create many objects and no garbage; by default, Python would collect every 700 objects.
gc.set_threshold(100_000, 20, 20)
