"""`quantile`: the value below which a given part of the elements lies."""

from __future__ import annotations

from ...core.errors import bad_argument, fail
from ...exact.refusals import check_dim
from ..functions import NAMESPACES, composite
from ...core.record import OPS
from ...core.tensor import Tensor
from ..sorting import sort

_TORCH = NAMESPACES[""]


def _shares(input, q):
    """`q` as a tensor like `input`, of one dimension at most. Raises torch's errors, which all say "quantile()"."""
    if not input.numel():
        raise fail(
            RuntimeError, "quantile() input tensor must be non-empty", "No elements have no middle."
        )
    if input.dtype.name not in ("float32", "float64"):
        message = "quantile() input tensor must be either float or double dtype"
        raise fail(
            RuntimeError,
            message,
            "What lies between two elements is a fraction: call .float() first.",
        )
    if not isinstance(q, Tensor):
        if isinstance(q, bool) or not isinstance(q, (int, float)):
            raise bad_argument("quantile", "q", 2, "Number", q)
        if not 0 <= q <= 1:
            message = f"quantile() q must be in the range [0, 1] but got {q:g}"
            raise fail(RuntimeError, message, "q is a share: 0.5 is the median.")
        return _TORCH["full"]((), q, dtype=input.dtype, device=input.device)
    if q._array.ndim > 1:
        raise fail(
            RuntimeError,
            "quantile() q must be a scalar or 1D tensor",
            "One share, or a list of them.",
        )
    if q.dtype is not input.dtype:
        message = "quantile() q tensor must be same dtype as the input tensor"
        raise fail(RuntimeError, message, f"Convert it: q.to({input.dtype}).")
    if q.device != input.device:
        message = "quantile() q tensor must be on the same device as the input tensor"
        raise fail(RuntimeError, message, "Move it with .to(device).")
    if bool(((q < 0) | (q > 1)).any()):
        raise fail(
            RuntimeError,
            "quantile() q values must be in the range [0, 1]",
            "q is a share: 0.5 is the median.",
        )
    return q


def _quantile(input, q, dim, keepdim, interpolation, without_nan):
    if interpolation not in ("linear", "lower", "higher", "nearest", "midpoint"):
        message = f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        raise fail(RuntimeError, message, "It says what to do between two elements.")
    q = _shares(input, q)
    ndim = input._array.ndim
    place = None if dim is None else check_dim(dim, ndim)
    if place is None:
        flat = input.reshape((*[1] * (ndim if keepdim else 0), -1))
    else:  # the reduced dimension goes last; where it is kept, a 1 stays in its place
        flat = (input if ndim else input.reshape(1)).unsqueeze(-1).transpose(place, -1)
        flat = flat if keepdim and ndim else flat.squeeze(place)
    ordered = sort(flat, -1)[0]  # nan at the end
    missing = ordered.isnan()
    last = flat.shape[-1] - 1
    if without_nan:
        ranks = (q * (missing.logical_not().sum(-1, True) - 1)).detach()
        ranks = ranks.masked_fill(ranks < 0, 0)
    else:
        ranks = (q * last).detach().expand((*flat.shape[:-1], q.numel()))
        ranks = ranks.masked_fill(missing.any(-1, True), last)  # one nan makes the result nan
    ranks = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}.get(
        interpolation, lambda: ranks
    )()
    below = ranks.long()
    found = ordered.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        weight = _TORCH["full_like"](ranks, 0.5) if interpolation == "midpoint" else ranks - below
        found = OPS["lerp_tensor"].call(found, ordered.gather(-1, ranks.ceil().long()), weight)
    if q._array.ndim:  # the shares come first
        found = found.unsqueeze_(0).transpose_(0, -1)
    return found.squeeze_(-1)


@composite(method=True)
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The value below which the share `q` (a number or a 1-d tensor, from 0 to 1) of the elements lies, along `dim` or
    of all; nan where one is.

    Between two elements: 'linear', 'lower', 'higher', 'nearest' or 'midpoint'. Several shares are a first dimension of
    the result. Raises RuntimeError for whole numbers and for shares outside of [0, 1]. Source: torch.quantile."""
    return _quantile(input, q, dim, keepdim, interpolation, without_nan=False)
