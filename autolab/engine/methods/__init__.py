"""The methods of Tensor that are not operations: properties, conversions, copies, gradients and Python's special
methods.

Importing this package adds them to the class."""

from ..autograd import nodes  # noqa: F401 (what users see of nodes)
from . import conversions, copies, facts, gradients, protocols, storage  # noqa: F401
