"""Recurrent networks: one step of each kind, a layer over a sequence, and stacked layers.

A state is a tuple of tensors: (h,) for a plain network and a GRU, (h, c) for an LSTM. Source:
aten/src/ATen/native/RNN.cpp, without its fused kernels, so that every gate is a node of the graph.
"""

from typing import Any, NamedTuple

import autolab
from autolab.engine.ops.functions import NAMESPACES
from autolab.nn.functional.basic import dropout

_linear = NAMESPACES["nn.functional"]["linear"]


class Weights(NamedTuple):
    """The parameters of one layer in one direction."""

    ih: Any
    hh: Any
    b_ih: Any = None
    b_hh: Any = None


def _plain(activation):
    def step(gates, state, w):
        return (activation(_linear(state[0], w.hh, w.b_hh) + gates),)

    return step


def _lstm(gates, state, w):
    h, c = state
    enter, keep, new, show = (_linear(h, w.hh, w.b_hh) + gates).chunk(4, 1)
    c = keep.sigmoid() * c + enter.sigmoid() * new.tanh()
    h = show.sigmoid() * c.tanh()
    return h, c


def _gru(gates, state, w):
    (h,) = state
    reset_x, keep_x, new_x = gates.chunk(3, 1)
    reset_h, keep_h, new_h = _linear(h, w.hh, w.b_hh).chunk(3, 1)
    reset, keep = (reset_h + reset_x).sigmoid(), (keep_h + keep_x).sigmoid()
    new = (new_x + new_h * reset).tanh()
    return ((h - new) * keep + new,)


STEPS = {
    "RNN_TANH": _plain(lambda x: x.tanh()),
    "RNN_RELU": _plain(lambda x: x.relu()),
    "LSTM": _lstm,
    "GRU": _gru,
}
"""The step functions by PyTorch's name of the mode: step(W_ih x + b_ih, state, weights) -> the next state."""


def cell(mode, input, state, w):
    """Run one step on an input (batch, input_size). Return the next state."""
    return STEPS[mode](_linear(input, w.ih, w.b_ih), state, w)


def _over_sequence(step, gates, state, w):
    """Return (outputs of all steps, the last state)."""
    outputs = []
    for g in gates:
        state = step(g, state, w)
        outputs.append(state[0])
    return outputs, state


def _over_packed(step, gates, state, w):
    """Do the same as `_over_sequence` for packed sequences, longest first: a finished sequence leaves the batch, and
    its state is kept."""
    outputs, over = [], []
    for g in gates:
        n = g.size(0)
        if n < state[0].size(0):
            over.append(tuple(s[n:] for s in state))
            state = tuple(s[:n] for s in state)
        state = step(g, state, w)
        outputs.append(state[0])
    over.append(state)
    return outputs, tuple(autolab.cat(parts[::-1], 0) for parts in zip(*over))


def _over_packed_reversed(step, gates, start, w):
    """Run packed sequences from their ends: the longest begins alone, and each other one joins with its first state."""
    outputs, state = [], tuple(s[: gates[0].size(0)] for s in start)
    for g in gates:
        n, before = g.size(0), state[0].size(0)
        if n > before:
            state = tuple(autolab.cat([s, first[before:n]], 0) for s, first in zip(state, start))
        state = step(g, state, w)
        outputs.append(state[0])
    return outputs, state


def layer(mode, input, state, w, batch_sizes=None, backwards=False):
    """Run one layer in one direction over input (steps, batch, features), or packed (all steps, features) with
    batch_sizes.

    Return (outputs of all steps as one tensor, the last state)."""
    gates = _linear(input, w.ih, w.b_ih)  # one product for all steps
    packed = batch_sizes is not None
    gates = list(gates.split(batch_sizes, 0) if packed else gates.unbind(0))
    run = _over_sequence if not packed else _over_packed_reversed if backwards else _over_packed
    outputs, state = run(STEPS[mode], gates[::-1] if backwards else gates, state, w)
    outputs = outputs[::-1] if backwards else outputs
    return (autolab.cat if packed else autolab.stack)(outputs, 0), state


def layers(mode, input, states, weights, *, directions, dropout_p, training, batch_sizes=None):
    """Run stacked layers. states and weights: one entry for each layer and direction, in PyTorch's order.

    Between layers, outputs are dropped with probability dropout_p. Return (outputs of the last layer, all last
    states)."""
    last = []
    depth = len(weights) // directions
    for k in range(depth):
        outputs = []
        for d in range(directions):
            i = k * directions + d
            output, state = layer(mode, input, states[i], weights[i], batch_sizes, backwards=d == 1)
            outputs.append(output)
            last.append(state)
        input = outputs[0] if directions == 1 else autolab.cat(outputs, -1)
        if dropout_p and training and k < depth - 1:
            input = dropout(input, dropout_p, True)
    return input, last
