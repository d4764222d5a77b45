"""Names, formulas and sentences of a trace, and the trace as text."""
