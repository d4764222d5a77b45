"""Modules as functions of their parameters: `functional_call`, `stack_module_state`.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.func.functional_call.html"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..engine.core.errors import fail
from ..engine.ops.functions import NAMESPACES
from ..engine.core.tensor import Tensor

if TYPE_CHECKING:
    from ..nn.modules.module import Module

_MISSING = object()


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)` with other tensors in the place of its parameters and buffers; the module is left as it
    was.

    parameter_and_buffer_dicts: name ("0.weight") -> tensor, or several such dicts; what is not named stays. args: a
    tuple, or the only argument. tie_weights: a tensor that the module knows under two names is replaced under both.
    strict: raise unless exactly the module's names are given. What `forward` changes in place or replaces (batch norm's
    running mean) is changed in the dict. Raises ValueError for a name in two dicts, RuntimeError for wrong names
    (strict), AttributeError for a module that is not there. Source: torch.func.functional_call."""
    state = _one_dict(parameter_and_buffer_dicts)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, state, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def _one_dict(dicts):
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        message = f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        raise fail(ValueError, message, "dict(model.named_parameters()) is one.")
    if not all(isinstance(d, dict) for d in dicts):
        message = "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
        raise fail(
            ValueError,
            message,
            "(dict(model.named_parameters()), dict(model.named_buffers())) are two.",
        )
    repeated = [name for name, n in Counter(name for d in dicts for name in d).items() if n > 1]
    if repeated:
        message = f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        raise fail(ValueError, message, "Name each tensor in one of the dicts.")
    return {name: t for d in dicts for name, t in d.items()}


def _names(module):
    """All names of parameters and buffers -> tensor, tied ones too."""
    return dict(module.named_parameters(remove_duplicate=False)) | dict(
        module.named_buffers(remove_duplicate=False)
    )


def _untied(module, state):
    """`state`, and every other name of a tensor that has several."""
    by_tensor: dict = {}
    for name, t in _names(module).items():
        by_tensor.setdefault(id(t), set()).add(name)
    full = dict(state)
    for names in by_tensor.values():
        named = names & state.keys()
        if len(names) < 2 or not named:
            continue
        if len(named) > 1 and len({id(state[name]) for name in named}) != 1:
            message = f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using tie_weights=False"
            raise fail(ValueError, message, "The module knows one tensor under several names.")
        value = state[min(named)]
        full.update((name, value) for name in names)
    return full


@contextlib.contextmanager
def _replaced(module, state, tie_weights, strict):
    tensors = _untied(module, state) if tie_weights else state
    if strict:
        _check_names(module, tensors)
    before: dict = {}
    try:
        for name, t in tensors.items():
            before[name] = _swap(module, name, t)
        yield
    finally:
        after = {name: _swap(module, name, t) for name, t in before.items()}
        state.update((name, after[name]) for name in state if name in after)


def _check_names(module, tensors):
    known = _names(module).keys()
    unexpected, missing = sorted(tensors.keys() - known), sorted(known - tensors.keys())
    lines = [
        f"{what} key(s): {', '.join(map(repr, names))}."
        for what, names in (("Unexpected", unexpected), ("Missing", missing))
        if names
    ]
    if lines:
        message = f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(
            lines
        )
        raise fail(
            RuntimeError,
            message,
            "strict=True asks for exactly the names of named_parameters() and named_buffers().",
        )


def _swap(module, path, tensor):
    """Puts `tensor` where `path` names one, and returns what was there (_MISSING: nothing)."""
    *parents, name = path.split(".")
    for parent in parents:
        owner = module
        module = getattr(owner, parent, None)
        if not hasattr(module, "_parameters"):
            message = f"{type(owner).__name__} has no attribute `{parent}`"
            raise fail(
                AttributeError,
                message,
                "Names are those of named_parameters() and named_buffers().",
            )
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise fail(
            TypeError,
            f"{tensor} is not an instance of torch.Tensor",
            "Parameters and buffers are tensors.",
        )
    for place in (module._parameters, module._buffers):
        if name in place:
            before = place[name]
            if tensor is _MISSING:
                del place[name]
            else:
                place[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is not _MISSING and before is not None and not isinstance(before, Tensor):
        message = f"attribute `{name}`: {before} is not an instance of torch.Tensor"
        raise fail(TypeError, message, "Only tensors of a module can be exchanged.")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """(parameters, buffers) of several modules of one class, as two dicts name -> tensor of shape (number of models,
    …).

    Together with `functional_call` and `vmap` they run all the models on one input. The stacked parameters are new
    leaves that can be given to an optimizer. Raises RuntimeError for no model, for models of different classes or
    modes. Source: torch.func.stack_module_state."""
    if len(models) == 0:
        raise fail(
            RuntimeError,
            "stack_module_state: Expected at least one model, got 0.",
            "Give a list of modules.",
        )
    if len({m.training for m in models}) > 1:
        message = "stack_module_state: Expected all models to have the same training/eval mode."
        raise fail(RuntimeError, message, "Call .eval() or .train() on all of them.")
    if any(type(m) is not type(models[0]) for m in models):
        message = "stack_module_state: Expected all models to be of the same class."
        raise fail(RuntimeError, message, "Their tensors have to fit into one stack.")
    return _stacks([dict(m.named_parameters()) for m in models]), _stacks(
        [dict(m.named_buffers()) for m in models]
    )


def _stacks(states):
    return {name: _stack(name, [state[name] for state in states]) for name in states[0]}


def _stack(name, tensors):
    if len({t.requires_grad for t in tensors}) > 1:
        message = f"Expected {name} from each model to have the same .requires_grad"
        raise fail(RuntimeError, message, "Freeze it in all models or in none.")
    stacked = NAMESPACES[""]["stack"](tensors)
    return stacked.detach().requires_grad_() if tensors[0].requires_grad else stacked
