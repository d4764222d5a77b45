"""Normalisation layers. Source: https://docs.pytorch.org/docs/stable/nn.html#normalization-layers"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import autolab
from autolab.engine.core.errors import fail
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike


class _Affine(Module):
    """A layer with a weight of ones and a bias of zeros, either of which may be left out."""

    def _make(self, shape, weight, bias, device, dtype):
        for name, wanted in (("weight", weight), ("bias", weight and bias)):
            if wanted:
                setattr(self, name, Parameter(autolab.empty(shape, device=device, dtype=dtype)))
            else:
                self.register_parameter(name, None)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _Tracking(_Affine):
    """Common to batch and instance norm: weight and bias per channel, running mean and variance."""

    _version = 2

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._make(num_features, affine, bias, device, dtype)
        tracked = (
            (
                autolab.zeros(num_features, device=device, dtype=dtype),
                autolab.ones(num_features, device=device, dtype=dtype),
                autolab.tensor(0, dtype=autolab.int64, device=device),
            )
            if track_running_stats
            else (None, None, None)
        )
        for name, value in zip(("running_mean", "running_var", "num_batches_tracked"), tracked):
            self.register_buffer(name, value)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batches seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the statistics; weight 1, bias 0."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input):
        raise NotImplementedError

    def _expect(self, input, dims, words):
        if input.dim() not in dims:
            raise fail(
                ValueError,
                f"expected {words} input (got {input.dim()}D input)",
                f"{type(self).__name__} normalises the channels, which are dimension 1 of a batch.",
            )

    def extra_repr(self) -> str:
        """Number of channels and settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked  # checkpoints older than the counter
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_Tracking):
    def forward(self, input: Tensor) -> Tensor:
        """`input` normalised: by the batch's statistics in training, by the running ones in evaluation."""
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)  # the plain average of all batches
        use_running = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if use_running else None,
            self.running_var if use_running else None,
            self.weight,
            self.bias,
            self.training or (self.running_mean is None and self.running_var is None),
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """(x - mean) / sqrt(var + eps) * weight + bias per channel, for x of shape (N, C) or (N, C, L).

    In training mean and variance are the batch's, and `running_mean`, `running_var` move towards them by `momentum`
    (None: their plain average); in evaluation the running ones are used. Raises ValueError for other shapes, or for a
    single value per channel in training. Ioffe and Szegedy, "Batch Normalization" (2015).
    """

    def _check_input_dim(self, input):
        self._expect(input, (2, 3), "2D or 3D")


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` for images, x of shape (N, C, H, W).

    Example:

        >>> layer = nn.BatchNorm2d(3)
        >>> y = layer(torch.rand(16, 3, 8, 8))
        >>> torch.allclose(y.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-5)
        True
    """

    def _check_input_dim(self, input):
        self._expect(input, (4,), "4D")


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` for volumes, x of shape (N, C, D, H, W)."""

    def _check_input_dim(self, input):
        self._expect(input, (5,), "5D")


class _InstanceNorm(_Tracking):
    _spatial = 0

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _check_input_dim(self, input):
        n = self._spatial
        self._expect(input, (n + 1, n + 2), f"{n + 1}D or {n + 2}D")

    def forward(self, input: Tensor) -> Tensor:
        """`input` with every channel of every sample normalised on its own."""
        self._check_input_dim(input)
        unbatched = input.dim() == self._spatial + 1
        dim = 0 if unbatched else 1
        if input.size(dim) != self.num_features:
            if self.affine:
                raise fail(
                    ValueError,
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                    f"{input.size(dim)}.",
                    "There is one weight per channel.",
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in "
                "num_features, which is not used because affine=False",
                stacklevel=2,
            )
        y = F.instance_norm(
            input.unsqueeze(0) if unbatched else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return y.squeeze(0) if unbatched else y


class InstanceNorm1d(_InstanceNorm):
    """Every channel of every sample minus its mean, divided by its standard deviation; x is (N, C, L) or (C, L).

    Ulyanov, Vedaldi and Lempitsky, "Instance Normalization" (2016).
    """

    _spatial = 1


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` for images, x of shape (N, C, H, W) or (C, H, W)."""

    _spatial = 2


class LayerNorm(_Affine):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions of x, of sizes `normalized_shape`.

    Raises RuntimeError when the sizes differ. Ba, Kiros and Hinton, "Layer Normalization" (2016).

    Example:

        >>> nn.LayerNorm(2)(torch.tensor([[1., 3.]]))
        tensor([[-1.0000,  1.0000]], grad_fn=<NativeLayerNormBackward0>)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make(self.normalized_shape, elementwise_affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """`input` normalised."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Sizes and settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(_Affine):
    """Each sample's channels in `num_groups` groups, each with its own mean and variance; weight and bias per channel.

    Raises ValueError when the channels cannot be shared out. Wu and He, "Group Normalization" (2018).
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise fail(
                ValueError,
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})",
                "Groups have the same number of channels.",
            )
        self.num_groups, self.num_channels, self.eps, self.affine = (
            num_groups,
            num_channels,
            eps,
            affine,
        )
        self._make(num_channels, affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """`input` normalised."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Sizes and settings."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(_Affine):
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions of x; `eps` None is the dtype's own.

    Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019).
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps, self.elementwise_affine = eps, elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(
                autolab.empty(self.normalized_shape, device=device, dtype=dtype)
            )
        else:
            self.register_parameter("weight", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """`input` normalised."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Sizes and settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )
