"""Hooks on tensors and nodes: when they run, what they see, what they may change."""

from goldens.oracle import error_of, same_as_torch


@same_as_torch
def test_order_at_one_node(torch):
    log = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.retain_grad()
    y.grad_fn.register_hook(lambda gi, go: log.append(("post", gi, go)))
    y.register_hook(lambda g: log.append(("tensor 1", g, y.grad)))
    y.grad_fn.register_prehook(lambda g: log.append(("pre", g)))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: log.append(("tensor 2", g)))
    (y**2).sum().backward()
    return log, y.grad, x.grad


@same_as_torch
def test_order_at_a_leaf(torch):
    log = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: log.append(("post accumulate", p is x, p.grad.clone())))
    x.register_hook(lambda g: log.append(("tensor", g, x.grad)))
    x.register_hook(lambda g: -g)
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    return log, x.grad


@same_as_torch
def test_a_leaf_hook_sees_the_sum_of_all_contributions(torch):
    seen = []
    x = torch.tensor(2.0, requires_grad=True)
    x.register_hook(seen.append)
    (x * x + x.exp() + x).backward()
    return seen


@same_as_torch
def test_hooks_run_for_grad_too_but_nothing_accumulates(torch):
    seen = []
    x = torch.tensor(2.0, requires_grad=True)
    h = x * 3
    h.register_hook(lambda g: seen.append(("h", g)))
    x.register_hook(lambda g: seen.append(("x", g)) or g * 100)
    x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    return torch.autograd.grad(h * h, x), seen, x.grad


@same_as_torch
def test_a_removed_hook_does_not_run(torch):
    seen = []
    x = torch.tensor(2.0, requires_grad=True)
    first = x.register_hook(lambda g: seen.append(1))
    x.register_hook(lambda g: seen.append(2))
    first.remove()
    first.remove()
    with x.register_hook(lambda g: seen.append(3)):
        (x * 1).backward()
    (x * 1).backward()
    return seen


@same_as_torch
def test_prehooks_replace_the_incoming_gradient_and_posthooks_the_outgoing(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    y = x * w
    y.grad_fn.register_prehook(lambda g: (g[0] * 2,))
    y.grad_fn.register_prehook(lambda g: (g[0] + 1,))
    y.grad_fn.register_hook(lambda gi, go: (gi[0], torch.zeros(2)))
    y.sum().backward()
    return x.grad, w.grad


@same_as_torch
def test_a_hook_that_returns_nonsense_is_refused(torch):
    def with_hook(result):
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda g: result)
        (x * 2).sum().backward()

    def with_posthook(result):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.grad_fn.register_hook(lambda gi, go: result)
        y.sum().backward()

    return [error_of(lambda: with_hook(r)) for r in (torch.ones(3), 1.0)] + [
        error_of(lambda: with_posthook(r)) for r in ((torch.ones(2),), 5)
    ]


@same_as_torch
def test_an_error_in_a_hook_comes_out_of_backward_and_leaves_the_engine_usable(torch):
    def boom(g):
        raise ZeroDivisionError("in the hook")

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(boom)
    return error_of(lambda: y.sum().backward()), error_of(lambda: (x * 3).sum().backward()), x.grad


@same_as_torch
def test_a_hook_registered_after_an_in_place_change_watches_the_new_value(torch):
    log = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: log.append(("before the change", g)))
    y.mul_(5)
    y.register_hook(lambda g: log.append(("after the change", g)))
    y.sum().backward()
    return log, x.grad


@same_as_torch
def test_capture_by_grad_sees_the_hooked_gradient(torch):
    x = torch.tensor(2.0, requires_grad=True)
    h = x * 3
    h.register_hook(lambda g: g * 10)
    return torch.autograd.grad(h * h, [h, x])


@same_as_torch
def test_a_hook_may_start_another_backward(torch):
    x = torch.tensor(2.0, requires_grad=True)
    z = torch.tensor(5.0, requires_grad=True)
    y = x * 3

    def another(g):
        with torch.enable_grad():
            (z * z).backward()

    y.register_hook(another)
    (y * y).backward()
    return x.grad, z.grad


@same_as_torch(only_cpu="its hooks keep NumPy arrays")
def test_saved_tensor_hooks_pack_and_unpack(torch):
    log = []

    def pack(t):
        log.append(("pack", t.detach().clone()))
        return t.detach().numpy() * 10

    def unpack(a):
        log.append(("unpack", a))
        return torch.tensor(a)

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * x + x.exp()
    y.sum().backward()
    return log, x.grad


@same_as_torch
def test_multi_grad_hooks_run_once_all_or_any_gradients_are_there(torch):
    log = []
    a, b, c = (torch.ones(2, requires_grad=True) for _ in range(3))
    torch.autograd.graph.register_multi_grad_hook([a, b, c], lambda grads: log.append([g is not None for g in grads]))
    torch.autograd.graph.register_multi_grad_hook([a, b], lambda g: log.append(("any", g)), mode="any")
    (a * b).sum().backward()
    return log
