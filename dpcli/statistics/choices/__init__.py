"""Private choices: the best of declared candidates, and the most frequent values."""
