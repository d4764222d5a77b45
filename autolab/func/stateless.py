"""Modules as functions of their parameters: `functional_call`.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.func.functional_call.html"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from ..engine.core.errors import fail
from ..engine.core.tensor import Tensor
from ..engine.exact.refusals import unsupported

if TYPE_CHECKING:
    from ..nn.modules.module import Module


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Return `module(*args, **kwargs)`, computed with other tensors in place of its parameters and buffers. The module
    itself is not changed.

    parameter_and_buffer_dicts: name ("0.weight") -> tensor; other names keep their tensors.
    args: a tuple, or the only argument. A tensor with two names in the module is replaced under both. If `forward`
    changes or replaces a buffer (batch norm's running mean), the dict gets the new value. Raise
    AttributeError for an unknown name. Source: torch.func.functional_call."""
    state = parameter_and_buffer_dicts
    if not isinstance(state, dict):
        note = "Merge them first: {**first, **second}."
        raise unsupported("functional_call", "parameter_and_buffer_dicts of several dicts", note)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, state):
        return module(*args, **(kwargs or {}))


def _with_tied_names(module, state):
    """Return `state`, extended by all other names of tensors that have several."""
    by_tensor: dict = {}
    for named in (module.named_parameters, module.named_buffers):
        for name, t in named(remove_duplicate=False):
            by_tensor.setdefault(id(t), []).append(name)
    full = dict(state)
    for names in by_tensor.values():
        for name in filter(state.__contains__, names):
            full |= {other: state[name] for other in names if other not in state}
    return full


@contextlib.contextmanager
def _replaced(module, state):
    before: dict = {}
    try:
        for name, t in _with_tied_names(module, state).items():
            before[name] = _swap(module, name, t)
        yield
    finally:
        after = {name: _swap(module, name, t) for name, t in before.items()}
        state.update((name, after[name]) for name in state if name in after)


def _swap(module, path, tensor):
    """Replace the parameter or buffer at `path` with `tensor`, and return the old tensor."""
    parent, _, name = path.rpartition(".")
    owner, note = (
        module.get_submodule(parent),
        "Names are those of named_parameters() and named_buffers().",
    )
    if tensor is not None and not isinstance(tensor, Tensor):
        raise fail(TypeError, f"{tensor} is not an instance of torch.Tensor", note)
    for place in (owner._parameters, owner._buffers):
        if name in place:
            before, place[name] = place[name], tensor
            return before
    raise fail(AttributeError, f"{type(owner).__name__} has no parameter or buffer `{name}`", note)
