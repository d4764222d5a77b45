"""What the samples of `torch.linalg` leave out: Cholesky, eigenvectors, and the words for what is refused."""

import numpy as np
import pytest

import autolab
from autolab import linalg

A = np.array([[4.0, 1.0, -0.5], [0.5, 3.0, 1.0], [1.5, -1.0, 5.0]])


def matrix(a=A, requires_grad=True):
    return autolab.tensor(a, requires_grad=requires_grad)


def test_cholesky_and_both_derivatives():
    """Of the symmetric part, because the factorisation reads one triangle only."""
    f = lambda a: linalg.cholesky(a + a.mT)
    found = f(matrix(requires_grad=False)).numpy()
    np.testing.assert_allclose(found, np.linalg.cholesky(A + A.T), rtol=1e-12)
    assert autolab.autograd.gradgradcheck(f, matrix())


def test_eigenvectors_diagonalise_and_have_no_gradient():
    w, v = linalg.eigh(matrix(A + A.T, requires_grad=False))
    np.testing.assert_allclose((v @ autolab.diag(w) @ v.mT).numpy(), A + A.T, atol=1e-12)
    with pytest.raises(NotImplementedError, match="A that requires grad"):
        linalg.eigh(matrix(A + A.T)).eigenvalues.sum().backward()


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
