"""Views that were made before their base required a gradient, or where nothing is recorded: they require one because
their base does."""

import contextlib
import copy
import warnings

import pytest

from goldens.oracle import check, same_as_torch

WAYS = {
    "row": lambda w: w[1],
    "transposed": lambda w: w.T,
    "expanded": lambda w: w.expand(2, 2, 2),
    "flat": lambda w: w.view(-1),
    "one of several": lambda w: w.split(1, dim=1)[1],
    "a view of a view": lambda w: w[0].view(2, 1)[1:],
    "a view of one of several": lambda w: w.unbind(0)[1][:1],
    "detached": lambda w: w[0].detach(),
    "data": lambda w: w.data,
}


def facts(t):
    return (
        t.requires_grad,
        t.is_leaf,
        type(t.grad_fn).__name__,
        t._base is not None,
        t._version,
        t.output_nr,
    )


def edges(t):
    return t.grad_fn and [type(node).__name__ for node, _ in t.grad_fn.next_functions]


def used(torch, w, v):
    """What comes of computing with the view."""
    results = {
        "sum": v + 1,
        "square": v * v,
        "function": v.exp(),
        "with w": (v * 3).sum() * w,
        "view": v.unsqueeze(0),
        "joined": torch.cat([v, v]),
    }
    found = [(name, facts(r), edges(r)) for name, r in results.items()]
    for r in results.values():
        if r.requires_grad:
            r.sum().backward()
    return found, v.grad, w.grad


def changed(torch, w, v):
    v.add_(1)
    return facts(v), edges(v), facts(w), edges(w)


def changed_unrecorded(torch, w, v):
    with torch.no_grad():
        v.mul_(3)
    return facts(v), edges(v), facts(w), v + w.sum()


def base_changed(torch, w, v):
    with torch.no_grad():
        w.add_(1)
    return facts(v), edges(v)


def asked_for(torch, w, v):
    gradients = torch.autograd.grad((v * 2).sum() + w.sum(), [w, v], allow_unused=True)
    return gradients, v.sum().backward(), v.grad


def told(torch, w, v):
    v.requires_grad_(True)
    (v * 2).sum().backward()
    first = facts(v), v.grad, w.grad
    v.requires_grad_(False)
    return first, facts(v)


def given_a_gradient(torch, w, v):
    v.backward(torch.ones_like(v))
    return v.grad, w.grad


def copied(torch, w, v):
    again = copy.deepcopy(v)
    return again.requires_grad, again.is_leaf, facts(v.clone()), facts(v.detach())


USES = {
    f.__name__: f
    for f in (
        used,
        changed,
        changed_unrecorded,
        base_changed,
        asked_for,
        told,
        given_a_gradient,
        copied,
    )
}


def bases(torch):
    return {
        "a leaf": lambda: (torch.ones(2, 2, requires_grad=True), lambda w: None),
        "required later": lambda: (torch.ones(2, 2), lambda w: w.requires_grad_()),
        "a result": lambda: (torch.ones(2, 2, requires_grad=True) * 2, lambda w: None),
        "changed later": lambda: (
            torch.ones(2, 2),
            lambda w: w.mul_(torch.ones(2, 2, requires_grad=True)),
        ),
    }


def outcome(torch, base, mode, way, use):
    w, afterwards = bases(torch)[base]()
    with {
        "recorded": contextlib.nullcontext,
        "no_grad": torch.no_grad,
    }[mode]():
        v = WAYS[way](w)
    afterwards(w)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return facts(v), USES[use](torch, w, v)
    except (RuntimeError, AssertionError) as error:
        return type(error).__name__, str(error).split("\n")[0]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("mode", ["recorded", "no_grad"])
def test_a_view_requires_a_gradient_if_its_base_does(mode, use):
    def program(torch):
        return [
            (base, way, outcome(torch, base, mode, way, use))
            for base in bases(torch)
            for way in WAYS
        ]

    check("test_autograd_views", f"{mode}, {use}", program)


@same_as_torch
def test_what_is_wrong_with_gradients_that_are_asked_for(torch):
    def error(f):
        try:
            return f()
        except (RuntimeError, TypeError) as e:
            return type(e).__name__, str(e).split("\n")[0]

    x, frozen = torch.ones(2, requires_grad=True), torch.ones(2)
    grad, backward = torch.autograd.grad, torch.autograd.backward
    return [
        error(lambda: grad(frozen.sum(), frozen)),
        error(lambda: grad(frozen * 2, frozen)),
        error(lambda: grad(x * 2, frozen)),
        error(lambda: grad((x * 2).sum(), frozen)),
        error(lambda: grad(frozen.sum(), x)),
        error(lambda: grad([(x * 2).sum(), frozen.sum()], x)),
        error(lambda: grad((x * 2).sum(), [5])),
        error(lambda: backward((x * 2).sum(), inputs=["x"])),
        error(lambda: backward(frozen.sum(), inputs=[frozen])),
    ]
