"""Whole pieces of PyTorch code, run with autolab in PyTorch's place; what is printed is compared character for
character."""
