"""Normalisation layers. Source: https://docs.pytorch.org/docs/stable/nn.html#normalization-layers"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import autolab
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.engine.core.tensor import Tensor
from autolab.nn import functional as F, init
from autolab.nn._arguments import DeviceLike
from autolab.nn.modules.layer import Layer

if TYPE_CHECKING:
    from dataclasses import KW_ONLY


class _Affine(Layer):
    """The base of layers with a weight of ones and a bias of zeros; either may be omitted."""

    _shown: ClassVar[tuple[str, ...]] = ()

    def _set_up(self, settings):
        options = {name: settings.pop(name) for name in ("device", "dtype")}
        bias = settings.pop("bias", False)
        super()._set_up(settings)
        shape = self._shape() if getattr(self, "affine", True) else None
        shapes = {"weight": shape}
        if "bias" in self._fields:
            shapes["bias"] = shape if bias else None
        self._make_parameters(shapes, **options)
        self._make_statistics(options)
        self.reset_parameters()

    def _make_statistics(self, options):
        """Add the buffers for running statistics."""

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)

    def extra_repr(self) -> str:
        """Return the sizes and settings."""
        size, *settings = self._shown
        shown = {name: getattr(self, name) for name in settings}
        if "bias" in shown:
            shown["bias"] = self.bias is not None
        return f"{getattr(self, size)}, " + ", ".join(f"{n}={value}" for n, value in shown.items())


class _Tracking(_Affine):
    """The base of batch and instance norm: weight and bias per channel, running mean and variance."""

    _version = 2
    _shown = tuple("num_features eps momentum affine bias track_running_stats".split())

    def _shape(self):
        return (self.num_features,)

    def _make_statistics(self, options):
        tracked = [None] * 3
        if self.track_running_stats:
            count = autolab.tensor(0, dtype=autolab.int64, device=options["device"])
            shape = self._shape()
            tracked = [autolab.zeros(shape, **options), autolab.ones(shape, **options), count]
        for name, value in zip(("running_mean", "running_var", "num_batches_tracked"), tracked):
            self.register_buffer(name, value)

    def reset_running_stats(self) -> None:
        """Set the running mean to 0, the running variance to 1 and the number of batches to 0."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset the statistics; set the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input):
        """Raise ValueError unless the number of dimensions of `input` is in `_dims`."""
        if input.dim() not in self._dims:
            expected = " or ".join(f"{n}D" for n in self._dims)
            raise fail(
                ValueError,
                f"expected {expected} input (got {input.dim()}D input)",
                f"{type(self).__name__} normalises the channels, which are dimension 1 of a batch.",
            )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            # a checkpoint from before this counter existed
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_Tracking, function=F.batch_norm):
    num_features: int
    eps: float = 1e-5
    momentum: float | None = 0.1
    affine: bool = True
    track_running_stats: bool = True
    device: DeviceLike = None
    dtype: DType | None = None
    _: KW_ONLY
    bias: bool = True

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` normalised: with the batch's statistics in training, with the running ones in evaluation."""
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                # the cumulative average of all batches
                factor = 1.0 / float(self.num_batches_tracked)
        use_running = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if use_running else None,
            self.running_var if use_running else None,
            self.weight,
            self.bias,  # type: ignore[arg-type]
            self.training or (self.running_mean is None and self.running_var is None),
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm, function=F.batch_norm):
    """(x - mean) / sqrt(var + eps) * weight + bias per channel, for x of shape (N, C) or (N, C, L).

    In training, mean and variance come from the batch, and `running_mean`, `running_var` move towards them by
    `momentum` (None: their cumulative average). In evaluation, the running values are used. Raise ValueError for other
    shapes, or for a single value per channel in training. Ioffe and Szegedy, "Batch Normalization" (2015).
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm, function=F.batch_norm):
    """`BatchNorm1d` for images, x of shape (N, C, H, W).

    Example:

        >>> layer = nn.BatchNorm2d(3)
        >>> y = layer(torch.rand(16, 3, 8, 8))
        >>> torch.allclose(y.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-5)
        True
    """

    _dims = (4,)


class BatchNorm3d(_BatchNorm, function=F.batch_norm):
    """`BatchNorm1d` for volumes, x of shape (N, C, D, H, W)."""

    _dims = (5,)


class _InstanceNorm(_Tracking, function=F.instance_norm):
    num_features: int
    eps: float = 1e-5
    momentum: float | None = 0.1
    affine: bool = False
    track_running_stats: bool = False
    device: DeviceLike = None
    dtype: DType | None = None
    _: KW_ONLY
    bias: bool = True

    def _set_up(self, settings):
        if settings["track_running_stats"]:
            raise unsupported(type(self).__name__, "track_running_stats", "Use batch norm for it.")
        super()._set_up(settings)

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with every channel of every sample normalised on its own."""
        self._check_input_dim(input)
        unbatched = input.dim() == self._dims[0]
        dim = int(not unbatched)
        if self.affine and input.size(dim) != self.num_features:
            raise fail(
                ValueError,
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                f"{input.size(dim)}.",
                "There is one weight per channel.",
            )
        x = input.unsqueeze(0) if unbatched else input
        y = F.instance_norm(x, None, None, self.weight, self.bias, eps=self.eps)  # type: ignore[arg-type]
        return y.squeeze(0) if unbatched else y


class InstanceNorm1d(_InstanceNorm, function=F.instance_norm):
    """(x - mean) / standard deviation for every channel of every sample; x is (N, C, L) or (C, L).

    Ulyanov, Vedaldi and Lempitsky, "Instance Normalization" (2016).
    """

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm, function=F.instance_norm):
    """`InstanceNorm1d` for images, x of shape (N, C, H, W) or (C, H, W)."""

    _dims = (3, 4)


class _OverLastDims(_Affine):
    """The base of layer norm and RMS norm: the sizes of the dimensions that are normalised together."""

    def _set_up(self, settings):
        shape = settings["normalized_shape"]
        settings["normalized_shape"] = (shape,) if isinstance(shape, int) else tuple(shape)
        super()._set_up(settings)

    def _shape(self):
        return self.normalized_shape if self.elementwise_affine else None


class LayerNorm(_OverLastDims, function=F.layer_norm, settings="normalized_shape weight bias eps"):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions of x, of sizes `normalized_shape`.

    Raise RuntimeError if the sizes differ. Ba, Kiros and Hinton, "Layer Normalization" (2016).

    Example:

        >>> nn.LayerNorm(2)(torch.tensor([[1., 3.]]))
        tensor([[-1.0000,  1.0000]], grad_fn=<NativeLayerNormBackward0>)
    """

    normalized_shape: int | Sequence[int]
    eps: float = 1e-5
    elementwise_affine: bool = True
    bias: bool = True
    device: DeviceLike = None
    dtype: DType | None = None
    _shown = ("normalized_shape", "eps", "elementwise_affine", "bias")


class GroupNorm(_Affine, function=F.group_norm, settings="num_groups weight bias eps"):
    """Normalise each sample's channels in `num_groups` groups, each with its own mean and variance; weight and bias are
    per channel.

    Raise ValueError if the channels cannot be divided evenly. Wu and He, "Group Normalization" (2018).
    """

    num_groups: int
    num_channels: int
    eps: float = 1e-5
    affine: bool = True
    device: DeviceLike = None
    dtype: DType | None = None
    _: KW_ONLY
    bias: bool = True
    _shown = ("num_groups", "num_channels", "eps", "affine", "bias")

    def _set_up(self, settings):
        groups, channels = settings["num_groups"], settings["num_channels"]
        if channels % groups:
            raise fail(
                ValueError,
                f"num_channels ({channels}) must be divisible by num_groups ({groups})",
                "The number of channels must be divisible by the number of groups.",
            )
        super()._set_up(settings)

    def _shape(self):
        return (self.num_channels,)

    def extra_repr(self) -> str:
        """Return the sizes and settings."""
        return super().extra_repr().replace("num_channels=", "", 1)


class RMSNorm(_OverLastDims, function=F.rms_norm, settings="normalized_shape weight eps"):
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions of x; `eps` None means the dtype's epsilon.

    Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019).
    """

    normalized_shape: int | Sequence[int]
    eps: float | None = None
    elementwise_affine: bool = True
    device: DeviceLike = None
    dtype: DType | None = None
    _shown = ("normalized_shape", "eps", "elementwise_affine")
