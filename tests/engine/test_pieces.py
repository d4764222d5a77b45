"""Quantiles, histogram, constant_pad_nd: values, nodes, two
derivatives, errors."""

import pytest
from engine_outcomes import outcome
from engine_seen import START
from goldens.oracle import check

EXPRESSIONS = [
    "torch.quantile(v,.3)",
    "torch.quantile(torch.tensor([1.,nan,3.]),.3)",
    "torch.quantile(torch.tensor([[1.,nan,3.],[1.,2.,3.]]),torch.tensor([.3,.5]),dim=1)",
    "torch.quantile(i,.4)",
    "torch.quantile(v[:0],.4)",
    "torch.quantile(v,torch.tensor([.4]).double())",
    "torch.quantile(v,torch.tensor([[.4]]))",
    "torch.quantile(v,.4,dim=1)",
    "torch.quantile(v,torch.tensor([]))",
    "second(lambda x: torch.quantile(x*x,torch.tensor([.3,.6]),dim=1)*1,g)",
    "second(lambda x: torch.quantile(x*x,.3,dim=0,keepdim=True)*1,g)",
    "torch.quantile(torch.tensor([2.]),.3)",
    "torch.quantile(torch.tensor(2.),.3)",
    "torch.quantile(torch.tensor(2.),.3,dim=0,keepdim=True)",
    "torch.quantile(c,.3,dim=1)",
    "torch.quantile(c,torch.tensor([.3,.2]),dim=1)",
    "torch.histogram(v,3)",
    "torch.histogram(v,3).hist",
    "torch.histogram(m,4)",
    "m.histogram(4,range=(0.,2.))",
    "torch.histogram(m,4,range=(0,2))",
    "torch.histogram(m,4,density=True)",
    "torch.histogram(m.double(),4)",
    "torch.histogram(m,4,range=(1.,1.))",
    "torch.histogram(torch.ones(3),2)",
    "torch.histogram(torch.tensor([]),2)",
    "torch.histogram(m,4,range=(0.,))",
    "torch.histogram(m)",
]


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_as_pytorch_has_it(source):
    check("test_pieces", source, lambda torch: outcome(torch, START + source), rtol=3e-6)
