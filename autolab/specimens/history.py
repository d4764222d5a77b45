"""Wrong rules about recording: which tensors are leaves, what an in-place change does, what cuts
the graph."""

from __future__ import annotations

import numpy as np

import autolab

from ..engine.core import backward
from ..engine.core.node import accumulator, edge
from ..engine.core.tensor import Tensor
from ..nn import Module
from .exchange import note, noted
from .specimen import specimen

_NO_CHANGE = {"requires_grad_", "detach_"}
_IN_PLACE = [
    (Tensor, name)
    for name in dir(Tensor)
    if name.endswith("_") and not name.startswith("_") and name not in _NO_CHANGE
]
_IN_PLACE += [
    (Tensor, f"__i{name}__") for name in "add sub mul truediv floordiv mod pow".split()
] + [(Tensor, "__setitem__")]


def converted_weight(torch):
    x = torch.tensor(3.0, requires_grad=True)
    w = x.double()
    (w * w).backward()
    return x.grad, w.is_leaf


def nothing_converted(torch):
    x = torch.tensor(3.0, requires_grad=True)
    w = x.to(torch.float32)
    (w * w).backward()
    return x.grad, w.is_leaf


@specimen(
    7, "a conversion gives a leaf", level=2, wrong=converted_weight, right=nothing_converted,
    places=[(Tensor, name) for name in ("to", "double", "float", "half", "bfloat16", "cuda", "cpu") if hasattr(Tensor,
    name)],
    belief="tensor(..., requires_grad=True).to(...) is a leaf: its .grad is filled.",
    shows="a tensor converted after requires_grad=True: is_leaf, and whose .grad is filled",
    instead="`return result`, which was computed from the leaf and passes the gradient on to it",
)  # fmt: skip
def convert(right, tensor, *args, **kwargs):
    result = right(tensor, *args, **kwargs)
    if result is tensor or not result.requires_grad:
        return result
    return result.detach().requires_grad_()  # wrong


def leaf_changed(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    w += 1
    (w * w).sum().backward()
    return w.grad


def leaf_changed_aside(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        w += 1
    (w * w).sum().backward()
    return w.grad


@specimen(
    8, "a leaf may change in place", level=2, places=_IN_PLACE, wrong=leaf_changed, right=leaf_changed_aside,
    belief="A change in place of a leaf is one more recorded operation.",
    shows="+= on a leaf that requires a gradient, or on a part of it",
    instead="it raises: a leaf's value is what its gradient belongs to",
)  # fmt: skip
def change_of_a_leaf(right, tensor, *args, **kwargs):
    base = tensor if tensor._base is None else tensor._base
    if base.requires_grad and base.is_leaf and autolab.is_grad_enabled():
        base._node = accumulator(base)  # wrong
    return right(tensor, *args, **kwargs)


def sum_after_change(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.add_(1)
    y.sum().backward()
    return x.grad


def exp_after_change(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()
    return x.grad


@specimen(
    9, "in place always breaks backward", level=2, wrong=sum_after_change, right=exp_after_change,
    places={"change": _IN_PLACE, "gradients": [(backward.BackwardPass, "gradients")]},
    belief="A tensor that was changed in place cannot be differentiated.",
    shows="a change in place of a result that no node saved",
    instead="it compares versions, and only of what a node saved",
)  # fmt: skip
class Suspicious:
    def change(right, tensor, *args, **kwargs):
        result = right(tensor, *args, **kwargs)
        if tensor.grad_fn is not None:
            tensor.grad_fn.extra()["changed"] = True
        return result

    def gradients(right, run, node, g):
        if node.extra().get("changed"):  # wrong
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation"
            )
        return right(run, node, g)


def in_evaluation(torch):
    model = torch.nn.Linear(1, 1, bias=False).eval()
    model(torch.ones(1, 1)).sum().backward()
    return model.weight.grad


def without_recording(torch):
    model = torch.nn.Linear(1, 1, bias=False).eval()
    with torch.no_grad():
        loss = model(torch.ones(1, 1)).sum()
    return loss.requires_grad


@specimen(
    10, "eval() stops recording", level=2, places=[(Module, "__call__")], wrong=in_evaluation, right=without_recording,
    belief="After model.eval() nothing is recorded.",
    shows="backward() through a model in eval mode",
    instead="nothing: only no_grad() and inference_mode() decide what is recorded",
)  # fmt: skip
def call_in_mode(right, module, *args, **kwargs):
    recording = autolab.is_grad_enabled() and module.training  # wrong
    with autolab.set_grad_enabled(recording):
        return right(module, *args, **kwargs)


def middle_frozen(torch):
    layers = [torch.nn.Linear(1, 1, bias=False) for _ in range(3)]
    for layer in layers:
        torch.nn.init.constant_(layer.weight, 2.0)
    layers[1].requires_grad_(False)
    torch.nn.Sequential(*layers)(torch.ones(1, 1)).sum().backward()
    return [layer.weight.grad for layer in layers]


def first_frozen(torch):
    layers = [torch.nn.Linear(1, 1, bias=False) for _ in range(3)]
    for layer in layers:
        torch.nn.init.constant_(layer.weight, 2.0)
    layers[0].requires_grad_(False)
    torch.nn.Sequential(*layers)(torch.ones(1, 1)).sum().backward()
    return [layer.weight.grad for layer in layers]


@specimen(
    11, "a frozen layer stops the gradient", level=2, places=[(Module, "__call__")], wrong=middle_frozen,
    right=first_frozen,
    belief="What lies before a frozen layer gets no gradient.",
    shows="three layers with the middle one frozen",
    instead="`return result`: a frozen weight gets no gradient, but its layer passes one on",
)  # fmt: skip
def call_of_a_frozen(right, module, *args, **kwargs):
    result = right(module, *args, **kwargs)
    own = list(module.parameters(recurse=False))
    if own and not any(p.requires_grad for p in own):
        return result.detach()  # wrong
    return result


def detached_loss(torch):
    w = torch.tensor(3.0, requires_grad=True)
    loss = (w * w).detach()
    loss.requires_grad = True
    loss.backward()
    return w.grad


def connected_loss(torch):
    w = torch.tensor(3.0, requires_grad=True)
    loss = w * w
    loss.backward()
    return w.grad


@specimen(
    15, "requires_grad = True reconnects", level=2, wrong=detached_loss, right=connected_loss,
    places={"detach": [(Tensor, "detach")], "set_requires_grad": [(Tensor, "requires_grad", "set")]},
    belief="A loss without a graph gets it back by requires_grad = True.",
    shows="a detached loss with requires_grad = True, and the weights' .grad",
    instead="nothing: it becomes a leaf, and what it was computed from stays behind",
)  # fmt: skip
class Reconnecting:
    def detach(right, tensor):
        result = right(tensor)
        note(result, tensor)
        return result

    def set_requires_grad(right, tensor, value):
        right(tensor, value)
        came_from = noted(tensor)
        if value and came_from is not None and came_from.requires_grad:
            tensor._node = edge(came_from)  # wrong


def numpy_in_the_middle(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = torch.from_numpy(np.exp(x.detach().numpy()))
    (x * h).sum().backward()
    return x.grad


def nothing_outside(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = torch.exp(x)
    (x * h).sum().backward()
    return x.grad


class Array(np.ndarray):
    """A NumPy array with `history`: the tensor of the same numbers, with its graph."""

    history: Tensor

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        """Compute with NumPy and, if autolab has an operation of that name, also with autolab."""
        if "out" in options:
            options["out"] = tuple(np.asarray(x) for x in options["out"])
        result = getattr(ufunc, method)(
            *(np.asarray(x) if isinstance(x, np.ndarray) else x for x in inputs), **options
        )
        operation = getattr(autolab, {"power": "pow"}.get(ufunc.__name__, ufunc.__name__), None)
        if operation is None or method != "__call__" or options:
            return result
        tensors = [getattr(x, "history", x) for x in inputs]
        return carrying(
            result,
            operation(
                *[autolab.from_numpy(x) if isinstance(x, np.ndarray) else x for x in tensors]
            ),
        )


def carrying(array, history):
    """Return `array` as one that has a history."""
    array = np.asarray(array).view(Array)
    array.history = history
    return array


@specimen(
    18, "arrays carry history", level=2, wrong=numpy_in_the_middle, right=nothing_outside,
    places={"detach": [(Tensor, "detach")], "numpy": [(Tensor, "numpy")], "from_numpy": [(autolab, "from_numpy")]},
    belief="What NumPy computes in between is differentiated, too.",
    shows="a step of the computation made in NumPy, by detach().numpy() and from_numpy()",
    instead="`return right(array)`: an array has numbers and no history",
)  # fmt: skip
class Carrying:
    def detach(right, tensor):
        result = right(tensor)
        note(result, tensor)
        return result

    def numpy(right, tensor, **kwargs):
        history = noted(tensor)
        return (
            right(tensor, **kwargs)
            if history is None
            else carrying(right(tensor, **kwargs), history)
        )

    def from_numpy(right, array):
        history = getattr(array, "history", None)
        return right(array) if history is None else history  # wrong
