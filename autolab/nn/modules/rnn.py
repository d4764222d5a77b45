"""Recurrent networks that run over whole sequences.

Source: https://docs.pytorch.org/docs/stable/nn.html#recurrent-layers
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.nn import init
from autolab.nn.functional import recurrent
from autolab.nn.modules.layer import shown_unless_default
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.nn.utils.rnn import PackedSequence
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike

_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


class RNNBase(Module):
    """The base of RNN, LSTM and GRU: parameters, checks, and the loop over layers and directions.

    Input (steps, batch, input_size), (batch, steps, input_size) with batch_first, (steps, input_size), or a
    PackedSequence. The output has the input's layout with hidden_size (twice that if bidirectional) as its last size.
    The last state of each layer and direction is (layers * directions, batch, hidden_size); the first state is zero by
    default. Parameters weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, …, with _reverse for the second direction,
    are uniform in ±1/sqrt(hidden_size).
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if proj_size:
            raise unsupported("LSTM", "proj_size", "Add a Linear layer after the network instead.")
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers = num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional = bidirectional
        _check_dropout(dropout, num_layers)
        self._check_sizes()
        self._all_weights: list[list[str]] = []
        self._make_parameters({"device": device, "dtype": dtype})
        self.reset_parameters()

    def _check_sizes(self):
        kinds = {"bias": bool, "batch_first": bool, "input_size": int, "hidden_size": int}
        for name, kind in (kinds | {"num_layers": int}).items():
            value = getattr(self, name)
            note = f"The value given is {value!r}."
            if not isinstance(value, kind):
                message = f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
                raise fail(TypeError, message, note)
            if kind is int and value <= 0:
                raise fail(ValueError, f"{name} must be greater than zero", note)

    def _make_parameters(self, options):
        rows, hidden = _GATES[self.mode] * self.hidden_size, self.hidden_size
        for k in range(self.num_layers):
            width = self.input_size if k == 0 else hidden * self._directions
            shapes = {"weight_ih": (rows, width), "weight_hh": (rows, hidden)}
            if self.bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            for suffix in ("", "_reverse")[: self._directions]:
                names = [f"{name}_l{k}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    self.register_parameter(name, Parameter(autolab.empty(shape, **options)))
                self._all_weights.append(names)

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """Return the parameters of each layer and direction, as a list of lists."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing. In PyTorch this puts a GPU's parameters into one block for cuDNN."""

    def reset_parameters(self) -> None:
        """Draw new random parameters."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check(self, input, state, batch):
        """Raise PyTorch's errors for an input or states of the wrong shape. batch: the number of sequences, () for a
        single one."""
        dtype = self.all_weights[0][0].dtype
        if input.dtype != dtype:
            raise fail(
                ValueError,
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). "
                f"Convert input: input.to({dtype}), or convert model: model.to({input.dtype})",
                "Both tensors of a product must have the same dtype.",
            )
        note = "The dimensions are layers and directions, batch, features."
        if self.input_size != input.size(-1):
            message = f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            raise fail(RuntimeError, message, "The dimensions are steps, batch, features.")
        size = (self.num_layers * self._directions, *batch, self.hidden_size)
        for number, tensor in enumerate(state or ()):
            if tensor.shape != size:
                name = self._state_name.format(number)
                message = f"Expected {name} size {size}, got {list(tensor.shape)}"
                raise fail(RuntimeError, message, note)
        return size

    _state_name = "hidden"
    _states = 1

    def _run(self, input, state):
        """Return (output, last state). state: a tuple of tensors, or None for zeros."""
        sizes = order = back = None
        single, first = False, int(not self.batch_first)
        if packed := isinstance(input, PackedSequence):
            input, batch_sizes, order, back = input
            sizes = batch_sizes.tolist()
            batch = (sizes[0],)
        elif input.dim() in (2, 3):
            single = input.dim() == 2
            batch = () if single else (input.size(first),)
        else:
            tensor = " tensor" if self.mode.startswith("RNN") else ""
            raise fail(
                ValueError,
                f"{self.mode.partition('_')[0]}: Expected input to be 2D or 3D, got {input.dim()}D{tensor} instead",
                "Steps, batch, features; or steps, features.",
            )
        shape = self._check(input, state, batch)
        if state is None:
            state = (input.new_zeros(shape),) * self._states
        elif order is not None:
            state = tuple(s.index_select(1, order) for s in state)
        if single:
            input, state = input.unsqueeze(first), tuple(s.unsqueeze(1) for s in state)
        output, last = self._through_layers(input, state, sizes)
        if packed:
            output = PackedSequence(output, batch_sizes, order, back)
            last = last if back is None else tuple(s.index_select(1, back) for s in last)
        elif single:
            output, last = output.squeeze(first), tuple(s.squeeze(1) for s in last)
        return output, last

    def _through_layers(self, data, state, batch_sizes):
        turned = self.batch_first and batch_sizes is None
        if turned:
            data = data.transpose(0, 1)
        if batch_sizes is None and data.size(0) == 0:
            raise fail(
                RuntimeError,
                "Expected sequence length to be larger than 0 in RNN",
                "The lengths must be greater than 0.",
            )
        output, last = recurrent.layers(
            self.mode,
            data,
            list(zip(*(s.unbind(0) for s in state))),
            [recurrent.Weights(*weights) for weights in self.all_weights],
            directions=self._directions,
            dropout_p=self.dropout,
            training=self.training,
            batch_sizes=batch_sizes,
        )
        last = tuple(autolab.stack(parts, 0) for parts in zip(*last))
        return output.transpose(0, 1) if turned else output, last

    def extra_repr(self) -> str:
        """Return the sizes, then every setting that is not the default."""
        defaults = {
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        return f"{self.input_size}, {self.hidden_size}" + shown_unless_default(self, defaults)


def _check_dropout(dropout, num_layers):
    if not 0 <= dropout <= 1:
        raise fail(
            ValueError,
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed",
            f"The value given is {dropout!r}.",
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )


class _OneState(RNNBase):
    """The base of RNN and GRU, whose state is one tensor."""

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Any:
        """Return (output, last state). hx: the first state, by default zeros."""
        output, (last,) = self._run(input, None if hx is None else (hx,))
        return output, last


class RNN(_OneState):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh) in each of several stacked layers (Elman, 1990). See RNNBase
    for the shapes.

    nonlinearity: "tanh" or "relu". Raise ValueError, TypeError or RuntimeError for wrong arguments.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise fail(
                ValueError,
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.",
                "Pass nonlinearity='tanh' or 'relu'.",
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, *args, **kwargs
        )
        self.nonlinearity = nonlinearity


class GRU(_OneState):
    """Stacked layers of gated recurrent units over sequences: see GRUCell for a step, RNNBase for the shapes.

    Raise ValueError, TypeError or RuntimeError for wrong arguments.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Stacked layers of long short-term memory over sequences: see LSTMCell for a step, RNNBase for the shapes.

    Raise ValueError, TypeError or RuntimeError for wrong arguments.
    """

    _state_name = "hidden[{}]"
    _states = 2

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        """Return (output, (last h, last c)). hx: (first h, first c), by default zeros."""
        return self._run(input, None if hx is None else tuple(hx))
