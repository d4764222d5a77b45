"""Functions of single elements: values, errors, graphs and gradients, each compared with PyTorch."""

import math

import numpy as np
import pytest
from engine_expressions import graph, last_digits, outcome
from goldens import oracle
from goldens.oracle import same_as_torch

import autolab

EXPRESSIONS = [
    "torch.maximum(x,1.)",
    "torch.maximum(1.,x)",
    "torch.exp(1.)",
    "torch.exp(i)",
    "i.exp_()",
    "torch.sin('a')",
    "torch.sqrt(torch.tensor([-1.]))",
    "torch.abs(torch.tensor([True]))",
    "torch.sign(torch.tensor([True]))",
    "torch.sign(i)",
    "torch.reciprocal(i)",
    "torch.floor(i)",
    "torch.round(i)",
    "torch.trunc(i)",
    "torch.ceil(torch.tensor([True]))",
    "torch.clamp(x)",
    "torch.clamp(i,0.5)",
    "torch.clamp(i,0.5,2)",
    "i.clone().clamp_(0.5)",
    "torch.clamp(x,0,torch.tensor(2.))",
    "torch.clamp(x,2.,1.)",
    "torch.clamp(torch.tensor([nan]),0,1)",
    "torch.where(m,x,0.).grad_fn.next_functions",
    "torch.where(m,1.,0.)",
    "torch.where(m,1,0)",
    "torch.where(m,i,0.5)",
    "torch.where(m,x.double(),0.5).dtype",
    "torch.where(m)",
    "x.where(m,y)",
    "torch.where(True,x,y)",
    "torch.where(m,x)",
    "torch.where(torch.tensor([True,False]),x,y)",
    "i.masked_fill(m,1.5)",
    "x.masked_fill(m,y)",
    "x.masked_fill(m,True)",
    "torch.tensor([1,2,3],dtype=torch.uint8).masked_fill(m,300)",
    "x.masked_fill(torch.tensor([True,False]),0)",
    "torch.ones(1).masked_fill(m,0.)",
    "x.masked_fill(m,'a')",
    "x//y",
    "(x//y).sum().backward()",
    "i//2.",
    "torch.tensor([-7,7])//2",
    "torch.tensor([-7.,7.])//2",
    "2//i",
    "i//0",
    "i%0",
    "torch.fmod(i,0)",
    "torch.remainder(torch.tensor([-4.,4.]),2.)",
    "torch.fmod(torch.tensor([-4.,4.]),2.)",
    "(x%y).grad_fn",
    "x%'a'",
    "x//'a'",
    "5.5%i",
    "i%1.5",
    "torch.remainder(x,0.)",
    "torch.floor_divide(x,y)",
    "torch.nan_to_num(torch.tensor([nan,inf,-inf]))",
    "torch.nan_to_num(x,nan=1.).grad_fn",
    "torch.nan_to_num(i)",
    "torch.lerp(x,y,.5).grad_fn",
    "torch.lerp(x,1.,.5)",
    "torch.lerp(i,i,.5)",
    "torch.addcmul(x,y,y,value=2).grad_fn",
    "torch.addcmul(x,2,y)",
    "torch.exp2(x).grad_fn",
    "torch.sgn(x).grad_fn",
    "x.sign().grad_fn",
    "x.abs_()",
    "torch.round(x,decimals=1).grad_fn",
    "torch.round(torch.tensor([1.25,-2.35,123.456]),decimals=-1)",
    "torch.isnan(i)",
    "torch.sigmoid(torch.tensor([-88.,-89,-100.,100.]))",
    "torch.tensor([True]).sin()",
    "torch.square(i)",
    "torch.rsqrt(torch.tensor([0.,-0.,4.]))",
    "torch.sqrt(torch.tensor([2.,3.,5.,7.,10.])).tolist()",
    "torch.fmod(2.,x)",
    "torch.floor_divide(2.,x)",
    "torch.remainder(x,'a')",
    "torch.fmod(x,None)",
    "torch.floor_divide(x,'a')",
    "x.fmod('a')",
    "torch.floor_divide(i,2.5)",
    "i.floor_divide_(2)",
    "i.remainder_(2)",
    "x.detach().fmod_(2)",
    "torch.remainder(i,torch.tensor([2.,2.,2.]))",
    "torch.sin(x,y)",
    "torch.exp(input=x)",
    "torch.clamp(x,'a')",
    "torch.clamp(min=1,input=x)",
    "x.clamp(max=2,min=1)",
    "torch.where(x>2,x,0)",
    "torch.where(x>2,1,x)",
    "torch.where(x>2,x,i)",
    "torch.where(input=x,other=y,condition=m)",
    "x.masked_fill(m,1)",
    "x.masked_fill(m.long(),1)",
    "x.masked_fill(mask=m,value=2)",
    "torch.masked_fill(x,m,0)",
    "x.sign_()",
    "abs(x-2)",
    "round(1.5)",
    "x.round(decimals=1)",
    "-x % 2",
    "torch.minimum(x,y)",
    "x.abs().grad_fn.next_functions[0][1]",
    "x.nan_to_num()",
    "torch.sigmoid(A)",
    "torch.tanh(A)",
    "A.sigmoid().grad_fn",
    "torch.erf(x)",
    "torch.exp(torch.tensor(1.))",
    "torch.exp(torch.tensor(1.)).item()",
    "torch.quantile(x,.3).detach()",
    "x.clamp(inf)",
    "torch.clamp(half,1)",
    "x.where(m,0.)",
    "x.where(m,'a')",
    "torch.maximum(x,i)",
    "half.exp()",
    "half*half.sigmoid()",
    "torch.fmod(S,1.5)",
    "torch.remainder(S,1.5)",
    "torch.remainder(S,-1.5)",
    "torch.floor_divide(S,1.5)",
    "S//torch.tensor(0.)",
    "torch.nan_to_num(S,1.,2.,3.)",
    "torch.where(S>0,S,torch.zeros(()))",
    "S.round()",
    "torch.div(S,.5,rounding_mode='floor')",
    "torch.div(i,-2,rounding_mode='trunc')",
    "torch.div(i,torch.tensor(-2),rounding_mode='floor')",
    "torch.div(i,0,rounding_mode='trunc')",
    "torch.div(x,y,rounding_mode='up')",
    "x.detach().div_(2,rounding_mode='floor')",
    "x.lerp(end=y,weight=.25)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression):
    oracle.check("test_pointwise", expression, lambda torch: outcome(torch, expression))


GRAPHS = [
    "x%2",
    "x%y",
    "torch.div(x,y,rounding_mode='floor')",
    "torch.div(x,2.,rounding_mode='trunc')",
    "x.square()",
    "x.sqrt()",
    "x.rsqrt()",
    "x.reciprocal()",
    "x.abs()",
    "x.sign()",
    "x.sgn()",
    "torch.addcmul(x,y,B[0])",
    "torch.fmod(x,2)",
    "torch.fmod(x,y)",
    "x.clamp(0,1)",
    "x.clamp(min=0)",
    "x.clamp(max=2)",
    "torch.maximum(x,y)",
    "torch.minimum(x,y)",
    "torch.where(m,x,y)",
    "torch.where(m,x,0.)",
    "torch.where(m,2.,y)",
    "x.masked_fill(m,0.)",
    "x.round()",
    "x.round(decimals=1)",
    "x.floor()",
    "x.ceil()",
    "x.trunc()",
    "x.exp()",
    "x.exp2()",
    "x.log()",
    "x.log2()",
    "x.log10()",
    "x.log1p()",
    "x.sin()",
    "x.cos()",
    "x.tan()",
    "z.asin()",
    "z.acos()",
    "z.atan()",
    "x.sinh()",
    "x.cosh()",
    "x.tanh()",
    "x.sigmoid()",
    "x.erf()",
    "torch.nan_to_num(x)",
    "(x*1).exp_()",
    "(x*1).clamp_(min=0)",
    "(x*1).masked_fill_(m,0.)",
    "(x*1).sigmoid_()",
    "(x*1).tanh_()",
    "(x*1).addcmul_(y,y)",
    "(x*1).fmod_(2)",
    "torch.maximum(A,x)",
    "torch.where(m,A,x)",
    "torch.addcmul(x,A,y)",
]


@pytest.mark.parametrize("expression", GRAPHS)
def test_graph(expression):
    """grad_fn, next_functions, saved attributes, gradients, and the node behind each gradient."""
    oracle.check(
        "test_pointwise",
        f"graph of {expression}",
        lambda torch: graph(torch, expression),
        rtol=1e-5,
    )


# -- where functions are not smooth, not finite, or not floats ---------------------------------------------------------
UNARY = (
    "abs",
    "sign",
    "sgn",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "exp",
    "exp2",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "sigmoid",
    "erf",
    "floor",
    "ceil",
    "round",
    "trunc",
    "square",
    "nan_to_num",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
)
SPECIAL = [
    0.0,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    1.0,
    -1.0,
    2.0,
    -2.0,
    0.5,
    -0.5,
    1e-30,
    -1e-30,
    1e30,
    -1e30,
    88.0,
    -88.0,
    104.0,
    710.0,
    -750.0,
    0.1,
]


BINARY = (
    "maximum",
    "minimum",
    "fmod",
    "remainder",
)


@pytest.mark.parametrize("name", BINARY)
def test_special_pairs(name):
    """Every pair of special values, ties included: values and both gradients."""
    values = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 2.5]

    def ask(torch):
        a = (
            torch.tensor(values, dtype=torch.float64)
            .repeat_interleave(len(values))
            .requires_grad_()
        )
        b = torch.tensor(values * len(values), dtype=torch.float64, requires_grad=True)
        y = getattr(torch, name)(a, b)
        return [y.detach(), *(g + 0 for g in torch.autograd.grad(y, (a, b), torch.ones_like(y)))]

    oracle.check("test_pointwise", f"pairs {name}", ask)


@same_as_torch
def test_gradients_at_kinks(torch):
    """clamp passes the gradient at its limits; a tie is shared by maximum; abs has 0 in the middle; where picks one
    side."""

    def at(f, *values):
        xs = [torch.tensor(v, requires_grad=True) for v in values]
        return torch.autograd.grad(f(*xs).sum(), xs)

    edge = [-1.0, 0.0, 0.5, 1.0, 2.0]
    return [
        at(lambda x: x.clamp(0, 1), edge),
        at(lambda x: x.clamp(min=0), edge),
        at(lambda x: x.clamp(max=0), edge),
        at(torch.maximum, [1.0, 2.0, 2.0], [2.0, 2.0, 1.0]),
        at(torch.minimum, [1.0, 2.0, 2.0], [2.0, 2.0, 1.0]),
        at(torch.abs, [-1.0, 0.0, 1.0]),
        at(torch.sqrt, [0.0, 1.0]),
        at(lambda x: torch.where(x > 0, x, 3 * x), [-1.0, 0.0, 1.0]),
        # the nan that hides in the untaken branch
        at(lambda x: torch.where(x > 0, torch.log(x), torch.zeros(2)), [0.0, 1.0]),
    ]


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "float16"])
@pytest.mark.parametrize("name", UNARY)
def test_dtypes(name, dtype):
    """Integers become the default float where the function is not one of integers; what is refused is refused in
    PyTorch's words."""

    def ask(torch):
        x = torch.tensor([0, 1, 2]).to(getattr(torch, dtype))
        try:
            return getattr(torch, name)(x)
        except (RuntimeError, NotImplementedError) as error:
            return f"{type(error).__name__}: {error}"

    oracle.check("test_pointwise", f"{name} {dtype}", ask)


# -- last digits -------------------------------------------------------------------------------------------------------
def numbers(torch, seed, low=-3.0, high=3.0, n=500):
    return torch.tensor(np.random.default_rng(seed).uniform(low, high, n).astype(np.float32))


@last_digits
@pytest.mark.parametrize(
    "name, low, high, share",
    [
        ("exp", -3, 3, 0.97),
        ("log", 0.01, 3, 0.85),
        ("tanh", -3, 3, 0.97),
        ("sin", -3, 3, 0.9),
        ("cos", -3, 3, 0.9),
        ("sigmoid", -3, 3, 0.9),
        ("log1p", 0.01, 3, 0.95),
        ("erf", -3, 3, 0.95),
        ("rsqrt", 0.01, 3, 1),
        ("reciprocal", 0.01, 3, 1),
        ("square", -3, 3, 1),
    ],
)
def test_most_float32_results_are_pytorchs_to_the_last_bit(name, low, high, share):
    x = numbers(autolab, 1, low, high)
    found = getattr(autolab, name)(x).numpy()
    expected = oracle.answer(
        "test_pointwise",
        f"bits of {name}",
        lambda torch: getattr(torch, name)(numbers(torch, 1, low, high)),
    )
    assert np.mean(found == expected) >= share
    # and none is further than two units away
    assert np.max(np.abs(found - expected) / np.spacing(np.abs(expected))) <= 2


# -- properties --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_special_values_and_their_gradients(name, dtype):
    """Poles, infinities, nan, signed zeros, overflow and underflow: the value and the gradient."""

    def ask(torch):
        x = torch.tensor(SPECIAL, dtype=getattr(torch, dtype), requires_grad=True)
        y = getattr(torch, name)(x)
        if not y.requires_grad:
            return y, None
        # element by element: the digits of one huge number must not hide those of the others
        return list(y.detach()), list(torch.autograd.grad(y, x, torch.ones_like(y))[0] + 0)

    # at 1e30 every library reduces an angle in its own way
    left_out = {
        "sin": (1e30, -1e30),
        "cos": (1e30, -1e30),
        "tan": (1e30, -1e30),
    }.get(name, ())
    kept = [k for k, v in enumerate(SPECIAL) if str(v) not in map(str, left_out)]
    oracle.check(
        "test_pointwise",
        f"special {name} {dtype}",
        lambda torch: [
            [part[k] for k in kept] if isinstance(part, list) else part for part in ask(torch)
        ],
        rtol=5e-6 if dtype == "float32" else 1e-11,
        atol=1e-37,
    )
