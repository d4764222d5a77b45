"""The engine: arrays, graph, gradients. Imports nothing of autolab above it."""
from . import tensor  # noqa: F401  (first: the ops need the class)
from . import registry
from . import ops  # noqa: F401

registry.attach_methods(tensor.Tensor)
