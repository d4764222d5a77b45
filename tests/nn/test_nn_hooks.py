"""Hooks of modules: order, arguments, replacements, removal, warnings; the same programs run on PyTorch."""

import warnings

import pytest
from goldens.oracle import check, error_of, same_as_torch

import autolab


def shapes(grads):
    return [None if g is None else list(g.shape) for g in grads]


@same_as_torch
def test_order_and_arguments(t):
    t.manual_seed(0)
    m, log = t.nn.Linear(2, 1), []
    m.register_forward_pre_hook(
        lambda mod, args: log.append(["pre", mod is m, type(args).__name__, len(args)])
    )
    m.register_forward_hook(
        lambda mod, args, out: log.append(["fwd", type(args).__name__, list(out.shape)])
    )
    m.register_full_backward_hook(lambda mod, gi, go: log.append(["bwd", gi, go]))
    m.register_full_backward_hook(lambda mod, gi, go: log.append(["bwd second"]))
    x = t.ones(3, 2, requires_grad=True)
    y = m(input=x)
    log.append(["called", y.grad_fn.name() if y.grad_fn else None])
    (m(x) * 2).sum().backward()
    return [*log, x.grad]


@same_as_torch
def test_replacements(t):
    t.manual_seed(0)
    m = t.nn.Linear(2, 2)
    x = t.ones(1, 2, requires_grad=True)
    found = []
    handles = [
        m.register_forward_pre_hook(lambda mod, args: args[0] * 0),
        m.register_forward_hook(lambda mod, args, out: out * 10),
        m.register_full_backward_hook(lambda mod, gi, go: (gi[0] + 5,)),
    ]
    y = m(x)
    y.sum().backward()
    found += [y, y.grad_fn.name(), x.grad, m.bias.grad, m.weight.grad]
    for handle in handles:
        handle.remove()
    y = m(x)
    found += [y, y.grad_fn.name(), len(m._forward_hooks), len(m._backward_hooks)]
    with m.register_forward_hook(lambda mod, args, out: None) as handle:
        found += [type(handle).__name__, len(m._forward_hooks), m(x)]
    return [*found, len(m._forward_hooks)]


@same_as_torch
def test_several_inputs_and_outputs(t):
    class M(t.nn.Module):
        def forward(self, a, n):
            return a * 4, 3, t.ones(2)

    m, log = M(), []
    m.register_full_backward_hook(lambda mod, gi, go: log.append([shapes(gi), shapes(go)]))
    a = t.ones(2, requires_grad=True)
    x, three, y = m(a, 5)
    x.sum().backward()
    return [*log, three, type(m(a, 5)).__name__, a.grad, y.requires_grad]


@same_as_torch
def test_no_input_needs_a_gradient(t):
    t.manual_seed(0)
    m, log = t.nn.Linear(2, 1), []
    m.register_full_backward_hook(lambda mod, gi, go: log.append([shapes(gi), shapes(go)]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m(t.ones(3, 2)).sum().backward()
    log.append([str(w.message) for w in caught])
    bad = t.nn.Linear(2, 1)
    bad.register_full_backward_hook(lambda mod, gi, go: (t.ones(1),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log.append(error_of(lambda: bad(t.ones(3, 2)).sum().backward()))
    return log


REPLACEMENTS = [
    "(t.zeros(2, 3),)",
    "(t.zeros(2, 2),)",
    "(t.zeros(1),)",
    "(t.zeros(2, 3).double(),)",
    "(t.zeros(2, 2).double(),)",
    "(3,)",
    "()",
    "3",
]


@pytest.mark.parametrize(
    "kind",
    [
        "register_full_backward_hook",
        "node",
        "node pre",
    ],
)
def test_what_may_replace_gradients(kind):
    """A gradient keeps its size and dtype, whoever replaces it."""

    def program(t):
        found = []
        for text in REPLACEMENTS:

            def replaced(*args, text=text):
                return eval(text, {"t": t})

            t.manual_seed(0)
            layer, x = t.nn.Linear(2, 3), t.ones(2, 2, requires_grad=True)
            if "node" not in kind:
                getattr(layer, kind)(replaced)
            y = layer(x).exp()
            if "node" in kind:
                (y.grad_fn.register_prehook if "pre" in kind else y.grad_fn.register_hook)(replaced)
            found += [error_of(y.sum().backward), x.grad]
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check("test_nn_hooks", f"replaced: {kind}", program)


def test_what_is_refused_says_what_to_use():
    module = autolab.nn.ReLU()
    for option in ("always_call", "prepend", "with_kwargs"):
        with pytest.raises(NotImplementedError, match=option):
            module.register_forward_hook(print, **{option: True})
