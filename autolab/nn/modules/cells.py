"""One step of a recurrent network as a module.

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
    """What the three cells share: weight_ih (gates * hidden_size, input_size), weight_hh (gates * hidden_size,
    hidden_size) and two biases, uniform in ±1/sqrt(hidden_size)."""

    nonlinearity = "tanh"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
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
        """Return the sizes, then what is not the default."""
        defaults = {"bias": True, "nonlinearity": "tanh"}
        return f"{self.input_size}, {self.hidden_size}" + shown_unless_default(self, defaults)

    def _step(self, mode, input, state, count=1):
        """Return the next state; `state` is a tuple of `count` tensors or None, which means zeros."""
        self._check_dim("input", input)
        for number, s in enumerate(state or ()):
            self._check_dim("hidden" if count == 1 else f"hx[{number}]", s)
        single = input.dim() == 1
        if single:
            input = input.unsqueeze(0)
        if state is None:
            zeros = input.new_zeros(input.size(0), self.hidden_size)
            state = (zeros,) * count
        elif single:
            state = tuple(s.unsqueeze(0) for s in state)
        self._check_sizes(input, state)
        w = recurrent.Weights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        after = recurrent.cell(mode, input, state, w)
        return tuple(s.squeeze(0) for s in after) if single else after

    def _check_dim(self, what, tensor):
        if tensor.dim() not in (1, 2):
            raise fail(
                ValueError,
                f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {tensor.dim()}D instead",
                "A batch of vectors, or one vector.",
            )

    def _check_sizes(self, input, state):
        batch, width, hidden = input.size(0), input.size(1), self.hidden_size
        if width != self.input_size:
            raise fail(
                RuntimeError,
                f"input has inconsistent input_size: got {width} expected {self.input_size}",
                "The last dimension of the input is what weight_ih multiplies.",
            )
        for number, s in enumerate(state):
            if tuple(s.shape) != (batch, hidden):
                message = f"hidden{number} has inconsistent hidden_size: got {s.size(-1)}, expected {hidden}"
                if s.size(0) != batch:
                    message = f"Input batch size {batch} doesn't match hidden{number} batch size {s.size(0)}"
                raise fail(RuntimeError, message, f"The state has to be {batch} x {hidden}.")


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh) for x (batch, input_size) or (input_size,); h starts at zero.

    nonlinearity: "tanh" or "relu". Raises ValueError or RuntimeError for sizes that do not fit.
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
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state h'."""
        if self.nonlinearity not in ("tanh", "relu"):
            message = f"Unknown nonlinearity: {self.nonlinearity}"
            raise fail(RuntimeError, message, "It is 'tanh' or 'relu'.")
        mode = f"RNN_{self.nonlinearity.upper()}"
        return self._step(mode, input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """Long short-term memory: c' = f * c + i * g, h' = o * tanh(c') with i, f, o sigmoids and g a tanh of x and h.

    For x (batch, input_size) or (input_size,); the rows of the weights are those of i, f, g, o.
    Hochreiter and Schmidhuber (1997). Raises ValueError or RuntimeError for sizes that do not fit.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return (h', c'). hx: (h, c), zeros when left out."""
        return self._step("LSTM", input, hx, count=2)


class GRUCell(RNNCellBase):
    """Gated recurrent unit: h' = (1 - z) * n + z * h with r, z sigmoids and n = tanh(x's part + r * h's part).

    For x (batch, input_size) or (input_size,); the rows of the weights are those of r, z, n. Cho et al. (2014).
    Raises ValueError or RuntimeError for sizes that do not fit.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state h'."""
        return self._step("GRU", input, None if hx is None else (hx,))[0]
