"""To the printed digit and to the letter: sums in PyTorch's order, its rounding, its random stream, its printing, its
checks of arguments."""
