"""matrix_exp and functions of torch.special: values, nodes, two
derivatives, errors."""

import pytest
from engine_outcomes import outcome
from engine_seen import START
from goldens.oracle import check

EXPRESSIONS = [
    "torch.linalg.matrix_exp(g)",
    "torch.linalg.matrix_exp(torch.zeros(2,2))",
    "torch.linalg.matrix_exp(c[:,:3,:3])",
    "torch.linalg.matrix_exp(c[:,:3,:3]*8)",
    "torch.linalg.matrix_exp(m)",
    "torch.linalg.matrix_exp(v)",
    "torch.linalg.matrix_exp(torch.ones(2,2).long())",
    "torch.linalg.matrix_exp(torch.ones(0,0))",
    "torch.linalg.matrix_exp(torch.ones(1,1))",
    "torch.matrix_exp(g)",
    "g.matrix_exp()",
    "nodes(torch.matrix_exp(g))",
    "second(lambda x: torch.matrix_exp(x*.3),g)",
]


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_as_pytorch_has_it(source):
    check("test_matrix_functions", source, lambda torch: outcome(torch, START + source), rtol=3e-6)
