"""Accumulation, retain_graph, freed buffers, `inputs=`, non-leaf gradients."""

import pytest
from goldens import oracle
from goldens.oracle import error_of, same_as_torch


@same_as_torch
def test_backward_adds_to_grad_in_place(torch):
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    return first is x.grad, x.grad


@same_as_torch
def test_with_create_graph_grad_is_replaced_not_changed(torch):
    x = torch.tensor(2.0, requires_grad=True)
    (x**2).backward()
    first = x.grad
    (x**3).backward(create_graph=True)
    return first is x.grad, first, x.grad, x.grad.grad_fn.name()


@same_as_torch
def test_retain_graph_allows_a_second_pass_and_the_last_one_frees(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    return x.grad, error_of(y.backward), x.grad


@same_as_torch
def test_freeing_is_per_node_a_shared_part_freed_stops_the_second_root(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    a, b = (h * 2).sum(), (h * 3).sum()
    a.backward()
    return error_of(b.backward), x.grad


@same_as_torch
def test_inputs_limits_what_is_accumulated(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    h = x * w
    (h**2).sum().backward(inputs=[w], retain_graph=True)
    first = x.grad, w.grad.clone()
    (h**2).sum().backward(inputs=[h, x])
    return first, x.grad, w.grad, h.grad


@same_as_torch
def test_retain_grad_keeps_a_middle_gradient_and_its_accumulation(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 2
    h.retain_grad()
    y = (h * h).sum()
    y.backward(retain_graph=True)
    first = h.grad.clone()
    y.backward()
    return first, h.grad, x.grad, h.retains_grad, h.is_leaf


@same_as_torch
def test_grad_of_several_outputs_and_inputs(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    a, b = x * w, x + w
    g = torch.autograd.grad(
        [a, b], [x, w], [torch.tensor([1.0, 10.0]), torch.tensor([100.0, 1000.0])]
    )
    return g, x.grad, w.grad


@same_as_torch
def test_gradients_are_cast_and_shaped_as_the_leaf(torch):
    out = []
    for dtype in (torch.float16, torch.float32, torch.float64):
        x = torch.ones(2, 1, dtype=dtype, requires_grad=True)
        w = torch.full((1, 3), 2.0, dtype=torch.float64, requires_grad=True)
        (x * w).sum().backward()
        out.append((x.grad, w.grad))
    return out


@same_as_torch
def test_unused_inputs(torch):
    x, w = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    y = (x * 2).sum()
    return (
        torch.autograd.grad(y, [x, w], allow_unused=True, retain_graph=True),
        torch.autograd.grad(y, [x, w], materialize_grads=True, retain_graph=True),
        error_of(lambda: torch.autograd.grad(y, [x, w], retain_graph=True)),
        error_of(
            lambda: torch.autograd.grad(y, [x, w], allow_unused=False, materialize_grads=True)
        ),
    )


@same_as_torch
def test_wrong_calls_say_what_is_wrong(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    return [
        error_of(action)
        for action in (
            y.backward,
            lambda: y.backward(torch.ones(3)),
            lambda: y.backward(torch.ones(2), inputs=[]),
            lambda: torch.autograd.backward([y, y], [torch.ones(2)]),
            lambda: torch.autograd.grad(y, x, [torch.ones(2), torch.ones(2)]),
            lambda: torch.autograd.grad(y.sum(), torch.ones(2)),
            lambda: torch.ones(2).sum().backward(),
            lambda: y.backward("g"),
            lambda: y.sum().backward(inputs=[torch.ones(2)]),
            lambda: torch.autograd.grad([y.sum()], []),
        )
    ]


def test_a_batch_of_vectors_is_refused():
    torch = oracle.engine()
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="argument 'is_grads_batched' is not supported"):
        torch.autograd.grad(x**2, x, torch.eye(3), is_grads_batched=True)


@same_as_torch
def test_the_gradient_of_a_non_leaf_in_inputs_arrives_once_and_is_kept_from_then_on(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    z.backward(inputs=[y], retain_graph=True)
    first, retains = y.grad, y.retains_grad
    z.backward(inputs=[y, x], retain_graph=True)
    z.backward()
    return first, retains, y.grad, x.grad


@same_as_torch
def test_a_retained_gradient_is_replaced_not_changed(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    z = (y * y).sum()
    z.backward(retain_graph=True)
    first = y.grad
    z.backward()
    return first, y.grad, first is y.grad


@same_as_torch
def test_what_saved_no_tensor_can_run_twice(torch):
    """PyTorch saves the number of `x * 2` as a tensor, but not those of `1 - x`, `x[0]` or `addcmul`."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    twice = []
    for y in (
        1 - x,
        x[0],
        torch.addcmul(x, torch.ones(2), torch.ones(2)),
        x * 2,
        x.lerp(x * 1, 0.3),
    ):
        loss = y.sum()
        loss.backward()
        twice.append(error_of(loss.backward))
    return twice, x.grad
