"""What a choice among candidates is judged by: one file each."""
