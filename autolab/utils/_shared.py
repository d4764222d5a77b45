"""Small things that modules and optimizers share."""

from autolab.engine.core import observe
from autolab.engine.core.tensor import Tensor


def typename(value):
    """What `torch.typename` says: 'torch.FloatTensor', 'torch.nn.modules.linear.Linear', 'int'."""
    if isinstance(value, Tensor):
        return value.type()
    kind = value if hasattr(value, "__qualname__") else type(value)
    module = getattr(kind, "__module__", None)
    if module in (None, "", "builtins", "__builtin__"):
        return kind.__qualname__
    if module.split(".")[0] == "autolab":
        module = "torch" + module[len("autolab") :]
    return f"{module}.{kind.__qualname__}"


def reset_grads(owner, parameters, set_to_none):
    """`zero_grad()` of an optimizer or module, `owner`."""
    watcher = observe.observer
    if watcher is not None:
        watcher.zero_grad(owner, False)
    for parameter in parameters:
        _reset_grad(parameter, set_to_none)
    if watcher is not None:
        watcher.zero_grad(owner, True)


def _reset_grad(parameter, set_to_none):
    """Drop `parameter.grad`, or fill it with zeros and cut it from any graph."""
    grad = parameter.grad
    if grad is None:
        return
    if set_to_none:
        parameter.grad = None
        return
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()
