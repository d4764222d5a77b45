"""L-BFGS. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.LBFGS.html"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autolab
from autolab.engine.autograd.modes import enable_grad, no_grad
from autolab.engine.core.errors import fail
from autolab.optim.line_search import strong_wolfe
from autolab.optim.optimizer import Optimizer, ParamsT
from autolab.optim.settings import check_range, settings


def _number(loss: Any) -> float:
    """Return a loss as a number, without the warning that it requires grad, as in PyTorch's L-BFGS."""
    return float(loss.detach() if isinstance(loss, autolab.Tensor) else loss)


class LBFGS(Optimizer):
    """Newton's method with a Hessian estimated from the last `history_size` steps: few iterations on smooth problems.

    One `step(closure)` runs up to max_iter iterations and evaluates the closure up to max_eval times (default 1.25 *
    max_iter). It stops earlier if no gradient is above tolerance_grad or the change falls below tolerance_change.
    line_search_fn: None (steps of lr) or "strong_wolfe". Raise ValueError for more than one parameter group. Nocedal
    and Wright, "Numerical Optimization", algorithm 7.4.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_range("learning rate", lr)
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, settings(self, locals()))
        if len(self.param_groups) != 1:
            raise fail(
                ValueError,
                "LBFGS doesn't support per-parameter options (parameter groups)",
                "All parameters are one vector to it.",
            )
        self._params = self.param_groups[0]["params"]

    def _flat_grad(self):
        parts = [
            p.detach().new_zeros(p.numel()) if p.grad is None else p.grad.reshape(-1)
            for p in self._params
        ]
        return autolab.cat(parts, 0)

    def _move(self, step_size, direction):
        offset = 0
        for p in self._params:
            p.add_(direction[offset : offset + p.numel()].view_as(p), alpha=step_size)
            offset += p.numel()

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Run up to max_iter iterations, and return the loss of the first call. `closure` clears the gradients,
        computes the loss again, calls backward and returns the loss."""
        closure = enable_grad()(closure)
        with no_grad():
            return self._iterate(closure)

    def _iterate(self, closure):
        group = self.param_groups[0]
        # All state is stored under the first parameter; a loaded state takes its dtype and device.
        state = self.state[self._params[0]]
        for name in ("func_evals", "n_iter"):
            state.setdefault(name, 0)
        first_loss = closure()
        loss, evaluations = _number(first_loss), 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        for name in ("old_dirs", "old_stps", "ro"):
            state.setdefault(name, [])
        state.setdefault("H_diag", 1)
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            _set_direction(state, grad, group["history_size"])
            previous_loss = state["prev_loss"] = loss
            slope = grad.dot(state["d"])
            lr = group["lr"]
            state["t"] = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            if slope > -group["tolerance_change"]:
                break
            calls = 0
            if group["line_search_fn"] is not None:
                loss, grad, calls = self._line_search(
                    closure, state, loss, grad, slope, evaluations
                )
            else:
                self._move(state["t"], state["d"])
                # after the last iteration, the new loss is not needed
                if iteration != group["max_iter"]:
                    loss, grad, calls = _number(closure()), self._flat_grad(), 1
            evaluations += calls
            state["func_evals"] += calls
            if (
                iteration == group["max_iter"]
                or evaluations >= group["max_eval"]
                or grad.abs().max() <= group["tolerance_grad"]
                or state["d"].mul(state["t"]).abs().max() <= group["tolerance_change"]
                or abs(loss - previous_loss) < group["tolerance_change"]
            ):
                break
        return first_loss

    def _line_search(self, closure, state, loss, grad, slope, evaluations):
        """Run the line search, and move the parameters to its end. Return (loss, gradient, calls of the closure)
        there."""
        group = self.param_groups[0]
        if group["line_search_fn"] != "strong_wolfe":
            raise fail(
                RuntimeError,
                "only 'strong_wolfe' is supported",
                f"line_search_fn is {group['line_search_fn']!r}.",
            )
        start = [p.clone() for p in self._params]

        def look(length):
            self._move(length, state["d"])
            found = _number(closure()), self._flat_grad()
            for p, value in zip(self._params, start):
                p.copy_(value)
            return found

        start_here, limit = (loss, grad, slope), group["max_eval"] - evaluations
        found = strong_wolfe(look, state["t"], state["d"], start_here, limit)
        loss, grad, state["t"], calls = found
        self._move(state["t"], state["d"])
        return loss, grad, calls


def _set_direction(state, grad, size):
    """Set the search direction to -H * grad, where H is an estimate of the inverse Hessian from the last `size`
    steps."""
    if "prev_flat_grad" not in state:
        state["d"], state["prev_flat_grad"] = grad.neg(), grad.clone()
        return
    change, step = grad.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
    curvature = change.dot(step)
    if curvature > 1e-10:  # otherwise the estimate would not be positive definite
        new = {"old_dirs": change, "old_stps": step, "ro": 1.0 / curvature}
        for name, value in new.items():
            state[name] = [*state[name], value][-size:]
        state["H_diag"] = curvature / change.dot(change)
    remembered = list(enumerate(zip(state["old_dirs"], state["old_stps"], state["ro"])))
    shares = state.setdefault("al", [None] * size)
    direction = grad.neg()
    for i, (change, step, inverse) in reversed(remembered):
        shares[i] = step.dot(direction) * inverse
        direction.add_(change, alpha=-shares[i].item())
    direction = autolab.mul(direction, state["H_diag"])
    for i, (change, step, inverse) in remembered:
        share = change.dot(direction) * inverse
        direction.add_(step, alpha=(shares[i] - share).item())
    state["d"] = direction
    state["prev_flat_grad"].copy_(grad)
