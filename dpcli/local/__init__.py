"""The local model: records are randomized one by one, and estimates made of the collection."""
