"""L-BFGS. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.LBFGS.html"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autolab
from autolab.engine.autograd.modes import enable_grad, no_grad
from autolab.engine.core.errors import fail
from autolab.optim.line_search import strong_wolfe
from autolab.optim.optimizer import Optimizer, ParamsT
from autolab.optim.settings import check_lr, number
from autolab.engine.core.tensor import Tensor


def _number(loss: Any) -> float:
    """A loss as a number; PyTorch's L-BFGS does not warn that it requires grad."""
    return float(loss.detach() if isinstance(loss, autolab.Tensor) else loss)


class LBFGS(Optimizer):
    """Newton's method with a Hessian guessed from the last `history_size` steps: few iterations on smooth problems.

    One `step(closure)` is up to max_iter iterations and evaluates the closure up to max_eval times (default 1.25 *
    max_iter), until no gradient is above tolerance_grad or the change falls below tolerance_change.
    line_search_fn: None (steps of lr) or "strong_wolfe". Raises ValueError for more than one parameter group.
    Nocedal and Wright, "Numerical Optimization", algorithm 7.4.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
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
            p.add_(direction[offset : offset + p.numel()].view_as(p), alpha=number(step_size))
            offset += p.numel()

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Up to max_iter iterations. `closure` clears the gradients, computes the loss anew, calls backward and returns
        the loss. Returns the loss of the first call."""
        closure = enable_grad()(closure)
        with no_grad():
            return self._iterate(closure)

    def _iterate(self, closure):
        group = self.param_groups[0]
        # All state is kept under the first parameter, whose dtype and device a loaded state takes.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, evaluations = _number(first_loss), 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        memory = _Memory(state, group["history_size"])
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            memory.turn(grad)
            previous_loss = memory.previous_loss = loss
            slope = grad.dot(memory.direction)
            lr = number(group["lr"])
            memory.length = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            if slope > -group["tolerance_change"]:
                break
            calls = 0
            if group["line_search_fn"] is not None:
                loss, grad, calls = self._search(closure, memory, loss, grad, slope, evaluations)
            else:
                self._move(memory.length, memory.direction)
                if iteration != group["max_iter"]:  # after the last iteration nobody asks
                    loss, grad, calls = _number(closure()), self._flat_grad(), 1
            evaluations += calls
            state["func_evals"] += calls
            if (
                iteration == group["max_iter"]
                or evaluations >= group["max_eval"]
                or grad.abs().max() <= group["tolerance_grad"]
                or memory.direction.mul(memory.length).abs().max() <= group["tolerance_change"]
                or abs(loss - previous_loss) < group["tolerance_change"]
            ):
                break
        memory.save(state)
        return first_loss

    def _search(self, closure, memory, loss, grad, slope, evaluations):
        """(loss, gradient, calls of the closure) where the line search ends; the parameters are moved there."""
        group = self.param_groups[0]
        if group["line_search_fn"] != "strong_wolfe":
            raise fail(
                RuntimeError,
                "only 'strong_wolfe' is supported",
                f"line_search_fn is {group['line_search_fn']!r}.",
            )
        start = [p.clone() for p in self._params]

        def look(length):
            self._move(length, memory.direction)
            found = _number(closure()), self._flat_grad()
            for p, value in zip(self._params, start):
                p.copy_(value)
            return found

        loss, grad, memory.length, calls = strong_wolfe(
            look,
            memory.length,
            memory.direction,
            (loss, grad, slope),
            max_evaluations=group["max_eval"] - evaluations,
        )
        self._move(memory.length, memory.direction)
        return loss, grad, calls


class _Memory:
    """The last steps and what they did to the gradient: together a guess of the inverse Hessian."""

    def __init__(self, state, size):
        self.size = size
        self.direction, self.length = state.get("d"), state.get("t")
        self.changes, self.steps = state.get("old_dirs", []), state.get("old_stps", [])
        self.inverses, self.scale = state.get("ro", []), state.get("H_diag", 1)
        self.shares = state.get("al")
        self.previous_grad, self.previous_loss = state.get("prev_flat_grad"), state.get("prev_loss")

    def turn(self, grad):
        """Take the new gradient in, and set `direction` to minus the guessed inverse Hessian times it."""
        if self.previous_grad is None:
            self.direction, self.previous_grad = grad.neg(), grad.clone()
            return
        self._remember(grad.sub(self.previous_grad), self.direction.mul(self.length))
        if self.shares is None:
            self.shares = [None] * self.size
        direction = grad.neg()
        for i in reversed(range(len(self.changes))):
            self.shares[i] = self.steps[i].dot(direction) * self.inverses[i]
            direction.add_(self.changes[i], alpha=-self.shares[i].item())
        direction = autolab.mul(direction, self.scale)
        for i in range(len(self.changes)):
            share = self.changes[i].dot(direction) * self.inverses[i]
            direction.add_(self.steps[i], alpha=(self.shares[i] - share).item())
        self.direction = direction
        self.previous_grad.copy_(grad)

    def _remember(self, change, step):
        curvature = change.dot(step)
        if curvature > 1e-10:  # otherwise the guess would not be positive definite
            if len(self.changes) == self.size:
                for kept in (self.changes, self.steps, self.inverses):
                    kept.pop(0)
            self.changes.append(change)
            self.steps.append(step)
            self.inverses.append(1.0 / curvature)
            self.scale = curvature / change.dot(change)

    def save(self, state):
        """Write everything into the optimizer's state, under PyTorch's names."""
        if self.shares is not None:
            state["al"] = self.shares
        state["d"], state["t"] = self.direction, self.length
        state["old_dirs"], state["old_stps"] = self.changes, self.steps
        state["ro"], state["H_diag"] = self.inverses, self.scale
        state["prev_flat_grad"], state["prev_loss"] = self.previous_grad, self.previous_loss
