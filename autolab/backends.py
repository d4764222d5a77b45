"""`torch.backends`: what this engine was built with. Source: https://docs.pytorch.org/docs/2.13/backends.html"""
from types import SimpleNamespace as _Namespace

cuda = _Namespace(is_built=lambda: False)
mps = _Namespace(is_available=lambda: False, is_built=lambda: False)
