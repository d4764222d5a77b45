"""Mixed precision, `out=` and `storage()`: dtypes, values, gradients and errors are PyTorch's."""

import warnings

import pytest

import autolab
from goldens.oracle import check, error_of

IN_AUTOCAST = [
    *[f"F.{loss}(y, y.sigmoid())" for loss in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div",
                                               "binary_cross_entropy_with_logits")],
    "F.binary_cross_entropy(y.sigmoid(), y.sigmoid())", "F.cross_entropy(y, c)", "F.nll_loss(y, c)",
    "F.cosine_embedding_loss(y, y, torch.ones(4))", "F.softmax(y, 1)", "F.layer_norm(y, (2,))",
    "y.exp()", "y.sum()", "y.prod()", "y + x[:, :2]", "x @ x.T", "x.double() @ x.T.double()", "torch.mv(x, x[0])", "x[0] @ x[0]",
    "torch.dot(x[0], x[0])", "torch.einsum('ij,kj->ik', x, x)", "torch.addmm(y, x, x[:3, :2])", "torch.bmm(x[None], x.T[None])",
    "F.conv1d(x[None], x[None])", "F.prelu(x, torch.ones(1))", "torch.trace(y)", "torch.cdist(x, x)", "torch.cat([y, x[:, :2]])",
    "torch.is_autocast_enabled('cpu')", "F.scaled_dot_product_attention(x[None], x[None], x[None])",
]  # fmt: skip

OUT = [
    "torch.add(a, a, out=o)", "torch.mul(a, 3, out=o)", "torch.sub(a, a, alpha=2, out=o)", "torch.div(i, i, out=torch.empty(0))",
    "torch.div(i, i, out=i)", "torch.matmul(a, a, out=torch.empty(2, 2))", "torch.bmm(a[None], a[None], out=torch.empty(0))",
    "torch.mul(i, i, out=a)", "torch.add(a > 0, a > 0, out=i)", "torch.add(i, i, out=a > 0)",
    "torch.mul(a, a, out=torch.empty(4, 4)[:2, :2])", "torch.matmul(a.double(), a.double(), out=a)",
    "torch.mul(a.requires_grad_(), a, out=o)", "torch.mm(a, a, out=a.requires_grad_())",
]  # fmt: skip


def shown(value):
    dtype = getattr(value, "dtype", None)
    return [str(dtype), value.float()] if dtype is not None else value


@pytest.mark.parametrize("text", IN_AUTOCAST)
def test_dtypes_in_autocast(text):
    def act(t):
        x = (t.arange(12.0).view(4, 3) / 7).sin()
        names = {"torch": t, "F": t.nn.functional, "x": x, "c": t.tensor([0, 1, 0, 1])}
        with t.autocast("cpu", dtype=t.float16):
            names["y"] = t.nn.functional.linear(x, x[:2], x[0, :2])
            return shown(eval(text, names))

    check("test_autocast", text, act, rtol=2e-3, atol=1e-3)


def test_a_training_loop_with_a_scaler():
    def act(t):
        layer = t.nn.Linear(3, 2)
        with t.no_grad():
            layer.weight.copy_(t.tensor([[0.5, -1.0, 2.0], [0.25, 1.5, -0.5]]))
            layer.bias.zero_()
        optimizer = t.optim.SGD(layer.parameters(), lr=0.125)
        scaler = t.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
        x, seen = t.tensor([[1.0, 2.0, 0.5], [0.25, -1.0, 1.0]]), []
        for factor in (1.0, 1.0, float("inf"), 1.0):
            optimizer.zero_grad()
            with t.autocast("cpu", dtype=t.float16):
                y = layer(x)
                loss = (layer(y @ layer.weight) ** 2).mean() * factor
            scaler.scale(loss.float()).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            seen += [
                str(y.dtype),
                str(layer.weight.grad.dtype),
                layer.weight.detach().clone(),
                scaler.state_dict(),
            ]
        return seen

    check("test_autocast", "training", act, rtol=2e-3, atol=1e-3)


SCALING = [
    "s.unscale_(o)", "s.scale(3)", "s.scale([l, l])[1]", "s.scale(l).backward(); s.unscale_(o); s.unscale_(o)",
    "s.scale(l).backward(); s.step(o); s.step(o)", "s.scale(l).backward(); s.step(o); s.unscale_(o)",
    "s.scale(l).backward(); s.update()", "s.scale(l); s.step(o)", "s.load_state_dict({})", "s.scale(l); s.update(8.0); s.get_scale()",
    "torch.amp.GradScaler('cpu', growth_factor=1.0)", "torch.amp.GradScaler('cpu', enabled=False).scale(l)",
    "s.scale(l).backward(); s.step(o, closure=lambda: l)",
]  # fmt: skip


@pytest.mark.parametrize("text", SCALING)
def test_scaler(text):
    def act(t):
        p = t.nn.Parameter(t.ones(2))
        names = {
            "torch": t,
            "s": t.amp.GradScaler("cpu"),
            "o": t.optim.SGD([p], lr=0.1),
            "l": p.sum(),
        }
        *before, last = text.split("; ")
        found = []
        error = error_of(lambda: [exec("; ".join(before), names), found.append(eval(last, names))])
        return [error, *[shown(f) for f in found if isinstance(f, (t.Tensor, float))]]

    check("test_autocast", text, act)


@pytest.mark.parametrize("text", OUT)
def test_out(text):
    def act(t):
        a = t.tensor([[1.0, 2.0], [3.0, 4.0]])
        names = {"torch": t, "a": a, "o": t.zeros(3), "i": t.tensor([[1, 2], [3, 4]])}
        found = []
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            error = error_of(lambda: found.append(eval(text, names)))
        return [error, [str(w.message)[:90] for w in warned], *map(shown, found), shown(names["o"])]

    check("test_autocast", text, act)


def test_storage():
    def act(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = t.arange(6.0).view(2, 3)
            s = x[1:].t().storage()
            same = s.data_ptr() == x.storage().data_ptr()
            return [repr(s), len(s), s.size(), s[4], s.tolist(), s.nbytes(), str(s.dtype), same]

    check("test_autocast", "storage", act)


def test_the_default_dtype_of_the_cpu_is_refused():
    with pytest.raises(NotImplementedError, match="bfloat16"):
        autolab.autocast("cpu")


def test_dtypes_on_a_simulated_gpu():
    with autolab.cuda.simulate():
        y = autolab.ones(2, 2, device="cuda").half()
        with autolab.autocast("cuda"):
            wide = y.exp(), y.sum(), y.softmax(0), autolab.nn.functional.mse_loss(y, y), y**2
            low = y @ y, y + y, y.relu()
    assert {t.dtype for t in wide} == {autolab.float32} and {t.dtype for t in low} == {
        autolab.float16
    }
