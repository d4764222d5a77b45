"""One step of a recurrent network as a module.

Source: https://docs.pytorch.org/docs/stable/nn.html#recurrent-layers
"""

from __future__ import annotations

import math

import autolab
from autolab.engine.core.errors import fail
from autolab.nn import init
from autolab.nn.functional import recurrent
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike


class RNNCellBase(Module):
    """What the three cells share: weight_ih (gates * hidden_size, input_size), weight_hh (gates * hidden_size,
    hidden_size) and two biases, uniform in ±1/sqrt(hidden_size)."""

    _states = 1

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
        options = {"device": device, "dtype": dtype}
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(autolab.empty((rows, input_size), **options))
        self.weight_hh = Parameter(autolab.empty((rows, hidden_size), **options))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(
                name, Parameter(autolab.empty(rows, **options)) if bias else None
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new random parameters."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        """Sizes, then what is not the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else text + f", nonlinearity={nonlinearity}"

    def _step(self, mode, input, state):
        """The next state; `state` is a tuple of tensors or None, which means zeros."""
        single = input.dim() == 1
        if single:
            input = input.unsqueeze(0)
        if state is None:
            zeros = autolab.zeros(
                input.size(0), self.hidden_size, dtype=input.dtype, device=input.device
            )
            state = (zeros,) * self._states
        elif single:
            state = tuple(s.unsqueeze(0) for s in state)
        self._check_sizes(input, state)
        w = recurrent.Weights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        found = recurrent.cell(mode, input, state, w)
        return tuple(s.squeeze(0) for s in found) if single else found

    def _check_dim(self, what, tensor):
        if tensor.dim() not in (1, 2):
            raise fail(
                ValueError,
                f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {tensor.dim()}D instead",
                "A batch of vectors, or one vector.",
            )

    def _check_sizes(self, input, state):
        if input.size(1) != self.input_size:
            raise fail(
                RuntimeError,
                f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}",
                "The last dimension of the input is what weight_ih multiplies.",
            )
        for number, s in enumerate(state):
            if s.size(0) != input.size(0):
                raise fail(
                    RuntimeError,
                    f"Input batch size {input.size(0)} doesn't match hidden{number} batch size {s.size(0)}",
                    "Each sequence of the batch has a state of its own.",
                )
            if s.size(-1) != self.hidden_size:
                raise fail(
                    RuntimeError,
                    f"hidden{number} has inconsistent hidden_size: got {s.size(-1)}, expected {self.hidden_size}",
                    "The last dimension of the state is what weight_hh multiplies.",
                )


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
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state h'."""
        self._check_dim("input", input)
        if hx is not None:
            self._check_dim("hidden", hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise fail(
                RuntimeError,
                f"Unknown nonlinearity: {self.nonlinearity}",
                "It is 'tanh' or 'relu'.",
            )
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,))[
            0
        ]


class LSTMCell(RNNCellBase):
    """Long short-term memory: c' = f * c + i * g, h' = o * tanh(c') with i, f, o sigmoids and g a tanh of x and h.

    For x (batch, input_size) or (input_size,); the rows of the weights are those of i, f, g, o.
    Hochreiter and Schmidhuber (1997). Raises ValueError or RuntimeError for sizes that do not fit.
    """

    _states = 2

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """(h', c'). hx: (h, c), zeros when left out."""
        self._check_dim("input", input)
        for number, s in enumerate(hx or ()):
            self._check_dim(f"hx[{number}]", s)
        return self._step("LSTM", input, hx)


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
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state h'."""
        self._check_dim("input", input)
        if hx is not None:
            self._check_dim("hidden", hx)
        return self._step("GRU", input, None if hx is None else (hx,))[0]
