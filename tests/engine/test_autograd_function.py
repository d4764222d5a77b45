"""Custom `autograd.Function`s in every variant PyTorch has."""

import pytest
from goldens import oracle
from goldens.oracle import error_of, same_as_torch


def scale_by(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, k=1.0):
            ctx.save_for_backward(x, w)
            ctx.k = k
            return x * w * k

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g * w * ctx.k, (g * x * ctx.k if ctx.needs_input_grad[1] else None), None

    return Scale


@same_as_torch
def test_the_classic_form(torch):
    f = scale_by(torch).apply
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0])
    y = f(x, w, 2.0)
    y.sum().backward()
    n = y.grad_fn
    return (
        y,
        n.name(),
        type(n).__name__,
        len(n.next_functions),
        n.next_functions[1:],
        x.grad,
        w.grad,
        error_of(lambda: y.sum().backward()),
    )


@same_as_torch
def test_inside_forward_grad_is_off_and_inputs_are_as_given(torch):
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, s):
            seen.append(
                (
                    torch.is_grad_enabled(),
                    x.requires_grad,
                    ctx.needs_input_grad,
                    type(x).__name__,
                    s,
                )
            )
            return x + w

        @staticmethod
        def backward(ctx, g):
            seen.append((torch.is_grad_enabled(), g.requires_grad, ctx.needs_input_grad))
            return g, g, None

    x = torch.ones(2, requires_grad=True)
    y = F.apply(x * 2, torch.ones(2), "text")
    torch.autograd.grad(y.sum(), x, create_graph=True)
    with torch.no_grad():
        z = F.apply(x, x, None)
    return seen, z.requires_grad


@same_as_torch
def test_setup_context(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3, x * 0 + 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            (x,) = inputs
            ctx.save_for_backward(x)
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx, g, _):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y, one = Cube.apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return (
        y,
        one,
        one.requires_grad,
        g,
        torch.autograd.grad(g.sum(), x),
        torch.autograd.gradcheck(lambda t: Cube.apply(t)[0], x),
    )


@same_as_torch
def test_double_backward_through_backward(torch):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
    y = Exp.apply(x)
    found = [y]
    for _ in range(3):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        found.append(y)
    return found, torch.autograd.gradgradcheck(Exp.apply, x), y.grad_fn.name()


@same_as_torch
def test_once_differentiable(torch):
    from_torch = __import__(torch.__name__ + ".autograd.function", fromlist=["once_differentiable"])

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @from_torch.once_differentiable
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad(F.apply(x).sum(), x, create_graph=True)
    return g, g.requires_grad, error_of(lambda: g.sum().backward())


@same_as_torch
def test_outputs_that_get_no_gradient(torch):
    log = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, a, b):
            log.append((a, b))
            return (a if b is None else b), None

    for materialize in (True, False):
        x = torch.ones(2, requires_grad=True)
        Two.apply(x, materialize)[0].sum().backward()
        log.append(x.grad)
    return log


@same_as_torch
def test_mark_dirty_for_an_in_place_function(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    leaf = torch.ones(2, requires_grad=True)
    x = leaf * 1
    y = Double.apply(x)
    same, names = y is x, (y.grad_fn.name(), y._version)
    y.sum().backward()
    return same, names, leaf.grad, error_of(lambda: Double.apply(leaf))


@same_as_torch
def test_returning_the_input_or_a_view_of_it(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    class Row(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[0]

        @staticmethod
        def backward(ctx, g):
            out = torch.zeros(2, 2)
            out[0] = g
            return out

    x = torch.ones(2, 2, requires_grad=True)
    y, r = Same.apply(x), Row.apply(x)
    (y.sum() + r.sum()).backward()
    return (
        y is x,
        y.grad_fn.name(),
        r.grad_fn.name(),
        r._is_view(),
        x.grad,
        error_of(lambda: Row.apply(x).mul_(2)),
    )


@same_as_torch
def test_what_a_wrong_backward_is_told(torch):
    def make(result):
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return result(g)

        x = torch.ones(2, requires_grad=True)
        return error_of(lambda: F.apply(x).sum().backward()), x.grad

    return [
        make(result)
        for result in (
            lambda g: (g, g),
            lambda g: torch.ones(3),
            lambda g: None,
            lambda g: (g, None),
            lambda g: 3,
            lambda g: g.double(),
            lambda g: torch.ones(1, 2),
        )
    ]


@same_as_torch
def test_missing_or_wrong_parts(torch):
    class NoForward(torch.autograd.Function):
        pass

    class NoBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class ReturnsText(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return "text"

    class SavesNumber(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(1.0)
            return x * 2

    x = torch.ones(2, requires_grad=True)
    return [
        error_of(action)
        for action in (
            lambda: NoForward.apply(x),
            lambda: NoBackward.apply(x).sum().backward(),
            lambda: ReturnsText.apply(x),
            lambda: SavesNumber.apply(x),
            lambda: NoBackward()(x),
            lambda: NoBackward.apply(),
        )
    ]


@same_as_torch
def test_saved_tensors_are_guarded_by_their_version(torch):
    f = scale_by(torch).apply
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2)
    y = f(x, w)
    w.add_(1)
    return error_of(lambda: y.sum().backward())


@same_as_torch
def test_several_tensor_outputs_share_one_node(torch):
    class Parts(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1] * 2, x[1:] * 3

        @staticmethod
        def backward(ctx, a, b):
            return torch.cat([a * 2, b * 3])

    x = torch.arange(3.0, requires_grad=True)
    a, b = Parts.apply(x)
    (a.sum() * 10 + (b**2).sum()).backward()
    return a.grad_fn is b.grad_fn, a.output_nr, b.output_nr, x.grad


@same_as_torch
def test_the_context_is_reachable_from_the_node(torch):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.note = "kept"
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    y = F.apply(torch.tensor([1.0, 2.0], requires_grad=True))
    return y.grad_fn.note, y.grad_fn.saved_tensors, repr(y), y.grad_fn._sequence_nr() >= 0


def custom(torch, forward, backward=lambda ctx, g, *rest: g):
    parts = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Custom", (torch.autograd.Function,), parts)


def marked(torch, mark, value):
    def forward(ctx, a):
        a.mul_(3)
        getattr(ctx, mark)(value(a))
        return a

    return custom(torch, forward)


@same_as_torch
def test_a_changed_input_has_to_be_returned(torch):
    def forward(ctx, a, b):
        ctx.mark_dirty(a.mul_(2), b.add_(1))
        return a, b * 2

    x = torch.ones(2, requires_grad=True)
    return error_of(lambda: custom(torch, forward).apply(x * 1, x * 2))


@same_as_torch
def test_inputs_that_are_returned_without_a_gradient(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 2
    y = marked(torch, "mark_non_differentiable", lambda a: a).apply(h)

    def keep(ctx, a):
        ctx.mark_non_differentiable(a)
        return a

    z = custom(torch, keep).apply(h)
    with torch.no_grad():
        w = custom(torch, lambda ctx, a: a).apply(h)
    found = [(t.requires_grad, t.is_leaf, t is h, t._is_view()) for t in (y, z, w)]
    z += 1
    return found, h, z


def test_a_view_that_forward_changes_is_refused():
    torch = oracle.engine()
    row = (torch.ones(2, 2, requires_grad=True) * 1)[1]
    with pytest.raises(NotImplementedError, match="mark_dirty of a view"):
        marked(torch, "mark_dirty", lambda a: a).apply(row)


@same_as_torch
def test_arguments_by_keyword(torch):
    scaled = custom(torch, lambda ctx, a, by=2, plus=0: a * by + plus, lambda ctx, g: (g, None))
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    class Bound(torch.autograd.Function):
        @staticmethod
        def forward(a, by=4):
            return a * by

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.by = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.by, None

    Bound.apply(x).sum().backward()
    Bound.apply(by=3, a=x).sum().backward()
    calls = (
        lambda: Bound.apply(x, minus=1),
        lambda: Bound.apply(by=1),
    )
    return scaled.apply(x, by=7), scaled.apply(a=x), x.grad, [error_of(c) for c in calls]
