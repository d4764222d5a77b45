"""The paths between two nodes: counted, multiplied along, summed to the gradient."""

import numpy as np
import pytest

import autolab as torch
from autolab.trace.questions.paths import local_derivatives, paths


def found(result, leaf="x"):
    trace = torch.trace.trace(result, {"y": result})
    by_label = {node.label: node.id for node in trace.nodes}
    return paths(trace, by_label[leaf], trace.meta["roots"][0], local_derivatives(trace))


def test_a_diamond_by_hand():
    x = torch.tensor(3.0, requires_grad=True)
    a = x * 2
    b = x + 1
    y = a * b + b
    asked = found(y)
    assert [(path.nodes, path.product.item()) for path in asked.paths] == [
        (("x", "a", "v1", "y"), 8.0),
        (("x", "b", "v1", "y"), 6.0),
        (("x", "b", "y"), 1.0),
    ]
    assert (asked.count, asked.gradient.item(), asked.by_path, asked.in_reverse) == (3, 15.0, 8, 6)
    assert repr(asked) == "3 paths, sum 15; multiplications: 8 path by path, 6 in reverse mode"


def test_a_factor_of_zero_is_known_where_nothing_arrives():
    x = torch.tensor(2.0, requires_grad=True)
    y = (x * 5) * 0.0  # the gradient that arrives at x * 5 is 0, its local derivative is 5
    assert [factor.item() for factor in found(y).paths[0].factors] == [5.0, 0.0]


def test_forty_diamonds_are_counted_not_walked():
    x = torch.tensor(0.5, requires_grad=True, dtype=torch.float64)
    h = x
    for _ in range(40):
        h = h.sin() + h * 0.5
    h.backward(retain_graph=True)
    asked = found(h)
    assert asked.count == 2**40 and len(asked.paths) == 50
    np.testing.assert_allclose(asked.gradient.item(), x.grad.item(), rtol=1e-12)
    products = [abs(path.product.item()) for path in asked.paths]
    assert products == sorted(products, reverse=True)
    assert asked.in_reverse == 160 and asked.by_path > 8 * 10**13


def test_jacobians_of_tensors_multiply_to_the_gradient():
    torch.manual_seed(0)
    x = torch.randn(2, 3, requires_grad=True)
    w = torch.randn(3, 2)
    y = (x @ w).tanh() * x[:, :2]
    loss = y.sum() + (x * x).mean()
    loss.backward(retain_graph=True)
    asked = found(loss)
    assert asked.count == 4 and asked.paths[0].factors[0].shape[1] == 6
    np.testing.assert_allclose(asked.gradient.reshape(2, 3), x.grad.numpy(), rtol=1e-5)
    np.testing.assert_allclose(sum(path.product for path in asked.paths), asked.gradient, rtol=1e-5)


def test_where_no_gradient_flows_there_is_no_path():
    x = torch.tensor(3.0, requires_grad=True)
    y = x.detach() * 2 + x * 0
    with pytest.raises(ValueError, match="no gradient flows from y to y"):
        found(y, "y")
    explorer = torch.explore(y)
    with pytest.raises(ValueError, match='no node "zz"'):
        explorer.paths("zz")
    with pytest.raises(TypeError, match="node must be a tensor or the name of a node, got int"):
        explorer.paths(3)
    assert explorer.paths(x).count == 1 and len(explorer.ends) == 2 and explorer.local
