"""Nodes of the backward graph: what `grad_fn` is.

A node is made per op. It knows where gradients go (`inputs`), what was saved for its rules (`saved`) and when it was made
(`sequence_nr`). Its class is derived from the op's record, with PyTorch's name (`MulBackward0`).
"""

from __future__ import annotations

import functools
import weakref
from itertools import count
from typing import Any

import numpy as np

from .errors import fail
from .guard import guard, shared
from ..exact.sums import sum_to
from ..inplace.views import nowhere
from .grad_mode import per_thread
from .refusals import freed, stale
from .saved import entries, freeing

sequence = count()
next_sequence_nr = sequence.__next__
ACCUMULATE_NR = (
    2**64 - 1
)  # AccumulateGrad runs as soon as its last contribution is in: torch gives it the highest number

class SavedTensor:
    """What `grad_fn._raw_saved_self` returns: the handle of a saved tensor. Source: torch.autograd.graph, 'Saved tensors hooks'."""

    def __init__(self, node, position):
        self._node, self._position = node, position

    def register_hooks(self, pack_hook, unpack_hook):
        """Replaces the saved tensor by `pack_hook(tensor)`; `unpack_hook` must give it back when the rule needs it."""
        node, k = self._node, self._position
        saved = node._entries()
        if isinstance(saved[k], Packed):
            raise fail(
                RuntimeError,
                "A saved tensor can only have one pair of hooks",
                "Register the hooks once, before backward().",
            )
        packed = Packed.by_hook(node, k, pack_hook, unpack_hook)
        node.saved = Unusual(packed if i == k else e for i, e in enumerate(saved))


class Packed:
    """A saved tensor that hooks took: `value` is what pack returned, `origin` (node, output number) where the tensor came from.

    node is None for an output of the node that saved it, which must not hold itself; origin is None for a tensor without history."""

    __slots__ = ("value", "unpack", "origin")

    def __init__(self, value, unpack, origin=None):
        self.value, self.unpack, self.origin = value, unpack, origin

    @classmethod
    def by_hook(cls, node, k, pack, unpack):
        """What takes the place of the saved entry `k` of `node`."""
        node.node_hooks()  # the hooks may ask which pass runs, so the pass that asks nothing must not take this graph
        return cls.of(node.unpack(k), pack, unpack, node)

    @classmethod
    def of(cls, t, pack, unpack, node=None):
        """The tensor `t` as it is kept, by `node`."""
        origin = None
        if t.requires_grad:
            made_by = t.grad_fn
            origin = (accumulator(t), 0) if made_by is None else (None if made_by is node else made_by, t._nr)
        return cls(pack(t), unpack, origin)

    def tensor(self, node=None):
        """What unpack returns, with the history that the tensor had: a second derivative goes on from there."""
        t = self.unpack(self.value)
        if self.origin is None or t.requires_grad:
            return t
        made_by, nr = self.origin
        t = t.detach()
        if isinstance(made_by, AccumulateGrad):
            t._acc = weakref.ref(made_by)
        else:
            t._node, t._nr = made_by or node, nr
        t._req = True
        return t


class Unusual(list):
    """Saved entries that the compiled rules cannot read directly, because some are Packed."""


GONE = ("a saved tensor that backward freed",)


class Freed(list):
    """What is left of the saved entries after freeing: plain attributes; tensors are gone."""


class Node:
    """A node of the backward graph. Public names are those of `torch.autograd.graph.Node`.

    scope: None, or the module call that made the node: (the call around it or None, the module's path in the module around it, its
    type's name). Every call has a tuple of its own, so that two calls of one module can be told apart.

    No `__getattr__` here nor in Tensor: it would make every read of an attribute ten times as slow (15 ns)."""

    __slots__ = (
        "inputs",
        "input_nrs",
        "saved",
        "sequence_nr",
        "fix",
        "hooks",
        "value",
        "operands",
        "scope",
        "_extra",
        "__weakref__",
    )
    sequence_nr: int
    _extra: dict
    op: Any = None
    num_outputs = 1
    _name = "Node"
    _saved_names: tuple[str, ...] = ()
    plain = False  # whether the engine may call the compiled backward directly
    direct = False  # plain, and one differentiable output, the first: what `straight` can run
    frees_all = False  # whether everything saved is a tensor, so that freeing is one assignment
    runs_without_grad = False  # whether the node runs even when nothing arrived (custom functions see zeros)

    # -- torch's public face ---------------------------------------------------------------------------------------------
    def name(self) -> str:
        """The node's name as torch gives it: 'MulBackward0', 'torch::autograd::AccumulateGrad'."""
        return self._name

    @property
    def next_functions(self):
        """((node, output number), …) per differentiable argument; (None, 0) where no gradient goes."""
        nrs = self.input_nrs
        return tuple((n, 0 if nrs is None else nrs[i]) for i, n in enumerate(self.inputs))

    @property
    def metadata(self) -> dict:
        """A dict of the user's."""
        return self.extra().setdefault("metadata", {})

    @property
    def requires_grad(self) -> bool:
        """True: only what requires a gradient has a node."""
        return True

    @property
    def _input_metadata(self):
        return self.extra().get("input_metadata", ())

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    def _set_sequence_nr(self, nr):
        raise fail(
            RuntimeError,
            "_set_sequence_nr is not supported by autolab",
            "The order of backward is the order of creation, reversed.",
        )

    def _register_hook_dict(self, d):
        raise fail(
            RuntimeError, "_register_hook_dict is not supported by autolab", "Use register_hook or register_prehook."
        )

    def register_hook(self, fn):
        """Calls `fn(grad_inputs, grad_outputs)` after the node ran; a returned tuple replaces grad_inputs."""
        return self.node_hooks().add("post", fn)

    def register_prehook(self, fn):
        """Calls `fn(grad_outputs)` before the node runs; a returned tuple replaces grad_outputs."""
        return self.node_hooks().add("pre", fn)

    def __call__(self, *grads):
        """Runs the node alone: gradients of its outputs in, gradients of its inputs out (a Tensor when there is one input)."""
        from .differentiate import call_node

        return call_node(self, grads)

    def __dir__(self):
        raw = [f"_raw{n}" for n, k in self._saved_tensor_names()]
        constants = self.op.constants if self.op else ()
        return sorted(
            [*dir(object), "__call__"]
            + raw
            + [f"_saved_{n}" for n in (*self._saved_names, *constants) if n is not None]
            + [
                "_input_metadata",
                "_register_hook_dict",
                "_sequence_nr",
                "_set_sequence_nr",
                "metadata",
                "name",
                "next_functions",
                "register_hook",
                "register_prehook",
                "requires_grad",
            ]
        )

    @property
    def differentiable_outputs(self) -> int:
        """How many gradients hooks are shown: an index that `max` returns beside the maximum is no output of the node in PyTorch."""
        return self.num_outputs - (len(self.op.nondiff) if self.op is not None else 0)

    # -- for the engine --------------------------------------------------------------------------------------------------
    def step(self, g, retain_graph, oldest, leaves, pending):
        """All that `straight` does at a node where the raw array `g` arrived; what this gives to leaves and other nodes is added in `leaves` and
        `pending`. Returns where the pass goes on (`delivery.delivering`); or None, and nothing done, when this node needs the general pass: here,
        because it is of no registered op, has several outputs or is not on the CPU alone; in the class of an op, when it has hooks or is older
        than `oldest`."""
        return None

    def heading_for(self, inputs):
        """A node that computes what this one does, but only the gradients for `inputs` that are not None. It stands in no graph."""
        node = object.__new__(self.__class__)
        node.inputs, node.saved, node.fix = inputs, self.saved, self.fix
        if self.op.variadic:
            node.num_outputs = self.num_outputs
        return node

    def extra(self) -> dict:
        """Rarely used facts, in a dict made on demand."""
        try:
            return self._extra
        except AttributeError:  # an unset slot
            with guard:
                if not hasattr(self, "_extra"):
                    self._extra = {}
            return self._extra

    def node_hooks(self):
        """The hooks at this node; made when the first is registered."""
        from ..autograd.hooks import NodeHooks

        if self.hooks is None:
            with guard:
                self.hooks = self.hooks or NodeHooks()
        return self.hooks

    def _saved_tensor_names(self):
        if self.op is None:
            return
        for n, k in zip(self.op.saves, self.op.save_kinds):
            if k in ("input", "output"):
                yield f"_saved_{n}", k

    def _entries(self):
        """The saved entries; raises torch's error when they were freed."""
        if self.saved is None or self.saved.__class__ is Freed:
            raise freed()
        return entries(self)

    def unpack(self, k):
        """The saved entry `k` as the user sees it: a Tensor, a number, or None. Checks the version of a tensor."""
        from .tensor import Tensor, wrap

        entry = self._entries()[k]
        kind = self.op.save_kinds[k]
        if entry is None or kind not in ("input", "output"):
            return entry
        if entry.__class__ is Packed:
            return entry.tensor(self)
        if kind == "output":
            array, storage, version = entry
            if storage.version != version:
                if self.op.saves[k] in self.op.hidden:  # PyTorch keeps something else of it: the rule finds it again
                    return None
                nr = self.op.save_index[k]
                made_by = None if self.op.nondiff and self.op.outputs[nr] in self.op.nondiff else self
                raise stale(self, storage, version, array.shape, array.dtype, made_by, nr)
            t = wrap(storage.array if storage.array is not None and isinstance(array, np.generic) else array)
            t._storage, t._node, t._nr, t._req = storage, self, self.op.save_index[k], True
            if self.op.nondiff and self.op.outputs[t._nr] in self.op.nondiff:
                t._node, t._req = None, False
            return t
        if kind == "input" and self.op.params[self.op.save_index[k]] in self.op.lists and entry.__class__ is tuple:
            return tuple(opened(self, entry, True))
        if entry.__class__ is tuple and isinstance(entry[0], Tensor):
            t, version = entry
            if t._storage.version != version:
                raise stale(self, t._storage, version, t._array.shape, t._array.dtype, t._node)
            return t
        return entry

    def _saved_attribute(self, name):
        for k, (n, kind) in enumerate(zip(self._saved_names, self.op.save_kinds if self.op else ())):
            if n == name:
                if self.saved is not None and (entry := entries(self)[k]) is None:
                    return None
                if kind not in ("input", "output") and self.saved.__class__ is Freed:
                    return entry
                value = self.unpack(k)
                if (
                    kind == "input"
                    and self.op.params[self.op.save_index[k]] in self.op.operands
                    and isinstance(value, (bool, int, float, complex))
                    and name not in ("exponent", "self")
                ):  # torch has overloads of its own for 2**x: a number stays one
                    from .tensor import wrap

                    return wrap(
                        np.asarray(value)
                    )  # torch keeps the number itself: a double, a long or a bool, whatever x's dtype
                return value
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '_saved_{name}'")

    def _raw_saved(self, name):
        for k, n in enumerate(self._saved_names):
            if n == name:
                return SavedTensor(self, k)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '_raw_saved_{name}'")

    def release(self):
        """Frees the saved tensors, keeps plain attributes. Returns whether there were any."""
        if not self.op.saves_tensors or self.saved is None or self.saved.__class__ is Freed:
            return False
        if self.saved.__class__ is tuple:
            left = freeing(self.op, GONE)(self.saved)
            if left is None:  # nothing that a second backward would miss
                return False
            self.saved = Freed(left)
            return True
        saved = entries(self)
        held = [self._holds(k, e) for k, e in enumerate(saved)]
        if not any(held):
            return False
        self.saved = Freed(GONE if gone else e for gone, e in zip(held, saved))
        return True

    def _holds(self, k, entry):
        """Whether the saved entry `k` is a tensor in PyTorch; the number of `x * 2` is one there, the index of `x[0]` is not."""
        op = self.op
        if entry is None or op.save_kinds[k] not in ("input", "output"):
            return False
        return not isinstance(entry, (bool, int, float, complex)) or (
            op.params[op.save_index[k]] in op.operands and op.saves[k] not in op.hidden
        )


def opened(node, items, traced):
    """What a rule reads of a list of which `node` saved the tensors with their versions: Tensors when traced, else raw arrays."""
    found = []
    for item in items:
        if item.__class__ is tuple:
            item, version = item
            if item._storage.version != version:
                raise stale(node, item._storage, version, item._array.shape, item._array.dtype, item._node)
        elif item.__class__ is Packed:
            item = item.tensor(node)
        found.append(getattr(item, "_array", item) if not traced else item)
    return found


@functools.cache
def off_cpu(node_class):
    """The class of those nodes of an op that take or give what lies on another device than the CPU: the same, but that `straight` hands them
    to the general pass (`direct`, `step`). So what a pass asks about devices is in its graph, and costs other graphs nothing."""
    body = {"__slots__": (), "direct": False, "step": Node.step, "__module__": node_class.__module__, "__doc__": node_class.__doc__}
    return type(node_class.__name__, (node_class,), body)


class AccumulateGrad(Node):
    """The end of an edge: adds what arrives to `variable.grad`. One per leaf; the leaf holds it weakly, the graph strongly.

    One is made per leaf and graph, so what is the same for all of them stands in the class."""

    __slots__ = ("variable",)
    _name = "torch::autograd::AccumulateGrad"
    inputs = saved = ()
    input_nrs = fix = value = operands = scope = None
    sequence_nr = ACCUMULATE_NR
    variable: Any

    def __dir__(self):
        return sorted([*super().__dir__(), "variable"])

    def release(self):
        return False


AccumulateGrad.__module__ = "builtins"


def accumulator(leaf):
    """The AccumulateGrad of a leaf that requires grad, made on first use. None of a view that requires grad only because its base does."""
    _ = per_thread.state  # this thread is known from now on
    return leaf._acc and leaf._acc() or new_accumulator(leaf)


def new_accumulator(leaf):
    """An AccumulateGrad for a leaf that has none (any more); see `accumulator`."""
    if shared.several or leaf._acc is nowhere:
        return _shared_accumulator(leaf)
    node = AccumulateGrad()
    node.variable = leaf
    node.hooks = None
    leaf._acc = weakref.ref(node)
    return node


def _shared_accumulator(leaf):
    """`new_accumulator` where another thread may ask for the same."""
    if leaf._acc is nowhere:
        return None
    made = AccumulateGrad()
    made.variable = leaf
    made.hooks = None
    with guard:
        node = leaf._acc and leaf._acc()
        if not node:
            node = made
            leaf._acc = weakref.ref(node)
    return node


class CopySlices(Node):
    """History of a base after an in-place op on a view of it: the old base, with one slice replaced by what `inner` computed."""

    __slots__ = ("geometry", "inner")
    _name = "torch::autograd::CopySlices"

    def __init__(self, base, geometry, inner):
        from . import apply as dispatch

        self.geometry, self.inner = geometry, inner
        inner_nrs = inner.input_nrs or (0,) * len(inner.inputs)
        self.inputs = (dispatch.edge(base), *inner.inputs[1:])
        nrs = (base._nr, *inner_nrs[1:])
        self.input_nrs = nrs if any(nrs) else None
        self.saved, self.fix, self.hooks, self.operands = (), None, None, None
        self.value = base._array if base._array.size <= 1024 else None
        self.sequence_nr, self.scope = next_sequence_nr(), inner.scope

    def backward_raw(self, m, g):
        if self.inner is None:
            raise freed()
        whole = self.geometry
        rule = self.inner.backward_traced if m.traced else self.inner.backward_raw
        rest = apply_fix(m, self.inner.fix, rule(m, m.strided_take(g, whole)))
        of_slice = rest[0]
        if of_slice is None:
            of_slice = m.zeros_like(m.strided_take(g, whole))
        return (m.strided_put(g, of_slice, whole) if self.inputs[0] is not None else None, *rest[1:])

    backward_traced = backward_raw

    def release(self):
        inner, self.inner = self.inner, None  # PyTorch frees the function itself, also one that saved nothing
        if inner is None:
            return False
        if inner.frees_all and inner.saved is not None:
            inner.saved = None
            return True
        return inner.release()


CopySlices.__module__ = "builtins"


def fitted(g, target):
    """An array in host memory, a gradient, summed over broadcast dimensions and with the dtype of its input; see `apply_fix`."""
    if g is None or target is None:
        return g
    shape, dtype = target
    if shape is not None and g.shape != shape:
        g = sum_to(g, shape)
    return g if g.dtype is dtype.np or g.dtype == dtype.np else g.astype(dtype.np)


def apply_fix(m, fix, grads):
    """Sums gradients over broadcast dimensions and casts them to their input's dtype."""
    if fix is None:
        return grads
    fixed = []
    for g, target in zip(grads, fix):
        if g is not None and target is not None:
            shape, dtype = target
            if shape is not None and g.shape != shape:
                g = m.sum_to(g, shape)
            if g.dtype is not dtype.np and g.dtype is not dtype and g.dtype != (dtype if m.traced else dtype.np):
                g = m.to_copy(g, dtype)
            if target.__class__ is not tuple:  # an operand on another device
                g = m.to_device(g, target.device)
        fixed.append(g)
    return fixed
