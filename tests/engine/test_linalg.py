"""`torch.linalg` against NumPy, finite differences and, where it is installed, PyTorch."""

import numpy as np
import pytest

import autolab
from autolab import linalg

A = np.array([[4.0, 1.0, -0.5], [0.5, 3.0, 1.0], [1.5, -1.0, 5.0]])
B = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]])


def matrix(a=A, requires_grad=True):
    return autolab.tensor(a, requires_grad=requires_grad)


def symmetric(f):
    """`f` of the symmetric part: these factorisations read one triangle only."""
    return lambda a: f(a + a.mT)


FUNCTIONS = {
    "inv": (linalg.inv, lambda t: t.linalg.inv, np.linalg.inv),
    "det": (linalg.det, lambda t: t.linalg.det, np.linalg.det),
    "slogdet": (
        lambda a: linalg.slogdet(a).logabsdet,
        lambda t: lambda a: t.linalg.slogdet(a).logabsdet,
        lambda a: np.linalg.slogdet(a)[1],
    ),
    "solve": (
        lambda a: linalg.solve(a, autolab.tensor(B)),
        lambda t: lambda a: t.linalg.solve(a, t.tensor(B)),
        lambda a: np.linalg.solve(a, B),
    ),
    "cholesky": (
        symmetric(linalg.cholesky),
        lambda t: symmetric(t.linalg.cholesky),
        lambda a: np.linalg.cholesky(a + a.T),
    ),
    "trace": (autolab.trace, lambda t: t.trace, np.trace),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_both_derivatives(name):
    f, _, expected = FUNCTIONS[name]
    np.testing.assert_allclose(f(matrix(requires_grad=False)).numpy(), expected(A), rtol=1e-12)
    assert autolab.autograd.gradcheck(f, matrix())
    assert autolab.autograd.gradgradcheck(f, matrix())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_as_pytorch_has_it(name):
    torch = pytest.importorskip("torch")
    f, theirs, _ = FUNCTIONS[name]
    grads = []
    for t, function in ((autolab, f), (torch, theirs(torch))):
        x = t.tensor(A, requires_grad=True)
        y = function(x)
        y.backward(t.ones_like(y))
        grads.append(x.grad.numpy())
    np.testing.assert_allclose(grads[0], grads[1], rtol=1e-10, atol=1e-12)


def test_eigenvectors_diagonalise_and_have_no_gradient():
    w, v = linalg.eigh(matrix(A + A.T, requires_grad=False))
    np.testing.assert_allclose((v @ autolab.diag(w) @ v.mT).numpy(), A + A.T, atol=1e-12)
    with pytest.raises(NotImplementedError, match="A that requires grad"):
        linalg.eigh(matrix(A + A.T)).eigenvalues.sum().backward()


def test_batches():
    batch = np.stack([A, A.T])
    np.testing.assert_allclose(
        linalg.inv(autolab.tensor(batch)).numpy(), np.linalg.inv(batch), rtol=1e-12
    )
    assert autolab.autograd.gradcheck(linalg.det, matrix(batch))


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (
            lambda: linalg.inv(autolab.zeros(2, 2)),
            linalg.LinAlgError,
            "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because the input matrix is singular.",
        ),
        (
            lambda: linalg.inv(autolab.tensor([[1.0, 2.0], [2.0, 4.0]])),
            linalg.LinAlgError,
            "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular.",
        ),
        (
            lambda: linalg.inv(autolab.zeros(2, 3)),
            RuntimeError,
            "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices",
        ),
        (
            lambda: linalg.solve(autolab.zeros(2, 2), autolab.ones(2)),
            linalg.LinAlgError,
            "linalg.solve: The solver failed because the input matrix is singular.",
        ),
        (
            lambda: linalg.cholesky(-autolab.eye(2)),
            linalg.LinAlgError,
            "linalg.cholesky: The factorization could not be completed because the input is "
            "not positive-definite (the leading minor of order 1 is not positive-definite).",
        ),
        (
            lambda: autolab.trace(autolab.ones(3)),
            RuntimeError,
            "trace: expected a matrix, but got tensor with dim 1",
        ),
    ],
)
def test_what_is_refused(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message
    assert caught.value.__notes__
