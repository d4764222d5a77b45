"""Causes in the learner's program rather than its graph: a `.grad` that is None, layers in a plain list, two libraries,
an optimizer that is older than its parameters' device."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from .. import names
from ..guard import attempt
from ..model import Trace
from ..reader import is_tensor
from .backward import line
from .expressions import Place

_OF_NONE = re.compile(r"'NoneType'|\bNone\b")


def causes(error: BaseException, place: Place | None, trace: Trace | None) -> list[str]:
    """Return the cause of an error and what to change; [] if none of these causes applies.

    place: the learner's line. trace: the recording's trace, None without a recording."""
    for find in (
        _missing_gradient,
        _two_libraries,
        _old_optimizer,
        _held_result,
        _plain_list,
        _too_few_gradients,
        _hooked,
    ):
        found: Any = attempt(lambda find=find: find(error, place, trace), [])  # type: ignore[misc]
        if found:
            return found
    return []


def _missing_gradient(error: BaseException, place: Place | None, trace: Trace | None) -> list[str]:
    if place is None or place.node is None or not isinstance(error, (TypeError, AttributeError)):
        return []
    if not _OF_NONE.search(str(error)):
        return []
    for part in ast.walk(place.node):
        if isinstance(part, ast.Attribute) and part.attr == "grad":
            tensor = place.value(part.value)
            if is_tensor(tensor) and _gradient(tensor) is None:
                return _why_none(place, place.written(part.value), part.value, tensor, trace)
    return []


def _gradient(tensor: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns about results
        return tensor.grad


def _why_none(place: Place, name: str, node: Any, tensor: Any, trace: Trace | None) -> list[str]:
    if not tensor.requires_grad:
        return [
            f"{name}.grad is None: {name} does not require grad.",
            f"Write {name}.requires_grad_() before the forward pass if it should get a gradient.",
        ]
    if not tensor.is_leaf:
        made = place.assigned(node.id, place.line + 1) if isinstance(node, ast.Name) else None
        where = "" if made is None else line(place.source(made[0]))
        itself = made is not None and any(
            isinstance(p, ast.Name) and p.id == name for p in ast.walk(made[1])
        )
        text = f"{name}.grad is None: {name} is the result of an operation{where}, not a leaf, and only leaves keep their gradient."
        if itself:
            return [
                text,
                f"Change the leaf in place instead, inside no_grad: `with torch.no_grad(): {name} -= ...`.",
            ]
        return [text, f"Call {name}.retain_grad() before backward() to keep it."]
    if trace is not None:
        cleared = next(
            (
                f
                for f in reversed(trace.frames)
                if f.event == "clear" and trace.node(f.node).name == name
            ),
            None,
        )
        arrived = next(
            (
                f
                for f in reversed(trace.frames)
                if f.event == "accumulate" and trace.node(f.node).name == name
            ),
            None,
        )
        if cleared is not None and (arrived is None or arrived.index < cleared.index):
            return [
                f"{name}.grad is None: {cleared.text.replace(': ', ' ', 1) if ': ' in cleared.text else cleared.text}.",
                "Read a gradient after backward() and before zero_grad(); zero_grad(set_to_none=False) leaves zeros.",
            ]
        if not trace.passes:
            return [
                f"{name}.grad is None: backward() has not run yet.",
                f"Call backward() on a loss that {name} was used for first.",
            ]
        return [
            f"{name}.grad is None: {name} was not used for any result that backward() started from.",
            f"Use it in the forward pass, or leave it out: `if {name}.grad is not None`.",
        ]
    return [
        f"{name}.grad is None: since it was made or zero_grad() was called, no backward() has reached {name}.",
        f"Call backward() first; if it ran, the loss was not computed from {name}.",
    ]


def _two_libraries(error: BaseException, place: Place | None, trace: Trace | None) -> list[str]:
    found = re.search(r"argument '?(\w+)'?.* must be .*Tensor.*, not .*Tensor", str(error))
    if not isinstance(error, TypeError) or not found:
        return []
    return [
        f"`{found[1]}` is a tensor of another library: PyTorch and autolab each have tensors of their own.",
        "Import one library in all cells: `import torch`, or `import autolab as torch`.",
    ]


def _is_module(item: Any) -> bool:
    return hasattr(type(item), "named_modules")


def _entries(error: BaseException) -> Iterator[TracebackType]:
    entry = error.__traceback__
    while entry is not None:
        yield entry
        entry = entry.tb_next


def _old_optimizer(error: BaseException, place: Place | None, trace: Trace | None) -> list[str]:
    for entry in _entries(error):
        optimizer = names.local_names(entry.tb_frame).get("self")
        if optimizer is None or not hasattr(type(optimizer), "add_param_group"):
            continue
        held = getattr(optimizer, "state", None)  # None if its __init__ raised
        for parameter, state in (held or {}).items():
            for name, kept in state.items() if is_tensor(parameter) else ():
                if is_tensor(kept) and kept.numel() == parameter.numel() > 0:
                    for of, change in (("device", "to"), ("dtype", "double() or .half")):
                        old, new = getattr(kept, of), getattr(parameter, of)
                        if old != new:
                            return [
                                f"The optimizer keeps `{name}` on {old}, and its parameter is on {new} now."
                                if of == "device"
                                else f"The optimizer keeps `{name}` as {old}, and its parameter is {new} now.",
                                f"Make the optimizer after .{change}(), not before: it keeps tensors like its parameters.",
                            ]
    return []


def _held_result(error: BaseException, place: Place | None, trace: Trace | None) -> list[str]:
    if (
        "support the deepcopy protocol" not in str(error)
        or place is None
        or not isinstance(place.node, ast.Call)
    ):
        return []
    for argument in place.node.args:
        owner, name = place.value(argument), place.written(argument)
        for path in _results(owner, name):
            return [
                f"{path} is the result of an operation, and only leaves can be copied{line(place.source(place.node))}.",
                f"Keep its numbers instead: {path} = {path}.detach(), or delete it before the copy.",
            ]
    return []


def _results(owner: Any, name: str) -> Iterator[str]:
    modules = owner.named_modules() if _is_module(owner) else [("", owner)]
    for path, module in modules:
        for key, item in getattr(module, "__dict__", {}).items():
            if is_tensor(item) and not item.is_leaf:
                yield ".".join(p for p in (name, path, key) if p)


def _plain_list(error: BaseException, place: Place | None, trace: Trace | None) -> list[str]:
    if "empty parameter list" not in str(error) or place is None or place.node is None:
        return []
    for part in ast.walk(place.node):
        owner = place.value(part)
        for module in owner.modules() if _is_module(owner) else ():
            for key, item in vars(module).items():
                items = list(item.values()) if isinstance(item, dict) else item
                if (
                    not key.startswith("_")
                    and isinstance(items, (list, tuple))
                    and any(hasattr(i, "parameters") for i in items)
                ):
                    kind = "dict" if isinstance(item, dict) else type(item).__name__
                    better = "nn.ModuleDict" if kind == "dict" else "nn.ModuleList"
                    return [
                        f"{place.written(part)}.{key} is a plain {kind} with {len(items)} module{'s' * (len(items) != 1)}, and "
                        f"parameters() does not look into it{line(place.source(part))}.",
                        f"Use {better} there.",
                    ]
    return []


def _too_few_gradients(error: BaseException, place: Place | None, trace: Trace | None) -> list[str]:
    found = re.search(
        r"function (\w+?)(Backward)? returned an incorrect number of gradients", str(error)
    )
    kind = _function(found[1]) if found else None
    code = getattr(getattr(kind, "backward", None), "__code__", None)
    if code is None or kind is None:
        return []
    label = names.file_label(code.co_filename)
    return [
        f"{kind.__name__}.backward ({label}, line {code.co_firstlineno}) returned a wrong number of gradients."
    ]


def _function(name: str) -> Any:
    """Return the custom function with this name; the newest if there are several."""
    todo = [
        f
        for lib in ("torch", "autolab")
        if (f := getattr(getattr(sys.modules.get(lib), "autograd", None), "Function", None))
    ]
    found = None
    for kind in todo:
        for sub in kind.__subclasses__():
            todo.append(sub)
            found = sub if sub.__name__ == name else found
    return found


def _hooked(error: BaseException, place: Place | None, trace: Trace | None) -> list[str]:
    if not re.search(r"BackwardHookFunction(Backward)? is a view", str(error)) or place is None:
        return []
    for owner in place.frame.f_locals.values():
        for path, module in owner.named_modules() if _is_module(owner) else ():
            if getattr(module, "_backward_hooks", None):
                return [
                    f"The full backward hook on {path or type(module).__name__} wraps its result, and the next operation changes it in place."
                ]
    return []
