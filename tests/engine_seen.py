"""What stands before the expressions of some tests (for `engine_outcomes.outcome`): tensors of all kinds, what a node
remembers, two derivatives."""

START = """
a = torch.arange(6.).view(2, 3) - 2
m = torch.arange(1., 13.).view(3, 4) / 4
i = torch.tensor([12, -18, 0])
b = i > 0
v = torch.tensor([.5, -1., 2.])
c = torch.arange(24.).view(2, 3, 4) / 8 - 1
g = torch.tensor([[1., 2., 4.], [.5, -1., 3.], [2., 0., 1.]], requires_grad=True)
h = torch.tensor([.3, -.2, .7], requires_grad=True)
k = torch.tensor([0, 2])

def seen(saved):
    if isinstance(saved, torch.Tensor):
        return tuple(saved.shape)
    return saved - 2**64 if isinstance(saved, int) and saved > 2**63 else saved  # PyTorch shows negative numbers as unsigned ones

def nodes(y):
    node = y.grad_fn
    saved = {name: str(seen(getattr(node, name))) for name in dir(node) if name.startswith("_saved")}
    return [node.name(), [n.name() if n else None for n, _ in node.next_functions], saved]

def second(f, *xs):
    y = f(*xs)
    weights = torch.cos(torch.arange(float(y.numel()))).view(y.shape).to(y.dtype)
    gradients = torch.autograd.grad(y, xs, weights, create_graph=True, allow_unused=True)
    first = [x if x is None else [x.grad_fn and x.grad_fn.name(), x.detach().contiguous()] for x in gradients]
    total = sum((x * x).sum() * .5 + x.sum() for x in gradients if x is not None)
    if not isinstance(total, torch.Tensor) or not total.requires_grad:
        return [y, first, None]
    return [y, first, [x if x is None else x.contiguous() for x in torch.autograd.grad(total, xs, allow_unused=True)]]
"""
