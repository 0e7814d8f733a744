"""Privacy units, sensitivities, losses and guarantees.

`loss.py` defines `Loss` and `Guarantee`; open it first. `unit.py` says who is protected, and
`sensitivity.py` has the audited table of what one unit can change. `confidential.py` has the type
of values that depend on records, and the permit to open them. `events.py` has the JSON of what the
ledger charges. `deltas.py` computes losses, `accounting/` composes them, and `interpretation.py`
says what they mean.

A user is the person of the privacy unit: specs and texts say person, the engine says user.
"""
