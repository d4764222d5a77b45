"""Low-rank adapters: a frozen layer plus a small trained product of two thin matrices.

E. Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", https://arxiv.org/abs/2106.09685: instead of W,
train B and A in W + (alpha / r) B A. B starts at zero, so that the network starts as it was; afterwards the product is
added to W.
"""

from __future__ import annotations

import math

import autolab
from autolab import nn
from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.refusals import unsupported
from autolab.finetune.freezing import freeze, matching


class _Adapter(nn.Module):
    """A frozen `base` layer and its two trained factors; `scaling` is alpha / r."""

    def __init__(
        self,
        base: nn.Linear | nn.Conv2d,
        r: int,
        alpha: float | None,
        a_shape: tuple[int, ...],
        b_shape: tuple[int, ...],
    ) -> None:
        super().__init__()
        if not isinstance(r, int) or r < 1:
            raise fail(
                ValueError,
                f"r should be an integer of at least 1, but got {r}",
                "r is the rank of the two small matrices.",
            )
        self.r, self.alpha = r, r if alpha is None else alpha
        self.scaling = self.alpha / r
        self.base = base.requires_grad_(False)
        like = {"dtype": base.weight.dtype, "device": base.weight.device}
        self.lora_A = nn.Parameter(autolab.empty(a_shape, **like))
        self.lora_B = nn.Parameter(autolab.empty(b_shape, **like))
        self.train(base.training)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """A as nn.Linear draws its weight, B zero: the adapter adds nothing yet."""
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B)

    def delta(self) -> Tensor:
        """What the adapter adds to the base's weight, in its shape."""
        product = self.lora_B.flatten(1) @ self.lora_A.flatten(1)
        return self.scaling * product.view(self.base.weight.shape)

    def merge(self) -> nn.Linear | nn.Conv2d:
        """The base layer with the adapter's product added to its weight, in place."""
        with no_grad():
            self.base.weight.add_(self.delta())
        return self.base

    def extra_repr(self) -> str:
        """Rank and scale."""
        return f"r={self.r}, alpha={self.alpha}"


class LoRALinear(_Adapter):
    """base(x) + alpha / r * x A^T B^T for an `nn.Linear` base: (*, in_features) to (*, out_features).

    r: rank; lora_A is (r, in_features), lora_B (out_features, r). alpha: scale, r by default. The base is frozen.
    Raises TypeError for another base, ValueError for a rank below 1.
    """

    def __init__(self, base: nn.Linear, r: int = 4, alpha: float | None = None) -> None:
        if not isinstance(base, nn.Linear):
            raise fail(
                TypeError,
                f"base should be a Linear, but got {type(base).__name__}",
                "A LoRA layer adapts a single layer.",
            )
        super().__init__(base, r, alpha, (r, base.in_features), (base.out_features, r))

    def forward(self, input: Tensor) -> Tensor:
        """The base's output and the adapter's."""
        low = nn.functional.linear(input, self.lora_A)
        return self.base(input) + self.scaling * nn.functional.linear(low, self.lora_B)


class LoRAConv2d(_Adapter):
    """The same for an `nn.Conv2d` base: a convolution to r channels, then a 1x1 convolution to out_channels.

    lora_A is (r, in_channels, kH, kW), lora_B (out_channels, r, 1, 1). Raises TypeError for another base, ValueError
    for a rank below 1, NotImplementedError for groups and for padding with other than zeros.
    """

    def __init__(self, base: nn.Conv2d, r: int = 4, alpha: float | None = None) -> None:
        if not isinstance(base, nn.Conv2d):
            raise fail(
                TypeError,
                f"base should be a Conv2d, but got {type(base).__name__}",
                "A LoRA layer adapts a single layer.",
            )
        if base.groups != 1:
            raise unsupported(
                "LoRAConv2d",
                "groups",
                "The product of two full matrices does not split into groups.",
            )
        if base.padding_mode != "zeros":
            raise unsupported("LoRAConv2d", "padding_mode", "Use zeros.")
        super().__init__(base, r, alpha, (r, *base.weight.shape[1:]), (base.out_channels, r, 1, 1))

    def forward(self, input: Tensor) -> Tensor:
        """The base's output and the adapter's."""
        base = self.base
        low = nn.functional.conv2d(
            input, self.lora_A, None, base.stride, base.padding, base.dilation
        )
        return base(input) + self.scaling * nn.functional.conv2d(low, self.lora_B)


def _is_adaptable(module: nn.Module) -> bool:
    if isinstance(module, nn.Conv2d):
        return module.groups == 1 and module.padding_mode == "zeros"
    return isinstance(module, nn.Linear)


def add_lora(model: nn.Module, *patterns: str, r: int = 4, alpha: float | None = None) -> list[str]:
    """Freeze `model` and give adapters to its layers that match; returns their names.

    patterns: as in `freeze`; without any, every Linear is meant, and every Conv2d without groups that pads with zeros.
    Unfreeze afterwards what else should be trained, such as a new head: `unfreeze(model, "fc")`. Running statistics
    move on in training mode: see `freeze_statistics`. Raises ValueError for a pattern that no such layer matches, and
    when there are adapters already; nothing is changed then.
    """
    if any(isinstance(module, _Adapter) for module in model.modules()):
        raise fail(ValueError, "the model has adapters already", "Call merge_lora(model) first.")
    adaptable = {
        name: module
        for name, module in model.named_modules(remove_duplicate=False)
        if name and _is_adaptable(module)
    }
    chosen = matching(adaptable, patterns)
    if not chosen:
        raise fail(
            ValueError,
            "the model has no layer to adapt",
            "Linear and Conv2d inside of it can be adapted.",
        )
    adapters: dict[int, _Adapter] = {}  # a shared layer gets one
    for module in chosen.values():
        if id(module) not in adapters:
            kind = LoRALinear if isinstance(module, nn.Linear) else LoRAConv2d
            adapters[id(module)] = kind(module, r, alpha)
    freeze(model)
    for name, module in chosen.items():
        _replace(model, name, adapters[id(module)])
    return list(chosen)


def merge_lora(model: nn.Module) -> list[str]:
    """Put in the place of each adapter its base with the product added: the same outputs, the old names. Returns the
    names.

    The layers stay frozen. Raises ValueError when there is no adapter.
    """
    adapters = {
        name: module
        for name, module in model.named_modules(remove_duplicate=False)
        if isinstance(module, _Adapter)
    }
    if not adapters:
        raise fail(ValueError, "the model has no adapters", "Call add_lora(model) to add them.")
    merged = {}
    for name, adapter in adapters.items():
        if id(adapter) not in merged:
            merged[id(adapter)] = adapter.merge()
        _replace(model, name, merged[id(adapter)])
    return list(adapters)


def _replace(model: nn.Module, path: str, module: nn.Module) -> None:
    """Put `module` at the dotted path of a layer."""
    parent, _, name = path.rpartition(".")
    model.get_submodule(parent).add_module(name, module)
