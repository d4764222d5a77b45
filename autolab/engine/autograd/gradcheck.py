"""Compare analytical gradients with finite differences: `gradcheck`, `gradgradcheck`.

Source: https://docs.pytorch.org/docs/2.13/autograd.html#module-torch.autograd.gradcheck"""

from __future__ import annotations

import warnings

import numpy as np

from ..core.errors import fail
from ..exact.refusals import unsupported
from ..core.tensor import Tensor, materialise, wrap
from ..core.differentiate import grad
from .functional import gradients, unit


class GradcheckError(RuntimeError):
    """The error that `gradcheck` raises if a gradient is wrong."""


GradcheckError.__module__ = "torch.autograd.gradcheck"


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    **rare,
) -> bool:
    """Return whether the Jacobian from backward equals the Jacobian from central differences: |a - n| <= atol + rtol
    |n| for each entry.

    func: Tensors -> Tensor or tuple. inputs: a Tensor or a tuple of Tensors; inputs that require grad should be
    float64. nondet_tol: how much the gradients of two backward passes may differ. Raise GradcheckError with both
    Jacobians if they differ, unless raise_exception=False.

    Example:
        >>> x = torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(torch.exp, (x,))
        True
    """
    for name, value in rare.items():
        if value and name not in ("check_undefined_grad", "check_grad_dtypes"):
            raise unsupported("gradcheck", name)
    try:
        _check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(func, inputs, eps, atol, rtol, nondet_tol):
    checked = _differentiable(inputs)
    outputs = _as_tuple(func(*inputs))
    for k, output in enumerate(outputs):
        for i, x in checked:
            numerical = numerical_jacobian(func, inputs, x, k, eps)
            analytical, again = (
                analytical_jacobian(_as_tuple(o)[k], x) for o in (outputs, func(*inputs))
            )
            if np.abs(analytical - again).max(initial=0) > nondet_tol:
                message = "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                message += "values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was "
                note = "The rule draws random numbers or changes its own state."
                raise fail(GradcheckError, f"{message}{nondet_tol}.", note)
            if not output.requires_grad and not np.allclose(numerical, 0, atol=atol):
                message = "Numerical gradient for function expected to be zero"
                note = "The function depends on its input, but no gradient flows: it was detached, or left the engine."
                raise fail(GradcheckError, message, note)
            if not close(analytical, numerical, atol, rtol):
                n, a = (repr(wrap(j.astype(x.dtype.np))) for j in (numerical, analytical))
                message = f"Jacobian mismatch for output {k} with respect to input {i},\nnumerical:{n}\nanalytical:{a}\n"
                note = "Each row is an entry of the input, each column an entry of the output. Where the two differ, backward "
                raise fail(
                    GradcheckError,
                    message,
                    note + "computes something else than the derivative of forward.",
                )


def close(analytical, numerical, atol, rtol):
    """Return whether the analytical Jacobian matches the numerical one within the tolerances."""
    return bool(np.all(np.abs(analytical - numerical) <= atol + rtol * np.abs(numerical)))


def _as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _differentiable(inputs):
    checked = []
    for i, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        if x.dtype.np != np.float64:
            message = f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely fail if "
            message += "all the inputs are not of double precision floating point or complex. "
            warnings.warn(message, UserWarning, stacklevel=5)
        if any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape)):
            message = f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to "
            message += "compute the numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck."
            note = "In expanded memory several entries are one number, so changing one changes all. Pass x.contiguous()."
            raise fail(RuntimeError, message, note)
        checked.append((i, x))
    if not checked:
        raise fail(
            ValueError,
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.",
            "Make the input with requires_grad=True.",
        )
    return checked


def numerical_jacobian(func, inputs, x, k, eps):
    """Return central differences: entry (i, j) is d output[j] / d x[i]. Each x[i] is changed in place and restored."""
    values, place = materialise(x), x._storage.device.backend
    rows = []
    for position in np.ndindex(values.shape):
        with place:
            before = values[position].copy()
        nudged = []
        for value in (before + eps, before - eps):
            with place:
                values[position] = value
            nudged.append(_as_tuple(func(*inputs))[k].detach().clone())
        with place:
            values[position] = before
        rows.append(_host(nudged[0] - nudged[1]).ravel() / (2 * eps))
    return np.array(rows).reshape(len(rows), rows[0].size if rows else 0)


def _host(t):
    """Return a copy of the values in host memory."""
    return np.array(t._storage.device.backend.to_host(t._array))


def analytical_jacobian(output, x):
    """Return the Jacobian from backward: one vector-Jacobian product per entry of the output."""
    columns = [
        _host(gradients((output,), (x,), (unit(output, j),), False)[0])
        for j in range(output.numel())
    ]
    return np.array(columns).reshape(output.numel(), x.numel()).T


def gradgradcheck(func, inputs, grad_outputs=None, **options) -> bool:
    """Check second derivatives: return `gradcheck` of the gradient itself. Source: torch.autograd.gradgradcheck."""
    inputs = _as_tuple(inputs)
    n, generator = len(inputs), np.random.default_rng(0)
    if grad_outputs is None:
        outputs = [o for o in _as_tuple(func(*inputs)) if o.requires_grad]
        draws = [generator.standard_normal(o._array.shape).astype(o.dtype.np) for o in outputs]
        grad_outputs = [wrap(v).to(o.device).requires_grad_() for v, o in zip(draws, outputs)]

    def gradient(*args):
        ys = [o for o in _as_tuple(func(*args[:n])) if o.requires_grad]
        wanted = [x for x in args[:n] if isinstance(x, Tensor) and x.requires_grad]
        gs = grad(ys, wanted, args[n:], create_graph=True, allow_unused=True)
        return tuple(g for g in gs if g is not None)

    return gradcheck(gradient, (*inputs, *_as_tuple(grad_outputs)), **options)
