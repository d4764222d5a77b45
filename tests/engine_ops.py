"""The ops of the registry as test cases: their samples as arguments, and what PyTorch calls them."""

from __future__ import annotations

import importlib
import zlib
from dataclasses import dataclass

import numpy as np

import autolab  # noqa: F401 (registers every op)
from autolab.engine.ops.functions import NAMESPACES
from autolab.engine.core.record import OPS
from autolab.engine.ops.samples import Samples
from engine_counterparts import COUNTERPARTS, INNER_OUTPUTS, NO_DERIVATIVE


NOT_SAMPLED = {
    **dict.fromkeys(
        "bernoulli bernoulli_2 normal normal_of_mean_std random uniform".split(),
        "test_random.py: they draw",
    ),
    "linalg_cholesky": "test_linalg.py: its argument must stay symmetric, which gradcheck's steps do not know",
    "linalg_eigh": "test_linalg.py: the signs of eigenvectors are free",
    "linalg_svd": "test_factorizations.py: the signs of singular vectors are free",
    "to_device": "test_devices.py: it takes a device",
    "to_copy": "test_ops_promotion.py and test_autograd_accumulate.py: it takes a dtype",
}
"""Ops without samples, and where they are tested instead."""


@dataclass(frozen=True)
class Case:
    """One op with one of its samples."""

    name: str
    number: int

    @property
    def op(self):
        return OPS[self.name]

    @property
    def key(self):
        return f"{self.name} {self.number}"

    def arguments(self) -> tuple[list, dict]:
        """Positional arguments and keywords, arrays as NumPy float64, int64 or bool."""
        sample = draw(self.op)[self.number]
        args = list(sample) if isinstance(sample, tuple) else [sample]
        return args, args.pop() if args and isinstance(args[-1], dict) else {}


def is_sampled(name) -> bool:
    """Whether the op needs samples: that of a gradient is tested by gradgradcheck of the op that it belongs to."""
    adjoint = name.endswith(("_backward", "_spread")) or name.startswith("convolution_")
    return name not in NOT_SAMPLED and not adjoint


def draw(op) -> list:
    """The samples of a record; without any those that every operation of tensors alone can take."""
    s = Samples(zlib.crc32(op.name.encode()))
    if op.samples:
        return op.samples(s)
    needed = [kind for p, kind in zip(op.params, op.kinds) if p not in op.defaults]
    if not is_sampled(op.name) or not set(needed) <= {"Tensor", "operand"}:
        return []
    # the operands of one that broadcasts have different shapes
    shapes = [
        (2, 1) if op.broadcast and k == 0 < len(needed) - 1 else (2, 3) for k in range(len(needed))
    ]
    samples = [tuple(s.randn(*shape) for shape in shapes)]
    return [*samples, (s.randn(3), 2.5)] if needed[-1] == "operand" else samples


def cases() -> list[Case]:
    """One case per sample; a record whose samples cannot be drawn gives one case, which fails."""
    found = []
    for name in sorted(OPS):
        try:
            found += [Case(name, number) for number in range(len(draw(OPS[name])))]
        except Exception:
            found.append(Case(name, 0))
    return found


def tensors(torch, args, dtype, differentiable):
    """`args` with arrays as tensors of `torch`: floats in `dtype`, requiring grad where their position is in
    `differentiable`."""

    def convert(x, grad):
        if isinstance(x, (list, tuple)) and any(isinstance(e, np.ndarray) for e in x):
            return type(x)(convert(e, grad) for e in x)
        if not isinstance(x, (np.ndarray, np.generic)):
            return x
        t = torch.tensor(
            np.array(x)
        )  # contiguous, also where NumPy gives an empty array strides of 0
        if t.is_floating_point():
            t = t.to(getattr(torch, dtype))
            return t.requires_grad_() if grad else t
        return t

    return [convert(x, k in differentiable) for k, x in enumerate(args)]


def flat(args):
    """The tensors that require grad, lists opened."""
    for a in args:
        for t in a if isinstance(a, (list, tuple)) else (a,):
            if getattr(t, "requires_grad", False):
                yield t


def differentiable(case: Case) -> set[int]:
    return {case.op.params.index(name) for name in case.op.vjp}


def call_engine(case: Case, args, keywords):
    """Runs the op on tensors of the engine, defaults filled in."""
    op = case.op
    values = dict(op.defaults) | dict(zip(op.params, args)) | keywords
    return op.call(*(values[p] for p in op.params))


def evaluate(torch, call, case: Case, dtype: str):
    """Value, gradients for a fixed gradient of the result, and the node's name."""
    raw, keywords = case.arguments()
    args = tensors(torch, raw, dtype, differentiable(case))
    out = call(case, args, keywords)
    outs = [o for o in (out if isinstance(out, (list, tuple)) else [out]) if o is not None][
        : 1 if case.name in INNER_OUTPUTS else None
    ]
    live = [o for o in outs if o.requires_grad]
    inputs = list(flat(args))
    gradients = []
    if live and inputs and case.name not in NO_DERIVATIVE:
        seeds = [
            torch.cos(torch.arange(o.numel(), dtype=torch.float64)).reshape(o.shape).to(o.dtype)
            + 0.25
            for o in live
        ]
        gradients = [
            None if g is None else g + 0
            for g in torch.autograd.grad(live, inputs, seeds, allow_unused=True)
        ]
    return {
        "value": [o.detach() for o in outs],
        "gradients": gradients,
        "node": live[0].grad_fn.name() if live else None,
    }


def call_torch(case: Case, args, keywords):
    """Runs PyTorch's counterpart of the op."""
    torch = importlib.import_module("torch")
    op = case.op
    if op.name in COUNTERPARTS:
        return COUNTERPARTS[op.name](torch, *args, **keywords)
    named = {k: v for k, v in zip(op.params, args) if k in op.keyword_only} | keywords
    placed = [v for k, v in zip(op.params, args) if k not in op.keyword_only]
    return _public(torch, op)(*placed, **named)


def _public(torch, op):
    for space, functions in NAMESPACES.items():
        for name, f in functions.items():
            if getattr(f, "op", None) is op and not name.endswith("_"):
                owner = torch
                for part in filter(None, space.split(".")):
                    owner = getattr(owner, part)
                if hasattr(owner, name):
                    return getattr(owner, name)
    aten = getattr(torch.ops.aten, op.name, None)
    if aten is None:
        raise LookupError(
            f"PyTorch has no operation {op.name!r}. Write what it computes, in PyTorch's own operations, into COUNTERPARTS "
            f"of tests/engine_counterparts.py, for example `{op.name!r}: lambda t, x: x**3`, and its name into ONLY_HERE."
        )
    return aten
