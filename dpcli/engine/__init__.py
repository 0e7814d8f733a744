"""The engine: turns rows of data files into sealed, exact integers for queries.

Only this package reads records; `dpcli.local` reads them through it. Nothing here adds noise. A
"user" is the person of the privacy unit.

Start with `aggregate.py`: it scans a `Dataset` (`source.py`) piece by piece (`pieces.py`) and
returns a `Confidential` answer per query. `decode.py` turns cells into whole numbers, `bounding.py`
bounds the rows of users, `grouping.py` decides what is summed, and sums it up for each
query. `partials.py` stores sums for a later release; `spark.py` runs the engine on Apache Spark.
"""
