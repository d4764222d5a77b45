"""Which operation an error came from, why, and what to change."""
