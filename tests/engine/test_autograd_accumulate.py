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
def test_ops_that_save_nothing_can_run_twice(torch):
    x = torch.ones(2, 2, requires_grad=True)
    y = (x.t() + 1).sum()
    y.backward()
    y.backward()
    z = -(x.view(4) - 2)
    z.sum().backward()
    return x.grad, error_of(lambda: z.sum().backward())


@same_as_torch
def test_freeing_is_per_node_a_shared_part_freed_stops_the_second_root(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    a, b = (h * 2).sum(), (h * 3).sum()
    a.backward()
    return error_of(b.backward), x.grad


@same_as_torch
def test_two_roots_with_retain_graph(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    a, b = (h * 2).sum(), (h * h).sum()
    a.backward(retain_graph=True)
    b.backward()
    return x.grad


@same_as_torch
def test_saved_values_are_readable_until_freed(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    c = torch.tensor([3.0, 4.0])
    y = x * c
    z = x.exp()
    before = y.grad_fn._saved_self, y.grad_fn._saved_other, z.grad_fn._saved_result
    (y + z).sum().backward()
    return (
        before,
        error_of(lambda: y.grad_fn._saved_other),
        error_of(lambda: z.grad_fn._saved_result),
    )


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
def test_grad_of_something_in_the_middle(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x**2
    y = (h * h).sum()
    g = torch.autograd.grad(y, [h, x], retain_graph=True)
    return (
        g,
        error_of(
            lambda: torch.autograd.grad(
                y, [h, torch.ones(1, requires_grad=True)], retain_graph=True
            )
        ),
        torch.autograd.grad(y, h),
    )


@same_as_torch
def test_shared_subexpressions_are_visited_once(torch):
    x = torch.tensor(2.0, requires_grad=True)
    calls = []
    h = x * 3
    h.register_hook(lambda g: calls.append(g.item()))
    y = h * h + h
    y.backward()
    return calls, x.grad


@same_as_torch
def test_the_same_leaf_in_every_slot(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.where(x > 1, x, x * x) + torch.stack([x, x]).sum(0) + torch.cat([x, x])[1:3]
    y.sum().backward()
    return y, x.grad


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
def test_zeroing_and_dropping_gradients(torch):
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    x.grad.zero_()
    zeroed = x.grad
    x.sum().backward()
    same = x.grad is zeroed
    x.grad = None
    x.sum().backward()
    return same, x.grad is zeroed, zeroed, x.grad


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
def test_what_a_node_tells_after_its_saved_tensors_were_freed(torch):
    """Freed tensors raise; arguments that are no tensors, and tensors that were never saved, can still be asked for."""

    def told(output, *names):
        node = output.grad_fn
        output.sum().backward()
        return {name: error_of(lambda: getattr(node, name)) for name in names}

    x = torch.ones(1, 1, 3, 3, requires_grad=True)
    data, w = torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2, requires_grad=True)
    conv = torch.nn.functional.conv2d
    return [
        told(conv(x, w), "_saved_input", "_saved_weight", "_saved_stride", "_saved_groups"),
        told(conv(data, w), "_saved_input", "_saved_weight"),
        told(x.exp(), "_saved_result"),
        told(x * 2, "_saved_self", "_saved_other"),
        told(data / x, "_saved_self", "_saved_other"),
        told(x * x, "_saved_self", "_saved_other"),
        told(
            torch.nn.functional.batch_norm(x, None, None, training=True),
            "_saved_input",
            "_saved_weight",
            "_saved_eps",
        ),
    ]


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


@same_as_torch
def test_one_piece_of_a_tensor(torch):
    """`split`, `chunk`, `unbind` with one result: its gradient has the shape of the tensor."""
    results = []
    for pieces in (
        lambda x: x.chunk(2, -1),
        lambda x: x.split(5),
        lambda x: x.split([2]),
        lambda x: x.unbind(-1),
        lambda x: x[:1].unbind(0),
        lambda x: list(x[1:]),
    ):
        x = torch.tensor([[1.0], [2.0]], requires_grad=True)
        (piece,) = pieces(x)
        name = piece.grad_fn.name()
        piece.register_hook(lambda g: g * 3)
        loss = (piece * piece).sum()
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        g.sum().backward()
        results.append((name, g, x.grad))
    return results
