"""Every op on the simulated GPU from its own samples: the numbers of the CPU, results and gradients that stay on the
device, and no copy to the host on the way. On a machine with a GPU the same on cuda (`make test-gpu`)."""

import pytest
from engine_counterparts import INNER_OUTPUTS, NO_DERIVATIVE
from engine_ops import call_engine, cases, differentiable, flat, tensors
from goldens.plain import differences, plain

import autolab as torch
from autolab.engine.core import observe

WAITS = {
    # ops whose kernel or backward pass looks at the numbers, and so waits for the device
    "prod": "is there a zero? PyTorch waits too",
    "prod_all": "is there a zero? PyTorch waits too",
    "histogram": "is the range finite? PyTorch has it on the CPU only",
    "linalg_pinv": "is there inf or NaN, which its singular values cannot be found of? PyTorch waits for its solver",
}
DEVICES = ["sim:0", pytest.param("cuda:0", marks=pytest.mark.gpu)]


class Transfers(observe.Observer):
    """Counts copies between host and device."""

    def __init__(self):
        self.seen = []

    def transfer(self, source, target, nbytes, *args, **kwargs):
        self.seen.append(f"{nbytes} bytes from {source} to {target}")


def on(device, args):
    """`args` with every tensor on `device`."""

    def move(a):
        if isinstance(a, (list, tuple)):
            return type(a)(move(x) for x in a)
        if not isinstance(a, torch.Tensor):
            return a
        return a.detach().to(device).requires_grad_(a.requires_grad)

    return [move(a) for a in args]


def evaluate(case, dtype, device, watch=None):
    raw, keywords = case.arguments()
    args = on(device, tensors(torch, raw, dtype, differentiable(case)))
    inputs = list(flat(args))
    if watch is not None:
        observe.add(watch)
    try:
        out = call_engine(case, args, keywords)
    finally:
        if watch is not None:
            observe.remove(watch)
    outs = [o for o in (out if isinstance(out, (list, tuple)) else [out]) if o is not None]
    outs = outs[: 1 if case.name in INNER_OUTPUTS else None]
    live = [o for o in outs if o.requires_grad]
    gradients = []
    if live and inputs and case.name not in NO_DERIVATIVE:
        waves = [
            torch.cos(torch.arange(o.numel(), dtype=torch.float64)).reshape(o.shape) + 0.25
            for o in live
        ]
        seeds = [wave.to(device=device, dtype=o.dtype) for wave, o in zip(waves, live)]
        if watch is not None:
            observe.add(watch)
        try:
            gradients = torch.autograd.grad(live, inputs, seeds, allow_unused=True)
        finally:
            if watch is not None:
                observe.remove(watch)
    return outs, gradients


def host(values):
    return [None if v is None else v.detach().cpu() for v in values]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.key)
def test_the_same_on_a_device(case, dtype, device):
    watch = Transfers()
    outs, gradients = evaluate(case, dtype, device, watch)
    assert {str(t.device) for t in (*outs, *gradients) if t is not None} == {device}
    waits = (
        case.name in WAITS and device != "cuda:0"
    )  # CuPy does not tell when Python asks for a truth value
    assert bool(watch.seen) == waits, f"an op falls back to the host: {watch.seen}"
    assert {entry.split(" bytes")[0] for entry in watch.seen} <= {"1"}, "more than a yes or no"
    expected = evaluate(case, dtype, "cpu")
    rtol = {"float64": 1e-11, "float32": 2e-5}[dtype]
    wrong = differences(
        plain([host(outs), host(gradients)]),
        plain([host(expected[0]), host(expected[1])]),
        rtol=rtol,
        atol=rtol,
    )
    assert not wrong, "\n".join(wrong)
