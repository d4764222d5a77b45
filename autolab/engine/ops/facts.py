"""What one asks a tensor without computing with it: is_nonzero, is_same_size, is_signed, is_inference, unravel_index;
and functions of Python for each element: apply_, map_.

Source: https://docs.pytorch.org/docs/2.13/torch.html#tensors"""

from __future__ import annotations

import numpy as np

from ..core.errors import bad_argument, fail
from ..core.dtype import complex128
from .functions import NAMESPACES, composite
from ..core.tensor import Tensor

_TORCH = NAMESPACES[""]


@composite(method=True)
def is_nonzero(input):
    """Whether the only element is not 0. Raises RuntimeError unless there is one element. Source: torch.is_nonzero."""
    return bool(input)


@composite(method=True)
def is_same_size(input, other):
    """Whether both tensors have the same shape. Source: torch.is_same_size."""
    return input.shape == other.shape


@composite(method=True)
def is_signed(input):
    """Whether numbers of the tensor's dtype have a sign: not so for uint8 and bool. Source: torch.is_signed."""
    return input.dtype.is_signed


@composite()
def is_inference(input):
    """Whether the tensor was made under `inference_mode`. Source: torch.is_inference."""
    return input.is_inference()


@composite()
def unravel_index(indices, shape):
    """Positions counted over all elements as positions along each dimension of `shape`: a tuple of tensors like
    `indices`.

    Raises TypeError unless `indices` are whole numbers. Source: torch.unravel_index."""
    if not isinstance(indices, Tensor) or not indices.dtype.is_integer:
        kind = indices.dtype if isinstance(indices, Tensor) else type(indices).__name__
        message = f"expected 'indices' to be integer dtype, but got {kind}"
        raise fail(TypeError, message, "Positions are a tensor of whole numbers.")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    steps = [int(np.prod(sizes[k + 1 :], dtype=np.int64)) for k in range(len(sizes))]
    table = _TORCH["tensor"]([steps, sizes], dtype=indices.dtype, device=indices.device)
    return (indices.unsqueeze(-1).floor_divide(table[0]) % table[1]).unbind(-1)


@composite(method=True, function=False)
def cdouble(self):
    """`self.to(torch.complex128)`. Source: torch.Tensor.cdouble."""
    return self.to(complex128)


def _one_by_one(name, self, others, f):
    if self.requires_grad:
        message = f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
        raise fail(
            RuntimeError, message, "What a Python function does to a number has no derivative here."
        )
    if self.device.type != "cpu":
        raise fail(
            TypeError, f"{name} is only implemented on CPU tensors", "Move it with .cpu() first."
        )
    if not callable(f):
        raise bad_argument(name, "callable", len(others) + 1, "callable", f)
    results = [f(*numbers) for numbers in zip(*(t.flatten().tolist() for t in (self, *others)))]
    return self.copy_(_TORCH["tensor"](results, dtype=self.dtype).reshape(self.shape))


@composite(method=True, function=False)
def apply_(self, callable):
    """Replaces each element by `callable(element)`, a Python function: slow, on the CPU, without gradient. Source:
    torch.Tensor.apply_."""
    return _one_by_one("apply_", self, (), callable)


@composite(method=True, function=False)
def map_(self, tensor, callable):
    """Replaces each element by `callable(element, element of tensor)`; as `apply_`. Source: torch.Tensor.map_."""
    return _one_by_one("map_", self, (tensor.expand(self.shape),), callable)


@composite()
def detach_(input):
    """`input.detach_()`. Source: torch.detach_."""
    return input.detach_()
