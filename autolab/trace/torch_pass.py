"""Watch one backward pass of PyTorch through hooks on its nodes; PyTorch computes it, and nothing is computed twice."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

import torch

from .torch_calls import tensors_in
from .torch_silence import Silence, quietly
from .torch_snapshots import PLAIN

if TYPE_CHECKING:
    from .torch_events import Events


class Pass:
    """A running call of `backward()` or `autograd.grad()`."""

    def __init__(self, events: Events, func: Any, args: Any, kwargs: dict[str, Any]) -> None:
        self.events, self.func, self.args, self.kwargs = events, func, args, kwargs
        self.recording = events.recording
        self.returns = func is torch.autograd.grad
        names = _NAMES[func]
        given = dict(zip(names, args)) | kwargs
        self.roots = tensors_in(given.get(names[0]))
        seeds = given.get("grad_outputs" if self.returns else names[1])
        self.seeds = list(seeds) if isinstance(seeds, (list, tuple)) else [seeds] * len(self.roots)
        inputs = given.get("inputs")
        self.inputs = None if inputs is None else tensors_in(inputs)
        self.create = create = bool(given.get("create_graph"))
        retain = given.get("retain_graph")
        self.retain = create if retain is None else bool(retain)
        self.handles: list[Any] = []
        self.began = self.is_hooked = self.is_older = False
        # gradients that arrived at a leaf, until they are accumulated
        self.arrived: dict[int, Any] = {}
        self.nodes: dict[Any, None] = {}

    def tensors(self) -> list[Any]:
        """Return the tensors that the call was given."""
        return [*self.roots, *(self.inputs or ()), *(g for g in self.seeds if g is not None)]

    def lost(self, event: str, args: tuple[Any, ...], error: Exception) -> None:
        """Note that the recorder could not follow this pass."""
        self.recording.lost("backward_begin", args, error)

    def run(self) -> Any:
        """Run the call, watched, and raise what it raises."""
        self.events.passes += 1
        self._start()
        # rules of PyTorch alone: nothing that they compute is an event
        silence = Silence() if self.began and self._is_plain() else contextlib.nullcontext()
        try:
            with silence:
                result = self.func(*self.args, **self.kwargs)
        except BaseException as error:  # even after an interrupt, the hooks must be removed
            self._end(error)
            raise
        self._end(None, result)
        return result

    @quietly()
    def _start(self) -> None:
        self.events.tell(self.roots, last=True)
        if self._can_begin():
            self._begin()

    def _can_begin(self) -> bool:
        """Return whether PyTorch will accept the call; if not, PyTorch raises the reason."""
        if not self.roots or len(self.seeds) != len(self.roots):
            return False
        facts = self.recording.reader.facts
        fits = (
            facts(g).shape == facts(t).shape if g is not None else t.numel() == 1
            for t, g in zip(self.roots, self.seeds)
        )
        return (
            all(t.requires_grad for t in self.roots)
            and all(fits)
            and all(t.requires_grad for t in self.inputs or ())
        )

    def _is_plain(self) -> bool:
        """Return whether only PyTorch's own rules run in the pass: no hook of the learner's, no custom function, no
        operation of a graph, and no other mode that watches."""
        events = self.events
        return (
            not (self.create or self.is_hooked or self.is_older or events.registered or packs())
            and events.is_alone()
            and not any(self._is_strange(fn) for fn in self.nodes)
        )

    def _is_strange(self, fn: Any) -> bool:
        """Return whether a node may run Python code: a custom function, or the learner's hooks."""
        if hasattr(fn, "variable"):
            leaf = fn.variable
            return type(leaf) not in PLAIN or bool(leaf._backward_hooks)
        return (
            isinstance(fn, torch.autograd.function.BackwardCFunction)
            or self.recording.reader.packed in fn.metadata
        )

    def _begin(self) -> None:
        pairs = [(_node(t), t.output_nr) for t in self.roots]
        wanted = None if self.inputs is None else {_node(t) for t in self.inputs}
        self.nodes = dict.fromkeys(_reached([fn for fn, _ in pairs], wanted))
        self.began = True
        self.is_older = not all(
            self.recording.knows(fn) for fn in self.nodes if not hasattr(fn, "variable")
        )
        self.recording.backward_begin(pairs, self.nodes.keys(), wanted, self.returns)
        for (fn, nr), tensor, grad in zip(pairs, self.roots, self.seeds):
            if fn in self.nodes:
                self.recording.seed(
                    fn,
                    nr,
                    torch.ones_like(tensor, requires_grad=False).detach() if grad is None else grad,
                )
        for fn in self.nodes:
            if hasattr(fn, "variable"):
                if not self.returns:
                    self.handles.append(fn.register_prehook(functools.partial(self._leaf, fn)))
                    self.handles.append(
                        fn.variable.register_post_accumulate_grad_hook(self._accumulated)
                    )
            else:
                before = fn.register_prehook(functools.partial(self._before, fn))
                after = fn.register_hook(functools.partial(self._after, fn))
                self.handles += before, after
                if not _are_ours(after):
                    self.recording.reader.with_hooks.add(fn)
                self.is_hooked |= not (_are_ours(after) and _are_ours(before))

    # -- hooks: they return None, because a returned value would replace gradients -------------------
    @quietly()
    def _before(self, fn: Any, grads: Any) -> None:
        if any(g is not None for g in grads):
            self.recording.before_node(fn, grads)

    @quietly()
    def _after(self, fn: Any, results: Any, grads: Any) -> None:
        recording = self.recording
        self.events.tell(results)  # with create_graph, the rule itself consists of operations
        reached = any(g is not None for g in grads)
        if reached:
            recording.after_node(fn, results)
        for slot, ((target, nr), grad) in enumerate(zip(fn.next_functions, results)):
            if grad is not None and target in self.nodes:
                recording.contribution(fn, slot, target, nr, grad)
        if reached and not self.retain:
            recording.free(fn)

    @quietly()
    def _leaf(self, fn: Any, grads: Any) -> None:
        self.arrived[id(fn.variable)] = (
            None if grads[0] is None else grads[0].detach()
        )  # a custom function may return no gradient

    @quietly()
    def _accumulated(self, leaf: Any) -> None:
        grad = self.arrived.pop(id(leaf), leaf.grad)
        if grad is not None:
            self.recording.accumulate(leaf, grad, leaf.grad)

    @quietly()
    def _end(self, error: BaseException | None, result: Any = None) -> None:
        for handle in self.handles:
            handle.remove()
        self.events.passes -= 1
        self.events.tell(result, last=True)
        recording = self.recording
        if self.began:
            recording.backward_end(error)
            if self.returns and error is None:
                targets = [(_node(t), t.output_nr) for t in self.inputs or ()]
                recording.returned(targets, tensors_in_order(result))
        elif error is not None:
            recording.failed("grad" if self.returns else "backward", {"tensors": self.roots}, error)
        self.nodes.clear()


def _are_ours(handle: Any) -> bool:
    """Return whether a node has only hooks of a recording."""
    return all(
        isinstance(hook, functools.partial)
        and isinstance(getattr(hook.func, "__self__", None), Pass)
        for hook in handle.hooks_dict_ref().values()
    )


_NAMES = {
    torch.Tensor.backward: ("self", "gradient", "retain_graph", "create_graph", "inputs"),
    torch.autograd.backward: (
        "tensors",
        "grad_tensors",
        "retain_graph",
        "create_graph",
        "grad_variables",
        "inputs",
    ),
    torch.autograd.grad: ("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph"),
}


def packs() -> bool:
    """Return whether hooks pack what is saved now (`saved_tensors_hooks`, checkpointing): reading it would call
    them."""
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None


def tensors_in_order(result: Any) -> list[Any]:
    """Return the returned gradients in order; None for a missing one."""
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _node(tensor: Any) -> Any:
    """Return the node that receives a gradient of `tensor`; for a leaf, its AccumulateGrad."""
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    return torch.autograd.graph.get_gradient_edge(tensor).node


def _reached(roots: list[Any], wanted: set[Any] | None) -> list[Any]:
    """Return the nodes that a pass from `roots` runs: all that lead to a leaf, or those on a path to `wanted`."""
    found = dict.fromkeys(roots)
    todo = list(found)
    order = []
    while todo:
        fn = todo.pop()
        order.append(fn)
        for target, _ in fn.next_functions:
            if target is not None and target not in found:
                found[target] = None
                todo.append(target)
    if wanted is None:
        return order
    parents: dict[Any, list[Any]] = {}
    for fn in order:
        for target, _ in fn.next_functions:
            if target is not None:
                parents.setdefault(target, []).append(fn)
    needed = dict.fromkeys(fn for fn in order if fn in wanted)
    todo = list(needed)
    while todo:
        for fn in parents.get(todo.pop(), ()):
            if fn not in needed:
                needed[fn] = None
                todo.append(fn)
    return list(needed)
