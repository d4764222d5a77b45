"""Corners of `nn.functional` against PyTorch: operands of two dtypes, whole numbers, masks, no numbers, what is no
tensor.

A program is a line of text; compared are the value with dtype, strides and node, or the error's type and words."""

import warnings

import pytest

import autolab
from goldens.oracle import check, error_of

LOSSES = [
    # one dtype for two operands: whose it is, and what cannot be held in it
    "F.cosine_similarity(b, i[:2])",
    "F.huber_loss(b, b)", "F.huber_loss(i, i.int())",
    "F.huber_loss(h, x)", "F.huber_loss(x, d)",
    "F.binary_cross_entropy_with_logits(x, d)", "F.binary_cross_entropy_with_logits(d, x)",
    "F.binary_cross_entropy_with_logits(x, h, weight=d)",
    "F.binary_cross_entropy_with_logits(x, i)",
    "F.binary_cross_entropy_with_logits(x, b)", "F.binary_cross_entropy_with_logits(i, i)",
    "F.binary_cross_entropy_with_logits(x.requires_grad_(), d.requires_grad_())",
    "F.cosine_similarity(x[None], h[None] * 0)", "F.cosine_similarity(d[None], h[None] / 3)", "F.cosine_similarity(i[None], x[None])",
    "F.cosine_similarity(i[None], h[None])",
    "F.cosine_similarity(i[None], i[None])",
    # pairwise_distance
    # which question comes first
    "F.l1_loss(i, b, reduction='bad')", "F.l1_loss(i, b)",
    "F.nll_loss(x, i)", "F.nll_loss(x, i.int())", "F.nll_loss(x, i.int()[:1])", "F.nll_loss(s, i[0])",
    "F.nll_loss(s, i[:2].int())",
    "F.nll_loss(s.long(), i[:2], weight=x)", "F.nll_loss(s.long(), i[:2], weight=x[:2])", "F.nll_loss(s, i[:2], weight=d)",
    "F.nll_loss(s, i[:2], weight=[1])",
    "F.nll_loss(q.long(), i[:2, None, None] * 0)", "F.nll_loss(q.long(), i[:2, None, None] * 0, weight=x)", "F.nll_loss(q, i[:2].int())",
    "F.nll_loss(q, i[:2, None, None].int())",
    "F.nll_loss(q, i.int().repeat(2, 2, 1))", "F.nll_loss(q, i.repeat(2, 2, 1))", "F.nll_loss(q[..., 0], i[:2].int())",
    "F.nll_loss(q[..., 0], i[:2, None, None].int())",
    "F.cross_entropy(x, x[:2])", "F.cross_entropy(s, s, weight=[1])",
    # what is no tensor
    "F.nll_loss(x, 1)", "F.nll_loss([1], x)", "F.cross_entropy(x, 1)", "F.kl_div(x, 2)", "F.kl_div(1, x)",
    "F.cosine_embedding_loss(x, x, 1)", "F.cosine_embedding_loss(1, x, x)",
    "F.cosine_similarity(x, 1)",
    "F.cosine_similarity(1, x)", "F.binary_cross_entropy_with_logits(x, x, weight=3)",
    "F.binary_cross_entropy_with_logits(x, x, pos_weight=3)",
]  # fmt: skip

ACTIVATIONS = [
    "F.glu(i)", "F.glu(x, 2.5)", "F.glu(x[:2], 'a')", "F.glu(x, 3)", "F.glu(i[:2])", "F.glu(x[:2], 0)", "F.softshrink(i, -1)", "F.softshrink(x, -1)",
    "F.threshold(i, 1.5, -2.7)", "F.threshold(i.byte(), -1, 2)", "F.threshold(i.byte(), 1, -1)",
    "F.threshold(i, 0, 1e30)",
    "F.threshold(i.byte(), 3, -1.5)", "F.threshold(i.byte(), 1, -255)", "F.threshold(i, 1)",
    "F.glu(x[0], 0.5)", "F.softmax(i[0], 0)", "F.log_softmax(b[0], 0)", "F.logsigmoid(t.transpose(0, 1))",
    "F.normalize(x)", "x.norm(dim=4)",
    "F.threshold(x, float('nan'), 1)", "F.threshold(x * float('nan'), 0, 1)", "y = i.clone(); F.threshold_(y, 0.5, 7.5); y",
    "F.softmax(i, 0)",
    # gelu at infinity: the limit for one number; PyTorch's float32 kernel for several gives nan for all of them
    "F.gelu(inf)", "F.gelu(inf, approximate='tanh')", "F.gelu(inf.double())", "F.gelu(inf.repeat(3), approximate='tanh')", "F.gelu(-inf)",
    "y = inf.clone().requires_grad_(); F.gelu(y).backward(); y.grad",
    "y = inf.clone().requires_grad_(); F.gelu(y, approximate='tanh').backward(); y.grad",
    "y = (h * 5e3).requires_grad_(); F.gelu(y, approximate='tanh').sum().backward(); y.grad",
    "y = (h * 5e3).requires_grad_(); F.gelu(y).sum().backward(); y.grad",
]  # fmt: skip

NORMS = [
    "m = torch.nn.BatchNorm2d(3); m(q[:0]); m.state_dict()",
    *[f"F.instance_norm({x}, None, None, {w})" for x in ("t", "t[0]", "t[0, 0]", "t.double()") for w in ("None", "g")],
]  # fmt: skip


def said_of(t, text):
    """What the last part of `text` is, or the error on the way."""
    x = t.tensor([-2.0, 0.5, 3.0])
    named = {
        "torch": t,
        "F": t.nn.functional,
        "x": x,
        "d": x.double() / 3,
        "h": x.half(),
        "i": t.tensor([-1, 1, 2]),
        "b": x > 0,
    }
    named |= {
        "s": t.linspace(-1, 1, 6).view(2, 3),
        "q": t.linspace(-1, 1, 6).view(2, 3, 1, 1),
        "t": t.linspace(-2, 3, 24).sin().view(2, 3, 4),
    }
    named |= {"g": t.tensor([0.5, 1.0, 2.0], requires_grad=True), "inf": t.tensor(float("inf"))}
    *before, last = text.split("; ")
    found = []

    def act():
        exec("\n".join(before), named)
        found.append(eval(last, named))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = error_of(act)
    shown = lambda y: (
        [y, y.stride() if y.numel() else None, y.grad_fn and y.grad_fn.name()]
        if isinstance(y, t.Tensor)
        else y
    )
    return [said, *map(shown, found)]


@pytest.mark.parametrize("text", [*LOSSES, *ACTIVATIONS, *NORMS])
def test_corner(text):
    check(
        "test_nn_corners",
        text,
        lambda t: said_of(t, text),
        only_cpu="words about dtypes come from CPU kernels",
        rtol=4e-6,
    )


@pytest.mark.parametrize(
    "text",
    [
        "F.instance_norm(t, x, x.abs())",
        "F.instance_norm(t, use_input_stats=False)",
        "torch.nn.InstanceNorm1d(3, track_running_stats=True)",
        "F.embedding(i.abs(), s, max_norm=1.0)",
    ],
)
def test_options_that_courses_do_not_use_are_refused(text):
    assert said_of(autolab, text)[0].startswith("NotImplementedError")
