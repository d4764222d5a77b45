"""Copies, casts and fills: ops that move values without computing new ones."""

from __future__ import annotations

import dataclasses
import weakref

import numpy as np

from ..exact import sums as cascade
from ..core import observe
from ..devices import device as devices
from ..exact.arguments import as_number, held_by
from ..core.grad_mode import per_thread
from ..core.apply import apply, record
from ..inplace.changes import check_inplace, check_written_once, write_inplace
from ..core.dtype import (
    FROM_NUMPY,
    ALL,
    bool_,
    dtype as dtype_class,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from ..exact.dtypes import as_dtype
from ..exact.refusals import unsupported
from ..exact.signatures import named
from .checks import refuse_if
from .functions import METHODS, NAMESPACES, composite, internal, register
from ..core.record import OPS
from ..core.tensor import Tensor, wrap
from ..exact.arguments import scalar_tensor
from ..exact.broadcasting import misfit
from ..inplace.views import overlapping_operands, partly_overlap, repeats

ROW_MAJOR = "row-major"
"""The argument that `contiguous` passes to `clone`; memory formats from a user are refused."""


def order_of_copies(array) -> str:
    """Return the memory order (NumPy's "C" or "K") of a copy: the order of `array`, or row-major if elements share
    memory (`expand`), as in PyTorch.

    >>> order_of_copies(np.ones((2, 3)).T), order_of_copies(np.broadcast_to(1.0, (2, 3)))
    ('K', 'C')
    """
    return "C" if 0 in array.strides else "K"


def _cloned(xp, self, memory_format):
    if memory_format is None and not repeats(self):
        return xp.array(self)  # keeps the memory order, as in PyTorch
    if memory_format not in (None, ROW_MAJOR):
        raise unsupported("clone", "memory_format")
    return xp.array(self, order="C")


clone = register(
    "clone(Tensor self, *, int? memory_format=None)",
    forward=_cloned,
    vjp={"self": lambda m, g: g},
    latex=r"{self}",
    vjp_latex={"self": "{g}"},
    doc="Return a copy with its own memory; gradients flow through it. Source: torch.clone",
)

alias = register(
    "alias(Tensor self)",
    forward=lambda xp, self: self[...],
    view=True,
    vjp={"self": lambda m, g: g},
    function=False,
    latex=r"{self}",
    vjp_latex={"self": "{g}"},
)


to_copy = internal(
    "to_copy(Tensor self, dtype? dtype)",
    forward=lambda xp, self, dtype: self.astype(dtype.np, order=order_of_copies(self)),
    vjp={"self": lambda m, g: g},
    latex=r"{self}",
    vjp_latex={"self": "{g}"},
)


def in_dtype_of(m, g, x):
    """Return the operand `x` in the dtype in which the operation read it. If `x` is 0-d and so did not decide the
    result's dtype, this is the dtype of `g`, the gradient of the result."""
    if x.dtype == g.dtype or x.ndim or not g.ndim:
        return x
    return m.to_copy(x, g.dtype if m.traced else FROM_NUMPY[g.dtype])


for _name, _number in (("zeros_like", "0"), ("ones_like", "1")):
    internal(
        f"{_name}(Tensor self)",
        forward=lambda xp, self, name=_name: getattr(xp, name)(self),
        latex=_number,
    )


def _sum_to(xp, self, shape):
    if xp is np:
        return cascade.sum_to(self, tuple(shape))
    axes = cascade.broadcast_axes(self.shape, tuple(shape))
    return xp.add.reduce(self, axis=axes).reshape(shape) if axes else self


sum_to = internal(
    "sum_to(Tensor self, int[] shape)",
    forward=_sum_to,
    vjp={"self": lambda m, g, self_sym_sizes: m.expand(g, self_sym_sizes)},
    latex=r"\sum {self}",
    vjp_latex={"self": "{g}"},
    samples=lambda s: [(s.randn(2, 3), shape) for shape in ((3,), (2, 1), ())],
)


# -- writing into memory -----------------------------------------------------------------------------------------------
def _register_overwrite(schema, forward, node, value, gradient=None, **fields):
    """Register an operation whose result does not depend on `self`, so no gradient reaches `self`.

    value: the formula of the result. gradient: the rule for the source tensor, and its formula."""
    rules, formulas = {"self": lambda m, g: m.zeros_like(g)}, {"self": "0"}
    if gradient is not None:
        name = schema.rstrip(")").split()[-1]
        rules[name], formulas[name] = gradient
    return internal(
        schema, forward=forward, vjp=rules, node=node, latex=value, vjp_latex=formulas, **fields
    )


copy_op = _register_overwrite(
    "copy(Tensor self, Tensor source)",
    lambda xp, self, source: xp.broadcast_to(source, self.shape),
    "CopyBackwards",
    "{source}",
    (lambda m, g: g, "{g}"),
    operands=("source",),
    samples=lambda s: [(s.randn(2, 3), s.randn(3))],
)
copy_op.node_class._name = "torch::autograd::CopyBackwards"
zero_op = _register_overwrite(
    "zero(Tensor self)",
    lambda xp, self: xp.zeros_like(self),
    "ZeroBackward0",
    "0",
)
fill_op = _register_overwrite(
    "fill(Tensor self, Number value)",
    lambda xp, self, value: xp.full_like(self, value),
    "FillBackward2",
    "{value}",
    samples=lambda s: [(s.randn(3), 2.5)],
)
fill_tensor_op = _register_overwrite(
    "fill_tensor(Tensor self, Tensor value)",
    lambda xp, self, value: xp.full_like(self, value),
    "FillBackward3",
    "{value}",
    (lambda m, g: m.sum(g), r"\sum {g}"),
    samples=lambda s: [(s.randn(3), s.randn())],
)


def _write(op, args, number):
    """Fill `args[0]` with `number`, as the in-place op `op`. Return `args[0]`."""
    target, state = args[0], per_thread.state
    requires_grad = any(isinstance(a, Tensor) and a._req for a in args)
    check_inplace(target, state, requires_grad, overlapping=False)
    filled = devices.filled(target._storage.device, number, target._array.shape, target.dtype)
    write_inplace(op, args, filled, state)
    return target


@composite(method=True, function=False)
def copy_(self, src, non_blocking=False):
    """Copy the values of `src` (a tensor or number; broadcast, cast) into this tensor.

    Raise RuntimeError if the shapes do not match. Source: torch.Tensor.copy_."""
    if not isinstance(src, Tensor):
        src = scalar_tensor(src)
    state, here = per_thread.state, self._storage.device
    check_inplace(self, state, self._req or src._req)
    if error := misfit(OPS["add"], (self, src), True):
        raise error
    if partly_overlap(self, src):
        raise overlapping_operands()
    if src._storage.device is not here:
        src = _copied_to_device(src, here, non_blocking)
    with here.backend:
        values = here.xp.broadcast_to(src._array, self._array.shape)
    write_inplace(copy_op, (self, src), values, state)
    return self


@composite(method=True)
def zero_(input):
    """Set every element to 0 in place. Source: torch.Tensor.zero_."""
    plain = input._view is None and not input._req and observe.observer is None
    if plain and input._array.__class__ is np.ndarray:
        input._array.fill(0)  # usually a gradient between two steps; 0.6 µs instead of 3.7
        input._storage.version += 1
        return input
    return _write(zero_op, (input,), 0)


@composite(method=True)
def fill_(input, value):
    """Set every element to `value` (a number or a 0-d tensor) in place. Source: torch.Tensor.fill_."""
    if not isinstance(value, Tensor):
        number = np.asarray(held_by(as_number(value), input.dtype)).astype(input.dtype.np)[()]
        return _write(fill_op, (input, value), number)
    refuse_if(
        value._array.ndim,
        f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions.",
        "Use copy_ to write a whole tensor.",
    )
    check_written_once(input)  # only a number may fill expanded memory
    if value._storage.device is not input._storage.device:
        value = _copied_to_device(value, input._storage.device)
    return _write(fill_tensor_op, (input, value), value._array)


@composite(method=True, function=False)
def clone_by_copy(self):
    """Return a copy recorded as torch records it under create_graph: `CopyBackwards` into new memory."""
    device = self._storage.device
    with device.backend:
        return wrap(device.xp.empty_like(self._array), self.dtype).copy_(self)


# -- casts and moves ---------------------------------------------------------------------------------------------------
def _cast(self, dtype, copy=False):
    if dtype is self.dtype:
        return clone.call(self, None) if copy else self
    if self._req and not dtype.is_floating_point:  # integers have no gradient
        return apply(dataclasses.replace(to_copy, rules=()), (self, dtype))
    return to_copy.call(self, dtype)


# -- from one device to another ----------------------------------------------------------------------------------------
def transfer(array, source, target, pinned=False, non_blocking=False):
    """Return a copy of a raw array from the device `source` on the device `target` (canonical devices)."""
    if target is devices.CPU:
        return source.backend.to_host(array, pinned, non_blocking)
    if source is devices.CPU:
        return target.backend.from_host(array, pinned, non_blocking)
    return target.backend.from_peer(array, source.backend)


to_device = internal(
    "to_device(Tensor self, object device, object? source=None)",
    forward=lambda xp, self, device, source: transfer(self, devices.of(self), device),
    node="ToCopyBackward0",
    vjp={"self": lambda m, g, source: m.to_device(g, source)},
    hidden=("source",),
    latex=r"{self}",
    vjp_latex={"self": "{g}"},
)


def _copied_to_device(self, device, non_blocking=False):
    """Return `self` on another device, recorded as `ToCopyBackward0`: its gradient goes back to the device of
    `self`."""
    source, state = self._storage.device, per_thread.state
    out = wrap(transfer(self._array, source, device, is_pinned(self), non_blocking), self.dtype)
    args = (self, device, source)
    node = record(to_device, args, (out,), state) if state.grad and self.requires_grad else None
    if observe.observer is not None:
        observe.observer.forward(to_device, args, None, (out,), node)
    return out


to_device.runs = lambda self, device, source=None: _copied_to_device(self, device)


@composite(method=True, function=False)
def to(self, *args, **kwargs):
    """Return the tensor with another dtype and/or on another device; the tensor itself if nothing changes.

    Call it as `to(device, dtype, non_blocking, copy)`, `to(dtype, non_blocking, copy)` or `to(other, non_blocking,
    copy)`. A converted tensor is not a leaf: its gradient goes back to this tensor. non_blocking: the host does not
    wait for the copy if this tensor is pinned. Raise AssertionError for cuda if there is none. Source:
    torch.Tensor.to."""
    if len(args) == 1 and args[0].__class__ is dtype_class and not kwargs:
        return _cast(self, args[0])
    given = named("to", args, kwargs)
    if given.get("memory_format") is not None:
        raise unsupported("to", "memory_format")
    device, dtype, tensor = map(given.get, ("device", "dtype", "tensor"))
    if tensor is not None:
        dtype, device = tensor.dtype, tensor.device
    target = self._storage.device if device is None else devices.usable(device)
    dtype = self.dtype if dtype is None else as_dtype(dtype)
    copy = given.get("copy", False)
    if target is not self._storage.device:
        # convert before the transfer, because fewer bytes travel faster
        if dtype.itemsize < self.dtype.itemsize:
            self = _cast(self, dtype)
        self, copy = _copied_to_device(self, target, given.get("non_blocking", False)), False
    return _cast(self, dtype, copy)


_pinned: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
"""The storages in page-locked host memory."""


@composite(method=True, function=False)
def is_pinned(self):
    """Return whether this tensor is in page-locked host memory. Source: torch.Tensor.is_pinned."""
    return self._storage in _pinned


@composite(method=True, function=False)
def pin_memory(self):
    """Return a copy in page-locked memory. It moves to a GPU faster; with `non_blocking=True`, the host does not wait.

    Raise RuntimeError without a GPU, and for tensors that are not on the CPU. Source: torch.Tensor.pin_memory."""
    if is_pinned(self):
        return self
    gpu = devices.accelerator()
    refuse_if(
        gpu is None,
        "Cannot access accelerator device when none is available.",
        "Pinned memory only speeds up copies to a GPU.",
    )
    out = wrap(gpu.pinned(np.array(self._array, order="C")), self.dtype)
    _pinned[out._storage] = True
    return out


@composite(method=True)
def get_device(input):
    """Return the index of the device that this tensor is on; -1 for the CPU. Source: torch.Tensor.get_device."""
    return -1 if input._storage.device is devices.CPU else input._storage.device.index


def _cast_method(name, dtype):
    def method(self, memory_format=None):
        return _cast(self, dtype)

    method.__name__, method.__doc__ = name, f"`self.to({dtype!r})`. Source: torch.Tensor.{name}"
    METHODS[name] = method


for _name, _dtype in {
    "float": float32,
    "double": float64,
    "half": float16,
    "long": int64,
    "int": int32,
    "short": int16,
    "char": int8,
    "byte": uint8,
    "bool": bool_,
}.items():
    _cast_method(_name, _dtype)


@composite(method=True, function=False)
def cpu(self):
    """Return the tensor in host memory; itself if it is already there. Source: torch.Tensor.cpu."""
    return to(self, device="cpu")


@composite(method=True, function=False)
def cuda(self, device=None, non_blocking=False):
    """Return the tensor on a GPU. Raise AssertionError if there is none. Source: torch.Tensor.cuda."""
    device = devices.device("cuda" if device is None else device)
    message, note = "Invalid device, must be cuda device", "For other devices write x.to(device)."
    refuse_if(device.type != "cuda", message, note)
    return to(self, device=device, non_blocking=non_blocking)


@composite(method=True, function=False)
def type_as(self, other):
    """Return this tensor with the dtype and device of `other`. Source: torch.Tensor.type_as."""
    return to(self, tensor=other)


@composite(method=True, function=False, name="type")
def _type(self, dtype=None):  # not named `type`, because this file uses Python's `type`
    """Return the type's name ('torch.FloatTensor') if `dtype` is None, else the tensor cast to that type. Source:
    torch.Tensor.type."""
    if dtype is None:
        prefix = "" if self.device.type == "cpu" else f"{self.device.type}."
        return f"torch.{prefix}{self.dtype.short}Tensor"
    device = getattr(dtype, "device_type", None)
    if isinstance(dtype, str):
        *place, name = dtype.removeprefix("torch.").split(".")
        device, asked = (*place, "cpu")[0], dtype
        dtype = next((d for d in ALL if f"{d.short}Tensor" == name), None)
        note = "Write a dtype, or a name such as 'torch.cuda.FloatTensor'."
        refuse_if(dtype is None, f"invalid type: '{asked}'", note, ValueError)
    dtype = as_dtype(getattr(dtype, "dtype", dtype))
    return to(self, self.device if device in (None, self.device.type) else device, dtype)


@composite(method=True, function=False)
def contiguous(self, memory_format=None):
    """Return a row-major tensor with the same values; itself if it is row-major already. Source:
    torch.Tensor.contiguous."""
    return self if self.is_contiguous() else apply(clone, (self, ROW_MAJOR))


@composite(method=True, function=False)
def clone_contiguous(self):
    """Return a row-major copy."""
    return clone.call(self, ROW_MAJOR)


def _register_function_of_method(name, doc):
    """Register a public function that calls the method of the same name."""

    def call(input):
        return getattr(input, name)()

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{doc} Source: torch.{name}."
    NAMESPACES[""][name] = call


_register_function_of_method(
    "detach", "Return the same memory outside the graph; backward still detects in-place changes."
)
_register_function_of_method("numel", "Return the number of elements.")
_register_function_of_method("is_floating_point", "Return whether the dtype is floating point.")
_register_function_of_method("is_complex", "Return whether the dtype is complex.")
