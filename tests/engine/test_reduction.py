"""Reductions, running totals, sorting and counting: values, errors, graphs and gradients, each compared with
PyTorch."""

import math

import numpy as np
import pytest
from engine_expressions import graph, last_digits, outcome
from goldens import oracle
from goldens.oracle import same_as_torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import autolab

EXPRESSIONS = [
    "x.sum(keepdim=True)",
    "x.sum(dim=None).grad_fn",
    "x.sum(dim=()).grad_fn._saved_dim",
    "A.sum(dim=(0,1)).grad_fn._saved_dim",
    "A.sum(0,1)",
    "A.sum((0,0))",
    "A.sum((0,-2))",
    "A.sum('a')",
    "A.sum(1.5)",
    "A.sum(axis=0,keepdims=True)",
    "torch.sum(A,axis=1)",
    "m.sum()",
    "i.sum(dtype=torch.float32)",
    "torch.tensor([1.5,2.5]).sum(dtype=torch.int64)",
    "x.sum(dtype=torch.float64).grad_fn",
    "torch.tensor(3.).sum(0)",
    "torch.tensor(3.).sum(1)",
    "E.sum()",
    "torch.empty(0,3).sum(0)",
    "A.sum([0,1]).grad_fn",
    "i.mean()",
    "m.mean()",
    "i.mean(dtype=torch.float32)",
    "i.float().mean(0)",
    "A.mean(dim=None).grad_fn",
    "A.mean((0,1)).grad_fn",
    "A.mean(()).grad_fn",
    "torch.empty(0,3).mean(0)",
    "A.mean(1,keepdim=True,dtype=torch.float64).dtype",
    "i.mean(0)",
    "x.prod()",
    "A.prod(0).grad_fn",
    "A.prod((0,1))",
    "i.prod()",
    "m.prod()",
    "x.prod(dtype=torch.float64).dtype",
    "E.prod()",
    "x.max()",
    "A.max(1)",
    "i.max()",
    "m.max()",
    "m.max(0)",
    "torch.max(x,y).grad_fn",
    "torch.max(x,1.)",
    "x.max(2)",
    "E.max()",
    "torch.empty(0,3).max(0)",
    "torch.empty(0,3).max(1)",
    "A.max(dim=1,keepdim=True).indices.shape",
    "torch.tensor(3.).max(0)",
    "A.max((0,1))",
    "torch.max(A,dim=0).indices",
    "x.min()",
    "torch.min(A,0)",
    "torch.max(A,axis=0)",
    "A.max(None)",
    "A.max(keepdim=True)",
    "x.max(dim=0)[0].grad_fn.next_functions",
    "A.amax()",
    "A.amax().grad_fn._saved_dim",
    "A.amax((0,1)).grad_fn._saved_dim",
    "A.amin(1)",
    "i.amax(0)",
    "m.amax()",
    "E.amax()",
    "torch.empty(0,3).amax(0)",
    "A.var(1,True,True)",
    "x.var(correction=3)",
    "x.var(correction=4)",
    "torch.std(torch.tensor([1.]))",
    "torch.var(E)",
    "i.var()",
    "torch.var(x,0,correction=1)",
    "A.var(0,unbiased=True,correction=1)",
    "torch.var(m)",
    "A.var(keepdim=True)",
    "A.std(2)",
    "A.norm('fro')",
    "A.norm('fro').grad_fn",
    "A.norm(inf).grad_fn",
    "i.norm()",
    "x.norm(dtype=torch.float64).dtype",
    "torch.norm(A,p=1,dim=0)",
    "torch.norm(A,dim=(0,1))",
    "A.norm(.5)",
    "A.norm(-inf)",
    "A.norm(None)",
    "torch.norm(x,nan)",
    "torch.linalg.norm(A)",
    "torch.linalg.norm(A,'fro').grad_fn",
    "torch.linalg.norm(A,dim=1)",
    "torch.linalg.norm(i)",
    "torch.linalg.vector_norm(i)",
    "torch.linalg.vector_norm(A,dim=1,keepdim=True)",
    "torch.linalg.vector_norm(E)",
    "torch.linalg.vector_norm(E,inf)",
    "A.logsumexp(1)",
    "A.logsumexp((0,1)).grad_fn._saved_dim",
    "A.logsumexp()",
    "i.logsumexp(0)",
    "torch.tensor([-inf]*2).logsumexp(0)",
    "torch.tensor([inf,1.]).logsumexp(0)",
    "A.logsumexp(0,True)",
    "A.cumsum(1)",
    "A.cumsum()",
    "i.cumsum(0)",
    "m.cumsum(0)",
    "A.cumsum(2)",
    "i.cumprod(0)",
    "torch.tensor(3.).cumsum(0)",
    "i.cumsum(0,dtype=torch.float64)",
    "i.median()",
    "N.median()",
    "torch.tensor([1.,2.,3.,4.]).median()",
    "T.median(0)",
    "T.mode()",
    "T.sort()",
    "T.sort(descending=True)",
    "T.argsort()",
    "T.topk(9)",
    "T.topk(2,largest=False)",
    "N.sort()",
    "N.sort(descending=True)",
    "N.topk(2)",
    "N.max()",
    "N.argmax()",
    "N.max(0)",
    "N.argmin()",
    "N.min(0)",
    "torch.sort(A,1,True)",
    "torch.tensor(2.).sort()",
    "torch.tensor(2.).topk(1)",
    "m.sort()",
    "A.topk(1,2)",
    "i.topk(2)",
    "T.sort(dim=-1,stable=True,descending=True)",
    "A.argmax()",
    "A.argmax(1)",
    "A.argmax(1,True)",
    "i.argmax()",
    "m.argmax()",
    "E.argmax()",
    "torch.empty(0,3).argmax(0)",
    "torch.empty(0,3).argmax(1)",
    "A.argmax(3)",
    "A.argmax(None)",
    "torch.tensor(3.).argmax(0)",
    "A.argmax(keepdim=True)",
    "A.argmin(dim=0)",
    "torch.argmax(A,axis=1)",
    "m.all()",
    "m.any()",
    "x.all()",
    "A.any(1)",
    "u.all()",
    "u.all(0)",
    "A.all((0,1))",
    "A.all(1,keepdim=True)",
    "E.all()",
    "torch.all(m)",
    "i.any(dim=0)",
    "A.all(3)",
    "N.nansum()",
    "N.nanmean()",
    "N.nansum(0).shape",
    "torch.tensor([1.,nan],requires_grad=True).nanmean().grad_fn",
    "i.nansum()",
    "i.nanmean()",
    "N[1:2].nanmean()",
    "torch.unique(T)",
    "torch.unique(T,return_inverse=True)",
    "torch.unique(T,return_counts=True)",
    "torch.unique(T,return_inverse=True,return_counts=True)",
    "T.unique(sorted=False)",
    "torch.unique(torch.tensor([[1,2],[1,2],[0,1]]),dim=0)",
    "torch.unique(torch.tensor([[1,2],[1,2],[0,1]]),dim=0,return_inverse=True,return_counts=True)",
    "torch.unique(N)",
    "torch.unique(torch.tensor([[3,1],[1,2]]),return_inverse=True)",
    "torch.bincount(i)",
    "torch.bincount(i,minlength=6)",
    "torch.bincount(i,torch.tensor([.5,1.,2.]))",
    "torch.bincount(i,torch.tensor([1,2,3]))",
    "torch.bincount(x.detach())",
    "torch.bincount(torch.tensor([-1]))",
    "torch.bincount(torch.tensor([[1]]))",
    "torch.bincount(torch.tensor([],dtype=torch.int64))",
    "torch.bincount(i,torch.tensor([.5]))",
    "torch.bincount(i,torch.tensor([.5,1.,2.],dtype=torch.float64)).dtype",
    "torch.bincount(i,torch.tensor([.5,1.,2.],dtype=torch.float16))",
    "torch.histc(x.detach(),3)",
    "torch.histc(x.detach(),4,0,4)",
    "torch.histc(torch.tensor([1.,1.]),2)",
    "x.histc(3)",
    "torch.histc(torch.tensor([-1.,5.,1.]),2,0,2)",
    "x.max(1,2,3)",
    "torch.linalg.vector_norm(A,dim=()).grad_fn._saved_dim",
    "torch.max(x,0,True)",
    "torch.max(input=A,dim=1)",
    "torch.max(A,1,keepdim=True)[0].grad_fn",
    "A.sum(dim=1,dtype=torch.float64).dtype",
    "torch.mean(A,[0,1])",
    "A.std()",
    "A.std(0)",
    "A.std(0,False)",
    "A.var(0,keepdim=True)",
    "torch.std(A,unbiased=False)",
    "torch.norm(A)",
    "A.norm(dim=0,keepdim=True)",
    "torch.topk(A,2).indices",
    "A.argsort(descending=True)",
    "A.sort(descending=True).values",
    "torch.sort(A,dim=0).indices",
    "(x>1).sum()",
    "(x>1).float().mean()",
    "(x>1).any()",
    "x.detach().numpy().tolist()",
    "x.cumsum(dim=-1)",
    "torch.cumsum(x,0)",
    "torch.cumprod(A,dim=1)",
    "torch.logsumexp(A,dim=-1)",
    "torch.argmax(A,dim=-1,keepdim=True)",
    "x.max().item()",
    "x.argmax().item()",
    "torch.amax(A,dim=(0,1),keepdim=True)",
    "torch.maximum(x,y).sum().backward()",
    "x.pow(2).mean().sqrt()",
    "torch.sum(A)",
    "torch.sum(A,(0,),True)",
    "torch.prod(A,1,keepdim=True)",
    "torch.all(A>0,dim=1)",
    "torch.any(A>.7,1,True)",
    "torch.bincount(i,minlength=5)",
    "A.T.max(0)",
    "A.T.sum(1)",
    "A.T.argmax(0)",
    "A.sum().backward()",
    "A.t().sort(0).values",
    "torch.log(torch.tensor(3.)).item()",
    "torch.tanh(torch.tensor(.3)).item()",
    "torch.sin(torch.tensor(.3)).item()",
    "torch.sigmoid(torch.tensor(.3)).item()",
    "x.exp().sum().item()",
    "torch.tensor([.1,.2,.3,.4,.5,.6,.7]).mean().item()",
    "torch.tensor([.1]*10).sum().item()",
    "torch.arange(100.).div(7).mean().item()",
    "torch.arange(100.).div(7).std().item()",
    "torch.arange(100.).div(7).norm().item()",
    "torch.arange(1000.).div(7).sum().item()",
    "torch.arange(24.).div(7).reshape(4,6).sum(0).tolist()",
    "torch.arange(24.).div(7).reshape(4,6).mean(1).tolist()",
    "A.sum(dim=(0,'a'))",
    "A.sum(dim=True)",
    "A.mean(dim=0.)",
    "A.median('a')",
    "A.max(True)",
    "x.max(dim='a')",
    "x.amax('a')",
    "x.logsumexp('a')",
    "x.cumsum('a')",
    "x.cumsum(.5)",
    "x.sort('a')",
    "x.topk('a')",
    "x.prod('a')",
    "torch.linalg.vector_norm(x,dim='a')",
    "torch.argmax(x,'a')",
    "x.argmax(1.5)",
    "A.argmax(-1,1)",
    "x.all('a')",
    "x.std('a')",
    "A.all(dim=())",
    "A.any(dim=[])",
    "u.any(0)",
    "A.sum(0,keepdim=1)",
    "A.max(1,1)",
    "A.sum(dim=0,axis=1)",
    "half.sum()",
    "half.mean()",
    "half.std()",
    "half.cumsum(0)",
    "half.prod()",
    "half.norm()",
    "half.logsumexp(0)",
    "half.max()",
    "half.var()",
    "u.sum()",
    "u.prod()",
    "u.cumsum(0)",
    "u.max(0)",
    "u.sort()",
    "m.sum(0)",
    "m.cumprod(0)",
    "m.any(0)",
    "torch.tensor(True).sum()",
    "torch.tensor(2.).mean((0,))",
    "torch.tensor(2.).std(0)",
    "torch.tensor(2.).var(0,correction=0)",
    "torch.tensor(2.).logsumexp(-1)",
    "torch.tensor(2.).norm(2,0)",
    "torch.tensor(2.).cumprod(0)",
    "torch.tensor(2.).median(0)",
    "torch.tensor(2.).mode()",
    "torch.tensor(2.).argmax()",
    "torch.tensor(2.).any(0)",
    "torch.tensor(2.).nansum(0)",
    "torch.tensor(2.).amin(0)",
    "torch.tensor(2.).all()",
    "torch.zeros(2,0).sum(1)",
    "torch.zeros(2,0).prod(1)",
    "torch.zeros(2,0).mean(1)",
    "torch.zeros(2,0).any(1)",
    "torch.zeros(2,0).all(1)",
    "torch.zeros(2,0).max(0)",
    "torch.zeros(2,0).max(1)",
    "torch.zeros(2,0).norm(dim=1)",
    "torch.zeros(2,0).cumsum(1)",
    "torch.zeros(2,0).sort()",
    "torch.zeros(0).std()",
    "torch.zeros(2,0).argmax(1)",
    "torch.zeros(2,0).amin(1)",
    "torch.zeros(2,0).median(1)",
    "S.sum()",
    "S.max()",
    "S.sort()",
    "S.sort(descending=True)",
    "S.argmax()",
    "S.argmin()",
    "S[:10].logsumexp(0)",
    "S.nansum()",
    "S[:9].cumsum(0)",
    "S.unique()",
    "S.topk(3)",
    "S.topk(3,largest=False)",
    "S.norm(inf)",
    "S[:8].norm(3)",
    "S[:8].std()",
    "N.nansum(0,True)",
    "N.nanmean(0,keepdim=True)",
    "A.sum((0,1),True)",
    "A.sum(-1,True)",
    "A.mean(-2)",
    "A.std((0,1),keepdim=True)",
    "A.var(-1,0)",
    "torch.var(A,(0,1),False)",
    "A.std(0,correction=-1)",
    "A.prod(-1)",
    "A.cumprod(-1)",
    "torch.tensor([[1,2],[2,1]]).mode(0)",
    "torch.tensor([3,1,1,3]).mode()",
    "A.sort(0).indices",
    "A.argsort(0,True)",
    "A.topk(2,0,False)",
    "A.topk(1).values",
    "A.T.amax((0,1))",
    "A.T.logsumexp(0)",
    "A.t().std(0)",
    "torch.unique(m)",
    "torch.quantile(x,torch.tensor([.1,.5])).detach()",
    "torch.quantile(A,.25,1).detach()",
    "torch.quantile(A,.25,1,True).detach()",
    "torch.quantile(x,2.)",
    "torch.linalg.vector_norm(A,1,(0,1))",
    "torch.norm(A,2,0)",
    "torch.bincount(torch.tensor([0,0,3]))",
    "torch.histc(A.detach(),4)",
    "torch.histc(torch.arange(10.),5)",
    "torch.sum()",
    "torch.max()",
    "torch.cumsum(x)",
    "torch.argmax()",
    "x.std(0,1,2,3)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression):
    oracle.check("test_reduction", expression, lambda torch: outcome(torch, expression))


GRAPHS = [
    "x.sum()",
    "A.sum(0)",
    "A.sum(1,keepdim=True)",
    "A.sum((0,1))",
    "A.sum(-1)",
    "A.sum(dim=None)",
    "A.sum(())",
    "x.mean()",
    "A.mean(1)",
    "A.mean((0,1),True)",
    "A.mean(-1)",
    "x.prod()",
    "A.prod(1)",
    "A.prod(0,True)",
    "x.max()",
    "A.max(1)[0]",
    "A.max(0,True)[0]",
    "A.max(-1).values",
    "x.min()",
    "A.min(1)[0]",
    "A.amax(1)",
    "A.amax()",
    "A.amin((0,1),True)",
    "x.var()",
    "x.std()",
    "A.var(1)",
    "A.std(0,False)",
    "A.var((0,1),correction=2)",
    "A.std(-1,keepdim=True)",
    "x.var(unbiased=False)",
    "x.norm()",
    "x.norm(1)",
    "A.norm(3)",
    "A.norm(1.5,dim=1)",
    "A.norm(.5)",
    "A.norm(inf)",
    "A.norm(-inf,0)",
    "A.norm(dim=0,keepdim=True)",
    "torch.linalg.norm(x)",
    "torch.linalg.vector_norm(x)",
    "torch.linalg.vector_norm(A,3,(1,),True)",
    "x.logsumexp(0)",
    "A.logsumexp((0,1),True)",
    "x.cumsum(0)",
    "A.cumsum(-1)",
    "A.sort(1)[0]",
    "A.topk(1,1)[0]",
    "A.topk(2,0)[0]",
    "x.sum(dtype=torch.float64)",
    "A.mean(1,dtype=torch.float64)",
    "A.T.sum(0)",
    "A[0].max()",
    "A[:,1].prod()",
    "A.expand(2,2,3).sum(0)",
    "A.amax(1).sum()",
    "(A*A).mean(0).sqrt()",
]


@pytest.mark.parametrize("expression", GRAPHS)
def test_graph(expression):
    """grad_fn, next_functions, saved attributes, gradients, and the node behind each gradient."""
    oracle.check(
        "test_reduction",
        f"graph of {expression}",
        lambda torch: graph(torch, expression),
        rtol=1e-5,
    )


# -- choices at ties, zeros and degenerate shapes ----------------------------------------------------------------------
def gradient(torch, f, values, dtype="float32"):
    x = torch.tensor(values, dtype=getattr(torch, dtype), requires_grad=True)
    return torch.autograd.grad(f(x).sum(), x)[0] + 0


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@same_as_torch
def test_ties_and_kinks(torch):
    """max() and amax() share a tie evenly, max(dim) gives all to the element it names; the norm of 0 has gradient 0."""
    tie, rows = [1.0, 3.0, 3.0, 2.0], [[1.0, 2.0, 2.0], [5.0, 5.0, 5.0]]
    return [
        gradient(torch, f, v)
        for f, v in (
            (lambda x: x.max(), tie),
            (lambda x: x.min(), [1.0, 1.0, 2.0]),
            (lambda x: x.amax(1), rows),
            (lambda x: x.max(1)[0], rows),
            (lambda x: x.min(0)[0], rows),
            (lambda x: x.median(), tie),
            (lambda x: x.sort()[0][1:], tie),
            (lambda x: x.norm(), [0.0, 0.0]),
            (lambda x: x.norm(1), [0.0, 1.0]),
            (lambda x: x.norm(3), [0.0, 0.0]),
            (lambda x: x.norm(0.5), [0.0, 1.0]),
            (lambda x: x.norm(math.inf), [2.0, -2.0, 1.0]),
            (lambda x: x.std(), [2.0, 2.0, 2.0]),
            (lambda x: x.std(0), [2.0]),
            (lambda x: x.var(correction=3), [1.0, 2.0, 3.0]),
            (lambda x: x.max(), [1.0, math.nan]),
            (lambda x: x.amax(), [1.0, math.nan]),
            (lambda x: x.max(0)[0], [1.0, math.nan]),
            (lambda x: x.logsumexp(0), [-math.inf, -math.inf]),
            (lambda x: x.logsumexp(0), [math.inf, 1.0]),
            (lambda x: x.nansum(), [1.0, math.nan]),
        )
    ]


@pytest.mark.parametrize(
    "values",
    [
        [2.0, 3.0, 4.0],
        [0.0, 3.0, 4.0],
        [2.0, 0.0, 4.0, 5.0],
        [0.0, 0.0, 4.0],
        [2.0, 0.0, 3.0, 0.0],
        [0.0],
    ],
)
def test_products_around_zeros_first_and_second_derivative(values):
    """With one zero only its own factor has a gradient, with two none has; the second derivative does not vanish
    there."""

    def ask(torch):
        found = []
        for f in (
            lambda x: x.prod(),
            lambda x: x.prod(0),
            lambda x: x.cumprod(0).sum(),
            lambda x: x.reshape(1, -1).prod(1).sum(),
        ):
            x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
            found.append(torch.autograd.grad(f(x), x)[0])
            (g,) = torch.autograd.grad(f(x), x, create_graph=True)
            found += [
                g.detach(),
                torch.stack([torch.autograd.grad(e, x, retain_graph=True)[0] for e in g])
                if len(values) > 1
                else None,
            ]
        return found

    oracle.check("test_reduction", f"products {values}", ask)


@same_as_torch
def test_named_results(torch):
    """Results are tuples with names, which unpack, index and print as PyTorch's."""
    x = torch.tensor([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])
    values, indices = x.max(1)
    pairs = [
        x.min(0),
        x.sort(),
        x.topk(2),
        x.median(1),
        x.mode(),
    ]
    shown = [(repr(p), type(p).__name__, tuple(p)) for p in pairs]
    return values, indices, shown, x.max(1)[1], x.sort().indices


# -- the last digit ----------------------------------------------------------------------------------------------------
@last_digits
@same_as_torch(rtol=0, atol=0)
def test_sums_means_and_variances_are_exact(torch):
    """Additions are done in PyTorch's order: what .item() prints is the same."""
    found = []
    for n in (3, 7, 10, 33, 100, 1000):
        x = torch.tensor(np.random.default_rng(n).normal(size=n).astype(np.float32))
        found += [
            x.sum(),
            x.mean(),
            x.std(),
            x.var(),
            x.prod() if n < 30 else x.sum(),
            x.cumsum(0),
            x.norm(1) if n < 4 else x.abs().max(),
            x.double().sum(),
        ]
    for shape in ((4, 6), (32, 10), (10, 100), (5, 3, 7)):
        x = torch.tensor(np.random.default_rng(1).normal(size=shape).astype(np.float32))
        found += [
            x.sum(0),
            x.sum(-1),
            x.mean(0),
            x.mean(-1),
            x.mean(),
            x.sum((0, 1)),
            x.sum(1),
        ]
    return found


# -- properties --------------------------------------------------------------------------------------------------------
@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=1, max_dims=3, max_side=5),
        elements=st.sampled_from([0.0, 1.0, -1.0, 2.0, np.inf, np.nan]),
    ),
    st.booleans(),
)
def test_sorting_is_stable_and_puts_nan_where_the_largest_belong(values, descending):
    x = autolab.tensor(values)
    result = x.sort(descending=descending)
    assert autolab.equal(x.gather(-1, result.indices).isnan(), result.values.isnan())
    np.testing.assert_array_equal(
        np.take_along_axis(values, result.indices.numpy(), -1), result.values.numpy()
    )
    key = np.nan_to_num(result.values.numpy(), nan=np.finfo(float).max, posinf=1e300)
    steps = np.diff(key, axis=-1)
    assert (steps <= 0).all() if descending else (steps >= 0).all()
    same = steps == 0
    assert (np.diff(result.indices.numpy(), axis=-1)[same] > 0).all()
    k = values.shape[-1]
    assert autolab.allclose(x.topk(k, largest=descending).values, result.values, equal_nan=True)
