"""Products added to something, running totals in place, pieces cut off, diagonals: values, nodes, two derivatives,
errors."""

import pytest
from engine_outcomes import outcome
from engine_seen import START
from goldens.oracle import check

EXPRESSIONS = [
    "m.fill_diagonal_(7.)",
    "torch.ones(7,3).fill_diagonal_(5,wrap=True)",
    "torch.ones(7,3).fill_diagonal_(5)",
    "torch.ones(2,2,2).fill_diagonal_(5)",
    "torch.ones(2,2,3).fill_diagonal_(5)",
    "torch.ones(3).fill_diagonal_(5)",
    "i.fill_diagonal_(5)",
    "torch.ones(2,2).long().fill_diagonal_(2.5)",
    "m.t().fill_diagonal_(2)",
    "m.fill_diagonal_('a')",
    "m.fill_diagonal_()",
    "m.fill_diagonal_(True)",
    "m.fill_diagonal_(torch.tensor(3.))",
    "m.fill_diagonal_(3,1)",
    "m.fill_diagonal_(3,True)",
    "y=g*1; z=y.fill_diagonal_(3.); [z,nodes(z)]",
    "g.fill_diagonal_(3.)",
    "y=g*1; y.fill_diagonal_(3.); y.sum().backward(); g.grad",
    "y=(g*1); y.t().fill_diagonal_(3.); nodes(y)",
    "torch.is_nonzero(torch.tensor(0.))",
    "torch.is_nonzero(torch.tensor([True]))",
    "torch.is_nonzero(v)",
    "torch.is_nonzero(torch.tensor([]))",
    "torch.tensor([3]).is_nonzero()",
    "torch.is_nonzero(3)",
    "torch.negative_(v)",
    "v.negative_()",
    "b.negative_()",
    "y=h*1; nodes(y.negative_())",
    "nodes(torch.negative(h))",
    "torch.addmm(g,g,g,beta=2,alpha=3)",
    "v.cumsum_(0)",
    "a.cumsum_(1)",
    "a.t().cumsum_(1)",
    "i.cumsum_(0)",
    "i.cumsum_(0,dtype=torch.float32)",
    "i.int().cumsum_(0)",
    "b.cumsum_(0)",
    "v.cumsum_(1)",
    "v.cumsum_()",
    "y=h*1; nodes(y.cumsum_(0))",
    "h.cumsum_(0)",
    "v.cumprod_(0)",
    "i.cumprod_(0)",
    "y=h*1; nodes(y.cumprod_(0))",
    "y=h*1; y.cumprod_(0); y.sum().backward(); h.grad",
    "v.cumsum_(0,dtype=torch.float64)",
    "v.double().cumsum_(0,dtype=torch.float32)",
]


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_as_pytorch_has_it(source):
    check("test_small_functions", source, lambda torch: outcome(torch, START + source), rtol=3e-6)
