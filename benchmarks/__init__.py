"""Speed against PyTorch, mygrad and HIPS autograd: `python -m benchmarks`."""
