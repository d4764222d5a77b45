"""Functions that PyTorch composes of others, and second names."""

import pytest
from goldens.oracle import check

FUNCTIONS = {
    "cdist": lambda t, x: [
        t.cdist(x, x * 2),
        t.cdist(x, x[:2] + 1, p=1.0),
        t.cdist(x[None], x[None], p=3.0),
    ],
    "rot90": lambda t, x: [
        t.rot90(x),
        x.rot90(2),
        t.rot90(x, -1),
        t.rot90(x, 3, (1, 0)),
        t.rot90(x, 4),
    ],
    "second names": lambda t, x: [
        t.multiply(x, 2),
        t.divide(x, 3),
        t.true_divide(x, x + 9),
        t.subtract(x, x, alpha=2),
        t.negative(x),
    ],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name):
    def program(t):
        t.manual_seed(0)
        x = t.randn(3, 4).requires_grad_()
        outputs = FUNCTIONS[name](t, x)
        weights = [
            t.linspace(0.5, 1.5, max(y.numel(), 1))[: y.numel()].reshape(y.shape) for y in outputs
        ]
        loss = sum((w * y).sum() for w, y in zip(weights, outputs) if y.numel() and y.requires_grad)
        loss.backward()
        return [outputs, x.grad]

    check("test_conveniences", name, program, rtol=2e-5, atol=1e-6)
