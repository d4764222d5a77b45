"""`autograd.Function`: differentiable operations that the user writes.

Source: https://docs.pytorch.org/docs/2.13/notes/extending.html"""

from __future__ import annotations

import functools
import inspect
import warnings

from ..devices import device as devices
from ..core import observe
from ..core.errors import fail, type_name
from ..exact.refusals import unsupported
from ..devices.placement import kept
from ..core.tensor import SMALL, Tensor, materialise, wrap
from ..inplace.views import View, move_retained
from .modes import no_grad
from ..core.grad_mode import per_thread, set_grad_enabled
from ..core.node import Node, accumulator, next_sequence_nr
from .refusals import FREED, stale

_LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with static forward method. "
    "(Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)


class FunctionCtx:
    """What `ctx` offers in forward and backward; any attribute may be set on it. The context is the graph's node
    itself."""

    __slots__ = ()

    def save_for_backward(self, *tensors):
        """Keep tensors for backward; read them there as `ctx.saved_tensors`.

        Anything else raises TypeError when forward is done, if it is recorded."""
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Raises NotImplementedError: autolab has no forward mode."""
        raise unsupported(
            "save_for_forward", "tensors", "autolab differentiates in reverse mode only."
        )

    def mark_dirty(self, *tensors):
        """Says that these inputs were changed in place and are returned."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors):
        """Says that these outputs have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value):
        """False: gradients that did not arrive are None in backward instead of zeros."""
        if not isinstance(value, bool):
            raise fail(
                TypeError,
                "set_materialize_grads received an invalid combination of arguments - got (), but expected (bool)",
                f"`value` is True or False; {value!r:.60} came.",
            )
        self.materialize_grads = value


class _FunctionNode(Node, FunctionCtx):
    """The node of a custom function; also its `ctx`."""

    __slots__ = (
        "_kept",
        "_outputs",
        "needs_input_grad",
        "to_save",
        "dirty_tensors",
        "non_differentiable",
        "materialize_grads",
        "num_outputs",
        "_arity",
        "_meta",
        "__dict__",
    )
    function_class: type
    runs_without_grad = True

    def __init__(self):
        self.inputs, self.input_nrs, self.saved, self.fix, self.hooks = (), None, (), None, None
        self.value, self.operands, self._kept = None, None, ()
        self.to_save, self.dirty_tensors, self.non_differentiable, self.materialize_grads = (
            (),
            (),
            (),
            True,
        )
        self.needs_input_grad, self.num_outputs, self._arity, self._meta = (), 1, 0, ()
        self.scope = per_thread.state.scope

    @property
    def saved_tensors(self):
        """The tensors that forward saved, in order. Raises RuntimeError after they were freed, or when one was changed
        in place since."""
        if self._kept is None:
            raise fail(
                RuntimeError,
                FREED,
                "backward() freed them; pass retain_graph=True to the first backward().",
            )
        return tuple(self._unpack(k) for k in self._kept)

    saved_variables = saved_tensors

    def _unpack(self, kept):
        if kept is None:
            return None
        t, version, output_nr = kept
        if t.__class__ is tuple:  # packed by saved-tensor hooks
            return t[1](t[0])
        if t._storage.version != version:
            made_by, nr = (t.grad_fn, 0) if output_nr is None else (self, output_nr)
            raise stale(self, t._storage, version, t._array.shape, t._array.dtype, made_by, nr)
        if output_nr is None:
            return t
        out = (
            t.detach()
        )  # an output is kept without its history, or node and tensor would hold each other
        out._node, out._nr, out._req = self, output_nr, True
        return out

    def __dir__(self):
        return sorted([*object.__dir__(self)])

    def keep(self, outputs):
        """Turn what forward saved into entries with versions. Raises TypeError for what is no tensor."""
        for i, t in enumerate(self.to_save):
            if t is not None and not isinstance(t, Tensor):
                raise fail(
                    TypeError,
                    f"save_for_backward can only save variables, but argument {i} is of type {type_name(t)}",
                    "Keep other values as attributes: ctx.k = 3.0.",
                )
        entries, hooks = [], per_thread.state.saved_hooks
        for t in self.to_save:
            if t is None:
                entries.append(None)
                continue
            nr = next((i for i, o in enumerate(outputs) if o is t), None)
            if hooks is not None:
                entries.append(((hooks[0](t), hooks[1]), 0, None))
            elif nr is not None and t not in self._identity_inputs:
                entries.append((t.detach(), t._storage.version, nr))
            else:
                entries.append((t, t._storage.version, None))
        self._kept = entries
        self.to_save = ()

    _identity_inputs: tuple = ()

    def backward_traced(self, m, g):
        return self.backward_raw(m, g)

    def backward_raw(self, m, g):
        """Calls the user's backward with Tensors and checks what it returns."""
        traced = m.traced
        grads = [None] * self.num_outputs
        if g is not None:
            grads = list(g) if self.num_outputs > 1 else [g]
            grads = [None if x is None else x if isinstance(x, Tensor) else wrap(x) for x in grads]
        if self.materialize_grads:
            grads = [
                wrap(devices.filled(device, 0, shape, d)) if x is None and device else x
                for x, (shape, d, device) in zip(grads, self._meta)
            ]
        cls = self.function_class
        rule = cls.backward if cls.backward is not Function.backward else cls.vjp
        if rule is Function.vjp:
            rule = Function.backward
        with set_grad_enabled(traced):
            result = rule(self, *grads)
        result = result if isinstance(result, tuple) else (result,)
        return self._checked(result, traced)

    def _checked(self, result, traced):
        if len(result) > self._arity and all(r is None for r in result[self._arity :]):
            result = result[: self._arity]
        if len(result) != self._arity:
            raise fail(
                RuntimeError,
                f"function {self._name} returned an incorrect number of gradients (expected {self._arity}, got {len(result)})",
                "backward returns one gradient per argument of forward (without ctx), None for those that need none.",
            )
        out, position = [], 0
        for i, r in enumerate(result):
            if i not in self._tensor_positions:
                if r is not None:
                    raise fail(
                        RuntimeError,
                        f"function {self._name} returned a gradient different than None at position {i + 1}, but the "
                        "corresponding forward input was not a Variable",
                        "Return None for arguments that are not tensors.",
                    )
                continue
            meta = self._input_meta[position]
            target = self.inputs[position]
            position += 1
            if r is None or target is None:
                out.append(None)
                continue
            if not isinstance(r, Tensor):
                raise fail(
                    RuntimeError,
                    f"expected Variable or None (got {type_name(r)})",
                    "backward returns tensors, or None.",
                )
            out.append(self._fitted(r, meta, i, traced))
        return tuple(out)

    def _fitted(self, r, meta, i, traced):
        shape, dtype, device = meta
        if r.device is not device:
            if r.ndim:
                raise fail(
                    RuntimeError,
                    f"Function {self._name} returned an invalid gradient at index {i} - expected device {device} but got {r.device}",
                    "A gradient is where the input is that it belongs to: create it with device=x.device.",
                )
            r = r.to(device)
        if r._array.shape != shape:
            if not _expands_to(shape, r._array.shape):
                raise fail(
                    RuntimeError,
                    f"Function {self._name} returned an invalid gradient at index {i} - got {list(r._array.shape)} but expected "
                    f"shape compatible with {list(shape)}",
                    "A gradient has the shape of the input it belongs to.",
                )
            r = r.sum_to_size(shape)
        if r.dtype.is_complex and not dtype.is_complex:
            raise fail(
                RuntimeError,
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got false.  "
                "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)",
                "The gradient of a real input is real: return its .real part.",
            )
        if r.dtype is not dtype:
            r = r.to(dtype)
        if traced:
            return r
        return devices.copied(r._array)  # the user may hold the tensor that backward returned

    _tensor_positions: tuple = ()
    _input_meta: tuple = ()

    def release(self):
        if not self._kept:
            return False
        self._kept = None
        return True


def _expands_to(small, big):
    if len(small) > len(big):
        return False
    return all(a == b or a == 1 for a, b in zip(reversed(small), reversed(big)))


class _FunctionMeta(type):
    """Gives each custom function its node class, named as torch names it: `ExpBackward`."""

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
    """Base of custom functions: static `forward(ctx, *args)` and `backward(ctx, *grad_outputs)`; call it with `apply`.

    Alternatively `forward(*args)` with `setup_context(ctx, inputs, output)`. Source: torch.autograd.Function.

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

    def __new__(cls, *args, **kwargs):
        warnings.warn(
            f"{cls} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on the class "
            "itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )
        return object.__new__(cls)

    def __call__(self, *args, **kwargs):
        raise fail(
            RuntimeError,
            _LEGACY,
            f"Call {type(self).__name__}.apply(...) instead of making an instance.",
        )

    @staticmethod
    def forward(*args, **kwargs):
        """Computes the outputs. Override it."""
        raise fail(
            NotImplementedError,
            "You must implement the forward function for custom autograd.Function.",
            "Write @staticmethod def forward(ctx, ...).",
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Saves what backward needs, when forward takes no ctx. Override it."""
        raise fail(
            NotImplementedError,
            "setup_context is not implemented.",
            "Write it together with a forward that takes no ctx.",
        )

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Computes one gradient per argument of forward. Override it."""
        raise fail(
            NotImplementedError,
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD.",
            "Write @staticmethod def backward(ctx, grad_output).",
        )

    vjp = backward

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs forward without recording its inside, and records the function as one node."""
        separate = cls.setup_context is not Function.setup_context
        args = _bound(cls.forward, args, kwargs) if separate else _placed(cls.forward, args, kwargs)
        state = per_thread.state
        node = cls._backward_cls()
        positions = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor))
        tensors = [args[i] for i in positions]
        recording = state.grad and not state.inference and any(t.requires_grad for t in tensors)
        node.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        edges = tuple(_edge(t) if recording else None for t in tensors)
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
        outputs = output if isinstance(output, tuple) else (output,)
        if recording:
            node.inputs, node.input_nrs = edges, nrs if any(nrs) else None
            node._tensor_positions, node._arity = positions, len(args)
            node._input_meta = tuple(_meta(t) for t in tensors)
            node.sequence_nr = next_sequence_nr()
        outputs = _finished(node, tensors, outputs, recording)
        if recording:
            node._identity_inputs = _Identity(tensors)
            node.keep(outputs)
            node._identity_inputs = ()
        if observe.observer is not None:
            observe.observer.forward(
                node,
                args,
                None,
                tuple(o for o in outputs if isinstance(o, Tensor)),
                node if recording else None,
            )
        return outputs if isinstance(output, tuple) else outputs[0]


def _bound(forward, args, kwargs):
    """The arguments of a forward without ctx, by position and with its defaults."""
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _placed(forward, args, kwargs):
    """The arguments of a forward that takes ctx, those by keyword behind the others."""
    if not kwargs:
        return args
    names = list(inspect.signature(forward).parameters)[1:]
    if unknown := [name for name in kwargs if name not in names]:
        message = f"forward() got an unexpected keyword argument '{unknown[0]}'"
        raise fail(TypeError, message, f"forward takes {', '.join(names)} beside ctx.")
    rest = names[len(args) : len(args) + len(kwargs)]
    if missing := [name for name in rest if name not in kwargs]:
        place = names.index(missing[0])
        message = f"forward() missing required argument: '{missing[0]}' (position {place})"
        raise fail(TypeError, message, "Pass every argument in front of the ones given by name.")
    return (*args, *(kwargs[name] for name in rest))


def _finished(node, tensors, outputs, recording):
    """The outputs as the caller gets them: the node hangs on each that is differentiable."""
    node.num_outputs = len(outputs)
    _check_marked(node.dirty_tensors, "mark_dirty can only accept variables, but argument ")
    _check_marked(
        node.non_differentiable, "mark_non_differentiable only accepts variable arguments, but got "
    )
    dirty, plain = _Identity(node.dirty_tensors), _Identity(node.non_differentiable)
    for changed in node.dirty_tensors:
        changed._storage.version += 1
    _check_dirty_are_returned(node.dirty_tensors, tensors, outputs)
    inputs, finished = _Identity(tensors), []
    for nr, o in enumerate(outputs):
        if isinstance(o, Tensor):
            node_of = node if recording and o not in plain and o.dtype.is_floating_point else None
            o = _output(node_of, nr, o, o in inputs, o in dirty)
        finished.append(o)
    node._meta = tuple(_meta(o) if isinstance(o, Tensor) else ((), None, None) for o in finished)
    first = finished[0] if finished else None
    if isinstance(first, Tensor) and first._array.size <= SMALL:
        node.value = kept(first._array)
    return tuple(finished)


def _meta(t):
    return t._array.shape, t.dtype, t.device


def _check_marked(marked, message):
    for value in marked:
        if not isinstance(value, Tensor):
            raise fail(RuntimeError, message, f"Mark tensors only; {type_name(value)} came.")


def _check_dirty_are_returned(dirty, inputs, outputs):
    """Raise torch's error for a changed input that forward does not return; warn of a mark on another tensor."""
    returned, given = _Identity(outputs), _Identity(inputs)
    if any(t not in returned for t in dirty):
        raise fail(
            RuntimeError,
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
            "inplace must all be outputs of the Function.",
            "Return the tensor that forward changed in place.",
        )
    if any(t not in given for t in dirty):
        message = "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
        warnings.warn(message + "passed to ctx.mark_dirty().", UserWarning, stacklevel=4)


def _output(node, nr, o, is_input, is_dirty):
    """Output number `nr` of a function: `node` is None where it has no gradient."""
    if is_input and node is None and o.requires_grad:
        return o.detach()
    if is_input and is_dirty:
        return o if node is None else _changed(node, nr, o)
    if is_input:
        o = _as_view(o, o)
    elif o._view is not None and o._view.base is not None:
        o = _as_view(o, o._view.base)
    if node is not None:
        o._node, o._nr, o._req = node, nr, True
    return o


def _changed(node, nr, t):
    """The input `t`, which forward changed in place: its history goes on with the node, and that of its base, too."""
    if t._req and t._node is None:
        raise fail(
            RuntimeError,
            "a leaf Variable that requires grad has been used in an in-place operation.",
            "A leaf cannot be changed in place while gradients are recorded.",
        )
    before = t._node, t._nr
    t._node, t._nr, t._req = node, nr, True
    if t._view is not None and t._view.base is not None:
        base = t._view.base
        before_base = base._node, base._nr
        t._view.rebase(t, node)
        move_retained(base, *before_base)
    move_retained(t, *before)
    return t


def _as_view(o, base):
    """An output that shares an input's memory: a view of it, which may not be changed in place."""
    t = wrap(materialise(o), o.dtype)
    root = base if base._view is None or base._view.base is None else base._view.base
    t._storage, t._view = o._storage, View(root, o._storage.version, "function")
    return t


class _Identity:
    """`t in _Identity(tensors)` compares by identity; `==` on tensors compares values."""

    def __init__(self, tensors):
        self._ids = {id(t) for t in tensors}

    def __contains__(self, t):
        return id(t) in self._ids


def _edge(t):
    node = t.grad_fn
    return accumulator(t) if node is None and t._req else node


def once_differentiable(fn):
    """Marks a backward whose gradients cannot be differentiated again. Source:
    torch.autograd.function.once_differentiable."""

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with no_grad():
            return fn(ctx, *args)

    return wrapper
