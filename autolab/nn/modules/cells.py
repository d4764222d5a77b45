"""Cells: modules that run one step of a recurrent network.

Source: https://docs.pytorch.org/docs/stable/nn.html#recurrent-layers
"""

from __future__ import annotations

import math

import autolab
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn import init
from autolab.nn._arguments import DeviceLike
from autolab.nn.functional import recurrent
from autolab.nn.modules.layer import shown_unless_default
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter


class RNNCellBase(Module):
    """The base of the three cells: weight_ih (gates * hidden_size, input_size), weight_hh (gates * hidden_size,
    hidden_size) and two biases, uniform in ±1/sqrt(hidden_size)."""

    nonlinearity = "tanh"
    _mode, _gates, _states = "", 1, 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self._gates * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        for name, shape in (shapes | {"bias_ih": (rows,), "bias_hh": (rows,)}).items():
            empty = autolab.empty(shape, device=device, dtype=dtype)
            wanted = bias or name in shapes
            self.register_parameter(name, Parameter(empty) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new random parameters."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        """Return the sizes, then the settings that differ from their defaults."""
        defaults = {"bias": True, "nonlinearity": "tanh"}
        return f"{self.input_size}, {self.hidden_size}" + shown_unless_default(self, defaults)

    def _step(self, input, state):
        """Return the next state; `state` is a tuple of tensors, or None for zeros."""
        if input.dim() not in (1, 2):
            raise fail(
                ValueError,
                f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.dim()}D instead",
                "A batch of vectors, or one vector.",
            )
        if input.size(-1) != self.input_size:
            raise fail(
                RuntimeError,
                f"input has inconsistent input_size: got {input.size(-1)} expected {self.input_size}",
                "The last dimension of the input is what weight_ih multiplies.",
            )
        wanted = (*input.shape[:-1], self.hidden_size)
        state = (input.new_zeros(wanted),) * self._states if state is None else state
        for number, s in enumerate(state):
            if s.shape != wanted:
                message = f"hidden{number} has inconsistent hidden_size: got {s.size(-1)}, expected {self.hidden_size}"
                if s.size(0) != wanted[0]:
                    message = f"Input batch size {wanted[0]} doesn't match hidden{number} batch size {s.size(0)}"
                raise fail(
                    RuntimeError,
                    message,
                    "The batch size of the input and the state must be equal.",
                )
        single = input.dim() == 1
        if single:
            input, state = input.unsqueeze(0), tuple(s.unsqueeze(0) for s in state)
        w = recurrent.Weights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        after = recurrent.cell(self._mode, input, state, w)
        return tuple(s.squeeze(0) for s in after) if single else after


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh) for x (batch, input_size) or (input_size,); h starts at zero.

    nonlinearity: "tanh" or "relu". Raise ValueError or RuntimeError for sizes that do not match.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device, dtype)
        if nonlinearity not in ("tanh", "relu"):
            message = f"Unknown nonlinearity: {nonlinearity}"
            raise fail(RuntimeError, message, "Pass nonlinearity='tanh' or 'relu'.")
        self.nonlinearity, self._mode = nonlinearity, f"RNN_{nonlinearity.upper()}"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state h'."""
        return self._step(input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """Long short-term memory: c' = f * c + i * g, h' = o * tanh(c'), where i, f, o are sigmoids and g is a tanh of x
    and h.

    For x (batch, input_size) or (input_size,); the rows of the weights belong to i, f, g, o in this order. Hochreiter
    and Schmidhuber (1997). Raise ValueError or RuntimeError for sizes that do not match.
    """

    _mode, _gates, _states = "LSTM", 4, 2

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return (h', c'). hx: (h, c), by default zeros."""
        return self._step(input, hx)


class GRUCell(RNNCellBase):
    """Gated recurrent unit: h' = (1 - z) * n + z * h, where r, z are sigmoids and n = tanh(x's part + r * h's part).

    For x (batch, input_size) or (input_size,); the rows of the weights belong to r, z, n in this order. Cho et al.
    (2014). Raise ValueError or RuntimeError for sizes that do not match.
    """

    _mode, _gates = "GRU", 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state h'."""
        return self._step(input, None if hx is None else (hx,))[0]
