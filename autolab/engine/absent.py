"""Names that PyTorch 2.13 has and autolab lacks: what to say when a program asks for one.

`absent.txt` lists the names, one module a line; `tools/absent.py` writes it. INSTEAD says what to write for the names
that are asked for most.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

INSTEAD = {
    "torch.compile": "Leave it out: autolab runs every operation as it comes",
    "torch.jit": "Leave it out: autolab runs every operation as it comes",
    "torch.distributed": "Train in one process: lesson 2 shows what several GPUs would do",
    "torch.nn.DataParallel": "Use the model itself: lesson 2 shows what several GPUs would do",
    "torch.nn.parallel": "Use the model itself: lesson 2 shows what several GPUs would do",
    "torch.fft": "Use numpy.fft on x.numpy()",
    "torch.sparse": "Use a dense tensor",
    "torch.atan2": "Write torch.atan(y / x), and take care of the quadrant",
    "torch.hypot": "Write (x * x + y * y).sqrt()",
    "torch.logaddexp": "Write torch.logsumexp(torch.stack([x, y]), 0)",
    "torch.heaviside": "Write (x > 0).float()",
    "torch.isin": "Write (x[..., None] == values).any(-1)",
    "torch.count_nonzero": "Write (x != 0).sum()",
    "torch.aminmax": "Write x.amin() and x.amax()",
    "torch.kthvalue": "Write x.sort().values[k - 1]",
    "torch.baddbmm": "Write beta * input + alpha * (batch1 @ batch2)",
    "torch.addmv": "Write beta * input + alpha * (mat @ vec)",
    "torch.cov": "Write d = x - x.mean(1, keepdim=True), then d @ d.T / (n - 1)",
    "torch.cartesian_prod": "Use torch.meshgrid and torch.stack",
    "torch.block_diag": "Write the blocks into torch.zeros(...) by slices",
    "torch.kron": "Write torch.einsum('ij,kl->ikjl', a, b), then reshape",
    "torch.deg2rad": "Write x * (torch.pi / 180)",
    "torch.rad2deg": "Write x * (180 / torch.pi)",
    "torch.logit": "Write torch.log(p / (1 - p))",
    "torch.erfc": "Write 1 - torch.erf(x)",
    "torch.fmax": "Use torch.maximum",
    "torch.fmin": "Use torch.minimum",
    "torch.tensor_split": "Use torch.split or torch.chunk",
    "torch.hsplit": "Use torch.split along dim=1",
    "torch.vsplit": "Use torch.split along dim=0",
    "torch.index_copy": "Write x[index] = source on a clone",
    "torch.index_fill": "Write x[index] = value on a clone",
    "torch.masked_scatter": "Write x[mask] = source on a clone",
    "torch.scatter_reduce": "Use scatter_add for sums",
    "torch.unique_consecutive": "Use torch.unique",
    "torch.searchsorted": "Write (sorted_values < x[..., None]).sum(-1)",
    "torch.bucketize": "Write (boundaries < x[..., None]).sum(-1)",
    "torch.tril_indices": "Write torch.ones(n, m).tril().nonzero().T",
    "torch.triu_indices": "Write torch.ones(n, m).triu().nonzero().T",
    "torch.pdist": "Use torch.cdist(x, x) and take the part above the diagonal",
    "torch.hann_window": "Use numpy.hanning and torch.from_numpy",
}
DEFAULT = "Write it with the operations that autolab has, or run this part in PyTorch"


@functools.cache
def names() -> dict[str, frozenset[str]]:
    """Return the absent names by module ("torch", "torch.nn", "torch.Tensor" …)."""
    lines = Path(__file__).with_name("absent.txt").read_text(encoding="utf-8").splitlines()
    table = (line.partition(":") for line in lines if not line.startswith("#"))
    return {module: frozenset(listed.split()) for module, _, listed in table}


def error(module: str, name: str, kind: str = "module") -> AttributeError:
    """Return the error for a name that `module` does not have; it says so if PyTorch has it.

    >>> print(error("torch", "hann_window"))
    module 'torch' has no attribute 'hann_window': it exists in PyTorch 2.13, but autolab keeps what courses use. Use \
numpy.hanning and torch.from_numpy.
    >>> print(error("torch", "tenser"))
    module 'torch' has no attribute 'tenser'
    """
    owner = module.rpartition(".")[2] if kind == "object" else module
    message = f"'{owner}' object" if kind == "object" else f"module '{owner}'"
    message += f" has no attribute '{name}'"
    if name in names().get(module, ()):
        full = f"{module.removesuffix('.Tensor')}.{name.removesuffix('_')}"
        instead = INSTEAD.get(f"{module}.{name}") or INSTEAD.get(full, DEFAULT)
        message += f": it exists in PyTorch 2.13, but autolab keeps what courses use. {instead}."
    return AttributeError(message)


def getattr_of(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module, which is called for names that it does not have."""

    def __getattr__(name: str) -> Any:
        raise error(module, name)

    return __getattr__


class AbsentMethod:
    """Stand where PyTorch's Tensor has a method and autolab's has none; raise the error when it is asked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise error("torch.Tensor", self.name, "object")


def mark_methods(tensor: type) -> None:
    """Give the class Tensor an AbsentMethod for each method that only PyTorch has."""
    for name in names()["torch.Tensor"]:
        if not hasattr(tensor, name):
            setattr(tensor, name, AbsentMethod(name))
