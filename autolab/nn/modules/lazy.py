"""Layers that find out from their first input how many inputs they have: `nn.LazyLinear(10)` is a `nn.Linear(n, 10)`
once it has seen something of n features.

Until then their parameters have no shape (`nn.parameter.UninitializedParameter`). A hook that runs before the first
forward gives them one, draws their numbers, makes the layer an ordinary one (its class changes) and goes: nothing of
laziness is left.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.modules.lazy.LazyModuleMixin.html
"""

from __future__ import annotations

from functools import partial
from typing import Any

from autolab.engine.core.grad_mode import per_thread
from autolab.engine.autograd.hooks import RemovableHandle
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn.modules.conv import Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d
from autolab.nn.modules.linear import Linear
from autolab.nn.modules.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    _BatchNorm,
    _InstanceNorm,
    _Tracking,
)
from autolab.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from autolab.engine.core.dtype import dtype as DType
from autolab.nn._arguments import DeviceLike, Sizes

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Makes a lazy module of a module: `class LazyMine(LazyModuleMixin, Mine)`.

    Its `__init__` registers parameters of type `UninitializedParameter`, and its `initialize_parameters`, which gets
    what `forward` gets, calls `materialize(shape)` of each. `cls_to_become` is the class of the module after its first
    forward; None: it keeps its own.
    """

    cls_to_become: type | None = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = RemovableHandle.add(self._load_state_dict_pre_hooks, self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def has_uninitialized_params(self):
        """Whether a parameter or buffer of this module itself has no shape yet."""
        return any(
            is_lazy(tensor) for tensor in (*self._parameters.values(), *self._buffers.values())
        )

    def initialize_parameters(self, *args, **kwargs):
        """Give every parameter its shape and its first numbers, by what `forward` is about to get. Raises
        NotImplementedError."""
        raise fail(
            NotImplementedError,
            f"initialize_parameters is not implemented for {type(self).__name__}",
            "Define it with forward's arguments, and call materialize(shape) of each uninitialized parameter in it.",
        )

    def _infer_parameters(self, module, args, kwargs=None):
        """The hook before the first forward."""
        state = per_thread.state
        # pictures of this call show it as what it becomes
        if module.cls_to_become is not None and state.module is module:
            state.scope = (*state.scope[:2], module.cls_to_become.__name__, *state.scope[3:])
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise fail(
                RuntimeError,
                f"module {self._get_name()} has not been fully initialized",
                "initialize_parameters has to call materialize(shape) of each uninitialized parameter and buffer.",
            )
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._own_state().items():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()

    def _lazy_load_hook(self, state_dict, prefix, local_metadata, *_):
        """Before loading: what has no shape gets that of what is loaded, once all keys and shapes are known to fit."""
        later = local_metadata.get("later")
        for name, own in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if is_lazy(own) and isinstance(given, Tensor) and not is_lazy(given):
                take = partial(own.materialize, given.shape)
                take() if later is None else later.append(take)


class _SizedByInput(LazyModuleMixin):
    """What torch's own lazy layers share. `_size`: the attribute that the input decides; it is 0 until then."""

    _size = ""

    def reset_parameters(self):
        """Draw new numbers; nothing happens while the layer has no size."""
        if not self.has_uninitialized_params() and getattr(self, self._size) != 0:
            super().reset_parameters()

    def _leave_open(self, names, device, dtype):
        for name in names:
            setattr(self, name, UninitializedParameter(device=device, dtype=dtype))

    def _materialize(self, **shapes):
        """Give what there is of these their shapes, and draw the layer's numbers."""
        for name, shape in shapes.items():
            if getattr(self, name) is not None:
                getattr(self, name).materialize(shape)
        self.reset_parameters()

    def _check_open(self):
        for name in ("weight", "bias"):
            if not isinstance(getattr(self, name), UninitializedParameter | None):
                raise fail(
                    AssertionError,
                    f"self.{name} must be an UninitializedParameter",
                    "Some of the layer's tensors were loaded or replaced and others not: load all of them, or none.",
                )


class LazyLinear(_SizedByInput, Linear):
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
        self._leave_open(["weight", "bias"] if bias else ["weight"], device, dtype)

    def initialize_parameters(self, input: Tensor) -> None:
        """Take `in_features` from `input`. Raises AssertionError when a weight that was loaded has another."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self._materialize(
                weight=(self.out_features, self.in_features), bias=(self.out_features,)
            )
        if self.in_features == 0:  # the weight was loaded
            if input.shape[-1] != self.weight.shape[-1]:
                raise fail(
                    AssertionError,
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from self.weight: "
                    f"{self.weight.shape[-1]}",
                    "The weights that were loaded are for inputs of another size.",
                )
            self.in_features = input.shape[-1]


class _LazyConvXdMixin(_SizedByInput):
    """Convolutions that take `in_channels` from their first input. Raise RuntimeError for one of another number of
    dimensions."""

    _size = "in_channels"

    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes | str,
        *,
        groups: int,
        bias: bool,
        device: DeviceLike,
        dtype: DType | None,
        **settings: Any,
    ) -> None:
        super().__init__(
            0,
            0,
            kernel_size,
            stride,
            padding,
            groups=groups,
            bias=False,
            device=device,
            dtype=dtype,
            **settings,
        )
        self.out_channels = out_channels
        self._leave_open(["weight", "bias"] if bias else ["weight"], device, dtype)

    def initialize_parameters(self, input, *args, **kwargs):
        """Take `in_channels` from `input`. Raises ValueError when the groups do not divide it."""
        if self.has_uninitialized_params():
            self.in_channels = self._channels_of(input)
            if self.in_channels % self.groups:
                raise fail(
                    ValueError,
                    "in_channels must be divisible by groups",
                    "Channels are shared out evenly over groups.",
                )
            self._check_open()
            ends = (
                (self.in_channels, self.out_channels)
                if self.transposed
                else (self.out_channels, self.in_channels)
            )
            self._materialize(
                weight=(ends[0], ends[1] // self.groups, *self.kernel_size),
                bias=(self.out_channels,),
            )

    def _channels_of(self, input):
        alone = self._dims + 1
        if input.dim() not in (alone, alone + 1):
            raise fail(
                RuntimeError,
                f"Expected {alone}D (unbatched) or {alone + 1}D (batched) input to {type(self).__name__}, but got input of size: "
                f"{input.shape}",
                "Before the sizes of an image stand its channels, and before them the number of images.",
            )
        return input.shape[-alone]


class _LazyConv(_LazyConvXdMixin):
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
        more = {"dilation": dilation, "padding_mode": padding_mode}
        super().__init__(
            out_channels,
            kernel_size,
            stride,
            padding,
            groups=groups,
            bias=bias,
            device=device,
            dtype=dtype,
            **more,
        )


class _LazyTransposed(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        more = {
            "output_padding": output_padding,
            "dilation": dilation,
            "padding_mode": padding_mode,
        }
        super().__init__(
            out_channels,
            kernel_size,
            stride,
            padding,
            groups=groups,
            bias=bias,
            device=device,
            dtype=dtype,
            **more,
        )


class LazyConv1d(_LazyConv, Conv1d):
    """A `Conv1d` that takes `in_channels` from its first input, (N, C, L) or (C, L)."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A `Conv2d` that takes `in_channels` from its first input, (N, C, H, W) or (C, H, W)."""

    cls_to_become = Conv2d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A `ConvTranspose1d` that takes `in_channels` from its first input, (N, C, L) or (C, L)."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A `ConvTranspose2d` that takes `in_channels` from its first input, (N, C, H, W) or (C, H, W)."""

    cls_to_become = ConvTranspose2d


class _LazyNormBase(_SizedByInput, _Tracking):
    """Normalisations that take `num_features` from dimension 1 of their first input; the affine and tracking ones also
    of instances."""

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
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self._leave_open(["weight", "bias"] if bias else ["weight"], device, dtype)
        if track_running_stats:
            import autolab

            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = autolab.tensor(0, dtype=autolab.int64, device=device)

    def initialize_parameters(self, input: Tensor) -> None:
        """Take `num_features` from `input`. Raises IndexError for one of fewer than two dimensions."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            self._check_open()
            self._materialize(
                **dict.fromkeys(
                    ("weight", "bias", "running_mean", "running_var"), (self.num_features,)
                )
            )


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm1d` that takes `num_features` from its first input, (N, C) or (N, C, L)."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm2d` that takes `num_features` from its first input, (N, C, H, W)."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm3d` that takes `num_features` from its first input, (N, C, D, H, W)."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm1d` with weights and running statistics that takes `num_features` from dimension 1 of its first
    input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm2d` with weights and running statistics that takes `num_features` from dimension 1 of its first
    input."""

    cls_to_become = InstanceNorm2d
