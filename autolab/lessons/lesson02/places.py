"""Exercises on the model of a kernel's time, and on where tensors are."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import autolab as torch

from ..exercise import Case, Exercise, Mistake


def on_simulated(observe, **about):
    """Return `observe` run with two new simulated GPUs as 'cuda', whatever the notebook runs on."""

    @functools.wraps(observe)
    def run(answer, *args):
        options: dict[str, Any] = {"devices": 2, "memory": "64MiB", "profile": "T4"} | about
        with torch.cuda.simulate(**options):
            return observe(answer, *args)

    return run


# 02.1 the time of a kernel --------------------------------------------------------------------------------------------

BANDWIDTH, SPEED, PART, SHORTEST = 320e9, 8.1e12, 0.7, 2.5e-6


def kernel_time(nbytes, operations, join=max, part=PART, shortest=SHORTEST):
    """Solve the exercise; the switches make the usual wrong answers."""
    return max(join(nbytes / BANDWIDTH, operations / SPEED) / part, shortest)


def microseconds(answer, *args):
    return {"microseconds": 1e6 * answer(*args)}


predicted = Exercise(
    id="02.1",
    title="How long a kernel takes",
    observe=microseconds,
    reference=kernel_time,
    cases=(
        Case("27e6 bytes, 2.25e6 operations (a + b)", lambda: (27e6, 2.25e6)),
        Case("27e6 bytes, 6.75e9 operations (a @ b)", lambda: (27e6, 6.75e9)),
        Case(
            "400 bytes, 100 operations",
            lambda: (400, 100),
            public=False,
            why="No kernel takes less than 2.5 µs, however little there is to do.",
        ),
        Case("1e9 bytes, 1e9 operations", lambda: (1e9, 1e9), public=False),
        Case(
            "nothing to do",
            lambda: (0, 0),
            public=False,
            why="No kernel takes less than 2.5 µs, however little there is to do.",
        ),
    ),
    mistakes=(
        Mistake(
            lambda b, n: kernel_time(b, n, join=lambda x, y: x + y),
            "You added both times. But the bytes are moved while the operations are done, so "
            "only the longer of the two times counts.",
        ),
        Mistake(
            lambda b, n: kernel_time(b, n, join=min),
            "You took the shorter time. But the kernel has to finish both, so the "
            "longer time counts.",
        ),
        Mistake(
            lambda b, n: kernel_time(b, n, part=1),
            "You used the full speed of the data sheet. A kernel reaches only 70 % of it, so it "
            "takes longer.",
        ),
        Mistake(
            lambda b, n: kernel_time(b, n, part=1 / PART),
            "You multiplied the time by 0.7. But at a lower speed the kernel takes longer, so "
            "divide by 0.7 instead.",
        ),
        Mistake(
            lambda b, n: kernel_time(b, n, shortest=0),
            "This is correct if there is a lot of work. But no kernel takes less than 2.5 µs, "
            "however little there is to do.",
        ),
        Mistake(
            lambda b, n: kernel_time(b, n, join=lambda x, y: x),
            "You only counted the bytes. But for a product of matrices, for example, the "
            "operations take longer.",
        ),
        Mistake(
            lambda b, n: kernel_time(b, n, join=lambda x, y: y),
            "You only counted the operations. But for a sum of matrices, for example, the bytes "
            "take longer.",
        ),
        Mistake(
            lambda b, n: 1e6 * kernel_time(b, n),
            "Your result is in microseconds. Return seconds instead, so that 2.5 µs is 2.5e-6.",
        ),
    ),
    hints=(
        "Compute two times, one for the bytes and one for the operations. Remember that both "
        "happen at the same time.",
        "The rates are 0.7 * 320e9 bytes and 0.7 * 8.1e12 operations per second. Take the longer "
        "of the two times.",
        "max(nbytes / (0.7 * 320e9), operations / (0.7 * 8.1e12), 2.5e-6)",
    ),
    leaves_out="the time of a real GPU",
)


# 02.2 model and data in one place -------------------------------------------------------------------------------------


@on_simulated
def answered(answer, model_on, x_on, device):
    model = torch.nn.Linear(2, 1).to(model_on)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, -2.0]]))
        model.bias.fill_(0.5)
    x = torch.tensor([[3.0, 1.0]], device=x_on)
    result = answer(model, x, device)
    if result is ... or not hasattr(result, "device"):
        return {"result": result}
    return {
        "result": result.detach().cpu(),
        "result is on": str(result.device),
        "model is on": str(model.weight.device),
        "x is still on": str(x.device),
    }


def _answer(model, x, device, move_model=True, back=""):
    if move_model:
        model.to(device)
    result = model(x.to(device if move_model else model.weight.device))
    return result.to(back) if back else result


together = Exercise(
    id="02.2",
    title="Everything to one place",
    observe=answered,
    given=lambda model, x, device: (model.to(device), x.to(device), model(x))[-1],
    reference=_answer,
    cases=(
        Case("model and x on the CPU, device cuda:0", lambda: ("cpu", "cpu", "cuda:0")),
        Case("model on cuda:0, x on the CPU, device cuda:0", lambda: ("cuda:0", "cpu", "cuda:0")),
        Case(
            "model on cuda:1, x on cuda:0, device cuda:1",
            lambda: ("cuda:1", "cuda:0", "cuda:1"),
            public=False,
        ),
        Case("all on cuda:0, device cpu", lambda: ("cuda:0", "cuda:0", "cpu"), public=False),
    ),
    mistakes=(
        Mistake(
            lambda model, x, device: (model.to(device), x.to(device), model(x))[-1],
            "x.to(device) makes a copy on the device, but you don't keep it, so x itself is still "
            "where it was. Keep the copy: x = x.to(device).",
        ),
        Mistake(
            lambda model, x, device: model(x.to(device)),
            "You moved x and kept the copy. Now the model has to go there as well.",
        ),
        Mistake(
            lambda model, x, device: _answer(model, x, device, back="cpu"),
            "The numbers are correct, but you moved the result to the CPU. It should stay on the "
            "device.",
        ),
        Mistake(
            lambda model, x, device: _answer(model, x, device, move_model=False).to(device),
            "The result ends up on the device, but it was computed elsewhere, because the model "
            "did not move.",
        ),
        Mistake(
            lambda model, x, device: _answer(model, x, "cuda"),
            "This always uses the first GPU. The device is an argument, so it can also be cuda:1 "
            "or the CPU.",
        ),
    ),
    hints=(
        "Two lines call .to(). Which of them changes something, and which one only returns "
        "something?",
        "A module changes itself, but a tensor doesn't, so you have to keep what .to() returns.",
        "x = x.to(device)",
    ),
    leaves_out="modules that hold plain tensors",
)


# 02.3 a leaf on the device --------------------------------------------------------------------------------------------


@on_simulated
def leaf_facts(answer, values, start_on, device):
    start = torch.tensor(values, device=start_on)
    w = answer(start, device)
    if w is ... or not hasattr(w, "is_leaf"):
        return {"w": w}
    facts = {
        "w": w.detach().cpu(),
        "w is on": str(w.device),
        "requires_grad": w.requires_grad,
        "is_leaf": w.is_leaf,
        "made by": type(w.grad_fn).__name__,
    }
    if w.requires_grad:
        w.sum().backward()
    grad = w.grad if w.is_leaf or w.retains_grad else None
    return facts | {
        "w.grad": None if grad is None else grad.cpu(),
        "start changed": bool(start.requires_grad) or start.tolist() != values,
    }


def _retained(start, device):
    w = (2 * start).requires_grad_().to(device)
    w.retain_grad()
    return w


def _in_place(start, device):
    start *= 2
    return start.to(device, copy=True).requires_grad_()


device_weight = Exercise(
    id="02.3",
    title="A weight on the device",
    observe=leaf_facts,
    given=lambda start, device: (2 * start).requires_grad_().to(device),
    reference=lambda start, device: (2 * start).to(device).requires_grad_(),
    cases=(
        Case("start = [1., 2.] on the CPU, device cuda:0", lambda: ([1.0, 2.0], "cpu", "cuda:0")),
        Case(
            "start = [[3.]] on the CPU, device cpu", lambda: ([[3.0]], "cpu", "cpu"), public=False
        ),
        Case(
            "start = [0., -1.] on cuda:1, device cuda:0",
            lambda: ([0.0, -1.0], "cuda:1", "cuda:0"),
            public=False,
        ),
    ),
    mistakes=(
        Mistake(
            lambda start, device: (2 * start).requires_grad_().to(device),
            "w is the result of the copy to the device, so it is not a leaf. The leaf that gets "
            "the gradient is the tensor before the copy, and it no longer has a name.",
        ),
        Mistake(
            lambda start, device: (2 * start).to(device),
            "The values are correct and on the correct device, but w doesn't get a gradient, "
            "because requires_grad is False.",
        ),
        Mistake(
            _retained,
            "retain_grad() keeps the gradient, but this w is still the result of a copy and not "
            "a leaf. An optimizer would raise an error for it.",
        ),
        Mistake(
            lambda start, device: (2 * start).requires_grad_(),
            "This is a leaf, but it did not move to the device.",
        ),
        Mistake(
            lambda start, device: start.to(device, copy=True).requires_grad_(),
            "This is a leaf on the correct device, but the factor 2 got lost.",
        ),
        Mistake(
            lambda start, device: 2 * start.to(device, copy=True).requires_grad_(),
            "You moved the tensor first, which is correct. But now the product is recorded, so w "
            "is its result and not a leaf. Set requires_grad last.",
        ),
        Mistake(
            _in_place,
            "w is correct, but you changed the caller's tensor, because start contains other "
            "numbers now.",
        ),
    ),
    hints=(
        "Everything that you compute after requires_grad_() is recorded. Which line here should "
        "not be recorded?",
        "First compute, then move to the device, and call requires_grad_() last.",
        "return (2 * start).to(device).requires_grad_()",
    ),
    leaves_out="types other than float32",
)


# 02.4 an array that shares nothing ------------------------------------------------------------------------------------


@on_simulated
def array_facts(answer, values, device, requires_grad):
    t = torch.tensor(values, device=device, requires_grad=requires_grad)
    array = answer(t)
    if not isinstance(array, np.ndarray):
        return {"array": array}
    content = array.copy()
    if array.flags.writeable:
        array += 1
    return {
        "array": content,
        "writable": bool(array.flags.writeable),
        "the tensor after a change of the array": t.detach().cpu().tolist(),
        "t.requires_grad": t.requires_grad,
    }


def _switched_off(t):
    t.requires_grad_(False)
    return t.cpu().clone().numpy()


own_array = Exercise(
    id="02.4",
    title="An array that shares nothing",
    observe=array_facts,
    given=lambda t: t.numpy(),
    reference=lambda t: t.detach().cpu().numpy().copy(),
    cases=(
        Case("[1., 2.] on the GPU", lambda: ([1.0, 2.0], "cuda", False)),
        Case(
            "[1., 2.] on the CPU",
            lambda: ([1.0, 2.0], "cpu", False),
            why="For a tensor on the CPU, cpu() and numpy() don't copy anything, so changing "
            "the array also changed the tensor. Make a copy.",
        ),
        Case("[[3.]] on the GPU, requires_grad=True", lambda: ([[3.0]], "cuda", True)),
        Case(
            "[0., 5.] on the CPU, requires_grad=True",
            lambda: ([0.0, 5.0], "cpu", True),
            public=False,
        ),
    ),
    mistakes=(
        Mistake(
            lambda t: t.numpy(),
            "NumPy can only read the host's memory, and it doesn't know about gradients. t.cpu() "
            "makes a copy on the host, and t.detach() gives you the tensor without its graph.",
        ),
        Mistake(
            lambda t: t.detach().numpy(),
            "detach() gives you the tensor without its graph, but the numbers are still on the "
            "GPU. t.cpu() copies them to the host.",
        ),
        Mistake(
            lambda t: t.cpu().numpy(),
            "This is enough for some tensors on the GPU. But a tensor that requires a gradient "
            "needs detach() as well, and a tensor on the CPU shares its memory with the array.",
        ),
        Mistake(
            lambda t: t.detach().cpu().numpy(),
            "This is correct on the GPU. But for a tensor on the CPU, neither detach(), cpu() "
            "nor numpy() copies, so changing the array also changed the tensor. Add .copy() "
            "at the end.",
        ),
        Mistake(
            lambda t: t.detach().cpu().tolist(), "This is a list. Return a NumPy array instead."
        ),
        Mistake(
            _switched_off,
            "The array is correct, but you also switched off requires_grad of the caller's "
            "tensor. Use detach() instead, because it doesn't change the tensor.",
        ),
    ),
    hints=(
        "There are three obstacles: the graph, the GPU and the shared memory. You need one call "
        "for each of them.",
        "detach() gives you the tensor without its graph, and cpu() brings it to the host. Does "
        "either of them make a copy if the tensor is on the CPU?",
        "return t.detach().cpu().numpy().copy()",
    ),
    leaves_out="sparse tensors, and types that NumPy does not have",
)


# 02.5 a module that moves as a whole ----------------------------------------------------------------------------------


@on_simulated
def moved_module(answer, values, device):
    module = answer(torch.tensor(values)).to(device)
    x = torch.ones(2, len(values), device=device)
    facts = {
        "scale is on": str(module.scale.device),
        "scale is known to the module": "scale" in module.state_dict(),
        "trained": len(list(module.parameters())),
    }
    try:
        result = module(x)
        if result is ... or not hasattr(result, "device"):
            return {"result": result}
        facts |= {"result": result.detach().cpu(), "result is on": str(result.device)}
        return facts | {"back on the CPU": str(module.cpu()(x.cpu()).device)}
    except RuntimeError as error:
        return facts | {"result": error, "result is on": "nowhere", "back on the CPU": "not tried"}


def noisy(keep, offset):
    """A module like the exercise's: `keep(module, scale)` stores the scale, `offset(x)` makes the constant."""

    class Noisy(torch.nn.Module):
        def __init__(self, scale):
            super().__init__()
            keep(self, scale)

        def forward(self, x):
            return x * self.scale + offset(x)

    return Noisy


def _plain(module, scale):
    module.scale = scale


def _buffer(module, scale):
    module.register_buffer("scale", scale)


def _parameter(module, scale):
    module.scale = torch.nn.Parameter(scale)


def _fixed(module, scale):
    module.scale = scale.to("cuda")


def _like(x):
    return torch.full((x.shape[-1],), 0.5, device=x.device)


def _host(x):
    return torch.full((x.shape[-1],), 0.5)


whole_module = Exercise(
    id="02.5",
    title="A module that moves as a whole",
    observe=moved_module,
    given=noisy(_plain, _host),
    reference=noisy(_buffer, _like),
    cases=(
        Case("scale = [1., 2., 3.], device cuda:0", lambda: ([1.0, 2.0, 3.0], "cuda:0")),
        Case("scale = [4.], device cuda:1", lambda: ([4.0], "cuda:1"), public=False),
        Case("scale = [1., 0.], device cpu", lambda: ([1.0, 0.0], "cpu"), public=False),
    ),
    mistakes=(
        Mistake(
            noisy(_buffer, _host),
            "scale moves now. The constant that forward makes is still on the CPU, so create it "
            "on the device of x, with device=x.device.",
        ),
        Mistake(
            noisy(_plain, _like),
            "scale is a plain attribute, so the module doesn't know about it and leaves it behind. Use "
            'register_buffer("scale", scale) instead. The constant in forward also has to be on '
            "the device of x, so create it with device=x.device.",
        ),
        Mistake(
            noisy(_parameter, _like),
            "scale moves, because it is a parameter now. But a parameter is trained, and scale "
            "should not be trained, so use a buffer instead.",
        ),
        Mistake(
            noisy(_fixed, _like),
            "scale is always on the GPU now. But the module has to follow every call of .to(), "
            "whichever device it names, and also back to the CPU.",
        ),
    ),
    hints=(
        "Two tensors can be on the wrong device: one belongs to the module, and forward creates "
        "the other.",
        'self.register_buffer("scale", scale) registers the tensor, so that the module moves it.',
        "In forward: torch.full((x.shape[-1],), 0.5, device=x.device).",
    ),
    leaves_out="saving and loading",
)

EXERCISES = (predicted, together, device_weight, own_array, whole_module)
