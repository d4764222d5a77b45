# What a learner's first cell might hold: a shared leaf, x * x, constants, a matrix, a real backward pass.
import autolab as torch

with torch.record() as recording:
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor([[1.0, -2.0], [0.5, 4.0]], requires_grad=True)
    s = x * x + 3 * x
    t = (0.1 * s).tanh()
    z = (t * w).sum()
    z.backward()
explorer = torch.explore(recording)
explorer  # noqa: B018 (the last line of a cell is what it shows)
