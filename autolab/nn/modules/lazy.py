"""Layers that take their number of inputs from their first input: `nn.LazyLinear(10)` becomes a `nn.Linear(n, 10)`
once it has seen something of n features. They are here because d2l.ai builds its networks of them.

Until then their parameters have no shape (`nn.parameter.UninitializedParameter`). A hook that runs before the first
forward gives them one, draws their numbers and makes the layer an ordinary one: its class changes.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.modules.lazy.LazyModuleMixin.html
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.grad_mode import per_thread
from autolab.engine.core.tensor import Tensor
from autolab.nn.modules.conv import Conv1d, Conv2d
from autolab.nn.modules.linear import Linear
from autolab.nn.modules.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, _BatchNorm
from autolab.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from autolab.engine.core.dtype import dtype as DType
from autolab.nn._arguments import DeviceLike, Sizes


class LazyModuleMixin:
    """What lazy layers share.

    `_size` is the attribute that the first input decides (0 until then), `_shapes` says which shapes the tensors get,
    and `cls_to_become` is the class of the layer afterwards.
    """

    cls_to_become: type
    _size = ""
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _size_of: Callable[[Tensor], int]
    _shapes: Callable[[int], dict[str, tuple[int, ...]]]

    def _make_lazy(self, names, device, dtype):
        for name in names:
            setattr(self, name, UninitializedParameter(device=device, dtype=dtype))
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer of this layer has no shape yet."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))

    def reset_parameters(self) -> None:
        """Draw new numbers; nothing happens while the layer has no size."""
        if not self.has_uninitialized_params() and getattr(self, self._size) != 0:
            super().reset_parameters()  # type: ignore[misc]

    def _infer_parameters(self, module, args, kwargs):
        """Give `module` its size and its parameters; the hook before the first forward."""
        state = per_thread.state
        if state.module is module:  # pictures of this call show the layer as what it becomes
            state.scope = (*state.scope[:2], module.cls_to_become.__name__, *state.scope[3:])
        module.initialize_parameters(*args, **kwargs)
        module._initialize_hook.remove()
        del module._initialize_hook
        module.__class__ = module.cls_to_become

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the size from `input`, and draw the parameters."""
        if self.has_uninitialized_params():
            size = self._size_of(input)
            setattr(self, self._size, size)
            for name, shape in self._shapes(size).items():
                if is_lazy(getattr(self, name)):
                    getattr(self, name).materialize(shape)
            self.reset_parameters()

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._own_state().items():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        """Give what has no shape the shape of what is loaded, once all keys and shapes are known to fit."""
        later = local_metadata.get("later")
        for name, own in (*self._parameters.items(), *self._buffers.items()):
            saved = state_dict.get(prefix + name)
            if is_lazy(own) and isinstance(saved, Tensor) and not is_lazy(saved):
                take = partial(own.materialize, saved.shape)
                take() if later is None else later.append(take)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` that takes `in_features` from the last dimension of its first input."""

    cls_to_become = Linear
    _size = "in_features"

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self._make_lazy(["weight", "bias"] if bias else ["weight"], device, dtype)

    def initialize_parameters(self, input: Tensor) -> None:
        """Take `in_features` from `input`. Raises AssertionError when a weight that was loaded has another."""
        super().initialize_parameters(input)
        if self.in_features == 0:  # the weight was loaded
            if input.shape[-1] != self.weight.shape[-1]:
                raise fail(
                    AssertionError,
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from self.weight: "
                    f"{self.weight.shape[-1]}",
                    "The weights that were loaded are for inputs of another size.",
                )
            self.in_features = input.shape[-1]

    def _size_of(self, input):
        return input.shape[-1]

    def _shapes(self, size):
        return {"weight": (self.out_features, size), "bias": (self.out_features,)}


class _LazyConv(LazyModuleMixin):
    """Convolutions that take `in_channels` from their first input; the other arguments are the convolution's.

    Raise RuntimeError for an input of another number of dimensions.
    """

    _size = "in_channels"

    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        geometry = (kernel_size, stride, padding, dilation, groups)
        super().__init__(0, 0, *geometry, False, padding_mode)  # type: ignore[call-arg]
        self.out_channels = out_channels
        self._make_lazy(["weight", "bias"] if bias else ["weight"], device, dtype)

    def _size_of(self, input):
        alone = self._dims + 1
        if input.dim() not in (alone, alone + 1):
            raise fail(
                RuntimeError,
                f"Expected {alone}D (unbatched) or {alone + 1}D (batched) input to {type(self).__name__}, but got input of size: "
                f"{input.shape}",
                "The channels stand before the sizes of an image, and the number of images before the channels.",
            )
        if input.shape[-alone] % self.groups:
            raise fail(
                ValueError,
                "in_channels must be divisible by groups",
                "Every group takes an equal number of channels.",
            )
        return input.shape[-alone]

    def _shapes(self, size):
        kernel = (self.out_channels, size // self.groups, *self.kernel_size)
        return {"weight": kernel, "bias": (self.out_channels,)}


class LazyConv1d(_LazyConv, Conv1d):
    """A `Conv1d` that takes `in_channels` from its first input, (N, C, L) or (C, L)."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A `Conv2d` that takes `in_channels` from its first input, (N, C, H, W) or (C, H, W)."""

    cls_to_become = Conv2d


class _LazyBatchNorm(LazyModuleMixin):
    """Batch norms that take `num_features` from dimension 1 of their first input."""

    _size = "num_features"

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)  # type: ignore[call-arg]
        self.affine, self.track_running_stats = affine, track_running_stats
        self._make_lazy(["weight", "bias"][: affine + (affine and bias)], device, dtype)
        if track_running_stats:
            for name in ("running_mean", "running_var"):
                setattr(self, name, UninitializedBuffer(device=device, dtype=dtype))
            self.num_batches_tracked = autolab.tensor(0, dtype=autolab.int64, device=device)

    def _size_of(self, input):
        return input.shape[1]

    def _shapes(self, size):
        return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (size,))


class LazyBatchNorm1d(_LazyBatchNorm, _BatchNorm):
    """A `BatchNorm1d` that takes `num_features` from its first input, (N, C) or (N, C, L)."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyBatchNorm, _BatchNorm):
    """A `BatchNorm2d` that takes `num_features` from its first input, (N, C, H, W)."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyBatchNorm, _BatchNorm):
    """A `BatchNorm3d` that takes `num_features` from its first input, (N, C, D, H, W)."""

    cls_to_become = BatchNorm3d
