"""Comparing analytical gradients with finite differences: `gradcheck`, `gradgradcheck`.

Source: https://docs.pytorch.org/docs/2.13/autograd.html#module-torch.autograd.gradcheck"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from ..devices import device as devices
from ..core.errors import fail
from ..exact.refusals import unsupported
from ..core.tensor import Tensor, materialise, wrap
from ..core.differentiate import grad
from .functional import unit


class GradcheckError(RuntimeError):
    """What `gradcheck` raises when a gradient is wrong."""


GradcheckError.__module__ = "torch.autograd.gradcheck"


def _refuse_rare(function, options):
    """Raise NotImplementedError for an option of PyTorch's that was given with an unusual value."""
    for name, value in options.items():
        if value and not name.startswith("check_undefined") and name not in _USUAL:
            raise unsupported(function, name)


_USUAL = {"check_backward_ad", "check_rev_over_rev", "check_grad_dtypes"}
"""Checks that are always made here."""


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
    """Return whether the Jacobian from backward equals the one from central differences, |a - n| <= atol + rtol |n| for
    each entry.

    func: Tensors -> Tensor or tuple. inputs: a Tensor or a tuple; those that require grad should be float64.
    nondet_tol: how much two backward passes may differ. Raises GradcheckError with both Jacobians when they differ,
    unless raise_exception=False.

    Example:
        >>> x = torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(torch.exp, (x,))
        True
    """
    _refuse_rare("gradcheck", rare)
    for name, bound in (("atol", atol), ("rtol", rtol)):
        if bound < 0:
            message = f"{name} must be greater than or equal to zero, but got {bound}"
            raise fail(RuntimeError, message, "A tolerance is a distance.")
    try:
        _check(func, _as_tuple(inputs), _Settings(eps, atol, rtol, nondet_tol))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


class _Settings(NamedTuple):
    eps: float
    atol: float
    rtol: float
    nondet_tol: float

    def close(self, a, n):
        return bool(np.all(np.abs(a - n) <= self.atol + self.rtol * np.abs(n)))


def _check(func, inputs, settings):
    checked = _differentiable(inputs)
    outputs = _as_tuple(func(*inputs))
    for k, output in enumerate(outputs):
        for i, x in checked:
            if output.requires_grad:
                _compare(func, inputs, (k, output), (i, x), settings)
            elif not any(o.requires_grad for o in outputs):
                _expect_zero(numerical_jacobian(func, inputs, x, k, settings.eps), settings)
    _undefined(func, inputs, checked)


def _expect_zero(numerical, settings):
    if not np.allclose(numerical, 0, atol=settings.atol):
        raise fail(
            GradcheckError,
            "Numerical gradient for function expected to be zero",
            "The function depends on its input, but no gradient flows: it was detached, or left the engine.",
        )


def _compare(func, inputs, numbered_output, numbered_input, settings):
    """Compare one output against one input; raises GradcheckError with both Jacobians."""
    (k, output), (i, x) = numbered_output, numbered_input
    analytical = analytical_jacobian(output, x)
    again = analytical_jacobian(_as_tuple(func(*inputs))[k], x)
    if np.abs(analytical - again).max(initial=0) > settings.nondet_tol:
        raise fail(
            GradcheckError,
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
            "values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was "
            f"{settings.nondet_tol}.",
            "The rule draws random numbers or changes its own state.",
        )
    numerical = numerical_jacobian(func, inputs, x, k, settings.eps)
    if not settings.close(analytical, numerical):
        shown = [repr(wrap(j.astype(x.dtype.np))) for j in (numerical, analytical)]
        raise fail(
            GradcheckError,
            f"Jacobian mismatch for output {k} with respect to input {i},\nnumerical:{shown[0]}\nanalytical:{shown[1]}\n",
            "Row: entry of the input, column: entry of the output. Where the two differ, backward computes something else "
            "than the derivative of forward.",
        )


def _undefined(func, inputs, checked):
    """Run backward from each of several outputs alone: the gradients of the others never arrive."""
    outputs = [o for o in _as_tuple(func(*inputs)) if o.requires_grad]
    if len(outputs) < 2:
        return
    for o in outputs:
        ones = wrap(devices.filled(o._storage.device, 1, o._array.shape, o.dtype))
        grad(o, [x for _, x in checked], ones, retain_graph=True, allow_unused=True)


def _as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _differentiable(inputs):
    checked = []
    for i, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        if x.dtype.np != np.float64:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely fail if all "
                "the inputs are not of double precision floating point or complex. ",
                UserWarning,
                stacklevel=5,
            )
        if any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape)):
            raise fail(
                RuntimeError,
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to "
                "compute the numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck.",
                "One number must not appear as several entries, or nudging one nudges all.",
            )
        checked.append((i, x))
    if not checked:
        raise fail(
            ValueError,
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.",
            "Make the input with requires_grad=True.",
        )
    return checked


def numerical_jacobian(func, inputs, x, k, eps):
    """Return central differences: entry (i, j) is d output[j] / d x[i]; x is nudged in place and put back."""
    values = materialise(x)
    place = x._storage.device.backend
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
    columns = []
    for j in range(output.numel()):
        (g,) = grad(output, x, unit(output, j), retain_graph=True, allow_unused=True)
        columns.append(np.zeros(x.numel(), x.dtype.np) if g is None else _host(g).ravel())
    return np.array(columns).T.reshape(x.numel(), output.numel())


def gradgradcheck(func, inputs, grad_outputs=None, **options) -> bool:
    """Return `gradcheck` of the gradient itself: checks second derivatives. Source: torch.autograd.gradgradcheck."""
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        generator = np.random.default_rng(0)
        grad_outputs = [
            wrap(generator.standard_normal(o._array.shape).astype(o.dtype.np)).to(o.device)
            for o in _as_tuple(func(*inputs))
            if o.requires_grad
        ]
        for g in grad_outputs:
            g._req = True
    n = len(inputs)

    def gradient(*args):
        xs, vs = args[:n], args[n:]
        ys = [o for o in _as_tuple(func(*xs)) if o.requires_grad]
        wanted = [x for x in xs if isinstance(x, Tensor) and x.requires_grad]
        gs = grad(ys, wanted, list(vs), create_graph=True, allow_unused=True)
        return tuple(g for g in gs if g is not None)

    return gradcheck(gradient, (*inputs, *_as_tuple(grad_outputs)), **options)
