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
    x.register_post_accumulate_grad_hook(
        lambda p: log.append(("post accumulate", p is x, p.grad.clone()))
    )
    x.register_hook(lambda g: log.append(("tensor", g, x.grad)))
    x.register_hook(lambda g: -g)
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    return log, x.grad


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


def hooked_network(torch, log):
    """A leaf `x`, results and a leaf `w` whose hooks of every kind write into `log`."""
    x, w = (
        torch.tensor([1.0, 2.0], requires_grad=True),
        torch.tensor([0.5, 0.25], requires_grad=True),
    )
    y = x * w
    z = torch.sigmoid(y)
    loss = (z * y).sum()
    tensors = {"x": x, "w": w, "y": y, "z": z, "loss": loss}
    log.append([])
    for name, t in tensors.items():
        node = (t * 1).grad_fn.next_functions[0][0]
        log[0].append(node)  # a leaf's node lives as long as somebody holds it
        t.register_hook(
            lambda g, name=name: log.append(
                ("tensor", name, g.detach().clone(), torch.is_grad_enabled())
            )
        )
        node.register_prehook(
            lambda gs, name=name: log.append(("before", name, gs[0].detach().clone()))
        )
        node.register_hook(
            lambda gi, go, name=name: log.append(
                ("after", name, [g is not None for g in gi], len(go))
            )
        )
        if t.is_leaf:
            t.register_post_accumulate_grad_hook(
                lambda t, name=name: log.append(("accumulated", name, t.grad.detach().clone()))
            )
    return tensors


def alive(node):
    try:
        return [getattr(node, name) is not None for name in dir(node) if name.startswith("_saved_")]
    except RuntimeError:
        return "freed"


def run_for(torch, names, call, create_graph):
    log = []
    tensors = hooked_network(torch, log)
    wanted = [tensors[name] for name in names]
    if call == "backward":
        tensors["loss"].backward(inputs=wanted, create_graph=create_graph)
        found = []
    else:
        found = [
            g.detach()
            for g in torch.autograd.grad(tensors["loss"], wanted, create_graph=create_graph)
        ]
    grads = [
        (name, t.grad if t.grad is None else t.grad.detach())
        for name, t in tensors.items()
        if t.is_leaf or name in names
    ]
    return log[1:], found, grads, [alive(t.grad_fn) for t in tensors.values() if not t.is_leaf]


@same_as_torch
def test_hooks_of_every_kind_when_only_some_gradients_are_wanted(torch):
    wanted = [["x"], ["w"], ["x", "w"], ["y"], ["z"], ["y", "w"], ["z", "x"], ["loss"]]
    return [
        run_for(torch, names, call, create_graph)
        for names in wanted
        for call in ("backward", "grad")
        for create_graph in (False, True)
    ]
