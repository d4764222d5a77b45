"""Attention and transformers: PyTorch's initial numbers, outputs, weights, gradients, masks, texts."""

import math
import warnings

import pytest
from goldens.oracle import check, error_of, same_as_torch

CLOSE = {"rtol": 5e-5, "atol": 5e-6}


def gradients(t, tensors, outputs):
    weights = [t.linspace(-1, 1, max(x.numel(), 1)).reshape(x.shape) for x in outputs]
    sum((w * x).sum() for w, x in zip(weights, outputs)).backward()
    return [x.grad for x in tensors]


def triangle(t, n):
    return t.full((n, n), -math.inf).triu(1)


PRODUCTS = {
    "plain": {},
    "causal": {"is_causal": True},
    "scale": {"scale": 0.3},
    "bool mask": {"attn_mask": lambda t: t.arange(15).reshape(3, 5) % 4 != 0},
    "hides a whole row": {"attn_mask": lambda t: t.arange(3).reshape(3, 1).expand(3, 5) != 1},
    "float mask": {"attn_mask": lambda t: t.linspace(-1, 1, 15).reshape(3, 5)},
    "mask per head": {"attn_mask": lambda t: t.linspace(-1, 1, 60).reshape(2, 2, 3, 5)},
    "dropout": {"dropout_p": 0.4},
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_scaled_dot_product_attention(name):
    def program(t):
        t.manual_seed(0)
        q, k, v = (t.randn(2, 2, n, e).requires_grad_() for n, e in ((3, 4), (5, 4), (5, 6)))
        options = {
            key: value(t) if callable(value) else value for key, value in PRODUCTS[name].items()
        }
        result = t.nn.functional.scaled_dot_product_attention(q, k, v, **options)
        return [result, gradients(t, (q, k, v), [result])]

    check("test_nn_attention", f"product {name}", program, **CLOSE)


@same_as_torch(**CLOSE)
def test_fewer_heads_of_keys_and_few_dimensions(t):
    attend = t.nn.functional.scaled_dot_product_attention
    t.manual_seed(0)
    q, k, v = t.randn(1, 4, 3, 2), t.randn(1, 2, 5, 2), t.randn(1, 2, 5, 2)
    return [
        attend(q, k, v, enable_gqa=True),
        attend(q[0, 0], k[0, 0], v[0, 0]),
        attend(q[0, :2], k[0], v[0]),
    ]


@same_as_torch
def test_errors_of_the_product(t):
    attend, x = t.nn.functional.scaled_dot_product_attention, t.ones(2, 3, 4)
    return {
        "mask twice": error_of(lambda: attend(x, x, x, t.ones(3, 3), is_causal=True)),
        "dtype": error_of(lambda: attend(x, x, x, t.ones(3, 3, dtype=t.int64))),
        "double": error_of(lambda: attend(x, x, x, t.ones(3, 3, dtype=t.float64))),
        "dimensions": error_of(lambda: attend(x[0, 0], x, x)),
    }


ATTENTIONS = {
    "plain": (lambda n: n.MultiheadAttention(8, 2), {}),
    "batch first": (lambda n: n.MultiheadAttention(8, 4, batch_first=True), {}),
    "no bias": (lambda n: n.MultiheadAttention(8, 2, bias=False), {"need_weights": False}),
    "padding": (lambda n: n.MultiheadAttention(8, 2), {"padding": True}),
    "padding and mask": (
        lambda n: n.MultiheadAttention(8, 2),
        {
            "padding": True,
            "attn_mask": lambda t: t.arange(15).reshape(3, 5) % 4 == 1,
            "need_weights": False,
        },
    ),
    "mask per head": (
        lambda n: n.MultiheadAttention(8, 2),
        {"attn_mask": lambda t: t.linspace(-1, 1, 60).reshape(4, 3, 5), "need_weights": False},
    ),
    "dropout": (lambda n: n.MultiheadAttention(8, 2, dropout=0.3), {}),
    "dropout without weights": (
        lambda n: n.MultiheadAttention(8, 2, dropout=0.3),
        {"need_weights": False},
    ),
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_several_heads(name):
    def program(t):
        make, settings = ATTENTIONS[name]
        t.manual_seed(1)
        attention = make(t.nn)
        widths = {"query": 8, "key": attention.kdim, "value": attention.vdim}
        lengths = {"query": 3, "key": 5, "value": 5}
        x = {
            key: t.randn(
                *((2, lengths[key]) if attention.batch_first else (lengths[key], 2)), width
            ).requires_grad_()
            for key, width in widths.items()
        }
        options = {
            key: value(t) if callable(value) else value
            for key, value in settings.items()
            if key != "padding"
        }
        if settings.get("padding"):
            options["key_padding_mask"] = t.tensor([[False, False, False, True, True], [False] * 5])
        t.manual_seed(2)
        output, weights = attention(**x, **options)
        tensors = [*attention.parameters(), *x.values()]
        shown = [output] if weights is None else [output, weights]
        state = {key: list(value.shape) for key, value in attention.state_dict().items()}
        return [
            repr(attention),
            state,
            list(attention.parameters()),
            output,
            weights,
            gradients(t, tensors, shown),
        ]

    check("test_nn_attention", f"heads {name}", program, **CLOSE)


@same_as_torch
def test_errors_of_attention(t):
    n, x = t.nn, t.ones(3, 2, 8)
    a = n.MultiheadAttention(8, 2)
    return {
        "heads": error_of(lambda: n.MultiheadAttention(8, 3)),
        "query": error_of(lambda: a(t.ones(8), x, x)),
        "key": error_of(lambda: a(x, x[0], x)),
        "single key": error_of(lambda: a(x[0], x, x)),
        "padding": error_of(lambda: a(x, x, x, key_padding_mask=t.zeros(3))),
        "single padding": error_of(lambda: a(x[0], x[0], x[0], key_padding_mask=t.zeros(1, 3))),
        "padding size": error_of(lambda: a(x, x, x, key_padding_mask=t.zeros(2, 4))),
        "padding batch": error_of(lambda: a(x, x, x, key_padding_mask=t.zeros(3, 3))),
        "mask": error_of(lambda: a(x, x, x, attn_mask=t.zeros(3))),
        "mask size": error_of(lambda: a(x, x, x, attn_mask=t.zeros(3, 4))),
        "mask size per head": error_of(lambda: a(x, x, x, attn_mask=t.zeros(3, 3, 3))),
        "mask dtype": error_of(lambda: a(x, x, x, attn_mask=t.zeros(3, 3, dtype=t.int64))),
        "causal": error_of(lambda: a(x, x, x, is_causal=True)),
        "width": error_of(lambda: a(t.ones(3, 2, 4), x, x)),
        "value": error_of(lambda: a(x, x, t.ones(2, 2, 8))),
        "activation": error_of(lambda: n.TransformerEncoderLayer(8, 2, activation="sin")),
        "features": error_of(lambda: n.Transformer(8, 2, 1, 1, 4)(x, t.ones(3, 2, 4))),
        "batches": error_of(lambda: n.Transformer(8, 2, 1, 1, 4)(x, t.ones(3, 3, 8))),
    }


LAYERS = {
    "encoder": lambda n: n.TransformerEncoderLayer(8, 2, 16),
    "encoder norm first": lambda n: n.TransformerEncoderLayer(
        8,
        2,
        16,
        dropout=0.0,
        activation="gelu",
        batch_first=True,
        norm_first=True,
        layer_norm_eps=1e-3,
    ),
    "encoder no bias": lambda n: n.TransformerEncoderLayer(
        8, 4, 16, bias=False, activation=n.Tanh()
    ),
    "decoder": lambda n: n.TransformerDecoderLayer(8, 2, 16),
    "decoder norm first": lambda n: n.TransformerDecoderLayer(
        8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    def program(t):
        t.manual_seed(1)
        layer = LAYERS[name](t.nn)
        x, memory = t.randn(3, 3, 8).requires_grad_(), t.randn(3, 3, 8).requires_grad_()
        given = (x, memory) if "decoder" in name else (x,)
        t.manual_seed(2)
        outputs = [layer(*given), layer(*given, triangle(t, 3))]
        tensors = [*layer.parameters(), *given]
        text, state = repr(layer), list(layer.state_dict())
        found = [*outputs, gradients(t, tensors, outputs)]
        with warnings.catch_warnings(), t.no_grad():
            warnings.simplefilter("ignore")  # PyTorch's faster way warns of what it does
            found.append(layer.eval()(*given))
        return [text, state, list(layer.parameters()), found]

    check("test_nn_attention", f"layer {name}", program, **CLOSE)


@same_as_torch(**CLOSE)
def test_transformer(t):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t.manual_seed(1)
        net = t.nn.Transformer(8, 2, 2, 2, 16, dropout=0.1)
    src, tgt = t.randn(4, 2, 8).requires_grad_(), t.randn(3, 2, 8).requires_grad_()
    mask = net.generate_square_subsequent_mask(3)
    hidden = t.tensor([[False] * 4, [False, False, True, True]])
    t.manual_seed(2)
    first = net(src, tgt)
    second = net(
        src,
        tgt,
        tgt_mask=mask,
        src_key_padding_mask=hidden,
        memory_key_padding_mask=hidden,
        tgt_key_padding_mask=t.zeros(2, 3, dtype=t.float32),
    )
    causal = net.encoder(src, net.generate_square_subsequent_mask(4))
    text, state = repr(net), list(net.state_dict())
    found = gradients(t, [*net.parameters(), src, tgt], [first, second, causal])
    single = net.eval()(src[:, 0], tgt[:, 0])
    return [text, state, mask, list(net.parameters()), first, second, causal, single, found]
