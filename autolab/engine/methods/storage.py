"""The memory of a tensor, which its views share: `x.storage()`."""

import warnings

from ..core.tensor import attach, materialise
from ..devices import device as devices
from ..kernels.reuse import flat


class TypedStorage:
    """The elements of a tensor's memory, in one dimension. Source: torch.storage.TypedStorage.

    >>> x = torch.arange(6).view(2, 3)
    >>> x[:, 1].storage().tolist()
    [0, 1, 2, 3, 4, 5]
    """

    def __init__(self, tensor):
        array = materialise(tensor)
        self.dtype, self.device = tensor.dtype, tensor.device
        self._elements = flat(tensor._storage.array if tensor._storage.array is not None else array)

    def __len__(self):
        return self._elements.size

    size = __len__

    def __getitem__(self, index):
        return self._elements[index].item()

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        """Return the elements as a list."""
        return self._elements.tolist()

    def data_ptr(self):
        """Return the address of the first element; tensors that share their memory have the same address."""
        return devices.address(self._elements)

    def nbytes(self):
        """Return the number of bytes of all elements."""
        return self._elements.size * self.dtype.itemsize

    def __repr__(self):
        lines = [f" {value}" for value in self.tolist()]
        end = f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
        return "\n".join([*lines, end])


TypedStorage.__module__ = "torch.storage"


@attach
class Storages:
    """The methods of Tensor that show its memory."""

    def storage(self):
        """Return the memory of the tensor, which its views share, in one dimension. Source: torch.Tensor.storage."""
        message = "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
        message += "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
        message += "tensor.untyped_storage() instead of tensor.storage()"
        warnings.warn(message, stacklevel=2)
        return TypedStorage(self)
