"""Lazy layers, which read the number of inputs from their first input: `nn.LazyLinear(10)` becomes a `nn.Linear(n, 10)`
when it first receives n features. d2l.ai builds its networks with them.

Until then their parameters have no shape (`nn.parameter.UninitializedParameter`). The first call makes the ordinary
layer, copies its parameter values and changes the class.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.modules.lazy.LazyModuleMixin.html
"""

from __future__ import annotations

from typing import Any

from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike
from autolab.nn.modules.conv import Conv2d
from autolab.nn.modules.layer import Layer
from autolab.nn.modules.linear import Linear
from autolab.nn.modules.normalization import BatchNorm1d, BatchNorm2d, _BatchNorm
from autolab.nn.parameter import UninitializedParameter
from autolab.engine.core.dtype import dtype as DType


class LazyModuleMixin:
    """The base of lazy layers.

    `_size` is the attribute that the first input decides (0 until then), and `cls_to_become` the class of the layer
    afterwards.
    """

    cls_to_become: Any
    _size = ""
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def __init_subclass__(cls, become=None, size="", **options):
        if become is not None:
            cls.cls_to_become, cls._size = become, size
            if issubclass(become, Layer):
                cls._fields = {n: kind for n, kind in become._fields.items() if n != size}
                options["function"] = become
        super().__init_subclass__(**options)

    def _make_lazy(self, settings, names):
        """Store the settings of the later layer, and add parameters without a shape."""
        self._later = settings
        options = {name: settings[name] for name in ("device", "dtype")}
        for name in names:
            setattr(self, name, UninitializedParameter(**options))

    def reset_parameters(self) -> None:
        """Do nothing, because the ordinary layer draws the values later."""

    def __call__(self, input: Tensor) -> Any:
        """Become the ordinary layer for the size of `input`, including its parameters, and return its result."""
        own = [t for t in (*self._parameters.values(), *self._buffers.values()) if t is not None]
        settings = {self._size: self._size_of(input), **self._later}  # type: ignore[attr-defined]
        if own:
            settings |= {"device": own[0].device, "dtype": own[0].dtype}
            setattr(self, self._size, settings[self._size])
        ready = self.cls_to_become(**settings)
        for name, parameter in ready._parameters.items():
            if parameter is not None:
                self._parameters[name].materialize(parameter)
        self._buffers.update(ready._buffers)
        del self._later
        self.__class__ = self.cls_to_become
        return self(input)


class LazyLinear(LazyModuleMixin, Linear, become=Linear, size="in_features"):
    """A `Linear` that takes `in_features` from the last dimension of its first input."""

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        settings = dict(out_features=out_features, bias=bias, device=device, dtype=dtype)
        self._make_lazy(settings, ["weight", "bias"] if bias else ["weight"])

    def _size_of(self, input):
        return input.shape[-1]


class LazyConv2d(LazyModuleMixin, Conv2d, become=Conv2d, size="in_channels"):
    """A `Conv2d` that takes `in_channels` from its first input, (N, C, H, W) or (C, H, W).

    Raise RuntimeError for an input with another number of dimensions.
    """

    def _set_up(self, settings):
        super()._set_up({**settings, "in_channels": 0, "bias": False})
        self._make_lazy(settings, ["weight", "bias"] if settings["bias"] else ["weight"])

    def _size_of(self, input):
        if input.dim() not in (3, 4):
            raise fail(
                RuntimeError,
                f"Expected 3D (unbatched) or 4D (batched) input to {type(self).__name__}, but got input of size: "
                f"{input.shape}",
                "The channels stand before the sizes of an image, and the number of images before the channels.",
            )
        return input.shape[-3]


class _LazyBatchNorm(LazyModuleMixin):
    """The base of batch norms that take `num_features` from dimension 1 of their first input."""

    def _set_up(self, settings):
        affine = settings["affine"]
        super()._set_up({**settings, "num_features": 0, "affine": False})
        self.affine = affine
        self._make_lazy(settings, ["weight", "bias"][: affine + (affine and settings["bias"])])

    def _size_of(self, input):
        return input.shape[1]


class LazyBatchNorm1d(_LazyBatchNorm, _BatchNorm, become=BatchNorm1d, size="num_features"):
    """A `BatchNorm1d` that takes `num_features` from its first input, (N, C) or (N, C, L)."""


class LazyBatchNorm2d(_LazyBatchNorm, _BatchNorm, become=BatchNorm2d, size="num_features"):
    """A `BatchNorm2d` that takes `num_features` from its first input, (N, C, H, W)."""
