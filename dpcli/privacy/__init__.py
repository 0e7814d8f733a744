"""The vocabulary of guarantees; standard library only, imports nothing above."""
