"""Which parameters are trained, and how fast: freezing by name, learning rates by layer.

A frozen parameter has requires_grad False: it gets no gradient, and optimizers pass it over as long as its `.grad` is
None. Freezing does not stop gradients on their way to earlier layers, and does not stop the running statistics of batch
normalisation: that is what `freeze_statistics` is for.

Source: https://docs.pytorch.org/docs/2.13/notes/autograd.html#setting-requires-grad
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any

from autolab.engine.core.errors import fail
from autolab.nn.modules.module import Module
from autolab.nn.modules.normalization import GroupNorm, LayerNorm, RMSNorm, _Tracking

_NORMALIZATIONS = (_Tracking, GroupNorm, LayerNorm, RMSNorm)


def freeze(model: Module, *patterns: str) -> list[str]:
    """Freeze the parameters that match: requires_grad False, and no `.grad`. Returns their names.

    A pattern is the name of a parameter or of a module that it is in, `*` and `?` as in file names: "layer1", "*.bias",
    "layer[12]". Without patterns all parameters are meant. The gradient is dropped because an optimizer that finds one
    still steps. Raises ValueError for a pattern that nothing matches; nothing is changed then.
    """
    return _set(model, patterns, False)


def unfreeze(model: Module, *patterns: str) -> list[str]:
    """Train the parameters that match: requires_grad True. Returns their names. Patterns as in `freeze`."""
    return _set(model, patterns, True)


def _set(model: Module, patterns: tuple[str, ...], trained: bool) -> list[str]:
    names = []
    for name, parameter in matching(
        dict(model.named_parameters(remove_duplicate=False)), patterns
    ).items():
        parameter.requires_grad_(trained)
        if not trained:
            parameter.grad = None
        names.append(name)
    return names


def matching(named: Mapping[str, Any], patterns: tuple[str, ...]) -> dict[str, Any]:
    """The entries of the dict `named` whose dotted name, or the beginning of it up to a dot, matches a pattern."""
    chosen = set() if patterns else set(named)
    for pattern in patterns:
        matches = {
            name
            for name in named
            if any(fnmatch.fnmatchcase(part, pattern) for part in _beginnings(name))
        }
        if not matches:
            beginnings = sorted({name.split(".")[0] for name in named})
            raise fail(
                ValueError,
                f"nothing matches '{pattern}'",
                f"Names begin with {', '.join(beginnings) or '-'}.",
            )
        chosen |= matches
    return {name: value for name, value in named.items() if name in chosen}


def _beginnings(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]


def freeze_statistics(model: Module) -> list[str]:
    """Put into evaluation mode each batch or instance normalisation that trains no parameter. Returns their names.

    In training mode such a layer normalises by the batch and moves its running statistics, though its parameters are
    frozen. `model.train()` undoes this: call it before.
    """
    names = []
    for name, module in model.named_modules():
        if isinstance(module, _Tracking) and not any(p.requires_grad for p in module.parameters()):
            module.eval()
            names.append(name)
    return names


def count_parameters(model: Module) -> tuple[int, int]:
    """(trainable, all): how many numbers are trained, and how many there are. A shared parameter counts once."""
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in model.parameters()]
    return sum(size for size, trained in sizes if trained), sum(size for size, _ in sizes)


def layers(model: Module) -> list[tuple[str, ...]]:
    """The layers from input to output, as tuples of names: `[("conv1", "bn1"), ("layer1",), ..., ("fc",)]`.

    A layer is a direct submodule with parameters, in the order of registration; a normalisation belongs to the layer
    before it. Each tuple is good for `unfreeze(model, *layer)`.
    """
    stack: list[tuple[str, ...]] = []
    for name, module in model.named_children():
        if next(module.parameters(), None) is None:
            continue
        if stack and isinstance(module, _NORMALIZATIONS):
            stack[-1] = (*stack[-1], name)
        else:
            stack.append((name,))
    return stack


def parameter_groups(model: Module, lr: float, decay: float = 0.5) -> list[dict[str, Any]]:
    """Groups for an optimizer, one for each of `layers(model)`: the last with rate `lr`, each earlier one `decay` times
    it.

    Frozen parameters are in the groups too, so that an optimizer built now trains them once they are unfrozen. Each
    group has a "name". J. Howard, S. Ruder, "Universal Language Model Fine-tuning for Text Classification",
    https://arxiv.org/abs/1801.06146 (discriminative fine-tuning), took decay 1/2.6.

    Raises ValueError for a decay that is not above 0, and for parameters outside of the layers.
    """
    if not decay > 0:
        raise fail(
            ValueError,
            f"decay should be above 0, but got {decay}",
            "1 gives all layers the same rate.",
        )
    outside = [name for name, _ in model.named_parameters(recurse=False)]
    if outside:
        message = f"parameters {outside} are in no submodule"
        raise fail(
            ValueError, message, "Write the groups yourself: [{'params': [...], 'lr': ...}, ...]."
        )
    stack, seen = layers(model), set[int]()
    groups: list[dict[str, Any]] = []
    for depth, names in zip(range(len(stack) - 1, -1, -1), stack):
        parameters = [
            p for name in names for p in model.get_submodule(name).parameters() if id(p) not in seen
        ]
        seen.update(id(p) for p in parameters)
        if parameters:
            groups.append({"params": parameters, "lr": lr * decay**depth, "name": names[0]})
    return groups
