"""masked_scatter, put, scatter_reduce: values, layouts, saved values, gradients and PyTorch's errors."""

import pytest
from engine_outcomes import outcome
from goldens.oracle import check, engine, error_of

SAVED = [
    f"_saved_{name}" for name in ("self", "src", "result", "dim", "index", "reduce", "include_self")
]
START = (
    f"SAVED = {SAVED}; "
    "a = torch.arange(6.).view(2, 3) - 2; i = torch.tensor([12, -18, 0]); j = torch.tensor([8, 27, 0]); "
    "g = torch.tensor([1., 2., 3.], requires_grad=True); "
)
CALLS = [
    "torch.masked_scatter(a,a>0,torch.arange(9.))",
    "torch.masked_scatter(a,a>0,torch.arange(2.))",
    "torch.masked_scatter(a,a[0]>-2,torch.arange(9.))",
    "torch.masked_scatter(a[0],a>0,torch.arange(9.))",
    "torch.masked_scatter(a,a>0,torch.arange(9))",
    "torch.masked_scatter(a,i,torch.arange(9.))",
    "torch.masked_scatter(a,(i>0).byte(),torch.arange(9.))",
    "torch.masked_scatter(a,a>0,3)",
    "torch.masked_scatter(a,3,a)",
    "torch.masked_scatter(3,a>0,a)",
    "a.masked_scatter_(a>0,torch.arange(9.)); a",
    "a.masked_scatter_(torch.tensor([True,False]),a)",
    "torch.masked_scatter(g,g>1,g*2)",
    "y=torch.masked_scatter(g,g>1,(g*2).view(1,3)); y.sum().backward(); g.grad",
    "torch.masked_scatter(a.t(),a.t()>0,torch.arange(9.))",
    "torch.masked_scatter(a.t(),torch.tensor([True]),torch.arange(9.))",
    "torch.masked_scatter(g,g>1,a.t())",
    "s=torch.tensor(1.,requires_grad=True); torch.masked_scatter(s,torch.tensor(True),g)",
    "s=torch.tensor(1.,requires_grad=True); torch.masked_scatter(s,torch.tensor([True,False]),g)",
    "g.masked_scatter_(g>1,a)",
    "torch.masked_scatter(a,a>99,torch.zeros(0))",
    "torch.put(a,torch.tensor([0,5]),torch.tensor([10.,20.]))",
    "torch.put(a,torch.tensor([0,5]),torch.tensor([10.]))",
    "torch.put(a,torch.tensor([0,6]),torch.tensor([10.,20.]))",
    "torch.put(a,torch.tensor([-7,5]),torch.tensor([10.,20.]))",
    "torch.put(a,torch.tensor([-1,5]),torch.tensor([10.,20.]),accumulate=True)",
    "torch.put(a,torch.tensor([-1,5]).int(),torch.tensor([10.,20.]))",
    "torch.put(a,torch.tensor([-1,5]),torch.tensor([10,20]))",
    "torch.put(a,torch.tensor([0.,5]),torch.tensor([10.,20.]))",
    "torch.put(a,torch.tensor([[0],[5]]),torch.tensor([10.,20.]))",
    "torch.put(a,[0],torch.tensor([10.,20.]))",
    "torch.put(a,torch.tensor([0]),3)",
    "a.put_(torch.tensor([0]),torch.tensor([10.])); a",
    "a.t().put_(torch.tensor([1]),torch.tensor([10.])); a",
    "a.t().put(torch.tensor([1]),torch.tensor([10.]))",
    "a.put_(torch.tensor([0]),a[0,:1])",
    "torch.put(g,torch.tensor([0,1]),(g*2)[:2])",
    "y=torch.put(g,torch.tensor([0,1]),(g*2)[:2]); y.sum().backward(); g.grad",
    "y=torch.put(g,torch.tensor([1,1]),(g*2)[:2],accumulate=True); y.sum().backward(); g.grad",
    "a.put_(torch.tensor([]).long(),torch.tensor([])); a",
    "torch.put(a[:0],torch.tensor([0]),torch.tensor([1.]))",
    "torch.put(torch.tensor(3.),torch.tensor(0),torch.tensor(1.))",
    "g.put_(torch.tensor([0]),torch.tensor([10.]))",
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2)*3,reduce="sum")',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2)*3,reduce="prod")',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2)*3,reduce="mean")',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2)*3,reduce="mean",include_self=False)',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2)*3,reduce="amax")',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2)*-3,reduce="amax",include_self=False)',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2)*3,reduce="amin",include_self=False)',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2)*3,reduce="bad")',
    "torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2)*3)",
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2)*3,"sum")',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]),3.,"sum")',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2).long(),"sum")',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]).float(),torch.ones(2,2),"sum")',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,1]]).int(),torch.ones(2,2),"sum")',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,3]]),torch.ones(2,2),"sum")',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,-1]]),torch.ones(2,2),"mean")',
    'torch.scatter_reduce(a,5,torch.tensor([[0,0],[2,-1]]),torch.ones(2,2),"mean")',
    'torch.scatter_reduce(a,1,torch.tensor([[0,0],[2,0]]),torch.ones(2,1),"mean")',
    'torch.scatter_reduce(a,1,torch.tensor([0,0]),torch.ones(2,1),"mean")',
    'torch.scatter_reduce(i,0,torch.tensor([0,0]),torch.tensor([5,6]),"mean")',
    'torch.scatter_reduce(i,0,torch.tensor([0,1]),torch.tensor([5,6]),"mean",include_self=False)',
    'torch.scatter_reduce(i,0,torch.tensor([1,1]),torch.tensor([5,6]),"mean")',
    'torch.scatter_reduce(i>0,0,torch.tensor([0,0]),torch.tensor([True,False]),"sum")',
    'torch.scatter_reduce(i>0,0,torch.tensor([0,0]),torch.tensor([True,False]),"mean")',
    'torch.scatter_reduce(i>0,0,torch.tensor([0,0]),torch.tensor([True,False]),"amax",include_self=False)',
    'torch.scatter_reduce(torch.tensor([nan,1.,2.]),0,torch.tensor([0,1]),torch.tensor([1.,nan]),"amax")',
    'torch.scatter_reduce(torch.tensor([nan,1.,2.]),0,torch.tensor([0,1]),torch.tensor([1.,nan]),"amin")',
    'torch.scatter_reduce(a.half(),1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2).half()*3,reduce="mean")',
    'torch.scatter_reduce(torch.tensor(3.),0,torch.tensor(0),torch.tensor(4.),"sum")',
    'torch.scatter_reduce(torch.tensor(3.),0,torch.tensor([0,0]),torch.tensor([4.,5.]),"amax")',
    'torch.scatter_reduce(a,1,torch.zeros(2,0).long(),torch.zeros(2,0),"sum")',
    'torch.scatter_reduce(a.t(),1,torch.tensor([[0,0],[1,1]]),torch.ones(2,2)*3,reduce="sum")',
    'torch.scatter_reduce(g,0,torch.tensor([0,0]),torch.tensor([4.,5.]),"sum")',
    'torch.scatter_reduce(g,0,torch.tensor([0,0]),torch.tensor([4.,5.]),"amax")',
    'n=torch.scatter_reduce(g,0,torch.tensor([0,0]),torch.tensor([4.,5.],requires_grad=True),"sum").grad_fn; [getattr(n, k) for k in SAVED]',
    'n=torch.scatter_reduce(g,0,torch.tensor([0,0]),torch.tensor([4.,5.],requires_grad=True),"amax").grad_fn; [getattr(n, k) for k in SAVED]',
    'n=torch.scatter_reduce(g,0,torch.tensor([0,0]),torch.tensor([4.,5.]),"mean").grad_fn; [getattr(n, k) for k in SAVED]',
    'a.scatter_reduce_(1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2)*3,reduce="sum") is a',
    'a.scatter_reduce_(1,torch.tensor([[0,0],[2,1]]),a,reduce="sum")',
    'a.scatter_reduce_(1,torch.tensor([[0,0],[2,1]]),torch.ones(2,2),reduce="bad")',
    'torch.scatter_reduce(a,1,[0],a,"sum")',
    'torch.scatter_reduce(a,1,torch.zeros(2,0).long(),torch.zeros(2,0),"bad")',
]

DRAWN = (
    "x = torch.tensor([1., 2., 0., 4.], requires_grad=True); s = torch.tensor([2., 2., 1., 0., 0., 4.], requires_grad=True); "
    "i = torch.tensor([0, 1, 1, 0, {zeros}, 3]); w = torch.tensor([1., 10., 100., 1000.]); "
)


@pytest.mark.parametrize("source", CALLS)
def test_written_entries(source):
    check("test_scattering", source, lambda torch: outcome(torch, START + source))


@pytest.mark.parametrize("zeros", [2, 3], ids=["no two zeros meet", "two zeros meet"])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_gradients_of_scatter_reduce_with_ties_and_zeros(reduce, own, zeros):
    call = f"y = x.scatter_reduce(0, i, s, '{reduce}', include_self={own}); "
    found = "[y, *torch.autograd.grad(y, (x, s), w)]"
    source = DRAWN.format(zeros=zeros) + call + found
    check("test_scattering", source, lambda torch: outcome(torch, source))


def test_a_source_longer_than_the_index_has_no_gradient():
    for reduce in ("sum", "amax"):
        source = f"g.scatter_reduce(0, torch.tensor([0, 1]), g * 2, '{reduce}').sum().backward()"
        check("test_scattering", source, lambda torch: outcome(torch, START + source))


def test_what_was_refused_has_changed_nothing():
    torch = engine()
    x = torch.arange(6.0)
    mask, far = torch.tensor([True, False] * 3), torch.tensor([0, 9])
    for change in (
        lambda: x.masked_scatter_(mask, torch.ones(2)),
        lambda: x.put_(far, torch.ones(2)),
        lambda: x.scatter_reduce_(0, far, torch.ones(2), "sum"),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            change()
        assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        assert x._version == 0


# -- numbers that a dtype of whole numbers cannot hold: what PyTorch prints --------------------------------------------
FILLS = {
    "fill_": lambda t, x, v: x.fill_(v),
    "full_like": lambda t, x, v: t.full_like(x, v),
    "new_full": lambda t, x, v: x.new_full((2,), v),
    "masked_fill": lambda t, x, v: x.masked_fill(t.tensor([True, False]), v),
    "masked_fill_": lambda t, x, v: x.masked_fill_(t.tensor([True, False]), v),
    "index_fill_": lambda t, x, v: x.index_fill_(0, t.tensor([0]), v),
    "scatter_": lambda t, x, v: x.scatter_(0, t.tensor([0]), v),
    "x[0]": lambda t, x, v: (x.__setitem__(0, v), x)[1],
    "x[mask]": lambda t, x, v: (x.__setitem__(t.tensor([True, False]), v), x)[1],
    "tensor": lambda t, x, v: t.tensor([v], dtype=x.dtype),
}


@pytest.mark.parametrize("name", FILLS)
def test_whole_numbers_are_filled_as_pytorch_does(name):
    """Negative ints wrap in unsigned dtypes, floats do not, and lose their fraction where they fit."""
    import autolab as torch

    held = {
        "uint8": {-1: 255, -255: 1, 2.7: 2, -0.0: 0, 255: 255, True: 1},
        "int8": {-1: -1, -0.5: 0, -1.5: -1, -2.7: -2, 127: 127, -128: -128},
        "int64": {-2.7: -2, 2**40: 2**40, 1e10: 10**10},
    }
    for dtype, values in held.items():
        for value, found in values.items():
            assert (
                FILLS[name](torch, torch.ones(2, dtype=getattr(torch, dtype)), value)[0].item()
                == found
            )
    refused = {
        "uint8": [
            -0.5,
            -0.9999,
            -1.5,
            255.5,
            255.9,
            256,
            -256,
            -255.5,
            300,
            float("nan"),
            float("inf"),
            1e30,
        ],
        "int8": [127.5, 128, -129, -128.5, 255.5],
        "int64": [1e30, float("nan")],
    }
    for dtype, values in refused.items():
        kind = (
            dtype
            if name == "tensor"
            else {"uint8": "uint8_t", "int8": "int8_t", "int64": "int64_t"}[dtype]
        )
        for value in values:
            x = torch.ones(2, dtype=getattr(torch, dtype))
            message = f"RuntimeError: value cannot be converted to type {kind} without overflow"
            assert error_of(lambda: FILLS[name](torch, x, value)) == message, value  # noqa: B023
            assert x.tolist() == [1, 1]


def test_a_tensor_that_does_not_fit_is_wrapped_by_fill_and_refused_by_masked_fill():
    import autolab as torch

    x = torch.ones(2, dtype=torch.uint8)
    assert x.fill_(torch.tensor(300)).tolist() == [44, 44]
    assert error_of(lambda: x.masked_fill_(torch.tensor([True, False]), torch.tensor(-0.5))) == (
        "RuntimeError: value cannot be converted to type uint8_t without overflow"
    )
    assert torch.zeros(2, dtype=torch.bool).fill_(1j).tolist() == [True, True]
    assert (
        error_of(lambda: torch.ones(2).fill_(1e300))
        == "RuntimeError: value cannot be converted to type float without overflow"
    )
    assert error_of(lambda: torch.ones(2, dtype=torch.float16).fill_(7e4)) == (
        "RuntimeError: value cannot be converted to type c10::Half without overflow"
    )
