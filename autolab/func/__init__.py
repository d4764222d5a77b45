"""`torch.func`: functions that turn a function into its derivative. Source:
https://docs.pytorch.org/docs/2.13/func.html"""

from autolab.engine import absent as _absent
from .batching import vmap  # noqa: F401
from .stateless import functional_call  # noqa: F401
from .transforms import grad, hessian, jacrev, vjp  # noqa: F401

__all__ = [
    "functional_call", "grad", "hessian", "jacrev", "vjp", "vmap",
]  # fmt: skip

__getattr__ = _absent.getattr_of("torch.func")
