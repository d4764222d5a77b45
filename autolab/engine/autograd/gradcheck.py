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


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
) -> bool:
    """Whether the Jacobian from backward equals the one from central differences, |a - n| <= atol + rtol |n| for each
    entry.

    func: Tensors -> Tensor or tuple. inputs: a Tensor or a tuple; those that require grad should be float64.
    Raises GradcheckError with both Jacobians when they differ, unless raise_exception=False.

    Example:

        >>> x = torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(torch.exp, (x,))
        True
    """
    for name, given in (
        ("check_forward_ad", check_forward_ad),
        ("check_batched_grad", check_batched_grad),
        ("check_batched_forward_grad", check_batched_forward_grad),
        ("masked", masked),
    ):
        if given:
            raise unsupported("gradcheck", name)
    for name, bound in (("atol", atol), ("rtol", rtol)):
        if bound < 0:
            raise fail(
                RuntimeError,
                f"{name} must be greater than or equal to zero, but got {bound}",
                "A tolerance is a distance.",
            )
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        _check(
            func, inputs, _Settings(eps, atol, rtol, nondet_tol, fast_mode), check_undefined_grad
        )
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
    fast: bool

    def close(self, a, n):
        return bool(np.all(np.abs(a - n) <= self.atol + self.rtol * np.abs(n)))


def _check(func, inputs, settings, check_undefined_grad):
    checked = _differentiable(inputs)
    outputs = _outputs(func, inputs)
    if not any(o.requires_grad for o in outputs):
        for k in range(len(outputs)):
            for _, x in checked:
                if not np.allclose(
                    numerical_jacobian(func, inputs, x, k, settings.eps), 0, atol=settings.atol
                ):
                    raise fail(
                        GradcheckError,
                        "Numerical gradient for function expected to be zero",
                        "The function depends on its input, but no gradient flows: it was detached, or left the engine.",
                    )
        return
    for k, output in enumerate(outputs):
        if output.requires_grad:
            for i, x in checked:
                _compare(func, inputs, (k, output), (i, x), settings)
    if check_undefined_grad:
        _undefined(func, inputs, checked)


def _compare(func, inputs, numbered_output, numbered_input, settings):
    """One output against one input; raises GradcheckError with both Jacobians."""
    (k, output), (i, x) = numbered_output, numbered_input
    analytical = analytical_jacobian(output, x)
    if (
        np.abs(analytical - analytical_jacobian(_outputs(func, inputs)[k], x)).max(initial=0)
        > settings.nondet_tol
    ):
        raise fail(
            GradcheckError,
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
            "values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was "
            f"{settings.nondet_tol}.",
            "The rule draws random numbers or changes its own state.",
        )
    numerical = numerical_jacobian(func, inputs, x, k, settings.eps)
    head = f"Jacobian mismatch for output {k} with respect to input {i},\n"
    shown = [repr(wrap(j.astype(x.dtype.np))) for j in (numerical, analytical)]
    note = (
        "Row: entry of the input, column: entry of the output. Where the two differ, backward computes something else than the derivative of "
        "forward."
    )
    if settings.fast:
        generator = np.random.default_rng(0)
        u, v = (a / np.linalg.norm(a) for a in (generator.random(n) for n in numerical.shape))
        n, a = float(u @ numerical @ v), float(u @ analytical @ v)
        if not settings.close(a, n):
            raise fail(
                GradcheckError,
                f"{head}numerical:{n}\nanalytical:{a}\n\nThe above quantities relating the numerical and analytical jacobians "
                "are computed \nin fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \nabout fast mode. "
                f"Below, we recompute numerical and analytical jacobians in slow mode:\n\nNumerical:\n {shown[0]}\nAnalytical:\n{shown[1]}\n\n"
                f"The max per-element difference (slow mode) is: {np.abs(numerical - analytical).max()}.\n",
                note,
            )
    elif not settings.close(analytical, numerical):
        raise fail(GradcheckError, f"{head}numerical:{shown[0]}\nanalytical:{shown[1]}\n", note)


def _undefined(func, inputs, checked):
    """Backward must cope with a gradient that never arrives at one of several outputs."""
    outputs = [o for o in _outputs(func, inputs) if o.requires_grad]
    if len(outputs) < 2:
        return
    for o in outputs:
        ones = wrap(devices.filled(o._storage.device, 1, o._array.shape, o.dtype))
        grad(o, [x for _, x in checked], ones, retain_graph=True, allow_unused=True)


def _outputs(func, inputs):
    return _as_tuple(func(*inputs))


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
        if x.is_leaf is False:
            x.retain_grad()
        checked.append((i, x))
    if not checked:
        raise fail(
            ValueError,
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.",
            "Make the input with requires_grad=True.",
        )
    return checked


def numerical_jacobian(func, inputs, x, k, eps):
    """Central differences: entry (i, j) is d output[j] / d x[i]; x is nudged in place and put back."""
    values = materialise(x)
    place = x._storage.device.backend
    columns = []
    for position in np.ndindex(values.shape):
        with place:
            before = values[position].copy()
        nudged = []
        for step in (eps, -eps):
            with place:
                values[position] = before + step
            nudged.append(_host(_outputs(func, inputs)[k]))
        with place:
            values[position] = before
        if nudged[0].dtype == bool:
            raise fail(
                RuntimeError,
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
                "instead.",
                "A function with a yes-or-no result has no derivative.",
            )
        columns.append(((nudged[0] - nudged[1]) / (2 * eps)).ravel())
    size = columns[0].size if columns else 0
    return np.array(columns).reshape(len(columns), size)


def _host(t):
    """A copy of the values in host memory."""
    return np.array(t._storage.device.backend.to_host(t._array))


def analytical_jacobian(output, x):
    """From backward: one vector-Jacobian product per entry of the output."""
    columns = []
    for j in range(output.numel()):
        (g,) = grad(output, x, unit(output, j), retain_graph=True, allow_unused=True)
        columns.append(np.zeros(x.numel(), x.dtype.np) if g is None else _host(g).ravel())
    return np.array(columns).T.reshape(x.numel(), output.numel())


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
) -> bool:
    """`gradcheck` of the gradient itself: checks second derivatives. Source: torch.autograd.gradgradcheck."""
    for name, given in (
        ("check_fwd_over_rev", check_fwd_over_rev),
        ("check_batched_grad", check_batched_grad),
        ("masked", masked),
        ("gen_non_contig_grad_outputs", gen_non_contig_grad_outputs),
    ):
        if given:
            raise unsupported("gradgradcheck", name)
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    outputs = [o for o in _outputs(func, inputs) if o.requires_grad]
    if grad_outputs is None:
        generator = np.random.default_rng(0)
        grad_outputs = [
            wrap(generator.standard_normal(o._array.shape).astype(o.dtype.np)).to(o.device)
            for o in outputs
        ]
        for g in grad_outputs:
            g._req = True
    else:
        grad_outputs = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    n = len(inputs)

    def new_func(*args):
        xs, vs = args[:n], args[n:]
        ys = [o for o in _outputs(func, xs) if o.requires_grad]
        wanted = [x for x in xs if isinstance(x, Tensor) and x.requires_grad]
        gs = grad(ys, wanted, list(vs), create_graph=True, allow_unused=True)
        return tuple(g for g in gs if g is not None)

    return gradcheck(
        new_func,
        (*inputs, *grad_outputs),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        fast_mode=fast_mode,
    )
