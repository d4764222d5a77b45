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
    "torch.addmm(g,g,g,beta=2,alpha=3)",
]


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_as_pytorch_has_it(source):
    check("test_small_functions", source, lambda torch: outcome(torch, START + source), rtol=3e-6)
