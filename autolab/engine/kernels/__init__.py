"""Kernels of convolution, pooling and normalisation on raw arrays. They import nothing from the engine.

Arrays have the logical shape (N, C, H, W). Arrays made by a kernel have the batch innermost in memory, (C, H, W, N).
Gathering windows then copies contiguous runs, one matrix product gives the layout of the next layer, and elementwise
functions keep the layout.
"""
