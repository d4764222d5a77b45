"""What a computation did, as data: record it, build it from a result, read it as text."""
