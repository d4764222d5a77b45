"""Products added to something in place, is_nonzero, negative: values, nodes, two derivatives, errors."""

import pytest
from engine_outcomes import outcome
from engine_seen import START
from goldens.oracle import check

EXPRESSIONS = [
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
    "a.addmm_(torch.ones(2,2),torch.ones(2,3),beta=2,alpha=.5)",
    "a.addmm_(torch.ones(2,2),torch.ones(2,4))",
    "a.addmm_(torch.ones(2,2),torch.ones(3,4))",
    "v.addmm_(torch.ones(2,2),torch.ones(2,3))",
    "i.addmm_(torch.ones(2,2),torch.ones(2,3))",
    "a.addmm_(torch.ones(2,2).double(),torch.ones(2,3))",
    "y=g*1; nodes(y.addmm_(g,g,alpha=2))",
    "g.addmm_(g,g)",
    "a.addmm_(torch.ones(2),torch.ones(2,3))",
    "torch.addmm(g,g,g,beta=2,alpha=3)",
]


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_as_pytorch_has_it(source):
    check("test_small_functions", source, lambda torch: outcome(torch, START + source), rtol=3e-6)
