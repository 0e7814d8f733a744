"""Laws of mechanisms, and their known answers."""
