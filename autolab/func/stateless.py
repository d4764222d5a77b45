"""Modules as functions of their parameters: `functional_call`, `stack_module_state`.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.func.functional_call.html"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..engine.core.errors import fail
from ..engine.exact.refusals import unsupported
from ..engine.ops.functions import NAMESPACES
from ..engine.core.tensor import Tensor

if TYPE_CHECKING:
    from ..nn.modules.module import Module


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Return `module(*args, **kwargs)` with other tensors in the place of its parameters and buffers; the module is
    left as it was.

    parameter_and_buffer_dicts: name ("0.weight") -> tensor, or several such dicts; other names keep their tensors.
    args: a tuple, or the only argument. A tensor that the module knows under two names is replaced under both. A buffer
    that `forward` changes in place or replaces (batch norm's running mean) is changed in the dict. Raises ValueError
    for a name in two dicts, AttributeError for a name that the module does not know. Source:
    torch.func.functional_call."""
    for name, given in (("tie_weights", not tie_weights), ("strict", strict)):
        if given:
            raise unsupported("functional_call", name)
    state = _one_dict(parameter_and_buffer_dicts)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, state):
        return module(*args, **(kwargs or {}))


def _one_dict(dicts):
    dicts = [dicts] if isinstance(dicts, dict) else dicts
    if not isinstance(dicts, Sequence) or not all(isinstance(d, dict) for d in dicts):
        message = f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        raise fail(ValueError, message, "dict(model.named_parameters()) is one.")
    repeated = [name for name, n in Counter(name for d in dicts for name in d).items() if n > 1]
    if repeated:
        message = f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        raise fail(ValueError, message, "Name each tensor in one of the dicts.")
    return dicts[0] if len(dicts) == 1 else {name: t for d in dicts for name, t in d.items()}


def _tied(module, state):
    """Return `state` with every other name of a tensor that has several."""
    by_tensor: dict = {}
    for named in (module.named_parameters, module.named_buffers):
        for name, t in named(remove_duplicate=False):
            by_tensor.setdefault(id(t), set()).add(name)
    full = dict(state)
    for names in by_tensor.values():
        given = {id(state[name]): state[name] for name in names & state.keys()}
        if len(given) > 1:
            message = f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using tie_weights=False"
            note = "The module knows one tensor under several names: give one of them."
            raise fail(ValueError, message, note)
        for t in given.values():
            full.update(dict.fromkeys(names, t))
    return full


@contextlib.contextmanager
def _replaced(module, state):
    before: dict = {}
    try:
        for name, t in _tied(module, state).items():
            before[name] = _swap(module, name, t)
        yield
    finally:
        after = {name: _swap(module, name, t) for name, t in before.items()}
        state.update((name, after[name]) for name in state if name in after)


def _swap(module, path, tensor):
    """Put `tensor` where `path` names a parameter or buffer, and return the tensor that was there."""
    *parents, name = path.split(".")
    owner, note = module, "Names are those of named_parameters() and named_buffers()."
    for parent in parents:
        child = getattr(owner, parent, None)
        if not hasattr(child, "_parameters"):
            message = f"{type(owner).__name__} has no attribute `{parent}`"
            raise fail(AttributeError, message, note)
        owner = child
    if tensor is not None and not isinstance(tensor, Tensor):
        raise fail(TypeError, f"{tensor} is not an instance of torch.Tensor", note)
    for place in (owner._parameters, owner._buffers):
        if name in place:
            before, place[name] = place[name], tensor
            return before
    raise fail(AttributeError, f"{type(owner).__name__} has no parameter or buffer `{name}`", note)


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return (parameters, buffers) of several modules of one class, as two dicts name -> tensor of shape (number of
    models, …).

    Together with `functional_call` and `vmap` they run all the models on one input. The stacked parameters are new
    leaves that can be given to an optimizer. Raises RuntimeError for no model, for models of different classes or
    modes. Source: torch.func.stack_module_state."""
    for wrong, problem in (
        (len(models) == 0, "at least one model, got 0."),
        (len({m.training for m in models}) > 1, "all models to have the same training/eval mode."),
        (len(set(map(type, models))) > 1, "all models to be of the same class."),
    ):
        if wrong:
            raise fail(
                RuntimeError,
                f"stack_module_state: Expected {problem}",
                "Give a list of modules of one class; call .eval() or .train() on all of them.",
            )
    parameters, buffers = (
        [dict(getattr(m, name)()) for m in models] for name in ("named_parameters", "named_buffers")
    )
    return _stacks(parameters), _stacks(buffers)


def _stacks(states):
    return {name: _stack(name, [state[name] for state in states]) for name in states[0]}


def _stack(name, tensors):
    if len({t.requires_grad for t in tensors}) > 1:
        message = f"Expected {name} from each model to have the same .requires_grad"
        raise fail(RuntimeError, message, "Freeze it in all models or in none.")
    stacked = NAMESPACES[""]["stack"](tensors)
    return stacked.detach().requires_grad_() if tensors[0].requires_grad else stacked
