"""Text of a tensor, identical to PyTorch's, computed in one pass over NumPy arrays.

A float tensor uses one number format for all its values. The finite nonzero values decide it: whole numbers with a bare
dot; else fixed point; else scientific, if the values span more than three decades or leave [1e-4, 1e8]. A tensor with
more than `threshold` elements is summarised, and its format is chosen from the shown edges alone. Source: the printed
output of PyTorch 2.13; https://pytorch.org/docs/stable/generated/torch.set_printoptions.html
"""

import math
from dataclasses import dataclass

import numpy as np

from ..core.dtype import bool_, get_default_dtype, int64


@dataclass(frozen=True)
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=math.inf),
}
_options = _Options()


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
):
    """Set how tensors print. None leaves an option unchanged, except `sci_mode`, which becomes automatic.

    precision: digits after the point (4). threshold: the number of elements above which `...` replaces the middle
    (1000). edgeitems: items shown at each end of a summarised dimension (3). linewidth: characters per line (80).
    profile: "default", "short" or "full", applied first. sci_mode: True, False, or None for automatic. Source:
    https://pytorch.org/docs/stable/generated/torch.set_printoptions.html
    """
    global _options
    base = _PROFILES.get(profile, _options)
    kept = (base.precision, base.threshold, base.edgeitems, base.linewidth)
    given = (precision, threshold, edgeitems, linewidth)
    _options = _Options(*(k if g is None else g for k, g in zip(kept, given)), sci_mode)


def tensor_repr(t):
    """Return the text of the tensor `t`: `tensor([1., 2.], requires_grad=True)`.

    A subclass prints under its own name. A subclass of `nn.Parameter` is wrapped: `Parameter(MyWeight([1., 2.]))`.
    """
    names = [cls.__name__ for cls in type(t).__mro__]
    prefix = ("tensor" if names[0] in ("Tensor", "Parameter") else names[0]) + "("
    body, suffixes = _body(t, len(prefix))
    try:
        name = None if t.grad_fn is None else t.grad_fn.name().rsplit("::", 1)[-1]
    except RuntimeError:  # a view that lost its history to an in-place op can still be printed
        name = "Invalid"
    if name is not None:
        suffixes.append(f"grad_fn=<{name}>")
    elif t.requires_grad:
        suffixes.append("requires_grad=True")
    text = _with_suffixes(prefix + body, suffixes, len(prefix))
    return f"Parameter({text})" if "Parameter" in names[1:] else text


def parameter_repr(p):
    """Return the text of an `nn.Parameter`: a heading line, then the tensor."""
    return "Parameter containing:\n" + tensor_repr(p)


def _body(t, indent):
    """Return the values of `t` as text, and the suffixes that describe it: device, size, dtype."""
    shape, dtype = tuple(t.shape), t.dtype
    suffixes = []
    if t.device.type != "cpu":
        suffixes.append(f"device='{t.device}'")
    empty = 0 in shape
    if (empty and len(shape) != 1) or not (empty or _options.edgeitems):
        suffixes.append(f"size={shape}")
    # The values distinguish int64 and bool from floats. An empty tensor shows no values, so it names every dtype but
    # the default.
    usual = (get_default_dtype(),) if empty else (get_default_dtype(), int64, bool_)
    if dtype not in usual:
        suffixes.append(f"dtype={dtype}")
    if empty:
        return "[]", suffixes
    with t.device.backend:
        return _values(t._array, indent), suffixes


def _with_suffixes(text, suffixes, indent):
    width = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if width + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            width = indent + len(suffix)
        else:
            text += ", " + suffix
            width += len(suffix) + 2
    return text + ")"


def _values(array, indent):
    cut = [False] * array.ndim
    if array.size > _options.threshold:
        array, cut = _edges(array)
        if not array.size:
            return "[...]"
    host = np.asarray(
        array.get() if hasattr(array, "get") else array
    )  # copy only the shown elements from a GPU
    number = _Format(host)
    return _nested(host.tolist(), cut, indent, number.text, number.width)


def _edges(array):
    """Return the array without the middle of every long dimension, and for each dimension whether it was shortened."""
    edge, cut = _options.edgeitems, []
    for dim, size in enumerate(array.shape):
        cut.append(size > 2 * edge)
        if cut[-1]:
            first = (slice(None),) * dim + (slice(edge),)
            last = (slice(None),) * dim + (slice(size - edge, None),)
            array = np.concatenate(
                (array[first], array[last]), axis=dim
            )  # GPU arrays use their own module
    return array, cut


def _nested(values, cut, indent, text, width):
    """Return `values` (a nested list) in brackets: rows of numbers wrapped at the line width, blocks below each
    other."""
    depth = len(cut)
    if depth == 0:
        return text(values)
    if depth == 1:
        items = [text(value) for value in values]
        dots, per_line = " ...", max(1, (_options.linewidth - indent) // (width + 2))
    else:
        items = [_nested(value, cut[1:], indent + 1, text, width) for value in values]
        dots, per_line = "...", 1
    if cut[0]:
        items.insert(_options.edgeitems, dots)
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + "\n" * max(0, depth - 2) + " " * (indent + 1)).join(lines) + "]"


class _Format:
    """The number format of one array: `text(value)` is padded to `width` characters."""

    def __init__(self, array):
        self.width = 1
        self._write = str
        if array.dtype.kind != "f":
            self.width = max(1, *(len(str(value)) for value in array.ravel().tolist()))
            return
        self._write = self._whole
        shown = array[np.isfinite(array) & (array != 0)]
        if not shown.size:
            return
        digits, scientific = _options.precision, _options.sci_mode
        if scientific is None:
            size = np.abs(shown.astype(np.float64))
            low, high = float(size.min()), float(size.max())
            scientific = high / low > 1000.0 or high > 1e8 or low < 1e-4
        if scientific:
            self._write = f"{{:.{digits}e}}".format
        elif (shown != np.ceil(shown)).any():
            self._write = f"{{:.{digits}f}}".format
        self.width = max(1, *(len(self._write(value)) for value in shown.tolist()))

    @staticmethod
    def _whole(value):
        return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"

    def text(self, value):
        return self._write(value).rjust(self.width)
