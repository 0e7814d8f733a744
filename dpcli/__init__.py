"""dpcli: differentially private releases of CSV files.

A spec says what is wanted. A plan says what will be asked, how it will be answered
and what that reveals; it is complete before a row is read. The engine turns rows
into confidential integers. Only a mechanism can turn something confidential into
something noisy. The ledger records the noisy answers and charges for them in one
transaction. Files are copies of what the ledger holds. Everything after the
mechanism is post-processing, and free.
"""

__version__ = "0.2.0"
