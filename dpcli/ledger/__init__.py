"""The ledger: accounts, what they have spent, and the bytes of every release.

Open `ledger.py` first: an `OpenLedger` charges for a release and stores its outputs in one
transaction. `charge.py` has what is charged (`Charge`), and what its report states and the ledger
stores; `transaction.py` is the block in which noise is drawn. `balance.py` has what an account
fixes and what recorded events cost, and `account.py` whether another release fits; `forecast.py`
has what a release, or many, would do to it. `chain.py` shows that an entry was changed or lost;
`restoration.py` recovers entries from published reports. Below are `store.py` (the checked file:
its tables, the connection to it) and `options.py` (where a ledger may be, and what a command states
of a charge). A user is the person of the privacy unit.
"""
