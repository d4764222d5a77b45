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
    "x.index_add(0,i,c[:2])": "nothing is saved for an operand that needs no gradient",
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

# stored, and removed from autolab: they go when the goldens are written again
REMOVED = {
    "F.mish(x)", "F.hardsigmoid(x)", "F.hinge_embedding_loss(x,c)", "torch.atan2(x,y)", "x.logit()", "torch.logaddexp(x,y)",
    "torch.hypot(x,y)", "torch.lgamma(x)", "torch.kron(x,y)", "torch.block_diag(A,B)", "(x*1).index_fill_(0,i,0.)",
    "x.as_strided((2,),(1,))", "(x*1).index_put_((i,),c[:2])", "x.expm1()", "torch.var_mean(A,1)[0]",
    "x.scatter_add(0,i,c[:2])", "torch.xlogy(x,y)", "F.hardswish(x)",
}  # fmt: skip


def found(expression):
    try:
        return description(expression, "autolab")
    except AttributeError as error:
        return {"not there": str(error)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", [e for e in EXPECTED if e not in {*DIFFERENT, *REMOVED}])
def test_as_pytorch_has_it(expression):
    assert found(expression) == EXPECTED[expression]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", [*DIFFERENT])
def test_a_listed_difference_still_is_one(expression):
    assert found(expression) != EXPECTED[expression], "equal now: take it off the list"


@pytest.mark.filterwarnings("ignore")
def test_the_stored_answers_are_pytorchs():
    pytest.importorskip("torch")
    for expression, expected in EXPECTED.items():
        assert description(expression, "torch") == expected, expression
