"""Loss layers; each calls the function of `nn.functional` with its stored settings.

`reduction` is "mean" (of all elements), "sum", or "none" (one value per element or sample). `size_average` and `reduce`
are its deprecated form.
Source: https://docs.pytorch.org/docs/stable/nn.html#loss-functions
"""

from __future__ import annotations

from autolab.engine.core.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.functional.loss import legacy_reduction
from autolab.nn.modules.layer import Layer
from autolab.nn.modules.module import Module


class _Loss(Layer):
    """The base of losses; its weights are buffers, so that `to` moves them too."""

    def _set_up(self, settings):
        Module.__init__(self)
        old = settings.pop("size_average", None), settings.pop("reduce", None)
        settings["reduction"] = legacy_reduction(*old, settings["reduction"])
        for name, value in settings.items():
            if name.endswith("weight"):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        """Return the loss of `input` for `target`."""
        return self._loss(input, target)

    def _loss(self, *tensors):
        names = [n for n in self._settings if n not in ("size_average", "reduce")]
        return self._function(*tensors, **{name: getattr(self, name) for name in names})

    def extra_repr(self) -> str:
        """Return an empty string, because PyTorch shows no settings of losses."""
        return ""


class L1Loss(_Loss, function=F.l1_loss):
    """|input - target|."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class MSELoss(_Loss, function=F.mse_loss):
    """(input - target)^2.

    Example:

        >>> nn.MSELoss()(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
        tensor(2.)
    """

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class SmoothL1Loss(_Loss, function=F.smooth_l1_loss):
    """d^2 / (2 beta) where |d| < beta, else |d| - beta/2, for the difference d."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    beta: float = 1.0


class HuberLoss(_Loss, function=F.huber_loss):
    """d^2 / 2 where |d| <= delta, else delta * (|d| - delta/2), for the difference d."""

    reduction: str = "mean"
    delta: float = 1.0


class NLLLoss(_Loss, function=F.nll_loss):
    """-weight[class] * log-probability of the class; input (N, C, ...) holds log-probabilities, target (N, ...) ints.

    Targets equal to `ignore_index` are not counted."""

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"


class CrossEntropyLoss(_Loss, function=F.cross_entropy):
    """Softmax and negative log-likelihood in one: input contains raw scores (N, C, ...), not probabilities.

    target contains class numbers (N, ...), or probabilities with the input's shape. The mean is weighted by the weights
    of the classes. Targets equal to `ignore_index` are not counted.

    Example:

        >>> scores = torch.tensor([[2., 0., 0.]])
        >>> nn.CrossEntropyLoss()(scores, torch.tensor([0]))
        tensor(0.2395)
    """

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


class BCELoss(_Loss, function=F.binary_cross_entropy):
    """-(t log x + (1 - t) log(1 - x)) for probabilities x in [0, 1]; each logarithm is at least -100."""

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class BCEWithLogitsLoss(_Loss, function=F.binary_cross_entropy_with_logits):
    """Sigmoid and BCELoss in one, stable for large scores; `pos_weight` multiplies the positive term.

    Example:

        >>> nn.BCEWithLogitsLoss()(torch.tensor([0.]), torch.tensor([1.]))
        tensor(0.6931)
    """

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    pos_weight: Tensor | None = None


class KLDivLoss(_Loss, function=F.kl_div):
    """target * (log target - input) for log-probabilities input; use reduction="batchmean" for the divergence."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    log_target: bool = False


class CosineEmbeddingLoss(_Loss, function=F.cosine_embedding_loss):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1; inputs (N, D) or (D), target (N) or ()."""

    margin: float = 0.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        """Return the loss of the pairs of vectors for `target`."""
        return self._loss(input1, input2, target)
