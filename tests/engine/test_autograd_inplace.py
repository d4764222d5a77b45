"""In-place changes: version counters, views that share memory, and the history that is rewritten (CopySlices)."""

import random

import numpy as np
import pytest
from engine_programs import EDITS, VIEWS, random_view_program, run_views
from goldens import oracle
from goldens.oracle import check, error_of, same_as_torch


def outcome(program):
    """The question: what a program of views and edits computes, its gradient, versions and grad_fn names — or its
    error."""

    def ask(torch):
        leaf = (
            torch.arange(12.0, dtype=torch.float64).reshape(3, 4).div(7).sub(0.8).requires_grad_()
        )
        try:
            loss, views = run_views(torch, program, leaf)
            loss.backward()
        except RuntimeError as error:
            return f"{type(error).__name__}: {error}"
        return (
            loss,
            leaf.grad,
            [v._version for v in views],
            [v.grad_fn.name() for v in views],
            [v._is_view() for v in views],
            views,
        )

    return ask


@pytest.mark.parametrize("seed", range(40))
def test_random_views_and_edits(seed):
    program = random_view_program(random.Random(seed))
    check("test_autograd_inplace", f"views {seed}", outcome(program), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", EDITS)
def test_every_edit_of_every_view(view, kind):
    for program in (
        [("view", view, 0), ("edit", kind, 1, 0)],
        [("view", view, 0), ("edit", kind, 0, 1), ("use", 1)],
        [
            ("view", view, 0),
            ("view", view, 1),
            ("edit", kind, 2, 0),
            ("edit", "mul_", 1, 0),
            ("use", 0),
        ],
    ):
        check(
            "test_autograd_inplace",
            f"{view} {kind} {len(program)}",
            outcome(program),
            rtol=1e-10,
            atol=1e-10,
        )


@same_as_torch
def test_versions_count_every_change_and_are_shared_by_views(torch):
    x = torch.zeros(3, 4)
    v, d, data = x[0], x.detach(), x.data
    seen = [x._version]
    for change in (
        lambda: x.add_(1),
        lambda: v.mul_(2),
        lambda: d.zero_(),
        lambda: data.fill_(3),
        lambda: x.t()[1].sub_(1),
        lambda: x.__setitem__((0, 0), 5.0),
        lambda: torch.sin(x),
        lambda: x.copy_(torch.ones(3, 4)),
        lambda: x.clone().add_(1),
    ):
        change()
        seen.append((x._version, v._version, d._version, data._version))
    return seen, x


@same_as_torch
def test_which_saved_values_a_change_destroys(torch):
    def attempt(build, change):
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        h = x * 2
        y = build(h)
        change(h, y)
        return error_of(lambda: y.sum().backward()), x.grad

    add_h, add_y = (lambda h, y: h.add_(1)), (lambda h, y: y.add_(1))
    return [
        attempt(build, change)
        for build in (
            torch.exp,
            torch.sin,
            torch.sigmoid,
            torch.tanh,
            torch.relu,
            torch.sqrt,
            torch.log,
            lambda h: h * 3,
            lambda h: h + 1,
            lambda h: h * h,
            lambda h: h**2,
            lambda h: h.softmax(0),
            lambda h: h.abs(),
            lambda h: h.max(),
            lambda h: h / 2,
            lambda h: 2 / h,
            lambda h: h.prod(),
            lambda h: h.clone(),
            lambda h: h[1:],
            lambda h: torch.cat([h, h]),
            lambda h: h.mean(),
        )
        for change in (add_h, add_y)
    ]


@same_as_torch
def test_errors_of_in_place_changes(torch):
    def on(x, change):
        return error_of(lambda: change(x))

    leaf = lambda: torch.ones(4, requires_grad=True)
    with torch.no_grad():
        hidden = leaf()[1:]
    changes = [
        on(leaf(), lambda x: x.mul_(2)),
        on(leaf(), lambda x: x[1:].zero_()),
        on(leaf(), lambda x: x.view(2, 2).t().add_(1)),
        on(leaf(), lambda x: x.__setitem__(0, 1.0)),
        on(leaf(), lambda x: x.fill_(1)),
        on(leaf(), lambda x: x.copy_(torch.zeros(4))),
        on(leaf() * 1, lambda x: x.chunk(2)[0].mul_(2)),
        on(leaf() * 1, lambda x: x.unbind()[3].zero_()),
        on(hidden, lambda x: x.add_(1)),
        on(torch.ones(4), lambda x: x.add_(torch.ones(2, 4))),
        on(torch.ones(1), lambda x: x.add_(torch.ones(4))),
        on(torch.arange(4), lambda x: x.add_(1.5)),
        on(torch.ones(4) > 0, lambda x: x.add_(1.0)),
        on(torch.ones(4), lambda x: x.exp_().log_()),
        on(torch.ones(1).expand(4), lambda x: x.add_(1)),
        on(torch.arange(4), lambda x: x.sqrt_()),
    ]
    with torch.no_grad():
        quiet = leaf()
        quiet.mul_(3)
        quiet[1:].sub_(1)
    return changes, quiet, quiet.grad_fn, quiet._version


def test_numpy_and_the_tensor_share_memory_through_edits():
    torch = oracle.engine()
    array = np.zeros((2, 3), dtype=np.float32)
    t = torch.from_numpy(array)
    t[1] = 5.0
    array[0, 0] = 7.0
    t.t()[2].add_(1)
    assert t.tolist() == array.tolist() == [[7.0, 0.0, 1.0], [5.0, 5.0, 6.0]]
    assert t[0].numpy().base is not None and np.shares_memory(t[0].numpy(), array)


def _changed(torch, change):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    v = y[1:]
    for t in (y, v):
        t.retain_grad()
    change(y, v)
    (y * y).sum().backward(retain_graph=True)
    (v * v).sum().backward()
    return x.grad, y.grad, v.grad, y.retains_grad, v.retains_grad


@same_as_torch
def test_retained_gradients_follow_a_change_in_place(torch):
    changes = (lambda y, v: y.mul_(3), lambda y, v: v.mul_(3), lambda y, v: y.__setitem__(0, 5.0))
    return [_changed(torch, change) for change in changes]


@same_as_torch
def test_an_argument_that_an_op_overwrote_is_noticed_in_backward(torch):
    """`y.mul_(y)` reads y for its gradient and changes it: computing on would give another gradient."""
    errors = []
    for name in ("mul_", "div_", "pow_", "add_", "sub_"):
        x = torch.tensor([1.5, 2.0], requires_grad=True)
        y = x * 1
        getattr(y, name)(y)
        errors.append((error_of(lambda: y.sum().backward()), x.grad))
    return errors


@same_as_torch
def test_reading_what_is_being_overwritten(torch):
    y = torch.arange(6.0)
    return (
        error_of(lambda: y.add_(y[0])),
        error_of(lambda: y[1:].mul_(y[:-1])),
        error_of(lambda: y[1:].copy_(y[:-1])),
        error_of(lambda: y[:3].mul_(y[3:])),
        error_of(lambda: y[::2].mul_(y[1::2])),
        error_of(lambda: y.mul_(y)),
        error_of(lambda: y.mul_(y.view(6))),
        y,
    )


@same_as_torch
def test_views_whose_base_was_changed_and_that_cannot_follow(torch):
    """One of several views, or a view made without recording: it has no history after the change, and using it says
    so."""

    def used(make):
        y = torch.tensor([1.0, 2.0], requires_grad=True) * 1
        v = make(y)
        y.add_(1)
        return str(v), v.requires_grad, error_of(lambda: v.grad_fn), error_of(lambda: v.is_leaf)

    def unrecorded(y):
        with torch.no_grad():
            return y.view(-1)

    return [
        used(make)
        for make in (lambda y: y.unbind()[0], lambda y: y.split(1)[1], lambda y: y[:1], unrecorded)
    ]
