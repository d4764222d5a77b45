"""Properties of a tensor: its sizes, strides, memory and dtype. Source:
https://docs.pytorch.org/docs/2.13/tensors.html"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ..exact.refusals import check_dim, no_dimensions
from ..core.device import device
from ..core.tensor import Tensor, attach, materialise
from ..devices import device as devices
from ..exact.arguments import int_argument
from .size import Size, size_of

if TYPE_CHECKING:
    from ..core.tensor import Tensor as Base
else:
    Base = object


@attach
class Facts(Base):
    """The methods of Tensor that describe it."""

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions, a `Size`. Source: torch.Tensor.shape."""
        return size_of(self._array.shape)

    @property
    def device(self) -> device:
        """The device of the memory, a `torch.device`. Source: torch.Tensor.device."""
        return self._storage.device

    @property
    def output_nr(self) -> int:
        """The number of this output of its `grad_fn`, counted from 0. Source: torch.Tensor.output_nr."""
        return self._nr

    @property
    def _version(self) -> int:
        """The number of in-place changes of the memory."""
        return self._storage.version

    @property
    def _base(self) -> Base | None:
        """The tensor whose memory this view shares; None if it is not a view."""
        return None if self._view is None else self._view.base

    @property
    def ndim(self) -> int:
        """The number of dimensions: 0 for a single number. Source: torch.Tensor.ndim."""
        return self._array.ndim

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def is_cuda(self) -> bool:
        """Whether the tensor is on a GPU. Source: torch.Tensor.is_cuda."""
        return self.device.type == "cuda"

    @property
    def is_meta(self) -> bool:
        """Whether the tensor has sizes but no values (device 'meta'). Source: torch.Tensor.is_meta."""
        return self.device.type == "meta"

    @property
    def itemsize(self) -> int:
        """The number of bytes of one element. Source: torch.Tensor.itemsize."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements. Source: torch.Tensor.nbytes."""
        return self._array.size * self.dtype.itemsize

    def element_size(self) -> int:
        """Return the number of bytes of one element. Source: torch.Tensor.element_size."""
        return self.dtype.itemsize

    def is_floating_point(self) -> bool:
        """Return whether the dtype is floating point. Source: torch.Tensor.is_floating_point."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Return whether the dtype is complex. Source: torch.Tensor.is_complex."""
        return self.dtype.is_complex

    def size(self, dim=None):
        """Return the shape, or the size of dimension `dim`. Raise IndexError if the dimension does not exist."""
        if dim is None:
            return self.shape
        return self._array.shape[self._place(dim)]

    def _place(self, dim):
        """Return `dim` counted from the front. Raise IndexError if the dimension does not exist."""
        dim = int_argument("size", "dim", 1, dim)
        if not self._array.ndim:
            raise no_dimensions(dim)
        return check_dim(dim, self._array.ndim)

    def dim(self) -> int:
        """Return the number of dimensions: 0 for a single number. Source: torch.Tensor.dim."""
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        """Return the number of elements. Source: torch.Tensor.numel."""
        return int(self._array.size)

    nelement = numel

    def stride(self, dim=None):
        """Return the step in elements from one entry to the next, per dimension. A view has its own step even along a
        dimension of size 1."""
        strides = strides_of(self)
        return strides if dim is None else strides[self._place(dim)]

    def storage_offset(self) -> int:
        """Return the position of the first element in the memory shared with views, counted in elements. Source:
        torch.Tensor.storage_offset."""
        base = self._storage.array
        if base is None or self._array is base:
            return 0
        return (devices.address(self._array) - devices.address(base)) // self.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element. Source: torch.Tensor.data_ptr."""
        return devices.address(materialise(self))

    def is_contiguous(self) -> bool:
        """Return whether the elements are in row-major order in memory, without gaps. Source:
        torch.Tensor.is_contiguous."""
        return _row_major_array(self).flags.c_contiguous


def _row_major_array(t):
    """Return the array of a tensor; one with four dimensions is copied into row-major order if it is not in this order
    yet."""
    return materialise(t) if t._array.ndim == 4 else t._array


@functools.lru_cache(maxsize=1024)
def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides in elements of a row-major array.

    >>> contiguous_strides((2, 3))
    (3, 1)
    """
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def strides_of(t: Tensor) -> tuple[int, ...]:
    """Return `t.stride()`.

    >>> strides_of(torch.ones(2, 3)), strides_of(torch.ones(2, 3).t()), strides_of(torch.ones(1, 2).t())
    ((3, 1), (1, 3), (1, 2))
    """
    d = _row_major_array(t)
    if d.flags.c_contiguous and (t._view is None or not d.size):
        return contiguous_strides(d.shape)
    size = d.itemsize
    return tuple([n // size for n in d.strides])
