"""`x[...]` and `x[...] = v`: basic indices are views (select, slice, unsqueeze), index tensors copy (index,
index_put)."""

from __future__ import annotations

from operator import index as index_of

import numpy as np

from ..devices import demands
from ..exact.arguments import as_number, held_by
from ..exact.dtypes import positions
from ..core.apply import bring_together, unwrap
from ..core.errors import fail, type_name
from ..core.grad_mode import per_thread
from ..inplace.views import overlap, overlapping_operands
from ..inplace.changes import check_inplace, write_inplace
from ..exact.refusals import check_dim, check_int64
from ..kernels.scatter import add_at
from .functions import METHODS, NAMESPACES, composite, internal
from ..core.tensor import Tensor, wrap
from .index_keys import as_index, consumed_by, entries, mask_of, no_text, number_of
from .shape import unsqueeze

END = 2**63 - 1  # torch's mark for "to the end", seen in _saved_end


def at(dim, entry):
    return (slice(None),) * dim + (entry,)


def _inside(index, dim, n):
    """Raise torch's error when there is no entry `index` among `n`; torch counts `dim` in the index as written."""
    if not -n <= index < n:
        check_int64(index)
        raise fail(
            IndexError,
            f"index {index} is out of bounds for dimension {dim} with size {n}",
            f"Indices run from 0 to {n - 1}, or from -{n} backwards."
            if n
            else "The dimension is empty.",
        )


def _select(xp, self, dim, index):
    _inside(index, dim, self.shape[dim])
    return self[(slice(None),) * dim + (index, ...)]


def _zeros_around(xp, self, shape, dim, key):
    """Return zeros of `shape` with `self` at `key` along `dim`."""
    out = xp.zeros(shape, self.dtype)
    out[at(dim, key)] = self
    return out


select_op = internal(
    "select(Tensor self, int dim, int index)",
    forward=_select,
    view=True,
    vjp={
        "self": lambda m, g, self_sym_sizes, dim, index: m.select_spread(
            g, self_sym_sizes, dim, index
        )
    },
    latex=r"{self}_{{index}}",
    vjp_latex={"self": r"{g} \text{ at } {index}"},
    samples=lambda s: [(s.randn(2, 3), 0, 1), (s.randn(3), 0, -1)],
)

select_spread = internal(
    "select_spread(Tensor self, int[] shape, int dim, int index)",
    forward=_zeros_around,
    node="SelectBackwardBackward0",
    vjp={"self": lambda m, g, dim, index: m.select(g, dim, index)},
    latex=r"{self} \text{ at } {index}",
    vjp_latex={"self": r"{g}_{{index}}"},
    samples=lambda s: [(s.randn(3), (2, 3), 0, 1)],
)

slice_op = internal(
    "slice(Tensor self, int dim=0, int? start=None, int? end=None, int step=1)",
    view=True,
    forward=lambda xp, self, dim, *limits: self[at(dim, slice(*limits))],
    vjp={
        "self": lambda m, g, self_sym_sizes, dim, start, end, step: m.slice_spread(
            g, self_sym_sizes, dim, start, end, step
        )
    },
    latex=r"{self}_{{start}:{end}}",
    vjp_latex={"self": r"{g} \text{ at } {start}:{end}"},
    samples=lambda s: [(s.randn(4), 0, 1, 3, 1), (s.randn(2, 5), 1, 0, 5, 2)],
)

slice_spread = internal(
    "slice_spread(Tensor self, int[] shape, int dim, int start, int end, int step)",
    forward=lambda xp, self, shape, dim, *limits: _zeros_around(
        xp, self, shape, dim, slice(*limits)
    ),
    node="SliceBackwardBackward0",
    vjp={"self": lambda m, g, dim, start, end, step: m.slice(g, dim, start, end, step)},
    latex=r"{self} \text{ at } {start}:{end}",
    vjp_latex={"self": r"{g}_{{start}:{end}}"},
    samples=lambda s: [(s.randn(2, 2), (2, 5), 1, 1, 5, 2)],
)

NAMESPACES["Tensor"]["slice"] = slice_op.call


@composite(method=True)
def select(input, dim, index):
    """Return the entry `index` of a dimension, which disappears; a view. Source: torch.select."""
    if not input.ndim:
        raise fail(
            IndexError,
            "select() cannot be applied to a 0-dim tensor.",
            "A 0-d tensor is a single number.",
        )
    return select_op.call(input, check_dim(dim, input.ndim), int(index))


# -- index tensors -----------------------------------------------------------------------------------------------------
def _key(indices):
    return tuple(slice(None) if i is None else i for i in indices)


def _checked(xp, self, indices):
    if len(indices) > 1:
        _check_together(indices, self.ndim)
    if not all(self.shape) and not all(_places(self.shape, indices)):
        return _first_places(indices)  # nothing is read, so PyTorch does not look where
    for dim, (i, n) in enumerate(zip(indices, self.shape)):
        if i is not None:
            demands.in_range(xp, i, -n, n, lambda bad, dim=dim, n=n: _out_of_bounds(bad, dim, n))
    return _key(indices)


def _first_places(indices):
    """Return the key that `indices` stand for, with every place exchanged for the first."""
    return tuple(slice(None) if i is None else np.zeros(i.shape, np.int64) for i in indices)


def _places(shape, indices):
    """Return the shape of what `indices` name in a tensor of the given shape. Raises PyTorch's error for places in a
    dimension without entries."""
    named = [(i.shape, n) for i, n in zip(indices, shape) if i is not None]
    places = np.broadcast_shapes(*[sizes for sizes, _ in named])
    if all(places) and not all(n for _, n in named):
        raise fail(
            IndexError,
            "index is out of bounds for dimension with size 0",
            f"The tensor has shape {tuple(shape)}: there is nothing along a dimension of size 0.",
        )
    if not all(n for _, n in named):
        shape = tuple(max(n, 1) for n in shape)
    return np.broadcast_to(np.empty(()), shape)[_first_places(indices)].shape


def _check_together(indices, ndim):
    """Raise torch's error for more index tensors than dimensions, and for such that do not broadcast."""
    if len(indices) > ndim:
        message = f"too many indices for tensor of dimension {ndim} (got {len(indices)})"
        raise fail(IndexError, message, "Each index tensor counts along a dimension of its own.")
    shapes = [i.shape for i in indices if i is not None]
    if all(shape == shapes[0] for shape in shapes):
        return
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(str(list(shape)) for shape in shapes)
        raise fail(
            IndexError,
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}",
            "Several index tensors are read together, entry by entry.",
        ) from None


def _out_of_bounds(bad, dim, n):
    return fail(
        IndexError,
        f"index {bad} is out of bounds for dimension {dim} with size {n}",
        f"Every entry of an index tensor counts from 0 to {n - 1}, or from -{n} backwards.",
    )


def _index(xp, self, indices):
    found = self[_checked(xp, self, indices)]
    # NumPy puts the indexed dimensions first in memory, PyTorch leaves them in their places
    return (
        xp.ascontiguousarray(found)
        if getattr(found, "ndim", 0) > 1 and self.flags.c_contiguous
        else xp.array(found)
    )


def _index_spread(xp, self, shape, indices):
    out = xp.zeros(shape, self.dtype)
    if self.size:
        add_at(xp, out, _key(indices), self)
    return out


index_op = internal(
    "index(Tensor self, Tensor[] indices)",
    forward=_index,
    vjp={"self": lambda m, g, self_sym_sizes, indices: m.index_spread(g, self_sym_sizes, indices)},
    latex=r"{self}[{indices}]",
    vjp_latex={"self": r"\sum {g} \text{ at } {indices}"},
    samples=lambda s: [
        (s.randn(3), [s.index([0, 2, 2])]),
        (s.randn(2, 3), [None, s.index([0, 2])]),
    ],
)
index_spread = internal(
    "index_spread(Tensor self, int[] shape, Tensor[] indices)",
    forward=_index_spread,
    vjp={"self": lambda m, g, indices: m.index(g, indices)},
    latex=r"\sum {self} \text{ at } {indices}",
    vjp_latex={"self": r"{g}[{indices}]"},
    samples=lambda s: [(s.randn(3), (4,), [s.index([0, 2, 2])])],
)


def _index_put(xp, self, indices, values, accumulate):
    out, key = xp.array(self), _checked(xp, self, indices)
    values = xp.asarray(values) if xp is np else values
    target = out[key].shape
    if values.shape != target:
        _check_values(values.shape, target)
        values = xp.broadcast_to(values, target)
    if accumulate:
        add_at(xp, out, key, values)
    else:
        out[key] = values
    return out


def _check_values(shape, target):
    """Raise torch's error unless values of the given shape can be written to places of the shape `target`."""
    shown = shape[max(len(shape) - len(target), 0) :]
    if len(shape) <= len(target) and all(
        n in (1, m) for n, m in zip(reversed(shown), reversed(target))
    ):
        return
    raise fail(
        RuntimeError,
        f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing result of shape "
        f"{list(target)}",
        "The assigned values must fit the places that the index names.",
    )


def _cleared(m, g, indices, accumulate):
    if accumulate:
        return g
    return m.index_put(g, indices, m.zeros_like(m.index(g, indices)), False)


index_put_op = internal(
    "index_put(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False)",
    forward=_index_put,
    hidden=("values_sym_sizes",),
    vjp={
        "self": _cleared,
        "values": lambda m, g, values_sym_sizes, indices: m.sum_to(
            m.index(g, indices), values_sym_sizes
        ),
    },
    latex=r"{self}[{indices}] := {values}",
    vjp_latex={"self": r"{g} \text{ without } {indices}", "values": r"{g}[{indices}]"},
    samples=lambda s: [
        (s.randn(3), [s.index([0, 2])], s.randn(2), False),
        (s.randn(3), [s.index([0, 0])], s.randn(2), True),
    ],
)


def _plan(self, key, writing=None):
    """Apply the basic part of an index as views. Return (view, indices): `indices` is None, or the list for the
    advanced part. writing: what will be written there, which is refused before the advanced part is looked at."""
    key, used = _parts(self, key)
    result, dim, advanced, masks = self, 0, {}, []
    for place, k in enumerate(key):
        tensor = isinstance(k, Tensor)
        single = tensor and not k.ndim
        if single or isinstance(k, np.generic):
            k = number_of(k)
        if isinstance(k, int) and k.__class__ is not bool:
            _inside(k, place, result._array.shape[dim])
            result = select_op.call(result, dim, k)
            continue
        if k.__class__ is slice:
            result = _sliced(result, dim, k)
        elif k is None:
            result = unsqueeze.call(result, dim)
        elif k is Ellipsis:
            dim += self.ndim - used - 1
        elif k.__class__ is bool:
            result = unsqueeze.call(result, dim)
            advanced[dim] = wrap(positions(np.nonzero(np.array([k]))[0]))
        elif tensor or isinstance(k, (list, tuple, np.ndarray, range)):
            masks.append((k, dim))
            dim += consumed_by(k) - 1
        elif isinstance(k, str):
            raise no_text()
        else:
            raise fail(
                IndexError,
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                f"(got {type_name(k)})",
                "Convert it to an integer first.",
            )
        dim += 1
    if not advanced and not masks:
        return result, None
    if writing is not None:
        check_inplace(result, per_thread.state, False, overlapping=False)
        if writing is self and writing.numel() != 1:
            raise overlapping_operands()
    for k, place in masks:
        for d, i in enumerate(as_index(k, place, result._array.shape), place):
            advanced[d] = i
    return result, [advanced.get(d) for d in range(max(advanced) + 1)]


def _parts(self, key):
    """Return the parts of an index, as a tuple, and how many dimensions they name. Raises IndexError when the tensor
    has not so many."""
    if not self._array.ndim and key.__class__ in _SIMPLE:
        if key.__class__ is int and key:
            _inside(key, 0, 0)
        message = (
            "slice() cannot be applied to a 0-dim tensor."
            if key.__class__ is slice
            else "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a "
            "number"
        )
        raise fail(IndexError, message, "A 0-d tensor is a single number.")
    key = entries(key)
    used = sum(consumed_by(k) for k in key)
    if used > self.ndim:
        raise fail(
            IndexError,
            f"too many indices for tensor of dimension {self.ndim}",
            f"The tensor has {self.ndim} dimension(s), the index names {used}.",
        )
    return key, used


def _sliced(x, dim, k, always=False):
    """Return the slice `k` along `dim`; `x` itself where that is everything, unless `always`."""
    if not always and k.start is k.stop is k.step is None:
        return x
    try:
        start, stop, step = (None if v is None else index_of(v) for v in (k.start, k.stop, k.step))
    except TypeError:
        raise fail(
            TypeError,
            "slice indices must be integers or None or have an __index__ method",
            "Write whole numbers: x[0:2].",
        ) from None
    if step == 0:
        raise fail(
            ValueError, "slice step cannot be zero", "A step says how far to go to the next entry."
        )
    if step is not None and step < 0:
        raise fail(ValueError, "step must be greater than zero", "Use flip to walk backwards.")
    if (
        not always
        and not start
        and step in (None, 1)
        and (stop is None or stop >= x._array.shape[dim])
    ):
        return x
    return slice_op.call(
        x,
        dim,
        0 if start is None else start,
        END if stop is None else stop,
        1 if step is None else step,
    )


_SIMPLE = {int, slice}


def _of_ints_and_slices(x, key):
    """Return `x[1, :, 2:]` as `_plan` does, for keys of ints and slices alone: `x[0, 1]` takes 4 µs instead of 6."""
    dim = 0
    for place, k in enumerate(key):
        if k.__class__ is int:
            _inside(k, place, x._array.shape[dim])
            x = select_op.call(x, dim, k)
        else:
            x = _sliced(x, dim, k)
            dim += 1
    return x


def getitem(self, key):
    """Return `x[key]`. Source: https://docs.pytorch.org/docs/2.13/tensor_view.html"""
    if key.__class__ is int and self._array.ndim:
        return select_op.call(self, 0, key)
    if key.__class__ is slice and self._array.ndim:
        return _sliced(self, 0, key, always=True)
    if (
        key.__class__ is tuple
        and len(key) <= self._array.ndim
        and _SIMPLE.issuperset([k.__class__ for k in key])
    ):
        view = _of_ints_and_slices(self, key)
        return METHODS["alias"](view) if view is self else view
    view, indices = _plan(self, key)
    if indices is not None:
        return index_op.call(view, indices)
    return METHODS["alias"](view) if view is self else view


def setitem(self, key, value):
    """Do `x[key] = value`: copy into the view that a basic index names; write entry by entry for index tensors."""
    number = not isinstance(value, Tensor)
    if number:
        value = _assigned_number(self, value)
    if key is False:  # PyTorch: names nothing, so nothing is looked at
        return
    view, indices = _plan(self, None if key is True else key, writing=value)
    if indices is None:
        view.fill_(value) if number else _copy_into(view, value)
        return
    fills = value._array.size == 1 and _is_mask(key)
    if value.dtype is not self.dtype and not fills:
        _check_fits(view, indices, value)  # PyTorch looks at the shapes before
        raise fail(
            RuntimeError,
            f"Index put requires the source and destination dtypes match, got {self.dtype.short} for the destination and "
            f"{value.dtype.short} for the source.",
            "Convert the values first: .to(x.dtype).",
        )
    value = value.to(self.device) if number else _without_leading_ones(value)
    written(index_put_op, (view, indices, value, False), apart=not fills)


_NO_PYTHON_NUMBERS = (np.float16, np.float32, np.complex64, np.bool_)
"""NumPy's numbers that PyTorch does not assign: they are no Python numbers, and have no `__index__`."""


def _assigned_number(self, value):
    """Return the number `value` as a 0-d tensor like `self`. Raises torch's error for lists, arrays, texts and None."""
    number = None if type(value) in _NO_PYTHON_NUMBERS else as_number(value)
    if number is None:
        raise fail(
            TypeError,
            f"can't assign a {type_name(value)} to a {self.type()}",
            "Make a tensor of it first: torch.tensor(value).",
        )
    return wrap(np.asarray(held_by(number, self.dtype)).astype(self.dtype.np), self.dtype)


def _is_mask(key):
    """Return whether an index is one mask, which torch fills with a single number (`canDispatchToMaskedFill`): it may
    be of any dtype, and of the memory that is written to, for it is read first."""
    advanced = [k for k in entries(key) if isinstance(k, (Tensor, list, np.ndarray))]
    return len(advanced) == 1 and mask_of(advanced[0]) is not None


def _check_fits(view, indices, value):
    """Raise torch's error unless `value` fits the places that `indices` name in `view`."""
    raws = [None if i is None else i._array for i in indices]
    _check_together(raws, view.ndim)
    _check_values(_without_leading_ones(value)._array.shape, _places(view._array.shape, raws))


def _without_leading_ones(value):
    """Return a view of `value` without its leading dimensions of size 1: these fit any index."""
    shape = value._array.shape
    ones = next((k for k, n in enumerate(shape) if n != 1), len(shape))
    return METHODS["view"](value, shape[ones:]) if ones else value


def _copy_into(view, value):
    """Do `view.copy_(value)` by the ops that torch uses: fill_ for a 0-d value, else view and expand where the shapes
    differ."""
    if value._array.shape == view._array.shape:
        view.copy_(value)
    elif not value._array.ndim:
        view.fill_(value)
    else:
        view.copy_(METHODS["expand"](_without_leading_ones(value), view._array.shape))


METHODS["__getitem__"], METHODS["__setitem__"] = getitem, setitem


def written(op, args, apart=True):
    """Run an op on its arguments and write the result into the first, as an in-place op. apart: the others may not
    share its memory."""
    target, state = args[0], per_thread.state
    check_inplace(target, state, any(isinstance(a, Tensor) and a._req for a in args))
    tensors, raws = unwrap(op, args)
    # a single `value` is read before writing begins
    if apart and any(
        overlap(target, x) for x in tensors[1:] if x._array.ndim or op.params[-1] != "value"
    ):
        raise overlapping_operands()
    device, args, raws = bring_together(op, args, raws, tensors)
    if device is not target._storage.device:
        raise device.backend.elsewhere(op, args, target._storage.device)
    write_inplace(op, args, device.backend.run(state, op.forward, device.xp, *raws), state)
    return target
