"""Where arrays lie: the host, a real GPU by CuPy, simulated ones; and on which of them an operation runs."""
