"""Functions of networks for images and sequences against PyTorch: values, gradients, graphs with what they save, second
derivatives, errors."""

import itertools
import re

import pytest
from goldens.oracle import check, engine, error_of
from nn.test_nn_functional import chain, saved

FUNCTIONS = {
    # convolution: i images (2, 4, 6, 5), q sequences (2, 4, 9), and parameters made by `p`
    "conv2d": lambda F, i, q, p: F.conv2d(i, p(3, 4, 3, 2), p(3)),
    "conv2d no bias": lambda F, i, q, p: F.conv2d(i, p(3, 4, 3, 2)),
    "conv2d stride, padding": lambda F, i, q, p: F.conv2d(
        i, p(3, 4, 3, 3), p(3), stride=(2, 1), padding=(1, 2)
    ),
    "conv2d dilation": lambda F, i, q, p: F.conv2d(
        i, p(3, 4, 2, 2), p(3), dilation=(3, 2), padding=1
    ),
    "conv2d groups": lambda F, i, q, p: F.conv2d(i, p(6, 2, 3, 3), p(6), groups=2, padding=1),
    "conv2d depthwise": lambda F, i, q, p: F.conv2d(i, p(8, 1, 3, 3), p(8), groups=4, stride=2),
    "conv2d pointwise": lambda F, i, q, p: F.conv2d(i, p(3, 4, 1, 1), p(3)),
    "conv2d same": lambda F, i, q, p: F.conv2d(i, p(3, 4, 3, 5), p(3), padding="same"),
    "conv2d one image": lambda F, i, q, p: F.conv2d(i[0], p(3, 4, 3, 3), p(3)),
    "conv1d": lambda F, i, q, p: F.conv1d(q, p(3, 4, 3), p(3)),
    "conv1d stride, padding, dilation": lambda F, i, q, p: F.conv1d(q, p(3, 4, 3), p(3), 2, 2, 2),
    "conv1d groups": lambda F, i, q, p: F.conv1d(q, p(4, 2, 2), groups=2),
    "conv_transpose2d": lambda F, i, q, p: F.conv_transpose2d(i, p(4, 3, 3, 2), p(3)),
    "conv_transpose2d all": lambda F, i, q, p: F.conv_transpose2d(
        i, p(4, 2, 3, 2), p(4), (2, 3), 1, (1, 2), 2, (1, 2)
    ),
    "conv_transpose2d pointwise": lambda F, i, q, p: F.conv_transpose2d(i, p(4, 3, 1, 1), None, 2),
    "conv_transpose1d": lambda F, i, q, p: F.conv_transpose1d(q, p(4, 3, 3), p(3), 2, 1, 1),
    # pooling
    "max_pool2d": lambda F, i, q, p: F.max_pool2d(i, 2),
    "max_pool2d all": lambda F, i, q, p: F.max_pool2d(i, (3, 2), (2, 1), 1, (1, 2), ceil_mode=True),
    "max_pool2d one image": lambda F, i, q, p: F.max_pool2d(i[0], 2),
    "max_pool1d": lambda F, i, q, p: F.max_pool1d(q, 3, 2),
    "avg_pool2d": lambda F, i, q, p: F.avg_pool2d(i, 2),
    "avg_pool2d all": lambda F, i, q, p: F.avg_pool2d(
        i, (3, 2), (2, 1), 1, ceil_mode=True, count_include_pad=False
    ),
    "avg_pool2d divisor": lambda F, i, q, p: F.avg_pool2d(i, 2, divisor_override=3),
    "avg_pool1d": lambda F, i, q, p: F.avg_pool1d(q, 3, 2, 1),
    "adaptive_avg_pool2d": lambda F, i, q, p: F.adaptive_avg_pool2d(i, (4, 2)),
    "adaptive_avg_pool2d None": lambda F, i, q, p: F.adaptive_avg_pool2d(i, (None, 3)),
    "adaptive_avg_pool1d": lambda F, i, q, p: F.adaptive_avg_pool1d(q, 4),
    "adaptive_max_pool2d": lambda F, i, q, p: F.adaptive_max_pool2d(i, (4, 2)),
    # normalisation
    "batch_norm": lambda F, i, q, p: F.batch_norm(i, None, None, p(4), p(4), training=True),
    "batch_norm of sequences": lambda F, i, q, p: F.batch_norm(q, None, None, p(4), training=True),
    "batch_norm eval": lambda F, i, q, p: F.batch_norm(
        i, p(4).detach(), p(4).detach() ** 2 + 0.5, p(4), p(4)
    ),
    "layer_norm": lambda F, i, q, p: F.layer_norm(i, (6, 5), p(6, 5), p(6, 5)),
    "group_norm": lambda F, i, q, p: F.group_norm(i, 2, p(4), p(4)),
    "instance_norm": lambda F, i, q, p: F.instance_norm(i, weight=p(4), bias=p(4)),
    "rms_norm": lambda F, i, q, p: F.rms_norm(i, (5,), p(5)),
    # padding, resizing, patches
    **{
        f"pad {mode}": lambda F, i, q, p, mode=mode: F.pad(i, (1, 2, 3, 1), mode)
        for mode in ("constant", "reflect", "replicate")
    },
    **{
        f"pad {mode} of sequences": lambda F, i, q, p, mode=mode: F.pad(q, (2, 1), mode)
        for mode in ("reflect", "replicate")
    },
    "pad value": lambda F, i, q, p: F.pad(q, (1, 0), value=2.5),
    "pad negative": lambda F, i, q, p: F.pad(i, (-1, 1, 2, -2)),
    "interpolate": lambda F, i, q, p: F.interpolate(i, scale_factor=2),
    "interpolate down": lambda F, i, q, p: F.interpolate(i, size=(4, 3)),
    "interpolate bilinear": lambda F, i, q, p: F.interpolate(i, scale_factor=1.7, mode="bilinear"),
    "interpolate bilinear corners": lambda F, i, q, p: F.interpolate(
        i, size=(9, 3), mode="bilinear", align_corners=True
    ),
    "unfold": lambda F, i, q, p: F.unfold(i, (3, 2), (1, 2), 1, (2, 1)),
    "unfold one image": lambda F, i, q, p: F.unfold(i[0], 2),
    "pixel_shuffle": lambda F, i, q, p: F.pixel_shuffle(i, 2),
}


def inputs(torch, dtype):
    """Images, sequences, and a maker of parameters: numbers without ties, the same in both engines."""
    phases = itertools.count(1)

    def made(*shape):
        n = torch.Size(shape).numel()
        t = torch.sin(torch.arange(n, dtype=torch.float64) * 1.7 + next(phases)) * 1.5
        return t.reshape(shape).to(dtype).requires_grad_()

    return made(2, 4, 6, 5), made(2, 4, 9), made


def run(torch, name, dtype):
    i, q, make = inputs(torch, dtype)
    leaves = [i, q]

    def p(*shape):
        leaves.append(make(*shape))
        return leaves[-1]

    out = FUNCTIONS[name](torch.nn.functional, i, q, p)
    return (out if isinstance(out, tuple) else (out,)), leaves


def signed(text):
    """Numbers that PyTorch shows as unsigned 64-bit ones, as the negative ones that they are."""
    return re.sub(r"\d{19,20}", lambda found: str(int(found[0]) - 2**64), text)


def facts(torch, name):
    outs, leaves = run(torch, name, torch.float32)
    y = outs[0]
    weights = torch.cos(torch.arange(y.numel(), dtype=torch.float32)).reshape(y.shape) + 0.25
    node = y.grad_fn
    grads = torch.autograd.grad(y, leaves, weights, allow_unused=True, retain_graph=True)
    composed = name.startswith(("unfold", "pixel_shuffle"))
    return {
        "values": outs,
        "strides": [list(o.stride()) for o in outs],
        "contiguous": [o.is_contiguous() for o in outs],
        "graph": None if composed else chain(node),
        "saved": {} if composed else {key: signed(value) for key, value in saved(node).items()},
        "gradients": list(grads),
    }


@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_gradient_and_graph(name):
    check("test_network_functions", name, lambda torch: facts(torch, name), rtol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_double_precision_and_second_derivative(name):
    """In float64 to 1e-11; the second derivative is that of sin(sum) of a weighted result."""

    def ask(torch):
        outs, leaves = run(torch, name, torch.float64)
        y = outs[0]
        weights = torch.cos(torch.arange(y.numel(), dtype=torch.float64)).reshape(y.shape) + 0.25
        used = [
            leaf
            for leaf, g in zip(
                leaves, torch.autograd.grad(y.sum(), leaves, allow_unused=True, retain_graph=True)
            )
            if g is not None
        ]
        first = torch.autograd.grad(
            (y * weights).sum().sin() + (y * y * weights).sum(), used, create_graph=True
        )
        second = torch.autograd.grad(sum((g * g).sum() for g in first), used)
        return [y, *second]

    check("test_network_functions", f"double {name}", ask, rtol=2e-9 if "_norm" in name else 1e-11)


MISTAKES = [
    # convolution
    "F.conv2d(o(1,1,4,4).double(), o(1,1,2,2))",
    "F.conv2d(o(1,1,4,4), o(1,1,2,2).double())",
    "F.conv2d(o(1,1,4,4), o(1,1,2,2), o(1).double())",
    "F.conv2d(o(1,1,4,4), o(1,1,2,2), o(2))",
    "F.conv2d(o(1,1,4,4), o(1,1,2,2), stride=0)",
    "F.conv2d(o(1,1,4,4), o(1,1,2,2), padding=-1)",
    "F.conv2d(o(1,1,4,4), o(1,1,2,2), stride=(1,1,1))",
    "F.conv2d(o(1,4,4,4), o(3,2,2,2), groups=2)",
    "F.conv2d(o(1,4,4,4), o(4,4,2,2), groups=2)",
    "F.conv2d(o(1,4,4,4), o(4,4,2,2), groups=0)",
    "F.conv2d(o(1,1,4,4), o(1,1,2,2), padding='same', stride=2)",
    "F.conv2d(o(1,1,4,4), o(1,1,2,2), padding='foo')",
    "F.conv2d(o(1,1,1,4), o(1,1,2,2))",
    "F.conv2d(o(1,3,4,4), o(1,1,2,2))",
    "F.conv2d(o(4,4), o(1,1,2,2))",
    "F.conv1d(o(4,4,4,4), o(1,1,2))",
    "F.conv1d(o(1,1,4), o(1,1,5))",
    "F.conv_transpose2d(o(1,1,4,4), o(2,1,2,2))",
    "F.conv_transpose2d(o(1,1,4,4), o(1,1,2,2), o(2))",
    "F.conv_transpose2d(o(1,1,4,4), o(1,1,2,2), padding=4)",
    "F.conv_transpose2d(o(1,1,4,4), o(1,1,2,2), output_padding=-1)",
    "F.conv_transpose2d(o(4,4), o(1,1,2,2))",
    "nn.Conv2d(3,8,3,groups=2)",
    "nn.Conv2d(4,7,3,groups=2)",
    "nn.Conv2d(4,8,3,groups=0)",
    "nn.Conv2d(4,8,3,padding='same',stride=2)",
    "nn.ConvTranspose2d(4,8,3,padding_mode='reflect')",
    "nn.Conv2d(3, 8, 3)(o(1, 1, 28, 28))",
    "nn.Conv2d(1, 8, 5)(o(1, 1, 3, 3))",
    # pooling
    "F.max_pool2d(o(1,1,1,1),2)",
    "F.max_pool2d(o(1,1,4,4),2,padding=2)",
    "F.max_pool2d(o(1,1,4,4),0)",
    "F.max_pool2d(o(1,1,4,4),2,stride=0)",
    "F.max_pool2d(o(1,1,4,4),(2,2,2))",
    "F.max_pool2d(o(1,1,4,4).bool(),2)",
    "F.max_pool2d(o(1,2,4,4),2,padding=(2,2,2))",
    "F.max_pool2d([1],2)",
    "F.avg_pool2d(o(1,1,1,1),2)",
    "F.avg_pool2d(o(1,1,4,4),2,padding=2)",
    "F.avg_pool2d(o(1,1,4,4),2,divisor_override=0)",
    "F.avg_pool2d(o(1,2,4,4),(2,2,2))",
    "F.avg_pool2d(o(1,2,4,4),2,0)",
    "F.avg_pool1d(o(1,2,1),2)",
    "F.adaptive_avg_pool2d(o(3),2)",
    # normalisation
    "F.batch_norm(o(1,3),None,None,training=True)",
    "F.batch_norm(o(2,3),None,None)",
    "F.batch_norm(o(2,3),torch.zeros(4),torch.ones(4))",
    "F.batch_norm(o(2,3),torch.zeros(3),torch.ones(4))",
    "F.batch_norm(o(2,3),torch.zeros(3),torch.ones(3),o(4))",
    "F.batch_norm(o(2,3),torch.zeros(3),torch.ones(3),o(3),o(4))",
    "F.batch_norm(o(2,3).long(),torch.zeros(3),torch.ones(3))",
    "F.batch_norm(o(2,3).double(),torch.zeros(3),torch.ones(3))",
    "F.batch_norm(o(3),None,None,training=True)",
    "F.batch_norm(o(2,3),None,None,training=True,eps=0.)",
    "nn.BatchNorm1d(3)(o(2))",
    "nn.BatchNorm2d(3)(o(2,3))",
    "nn.BatchNorm3d(3)(o(2,3))",
    "nn.BatchNorm2d(3)(o(2,4,2,2))",
    "nn.BatchNorm1d(3)(o(1,3))",
    "F.layer_norm(o(2,3),(4,))",
    "F.layer_norm(o(2,3),(3,),o(4))",
    "F.layer_norm(o(2,3),(3,),o(3),o(4))",
    "F.layer_norm(o(2,3),())",
    "F.layer_norm(o(2,3).long(),(3,))",
    "F.group_norm(o(2,3),2)",
    "F.group_norm(o(2,4),2,o(3))",
    "F.group_norm(o(3),1)",
    "F.group_norm(o(1,2,1),2)",
    "nn.GroupNorm(2,3)",
    "F.instance_norm(o(2,3,1))",
    "nn.InstanceNorm2d(3)(o(2,3))",
    "nn.InstanceNorm2d(3,affine=True)(o(2,4,2,2))",
    "F.rms_norm(o(2,3),(4,))",
    # padding, resizing, patches
    "F.pad(o(2,3),(1,))",
    "F.pad(o(2,3),(1,1,1,1,1,1))",
    "F.pad(o(2,3),(-4,0))",
    "F.pad(o(1,2,3),(1,1),'reflect',1.)",
    "F.pad(o(1,2,3).bool(),(1,1),'replicate')",
    "F.pad(o(1,2,3),'a')",
    "F.pad(o(1,2,3),(1.5,1))",
    "F.interpolate(o(1,2,3),size=2,mode='bilinear')",
    "F.interpolate(o(1,2,3,3),size=2,mode='nearest',align_corners=True)",
    "F.interpolate(o(1,2,3,3).long(),size=2)",
    "F.pixel_shuffle(o(1,4,2,2),0)",
    "F.pixel_shuffle(o(1,4,2,2),1.5)",
]


def names(torch):
    return {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "o": torch.ones}


@pytest.mark.parametrize("code", MISTAKES)
def test_error(code):
    check("test_network_functions", code, lambda torch: error_of(lambda: eval(code, names(torch))))


@pytest.mark.parametrize("code", MISTAKES)
def test_error_has_a_note(code):
    with pytest.raises(Exception) as caught:
        eval(code, names(engine()))
    assert getattr(caught.value, "__notes__", None), "no sentence for the learner"
