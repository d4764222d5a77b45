"""The randomised leaky ReLU, whose slopes come from PyTorch's random stream, and channels that are shuffled; against
PyTorch."""

import pytest
from goldens.oracle import check, error_of


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("training", [True, False])
def test_rrelu(training, dtype):
    """The same slopes, and only as many numbers taken from the stream as there are numbers that are not positive."""

    def program(t):
        t.manual_seed(5)
        x = t.randn(3, 5, dtype=getattr(t, dtype)).requires_grad_()
        wide = t.nn.functional.rrelu(x, 0.1, 0.7, training)
        narrow = t.nn.functional.rrelu(x.t() * 1, 0.3, 0.3000001, training)
        (g,) = t.autograd.grad((wide * wide).sum() + narrow.cos().sum(), x, create_graph=True)
        second = t.autograd.grad((g * g).sum(), x)[0]
        return [wide.detach(), narrow.detach(), g.detach(), second, t.rand(3)]

    check("test_nn_rrelu", f"rrelu {training} {dtype}", program, rtol=2e-6)


CALLS = [
    "F.rrelu(x, training=True)", "F.rrelu(x[0, 0], training=True)", "F.rrelu(x[:0], training=True)", "F.rrelu(x.t(), training=True)",
    "F.rrelu(x, -1, 2, True)", "F.rrelu(x, 0.2, 0.2, True)", "F.rrelu(x, 0.5, 0.2)", "torch.nn.RReLU()", "torch.nn.RReLU(0.5, 0.7).eval()(x)",
    "torch.nn.RReLU(0.5, 0.7)(x)", "torch.rrelu(x, training=True, generator=torch.Generator().manual_seed(3))",
    "y = x.clone(); z = F.rrelu(y, training=True, inplace=True); (z is y, y._version, y)",
]  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_calls(text):
    def program(t):
        t.manual_seed(1)
        named = {
            "torch": t,
            "F": t.nn.functional,
            "x": t.randn(2, 3),
            "c": t.arange(24).view(2, 6, 2),
        }
        *before, last = text.split("; ")
        found = []

        def act():
            exec("\n".join(before), named)
            found.append(eval(last, named))

        said = error_of(act)
        return [
            said,
            *(f if isinstance(f, (t.Tensor, tuple)) else repr(f) for f in found),
            t.rand(1),
        ]

    check("test_nn_rrelu", text, program, only_cpu="words about dtypes come from CPU kernels")
