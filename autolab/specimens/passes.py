"""Wrong rules of the backward pass: how gradients arrive, are added and are kept. The first parameter of each, `right`,
is the engine's own code in that place."""

from __future__ import annotations

import autolab

from ..engine.core import backward
from ..engine.core.tensor import Tensor, wrap
from .specimen import specimen

BackwardPass = backward.BackwardPass


def two_losses(torch):
    x = torch.tensor(3.0, requires_grad=True)
    (x * x).backward()
    (5 * x).backward()
    return x.grad


def one_loss(torch):
    x = torch.tensor(3.0, requires_grad=True)
    (x * x + 5 * x).backward()
    return x.grad


@specimen(
    1, "backward clears .grad first", level=1, places=[(backward, "accumulate")], wrong=two_losses, right=one_loss,
    belief="Every backward() begins anew: .grad is what this loss gives.",
    shows="two backward passes in a row, and .grad after them",
    instead="it keeps what is in .grad, and adds to it",
)  # fmt: skip
def accumulate(right, leaf, g, create_graph=False):
    leaf.grad = None  # wrong
    right(leaf, g, create_graph)


def diamond(torch):
    x = torch.tensor(2.0, requires_grad=True)
    a, b = x * x, x * 3
    (a * b + b).backward()
    return x.grad


def chain(torch):
    x = torch.tensor(3.0, requires_grad=True)
    y = torch.exp(x * 2) + 1
    y.backward()
    return x.grad


@specimen(
    3, "set instead of add", level=1, places=[(BackwardPass, "add")], wrong=diamond, right=chain,
    belief="Where two paths meet, the gradient is the one that came last.",
    shows="a graph in which something is used twice",
    instead="`return first + second`",
)  # fmt: skip
def add(right, run, first, second):
    return +second  # wrong


def plus_twice(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x + 2).sum()
    y.backward()
    y.backward()
    return x.grad


def square_twice(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()
    return x.grad


@specimen(
    4, "nothing runs twice", level=1, places=[(BackwardPass, "gradients")], wrong=plus_twice, right=square_twice,
    belief="A second backward() through the same graph is always an error.",
    shows="two backward passes through one graph of sums",
    instead="it asks whether the node's saved tensors were freed: a node that saved none may run again",
)  # fmt: skip
def gradients_once(right, run, node, g):
    if node.extra().get("ran"):  # wrong
        raise RuntimeError(
            "Trying to backward through the graph a second time (or directly access saved tensors)"
        )
    node.extra()["ran"] = not run.retain_graph
    return right(run, node, g)


def unused_parameter(torch):
    used, unused = (torch.tensor(1.0, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.SGD([used, unused], lr=0.5, weight_decay=0.5)
    (used * 3).backward()
    optimizer.step()
    return used.detach(), unused.detach()


def all_used(torch):
    a, b = (torch.tensor(1.0, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.SGD([a, b], lr=0.5, weight_decay=0.5)
    (a * 3 + b * 2).backward()
    optimizer.step()
    return a.detach(), b.detach()


@specimen(
    5, ".grad begins as zeros", level=1, places=[(Tensor, "grad", "get")], wrong=unused_parameter, right=all_used,
    belief="Before any backward() .grad is 0.",
    shows=".grad of a leaf that nothing used, or a step with weight decay on it",
    instead="`return found`: None, which is not 0",
)  # fmt: skip
def grad(right, tensor):
    if not tensor.requires_grad or not tensor.is_leaf:
        return right(tensor)
    found = right(tensor)
    return autolab.zeros_like(tensor) if found is None else found  # wrong


def of_a_result(torch):
    x = torch.tensor(3.0, requires_grad=True)
    h = x * x
    (2 * h).backward()
    return h.grad


def of_a_leaf(torch):
    x = torch.tensor(3.0, requires_grad=True)
    (2 * x * x).backward()
    return x.grad


@specimen(
    6, "every node keeps its gradient", level=1, wrong=of_a_result, right=of_a_leaf,
    places={"gradients": [(BackwardPass, "gradients")], "grad": [(Tensor, "grad", "get")]},
    belief="Every tensor in the graph has .grad after backward().",
    shows=".grad of a result that is no leaf",
    instead="nothing: a gradient that was passed on is forgotten, unless retain_grad() asked for it",
)  # fmt: skip
class Keeping:
    def gradients(right, run, node, g):
        node.extra()["kept"] = g  # wrong
        return right(run, node, g)

    def grad(right, tensor):
        if tensor.is_leaf or tensor.retains_grad:
            return right(tensor)
        g = tensor.grad_fn.extra().get("kept")  # wrong
        g = g[tensor.output_nr] if isinstance(g, list) else g
        return g if g is None or isinstance(g, Tensor) else wrap(g)


def unequal_vector(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward(gradient=torch.tensor([1.0, 0.0]))
    return x.grad


def vector_of_ones(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward(gradient=torch.ones(2))
    return x.grad


@specimen(
    16, "gradient= is a scale", level=1, places=[(Tensor, "backward")], wrong=unequal_vector, right=vector_of_ones,
    belief="gradient=v only scales what backward() computes.",
    shows="backward(gradient=v) with numbers in v that are not all the same",
    instead="it begins with v itself, entry by entry: the vector of a vector-Jacobian product",
)  # fmt: skip
def backward_scaled(right, tensor, gradient=None, *args, **kwargs):
    if gradient is not None:
        gradient = gradient.mean().expand_as(gradient)  # wrong
    return right(tensor, gradient, *args, **kwargs)


def list_of_losses(torch):
    w = torch.tensor(2.0, requires_grad=True)
    losses = []
    for x in (1.0, 2.0, 3.0):
        loss = (w * x - 1) ** 2
        loss.backward()
        losses.append(loss)
    return [loss.grad_fn is not None for loss in losses]


def list_of_numbers(torch):
    w = torch.tensor(2.0, requires_grad=True)
    losses = []
    for x in (1.0, 2.0, 3.0):
        loss = (w * x - 1) ** 2
        loss.backward()
        losses.append(loss.item())
    return losses


@specimen(
    17, "a loss in a list is a number", level=2, places=[(Tensor, "backward")], wrong=list_of_losses,
    right=list_of_numbers,
    belief="After backward() a loss is only its number, so a list of losses holds no graphs.",
    shows="whether a loss that was kept still has its grad_fn",
    instead="nothing: the loss holds its graph, freed tensors or not, until it goes itself",
)  # fmt: skip
def backward_and_let_go(right, loss, *args, **kwargs):
    right(loss, *args, **kwargs)
    if loss.grad_fn is not None:
        loss._node, loss._req = None, False  # wrong
