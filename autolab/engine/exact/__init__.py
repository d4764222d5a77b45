"""Behaviour identical to PyTorch's to the last digit and letter: the order of sums, rounding, random numbers, printing,
and checks of arguments."""
