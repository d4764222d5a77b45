"""The randomised leaky ReLU against PyTorch: its slopes come from the random stream, and what is refused."""

import pytest
from goldens.oracle import check, error_of


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
