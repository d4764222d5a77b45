"""Comparisons, logic, bits, and what is near or equal: values, dtypes and errors, each compared with PyTorch."""

import operator

import numpy as np
import pytest
from engine_expressions import outcome
from goldens import oracle
from goldens.oracle import same_as_torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import autolab

EXPRESSIONS = [
    "x==None",
    "x=='a'",
    "x!=None",
    "x<'a'",
    "x<None",
    "x==i",
    "i==1.5",
    "torch.eq(x,'a')",
    "torch.eq(1,x)",
    "x.eq(y)",
    "x<y",
    "torch.tensor([255],dtype=torch.uint8)==-1",
    "torch.lt(x,2)",
    "torch.ge(x,y).dtype",
    "torch.less_equal(x,1)",
    "torch.greater(x,1)",
    "torch.not_equal(x,1)",
    "torch.logical_and(x,y)",
    "torch.logical_and(x,1)",
    "torch.logical_not(x)",
    "torch.logical_xor(m,i)",
    "m&m",
    "i&1",
    "x&y",
    "x.detach()&1",
    "m|i",
    "i^i",
    "~i",
    "~m",
    "~x",
    "torch.bitwise_not(x)",
    "torch.bitwise_xor(x,x)",
    "torch.bitwise_or(x,1)",
    "1&i",
    "True&m",
    "m&x",
    "m&'a'",
    "m and m",
    "i.__and__(1)",
    "torch.bitwise_and(1,i)",
    "m.logical_and_(m)",
    "torch.isclose(x,y)",
    "torch.isclose(x,y.double())",
    "torch.allclose(x,y.double())",
    "torch.allclose(x,i)",
    "torch.isclose(i,i)",
    "torch.isclose(torch.tensor([nan]),torch.tensor([nan]),equal_nan=True)",
    "torch.equal(x,i)",
    "torch.equal(x,1.)",
    "torch.equal(x,x.double())",
    "torch.equal(x,torch.ones(2))",
    "torch.isclose(x,1.)",
    "torch.allclose(x,torch.ones(2))",
    "torch.isclose(torch.tensor([inf]),torch.tensor([inf]))",
    "torch.logical_not(m)",
    "m.logical_not_()",
    "torch.isfinite(N)",
    "torch.equal(x,x)",
    "x.equal(y)",
    "x.allclose(y)",
    "x.isclose(x)",
    "torch.allclose(x,y,atol=10)",
    "S==S",
    "S!=S",
    "S<S",
    "S<=0",
    "0<S",
    "S>=-0.",
    "x==torch.ones(2)",
    "A==x",
    "(A>0)==m",
    "x<True",
    "u<300",
    "i<inf",
    "i==nan",
    "wide==half",
    "x is not None",
    "torch.ne(A,0)",
    "A.gt(.5).dtype",
    "x.gt(y).grad_fn",
    "(x>1).requires_grad",
    "torch.gt(x)",
    "x.lt()",
    "x.eq(y,x)",
    "torch.logical_or(S,torch.zeros(11))",
    "torch.logical_xor(m,m)",
    "m.logical_or(i)",
    "torch.logical_not(S)",
    "x.logical_and(m)",
    "m&True",
    "m|1",
    "m^m",
    "~u",
    "u&300",
    "i.bitwise_and_(2)",
    "i.bitwise_xor(u)",
    "m.__invert__()",
    "~torch.tensor(True)",
    "torch.isnan(S)",
    "torch.isinf(S)",
    "torch.isfinite(S)",
    "torch.isnan(half)",
    "S.isnan().any()",
    "torch.isclose(S,S)",
    "torch.isclose(S,S,equal_nan=True)",
    "torch.isclose(S,S+1e-6)",
    "torch.isclose(S,S+1e-4,rtol=1e-3)",
    "torch.isclose(S,S+1e-4,0,1e-3)",
    "torch.isclose(S,S,0,0)",
    "torch.isclose(x,A)",
    "torch.isclose(m,m)",
    "torch.isclose(i,i+1,atol=1)",
    "torch.allclose(N,N)",
    "torch.allclose(N,N,equal_nan=True)",
    "torch.allclose(E,E)",
    "x.allclose(1)",
    "torch.equal(N,N)",
    "torch.equal(E,E)",
    "torch.equal(A,A.clone())",
    "torch.equal(x,x.expand(1,3))",
    "torch.equal(m,i)",
    "x.equal(None)",
    "m.all()==True",
    "bool(z==.5)",
    "bool(x==x)",
    "[1.,2.]==x",
    "x in [y]",
    "2. in x",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression):
    oracle.check("test_comparison", expression, lambda torch: outcome(torch, expression))


@same_as_torch
def test_nothing_here_has_a_gradient(torch):
    """The result of a comparison is a mask: it needs no gradient, and the gradient of what a mask selects is exact."""
    x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    masks = [x > 0, x == 0, x.isfinite(), torch.logical_not(x), torch.isclose(x, x)]
    y = (x * (x > 0)).sum()
    y.backward()
    return (
        [(k.requires_grad, k.grad_fn, str(k.dtype)) for k in masks],
        x.grad,
        y.grad_fn.next_functions[0][0].name(),
    )


OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan])


@settings(max_examples=60, deadline=None)
@given(
    st.data(),
    hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3),
    st.sampled_from(list(OPERATORS)),
)
def test_operators_broadcast_and_treat_nan_as_numpy_does(data, shapes, symbol):
    a, b = (data.draw(hnp.arrays(np.float32, s, elements=NUMBERS)) for s in shapes.input_shapes)
    found = OPERATORS[symbol](autolab.tensor(a), autolab.tensor(b))
    assert found.dtype is autolab.bool and found.shape == shapes.result_shape
    np.testing.assert_array_equal(found.numpy(), OPERATORS[symbol](a, b))


@settings(max_examples=40, deadline=None)
@given(
    hnp.arrays(np.int64, hnp.array_shapes(max_dims=2, max_side=4), elements=st.integers(-8, 8)),
    st.integers(-8, 8),
)
def test_bit_operators_are_pythons(values, number):
    t = autolab.tensor(values)
    for found, f in (
        (t & number, operator.and_),
        (t | number, operator.or_),
        (t ^ number, operator.xor),
        (number & t, operator.and_),
    ):
        assert found.reshape(-1).tolist() == [f(v, number) for v in values.ravel().tolist()]
    assert (~t).reshape(-1).tolist() == [~v for v in values.ravel().tolist()]
