"""Every expression of the table has PyTorch's grad_fn, edges and saved attributes."""

import pytest
from conformance.grad_fn_table import description, stored

EXPECTED = stored()

DIFFERENT = {
    # where the graph differs on purpose (docs/differences.md), and how
    "torch.linalg.det(S)": "NumPy gives no LU factors, so A alone is saved",
    "torch.linalg.solve(S,x)": "NumPy gives no LU factors, so A alone is saved",
    "torch.linalg.cholesky(S@S.t())": "`upper` is a transpose afterwards",
    "torch.einsum('ij,jk->ik',A,B)": "the product needs no permutation at the end",
    "x[m]": "a mask is saved as the positions it selects",
    "F.scaled_dot_product_attention(T3[:,None],T3[:,None],T3[:,None])": "products and a softmax, where PyTorch has one kernel",
    "nn.LSTM(4,5)(T3)[0]": "steps of gates, where PyTorch has oneDNN's layer",
    **dict.fromkeys(
        (
            "torch.masked_select(x,m)",
            "x.take(i)",
            "F.glu(B)",
            "F.unfold(img,3)",
            "F.pixel_shuffle(torch.rand(1,4,2,2,requires_grad=True),2)",
            "A.median()",
            "torch.trace(S)",
            "x.nansum()",
            "x.repeat_interleave(2)",
        ),
        "composed of other functions",
    ),
    "torch.lerp(x,y,.5)": "the node has a place for a weight that is a tensor",
    "x.cumprod(0)": "the result isn't saved",
    "F.logsigmoid(x)": "no buffer is saved",
    "F.celu(x)": "ELU's node",
    "F.huber_loss(x,c)": "smooth_l1_loss's node, where delta is called beta",
    "F.embedding(i,E)": "the options that no course uses are not saved",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", [e for e in EXPECTED if e not in DIFFERENT])
def test_as_pytorch_has_it(expression):
    assert description(expression, "autolab") == EXPECTED[expression]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", [*DIFFERENT])
def test_a_listed_difference_still_is_one(expression):
    assert description(expression, "autolab") != EXPECTED[expression], (
        "equal now: take it off the list"
    )


@pytest.mark.filterwarnings("ignore")
def test_the_stored_answers_are_pytorchs():
    pytest.importorskip("torch")
    for expression, expected in EXPECTED.items():
        assert description(expression, "torch") == expected, expression
