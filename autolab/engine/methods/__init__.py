"""The methods of Tensor that are no operations: what it is, what it becomes, how it is copied, what Python and the
learner ask of it.

Importing this package puts them on the class."""

from ..autograd import nodes  # noqa: F401 (what users see of nodes)
from . import conversions, copies, facts, gradients, protocols, storage  # noqa: F401
