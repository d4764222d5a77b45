"""Parameters and buffers without a shape: what may be asked of them, and in which words all else is refused; the same
programs run on PyTorch."""

import copy
import re

import pytest
from goldens.oracle import engine, error_of, same_as_torch

from autolab.engine.exact.failing import sentences

torch = engine()
nn = torch.nn
ours = pytest.mark.skipif(torch.__name__ != "autolab", reason="what PyTorch has not")

UNUSABLE = (
    "ValueError: Attempted to use an uninitialized parameter in {}. This error happens when you are using a `LazyModule` or explicitly "
    "manipulating `torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call `forward` with a dummy batch to "
    "initialize the parameters before calling torch functions"
)
NO_SHAPE = (
    "RuntimeError: Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when "
    "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing "
    "their attributes."
)


def told(action):
    """The error without the addresses in it."""
    return re.sub(r"0x[0-9a-f]+", "0x", error_of(action))


@same_as_torch
def test_uninitialized(t):
    nn = t.nn
    found = [repr(nn.UninitializedParameter), repr(nn.parameter.UninitializedBuffer)]
    for made in (
        nn.UninitializedParameter(),
        nn.UninitializedParameter(False, dtype=t.float64),
        nn.UninitializedBuffer(dtype=t.int64),
    ):
        number, object_ = id(made), made
        found += [
            repr(made),
            str(made),
            made.dtype,
            made.requires_grad,
            made.grad,
            made.is_leaf,
            made.size(),
            made.ndim,
            made.nbytes,
        ]
        found += [isinstance(made, kind) for kind in (t.Tensor, nn.Parameter, nn.Buffer)] + [
            nn.parameter.is_lazy(made)
        ]
        found += [
            made.is_floating_point(),
            made.is_complex(),
            made.get_device() < 1,
            made in [made],
            t.is_tensor(made),
            repr(copy.copy(made)),
        ]
        made.materialize((2, 3))
        made.data.fill_(2)
        found += [
            made,
            type(made).__name__,
            made.requires_grad,
            nn.parameter.is_lazy(made),
            object_ is made and id(made) == number,
        ]
    made = nn.UninitializedParameter()
    made.requires_grad = False
    made.materialize(4, dtype=t.float64)
    persistent = [
        nn.UninitializedBuffer(**settings).persistent for settings in ({}, {"persistent": False})
    ]
    return [*found, made.shape, made.dtype, made.requires_grad, persistent]


USES = {
    "numel": lambda t, p: p.numel(),
    "dim": lambda t, p: p.dim(),
    "nelement": lambda t, p: p.nelement(),
    "sum": lambda t, p: p.sum(),
    "detach": lambda t, p: p.detach(),
    "clone": lambda t, p: p.clone(),
    "item": lambda t, p: p.item(),
    "numpy": lambda t, p: p.numpy(),
    "zero_": lambda t, p: p.zero_(),
    "requires_grad_": lambda t, p: p.requires_grad_(False),
    "retain_grad": lambda t, p: p.retain_grad(),
    "backward": lambda t, p: p.backward(),
    "register_hook": lambda t, p: p.register_hook(print),
    "element_size": lambda t, p: p.element_size(),
    "is_contiguous": lambda t, p: p.is_contiguous(),
    "stride": lambda t, p: p.stride(),
    "type": lambda t, p: p.type(t.float64),
    "len": lambda t, p: len(p),
    "p[0]": lambda t, p: p[0],
    "p[0] = 1": lambda t, p: p.__setitem__(0, 1),
    "1 in p": lambda t, p: 1 in p,
    "p + 1": lambda t, p: p + 1,
    "1 + p": lambda t, p: 1 + p,
    "x * p": lambda t, p: t.ones(2) * p,
    "p < 1": lambda t, p: p < 1,
    "-p": lambda t, p: -p,
    "abs": lambda t, p: abs(p),
    "p += 1": lambda t, p: p.__iadd__(1),
    "format": lambda t, p: f"{p}",
    "torch.sum": lambda t, p: t.sum(p),
    "torch.add": lambda t, p: t.add(t.ones(2), p),
    "torch.cat": lambda t, p: t.cat([p, t.ones(2)]),
    "torch.stack": lambda t, p: t.stack([p]),
    "torch.where": lambda t, p: t.where(t.tensor(True), p, p),
    "torch.equal": lambda t, p: t.equal(p, p),
    "torch.empty_like": lambda t, p: t.empty_like(p),
    "F.linear": lambda t, p: t.nn.functional.linear(t.ones(2, 2), p),
    "F.linear, bias": lambda t, p: t.nn.functional.linear(t.ones(2, 2), t.ones(2, 2), p),
    "F.conv2d": lambda t, p: t.nn.functional.conv2d(t.ones(1, 2, 3, 3), p),
    "nn.Parameter": lambda t, p: t.nn.Parameter(p),
    "zeros_": lambda t, p: t.nn.init.zeros_(p),
    "ones_": lambda t, p: t.nn.init.ones_(p),
    "xavier_uniform_": lambda t, p: t.nn.init.xavier_uniform_(p),
    "kaiming_normal_": lambda t, p: t.nn.init.kaiming_normal_(p),
    "shape": lambda t, p: p.shape,
    "share_memory_": lambda t, p: p.share_memory_(),
    "copy_": lambda t, p: p.copy_(t.ones(2)),
    "parameters_to_vector": lambda t, p: t.nn.utils.parameters_to_vector([p]),
    "whole numbers": lambda t, p: t.nn.UninitializedParameter(dtype=t.int64),
}


@same_as_torch
def test_uses(t):
    """Every use is refused in torch's words, with the function in them."""
    return {name: told(lambda: use(t, t.nn.UninitializedParameter())) for name, use in USES.items()}


@same_as_torch
def test_uses_that_name_another_function(t):
    """PyTorch's own initialisers, and what Python calls by a symbol, are named otherwise: the kind of the error is the
    same."""
    p = t.nn.UninitializedParameter
    uses = (
        lambda: t.nn.init.kaiming_uniform_(p()),
        lambda: t.nn.init.uniform_(p()),
        lambda: t.nn.init.normal_(p()),
        lambda: p() == 1,
        lambda: t.ones(2, 2) @ p(),
        lambda: list(p()),
        lambda: copy.deepcopy(t.nn.UninitializedBuffer()),
        lambda: t.nn.UninitializedBuffer() + 1,
    )
    return [re.sub(r" in <.*?>\.", "", told(use)) for use in uses]


@ours
def test_stated_errors_and_notes():
    layer = nn.LazyLinear(3)
    method = "<method 'numel' of 'torch._C.TensorBase' objects>"
    for use, expected in (
        (layer.weight.numel, UNUSABLE.format(method)),
        (lambda: layer.weight.shape, NO_SHAPE),
    ):
        assert error_of(use) == expected
        with pytest.raises((ValueError, RuntimeError)) as caught:
            use()
        note = "Its shape is known after the first forward: call the network once, with a batch of the size that it will get."
        assert sentences(caught.value) == [note]
    assert error_of(lambda: layer.forward(torch.ones(1, 3))) == UNUSABLE.format(
        "<built-in function linear>"
    )
    assert error_of(lambda: sum(p.numel() for p in layer.parameters())) == UNUSABLE.format(method)
