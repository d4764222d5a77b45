"""The types of the operators and methods that records put on the Tensor class, for type checkers; at run time this
class is not used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..core.device import device as torch_device
    from ..core.tensor import Tensor
    from .size import Size

    class Declared:
        """Operators that return tensors; further methods are named in `METHODS`."""

        data: Tensor

        @property
        def shape(self) -> Size: ...
        @property
        def device(self) -> torch_device: ...
        def __init__(self, *args: Any, **kwargs: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, key: Any) -> Tensor: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def __neg__(self) -> Tensor: ...

        __pos__ = __abs__ = __invert__ = __neg__

        def __add__(self, other: Any) -> Tensor: ...

        __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__
        __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __add__
        __matmul__ = __rmatmul__ = __and__ = __or__ = __xor__ = __add__
        __lt__ = __le__ = __gt__ = __ge__ = __add__

        def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]

else:
    Declared = object
