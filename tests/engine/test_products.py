"""The matrix product that browsers use, against NumPy's: for matrices, batches, views and `out=`."""

import numpy as np
import pytest

from autolab.engine.kernels import products

SHAPES = [
    ((3, 4), (4, 5)),
    ((1, 64), (64, 100)),
    ((70, 65), (65, 90)),
    ((1, 1, 6, 80), (2, 3, 80, 40)),
    ((2, 3, 6, 80), (80, 40)),
    ((5,), (5, 600)),
    ((6, 0), (0, 4)),
]


@pytest.mark.parametrize(("first", "second"), SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_it_equals_matmul(first, second, dtype):
    random = np.random.default_rng(0)
    a, b = (random.integers(-3, 4, shape).astype(dtype) for shape in (first, second))
    expected = a @ b
    for found in (
        products.einsum_matmul(a, b),
        products.einsum_matmul(a, np.asfortranarray(b)),
        products.einsum_matmul(a, b, out=np.full_like(expected, 1)),
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_it_writes_into_a_view_row_block_by_row_block(monkeypatch):
    monkeypatch.setattr(products, "LONGEST", 10_000)  # so that one product needs several calls
    a, b = np.ones((7, 50), "float32"), np.ones((50, 60), "float32")
    whole = np.zeros((7, 120), "float32")
    found = products.einsum_matmul(a, b, out=whole[:, ::2])
    assert found.base is whole and (whole[:, ::2] == 50).all() and not whole[:, 1::2].any()


def test_sizes_that_do_not_fit_raise_numpys_error():
    with pytest.raises(ValueError, match="mismatch"):
        products.einsum_matmul(np.ones((60, 60)), np.ones((59, 60)))
