"""The local model: each record is randomized by itself before it is collected.

`randomize.py` randomizes records and charges for them, `outbox.py` keeps charged responses on disk
until they are published, and `estimate.py` counts collected responses and estimates frequencies
and means. Start with `randomize_records`.
"""
