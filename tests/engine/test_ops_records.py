"""Every op from its own samples: gradcheck, gradgradcheck, and gradients with the dtype and shape of what they are
gradients of."""

import numpy as np
import pytest
from engine_counterparts import NO_DERIVATIVE
from engine_ops import OPS, cases, call_engine, differentiable, draw, flat, is_sampled, tensors

import autolab as torch
from autolab.engine.core.apply import apply
from autolab.engine.core.op import register
from autolab.engine.core.tensor import materialise

CASES = [pytest.param(case, id=case.key) for case in cases()]
SMOOTH = [
    pytest.param(case, id=case.key)
    for case in cases()
    if case.op.vjp and case.name not in NO_DERIVATIVE
]


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_op_has_samples(name):
    assert draw(OPS[name]) or not is_sampled(name), (
        f"give op {name!r} samples, or say in NOT_SAMPLED where it is tested"
    )


def prepared(case, dtype="float64"):
    """The op as a function of its differentiable tensors, and those tensors."""
    raw, keywords = case.arguments()
    args = tensors(torch, raw, dtype, differentiable(case))

    def function(*live):
        remaining = iter(live)

        def fill(a):
            if isinstance(a, (list, tuple)):
                return type(a)(fill(e) for e in a)
            return next(remaining) if getattr(a, "requires_grad", False) else a

        out = call_engine(case, [fill(a) for a in args], keywords)
        outs = out if isinstance(out, (list, tuple)) else (out,)
        return tuple(o for o in outs if isinstance(o, torch.Tensor) and o.requires_grad)

    return function, tuple(flat(args))


@pytest.mark.parametrize("case", SMOOTH)
def test_gradcheck(case):
    function, inputs = prepared(case)
    assert inputs, "no sample argument is a differentiable tensor"
    assert torch.autograd.gradcheck(function, inputs, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("case", SMOOTH)
def test_gradgradcheck(case):
    function, inputs = prepared(case)
    assert torch.autograd.gradgradcheck(function, inputs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", SMOOTH)
def test_gradients_have_the_dtype_and_shape_of_their_tensor(case, dtype):
    function, inputs = prepared(case, dtype)
    outputs = function(*inputs)
    assert outputs and all(o.dtype is getattr(torch, dtype) for o in outputs)
    gradients = torch.autograd.grad(
        outputs, inputs, [torch.ones_like(o) for o in outputs], create_graph=True, allow_unused=True
    )
    for x, g in zip(inputs, gradients):
        assert g is None or (g.dtype is x.dtype and g.shape == x.shape)


@pytest.mark.parametrize("case", SMOOTH)
def test_the_gradient_with_create_graph_equals_the_one_without(case):
    """A rule runs on raw arrays and, under create_graph, on tensors: both must give the same numbers."""
    function, inputs = prepared(case)
    seeds = [
        torch.cos(torch.arange(float(o.numel()), dtype=torch.float64)).reshape(o.shape)
        for o in function(*inputs)
    ]
    raw = torch.autograd.grad(function(*inputs), inputs, seeds, allow_unused=True)
    traced = torch.autograd.grad(
        function(*inputs), inputs, seeds, allow_unused=True, create_graph=True
    )
    for a, b in zip(raw, traced):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", CASES)
def test_an_op_changes_none_of_its_arguments(case):
    raw, keywords = case.arguments()
    args = tensors(torch, raw, "float64", set())
    before = [np.array(a) for a in raw if isinstance(a, np.ndarray)]
    with torch.no_grad():
        call_engine(case, args, keywords)
    after = [a.numpy() for a, r in zip(args, raw) if isinstance(r, np.ndarray)]
    for b, a in zip(before, after):
        np.testing.assert_array_equal(b, a)


MAY_SHARE = {"reshape_raw", "unsafe_view", "sum_to", "copy"}
"""Ops whose result may be their argument: they run inside rules only, or are written over."""


@pytest.mark.parametrize("name", sorted(n for n in OPS if not OPS[n].view and n not in MAY_SHARE))
def test_a_result_that_is_no_view_has_memory_of_its_own(name):
    """Of 0-d tensors most of all: there many an op has nothing to do."""
    op = OPS[name]
    for sample in draw(op):
        given = sample if isinstance(sample, tuple) else (sample,)
        keywords = given[-1] if isinstance(given[-1], dict) else {}
        for number in (False, True):
            arguments = (
                op.defaults | dict(zip(op.params, given[:-1] if keywords else given)) | keywords
            )
            args = [_own_tensor(arguments.get(p), number, p) for p in op.params]
            inputs = [a._array for a in args if isinstance(a, torch.Tensor)]
            try:
                result = apply(op, tuple(args))
            except Exception:
                assert number, f"{name} fails on its own sample"  # not every op takes 0-d tensors
                continue
            for out in result if isinstance(result, (tuple, list)) else (result,):
                assert not any(np.shares_memory(out._array, d) for d in inputs if out.numel())


def _own_tensor(a, number, parameter):
    if isinstance(a, np.ndarray):
        t = torch.tensor(a.flat[0] if number and a.size else a)
        return materialise(t) is None or t
    if isinstance(a, (list, tuple)) and any(isinstance(x, np.ndarray) for x in a):
        return [_own_tensor(x, number, parameter) for x in a]
    return 0 if number and parameter == "dim" and isinstance(a, int) else a


TORCHS_KINDS = {
    "int": "int", "float": "float", "bool": "bool", "number": "Number", "str": "str", "Tensor": "Tensor", "Generator": "Generator",
    "List[int]": "int[]", "List[float]": "float[]", "List[Tensor]": "Tensor[]", "List[Optional[Tensor]]": "Tensor[]",
}  # fmt: skip


def torchs_kind(argument):
    kind = TORCHS_KINDS.get(
        str(argument.type)
        .removeprefix("Optional[")
        .removesuffix("]" * str(argument.type).startswith("Optional["))
    )
    return "dtype" if argument.name == "dtype" and kind == "int" else kind


def test_the_kinds_of_arguments_are_those_of_torchs_schemas():
    pytorch = pytest.importorskip("torch")
    differ = {}
    for op in OPS.values():
        known = {}
        for schema in pytorch._C._jit_get_schemas_for_operator(f"aten::{op.name}"):
            for argument in schema.arguments:
                known.setdefault(argument.name, set()).add(torchs_kind(argument))
        for name, kind in zip(op.params, op.kinds):
            allowed = known.get(name, set()) - {None}
            one = kind.rstrip("?") if kind != "operand" else "Tensor"
            if allowed and one not in allowed:
                differ[f"{op.name}.{name}"] = kind, sorted(allowed)
    assert differ == {}, differ


def test_a_schema_says_of_what_kind_each_argument_is():
    keep = lambda xp, self, dim: self
    with pytest.raises(ValueError, match=r"does not say of what kind \['dim'\] are"):
        register("_kept(Tensor self, dim)", forward=keep)
    with pytest.raises(ValueError, match=r"its schema says that \['self'\] are no tensors"):
        register("_kept(int self, int dim)", forward=keep, vjp={"self": lambda m, g: g})
