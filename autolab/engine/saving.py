"""What a node keeps for its backward rules, compiled from the op's record: `save(args, outs, edges)` gives the tuple that `autograd/saved.py`
describes. Compiled on first use: reading the plan at each call cost as much as a small kernel.
"""

from __future__ import annotations

from .autograd import saved
from .errors import fail
from .storage import InferenceStorage
from .tensor import Tensor, contiguous_strides


def saver(op):
    """The `save` of an op; made once."""
    lines = []
    for k, (kind, index, readers) in enumerate(zip(op.save_kinds, op.save_index, op.needed_by)):
        a = f"args[{index}]"
        if kind == "output":
            names, text = f"s{k}, t{k}, v{k}", f"output(outs[{index}])"
        elif kind == "input" and op.params[index] not in op.lists:
            names, text = f"s{k}, v{k}", f"operand({a})"
        elif kind == "input":
            names, text = f"s{k}", f"operands({a})"
        else:
            names, text = f"s{k}", a if kind == "attr" else f"{kind.partition(':')[2]}({a})"
        if readers is not None and not op.spread:
            wanted = " or ".join(f"edges[{r}] is not None" for r in sorted(readers))
            lines += [f" if {wanted}: {names} = {text}", f" else: {' = '.join(names.split(', '))} = None"]
        else:
            lines.append(f" {names} = {text}")
    names = saved.places(op)
    environment = dict(_KINDS)
    exec("\n".join(["def save(args, outs, edges):", *lines, f" return ({', '.join(names)}{',' if names else ''})"]), environment)
    op.save = environment["save"]
    return op.save


def _output(o):
    return o._d, o._storage, o._storage.version


def _operand(a):
    if not isinstance(a, Tensor):
        return a, None
    storage = a._storage
    if storage.__class__ is InferenceStorage:
        raise inference_saved()
    return a, storage.version


def _operands(a):
    return _operand(a) if isinstance(a, Tensor) else tuple(a)


def _derived(of_tensor):
    """What `of_tensor` says of a Tensor, or of each in a list."""

    def of(a):
        return tuple(of(x) for x in a) if a.__class__ in (list, tuple) else of_tensor(a)

    return of


def strides_of(t):
    """`t.stride()`; of matrices without its questions, because every product saves two."""
    d = t._d
    if d.ndim == 4:  # the tensor may have to be put in order first
        return t.stride()
    if d.flags.c_contiguous:
        return contiguous_strides(d.shape)
    size = d.itemsize
    return tuple([n // size for n in d.strides])


_KINDS = {
    "output": _output,
    "operand": _operand,
    "operands": _operands,
    "sizes": _derived(lambda a: a._d.shape),
    "sizes_opt": _derived(lambda a: (0,) if a is None else a._d.shape),
    "numel": _derived(lambda a: int(a._d.size)),
    "strides": _derived(strides_of),
    "argsize_0": _derived(lambda a: a._d.shape[0]),
    "argsize_minus_1": _derived(lambda a: a._d.shape[-1]),
    "argsize_minus_2": _derived(lambda a: a._d.shape[-2]),
}


def inference_saved():
    return fail(
        RuntimeError,
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
        "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
        "`torch.no_grad()` instead of `torch.inference_mode()`.",
        "Inference mode keeps no version counter, so the graph could not notice later changes.",
    )
