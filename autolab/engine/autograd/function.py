"""`autograd.Function`: differentiable operations that the user writes.

Source: https://docs.pytorch.org/docs/2.13/notes/extending.html"""

from __future__ import annotations

import functools
import inspect

from ..devices import device as devices
from ..core import observe
from ..core.errors import fail, type_name
from ..core.record import OPS
from ..exact.refusals import unsupported
from ..core.tensor import SMALL, Tensor, materialise, wrap
from ..inplace.views import View, move_retained
from .modes import no_grad
from ..core.grad_mode import per_thread, set_grad_enabled
from ..core.node import Node, edge, next_sequence_nr
from .refusals import FREED, stale


class FunctionCtx:
    """The methods of `ctx` in forward and backward. You may set any attribute on `ctx`, which is the node of the graph
    itself."""

    __slots__ = ()

    def save_for_backward(self, *tensors):
        """Save tensors for backward, which reads them as `ctx.saved_tensors`.

        A value that is not a tensor raises TypeError after forward, if the function is recorded."""
        self.to_save = tensors

    def mark_dirty(self, *tensors):
        """Declare that forward changed these inputs in place and returns them."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors):
        """Declare that these outputs have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value):
        """Choose whether missing gradients are zeros in backward (True) or None (False)."""
        self.materialize_grads = value


class _FunctionNode(Node, FunctionCtx):
    """The graph node of a custom function, which is also its `ctx`."""

    __slots__ = (
        *("_kept", "needs_input_grad", "to_save", "dirty_tensors", "non_differentiable"),
        *("materialize_grads", "num_outputs", "_meta", "_arguments", "__dict__"),
    )
    function_class: type
    runs_without_grad = True

    def __init__(self):
        self.inputs, self.input_nrs, self.saved, self.fix, self.hooks = (), None, (), None, None
        self.value, self.operands, self._kept, self.materialize_grads = None, None, (), True
        self.to_save = self.dirty_tensors = self.non_differentiable = ()
        self.needs_input_grad, self.num_outputs, self._meta, self._arguments = (), 1, (), ()
        self.scope = per_thread.state.scope

    @property
    def saved_tensors(self):
        """Return the tensors that forward saved, in order. Raise RuntimeError if they were freed, or if one was changed
        in place after forward."""
        if self._kept is None:
            note = "backward() freed them; pass retain_graph=True to the first backward()."
            raise fail(RuntimeError, FREED, note)
        return tuple(self._unpack(k) for k in self._kept)

    def _unpack(self, kept):
        if kept is None:
            return None
        t, version, output_nr = kept
        if t.__class__ is tuple:  # packed by hooks on saved tensors
            return t[1](t[0])
        if t._storage.version != version:
            made_by, nr = (t.grad_fn, 0) if output_nr is None else (self, output_nr)
            raise stale(self, t._storage, version, t._array.shape, t._array.dtype, made_by, nr)
        if output_nr is None:
            return t
        # Save a detached output: node and output must not hold each other.
        out = t.detach()
        out._node, out._nr, out._req = self, output_nr, True
        return out

    def __dir__(self):
        return sorted(object.__dir__(self))

    def keep(self, inputs, outputs):
        """Replace the tensors that forward saved with entries that include versions. Raise TypeError for other
        values."""
        entries, hooks = [], per_thread.state.saved_hooks
        inputs, numbers = _ids(inputs), {id(o): nr for nr, o in reversed([*enumerate(outputs)])}
        for i, t in enumerate(self.to_save):
            if t is None:
                entries.append(None)
            elif not isinstance(t, Tensor):
                raise fail(
                    TypeError,
                    f"save_for_backward can only save variables, but argument {i} is of type {type_name(t)}",
                    "Keep other values as attributes: ctx.k = 3.0.",
                )
            elif hooks is not None:
                entries.append(((hooks[0](t), hooks[1]), 0, None))
            elif id(t) in numbers and id(t) not in inputs:
                entries.append((t.detach(), t._storage.version, numbers[id(t)]))
            else:
                entries.append((t, t._storage.version, None))
        self._kept, self.to_save = entries, ()

    def backward_raw(self, m, g):
        """Call the user's backward with Tensors, and return its gradients after checking them."""
        grads = list(g) if self.num_outputs > 1 and g is not None else [g] * self.num_outputs
        for i, (shape, dtype, device) in enumerate(self._meta):
            if grads[i] is None and self.materialize_grads and device:
                grads[i] = devices.filled(device, 0, shape, dtype)
        grads = [x if x is None or isinstance(x, Tensor) else wrap(x) for x in grads]
        with set_grad_enabled(m.traced):
            result = self.function_class.backward(self, *grads)
        return self._checked(result if isinstance(result, tuple) else (result,), m.traced)

    backward_traced = backward_raw

    def _checked(self, result, traced):
        """Return the gradients of the tensor arguments from `result`, which has one entry per argument."""
        n = len(self._arguments)
        if len(result) > n and all(r is None for r in result[n:]):
            result = result[:n]
        if len(result) != n:
            raise fail(
                RuntimeError,
                f"function {self._name} returned an incorrect number of gradients (expected {n}, got {len(result)})",
                "backward returns one gradient per argument of forward (without ctx), None for those that need none.",
            )
        out, targets = [], iter(self.inputs)
        for i, (r, meta) in enumerate(zip(result, self._arguments)):
            if meta is not None:
                wanted = next(targets) is not None
                out.append(self._fitted(r, meta, i, traced) if wanted and r is not None else None)
            elif r is not None:
                raise fail(
                    RuntimeError,
                    f"function {self._name} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable",
                    "Return None for arguments that are not tensors.",
                )
        return tuple(out)

    def _fitted(self, r, meta, i, traced):
        """Return the gradient `r` of argument `i`, brought to the argument's shape, dtype and device."""
        if not isinstance(r, Tensor):
            message = f"expected Variable or None (got {type_name(r)})"
            raise fail(RuntimeError, message, "backward returns tensors, or None.")
        shape, dtype, device = meta
        problem = f"Function {self._name} returned an invalid gradient at index {i} - "
        if r.device is not device:
            message = f"{problem}expected device {device} but got {r.device}"
            note = "A gradient lies where its input lies: create it with device=x.device."
            raise fail(RuntimeError, message, note)
        given = r._array.shape
        if given != shape:
            extra = len(given) - len(shape)
            if extra < 0 or any(n not in (1, k) for n, k in zip(shape, given[extra:])):
                raise fail(
                    RuntimeError,
                    f"{problem}got {list(given)} but expected shape compatible with {list(shape)}",
                    "A gradient has the shape of the input it belongs to.",
                )
            r = OPS["sum_to"].call(r, shape)
        r = r if r.dtype is dtype else r.to(dtype)
        # The user may still hold the tensor that backward returned, so copy it.
        return r if traced else devices.copied(r._array)

    def release(self):
        if not self._kept:
            return False
        self._kept = None
        return True


class _FunctionMeta(type):
    """Create each custom function's node class, named as in torch: `ExpBackward`."""

    def __init__(cls, name, bases, members):
        super().__init__(name, bases, members)
        cls._backward_cls = type(
            name + "Backward",
            (_FunctionNode,),
            {
                "function_class": cls,
                "_name": name + "Backward",
                "__module__": "torch.autograd.function",
            },
        )


class Function(metaclass=_FunctionMeta):
    """Base class of custom functions: define static `forward(ctx, *args)` and `backward(ctx, *grad_outputs)`, call
    `apply`.

    Or define `forward(*args)` and `setup_context(ctx, inputs, output)`. Source: torch.autograd.Function.

    Example:

        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> x = torch.tensor(3., requires_grad=True)
        >>> Double.apply(x).backward()
        >>> x.grad
        tensor(2.)
    """

    def __call__(self, *args, **kwargs):
        raise fail(
            RuntimeError,
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)",
            f"Call {type(self).__name__}.apply(...) instead of making an instance.",
        )

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the outputs. Override it."""
        raise fail(
            NotImplementedError,
            "You must implement the forward function for custom autograd.Function.",
            "Write @staticmethod def forward(ctx, ...).",
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Save the tensors that backward needs, when forward takes no ctx. Override it."""
        raise fail(
            NotImplementedError,
            "setup_context is not implemented.",
            "Write it together with a forward that takes no ctx.",
        )

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Compute one gradient per argument of forward. Override it."""
        raise fail(
            NotImplementedError,
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD.",
            "Write @staticmethod def backward(ctx, grad_output).",
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward without recording the operations inside it, and record the function as one node."""
        separate = cls.setup_context is not Function.setup_context
        if kwargs or separate:
            args = _bind_arguments(cls.forward, args, kwargs, separate)
        state = per_thread.state
        node = cls._backward_cls()
        tensors = [a for a in args if isinstance(a, Tensor)]
        recording = state.grad and any(t.requires_grad for t in tensors)
        node.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        # Find the edges before forward runs, because forward may change the arguments in place.
        edges = tuple(map(edge, tensors)) if recording else ()
        nrs = tuple(t._nr for t in tensors)
        if observe.observer is not None:
            observe.observer.begin(node)
        try:
            with no_grad():
                output = cls.forward(*args) if separate else cls.forward(node, *args)
                if separate:
                    cls.setup_context(node, args, output)
        except Exception as error:
            if observe.observer is not None:
                observe.observer.failed(node, args, error)
            raise
        if recording:
            node.inputs, node.input_nrs = edges, nrs if any(nrs) else None
            node._arguments = tuple(map(_meta, args))
            node.sequence_nr = next_sequence_nr()
        outputs = output if isinstance(output, tuple) else (output,)
        outputs = _attach_outputs(node, tensors, outputs, recording)
        if recording:
            node.keep(tensors, outputs)
        if observe.observer is not None:
            results = tuple(o for o in outputs if isinstance(o, Tensor))
            observe.observer.forward(node, args, None, results, node if recording else None)
        return outputs if isinstance(output, tuple) else outputs[0]


def _bind_arguments(forward, args, kwargs, separate):
    """Return the arguments of `forward` by position, with defaults filled in. separate: `forward` takes no ctx."""
    ctx = () if separate else (None,)
    bound = inspect.signature(forward).bind(*ctx, *args, **kwargs)
    bound.apply_defaults()
    return bound.args[len(ctx) :]


def _ids(tensors):
    """Return the ids of tensors, to test identity: `in` on a list would compare their values."""
    return set(map(id, tensors))


def _meta(t):
    """Return (shape, dtype, device) of a tensor, or None for other values."""
    return (t._array.shape, t.dtype, t.device) if isinstance(t, Tensor) else None


def _attach_outputs(node, tensors, outputs, recording):
    """Return the outputs for the caller, and attach the node to each differentiable output."""
    node.num_outputs = len(outputs)
    dirty, plain = _ids(node.dirty_tensors), _ids(node.non_differentiable)
    if dirty - _ids(outputs):
        message = "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
        message += "inplace must all be outputs of the Function."
        raise fail(RuntimeError, message, "Return the tensor that forward changed in place.")
    for changed in node.dirty_tensors:
        changed._storage.version += 1
    inputs, finished = _ids(tensors), []
    for nr, o in enumerate(outputs):
        if isinstance(o, Tensor):
            differentiable = recording and id(o) not in plain and o.dtype.is_floating_point
            o = _output(node if differentiable else None, nr, o, id(o) in inputs, id(o) in dirty)
        finished.append(o)
    node._meta = tuple(_meta(o) or ((), None, None) for o in finished)
    first = finished[0] if finished else None
    if isinstance(first, Tensor) and first._array.size <= SMALL:
        node.value = first._storage.device.backend.preview(first._array, SMALL)
    return tuple(finished)


def _output(node, nr, o, is_input, is_dirty):
    """Return output number `nr` of a function. node: None if the output has no gradient."""
    if is_input and node is None and o.requires_grad:
        return o.detach()
    if is_input and is_dirty:
        return o if node is None else _attach_changed_input(node, nr, o)
    if is_input:
        o = _as_view(o, o)
    elif o._view is not None and o._view.base is not None:
        o = _as_view(o, o._view.base)
    if node is not None:
        o._node, o._nr, o._req = node, nr, True
    return o


def _attach_changed_input(node, nr, t):
    """Return the input `t`, which forward changed in place, with the node as its new history."""
    if t._req and t._node is None:
        raise fail(
            RuntimeError,
            "a leaf Variable that requires grad has been used in an in-place operation.",
            "A leaf cannot be changed in place while gradients are recorded.",
        )
    if t._view is not None and t._view.base is not None:
        raise unsupported("apply", "ctx.mark_dirty of a view", "Change and return a clone().")
    before = t._node, t._nr
    t._node, t._nr, t._req = node, nr, True
    move_retained(t, *before)
    return t


def _as_view(o, base):
    """Return an output that shares an input's memory as a view of the input that may not be changed in place."""
    t = wrap(materialise(o), o.dtype)
    root = base if base._view is None or base._view.base is None else base._view.base
    t._storage, t._view = o._storage, View(root, o._storage.version, "function")
    return t


def once_differentiable(fn):
    """Mark a backward function whose gradients cannot be differentiated again. Source:
    torch.autograd.function.once_differentiable."""

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with no_grad():
            return fn(ctx, *args)

    return wrapper
