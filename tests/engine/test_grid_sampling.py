"""F.grid_sample and F.affine_grid: both alignments, derivatives, errors."""

import pytest
from engine_outcomes import outcome
from engine_seen import START
from goldens.oracle import check

import autolab

EXPRESSIONS = [
    "F.grid_sample(torch.randn(1,2,3,4).long(),torch.randn(1,2,2,2))",
    "F.grid_sample(torch.randn(1,2,3,4).long(),torch.randn(1,2,2,2).long())",
    "F.grid_sample(torch.randn(1,2,3,4).half(),torch.randn(1,2,2,2).half())",
    "nodes(F.grid_sample(torch.randn(1,2,3,4).requires_grad_(),torch.randn(1,2,2,2),align_corners=True))",
    "F.affine_grid(torch.randn(1,2,3),(1,1,2,2))",
    "F.affine_grid(torch.randn(1,2,3),(1,1,2,3),align_corners=True)",
    "F.affine_grid(torch.randn(1,2,3),torch.Size([1,1,1,3]),align_corners=True)",
    "F.affine_grid(torch.randn(1,2,3).long(),(1,1,2,3))",
    "t=torch.randn(2,2,3,requires_grad=True);torch.autograd.grad(F.affine_grid(t,(2,1,3,2),align_corners=False).pow(2).sum(),t)[0].contiguous()",
    "t=torch.randn(2,2,3,requires_grad=True);torch.autograd.grad(F.affine_grid(t,(2,1,3,2),align_corners=True).pow(2).sum(),t)[0].contiguous()",
    "F.grid_sample(torch.randn(2,2,5,4),torch.randn(2,3,2,2)*1.5,align_corners=True)",
    "F.grid_sample(torch.randn(2,2,5,4),torch.randn(2,3,2,2)*1.5)",
    "F.grid_sample(torch.arange(6.).view(1,1,2,3),torch.tensor([[[[-1.,-1.],[1.,1.],[0.,0.],[2.,-2.]]]]),align_corners=False)",
    (
        "[F.grid_sample(torch.arange(6.).view(1,1,2,3),F.affine_grid(torch.tensor([[[1.,0,0],[0,1.,0]]]),(1,1,2,3),"
        "align_corners=f),align_corners=f) for f in (True,False)]"
    ),
    (
        "x=torch.randn(2,2,3,4).requires_grad_();q=(torch.randn(2,3,2,"
        "2)*1.5).requires_grad_();[torch.autograd.grad(F.grid_sample(x,q,align_corners=f).pow(2).sum(),(x,"
        "q)) for f in (True,False)]"
    ),
]

REFUSED = [
    "F.grid_sample(torch.ones(1,2,3,4),torch.ones(1,2,2,2),padding_mode='reflection')",
    "F.grid_sample(torch.ones(1,2,3,4),torch.ones(1,2,2,2),mode='bicubic')",
    "F.grid_sample(torch.ones(1,2,3,4),torch.ones(1,2,2,2),padding_mode='border')",
]


@pytest.mark.parametrize("source", REFUSED)
def test_what_is_not_here_is_refused(source):
    assert "is not supported by autolab" in outcome(autolab, START + source)


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_as_pytorch_has_it(source):
    check("test_grid_sampling", source, lambda torch: outcome(torch, START + source), rtol=1e-5)
