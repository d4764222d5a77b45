"""Stored answers of PyTorch, and the oracle that asks PyTorch itself when it is installed."""
