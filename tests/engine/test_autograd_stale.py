"""In-place changes of what a node saved, and of what it did not: which are noticed, as PyTorch notices them."""

import pytest
from goldens import oracle
from goldens.oracle import check, error_of, same_as_torch

POOLS = {
    "tiles": lambda torch, h: torch.nn.functional.max_pool2d(h, 2),
    "overlapping": lambda torch, h: torch.nn.functional.max_pool2d(h, 3, stride=1, padding=1),
    "ceil": lambda torch, h: torch.nn.functional.max_pool2d(h, 3, stride=2, ceil_mode=True),
    "sequences": lambda torch, h: torch.nn.functional.max_pool1d(h[0], 2),
    "adaptive": lambda torch, h: torch.nn.functional.adaptive_max_pool2d(h, 3),
    "means": lambda torch, h: torch.nn.functional.avg_pool2d(h, 2),
}
CHANGES = {
    "relu_": lambda torch, y: y.relu_(),
    "mul_": lambda torch, y: y.mul_(-3),
    "a piece": lambda torch, y: y.view(-1)[2:].add_(1),
    "assigned": lambda torch, y: y.__setitem__(0, 0.5),
    "nan": lambda torch, y: y.fill_(float("nan")),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_pooling_returned_may_be_changed(dtype):
    """PyTorch keeps the places of the largest numbers, so what happens to the result does not concern it."""

    def program(torch):
        found = []
        for pool in POOLS:
            for change in CHANGES:
                x = (
                    (torch.arange(2 * 3 * 64) * 7 % 13 - 6)
                    .reshape(2, 3, 8, 8)
                    .to(getattr(torch, dtype))
                    .requires_grad_()
                )
                y = POOLS[pool](torch, x * 1)
                CHANGES[change](torch, y)
                (y * torch.arange(y.numel()).reshape(y.shape)).sum().backward()
                found.append((pool, change, y, x.grad))
        return found

    check("test_autograd_stale", f"pooling {dtype}", program)


@same_as_torch
def test_indices_that_were_changed_are_noticed(torch):
    def outcome(use):
        x, i = torch.arange(8.0).reshape(2, 4).requires_grad_(), torch.tensor([0, 1])
        y = use(x, i)
        i.add_(1)
        return error_of(lambda: y.sum().backward()), error_of(lambda: y.grad_fn._saved_indices)

    def assigned(x, i):
        z = x * 1
        z[0, i] = torch.tensor([5.0, 6.0], requires_grad=True)
        return z

    return [
        outcome(use)
        for use in (
            lambda x, i: x[i % 2],
            lambda x, i: x[:, i],
            lambda x, i: x[i, i],
            assigned,
        )
    ]


@same_as_torch
def test_whole_numbers_have_no_history(torch):
    w = torch.tensor(5.0, requires_grad=True)
    ways = [
        lambda i: i.__setitem__(0, w),
        lambda i: i.__setitem__(slice(0, 2), torch.stack([w, w])),
        lambda i: i[1:].copy_(w * 2),
        lambda i: i.copy_(torch.stack([w, w, w])),
        lambda i: i.__setitem__(0, w * 2) or i.__setitem__(1, 3),
    ]
    found = []
    for dtype in (torch.int64, torch.uint8, torch.bool):
        for way in ways:
            i = torch.tensor([1, 0, 3]).to(dtype)
            way(i)
            found.append((i, i.requires_grad, i.is_leaf, i._version, (i * 2.0).requires_grad))
    return found


KEPT = [
    "x ** 2", "x ** 2.5", "2 ** x", "x * 2", "2 / x", "x.clone().pow_(3)",
    "x.clamp(min=1.5)", "x.view(1, 2).t() @ x.view(1, 2)", "x[0:1]", "x.sum(0)", "x.masked_fill(x > 1, 0.0)",
]  # fmt: skip


@same_as_torch
def test_backward_frees_tensors_and_leaves_numbers(torch):
    """PyTorch keeps the exponent of `x ** 2` as a number, the factor of `x * 2` as a tensor."""
    found = []
    for code in KEPT:
        y = eval(code, {"torch": torch, "x": torch.tensor([1.25, 2.0], requires_grad=True)})
        y.sum().backward()
        node = y.grad_fn
        for name in sorted(n for n in dir(node) if n.startswith("_saved_")):
            error = error_of(lambda: getattr(node, name))
            found.append((code, name, repr(getattr(node, name)) if error == "no error" else error))
    return found


@pytest.mark.parametrize("options", [{"size": (3, 2)}, {"size": (2,), "dtype": "float64"}])
@pytest.mark.parametrize("which", ["leaf", "result"])
def test_other_data_of_another_shape_or_dtype_stops_earlier_graphs(options, which):
    torch = oracle.engine()
    new = torch.ones(options["size"], dtype=getattr(torch, options.get("dtype", "float32")))
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    (x if which == "leaf" else y).data = new
    with pytest.raises(RuntimeError, match="reached a tensor that has other data now"):
        y.sum().backward()
    if which == "leaf":
        (x * 2).sum().backward()
        assert x.grad.shape == new.shape and x.grad.dtype == new.dtype
