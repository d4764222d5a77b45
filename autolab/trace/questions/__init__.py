"""Questions about a trace: predictions, changed numbers, paths of a gradient."""
