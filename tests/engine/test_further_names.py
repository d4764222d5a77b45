"""Functions of nn.functional at the top of torch, threads, functions of Python for each
element."""

import pytest
from engine_outcomes import outcome
from engine_seen import START
from goldens.oracle import check

EXPRESSIONS = [
    "torch.cosine_similarity(g,g[:1]*2+1)",
    "torch.cosine_similarity(g,v,dim=0)",
    "torch.cosine_similarity(g,v,1,1e-6)",
    "torch.dropout(g,.5,True)",
    "torch.dropout(g,.5,False)",
    "torch.dropout(g,p=.5,train=True)",
    "torch.dropout(g,.5)",
    "torch.dropout_(v,.5,True)",
    "torch.celu(g,2.)",
    "torch.celu(v)",
    "torch.celu_(v)",
    "torch.selu(g)",
    "torch.selu_(v)",
    "torch.threshold(g,1.,0.)",
    "torch.threshold_(v,1.,-3.)",
    "torch.rms_norm(g,(3,))",
    "torch.detach_(g*2).requires_grad",
    "torch.set_num_threads(0)",
    "torch.set_num_threads('a')",
    "n=torch.get_num_threads(); torch.set_num_threads(1); found=torch.get_num_threads(); torch.set_num_threads(n); found",
]


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_as_pytorch_has_it(source):
    check("test_further_names", source, lambda torch: outcome(torch, START + source), rtol=3e-6)
