"""The argument `out=` of arithmetic and matrix products: write the result into an existing tensor."""

import warnings

from ..core.grad_mode import per_thread
from ..core.tensor import Tensor
from .checks import refuse_if
from .functions import METHODS


def write_out(function, out, operands, result, converts=True):
    """Write `result` into `out` and return it; return `result` if `out` is None. If the shapes differ, `out` is
    resized.

    Raise RuntimeError if a gradient is needed or the dtype does not match. converts: whether the result may be
    converted to the dtype of `out`."""
    if out is None:
        return result
    tensors = [t for t in (*operands, out) if isinstance(t, Tensor)]
    message = f"{function}(): functions with out=... arguments don't support automatic differentiation, but one of the "
    message += "arguments requires grad."
    note = "Leave out= away, or write the call inside of torch.no_grad()."
    refuse_if(per_thread.state.grad and any(t._req for t in tensors), message, note)
    if not converts:
        message = f"Expected out tensor to have dtype {result.dtype.cpp_name}, but got {out.dtype.cpp_name} instead"
        refuse_if(out.dtype is not result.dtype, message, f"Create it with dtype={result.dtype}.")
    message = f"result type {result.dtype.short} can't be cast to the desired output type {out.dtype.short}"
    note = f"Create out with dtype={result.dtype}."
    refuse_if(result.dtype.category > max(out.dtype.category, 1), message, note)
    refuse_if(out.dtype.is_bool and not result.dtype.is_bool, message, note)
    if out.shape != result.shape:
        if out.numel():
            message = (
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not match the "
                f"required output shape {list(result.shape)}. This behavior is deprecated, and in a future PyTorch release outputs "
                "will not be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, "
                "inplace, to zero elements with t.resize_(0)."
            )
            warnings.warn(message, stacklevel=3)
        METHODS["resize_"](out, result.shape)
    return METHODS["copy_"](out, result)
