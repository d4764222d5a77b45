"""Kernels of convolution, pooling and normalisation on raw arrays. They import nothing of the engine.

Arrays are logically (N, C, H, W). In memory the batch is innermost, (C, H, W, N), where a kernel makes the array:
gathering the windows then copies contiguous runs, one matrix product gives the next layer's layout, and elementwise
functions keep it.
"""
