"""Send PyTorch's running code as events of `engine.core.observe.Observer`, using PyTorch's own tools: a mode that sees
calls, a mode that sees the operations under them, and hooks of nodes, modules and optimizers.

An operation is reported when the next one begins or its surrounding call ends, because only then its result has a
grad_fn."""

from __future__ import annotations

import dis
import functools
import warnings
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import compiler
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from . import stack, torch_names
from .torch_calls import Call, Function, Schema, schema_of, tensors_in
from .torch_pass import Pass
from .guard import guarded
from .torch_silence import Silence, quietly
from .torch_snapshots import has_numbers, history, is_transformed

if TYPE_CHECKING:
    from .torch_record import TorchRecording

_PASSES = (torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad)
_DATA = torch.Tensor.data
_SHARED = frozenset(["numpy", "__array__", "__dlpack__", "data_ptr"])
"""What hands out a tensor's memory, so that it can be changed unseen."""

_REGISTER = frozenset(["register_hook", "register_post_accumulate_grad_hook"])


REENTRANT = (
    "checkpoint(use_reentrant=True) goes back through a graph of its own, which a recording does not see: the operations inside, and the gradients "
    "of what only they use, are missing from it. With use_reentrant=False they are recorded, computed again in the backward pass."
)


TRANSFORM = (
    "a transform of torch.func (grad, vjp, jvp, jacrev, hessian, ...; vectorize=True and is_grads_batched=True are "
    "such, too) computes with tensors that have no numbers until it is over: a recording has the arithmetic that it "
    "comes down to, but no graph and no backward pass of it. loss.backward() and torch.autograd.grad() are recorded whole"
)


EXPORT = (
    "torch.export traces a model with tensors that have no numbers: what runs for it is not in the recording, only what ran before and after it. "
    "With strict=True PyTorch refuses it here, as wherever hooks for all modules are registered: export before the block, or after it"
)

HIGHER = (
    "what runs inside torch.cond, while_loop, flex_attention and their like is not recorded, only the call itself where it "
    "has a gradient (through torch.cond PyTorch itself cannot go back while a mode watches): write it as ordinary Python "
    "(if, for, softmax(q @ k.mT) @ v) to see it"
)


SCRIPTED = (
    "TorchScript has put several operations together into one with a gradient rule of its own: the recording has that one, "
    "differentiable_graph, and no gradients inside it. The model as it was before torch.jit.script is recorded operation by operation"
)


def warn(message: str, frame: FrameType | None) -> None:
    """Warn about the learner's line that `frame` is at."""
    if frame is not None:
        warnings.warn_explicit(message, UserWarning, frame.f_code.co_filename, frame.f_lineno)


class _Operation:
    """One operation that ran; kept until its results have their grad_fn."""

    __slots__ = ("arguments", "enabled", "is_bare", "results", "schema", "scope")

    def __init__(
        self,
        schema: Schema,
        arguments: dict[str, Any],
        results: list[Any],
        on: bool,
        wanted: bool,
        scope: Any,
    ) -> None:
        self.schema, self.arguments, self.results, self.scope = schema, arguments, results, scope
        self.enabled, self.is_bare = on and wanted, on and not wanted

    def is_inside_a_script(self) -> bool:
        """Return whether its input is now a result of TorchScript, which had no grad_fn when the operation ran."""
        return self.is_bare and any(
            (fn := history(t)) is not None and "DifferentiableGraph" in fn.name()
            for t in (*self.results, *tensors_in(self.arguments))
            if t.requires_grad
        )

    def place(self, after: list[_Operation], around: list[Any]) -> bool:
        """Return whether the results have their grad_fn. A view gets it in a new tensor object, which the operations
        `after` it or the tensors `around` may hold."""
        if not self.enabled or self.schema.in_place or not self.schema.view:
            return True
        for result in self.results:
            if history(result) is not None:
                return True
        seen = [t for other in after for t in tensors_in(other.arguments)] + around
        found = [
            next((s for s in seen if history(s) is not None and _alike(s, t)), None)
            for t in self.results
        ]
        if all(f is None for f in found):
            return False
        self.results = [t if f is None else f for t, f in zip(self.results, found)]
        return True


def _alike(a: Any, b: Any) -> bool:
    same = (
        a is not b
        and a.dtype == b.dtype
        and a.shape == b.shape
        and has_numbers(a)
        and has_numbers(b)
    )
    return same and a.data_ptr() == b.data_ptr() and a.stride() == b.stride()


class _Calls(TorchFunctionMode):
    def __init__(self, events: Events) -> None:
        super().__init__()
        self.events = events

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        events, kwargs = self.events, kwargs or {}
        # torch.jit.trace would record reading a tensor here; operations under its calls are seen as usual.
        if Silence.on or torch._C._is_tracing():
            return func(*args, **kwargs)
        if compiler._is_compiling_flag and events.exports():
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "__get__":  # an attribute: few compute anything, as `.T` does
            if events.queue:
                events.tell(args)
            result = func(*args, **kwargs)
            if events.queue:
                events.tell(result, last=True)
            if func.__self__ is _DATA:
                events.left_graph("data", args, result)
            return result
        if name.startswith("_record_function_"):  # of PyTorch's profiler, around steps
            events.end_clearing()
            with Silence():
                return func(*args, **kwargs)
        if events.steps and stack.in_optimizer():
            return events.in_step(name, func, args, kwargs)
        if events.queue or events.custom is not None:
            events.tell(args)
        if func in _PASSES:
            return events.backward(func, args, kwargs)
        if name in _SHARED or name in ("__set__", "__delete__"):
            events.before(name, func, args)
        elif events.clearing is not None:
            events.end_clearing()
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            events.refused(name, args, kwargs, error)
            raise
        if name in ("__set__", "__delete__"):
            events.assigned(func, args)
        elif name == "detach":
            events.left_graph(name, args, result)
        elif name in _REGISTER:
            events.registered = True
        if events.queue:
            events.tell(result, last=True)
        return result


class _Told:
    """The method of the mode below, in a class of its own: if the mode's own class defined it, PyTorch would wrap it
    against torch.compile, which takes a fifth of a call's time. In the block nothing is compiled."""

    events: Events

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        events, kwargs = self.events, kwargs or {}
        if Silence.on or events.passes and events.is_arithmetic(func):
            return func(*args, **kwargs)
        running = events.begins(func, args, kwargs)
        if running is None:
            return func(*args, **kwargs)
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            events.failed(running, error)
            raise
        events.ran(running, result)
        return result


class _Running(NamedTuple):
    """A running operation. `schema` is None if its arguments include functions; `enabled`: whether grad mode is on."""

    schema: Schema | None
    arguments: dict[str, Any]
    enabled: bool


class _Operations(_Told, TorchDispatchMode):
    supports_higher_order_operators = True

    def __init__(self, events: Events) -> None:
        super().__init__()
        self.events = events


class _Custom:
    """A running custom function; the operations inside it are not reported."""

    def __init__(self, frame: FrameType, modules: list[Any]) -> None:
        self.frame, self.results = frame, list[Any]()
        self.at = stack.at("torch", True, modules, frame.f_back)
        self.at = self.at._replace(line=None if self.at.frame is None else self.at.frame.f_lineno)

    def runs(self) -> bool:
        return stack.custom_function() is self.frame

    def failed(self) -> bool:
        """Return whether its forward raised: then its frame did not reach the end."""
        return not dis.opname[self.frame.f_code.co_code[self.frame.f_lasti]].startswith("RETURN")

    def tell(self, recording: TorchRecording, seen: list[Any]) -> None:
        if self.failed():
            return
        args, cls = self.frame.f_locals["args"], self.frame.f_locals["cls"]
        if cls.__module__ == "torch.utils.checkpoint":
            warn(REENTRANT, self.at.frame)
        found = {
            id(t): t
            for t in [*self.results, *seen]
            if isinstance(history(t), torch.autograd.function.BackwardCFunction)
        }
        outputs = [t for t in found.values() if not recording.knows(history(t))]
        if outputs:
            node = history(outputs[0])
            outputs = sorted((t for t in outputs if history(t) is node), key=lambda t: t.output_nr)
            recording.forward_at(self.at, node, args, None, tuple(outputs), node)
        elif self.results:
            call = Function(cls.__name__, args)
            recording.forward_at(self.at, call, call.args(), None, tuple(self.results[-1:]), None)


class Events:
    """Watches PyTorch in a `with` block and reports to `recording`."""

    def __init__(self, recording: TorchRecording) -> None:
        self.recording = recording
        self.queue: list[_Operation] = []
        self.passes = 0  # number of running passes
        self.steps = 0  # number of running optimizer steps
        self.custom: _Custom | None = None  # the custom function that runs, or has just run
        self.operations, self._calls = _Operations(self), _Calls(self)
        self._handles: list[Any] = []
        self._compile: Any = None  # the original torch.compile while it is replaced
        self._names: dict[
            int, tuple[Any, dict[int, str]]
        ] = {}  # id of a module -> (the module, the paths of its submodules)
        self.told: Any = None  # the scope of the operation being reported
        self.modules: list[tuple[Any, Any]] = []  # (module, its scope) of running calls
        self._said: set[str] = set()
        self.clearing: Any = None  # the optimizer or module whose zero_grad() is running
        self.registered = False  # whether the learner's code has registered hooks

    def __enter__(self) -> None:
        self._handles = [
            register_module_forward_pre_hook(self._module_begins),
            register_module_forward_hook(self._module_ends, always_call=True),
            register_optimizer_step_pre_hook(self._step_begins),
            register_optimizer_step_post_hook(self._step_ends),
        ]
        self._stance: Any = None
        if torch_names.compiler_not_loaded():  # loading the compiler takes a second or two
            self._compile, torch.compile = torch.compile, self._compiling(torch.compile)
        else:
            self._run_as_written()
        for mode in (self.operations, self._calls):
            mode.__enter__()

    def __exit__(self, *error: Any) -> None:
        for mode in (self._calls, self.operations):
            mode.__exit__(*error)
        if self._compile is not None:
            self._compile, torch.compile = None, self._compile
        if self._stance is not None:
            self._stance.__exit__(*error)
        for handle in self._handles:
            handle.remove()
        self.tell((), last=True)
        self.end_clearing()
        self.close()

    def _run_as_written(self) -> None:
        """Run compiled functions uncompiled, operation by operation."""
        self._stance = torch.compiler.set_stance("force_eager")
        self._stance.__enter__()

    def _compiling(self, original: Any) -> Any:
        """Return a `torch.compile` for a block that began before the compiler was loaded. The setting must be made
        before the first compiled call, or the function would stay uncompiled after the block."""

        @functools.wraps(original)
        def compile(*args: Any, **kwargs: Any) -> Any:
            compiled = original(
                *args, **kwargs
            )  # of an enclosing block, which applies the setting first and removes it last
            if (
                self._stance is None and self._compile is not None
            ):  # a reference to this function may outlive the block
                self._run_as_written()
            return compiled

        return compile

    def lost(self, event: str, args: tuple[Any, ...], error: Exception) -> None:
        """Note that the recorder could not follow an event."""
        self.recording.lost(event, args, error)

    # -- operations --------------------------------------------------------------------------------
    @quietly()
    def tell(self, seen: Any, last: bool = False) -> None:
        """Report the operations whose results have their grad_fn by now; `seen`: tensors that may hold it. With `last`,
        the call is over."""
        queue, self.queue = self.queue, []
        around = tensors_in(seen) if queue or self.custom is not None else []
        if self.custom is not None and not self.custom.runs():
            custom, self.custom = self.custom, None
            custom.tell(self.recording, around)
        for i, operation in enumerate(queue):
            if operation.place(queue[i + 1 :], around):
                self._tell(operation)
            elif not last:
                self.queue.append(operation)

    @guarded()
    def _tell(self, operation: _Operation) -> None:
        schema, results = operation.schema, operation.results
        if operation.is_inside_a_script():
            self._warn_once(SCRIPTED)
            return
        self.told = operation.scope
        reader = self.recording.reader
        node = None
        for result in results if operation.enabled or schema.in_place else ():
            if (node := history(result)) is not None:
                break
        if node is not None and not schema.in_place and self.recording.knows(node):
            return
        if schema.in_place and operation.enabled and results[0]._base is not None:
            node = None  # a view whose history is its base's is reported with the base
        record = (
            schema.record
            if node is None or schema.in_place and not operation.enabled
            else reader.op(node) or schema.record
        )
        call = Call(schema, operation.arguments, record)
        outputs = call.record.outputs if call.record is not None else ()
        if call.record is not None and not call.record.variadic:
            results = results[: max(1, len(outputs))]
        self.recording.forward(
            call,
            call.args(),
            None,
            tuple(results),
            node if operation.enabled else None,
            schema.in_place,
        )
        self.told = None

    def is_arithmetic(self, func: Any) -> bool:
        """Return whether an operation belongs to a backward rule, with no operation left to report. Holding its result
        would prevent it from becoming a leaf's `.grad` unchanged."""
        if self.queue or self.custom is not None or torch.is_grad_enabled():
            return False
        schema = schema_of(func)
        return schema is not None and not schema.changes

    @guarded()
    def begins(self, func: Any, args: Any, kwargs: dict[str, Any]) -> _Running | None:
        """Return the operation about to run; None if it is not recorded."""
        if compiler._is_compiling_flag and self.exports():
            return None
        schema, on = schema_of(func), torch.is_grad_enabled()
        if schema is None:
            self._warn_once(HIGHER)  # no mode is active inside it
            return _Running(None, {}, on)
        if schema.silent and not schema.writes:
            return None  # detach: the operation before may just be saving its result
        if self.steps and stack.in_optimizer():
            self.will_change(schema.changed(args, kwargs))
            return None
        if self.queue or self.custom is not None:
            self.tell(args)
        inside = self.passes and not on
        if inside and not schema.changes:
            return None
        if schema.changes:
            self.before_change(schema, args, kwargs)
        return None if inside else _Running(schema, schema.named(args, kwargs), on)

    @quietly()
    def ran(self, running: _Running, result: Any) -> None:
        """Note that an operation returned its result."""
        schema, arguments, on = running
        results, given = tensors_in(result), tensors_in(arguments)
        if schema is None:
            if not on:
                self.in_function(results)
        elif any(map(is_transformed, results or given)):
            self.meet_transform()
        elif (on or not self.in_function(results)) and results and given and not schema.silent:
            wanted = True in [t.requires_grad for t in given]
            self.queue.append(_Operation(schema, arguments, results, on, wanted, self.scope))

    @quietly()
    def meet_transform(self) -> None:
        """Say, once, that a torch.func transform is not recorded."""
        self._warn_once(TRANSFORM)

    def exports(self) -> bool:
        """Say once that torch.export is tracing, unless it is torch.compile that traces."""
        if not torch.compiler.is_dynamo_compiling():  # which would trace this code as well
            self._warn_once(EXPORT)
        return True

    def _warn_once(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            warn(message, stack.at("torch", False, []).frame)

    @quietly()
    def before_change(self, schema: Schema, args: Any, kwargs: dict[str, Any]) -> None:
        if schema.name in ("zero", "_foreach_zero_"):
            self._meet_clearing()
        self.will_change(schema.changed(args, kwargs))

    @quietly()
    def will_change(self, changed: list[tuple[Any, bool]]) -> None:
        """Note that these tensors' memory is about to change; their versions may or may not show it."""
        for item, counted in changed:
            for tensor in tensors_in(item):
                self.recording.reader.snapshots.before_change(tensor, counted)

    @quietly()
    def failed(self, running: _Running, error: BaseException) -> None:
        schema, arguments, _ = running
        if schema is None:
            return
        call = Call(schema, arguments, schema.record)
        self.recording.failed(call, call.args(), error, schema.in_place)

    @quietly()
    def refused(self, name: str, args: Any, kwargs: dict[str, Any], error: BaseException) -> None:
        """Note that a call failed, perhaps before any of its operations ran."""
        if self.queue:
            self.tell((), last=True)
        if getattr(error, "_autolab_seen", None) is None:
            self.recording.failed(
                name, {f"argument {i + 1}": a for i, a in enumerate(args)} | kwargs, error
            )

    @quietly(False)
    def in_function(self, results: list[Any]) -> bool:
        """Return whether the last operation belongs to a custom function's forward, which is shown as one operation."""
        frame = stack.custom_function()
        if frame is None:
            return False
        if self.custom is None or not self.custom.runs():
            self.tell(())
            self.custom = _Custom(frame, self.running_modules())
        self.custom.results += results
        return True

    # -- attributes --------------------------------------------------------------------------------
    @quietly()
    def before(self, name: str, func: Any, args: Any) -> None:
        if name in _SHARED:
            snapshots = self.recording.reader.snapshots
            for tensor in tensors_in(args):
                snapshots.before_change(tensor, False)
        else:
            self._meet_clearing()

    def _meet_clearing(self) -> None:
        if (owner := stack.clearing()) is not self.clearing:
            self.end_clearing()
            self.clearing = owner
            if owner is not None:
                self.recording.zero_grad(owner, False)

    @quietly()
    def end_clearing(self) -> None:
        owner, self.clearing = self.clearing, None
        if owner is not None:
            self.recording.zero_grad(owner, True)

    @quietly()
    def left_graph(self, name: str, args: Any, result: Any) -> None:
        if not any(map(is_transformed, (args[0], result))):
            self.recording.detached(args[0], result, name)

    @quietly()
    def assigned(self, func: Any, args: Any) -> None:
        what = getattr(getattr(func, "__self__", None), "__name__", "")
        if what == "grad":
            self.recording.grad_set(args[0])
        elif what == "data" and len(args) > 1:
            self.recording.reader.snapshots.forget(args[0])
            self.recording.data_set(args[0], args[1])

    def is_alone(self) -> bool:
        """Return whether no mode but the recording's own watches; called while a function runs."""
        return (
            torch._C._len_torch_dispatch_stack() == 1 and not torch._C._len_torch_function_stack()
        )

    # -- passes ------------------------------------------------------------------------------------
    def backward(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run `func`, a call that runs a backward pass."""
        watched = self._pass(func, args, kwargs)
        return func(*args, **kwargs) if watched is None else watched.run()

    @quietly()
    def _pass(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Pass | None:
        """Return the pass that begins; None if a transform runs it."""
        self.end_clearing()
        watched = Pass(self, func, args, kwargs)
        if kwargs.get("is_grads_batched") or any(map(is_transformed, watched.tensors())):
            self.meet_transform()
            return None
        return watched

    # -- modules -----------------------------------------------------------------------------------
    def running_modules(self) -> list[Any]:
        """Return the modules whose forward is running, outermost last."""
        return [module for module, _ in reversed(self.modules)]

    @property
    def scope(self) -> Any:
        """Return the module call in which the reported operation ran."""
        return self.told or (self.modules[-1][1] if self.modules else None)

    @guarded()
    def _module_begins(self, module: Any, args: Any) -> None:
        if torch.compiler.is_compiling():
            return
        caller, around = self.modules[-1] if self.modules else (None, None)
        name = "" if caller is None else self._name_in(caller, module)
        self.modules.append((module, (around, name, type(module).__name__, module.training)))

    @guarded()
    def _module_ends(self, module: Any, args: Any, output: Any) -> None:
        while self.modules and not torch.compiler.is_compiling():
            if self.modules.pop()[0] is module:
                return

    def _name_in(self, caller: Any, module: Any) -> str:
        _, paths = self._names.setdefault(id(caller), (caller, {}))
        if id(module) not in paths:  # usually a direct submodule; else one in a list, or deeper
            near = {id(part): name for name, part in caller.named_children()}
            paths |= (
                near
                if id(module) in near
                else {id(part): name for name, part in caller.named_modules() if name}
            )
            paths.setdefault(id(module), type(module).__name__)
        return paths[id(module)]

    # -- optimizers --------------------------------------------------------------------------------
    def in_step(self, name: str, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run a call of an optimizer's own arithmetic. It is reported as one update per parameter; operations inside
        are not."""
        Silence.on = True
        try:
            return func(*args, **kwargs)
        except Exception as error:
            self.refused(name, args, kwargs, error)
            raise
        finally:
            Silence.on = False

    @quietly()
    def _step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.steps += 1
        self.tell((), last=True)
        self.end_clearing()
        self.recording.step(optimizer, False)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                self.recording.update(optimizer, group, parameter, False)

    @quietly()
    def _step_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.steps -= 1
        self.queue.clear()
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self.recording.update(optimizer, group, parameter, True)
        self.recording.step(optimizer, True)

    def close(self) -> None:
        self._names.clear()
        self.custom = None
        self.modules.clear()
