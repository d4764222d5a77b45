"""Singular values and cross products: PyTorch's values, gradients, errors."""

import pytest
from goldens.oracle import check, engine, error_of, same_as_torch

torch = engine()
CLOSE = {"rtol": 1e-9, "atol": 1e-9}
SHAPES = [(3, 2), (2, 3), (3, 3), (2, 4, 3)]


def matrices(t, shape, seed=0):
    t.manual_seed(seed)
    return t.randn(*shape, dtype=t.float64).requires_grad_()


# Functions that do not depend on the signs of singular vectors, which no library promises.
FUNCTIONS = {
    "svd": lambda t, a: (lambda u, s, v: [u.abs(), s, v.abs(), u @ t.diag_embed(s**2) @ v])(
        *t.linalg.svd(a, False)
    ),
    "svd full": lambda t, a: [t.linalg.svd(a).S],
    "old svd": lambda t, a: (lambda u, s, v: [u.abs(), s, v.abs()])(*t.svd(a)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name, shape):
    def program(t):
        a = matrices(t, shape)
        outputs = FUNCTIONS[name](t, a)
        weights = [t.linspace(-1, 1, x.numel(), dtype=t.float64).reshape(x.shape) for x in outputs]
        loss = sum((w * x).sum() for w, x in zip(weights, outputs))
        (g,) = t.autograd.grad(loss, a, create_graph=True)
        (h,) = t.autograd.grad((g * g).sum(), a)
        names = [x.grad_fn.name() for x in outputs]
        return [outputs, g, h, names]

    check("test_factorizations", f"{name} {shape}", program, **CLOSE)


@pytest.mark.parametrize("shape", SHAPES)
def test_singular_vectors_and_bases(shape):
    a = matrices(torch, shape).detach()
    for full in (True, False):
        u, s, vh = torch.linalg.svd(a, full_matrices=full)
        k = s.shape[-1]
        assert (u.shape[-1], vh.shape[-2]) == ((shape[-2], shape[-1]) if full else (k, k))
        assert torch.allclose(u[..., :k] @ torch.diag_embed(s) @ vh[..., :k, :], a)
        assert torch.allclose(
            u.mT @ u, torch.eye(u.shape[-1], dtype=torch.float64).expand(*u.shape[:-2], -1, -1)
        )


@same_as_torch
def test_cross_products(t):
    a, b = matrices(t, (3, 2)), matrices(t, (3, 2), 1)
    result = t.linalg.cross(a, b, dim=0)
    (result * result).sum().backward()
    return [
        result.detach(),
        a.grad,
        b.grad,
        t.cross(a, b, dim=0).detach(),
        a.mT.cross(b.mT, 1).detach(),
        t.linalg.cross(t.tensor([1, 2, 3]), t.tensor([4, 1, 0])),
        t.linalg.cross(t.ones(1, 3), t.arange(6.0).reshape(2, 3)),
    ]


@same_as_torch
def test_errors(t):
    linalg, a = t.linalg, t.ones(3)
    return {
        "svd": error_of(lambda: linalg.svd(a)),
        "svd of integers": error_of(lambda: linalg.svd(t.ones(2, 2, dtype=t.int64))),
        "cross": error_of(lambda: linalg.cross(t.ones(2), t.ones(2))),
        "cross of different": error_of(lambda: linalg.cross(t.ones(3, 2), t.ones(3, 3))),
        "cross without": error_of(lambda: t.cross(t.ones(2, 2), t.ones(2, 2), dim=None)),
    }


def test_what_is_not_here_is_refused():
    with pytest.raises(NotImplementedError, match="argument 'compute_uv' is not supported"):
        torch.svd(torch.eye(2), compute_uv=False)
