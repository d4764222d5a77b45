"""Random programs of tensor code, the same for any engine: from a `random.Random`, so that hypothesis can draw and
shrink them.

A program is data (a list of steps); `run_*` executes it on the module it is given.
"""

from __future__ import annotations

UNARY = "sin cos tanh exp sigmoid neg square abs softplus log1p_abs".split()
BINARY = ("add", "sub", "mul", "div_safe", "maximum", "pow_safe")


def apply(torch, name, *xs):
    """The operation `name` on tensors; the `_safe` ones stay away from poles and zero."""
    match name:
        case "neg":
            return -xs[0]
        case "square":
            return xs[0] ** 2
        case "softplus":
            return torch.nn.functional.softplus(xs[0])
        case "log1p_abs":
            return torch.log1p(xs[0].abs())
        case "add":
            return xs[0] + xs[1]
        case "sub":
            return xs[0] - xs[1]
        case "mul":
            return xs[0] * xs[1]
        case "div_safe":
            return xs[0] / (xs[1] ** 2 + 1)
        case "pow_safe":
            return (xs[0] ** 2 + 0.5) ** (xs[1].tanh())
        case _:
            return getattr(torch, name)(*xs)


def random_dag(rng, leaves=3, steps=12, unary=UNARY, binary=BINARY):
    """Steps (operation, operand numbers); operands count leaves first, then earlier results. Sharing and dead ends are
    common."""
    program = []
    for k in range(rng.randint(1, steps)):
        name = rng.choice(unary if rng.random() < 0.4 else binary)
        arity = 1 if name in unary else 2
        program.append((name, [rng.randrange(leaves + k) for _ in range(arity)]))
    return program


def run_dag(torch, program, leaves):
    """All values of the program, leaves first."""
    values = list(leaves)
    for name, operands in program:
        values.append(apply(torch, name, *(values[i] for i in operands)))
    return values


def random_expression(rng, steps=8):
    """A smooth scalar function of (x, y): a DAG without kinks, whose last value is the result."""
    return random_dag(
        rng,
        leaves=2,
        steps=steps,
        unary=("sin", "cos", "tanh", "sigmoid", "square"),
        binary=("add", "sub", "mul", "div_safe"),
    )


VIEWS = "slice select transpose flat step unsqueeze expand_row".split()
EDITS = "mul_ add_ set sin_ zero_ copy_ add_view masked".split()


def random_view_program(rng, steps=9):
    """Views and in-place edits on a clone of a 3x4 leaf: ('view', kind, of) or ('edit', kind, of, with) or ('use',
    of)."""
    program, views = [], 1
    for _ in range(rng.randint(1, steps)):
        if rng.random() < 0.45:
            program.append(("view", rng.choice(VIEWS), rng.randrange(views)))
            views += 1
        elif rng.random() < 0.75:
            program.append(("edit", rng.choice(EDITS), rng.randrange(views), rng.randrange(views)))
        else:
            program.append(("use", rng.randrange(views)))
    return program


def take_view(torch, kind, v):
    """A view of `v`, whatever its shape; `v` itself where the kind does not apply."""
    if v.dim() == 0:
        return v.unsqueeze(0) if kind == "unsqueeze" else v
    match kind:
        case "slice":
            return v[: max(1, v.shape[0] - 1)]
        case "select":
            return v[v.shape[0] // 2]
        case "transpose":
            return v.transpose(0, -1)
        case "flat":
            return v.view(-1) if v.is_contiguous() else v
        case "step":
            return v[..., ::2]
        case "unsqueeze":
            return v.unsqueeze(-1)
        case "expand_row":
            return v[:1].squeeze(0) if v.shape[0] > 1 else v
    raise ValueError(kind)


def edit(torch, kind, v, other):
    """An in-place change of `v`; `other` is another tensor of the program, used out of place."""
    match kind:
        case "mul_":
            v.mul_(1.5)
        case "add_":
            v.add_(other.sum() * 0.1)
        case "set":
            v[...] = 2.0
        case "sin_":
            v.sin_()
        case "zero_":
            v.zero_()
        case "copy_":
            v.copy_(other.mean().detach() + torch.ones_like(v))
        case "add_view":
            v += other.detach().sum() * v.detach()
        case "masked":
            v.masked_fill_(v.detach() > 1.0, 0.5)


def run_views(torch, program, leaf):
    """Runs on a clone of `leaf`. Returns the loss over all that was used, the views, and their grad_fn names."""
    base = leaf.clone()
    views, used = [base], []
    for step in program:
        if step[0] == "view":
            views.append(take_view(torch, step[1], views[step[2]]))
        elif step[0] == "edit":
            edit(torch, step[1], views[step[2]], views[step[3]])
        else:
            used.append((views[step[1]] * 2.0).sum())
    loss = (base**2).sum() + sum(used)
    for v in views[1:]:
        loss = loss + v.sum()
    return loss, views
