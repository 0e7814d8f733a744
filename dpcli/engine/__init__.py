"""The engine: turns rows of data files into confidential integers for queries.

Only this package reads records; `dpcli.local` reads them through it. Nothing here adds noise. A
"user" is the person of the privacy unit.

Start with `sums/aggregate.py`: it scans a `Dataset` (`files/dataset.py`) piece by piece
(`files/pieces.py`) and returns a `Confidential` answer per query. `cells.py` turns cells
into whole numbers, `sums/bounding.py` bounds the rows of users, and `sums/joint_tables.py` adds
them up for each query. The package `dpcli.spark` runs the engine on Apache Spark.
"""
