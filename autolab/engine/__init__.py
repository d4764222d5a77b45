"""The engine: arrays, graph, gradients. Imports nothing of autolab above it."""
from .core import tensor  # noqa: F401  (first: the ops need the class)
from .core import op as registry
from . import ops  # noqa: F401
from .exact import signatures
from .core import differentiate  # noqa: F401  (gives the Tensor class its `backward`)

signatures.put_before_methods(tensor.Tensor)
_spaces = {space: registry.NAMESPACES[space] for space in ("linalg", "special", "nn.functional")}
signatures.put_in_front({"f": registry.NAMESPACES[""], "m": registry.METHODS, **_spaces})
registry.attach_methods(tensor.Tensor)
