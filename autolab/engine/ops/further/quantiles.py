"""`quantile`: the value below which a given part of the elements lies."""

from __future__ import annotations

from ...core.errors import bad_argument
from ...exact.refusals import check_dim, unsupported
from ..checks import refuse_if
from ..functions import NAMESPACES, composite
from ...core.record import OPS
from ...core.tensor import Tensor
from ..sorting import sort

_TORCH = NAMESPACES[""]


def _shares(input, q):
    """Return `q` as a tensor like `input`, of one dimension at most. Raises PyTorch's errors."""
    half, share = "No elements have no middle.", "q is a share: 0.5 is the median."
    refuse_if(not input.numel(), "quantile() input tensor must be non-empty", half)
    message = "quantile() input tensor must be either float or double dtype"
    note = "What lies between two elements is a fraction: call .float() first."
    refuse_if(input.dtype.name not in ("float32", "float64"), message, note)
    if not isinstance(q, Tensor):
        if isinstance(q, bool) or not isinstance(q, (int, float)):
            raise bad_argument("quantile", "q", 2, "Number", q)
        message = f"quantile() q must be in the range [0, 1] but got {q:g}"
        refuse_if(not 0 <= q <= 1, message, share)
        return _TORCH["full"]((), q, dtype=input.dtype, device=input.device)
    message = "quantile() q must be a scalar or 1D tensor"
    refuse_if(q._array.ndim > 1, message, "One share, or a list of them.")
    message = "quantile() q tensor must be same dtype as the input tensor"
    refuse_if(q.dtype is not input.dtype, message, f"Convert it: q.to({input.dtype}).")
    message = "quantile() q tensor must be on the same device as the input tensor"
    refuse_if(q.device != input.device, message, "Move it with .to(device).")
    message = "quantile() q values must be in the range [0, 1]"
    refuse_if(bool(((q < 0) | (q > 1)).any()), message, share)
    return q


@composite(method=True)
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """Return the value below which the share `q` (a number or a 1-d tensor, from 0 to 1) of the elements lies, along
    `dim` or of all; nan where one is. Between two elements the value is interpolated.

    Several shares are a first dimension of the result. Raises RuntimeError for whole numbers and for shares outside of
    [0, 1]. Source: torch.quantile."""
    if interpolation != "linear":
        raise unsupported("quantile", "interpolation", "Values are interpolated: 'linear'.")
    q, ndim = _shares(input, q), input._array.ndim
    if dim is None:
        flat = input.reshape((*[1] * (ndim if keepdim else 0), -1))
    else:  # the reduced dimension goes last; where it is kept, a 1 stays in its place
        place = check_dim(dim, ndim)
        flat = (input if ndim else input.reshape(1)).unsqueeze(-1).transpose(place, -1)
        flat = flat if keepdim and ndim else flat.squeeze(place)
    ordered, last = sort(flat, -1)[0], flat.shape[-1] - 1  # nan at the end
    ranks = (q * last).detach().expand((*flat.shape[:-1], q.numel()))
    ranks = ranks.masked_fill(ordered.isnan().any(-1, True), last)  # one nan makes the result nan
    below = ranks.long()
    above = ordered.gather(-1, ranks.ceil().long())
    found = OPS["lerp_tensor"].call(ordered.gather(-1, below), above, ranks - below)
    if q._array.ndim:  # the shares come first
        found = found.unsqueeze_(0).transpose_(0, -1)
    return found.squeeze_(-1)
