"""Losses as layers; each is the function of `nn.functional` with its settings kept.

Source: https://docs.pytorch.org/docs/stable/nn.html#loss-functions
"""

from __future__ import annotations

from typing import Any

from autolab.nn import functional as F
from autolab.nn.functional.loss import legacy_reduction
from autolab.nn.modules.module import Module
from autolab.engine.core.tensor import Tensor


class _Loss(Module):
    """A loss with `reduction`: "mean" (of all elements), "sum", or "none" (one value per element or sample).

    `_function` computes it, and `_settings` names the attributes that the function takes by keyword.
    """

    _function: Any
    _settings: tuple[str, ...] = ()

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = legacy_reduction(size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of `input` for `target`."""
        return self._loss(input, target)

    def _loss(self, *tensors):
        settings = {name: getattr(self, name) for name in self._settings}
        return type(self)._function(*tensors, reduction=self.reduction, **settings)


class _WeightedLoss(_Loss):
    """A loss with a weight for each class or element; the weight is a buffer, so `to` moves it along."""

    _settings: tuple[str, ...] = ("weight",)

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """|input - target|."""

    _function = F.l1_loss


class MSELoss(_Loss):
    """(input - target)^2.

    Example:

        >>> nn.MSELoss()(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
        tensor(2.)
    """

    _function = F.mse_loss


class SmoothL1Loss(_Loss):
    """Squared below beta (and divided by 2 beta), absolute (minus beta/2) above."""

    _function = F.smooth_l1_loss
    _settings = ("beta",)

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(_Loss):
    """Half the square below delta, delta * (|difference| - delta/2) above."""

    _function = F.huber_loss
    _settings = ("delta",)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta


class NLLLoss(_WeightedLoss):
    """-weight[class] * log-probability of the class; input (N, C, ...) log-probabilities, target (N, ...) of ints.

    Targets equal to `ignore_index` do not count."""

    _function = F.nll_loss
    _settings: tuple[str, ...] = ("weight", "ignore_index")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class CrossEntropyLoss(_WeightedLoss):
    """Softmax and negative log-likelihood in one: input is raw scores (N, C, ...), not probabilities.

    target is class numbers (N, ...) or probabilities of the input's shape. Mean is over the weights of the classes.
    Targets equal to `ignore_index` do not count.

    Example:

        >>> scores = torch.tensor([[2., 0., 0.]])
        >>> nn.CrossEntropyLoss()(scores, torch.tensor([0]))
        tensor(0.2395)
    """

    _function = F.cross_entropy
    _settings = ("weight", "ignore_index", "label_smoothing")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing


class BCELoss(_WeightedLoss):
    """-(t log x + (1 - t) log(1 - x)) for probabilities x in [0, 1]; each logarithm is at least -100."""

    _function = F.binary_cross_entropy


class BCEWithLogitsLoss(_WeightedLoss):
    """Sigmoid and BCELoss in one, stable for large scores; `pos_weight` multiplies the positive term.

    Example:

        >>> nn.BCEWithLogitsLoss()(torch.tensor([0.]), torch.tensor([1.]))
        tensor(0.6931)
    """

    _function = F.binary_cross_entropy_with_logits
    _settings = ("weight", "pos_weight")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)


class KLDivLoss(_Loss):
    """target * (log target - input), input being log-probabilities; use reduction="batchmean" for the divergence."""

    _function = F.kl_div
    _settings = ("log_target",)

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target


class CosineEmbeddingLoss(_Loss):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1; inputs (N, D) or (D), target (N) or ()."""

    _function = F.cosine_embedding_loss
    _settings = ("margin",)

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        """Return the loss of the pairs for `target`."""
        return self._loss(input1, input2, target)
