"""Trace a result: its grad_fn graph, and a dry run of the backward pass.

Works for autolab tensors and, through the same public attributes, for real torch tensors."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..engine.core.errors import fail
from . import names, recompute, scopes
from .errors import failures
from .build import Builder
from .model import Trace
from .passes import REENTRANT
from .reader import is_tensor, reader_for

NO_GRAD = "There is no backward pass: no operand requires grad, or the graph was cut by detach() or no_grad()."
RERUN = (
    "No backward pass is shown: checkpoint(use_reentrant=True) ran its part under no_grad, and backward() runs it again and goes back through it "
    "on its own, which would change .grad. With use_reentrant=False its operations are in the graph."
)
REHEARSED = (
    "Rehearsed: this is what backward() would do now; no .grad was changed and nothing was freed."
)


def trace(
    root: Any,
    params: Mapping[str, Any] | None = None,
    *,
    namespace: Mapping[str, Any] | None = None,
    gradient: Any = None,
    backward: bool = True,
    values: bool = True,
    formulas: bool = True,
) -> Trace:
    """Return the trace of the computation that led to `root`.

    root      : a tensor of autolab or torch, or a list, tuple, dict or dataclass of them, whose keys name them.
    params : names for tensors, like `dict(model.named_parameters())`; they win over variable names.
    namespace : where variable names are looked up; default: the variables of the code that called, and the notebook's.
    gradient  : for results of more than one number, the gradient that backward() is given (a list for several roots).
    backward  : add the steps: the forward pass, and a rehearsal of the backward pass (`.grad` stays as it is);
                if that is not possible, `meta["why"]` says why.
    values, formulas : keep numbers, write formulas; without, a picture of a big graph is made sooner.

    Raises TypeError when `root` is not a tensor or tensors, or they come from different libraries.

    Example:

        >>> x = torch.tensor(3., requires_grad=True)
        >>> for frame in torch.trace.trace(x * x).frames[:3]:
        ...     print(frame.text)
        v1 = x * x = 9
        backward would start: the gradient of v1 with respect to itself is 1
        v1 would send 3 to x (contribution 1 of 2, so far 3)
    """
    found = results(root, "root")
    roots = [tensor for _, tensor in found]
    reader = _one_reader(roots)
    with uncollected(), _told_when_done(reader, roots):
        builder = Builder(reader, values=values, formulas=formulas)
        builder.graph([t.grad_fn for t in roots if t.grad_fn is not None])
        ids = [builder.root(t) for t in roots]
        if namespace is None:
            namespace = names.namespace(names.caller())
        keyed = [(name, tensor) for name, tensor in found if name]
        for name, tensor in [*keyed, *_named(params, namespace)]:
            if reader_for(tensor).library == reader.library:
                builder.name(name, tensor)
        if reader.library == "torch":
            scopes.from_names(builder.nodes, scopes.module_types(namespace, builder.nodes))
        meta: dict[str, Any] = {
            "library": reader.library,
            "source": "graph",
            "roots": list(dict.fromkeys(ids)),
            "backward": "",
            "why": "",
            "error": None,
        }
        changed = recompute.fill(builder)
        meta |= {"changed": changed} if changed else {}
        if backward:
            for draft in (d for d in builder.nodes if d.kind == "op"):
                builder.film.computed(draft)
            meta["backward"], meta["why"] = _rehearse(builder, roots, gradient, namespace)
        return builder.finish(meta)


def _one_reader(roots: list[Any]) -> Any:
    """Return the reader for the roots' library. Raises TypeError if they come from two libraries."""
    reader = reader_for(roots[0])
    for other in roots[1:]:
        if reader_for(other).library != reader.library:
            raise TypeError("the roots of one trace must be tensors of one library")
    return reader


@contextmanager
def _told_when_done(reader: Any, roots: list[Any]):
    """Tell the reader that the graph is not needed any more when the block ends, even by an error."""
    try:
        yield
    finally:
        reader.done(roots)


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause Python's garbage collector: a big graph makes a million objects that all stay alive, and checking them
    repeatedly would take half of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if (
                not gc.get_freeze_count()
            ):  # new objects now count as old, so they are not checked at once
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def results(given: Any, argument: str, also: str = "") -> list[tuple[str, Any]]:
    """Return the tensors in an argument, with the keys and fields that name them. Raises TypeError if there is none,
    and for other objects; `also`: what else the caller accepts."""
    found, other = [], []
    todo: list[tuple[str, Any]] = [("", given)]
    for name, item in todo:
        if is_tensor(item):
            found.append((name, item))
        elif isinstance(item, Mapping):
            todo += [(str(key), part) for key, part in item.items()]
        elif dataclasses.is_dataclass(item) and not isinstance(item, type):
            todo += [(f.name, getattr(item, f.name)) for f in dataclasses.fields(item)]
        elif isinstance(item, Sequence) and not isinstance(item, str):
            todo += zip(getattr(item, "_fields", [""] * len(item)), item)
        elif item is not None or item is given:
            other.append(type(item).__name__)
    if other or not found:
        wrong = other[0] if other else f"an empty {type(given).__name__}"
        inside = (
            f" in a {type(given).__name__}" if other and other[0] != type(given).__name__ else ""
        )
        raise fail(
            TypeError,
            f"{argument} must be a tensor, {'' if also else 'or '}a list, tuple or dict of tensors{also}, got {wrong}{inside}",
            "A graph belongs to a result: pass what was computed, such as model(x) or the loss, not the model or a number.",
        )
    return found


def tensors(given: Any, argument: str, also: str = "") -> list[Any]:
    """Return the tensors in an argument."""
    return [tensor for _, tensor in results(given, argument, also)]


def _named(params: Mapping[str, Any] | None, namespace: Mapping[str, Any]):
    for name, tensor in (params or {}).items():
        if not is_tensor(tensor):
            raise TypeError(f"params[{name!r}] must be a tensor, got {type(tensor).__name__}")
        yield name, tensor
    yield from names.tensors(namespace)


def _rehearse(
    builder: Builder, roots: list[Any], gradient: Any, namespace: Mapping[str, Any]
) -> tuple[str, str]:
    """Add the backward frames of a dry run. Return two entries for `meta`: ("dry", ...) or ("", the reason why not)."""
    if not any(t.requires_grad for t in roots):
        return "", NO_GRAD
    if any(draft.grad_fn == REENTRANT for draft in builder.nodes):
        return "", RERUN
    given = (
        list(gradient)
        if isinstance(gradient, (list, tuple))
        else [gradient] * (1 if len(roots) == 1 else 0)
    )
    given = given or [None] * len(roots)
    if len(given) != len(roots):
        raise ValueError(f"gradient must have one entry per root: {len(roots)}, not {len(given)}")
    pairs = [(t, g) for t, g in zip(roots, given) if t.requires_grad]
    film = builder.film
    shots = len(film.shots)
    try:
        seeds = [builder.reader.seed(t, g) for t, g in pairs]
        film.rehearsal = True
        builder.reader.replay([t for t, _ in pairs], seeds, film)
    except ValueError as error:
        if gradient is not None:
            raise
        return "", f"No backward pass is shown: {error}."
    except Exception as error:  # raised by a rule or by a hook of the learner's
        del film.shots[shots:]
        fn = failures.running_node(error)
        if fn is not None:  # which node saved the changed value, and which changed it
            known = failures.Failures(builder)
            known.meet_changers(fn, namespace)
            known.in_pass(builder.by_fn.get(fn), fn, error)
        return "", _refusal(error)
    return "dry", REHEARSED + builder.reader.left_out


def _refusal(error: Exception) -> str:
    text = str(error)
    if "backward through the graph a second time" in text:
        return (
            "No backward pass is shown: backward() already ran on this graph and freed the values it had saved. "
            "Explore the result before backward(), keep the values with backward(retain_graph=True), or record the "
            "code with `with autolab.record():`."
        )
    if "modified by an inplace operation" in text:
        return f"No backward pass is shown: a value that a gradient needs was changed in place. PyTorch says: {text}"
    return f"No backward pass is shown: it fails with {type(error).__name__}: {text}"
