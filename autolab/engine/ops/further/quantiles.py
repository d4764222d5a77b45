"""`quantile`: the value below which a given fraction of the elements is."""

from __future__ import annotations

from ...core.record import OPS
from ...core.tensor import Tensor
from ...exact.refusals import check_dim, unsupported
from ..checks import refuse_if
from ..functions import NAMESPACES, composite
from ..sorting import sort


@composite(method=True)
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """Return the value below which the fraction `q` (a number or a 1-d tensor, from 0 to 1) of the elements is, along
    `dim` or of all elements; nan if an element is nan. Between two elements the value is interpolated.

    Several fractions become the first dimension of the result. Raise RuntimeError for integers and for fractions
    outside [0, 1]. Source: torch.quantile."""
    if interpolation != "linear":
        raise unsupported("quantile", "interpolation", "Only interpolation='linear' is supported.")
    message, share = (
        "quantile() input tensor must be non-empty",
        "q must be between 0 and 1. 0.5 is the median.",
    )
    refuse_if(not input.numel(), message, "An empty tensor has no median or quantile.")
    refuse_if(
        input.dtype.name not in ("float32", "float64"),
        "quantile() input tensor must be either float or double dtype",
        "What lies between two elements is a fraction: call .float() first.",
    )
    if not isinstance(q, Tensor):
        refuse_if(not 0 <= q <= 1, f"quantile() q must be in the range [0, 1] but got {q:g}", share)
        q = NAMESPACES[""]["full"]((), q, dtype=input.dtype, device=input.device)
    refuse_if(
        q.ndim > 1, "quantile() q must be a scalar or 1D tensor", "One share, or a list of them."
    )
    refuse_if(
        q.dtype is not input.dtype,
        "quantile() q tensor must be same dtype as the input tensor",
        f"Convert it: q.to({input.dtype}).",
    )
    refuse_if(
        bool(((q < 0) | (q > 1)).any()), "quantile() q values must be in the range [0, 1]", share
    )
    ndim = input.ndim
    if dim is None:
        flat = input.reshape((*[1] * (ndim if keepdim else 0), -1))
    else:  # move the reduced dimension last; keepdim leaves a 1 in its place
        place = check_dim(dim, ndim)
        flat = (input if ndim else input.reshape(1)).unsqueeze(-1).transpose(place, -1)
        flat = flat if keepdim and ndim else flat.squeeze(place)
    ordered, last = sort(flat, -1)[0], flat.shape[-1] - 1  # nan is sorted last
    ranks = (q * last).detach().expand((*flat.shape[:-1], q.numel()))
    ranks = ranks.masked_fill(ordered.isnan().any(-1, True), last)  # one nan makes the result nan
    below, above = ranks.long(), ranks.ceil().long()
    found = OPS["lerp"].call(ordered.gather(-1, below), ordered.gather(-1, above), ranks - below)
    if q.ndim:  # the fractions come first
        found = found.unsqueeze(0).transpose(0, -1)
    return found.squeeze(-1)
