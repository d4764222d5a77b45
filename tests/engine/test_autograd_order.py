"""The backward pass visits nodes in PyTorch's order, on any graph."""

import random

import pytest
from engine_programs import random_dag, run_dag
from goldens.oracle import check, same_as_torch


def visits(program, retain=False):
    """The question: in which order do the nodes of this program run?"""

    def ask(torch):
        leaves = [
            torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.5, -1.25, 2.0)
        ]
        values = run_dag(torch, program, leaves)
        order = []
        nodes = {
            number: value.grad_fn
            for number, value in enumerate(values)
            if value.grad_fn is not None
        }
        for number, node in nodes.items():
            node.register_prehook(
                lambda grads, number=number: order.append((number, [g is not None for g in grads]))
            )
        for number, leaf in enumerate(leaves):
            leaf.register_post_accumulate_grad_hook(
                lambda t, number=number: order.append(("leaf", number))
            )
        values[-1].backward()
        return (
            order,
            [leaf.grad for leaf in leaves],
            [v.grad_fn.name() if v.grad_fn else None for v in values],
        )

    return ask


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_run_in_the_same_order(seed):
    program = random_dag(random.Random(seed), steps=25)
    check("test_autograd_order", f"random_dag {seed}", visits(program))


@same_as_torch
def test_several_roots_at_once(torch):
    order = []
    x = torch.tensor(1.0, requires_grad=True)
    values = {"a": x * 2}
    values["b"] = values["a"] * 3
    values["c"] = values["a"].exp()
    values["d"] = values["b"] + values["c"]
    for name, value in values.items():
        value.grad_fn.register_prehook(lambda grads, name=name: order.append(name))
    torch.autograd.backward(
        [values["b"], values["d"], values["a"]], [None, torch.tensor(2.0), None]
    )
    return order, x.grad


@same_as_torch
def test_a_leaf_accumulates_as_soon_as_its_last_contribution_is_in(torch):
    order = []
    x = torch.tensor(1.0, requires_grad=True)
    w = torch.tensor(2.0, requires_grad=True)
    h = x.sin()
    y = (h * w).exp() * 3
    for name, value in {"h": h, "y": y}.items():
        value.grad_fn.register_prehook(lambda grads, name=name: order.append(name))
    for name, leaf in {"x": x, "w": w}.items():
        leaf.register_post_accumulate_grad_hook(lambda t, name=name: order.append(name))
    y.backward()
    return order


@same_as_torch
def test_outputs_of_one_node_are_told_apart_by_number(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    values, indices = x.max(dim=1)
    a, b = x.unbind(0)
    parts = x.split(1, dim=1)
    loss = (values * 2).sum() + (a * b).sum() + parts[2].sum()
    loss.backward()
    return (
        [t.output_nr for t in (values, a, b, *parts)],
        a.grad_fn is b.grad_fn,
        indices.grad_fn,
        indices,
        x.grad,
    )
