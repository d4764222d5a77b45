"""The last word of an error is PyTorch's, not Python's or NumPy's; what indices may be; arguments by the names that
PyTorch has for them."""

import pytest
from engine_outcomes import outcome
from goldens import oracle

import autolab as torch

START = (
    "x = torch.arange(6.); A = torch.arange(9.).view(3, 3); V = torch.arange(18.).view(2, 3, 3); z = torch.tensor(3.); i = torch.tensor([0, 2, 1]); "
    "byte, small, short = (torch.tensor([1, 0, 1], dtype=d) for d in (torch.uint8, torch.int8, torch.int16)); import numpy as np; "
)
EXPRESSIONS = [

    "byte.clamp(-1, 1)", "byte.clamp(0, 300)", "small.clamp(-200, 1)",
    "byte.clamp(-0.5, 0.5)", "byte.clip_(0, 1)", "'a' in x", "None in x", "[1.] in x", "z in x", "2 in x",
    "7. in x",





        "torch.bmm(x, V)",
    "torch.tensordot(A, A, ([5], [0]))",
    "F.cross_entropy(z, z)", "F.cross_entropy(z, torch.tensor(1))",
    "F.cross_entropy(A, torch.tensor(1))", "F.cross_entropy(x, i)", "F.nll_loss(V, i)", "x[small]", "x[short]", "x[small[0]]",
    "x[short[0]]", "x[small.int()]", "x[np.array([0, 2], dtype=np.int16)]",
    "x[small] = 2.",
    "A[[[0, 1], [1, 2]],]",
    "A[[0, 1]]", "A[[0, 1], [1, 2]]",
    "A[[True, False, True]]",
    "A[[]]", "A[['a']]", "torch.ones(40, 2)[[0] * 33]",
    "A[((0, 1), (1, 2))]",
    "A[range(2)]", "A[np.array([[0, 1], [1, 2]])]",
    "torch.repeat_interleave(x, torch.tensor(2))",


    "str(torch.result_type(tensor=A, other=1.))", "str(torch.result_type(scalar1=1, scalar2=1.5))",
    "str(torch.promote_types(type1=torch.int8, type2=torch.float16))", "torch.promote_types(1, 2)", "A.new(size=(2,)).shape",
    "A.new(other=x)", "A.new(foo=1)", "torch.det(input=A)", "torch.slogdet(input=A + torch.eye(3))",
    "torch.inverse(input=A + torch.eye(3))", "torch.matrix_exp(input=A / 9)", "torch.square_(input=x)", "torch.negative_(input=x)",
    "torch.linalg.eigvalsh(A, UPLO='x')",
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_pytorch_has_it(expression):
    oracle.check("test_last_words", expression, lambda t: outcome(t, START + expression), rtol=1e-5)


TOO_LARGE = [
    "torch.zeros(10**18)", "torch.full((10**15,), 1.)", "torch.eye(10**9)", "torch.rand(10**15)", "x.repeat(10**17)",
    "x.expand(10**15, 6) + 1", "x.expand(10**15, 6).clone()", "x.expand(10**15, 6).exp()", "x.repeat_interleave(10**16)",
    "F.pad(x, (10**16, 0))", "x.new_zeros(10**17)", "torch.zeros_like(x.expand(10**15, 6))", "x.resize_(10**17)",
    "torch.linspace(0, 1, 10**16)", "torch.outer(x[:1].expand(10**9), x[:1].expand(10**9))",
]  # fmt: skip


@pytest.mark.parametrize("expression", TOO_LARGE)
def test_too_large(expression):
    message = outcome(torch, START + expression)
    start = "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
    assert message.startswith(start)


def test_sizes_beyond_counting_and_dimensions_beyond_numpys():
    assert (
        outcome(torch, "torch.ones(10**10, 10**10)")
        == "RuntimeError: Storage size calculation overflowed with sizes=[10000000000, 10000000000]"
    )
    one = "torch.ones(1)"
    for expression in (
        "torch.zeros([1] * 65)",
        "torch.zeros([1] * 64)[None]",
        f"{one}.expand([1] * 65)",
        f"{one}.view([1] * 65)",
    ):
        assert (
            outcome(torch, START + expression)
            == "RuntimeError: tensors of more than 64 dimensions are not supported by autolab"
        )


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: x + t.ones(2),
        lambda t, x: t.cat([x, x.reshape(1, 3)]),
        lambda t, x: x.reshape(7),
        lambda t, x: x.sum(axis="a"),
        lambda t, x: x.sum(5),
    ],
)
def test_an_error_that_is_over_keeps_no_tensor(call):
    """Without the garbage collector: a frame that still named the error would be held by it, and hold what it computed
    with."""
    import gc
    import weakref

    import autolab

    gc.collect()
    gc.disable()
    try:
        x = autolab.ones(3)
        held = weakref.ref(x)
        with pytest.raises(Exception):
            call(autolab, x)
        del x
        assert held() is None
    finally:
        gc.enable()
