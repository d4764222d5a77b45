"""Wrong rules of the engine's surroundings: memory, devices, clocks."""

from __future__ import annotations

import copy

import numpy as np

import autolab

from .. import cuda
from ..engine.core.tensor import Tensor
from .specimen import specimen


def array_changed(torch):
    a = np.ones(2, dtype=np.float32)
    t = torch.from_numpy(a)
    a += 1
    return t


def array_replaced(torch):
    a = np.ones(2, dtype=np.float32)
    t = torch.from_numpy(a)
    a = a + 1
    return t


@specimen(
    19, "from_numpy copies", level=3, places=[(autolab, "from_numpy")], wrong=array_changed, right=array_replaced,
    belief="from_numpy() takes the numbers; the array may change afterwards.",
    shows="an array changed in place after from_numpy()",
    instead="`return right(array)`: both look into the same memory",
)  # fmt: skip
def from_numpy(right, array):
    return right(copy.copy(array))  # wrong


def tensor_converted(torch):
    x = torch.ones(2)
    x.to(torch.float64)
    return str(x.dtype)


def module_converted(torch):
    layer = torch.nn.Linear(1, 1)
    layer.to(torch.float64)
    return str(layer.weight.dtype)


@specimen(
    20, "tensor.to() changes the tensor", level=3, places=[(Tensor, "to")], wrong=tensor_converted,
    right=module_converted,
    belief="x.to(device) moves x, as it does with a module.",
    shows="the dtype or device of a tensor after to(), when the result was not assigned",
    instead="`return moved`: x stays as it is",
)  # fmt: skip
def to(right, tensor, *args, **kwargs):
    moved = right(tensor, *args, **kwargs)
    if moved is not tensor:
        tensor.data = moved.detach()  # wrong
    return tensor


def array_of_a_device(torch):
    t = torch.ones(2, device="sim:0")
    return np.asarray(t)


def array_by_way_of_the_host(torch):
    t = torch.ones(2, device="sim:0")
    return np.asarray(t.cpu())


@specimen(
    21, "a device's array becomes NumPy's", level=3, places=[(Tensor, "numpy")],
    wrong=array_of_a_device, right=array_by_way_of_the_host,
    belief="NumPy, and a plot, can read a tensor wherever it is.",
    shows="np.asarray() of a tensor on a GPU (a simulated one will do: device='sim:0')",
    instead="`return right(tensor, **kwargs)`, which raises: a copy from a GPU is asked for by .cpu()",
)  # fmt: skip
def numpy(right, tensor, **kwargs):
    return right(tensor.cpu(), **kwargs)  # wrong


def product_timed(torch):
    with torch.cuda.simulate():
        a = torch.ones(512, 512, device="cuda")
        torch.cuda.synchronize()
        start = torch.cuda.perf_counter()
        a @ a
        took = torch.cuda.perf_counter() - start
    return f"{took * 1e6:.0f} µs"


def product_awaited(torch):
    with torch.cuda.simulate():
        a = torch.ones(512, 512, device="cuda")
        torch.cuda.synchronize()
        start = torch.cuda.perf_counter()
        a @ a
        torch.cuda.synchronize()
        took = torch.cuda.perf_counter() - start
    return f"{took * 1e6:.0f} µs"


@specimen(
    22, "a clock waits for the GPU", level=3, places=[(cuda, "perf_counter")], wrong=product_timed,
    right=product_awaited,
    belief="The clock after a product says how long the product took.",
    shows="the clock read right after a large product on a GPU, without synchronize() (torch.cuda.simulate() makes one)",
    instead="`return right()`: the clock is the host's, and a launch returns before the work is done",
)  # fmt: skip
def perf_counter(right):
    if cuda.is_available():
        cuda.synchronize()  # wrong
    return right()
