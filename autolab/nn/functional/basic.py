"""Linear maps, dropout, embeddings, distances. Source: https://docs.pytorch.org/docs/2.13/nn.functional.html"""

from __future__ import annotations

import autolab
from autolab.engine.exact.arguments import check_tensors
from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.engine.core.record import OPS
from autolab.engine.exact.kinds import check_settings
from autolab.engine.exact.signatures import marked
from autolab.engine.core.tensor import Tensor


# dropout -----------------------------------------------------------------------------------------


def check_probability(p):
    """Raise ValueError in PyTorch's words unless 0 <= p <= 1."""
    if p < 0.0 or p > 1.0:
        raise fail(
            ValueError,
            f"dropout probability has to be between 0 and 1, but got {p}",
            "p is the probability that an element becomes zero.",
        )


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to zero with probability p and scale the others by 1/(1-p); return the input if not training.

    Draw one number per element from the default stream. Raise ValueError for p outside [0, 1].

    Example:

        >>> F.dropout(torch.ones(3), p=0.5, training=False)
        tensor([1., 1., 1.])
    """
    check_probability(p)
    check_tensors("dropout", input=input)
    check_settings(f"dropout{marked(inplace)}", ("train", 3, "bool", training))
    return _apply_noise(input, p, training, inplace, input.shape)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set whole channels of an input (N, C, H, W) to zero with probability p."""
    check_probability(p)
    check_settings(f"feature_dropout{marked(inplace)}", ("train", 3, "bool", training))
    if input.dim() != 4:
        note = "Images are (N, C, H, W). Use dropout for other tensors, and unsqueeze(0) for a single image."
        raise unsupported("dropout2d", f"input of {input.dim()} dimensions", note)
    return _apply_noise(input, p, training, inplace, (*input.shape[:2], 1, 1))


def _apply_noise(input, p, training, inplace, shape):
    """Return `input` times dropout noise of `shape`.

    The noise is drawn in memory order and scaled as in PyTorch, so that the bits agree."""
    if p == 0 or not training or input.numel() == 0:
        return input
    if p == 1:
        noise = autolab.zeros((), dtype=input.dtype, device=input.device)
    else:
        # Images may have another memory order, see `tensor.row_major`.
        if shape == input.shape and (input._array.ndim != 4 or input._storage.array is not None):
            noise = autolab.empty_like(input)
        else:
            noise = autolab.empty(shape, dtype=input.dtype, device=input.device)
        noise.bernoulli_(1 - p).div_(1 - p)
    return input.mul_(noise) if inplace else input * noise


# tables of vectors -------------------------------------------------------------------------------


def check_padding_idx(padding_idx, rows, name="Padding_idx"):
    """Return `padding_idx` counted from the front. Raise AssertionError in PyTorch's words if it is outside the
    table."""
    if not -rows <= padding_idx < rows:
        raise fail(
            AssertionError,
            f"{name} must be within num_embeddings",
            f"The table has {rows} rows.",
        )
    return padding_idx % rows


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the rows of `weight` (rows, D) at the integer indices `input` (*), with shape (*, D).

    The row `padding_idx` gets no gradient. Raise IndexError for an index outside the table.
    """
    check_settings(
        "embedding",
        ("scale_grad_by_freq", 4, "bool", scale_grad_by_freq),
        ("sparse", 5, "bool", sparse),
    )
    refused = {
        "sparse": sparse,
        "scale_grad_by_freq": scale_grad_by_freq,
        "max_norm": max_norm is not None,
    }
    for name, wanted in refused.items():
        if wanted:
            raise unsupported("embedding", name)
    check_tensors("embedding", 2, indices=input)
    padding_idx = -1 if padding_idx is None else check_padding_idx(padding_idx, weight.shape[0])
    return OPS["embedding"].call(weight, input, padding_idx)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return integers (*) as rows (*, num_classes) of zeros with a single one. By default num_classes is the largest
    integer plus one.

    Example:

        >>> F.one_hot(torch.tensor([0, 2]), num_classes=3)
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    empty = tensor.numel() == 0
    whole = tensor.dtype is autolab.int64
    low, high = (0, -1) if empty or not whole else (tensor.min().item(), tensor.max().item())
    checks = [
        (whole, "one_hot is only applicable to index tensor of type LongTensor."),
        (not empty or num_classes > 0, "Can not infer total number of classes from empty tensor."),
        (low >= 0, "Class values must be non-negative."),
        (num_classes == -1 or num_classes > high, "Class values must be smaller than num_classes."),
    ]
    for holds, message in checks:
        if not holds:
            note = (
                f"Classes are int64 numbers from 0 to num_classes - 1; the largest here is {high}."
            )
            raise fail(RuntimeError, message, note)
    num_classes = high + 1 if num_classes == -1 else num_classes
    return (tensor.unsqueeze(-1) == autolab.arange(num_classes, device=tensor.device)).long()


# distances ---------------------------------------------------------------------------------------


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return x1·x2 / (|x1| |x2|) along `dim`, where each norm is at least eps; other dimensions broadcast."""
    for position, x in enumerate((x1, x2), 1):
        check_tensors("cosine_similarity", position, **{f"x{position}": x})
    common = autolab.promote_types(x1.dtype, x2.dtype)
    if not common.is_floating_point:
        raise fail(
            RuntimeError,
            "expected common dtype to be floating point, yet common dtype is " + common.short,
            "Call .float() first.",
        )
    if x1.shape != x2.shape:
        shape = autolab.broadcast_tensors(x1.detach(), x2.detach())[0].shape
        x1, x2 = x1.expand(shape), x2.expand(shape)
    x1, x2 = (
        x if x.is_floating_point() else x.to(common) for x in (x1, x2)
    )  # each norm keeps the dtype of its vectors
    return (_unit(x1, dim, eps) * _unit(x2, dim, eps)).sum(dim)


def _unit(x, dim, eps):
    norm = autolab.linalg.vector_norm(x, 2, dim, True).clone()
    with no_grad():
        norm.clamp_(min=eps)  # not recorded: below eps the gradient ignores the clamp
    return x / norm


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Return input / max(p-norm along `dim`, eps)."""
    if out is not None:
        raise unsupported("normalize", "out")
    return input / input.norm(p, dim, keepdim=True).clamp(eps).expand_as(input)
